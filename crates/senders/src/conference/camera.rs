//! Division of a camera's bitrate among simulcast layers, as a browser makes it.
//!
//! Its encoder fills layers from the smallest on. Each has a largest rate and a least one, and takes any rate between; the first whose least does
//! not fit is not sent, nor are those above it.

use airbound_units::BitRate;

/// The layers of a camera: a quarter, half and full width and height.
pub const CAMERA_LAYERS: usize = 3;
/// Shares of a camera's largest bitrate, as the page of a room sets them.
pub const SHARES: [f64; CAMERA_LAYERS] = [0.08, 0.24, 0.68];
/// Least rate of a layer, relative to the share of the one below it: in libwebrtc's table (`media/engine`, `video/config`: `simulcast.cc`) 150
/// kb/s above 150 kb/s at 640x360, 600 above 500 at 1280x720. The smallest layer is always sent.
const LEAST: [f64; CAMERA_LAYERS] = [0.0, 1.0, 1.2];
/// Multiple of the least rate from which a layer that is not sent is sent again: libwebrtc's hysteresis of video (`video/video_send_stream_impl.cc`,
/// `rtc_base/experiments/stable_target_rate_experiment.cc` in a copy of 2023; a copy of 2019 has 1.0).
const AGAIN: f64 = 1.2;

/// A camera with the layers that it sends at present.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    most: BitRate,
    sent: usize,
}

impl Camera {
    /// Makes a camera of a largest bitrate that has sent all its layers.
    #[must_use]
    pub const fn new(most: BitRate) -> Self {
        Self { most, sent: CAMERA_LAYERS }
    }

    /// Divides a bitrate; a layer that is not sent has none.
    pub fn divide(&mut self, rate: BitRate) -> [BitRate; CAMERA_LAYERS] {
        let mut left = rate.min(self.most);
        let mut rates = [BitRate::ZERO; CAMERA_LAYERS];
        let mut sent = 0;
        for layer in 0..CAMERA_LAYERS {
            let below = layer.checked_sub(1).map_or(0.0, |below| SHARES[below]);
            let again = if layer < self.sent { 1.0 } else { AGAIN };
            if layer > 0 && left < self.most.mul_f64(below * LEAST[layer] * again) {
                break;
            }
            rates[layer] = left.min(self.most.mul_f64(SHARES[layer]));
            left = left - rates[layer];
            sent = layer + 1;
        }
        self.sent = sent;
        rates
    }

    /// Padding that a browser sends beside layers of the sum `sent`, so that its estimate can grow to the rate at which the largest one begins: libwebrtc pads
    /// up to the target rates of the smaller layers and the least rate of the largest, times the hysteresis, as long as it does not probe periodically
    /// (`CalculateMaxPadBitrateBps` in `video/video_send_stream_impl.cc`).
    #[must_use]
    pub fn padding(&self, rate: BitRate, sent: BitRate) -> BitRate {
        const LARGEST: usize = CAMERA_LAYERS - 1;
        let smaller: f64 = SHARES[..LARGEST].iter().sum();
        let begins = smaller + SHARES[LARGEST - 1] * LEAST[LARGEST] * AGAIN;
        rate.min(self.most.mul_f64(begins)) - sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(camera: &mut Camera, rate: u64) -> [u64; CAMERA_LAYERS] {
        camera.divide(BitRate::from_kbps(rate)).map(|rate| rate.as_bps() / 1000)
    }

    #[test]
    fn the_largest_layer_that_fits_takes_what_is_left() {
        let mut camera = Camera::new(BitRate::from_kbps(1000));
        assert_eq!(shares(&mut camera, 2000), [80, 240, 680]);
        assert_eq!(shares(&mut camera, 900), [80, 240, 580]);
        assert_eq!(shares(&mut camera, 610), [80, 240, 290]);
        assert_eq!(shares(&mut camera, 600), [80, 240, 0], "its least rate is 288 kb/s");
        assert_eq!(shares(&mut camera, 660), [80, 240, 0], "it comes back at 346 kb/s");
        assert_eq!(shares(&mut camera, 670), [80, 240, 350]);
        assert_eq!(shares(&mut camera, 170), [80, 90, 0]);
        assert_eq!(shares(&mut camera, 150), [80, 0, 0]);
        assert_eq!(shares(&mut camera, 20), [20, 0, 0]);
    }

    #[test]
    fn padding_fills_the_rate_until_all_layers_are_sent() {
        let mut camera = Camera::new(BitRate::from_kbps(1000));
        for (rate, padding) in
            [(20, 0), (150, 70), (300, 0), (600, 280), (320, 0), (500, 180), (660, 340), (670, 0), (2000, 0)]
        {
            let sent = shares(&mut camera, rate).iter().sum();
            let added = camera.padding(BitRate::from_kbps(rate), BitRate::from_kbps(sent));
            assert_eq!(added, BitRate::from_kbps(padding), "at {rate} kb/s");
        }
    }

    #[test]
    fn layers_never_have_more_than_the_rate_or_their_shares() {
        let mut camera = Camera::new(BitRate::from_kbps(777));
        for step in 0..2000_u64 {
            let rate = BitRate::from_bps(step.wrapping_mul(7919) % 900_000);
            let rates = camera.divide(rate);
            let sum: u64 = rates.iter().map(|rate| rate.as_bps()).sum();
            assert!(sum <= rate.as_bps());
            let most = SHARES.map(|share| BitRate::from_kbps(777).mul_f64(share));
            assert!(rates.iter().zip(most).all(|(rate, most)| *rate <= most), "{rates:?}");
        }
    }
}

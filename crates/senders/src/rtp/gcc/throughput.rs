//! The rate at which packets arrive: libwebrtc's acknowledged bitrate estimator.
//!
//! Every 150 ms (the first time 500 ms) of arrivals give a sample. A sample has the less weight, the further it is from the
//! estimate: its standard deviation is taken as ten times the relative difference. The estimate's own variance grows by 5 (kbit/s)²
//! with each sample (libwebrtc `bitrate_estimator.cc`).

use airbound_units::{BitRate, ByteCount, Instant, Span};

const FIRST_WINDOW: Span = Span::from_millis(500);
const WINDOW: Span = Span::from_millis(150);
const UNCERTAINTY: f64 = 10.0;
const FIRST_VARIANCE: f64 = 50.0;
const DRIFT: f64 = 5.0;
/// Lower limit of the estimate: below 1 kbit/s every sample would have no weight.
const LEAST: f64 = 1.0;
/// Variance added when the source has just begun to send more.
const FAST_CHANGE: f64 = 200.0;

#[derive(Debug, Clone)]
pub(super) struct Throughput {
    /// In kbit/s, as the following fields.
    estimate: Option<f64>,
    variance: f64,
    last: Option<Instant>,
    window: Span,
    bytes: ByteCount,
}

impl Default for Throughput {
    fn default() -> Self {
        Self {
            estimate: None,
            variance: FIRST_VARIANCE,
            last: None,
            window: Span::ZERO,
            bytes: ByteCount::ZERO,
        }
    }
}

impl Throughput {
    pub(super) fn rate(&self) -> Option<BitRate> {
        self.estimate.map(|kbps| BitRate::from_bps_f64(kbps * 1000.0))
    }

    /// Takes a packet that arrived at `arrival`; call in order of arrival.
    pub(super) fn on_packet(&mut self, arrival: Instant, size: ByteCount) {
        if let Some(sample) = self.sample(arrival) {
            self.update(sample);
        }
        self.bytes += size;
    }

    /// Notes that the rate is about to change: the next samples get more weight.
    pub(super) fn expect_change(&mut self) {
        self.variance += FAST_CHANGE;
    }

    /// The rate of the window that ends with this arrival, in kbit/s.
    fn sample(&mut self, arrival: Instant) -> Option<f64> {
        let length = if self.estimate.is_some() { WINDOW } else { FIRST_WINDOW };
        match self.last.replace(arrival) {
            Some(last) if arrival < last => (self.window, self.bytes) = (Span::ZERO, ByteCount::ZERO),
            Some(last) => {
                self.window += arrival - last;
                if arrival - last > length {
                    // No packet arrived for more than a window: earlier ones do not count.
                    (self.window, self.bytes) = (self.window % length, ByteCount::ZERO);
                }
            }
            None => {}
        }
        if self.window < length {
            return None;
        }
        let rate = self.bytes.bits() as f64 / length.as_millis_f64();
        (self.window, self.bytes) = (self.window - length, ByteCount::ZERO);
        Some(rate)
    }

    fn update(&mut self, sample: f64) {
        let Some(estimate) = self.estimate else {
            self.estimate = Some(sample);
            return;
        };
        let deviation = UNCERTAINTY * libm::fabs(estimate - sample) / estimate.max(LEAST);
        let (noise, prior) = (deviation * deviation, self.variance + DRIFT);
        self.estimate = Some((noise * estimate + prior * sample) / (noise + prior));
        self.variance = noise * prior / (noise + prior);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of 1000 B at a rate, for `millis` ms.
    fn feed(throughput: &mut Throughput, from: &mut u64, kbps: u64, millis: u64) {
        let (end, step) = (*from + millis * 1000, 8_000_000 / kbps);
        while *from < end {
            throughput.on_packet(Instant::ZERO + Span::from_micros(*from), ByteCount::new(1000));
            *from += step;
        }
    }

    #[test]
    fn the_first_half_second_gives_the_rate_and_a_step_is_followed_within_a_second() {
        let (mut throughput, mut time) = (Throughput::default(), 0);
        feed(&mut throughput, &mut time, 2000, 480);
        assert_eq!(throughput.rate(), None);
        feed(&mut throughput, &mut time, 2000, 100);
        let mbps = |throughput: &Throughput| throughput.rate().expect("known").as_mbps_f64();
        assert!((mbps(&throughput) - 2.0).abs() < 0.05);
        feed(&mut throughput, &mut time, 1000, 1000);
        assert!((mbps(&throughput) - 1.0).abs() < 0.1, "{}", mbps(&throughput));
    }
}

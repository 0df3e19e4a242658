//! A model of a live video encoder: frames at equal intervals, whose sizes follow the target rate, by the statistical model of
//! RFC 8593 (Sec. 5).

use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::FrameSizes;

/// The number of frames over which the excess of a key frame is compensated, itself included (RFC 8593, K_d in Table 2).
const PAID_BACK: u64 = 8;
/// Shortest interval of requested key frames (libwebrtc `kMinKeyFrameSendInterval`).
const ON_REQUEST: Span = Span::from_millis(300);
/// The smallest frame: a picture without change still has headers.
const SMALLEST: ByteCount = ByteCount::new(100);
/// Largest share of its mean size by which a frame is reduced to compensate a key frame.
const MOST_PAID: f64 = 0.5;

/// Parameters of an encoder.
#[derive(Debug, Clone)]
pub struct EncoderConfig {
    /// Interval of frames.
    pub interval: Span,
    /// Longest interval of key frames.
    pub key_frame_interval: Span,
    /// Mean size of key frames over that of all frames.
    pub key_frame_factor: f64,
    /// Shortest interval between two changes of rate.
    pub reaction: Span,
}

/// An encoded frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EncodedFrame {
    /// Its number, from 0, skipped frames included.
    pub number: u64,
    /// Whether it is a key frame.
    pub is_key: bool,
    /// Its size.
    pub size: ByteCount,
}

/// An encoder.
#[derive(Debug, Clone)]
pub struct Encoder {
    config: EncoderConfig,
    /// Variation of sizes around their mean.
    sizes: FrameSizes,
    /// The current rate, and the time of its last change.
    rate: BitRate,
    changed: Option<Instant>,
    /// The target rate.
    wanted: BitRate,
    /// Frames so far, skipped ones included.
    frames: u64,
    last_key: Option<Instant>,
    key_wanted: bool,
    /// Excess bytes of key frames that are not compensated yet, and the number of frames left to do so.
    debt: f64,
    payers: u64,
}

impl Encoder {
    /// An encoder at `rate`, whose first frame is a key frame.
    #[must_use]
    pub const fn new(config: EncoderConfig, sizes: FrameSizes, rate: BitRate) -> Self {
        Self {
            config,
            sizes,
            rate,
            changed: None,
            wanted: rate,
            frames: 0,
            last_key: None,
            key_wanted: true,
            debt: 0.0,
            payers: 0,
        }
    }

    /// Sets the target rate of coded video, which applies from the next frame on, unless the last change is too recent.
    pub fn set_rate(&mut self, rate: BitRate) {
        self.wanted = rate;
    }

    /// The current rate.
    pub const fn rate(&self) -> BitRate {
        self.rate
    }

    /// Requests a key frame, which is delayed if it follows another too closely.
    pub fn request_key_frame(&mut self) {
        self.key_wanted = true;
    }

    /// Skips a frame because of a full send queue. Returns its number.
    pub fn skip(&mut self) -> u64 {
        self.frames += 1;
        self.frames - 1
    }

    /// Encodes the frame captured at `now`.
    pub fn encode(&mut self, now: Instant) -> EncodedFrame {
        if self.wanted != self.rate && self.changed.is_none_or(|at| now - at >= self.config.reaction) {
            self.rate = self.wanted;
            self.changed = Some(now);
        }
        let since = self.last_key.map(|last| now - last);
        let is_due = since.is_none_or(|since| since >= self.config.key_frame_interval);
        let is_key = is_due || self.key_wanted && since.is_none_or(|since| since >= ON_REQUEST);
        let mean = self.rate.bytes_in(self.config.interval).as_u64() as f64;
        let wanted = if is_key {
            self.last_key = Some(now);
            self.key_wanted = false;
            self.debt += mean * (self.config.key_frame_factor - 1.0);
            self.payers = PAID_BACK - 1;
            mean * self.config.key_frame_factor
        } else {
            let paid = (self.debt / self.payers.max(1) as f64).min(mean * MOST_PAID);
            self.debt -= paid;
            self.payers = self.payers.saturating_sub(1);
            mean - paid
        };
        let size = ByteCount::new(libm::round(wanted * self.sizes.factor()) as u64).max(SMALLEST);
        self.frames += 1;
        EncodedFrame { number: self.frames - 1, is_key, size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airbound_random::{Purpose, Stream};

    fn encoder(sigma: f64) -> Encoder {
        let config = EncoderConfig {
            interval: Span::from_millis(40),
            key_frame_interval: Span::from_secs(4),
            key_frame_factor: 3.0,
            reaction: Span::from_millis(200),
        };
        let sizes = FrameSizes::new(ByteCount::new(1), sigma, Stream::new(1, Purpose::FrameSizes, 0));
        Encoder::new(config, sizes, BitRate::from_mbps(2))
    }

    fn code(encoder: &mut Encoder, frames: std::ops::Range<u64>) -> Vec<EncodedFrame> {
        frames.map(|frame| encoder.encode(Instant::ZERO + Span::from_millis(40) * frame)).collect()
    }

    #[test]
    fn key_frames_are_larger_come_in_time_and_are_paid_back() {
        let frames = code(&mut encoder(0.0), 0..200);
        assert_eq!(frames[0], EncodedFrame { number: 0, is_key: true, size: ByteCount::new(30_000) });
        let keys: Vec<u64> = frames.iter().filter(|frame| frame.is_key).map(|frame| frame.number).collect();
        assert_eq!(keys, [0, 100]);
        // 2 * 10 kB over the seven following frames.
        assert!(frames[1..8].iter().all(|frame| (7142..=7144).contains(&frame.size.as_u64())), "{frames:?}");
        assert!(frames[8..100].iter().all(|frame| frame.size == ByteCount::new(10_000)));
    }

    #[test]
    fn sizes_vary_around_the_rate() {
        let frames = code(&mut encoder(0.21), 0..10_000);
        let bytes: u64 = frames.iter().map(|frame| frame.size.as_u64()).sum();
        assert!((98_000_000..102_000_000).contains(&bytes), "{bytes}");
        assert!(frames.iter().filter(|frame| frame.size.as_u64() > 13_000).count() > 500);
    }

    #[test]
    fn a_new_rate_waits_for_the_reaction_time() {
        let mut encoder = encoder(0.0);
        code(&mut encoder, 0..20);
        encoder.set_rate(BitRate::from_mbps(1));
        assert_eq!(code(&mut encoder, 20..21)[0].size, ByteCount::new(5_000));
        encoder.set_rate(BitRate::from_mbps(2));
        let sizes: Vec<u64> = code(&mut encoder, 21..27).iter().map(|frame| frame.size.as_u64()).collect();
        assert_eq!(sizes, [5_000, 5_000, 5_000, 5_000, 10_000, 10_000]);
    }

    #[test]
    fn key_frames_on_request_keep_their_distance() {
        let mut encoder = encoder(0.0);
        code(&mut encoder, 0..2);
        encoder.request_key_frame();
        encoder.request_key_frame();
        let keys: Vec<u64> =
            code(&mut encoder, 2..40).iter().filter(|frame| frame.is_key).map(|frame| frame.number).collect();
        assert_eq!(keys, [8]);
        assert_eq!(encoder.skip(), 40);
        assert_eq!(encoder.encode(Instant::ZERO + Span::from_secs(2)).number, 41);
    }
}

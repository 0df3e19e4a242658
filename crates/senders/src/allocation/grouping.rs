//! Grouping of packets into frames.
//!
//! A card gives all packets of a frame the same timestamp. A kernel stamps each packet when it handles it: later by some jitter, and
//! never before the previous one. Most gaps within frames are then a few microseconds, and those between frames above a floor. The
//! threshold is this floor, unless many gaps within frames exceed it, as where each packet is handed over when it ends: then it lies in
//! the valley between both heaps of gaps, and at most as high as the airtime of a usual frame and the floor, since both lie between two
//! frames.

use airbound_units::{Instant, Span};

use super::config::Stamps;

/// The end of one PPDU and the end of the next to the same station are at least DIFS, a preamble, SIFS and a block acknowledgement
/// apart: some 120 us. Gaps below this lie within a frame.
const FLOOR: Span = Span::from_micros(100);
/// Lower edge of the first bin.
const FIRST: Span = Span::from_micros(10);
/// Quarter octaves from [`FIRST`] up: to 10 ms, above the longest PPDU, and one for all longer gaps.
const BINS: usize = 41;
/// Number of gaps above the floor after which the threshold is computed again.
const LEARN_EVERY: u32 = 128;
/// Part of the gaps above the floor up to which a bin counts as empty.
const FEW: u32 = 32;
/// Number of neighbouring empty bins that make a valley.
const VALLEY: usize = 2;
/// Step back of a timestamp from which on a clock was set; less is the disorder of receive queues.
const STEP: Span = Span::from_millis(1);

/// Separates frames by the timestamps of packets.
#[derive(Debug, Clone)]
pub struct Grouping {
    stamps: Stamps,
    last: Option<Instant>,
    bins: [u32; BINS],
    /// Gaps above the floor, decayed as the bins are.
    above: u32,
    since_learnt: u32,
    threshold: Span,
    /// Airtime of the payload of a usual frame.
    airtime: Span,
}

impl Grouping {
    /// Creates a grouping without observations.
    #[must_use]
    pub const fn new(stamps: Stamps) -> Self {
        Self {
            stamps,
            last: None,
            bins: [0; BINS],
            above: 0,
            since_learnt: 0,
            threshold: FLOOR,
            airtime: Span::ZERO,
        }
    }

    /// The gap above which packets belong to different frames; zero for exact stamps.
    #[must_use]
    pub fn threshold(&self) -> Span {
        match self.stamps {
            Stamps::Exact => Span::ZERO,
            Stamps::Jittered => self.threshold.min(self.airtime + FLOOR),
        }
    }

    /// Sets the airtime of the payload of a usual frame, by which the threshold rises above 100 us at most; zero before the first call.
    pub const fn set_airtime(&mut self, airtime: Span) {
        self.airtime = airtime;
    }

    /// The latest timestamp; zero before the first.
    #[must_use]
    pub fn latest(&self) -> Instant {
        self.last.unwrap_or(Instant::ZERO)
    }

    /// Whether packets with these two timestamps, the earlier one first, came in one frame. Does not update the threshold.
    #[must_use]
    pub fn joins(&self, earlier: Instant, later: Instant) -> bool {
        later.since(earlier) <= self.threshold()
    }

    /// Takes the timestamp of the next packet. Returns whether it is the first of a frame. A stamp somewhat before the last counts as
    /// equal; one far before it shows that the clock was set, and begins a frame.
    pub fn begins_frame(&mut self, at: Instant) -> bool {
        let Some(last) = self.last else {
            self.last = Some(at);
            return true;
        };
        if last.since(at) >= STEP {
            self.last = Some(at);
            return true;
        }
        self.last = Some(last.max(at));
        let gap = at.since(last);
        if self.stamps == Stamps::Exact {
            return !gap.is_zero();
        }
        self.count(gap);
        gap > self.threshold()
    }

    fn count(&mut self, gap: Span) {
        if let Some(bin) = bin(gap) {
            self.bins[bin] = self.bins[bin].saturating_add(1);
        }
        if gap <= FLOOR {
            return;
        }
        self.above = self.above.saturating_add(1);
        self.since_learnt += 1;
        if self.since_learnt == LEARN_EVERY {
            self.since_learnt = 0;
            self.threshold = valley(&self.bins, self.above / FEW);
            // Old counts decay, so that a changed network is learned again.
            for count in self.bins.iter_mut().chain([&mut self.above]) {
                *count = *count / 8 * 7;
            }
        }
    }
}

/// The bin of a gap, for a longer one the last; `None` for one below the first.
fn bin(gap: Span) -> Option<usize> {
    let octaves = libm::log2(gap.as_nanos() as f64 / FIRST.as_nanos() as f64);
    (octaves >= 0.0).then(|| ((octaves * 4.0) as usize).min(BINS - 1))
}

/// The lower edge of a bin.
fn edge(bin: f64) -> Span {
    FIRST.mul_f64(libm::exp2(bin / 4.0))
}

/// The middle of the first valley at or above the floor, where bins of at most `few` gaps are empty; the floor if it lies in a valley
/// itself, or if there is none.
fn valley(bins: &[u32; BINS], few: u32) -> Span {
    let is_empty = |bin: &usize| bins[*bin] <= few;
    let floor = bin(FLOOR).unwrap_or(0);
    let mut from = (0..=floor).rev().take_while(is_empty).last().unwrap_or(floor + 1);
    loop {
        let Some(begin) = (from..BINS).find(is_empty) else { return FLOOR };
        let length = (begin..BINS).take_while(is_empty).count();
        let end = begin + length;
        if end == BINS {
            return FLOOR;
        }
        if length >= VALLEY {
            return edge((begin + end) as f64 / 2.0).max(FLOOR);
        }
        from = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draws from 0 to 1.
    fn draws() -> impl FnMut() -> f64 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// Frames of `size` packets, each `distance(draw)` us after the one before, each packet late by up to `jitter` us; returns the
    /// number of frames found of 1000. The airtime is that of packets of 12 us.
    fn found(stamps: Stamps, size: u32, distance: impl Fn(f64) -> f64, jitter: f64) -> usize {
        let mut grouping = Grouping::new(stamps);
        grouping.set_airtime(Span::from_micros(12 * u64::from(size)));
        let mut unit = draws();
        let (mut frames, mut begin, mut last) = (0, 0.0, Instant::ZERO);
        for frame in 0..2000 {
            begin += distance(unit());
            for _ in 0..size {
                let late = if stamps == Stamps::Exact { 0.0 } else { jitter * unit() };
                last = last.max(Instant::ZERO + Span::from_secs_f64((begin + late) / 1e6));
                if grouping.begins_frame(last) && frame >= 1000 {
                    frames += 1;
                }
            }
        }
        frames
    }

    #[test]
    fn frames_are_found() {
        assert_eq!(found(Stamps::Exact, 32, |_| 700.0, 0.0), 1000);
        for jitter in [0.0, 10.0, 50.0, 200.0] {
            for (size, distance) in [(32, 700.0), (10, 1500.0), (64, 14_000.0), (1, 600.0)] {
                // Ten packets of 12 us take less than the jitter, which then cannot be told from the gaps of two frames.
                if size > 1 && jitter > 12.0 * f64::from(size) {
                    continue;
                }
                let frames = found(Stamps::Jittered, size, |_| distance, jitter);
                assert!((990..=1010).contains(&frames), "{size} every {distance} us, {jitter} us: {frames}");
            }
        }
    }

    #[test]
    fn clean_stamps_of_two_kinds_of_distances_are_not_split() {
        // One after another while the queue holds packets, then a pause: two heaps between frames, none within.
        for size in [1, 2, 16] {
            let two_heaps =
                |draw: f64| if draw < 0.7 { 200.0 + 100.0 * draw } else { 3000.0 + 4000.0 * draw };
            for jitter in [0.0, 5.0, 40.0] {
                let frames = found(Stamps::Jittered, size, two_heaps, jitter);
                assert_eq!(frames, 1000, "{size} packets, {jitter} us");
            }
        }
    }

    #[test]
    fn without_an_airtime_the_threshold_stays() {
        let mut grouping = Grouping::new(Stamps::Jittered);
        let mut unit = draws();
        let mut at = 0.0;
        for packet in 0..10_000 {
            at += if packet % 16 == 0 { 5000.0 } else { 250.0 * unit() };
            grouping.begins_frame(Instant::ZERO + Span::from_secs_f64(at / 1e6));
        }
        assert_eq!(grouping.threshold(), FLOOR);
        grouping.set_airtime(Span::from_millis(1));
        assert!(grouping.threshold() > Span::from_micros(240), "{:?}", grouping.threshold());
        grouping.set_airtime(Span::from_micros(100));
        assert_eq!(grouping.threshold(), Span::from_micros(200));
    }

    #[test]
    fn stamps_that_run_backwards_are_of_the_same_frame() {
        let mut grouping = Grouping::new(Stamps::Exact);
        assert!(grouping.begins_frame(Instant::from_nanos(5)));
        assert!(!grouping.begins_frame(Instant::from_nanos(3)));
        assert!(!grouping.begins_frame(Instant::from_nanos(5)));
        assert!(grouping.begins_frame(Instant::from_nanos(6)));
    }

    #[test]
    fn a_clock_set_back_begins_a_frame() {
        for stamps in [Stamps::Exact, Stamps::Jittered] {
            let mut grouping = Grouping::new(stamps);
            grouping.begins_frame(Instant::ZERO + Span::from_secs(3600));
            assert!(grouping.begins_frame(Instant::ZERO + Span::from_secs(1)));
            assert!(!grouping.begins_frame(Instant::ZERO + Span::from_secs(1)));
            assert!(grouping.begins_frame(Instant::ZERO + Span::from_millis(1001)));
        }
    }
}

//! Grouping of packets into frames.
//!
//! A card gives all packets of a frame the same timestamp. A kernel stamps each packet when it handles it: later by some jitter, and
//! never before the previous one. The gaps between packets are then of two kinds, within a frame and between frames, and the
//! threshold lies in the valley between them, if there is one.

use airbound_units::{Instant, Span};

use super::config::Stamps;

/// The end of one PPDU and the end of the next to the same station are at least DIFS, a preamble, SIFS and a block acknowledgement
/// apart: some 120 us. Gaps below a third of that lie within a frame, however the stamps jitter.
const SURELY_WITHIN: Span = Span::from_micros(40);
/// Quarter octaves from [`SURELY_WITHIN`] up: to 2.6 s.
const BINS: usize = 64;
/// Number of informative gaps after which the threshold is computed again.
const LEARN_EVERY: u32 = 128;

/// Separates frames by the timestamps of packets.
#[derive(Debug, Clone)]
pub struct Grouping {
    stamps: Stamps,
    last: Option<Instant>,
    bins: [u32; BINS],
    since_learnt: u32,
    threshold: Span,
}

impl Grouping {
    /// Creates a grouping without observations.
    #[must_use]
    pub const fn new(stamps: Stamps) -> Self {
        Self { stamps, last: None, bins: [0; BINS], since_learnt: 0, threshold: SURELY_WITHIN }
    }

    /// The gap above which packets belong to different frames; zero for exact stamps.
    #[must_use]
    pub const fn threshold(&self) -> Span {
        match self.stamps {
            Stamps::Exact => Span::ZERO,
            Stamps::Jittered => self.threshold,
        }
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

    /// Takes the timestamp of the next packet. Returns whether it is the first of a frame. A stamp before the last counts as equal.
    pub fn begins_frame(&mut self, at: Instant) -> bool {
        let Some(last) = self.last.replace(self.last.map_or(at, |last| last.max(at))) else { return true };
        let gap = at.since(last);
        if self.stamps == Stamps::Exact {
            return !gap.is_zero();
        }
        if gap > SURELY_WITHIN {
            self.bins[bin(gap)] += 1;
            self.since_learnt += 1;
            if self.since_learnt == LEARN_EVERY {
                self.since_learnt = 0;
                self.threshold = valley(&self.bins);
                // Old counts decay, so that a changed network is learned again.
                self.bins.iter_mut().for_each(|count| *count = *count * 7 / 8);
            }
        }
        gap > self.threshold
    }
}

fn bin(gap: Span) -> usize {
    let octaves = libm::log2(gap.as_nanos() as f64 / SURELY_WITHIN.as_nanos() as f64);
    ((octaves * 4.0).max(0.0) as usize).min(BINS - 1)
}

/// The lower edge of a bin.
fn edge(bin: f64) -> Span {
    SURELY_WITHIN.mul_f64(libm::exp2(bin / 4.0))
}

/// The threshold: the middle of the valley between two clusters of gaps, or [`SURELY_WITHIN`] if there is only one.
fn valley(bins: &[u32; BINS]) -> Span {
    let total: f64 = bins.iter().map(|count| f64::from(*count)).sum();
    let sum: f64 = bins.iter().enumerate().map(|(place, count)| place as f64 * f64::from(*count)).sum();
    // Otsu's criterion: the cut with the greatest variance between the two sides.
    let (mut below, mut sum_below) = (0.0, 0.0);
    let mut best = (0.0, 0.0, 0.0);
    for (place, count) in bins.iter().enumerate() {
        below += f64::from(*count);
        sum_below += place as f64 * f64::from(*count);
        let above = total - below;
        if below > 0.0 && above > 0.0 {
            let (low, high) = (sum_below / below, (sum - sum_below) / above);
            let between = below * above * (high - low) * (high - low);
            if between > best.0 {
                best = (between, low, high);
            }
        }
    }
    let (_, low, high) = best;
    let (from, to) = (libm::round(low) as usize, libm::round(high) as usize);
    if to < from + 3 || to >= BINS {
        return SURELY_WITHIN;
    }
    // The longest run of the emptiest bins between the two means.
    let least = bins[from..=to].iter().copied().min().unwrap_or(0);
    let (mut run, mut longest, mut end) = (0, 0, from);
    for (place, count) in bins.iter().enumerate().take(to + 1).skip(from) {
        run = if *count <= least { run + 1 } else { 0 };
        if run > longest {
            (longest, end) = (run, place + 1);
        }
    }
    let heaps = bins[from..=to].iter().copied().max().unwrap_or(0).min(
        bins[..end.saturating_sub(longest).max(1)]
            .iter()
            .copied()
            .max()
            .unwrap_or(0)
            .min(bins[end.min(BINS - 1)..].iter().copied().max().unwrap_or(0)),
    );
    if least * 3 > heaps {
        return SURELY_WITHIN;
    }
    edge(end as f64 - longest as f64 / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames of `size` packets every `distance` us, each packet late by up to `jitter` us; returns the number of frames found of
    /// 1000.
    fn found(stamps: Stamps, size: u32, distance: f64, jitter: f64) -> usize {
        let mut grouping = Grouping::new(stamps);
        let mut state = 1_u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut last = Instant::ZERO;
        let mut frames = 0;
        for frame in 0..2000 {
            for _ in 0..size {
                let late = if stamps == Stamps::Exact { 0.0 } else { jitter * unit() };
                let at = Instant::ZERO + Span::from_secs_f64((f64::from(frame) * distance + late) / 1e6);
                last = last.max(at);
                if grouping.begins_frame(last) && frame >= 1000 {
                    frames += 1;
                }
            }
        }
        frames
    }

    #[test]
    fn frames_are_found() {
        assert_eq!(found(Stamps::Exact, 32, 700.0, 0.0), 1000);
        for jitter in [0.0, 10.0, 50.0, 200.0] {
            for (size, distance) in [(32, 700.0), (10, 1500.0), (64, 14_000.0), (1, 600.0)] {
                let frames = found(Stamps::Jittered, size, distance, jitter);
                assert!((990..=1010).contains(&frames), "{size} every {distance} us, {jitter} us: {frames}");
            }
        }
    }

    #[test]
    fn stamps_that_run_backwards_are_of_the_same_frame() {
        let mut grouping = Grouping::new(Stamps::Exact);
        assert!(grouping.begins_frame(Instant::from_nanos(5)));
        assert!(!grouping.begins_frame(Instant::from_nanos(3)));
        assert!(!grouping.begins_frame(Instant::from_nanos(5)));
        assert!(grouping.begins_frame(Instant::from_nanos(6)));
    }
}

//! The forwarding unit of the server: the share of each source for one viewer.

use airbound_units::{BitRate, Span};

/// Returns the water level to which the largest rates of the sources, in b/s, have to be cut so that their sum fits a
/// budget; infinity if no cut is needed.
pub(super) fn level(rates: &mut [f64], budget: BitRate) -> f64 {
    let mut left = budget.as_bps() as f64;
    rates.sort_unstable_by(f64::total_cmp);
    let count = rates.len();
    for (index, rate) in rates.iter().enumerate() {
        let share = left / (count - index) as f64;
        if *rate > share {
            return share;
        }
        left -= rate;
    }
    f64::INFINITY
}

/// The rates of sources, from their latest frames.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    interval: Span,
    rates: Vec<f64>,
    /// For each viewer, the level to which its sources are cut.
    levels: Vec<f64>,
    scratch: Vec<f64>,
}

/// Weight of the latest frame in the mean over frames.
const LATEST: f64 = 0.25;

impl Sources {
    pub(super) fn new(clients: usize, interval: Span) -> Self {
        Self {
            interval,
            rates: vec![0.0; clients],
            levels: vec![f64::INFINITY; clients],
            scratch: Vec::with_capacity(clients),
        }
    }

    /// Notes a frame of a source.
    pub(super) fn on_frame(&mut self, source: usize, bytes: u64) {
        let rate = bytes as f64 * 8.0 / self.interval.as_secs_f64();
        self.rates[source] += LATEST * (rate - self.rates[source]);
    }

    /// The mean rate of a source's frames, bit/s.
    pub(super) fn rate(&self, source: usize) -> f64 {
        self.rates[source]
    }

    /// Notes that a source pauses.
    pub(super) fn on_silence(&mut self, source: usize) {
        self.rates[source] = 0.0;
    }

    /// Sets the budget of a viewer.
    pub(super) fn set_budget(&mut self, viewer: usize, budget: BitRate) {
        self.scratch.clear();
        let others = self.rates.iter().enumerate().filter(|(source, _)| *source != viewer);
        self.scratch.extend(others.map(|(_, rate)| *rate));
        self.levels[viewer] = level(&mut self.scratch, budget);
    }

    /// Sets the rate that each source of a viewer may have by itself; `None` for no limit.
    pub(super) fn set_each(&mut self, viewer: usize, limit: Option<BitRate>) {
        self.levels[viewer] = limit.map_or(f64::INFINITY, |limit| limit.as_bps() as f64);
    }

    /// The part of a frame forwarded to a viewer, transcoded to its share.
    pub(super) fn cut(&self, viewer: usize, bytes: u64) -> u64 {
        let most = self.levels[viewer] * self.interval.as_secs_f64() / 8.0;
        (bytes as f64).min(most) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_keeps_to_the_budget_and_small_sources_are_spared() {
        let mut rates = [10e6, 1e6, 4e6, 10e6];
        let level = level(&mut rates, BitRate::from_mbps(15));
        assert!((level - 5e6).abs() < 1.0, "{level}");
        let sum: f64 = rates.iter().map(|rate| rate.min(level)).sum();
        assert!((sum - 15e6).abs() < 1.0);
        assert_eq!(super::level(&mut rates, BitRate::from_mbps(25)), f64::INFINITY);
        assert_eq!(super::level(&mut [], BitRate::from_mbps(25)), f64::INFINITY);
    }
}

//! Draws of the traces taken together, and the interval of what is read from them.

use super::super::claims::Row;
use super::super::row::ClaimRow;
use super::conferences::{Conferences, Links};
use super::{best_of, gain, quantile};
use crate::draws::Draws;

/// Times that the draws are drawn again.
const AGAIN: u64 = 1000;

/// A value of all draws together, and its interval at 95 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pooled {
    pub(super) value: f64,
    /// Of several draws.
    pub(super) interval: Option<(f64, f64)>,
}

impl Pooled {
    /// Of a number of draws: `statistic` reads those whose numbers it is given. The interval is the bootstrap's.
    pub(super) fn of(draws: usize, statistic: impl Fn(&[usize]) -> f64) -> Self {
        let all: Vec<usize> = (0..draws).collect();
        let again = |number| {
            let mut random = Draws::of(1, number);
            statistic(&all.iter().map(|_| random.below(draws)).collect::<Vec<_>>())
        };
        let interval = || {
            let mut values: Vec<f64> = (0..AGAIN).map(again).collect();
            values.sort_by(f64::total_cmp);
            (quantile(&values, 0.025), quantile(&values, 0.975))
        };
        Self { value: statistic(&all), interval: (draws > 1).then(interval) }
    }

    /// Judges it.
    pub(super) fn judge(self, row: Row<'_>) -> ClaimRow {
        row.interval(self.interval).measured(self.value)
    }

    /// The interval in words; empty without one.
    pub(super) fn between(self) -> String {
        let shown = super::super::shown;
        self.interval.map_or(String::new(), |(low, high)| format!("{} to {}", shown(low), shown(high)))
    }
}

/// Gain in per cent of the last over the best of the others, of means over draws: `of` gives each the value of each draw.
pub(super) fn gain_of<const N: usize>(values: &[Vec<f64>; N]) -> Pooled {
    Pooled::of(values[0].len(), |draws| {
        let mean = |values: &Vec<f64>| draws.iter().map(|draw| values[*draw]).sum::<f64>();
        let means = values.each_ref().map(mean);
        gain(means[N - 1], best_of(&means[..N - 1]))
    })
}

impl Conferences {
    /// Returns what `figure` reads of each draw.
    pub(super) fn by_draw(
        &self,
        links: Links,
        scheme: &'static str,
        figure: impl Fn(&airbound_sim::conference::ConferenceOutcome) -> f64,
    ) -> Vec<f64> {
        self.of(links, scheme).iter().map(figure).collect()
    }

    /// Returns the best source's bitrate of each client and second, by draw.
    pub(super) fn best_sources(&self, links: Links, scheme: &'static str) -> Vec<Vec<f64>> {
        let of = |outcome: &airbound_sim::conference::ConferenceOutcome| {
            outcome.clients.iter().flat_map(|client| &client.best_source).copied().collect()
        };
        self.of(links, scheme).iter().map(of).collect()
    }
}

/// The samples of some draws together, in order.
pub(super) fn together(samples: &[Vec<f64>], draws: &[usize]) -> Vec<f64> {
    let mut all: Vec<f64> = draws.iter().flat_map(|draw| &samples[*draw]).copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_pooled_before_they_are_compared() {
        // 30 over 20 of all; 100 % and 40 % of each.
        let gained = gain_of(&[vec![5.0, 15.0], vec![1.0, 2.0], vec![10.0, 20.0]]);
        assert!((gained.value - 50.0).abs() < 1e-9, "{gained:?}");
        let (low, high) = gained.interval.expect("an interval");
        assert!((low - 100.0 / 3.0).abs() < 1e-9 && (high - 100.0).abs() < 1e-9, "{low} {high}");
        assert_eq!(gain_of(&[vec![5.0], vec![10.0]]).interval, None);
    }

    #[test]
    fn the_interval_shrinks_with_the_draws() {
        let width = |draws: usize| {
            let values: Vec<f64> = (0..draws).map(|draw| (draw % 5) as f64).collect();
            let mean =
                |drawn: &[usize]| drawn.iter().map(|draw| values[*draw]).sum::<f64>() / drawn.len() as f64;
            let (low, high) = Pooled::of(draws, mean).interval.expect("an interval");
            high - low
        };
        // The standard error of the mean: 1.414 / sqrt 100, times 2 * 1.96.
        assert!(width(10) > 2.0 * width(100) && (width(100) - 0.554).abs() < 0.1, "{}", width(100));
    }
}

//! Statistics of the rates to one station, and the choice of the rate with the shortest tail.

use airbound_units::{Instant, Span};
use airbound_wifi::rate::Rate;

use super::LlraConfig;
use crate::frame::RateChain;
use crate::rate::effort::Effort;
use crate::rate::{RateReport, RateSet};

/// Upper limit on tries of a frame in any transmit path (ath9k: `ATH_MAX_SW_RETRIES` and the first).
const MOST_TRIES: u32 = 31;
/// Transmissions needed before a rate is considered.
const LEAST_SAMPLES: f64 = 3.0;
/// Share of a window's counts that is carried over to the next.
const KEPT: f64 = 0.5;

/// Statistics of one rate.
#[derive(Debug, Clone, Copy)]
struct Statistics {
    rate: Rate,
    effort: Effort,
    /// Transmissions of MPDUs, and those acknowledged; each window has half the weight of the next.
    sent: f64,
    acknowledged: f64,
}

impl Statistics {
    /// The share of successful transmissions; `None` if there are too few.
    fn success(&self) -> Option<f64> {
        (self.sent >= LEAST_SAMPLES).then(|| (self.acknowledged / self.sent).min(1.0))
    }
}

/// Number of transmissions after which all but `tail` of the frames have arrived if each succeeds with probability
/// `success`.
fn transmissions(success: f64, tail: f64) -> u32 {
    let needed = libm::ceil(libm::log(tail) / libm::log1p(-success));
    // The cast saturates.
    (needed as u32).clamp(1, MOST_TRIES)
}

/// State for one station.
#[derive(Debug, Clone)]
pub(super) struct Station {
    /// By ascending bit rate; at least one.
    rates: Vec<Statistics>,
    /// Index of the rate in use.
    current: usize,
    /// Consecutive descriptors without any acknowledgement.
    failures: usize,
    window_began: Instant,
    /// Descriptors in this window.
    descriptors: u16,
    /// Probes of the next faster and of the next slower rate left in this window.
    probes_up: u8,
    probes_down: u8,
}

impl Station {
    pub(super) fn new(config: &LlraConfig, rates: &RateSet, now: Instant) -> Self {
        let of = |rate: &Rate| Statistics {
            rate: *rate,
            effort: Effort::new(*rate, config.mpdu),
            sent: 0.0,
            acknowledged: 0.0,
        };
        Self {
            rates: rates.as_slice().iter().map(of).collect(),
            current: 0,
            failures: 0,
            window_began: now,
            descriptors: 0,
            probes_up: config.probes,
            probes_down: 0,
        }
    }

    /// The rate in use.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.rates.get(self.current).map(|of| of.rate)
    }

    /// Transmissions that all but the tail of the frames need at a rate, and their time.
    fn tail(&self, place: usize, config: &LlraConfig) -> Option<(u32, Span)> {
        let of = self.rates.get(place)?;
        let needed = transmissions(of.success()?, config.tail());
        Some((needed, of.effort.of_tries(needed)))
    }

    /// Whether a rate could have a shorter tail than the one in use if all its frames arrived at the first try.
    fn is_worth_a_probe(&self, place: usize, config: &LlraConfig) -> bool {
        let (Some(of), Some((_, present))) = (self.rates.get(place), self.tail(self.current, config)) else {
            return false;
        };
        of.effort.of_tries(1) < present
    }

    pub(super) fn chain(&mut self, config: &LlraConfig) -> Option<RateChain> {
        let spacing = config.window_frames / (2 * u16::from(config.probes)).max(1);
        let is_turn = self.failures == 0 && self.descriptors.is_multiple_of(spacing.max(1));
        if is_turn && let Some(probed) = self.take_probe(config) {
            let mut chain = RateChain::single(self.rates.get(probed)?.rate, 1);
            self.push(&mut chain, self.current, config);
            chain.probe = true;
            return Some(chain);
        }
        // Each descriptor without any acknowledgement lowers the next rate by one, until an MPDU arrives.
        let first = self.current.saturating_sub(self.failures);
        let mut chain = RateChain::single(self.rates.get(first)?.rate, self.tries(first, config));
        if first > 0 {
            self.push(&mut chain, first - 1, config);
        }
        Some(chain)
    }

    fn push(&self, chain: &mut RateChain, place: usize, config: &LlraConfig) {
        if let Some(of) = self.rates.get(place) {
            chain.push(of.rate, self.tries(place, config));
        }
    }

    /// Hardware tries at a rate: as many as all but the tail of the frames need, at least two; the driver makes further
    /// ones.
    fn tries(&self, place: usize, config: &LlraConfig) -> u8 {
        let most =
            self.rates.get(place).map_or(1, |of| of.effort.tries_within(config.segment, config.max_tries));
        let needed =
            self.tail(place, config).map_or(most, |(needed, _)| u8::try_from(needed).unwrap_or(most));
        needed.max(2).min(most)
    }

    /// The rate to be probed next, if any is left in this window.
    fn take_probe(&mut self, config: &LlraConfig) -> Option<usize> {
        let up = self.current + 1;
        if self.probes_up > 0 && up < self.rates.len() && self.is_worth_a_probe(up, config) {
            self.probes_up -= 1;
            return Some(up);
        }
        let down = self.current.checked_sub(1)?;
        if self.probes_down > 0 && self.is_worth_a_probe(down, config) {
            self.probes_down -= 1;
            return Some(down);
        }
        None
    }

    pub(super) fn on_report(&mut self, now: Instant, report: &RateReport, config: &LlraConfig) {
        let mpdus = f64::from(report.mpdus);
        let acknowledged = f64::from(report.acknowledged.min(report.mpdus));
        let steps = report.used.steps();
        for (index, step) in steps.iter().enumerate() {
            if let Some(of) = self.rates.iter_mut().find(|of| of.rate == step.rate) {
                of.sent += mpdus * f64::from(step.tries);
                if index + 1 == steps.len() {
                    of.acknowledged += acknowledged;
                }
            }
        }
        if report.acknowledged > 0 {
            self.failures = 0;
        } else if !report.used.probe {
            self.failures = (self.failures + 1).min(self.current);
        }
        self.descriptors = self.descriptors.saturating_add(1);
        let is_over = self.descriptors >= config.window_frames || now - self.window_began >= config.window;
        if is_over || (report.used.probe && self.faster_is_better(config)) {
            self.conclude(now, config);
        }
    }

    /// Whether the probes of the next faster rate have shown a shorter tail.
    fn faster_is_better(&self, config: &LlraConfig) -> bool {
        match (self.tail(self.current + 1, config), self.tail(self.current, config)) {
            (Some((_, faster)), Some((_, present))) => faster < present,
            _ => false,
        }
    }

    /// Ends the window: switches to the rate with the shortest tail, on a tie the faster one.
    fn conclude(&mut self, now: Instant, config: &LlraConfig) {
        let mut best = None;
        for place in (0..self.rates.len()).rev() {
            let Some((_, time)) = self.tail(place, config) else { continue };
            if best.is_none_or(|(shortest, _)| time < shortest) {
                best = Some((time, place));
            }
        }
        if let Some((_, place)) = best {
            self.current = place;
            self.failures = 0;
        }
        // A tail without a retransmission cannot become shorter at a slower rate.
        let retransmits = self.tail(self.current, config).is_some_and(|(needed, _)| needed > 1);
        self.probes_up = config.probes;
        self.probes_down = if retransmits { config.probes } else { 0 };
        self.descriptors = 0;
        self.window_began = now;
        for of in &mut self.rates {
            of.sent *= KEPT;
            of.acknowledged *= KEPT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_by_hand() {
        // 0.1 ^ 2 = 0.01 is below 5 %, 0.1 is not.
        assert_eq!(transmissions(0.9, 0.05), 2);
        assert_eq!(transmissions(0.96, 0.05), 1);
        // ln 0.05 / ln 0.5 = 4.3.
        assert_eq!(transmissions(0.5, 0.05), 5);
        assert_eq!(transmissions(1e-9, 0.05), MOST_TRIES);
        assert_eq!(transmissions(0.0, 0.05), MOST_TRIES);
        assert_eq!(transmissions(1.0, 0.05), 1);
    }
}

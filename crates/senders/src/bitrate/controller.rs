//! One rate, from what a client counts or from a receiver of ours.

use std::collections::VecDeque;

use airbound_units::{BitRate, ConfigError, Instant, Span};

use super::client::Rule;
use super::feedback::{CALM, Feedback, Why};

/// Share of an allocated rate that the encoder gets: its frames differ in size, and the allocated rate holds headers, too.
const ENCODER: f64 = 0.85;
/// Least relative rise: a change costs more than it brings below.
const LEAST_RISE: f64 = 0.05;
/// Longest time between two reports that belong together.
const LONGEST_SLOT: Span = Span::from_secs(5);

/// Parameters of a [`BitrateController`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitrateConfig {
    /// The rate at the start, that of the user's settings: 20 Mbit/s. Between the next two.
    pub start: BitRate,
    /// The least rate: 2 Mbit/s. 500 kbit/s to 500 Mbit/s.
    pub least: BitRate,
    /// The highest rate: 150 Mbit/s. 500 kbit/s to 500 Mbit/s.
    pub most: BitRate,
    /// The time that packets may wait in queues: 20 ms. 2 ms to 500 ms.
    pub queue: Span,
}

impl Default for BitrateConfig {
    fn default() -> Self {
        Self {
            start: BitRate::from_mbps(20),
            least: BitRate::from_mbps(2),
            most: BitRate::from_mbps(150),
            queue: Span::from_millis(20),
        }
    }
}

impl BitrateConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        // Vibepollo takes at most 500 Mbit/s (`src/nvhttp.cpp`, e1dd3091).
        let allowed = BitRate::from_kbps(500)..=BitRate::from_mbps(500);
        let range = "500 kbit/s to 500 Mbit/s";
        ConfigError::check(allowed.contains(&self.least), "least", self.least, range)?;
        ConfigError::check(allowed.contains(&self.most), "most", self.most, range)?;
        ConfigError::check(self.least <= self.most, "least", self.least, "at most the value of most")?;
        let start = (self.least..=self.most).contains(&self.start);
        ConfigError::check(start, "start", self.start, "the value of least to that of most")?;
        let queue = (Span::from_millis(2)..=Span::from_millis(500)).contains(&self.queue);
        ConfigError::check(queue, "queue", self.queue, "2 ms to 500 ms")
    }
}

/// A rate that the host should be set to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The rate, in whole kbit/s.
    pub rate: BitRate,
    /// The reason.
    pub why: Why,
}

/// Decides the bitrate of one stream.
#[derive(Debug, Clone)]
pub struct BitrateController {
    config: BitrateConfig,
    rule: Rule,
    rate: BitRate,
    /// Time of the last change that the host took.
    changed: Option<Instant>,
    latest: Instant,
    heard: Option<Instant>,
    /// Allocated rates of the last [`CALM`], the least first.
    allocated: VecDeque<(Instant, BitRate)>,
    begun: Option<Instant>,
}

impl BitrateController {
    /// Creates a controller of a stream with the rate of the start.
    ///
    /// # Errors
    /// [`ConfigError`] for a value out of range.
    pub fn new(config: BitrateConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            rule: Rule::new(config.queue),
            rate: config.start,
            changed: None,
            latest: Instant::ZERO,
            heard: None,
            allocated: VecDeque::new(),
            begun: None,
        })
    }

    /// The rate that the host has.
    #[must_use]
    pub const fn rate(&self) -> BitRate {
        self.rate
    }

    /// Notes the rate that the host took. A proposal that no such call follows is made again.
    pub fn set(&mut self, now: Instant, rate: BitRate) {
        self.latest = self.latest.max(now);
        if rate != self.rate {
            self.rule.on_set(self.latest, self.rate, rate);
            (self.rate, self.changed) = (rate, Some(self.latest));
        }
    }

    /// Takes a client's report. Returns a change if the rate should be another one.
    pub fn on_feedback(&mut self, now: Instant, feedback: &Feedback) -> Option<Change> {
        self.latest = self.latest.max(now);
        let now = self.latest;
        let slot = self.heard.map_or(Span::from_secs(1), |heard| now.since(heard));
        self.heard = Some(now);
        if slot > LONGEST_SLOT {
            self.rule.forget(now);
        }
        let calm_since = self.changed;
        let proposal = self.rule.on_report(now, slot, feedback, self.rate, calm_since)?;
        self.change(proposal.0, proposal.1)
    }

    /// Takes the rate that a receiver of ours allows: [`crate::stream::Decision::rate`], or a relay's. Returns a change if the rate should
    /// be another one.
    pub fn on_allocated(&mut self, now: Instant, rate: BitRate) -> Option<Change> {
        self.latest = self.latest.max(now);
        let now = self.latest;
        let begun = *self.begun.get_or_insert(now);
        self.allocated.retain(|(at, _)| now.since(*at) < CALM);
        while self.allocated.back().is_some_and(|(_, before)| *before >= rate) {
            self.allocated.pop_back();
        }
        self.allocated.push_back((now, rate));
        let why = Why::Allocated { rate };
        let lower = rate.mul_f64(ENCODER);
        if rate < self.rate {
            return self.change(lower, why);
        }
        // The least of the time without a change: an allocated rate swings by some percent.
        let since = self.changed.unwrap_or(begun);
        let least = self.allocated.front().map_or(rate, |(_, least)| *least).mul_f64(ENCODER);
        let is_worth = least >= self.rate.mul_f64(1.0 + LEAST_RISE);
        if now.since(since) >= CALM && is_worth { self.change(least, why) } else { None }
    }

    /// A change to this rate, within the limits; `None` where that is the present one.
    fn change(&self, rate: BitRate, why: Why) -> Option<Change> {
        // Hosts count in kbit/s.
        let rate = BitRate::from_kbps(rate.clamp(self.config.least, self.config.most).as_bps() / 1000);
        (rate != BitRate::from_kbps(self.rate.as_bps() / 1000)).then_some(Change { rate, why })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(second: u64) -> Instant {
        Instant::ZERO + Span::from_secs(second)
    }

    /// Changes, by second and in Mb/s, over a link of `capacity` Mb/s by second with a queue of 200 ms, other packets that wait for
    /// `wait` ms, and `loss` of each frame.
    fn over(seconds: u64, capacity: impl Fn(u64) -> f64, wait: u64, loss: f64) -> Vec<(u64, f64)> {
        let mut controller = BitrateController::new(BitrateConfig::default()).expect("valid");
        let (mut queued, mut changes) = (0.0, Vec::new());
        for second in 1..=seconds {
            let (rate, room) = (controller.rate().as_mbps_f64(), capacity(second));
            queued = f64::max(queued + rate - room, 0.0);
            let over = f64::max(queued - 0.2 * room, 0.0);
            queued -= over;
            let others = if second > 5 { wait } else { 0 };
            let trip = 8.0 + others as f64 + 1000.0 * queued / room;
            let feedback = Feedback {
                loss: f64::max(loss, over / rate),
                round_trip: Some(Span::from_secs_f64(trip / 1000.0)),
                frames: 60.0,
                dropped: 0,
            };
            if let Some(change) = controller.on_feedback(at(second), &feedback) {
                controller.set(at(second), change.rate);
                changes.push((second, change.rate.as_mbps_f64()));
            }
        }
        changes
    }

    #[test]
    fn a_steady_link_sees_rises_ten_seconds_apart() {
        let changes = over(300, |_| 400.0, 0, 0.0);
        assert!(
            changes.windows(2).all(|pair| pair[1].0 >= pair[0].0 + 10 && pair[1].1 > pair[0].1),
            "{changes:?}"
        );
        assert!(changes.len() > 20);
    }

    #[test]
    fn a_slower_link_is_followed_at_once_and_its_limit_is_seldom_tried() {
        let changes = over(900, |second| if second < 30 { 400.0 } else { 10.0 }, 0, 0.0);
        let falls: Vec<_> = changes.iter().filter(|(second, _)| (30..40).contains(second)).collect();
        assert!(falls[0].0 <= 31 && falls.last().expect("falls").1 < 10.0, "{falls:?}");
        // Trials of a rate that is too high: after a minute, two, four.
        let late = changes.iter().filter(|(second, _)| *second >= 100).count();
        assert!((2..30).contains(&late), "{changes:?}");
        assert!(
            changes.iter().filter(|(second, _)| *second >= 100).all(|(_, rate)| (6.0..12.0).contains(rate))
        );
    }

    #[test]
    fn a_queue_or_a_loss_of_others_costs_three_falls_and_the_rate_returns() {
        for (wait, loss) in [(30, 0.0), (0, 0.04)] {
            let changes = over(60, |_| 400.0, wait, loss);
            let back = changes.iter().find(|(_, rate)| (rate - 20.0).abs() < 1e-6);
            assert!(back.is_some_and(|(second, _)| *second < 25), "{wait} {loss}: {changes:?}");
        }
        // What makes a stream useless lowers it whatever that helps.
        assert!(over(60, |_| 400.0, 0, 0.5).last().is_some_and(|(_, rate)| (rate - 2.0).abs() < 1e-6));
    }

    #[test]
    fn falls_with_calm_between_them_are_not_those_of_others() {
        let mut controller = BitrateController::new(BitrateConfig::default()).expect("valid");
        let mut changes = Vec::new();
        // A walk: a moderate queue for two seconds, again and again, and room in between.
        for second in 1..=100 {
            let trip = if second % 15 >= 13 { 38 } else { 8 };
            let feedback =
                Feedback { round_trip: Some(Span::from_millis(trip)), frames: 60.0, ..Feedback::default() };
            if let Some(change) = controller.on_feedback(at(second), &feedback) {
                changes.push((second, change.rate.as_mbps_f64() / controller.rate().as_mbps_f64()));
                controller.set(at(second), change.rate);
            }
        }
        assert!(changes.iter().filter(|(_, step)| *step < 1.0).count() >= 6, "{changes:?}");
        assert!(changes.iter().all(|(_, step)| *step <= 1.1), "{changes:?}");
    }

    #[test]
    fn an_allocated_rate_is_followed_down_at_once_and_up_after_ten_seconds() {
        let mut controller = BitrateController::new(BitrateConfig::default()).expect("valid");
        let mut after = |second, mbps| {
            let change = controller.on_allocated(at(second), BitRate::from_mbps(mbps));
            change
                .inspect(|change| controller.set(at(second), change.rate))
                .map(|change| change.rate.as_mbps_f64())
        };
        assert_eq!(after(1, 30), None);
        assert_eq!(after(2, 16), Some(13.6));
        assert_eq!((after(3, 15), after(4, 12)), (None, Some(10.2)));
        // The least of ten seconds.
        let up: Vec<_> =
            (5..=40).filter_map(|second| Some((second, after(second, 40 - second % 3)?))).collect();
        assert_eq!(up, [(14, 32.3)]);
    }

    #[test]
    fn nonsense_is_refused() {
        let usual = BitrateConfig::default();
        for wrong in [
            BitrateConfig { start: BitRate::from_mbps(1), ..usual },
            BitrateConfig { least: BitRate::from_mbps(30), ..usual },
            BitrateConfig { least: BitRate::ZERO, ..usual },
            BitrateConfig { most: BitRate::from_mbps(501), ..usual },
            BitrateConfig { queue: Span::from_millis(1), ..usual },
        ] {
            assert!(BitrateController::new(wrong).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_reports_leave_a_rate_within_its_limits(
            reports in prop::collection::vec((0_u64..4000, any::<f64>(), any::<u64>(), any::<f64>(), any::<u32>(), any::<bool>()), 0..200),
        ) {
            let config = BitrateConfig::default();
            let mut controller = BitrateController::new(config).expect("valid");
            for (second, loss, trip, frames, dropped, is_client) in reports {
                let feedback = Feedback { loss, round_trip: Some(Span::from_nanos(trip)), frames, dropped };
                let change = if is_client {
                    controller.on_feedback(at(second), &feedback)
                } else {
                    controller.on_allocated(at(second), BitRate::from_bps(trip))
                };
                if let Some(change) = change {
                    prop_assert!((config.least..=config.most).contains(&change.rate));
                    controller.set(at(second), change.rate);
                }
            }
        }
    }
}

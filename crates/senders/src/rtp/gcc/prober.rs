//! Times and rates of probes (libwebrtc `probe_controller.cc`).
//!
//! | condition | rate |
//! |---|---|
//! | at the start | 3 and 6 times the start rate |
//! | a measured rate above 0.7 of the last probe's, while results are awaited | twice the measured rate |
//! | every 5 s while the source is application-limited | twice the estimate |
//! | told of more for it ([`Prober::on_request`]) | the rate that is told |
//! | end of over-use, within 5 s of a fall below 0.66, application-limited now or within 3 s, at most every 5 s | 0.85 of the rate before the fall |
//!
//! Results are awaited for 1 s. A cluster has at least 5 packets and 15 ms. No cluster is sent during over-use, nor if it could not exceed
//! the present estimate; while loss limits the rate, a probe is limited to 1.5 times the estimate.

use std::collections::VecDeque;

use airbound_units::{BitRate, Instant, Span};

use super::probe::ProbeCluster;
use super::{GccConfig, Usage};

const START: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
const FURTHER_THRESHOLD: f64 = 0.7;
const WAIT: Span = Span::from_secs(1);
const LARGE_FALL: f64 = 0.66;
const AFTER_FALL: f64 = 0.85;
/// Relative gain below which a probe is not sent.
const UNCERTAINTY: f64 = 0.05;
const FALL_MEMORY: Span = Span::from_secs(5);
const FALL_PAUSE: Span = Span::from_secs(5);
const LIMIT_MEMORY: Span = Span::from_secs(3);
const LOSS_LIMITED: f64 = 1.5;
const PACKETS: u32 = 5;
const DURATION: Span = Span::from_millis(15);

/// State considered by the prober.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation {
    pub(super) usage: Usage,
    /// Start of the present application-limited period, and end of the last.
    pub(super) limited_since: Option<Instant>,
    pub(super) limited_until: Option<Instant>,
    /// Whether the loss-based estimate is the smaller one.
    pub(super) loss_limited: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Prober {
    on: bool,
    interval: Span,
    max: BitRate,
    estimate: BitRate,
    /// While results are awaited: their deadline, and the estimate above which a further probe follows.
    waiting: Option<(Instant, BitRate)>,
    /// Time of the last probe.
    last: Option<Instant>,
    /// Time of the last large decrease, and the rate before it.
    fall: Option<(Instant, BitRate)>,
    recovered: Option<Instant>,
    start: Option<[BitRate; 2]>,
    next_id: u32,
    ready: VecDeque<ProbeCluster>,
}

impl Prober {
    pub(super) fn new(config: &GccConfig) -> Self {
        Self {
            on: config.probing,
            interval: config.alr_probe_interval,
            max: config.max_rate,
            estimate: config.start_rate,
            waiting: None,
            last: None,
            fall: None,
            recovered: None,
            start: config.probing.then(|| START.map(|scale| config.start_rate.mul_f64(scale))),
            next_id: 0,
            ready: VecDeque::new(),
        }
    }

    /// Returns the next cluster, if one is due.
    pub(super) fn next(&mut self, now: Instant, situation: &Situation) -> Option<ProbeCluster> {
        if let Some(rates) = self.start.take() {
            self.begin(now, &rates, true);
        }
        if situation.usage == Usage::Overuse {
            self.ready.clear();
        } else if self.due(situation).is_some_and(|due| due <= now) {
            self.begin(now, &[self.bounded(FURTHER, situation)], true);
        }
        self.ready.pop_front()
    }

    /// When the next cluster is due if nothing else happens.
    pub(super) fn next_deadline(&self, situation: &Situation) -> Option<Instant> {
        if self.start.is_some() || !self.ready.is_empty() {
            return Some(Instant::ZERO);
        }
        if situation.usage == Usage::Overuse { None } else { self.due(situation) }
    }

    /// Notes that the estimate changed, or was confirmed.
    pub(super) fn on_estimate(&mut self, now: Instant, estimate: BitRate, situation: &Situation) {
        if estimate < self.estimate.mul_f64(LARGE_FALL) {
            self.fall = Some((now, self.estimate));
        }
        self.estimate = estimate;
        if let Some((until, above)) = self.waiting {
            if now > until {
                self.waiting = None;
            } else if estimate > above && situation.usage != Usage::Overuse {
                self.begin(now, &[self.bounded(FURTHER, situation)], true);
            }
        }
    }

    /// Notes that the queue of an over-use has drained: after a large decrease, an application-limited source probes the old rate.
    pub(super) fn on_recovery(&mut self, now: Instant, situation: &Situation) {
        let limited = situation.limited_since.is_some()
            || situation.limited_until.is_some_and(|ended| now - ended < LIMIT_MEMORY);
        let rested = self.recovered.is_none_or(|last| now - last > FALL_PAUSE);
        let waiting = self.waiting.is_some_and(|(until, _)| now <= until);
        let Some((when, before)) = self.fall else { return };
        let rate = before.mul_f64(AFTER_FALL);
        let worth = rate.mul_f64(1.0 - UNCERTAINTY) > self.estimate;
        if self.on && limited && rested && !waiting && worth && now - when < FALL_MEMORY {
            self.recovered = Some(now);
            self.begin(now, &[rate], false);
        }
    }

    /// Probes a rate that the source is told to be free.
    pub(super) fn on_request(&mut self, now: Instant, rate: BitRate) {
        self.begin(now, &[rate], false);
    }

    /// When the next probe of an application-limited source is due.
    fn due(&self, situation: &Situation) -> Option<Instant> {
        let since = situation.limited_since.filter(|_| self.on && self.estimate < self.max)?;
        let last = self.last.unwrap_or(Instant::ZERO);
        let awaited = self.waiting.map_or(Instant::ZERO, |(until, _)| until);
        Some((since.max(last) + self.interval).max(awaited))
    }

    fn bounded(&self, scale: f64, situation: &Situation) -> BitRate {
        self.estimate.mul_f64(if situation.loss_limited { scale.min(LOSS_LIMITED) } else { scale })
    }

    /// Makes clusters at these rates; `further` if a good result causes another one.
    fn begin(&mut self, now: Instant, rates: &[BitRate], mut further: bool) {
        if !self.on {
            return;
        }
        let mut largest = BitRate::ZERO;
        for &wanted in rates {
            let rate = wanted.min(self.max);
            if rate <= self.estimate || rate <= largest {
                further &= wanted < self.max;
                continue;
            }
            further &= wanted < self.max;
            largest = rate;
            let bytes = rate.bytes_in(DURATION);
            self.ready.push_back(ProbeCluster {
                id: self.next_id,
                rate,
                packets: PACKETS,
                bytes,
                duration: DURATION,
            });
            self.next_id = self.next_id.wrapping_add(1);
        }
        self.last = Some(now);
        let above = if further { largest.mul_f64(FURTHER_THRESHOLD) } else { BitRate::from_bps(u64::MAX) };
        self.waiting = Some((now + WAIT, above));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: Situation =
        Situation { usage: Usage::Normal, limited_since: None, limited_until: None, loss_limited: false };

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn rates(prober: &mut Prober, now: Instant, situation: &Situation) -> Vec<u64> {
        std::iter::from_fn(|| prober.next(now, situation))
            .map(|cluster| cluster.rate.as_bps() / 1000)
            .collect()
    }

    #[test]
    fn the_start_doubles_until_the_path_is_full_or_the_maximum_is_reached() {
        let config = GccConfig { max_rate: BitRate::from_mbps(6), ..GccConfig::default() };
        let mut prober = Prober::new(&config);
        assert_eq!(rates(&mut prober, at(0), &CALM), [900, 1800]);
        prober.on_estimate(at(100), BitRate::from_kbps(900), &CALM);
        assert!(rates(&mut prober, at(100), &CALM).is_empty());
        prober.on_estimate(at(150), BitRate::from_kbps(1800), &CALM);
        assert_eq!(rates(&mut prober, at(150), &CALM), [3600]);
        prober.on_estimate(at(300), BitRate::from_kbps(3600), &CALM);
        assert_eq!(rates(&mut prober, at(300), &CALM), [6000]);
        prober.on_estimate(at(400), BitRate::from_kbps(6000), &CALM);
        assert!(rates(&mut prober, at(400), &CALM).is_empty());
    }

    #[test]
    fn an_application_limited_source_is_probed_every_five_seconds_but_not_during_overuse() {
        let mut prober = Prober::new(&GccConfig::default());
        rates(&mut prober, at(0), &CALM);
        let limited = Situation { limited_since: Some(at(3000)), ..CALM };
        assert_eq!(prober.next_deadline(&limited), Some(at(8000)));
        assert!(rates(&mut prober, at(7999), &limited).is_empty());
        assert_eq!(rates(&mut prober, at(8000), &limited), [600]);
        assert_eq!(prober.next_deadline(&limited), Some(at(13_000)));
        let overused = Situation { usage: Usage::Overuse, ..limited };
        assert!(rates(&mut prober, at(13_000), &overused).is_empty());
        let lossy = Situation { loss_limited: true, ..limited };
        assert_eq!(rates(&mut prober, at(13_000), &lossy), [450]);
    }

    #[test]
    fn a_rate_that_is_told_is_probed_once_unless_the_estimate_has_it() {
        let mut prober = Prober::new(&GccConfig::default());
        rates(&mut prober, at(0), &CALM);
        prober.on_request(at(2000), BitRate::from_mbps(20));
        assert_eq!(rates(&mut prober, at(2000), &CALM), [20_000]);
        prober.on_estimate(at(2100), BitRate::from_mbps(19), &CALM);
        assert!(rates(&mut prober, at(2100), &CALM).is_empty());
        prober.on_request(at(3000), BitRate::from_mbps(10));
        assert!(rates(&mut prober, at(3000), &CALM).is_empty());
    }

    #[test]
    fn after_a_large_fall_the_old_rate_is_tried_again_once() {
        let mut prober = Prober::new(&GccConfig::default());
        rates(&mut prober, at(0), &CALM);
        prober.on_estimate(at(2000), BitRate::from_mbps(4), &CALM);
        prober.on_estimate(at(9000), BitRate::from_mbps(1), &CALM);
        let limited = Situation { limited_since: Some(at(8000)), ..CALM };
        prober.on_recovery(at(9500), &limited);
        prober.on_recovery(at(9600), &limited);
        assert_eq!(rates(&mut prober, at(9700), &limited), [3400]);
    }
}

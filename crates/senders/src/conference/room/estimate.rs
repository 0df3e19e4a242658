//! Estimates of links: a rate, what it says about the link, and its age.

use airbound_units::{BitRate, Instant, Span};

/// Meaning of an estimate for the capacity of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EstimateKind {
    /// The sender fills the link: the capacity is the rate.
    Exact,
    /// The sender has less to send than the link carries: the capacity is the rate or more.
    AtLeast,
}

/// An estimate of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The estimated rate.
    pub rate: BitRate,
    /// Its meaning.
    pub kind: EstimateKind,
    /// When it was made.
    pub at: Instant,
}

impl Estimate {
    /// Meaning of the estimate at `now`: an old one is a lower bound only.
    #[must_use]
    pub fn kind_at(&self, now: Instant, fresh: Span) -> EstimateKind {
        if now.since(self.at) > fresh { EstimateKind::AtLeast } else { self.kind }
    }
}

/// Fall of an estimate that shows a full link, relative to its peak.
const FALL: f64 = 0.05;
/// Time for which a fall shows that a link is full.
const FULL: Span = Span::from_secs(8);
/// Part of an estimate that has to be sent for it to say anything about the link. Less than what a step up may fill,
/// `headroom` times 1 - `margin` (0.855): forwarding would else be held below what shows the link.
const FILLED: f64 = 0.75;
/// The same for the estimate of a client, which falls with what arrives, and below it where the link is full (`kBeta` of libwebrtc: 0.85).
const FILLED_CLIENT: f64 = 1.0;

/// An estimate of a congestion control, and whether it shows the capacity of the link: it has fallen lately, although it was filled. One that has
/// not fallen shows what was sent until now, as a congestion control lets its estimate rise with what is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Gauge {
    rate: f64,
    peak: f64,
    fell: Option<Instant>,
    /// The client made the estimate, by what arrives.
    pub by_client: bool,
}

impl Gauge {
    /// Takes an estimate and what is sent at the same time, bit/s; returns whether it fell.
    pub fn take(&mut self, now: Instant, rate: f64, sent: f64) -> bool {
        let fell = rate < self.peak * (1.0 - FALL);
        if fell && sent >= rate * if self.by_client { FILLED_CLIENT } else { FILLED } {
            self.fell = Some(now);
        }
        self.peak = if fell { rate } else { self.peak.max(rate) };
        self.rate = rate;
        fell
    }

    /// Takes an estimate of which only a part is left, which is no fall, bit/s.
    pub const fn reset_peak(&mut self, rate: f64) {
        self.peak = rate;
    }

    /// The estimate in bit/s; 0 for none.
    #[must_use]
    pub const fn rate(&self) -> f64 {
        self.rate
    }

    /// When it last fell although it was filled.
    #[must_use]
    pub const fn fell(&self) -> Option<Instant> {
        self.fell
    }

    /// Whether it fell lately although it was filled.
    #[must_use]
    pub fn is_full(&self, now: Instant) -> bool {
        self.fell.is_some_and(|at| now.since(at) < FULL)
    }

    /// Meaning of the estimate while `sent` bit/s are sent.
    #[must_use]
    pub fn kind(&self, now: Instant, sent: f64) -> EstimateKind {
        if self.is_full(now) && sent >= self.rate * FILLED {
            EstimateKind::Exact
        } else {
            EstimateKind::AtLeast
        }
    }

    /// Takes a rate and what is sent at the same time, and returns it as an estimate.
    pub fn estimate(&mut self, now: Instant, rate: BitRate, sent: BitRate) -> Estimate {
        let sent = sent.as_bps() as f64;
        self.take(now, rate.as_bps() as f64, sent);
        Estimate { rate, kind: self.kind(now, sent), at: now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::ZERO + Span::from_secs(secs)
    }

    #[test]
    fn an_estimate_is_exact_after_a_fall_while_it_is_filled() {
        let mut gauge = Gauge::default();
        // It rises with what is sent: the link may carry more.
        for step in 1..5_u32 {
            let rate = f64::from(step) * 1e5;
            assert!(!gauge.take(at(u64::from(step)), rate, rate));
            assert_eq!(gauge.kind(at(u64::from(step)), rate), EstimateKind::AtLeast);
        }
        assert!(gauge.take(at(5), 3e5, 3.9e5));
        assert_eq!(gauge.kind(at(6), 2.8e5), EstimateKind::Exact);
        assert_eq!(gauge.kind(at(6), 1e5), EstimateKind::AtLeast, "not filled");
        assert_eq!(gauge.kind(at(14), 2.8e5), EstimateKind::AtLeast, "long ago");
        // A fall because little is sent says nothing.
        let mut idle = Gauge::default();
        idle.take(at(1), 1e6, 1e6);
        assert!(idle.take(at(2), 5e5, 1e5));
        assert_eq!(idle.kind(at(2), 4.9e5), EstimateKind::AtLeast);
    }

    #[test]
    fn what_a_step_up_may_fill_shows_the_link() {
        let (mbps, config) = (BitRate::from_mbps, super::super::RoomConfig::default());
        let mut gauge = Gauge::default();
        gauge.estimate(at(1), mbps(12), mbps(12));
        let most = mbps(10).mul_f64(config.headroom * (1.0 - config.margin));
        assert_eq!(gauge.estimate(at(2), mbps(10), most).kind, EstimateKind::Exact);
    }

    #[test]
    fn an_exact_estimate_ages() {
        let estimate = Estimate { rate: BitRate::from_mbps(9), kind: EstimateKind::Exact, at: at(0) };
        let kind = |secs| estimate.kind_at(at(secs), Span::from_secs(10));
        assert_eq!((kind(10), kind(11)), (EstimateKind::Exact, EstimateKind::AtLeast));
    }
}

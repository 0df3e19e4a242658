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

/// The fraction of an estimate above which what is sent counts as filling the link.
const FILLED: f64 = 0.85;

impl Estimate {
    /// Makes an estimate of a congestion control's rate and what its sender sent: exact if the sender fills the estimate.
    #[must_use]
    pub fn of(rate: BitRate, sent: BitRate, at: Instant) -> Self {
        let filled = sent.as_bps() as f64 >= FILLED * rate.as_bps() as f64;
        Self { rate, kind: if filled { EstimateKind::Exact } else { EstimateKind::AtLeast }, at }
    }

    /// Meaning of the estimate at `now`: an old one is a lower bound only.
    #[must_use]
    pub fn kind_at(&self, now: Instant, fresh: Span) -> EstimateKind {
        if now.since(self.at) > fresh { EstimateKind::AtLeast } else { self.kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_exact_while_it_is_filled_and_fresh() {
        let (ten, at) = (BitRate::from_mbps(10), Instant::ZERO);
        assert_eq!(Estimate::of(ten, BitRate::from_mbps(2), at).kind, EstimateKind::AtLeast);
        let filled = Estimate::of(ten, BitRate::from_mbps(9), at);
        let kind = |secs| filled.kind_at(at + Span::from_secs(secs), Span::from_secs(10));
        assert_eq!((kind(10), kind(11)), (EstimateKind::Exact, EstimateKind::AtLeast));
    }
}

//! Capacity detection (Plum, Sec. III-D): the capacity of one client's half-duplex bottleneck, and its changes.

use airbound_units::BitRate;

use super::config::Reading;
use super::state::State;
use crate::conference::problem::Share;

/// The largest plausible estimate, above the fastest 802.11 link.
const LARGEST: f64 = 1e12;

/// An implausible estimate of a congestion control.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("the {way} estimate of client {client} is {value} bit/s; allowed is 0 to {LARGEST:e} bit/s")]
pub struct BadEstimate {
    /// The client of the estimate.
    pub client: u16,
    /// `uplink` or `downlink`.
    pub way: &'static str,
    /// The estimate in bit/s.
    pub value: f64,
}

/// Converts a number from the network into a rate, if plausible.
pub(super) fn believable(client: u16, way: &'static str, value: f64) -> Result<BitRate, BadEstimate> {
    if (0.0..=LARGEST).contains(&value) {
        Ok(BitRate::from_bps_f64(value))
    } else {
        Err(BadEstimate { client, way, value })
    }
}

/// Estimates of one direction since the last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Estimates {
    latest: Option<BitRate>,
    sum: u64,
    count: u64,
    /// Estimate derived by the last check.
    checked: Option<BitRate>,
}

impl Estimates {
    fn add(&mut self, estimate: BitRate) {
        self.latest = Some(estimate);
        self.sum = self.sum.saturating_add(estimate.as_bps());
        self.count += 1;
    }

    /// Ends a period. Without estimates in it the previous one remains.
    fn check(&mut self, reading: Reading) {
        self.checked = match reading {
            Reading::Mean if self.count > 0 => Some(BitRate::from_bps(self.sum / self.count)),
            Reading::Mean => self.checked,
            Reading::Latest => self.latest,
        };
        (self.sum, self.count) = (0, 0);
    }
}

/// Estimates of one client's bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::conference) struct Capacity {
    up: Estimates,
    down: Estimates,
    /// The capacity last acted upon.
    acted: Option<BitRate>,
}

impl Capacity {
    pub(in crate::conference) fn on_up(&mut self, estimate: BitRate) {
        self.up.add(estimate);
    }

    pub(in crate::conference) fn on_down(&mut self, estimate: BitRate) {
        self.down.add(estimate);
    }

    /// Checks the estimates of both directions.
    pub(in crate::conference) fn check(&mut self, reading: Reading) {
        self.up.check(reading);
        self.down.check(reading);
    }

    /// Returns each direction's present share of the bottleneck: the estimate of its congestion control, for a constrained direction
    /// limited to its rate. An application-limited congestion control keeps an old estimate, and the sum of both would count the yielded
    /// bandwidth twice.
    pub(in crate::conference) fn in_use(&self, state: State) -> Option<Share> {
        let Share { mut up, mut down } = self.natural()?;
        match state {
            State::Natural => {}
            State::ClientConstrained { rate } => up = up.min(rate),
            State::ServerConstrained { rate } => down = down.min(rate),
        }
        Some(Share { up, down })
    }

    /// Returns the estimate of each direction's congestion control, constrained or not: its natural rate.
    pub(in crate::conference) fn natural(&self) -> Option<Share> {
        Some(Share { up: self.up.checked?, down: self.down.checked? })
    }

    /// B_i: the sum of both directions.
    pub(in crate::conference) fn sum(&self, state: State) -> Option<BitRate> {
        self.in_use(state).map(|share| share.up + share.down)
    }

    /// Whether the capacity differs clearly from the one acted upon. A slow drift accumulates until it does.
    pub(in crate::conference) fn changed(&self, state: State, threshold: f64) -> bool {
        match (self.sum(state), self.acted) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(now), Some(acted)) => {
                let (now, acted) = (now.as_bps(), acted.as_bps());
                now.abs_diff(acted) as f64 > threshold * acted as f64
            }
        }
    }

    /// Notes that the present capacity is acted upon.
    pub(in crate::conference) fn act(&mut self, state: State) {
        self.acted = self.sum(state).or(self.acted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(up: u64, down: u64) -> Capacity {
        let mut capacity = Capacity::default();
        capacity.on_up(BitRate::from_mbps(up));
        capacity.on_down(BitRate::from_mbps(down));
        capacity.check(Reading::Mean);
        capacity
    }

    #[test]
    fn invalid_estimates_are_refused_with_a_message() {
        for value in [f64::NAN, f64::INFINITY, -1.0, 2e12] {
            let error = believable(3, "uplink", value).expect_err("refused").to_string();
            assert!(error.contains("client 3") && error.contains("uplink"), "{error}");
        }
        assert_eq!(believable(3, "uplink", 1e6), Ok(BitRate::from_mbps(1)));
    }

    #[test]
    fn a_drift_adds_up_and_a_small_change_is_none() {
        let mut seen = capacity(10, 10);
        assert!(seen.changed(State::Natural, 0.2), "nothing was acted upon");
        seen.act(State::Natural);
        seen.on_up(BitRate::from_mbps(13));
        seen.check(Reading::Latest);
        assert!(!seen.changed(State::Natural, 0.2), "15 %");
        seen.on_up(BitRate::from_mbps(15));
        seen.check(Reading::Latest);
        assert!(
            seen.changed(State::Natural, 0.2),
            "25 % against what was acted upon, 9 % against the last look"
        );
    }

    #[test]
    fn a_dip_at_the_moment_of_the_check_does_not_decide() {
        let mut seen = capacity(10, 10);
        seen.act(State::Natural);
        for _ in 0..9 {
            seen.on_down(BitRate::from_mbps(10));
        }
        seen.on_down(BitRate::from_mbps(1));
        let mut latest = seen;
        seen.check(Reading::Mean);
        latest.check(Reading::Latest);
        assert!(!seen.changed(State::Natural, 0.2) && latest.changed(State::Natural, 0.2));
        // A period without estimates keeps the previous one.
        seen.check(Reading::Mean);
        assert_eq!(seen.sum(State::Natural), Some(BitRate::from_kbps(19_100)));
    }

    #[test]
    fn yielded_bandwidth_is_counted_once() {
        // The client yields 7 of its 10 Mb/s; its congestion control still estimates 10.
        let seen = capacity(10, 17);
        let state = State::ClientConstrained { rate: BitRate::from_mbps(3) };
        assert_eq!(seen.sum(state), Some(BitRate::from_mbps(20)));
    }
}

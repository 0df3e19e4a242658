//! Bitrate state control (Plum, Sec. III-D, Fig. 9b): the end of a client's pair of streams that is held.

use airbound_units::BitRate;

use crate::conference::problem::Share;

/// The state shared by server and client. The server sets it; the client follows the notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    /// I: both ends send what their congestion control allows.
    #[default]
    Natural,
    /// II: the client encodes at a settled rate, the server is natural.
    ClientConstrained {
        /// Rate at which the client may send.
        rate: BitRate,
    },
    /// III: the server forwards at a settled rate, the client is natural.
    ServerConstrained {
        /// Rate at which the server may send to this client.
        rate: BitRate,
    },
}

impl State {
    /// Part of its target from which an uplink counts as having reached it.
    pub(in crate::conference) const REACHED: f64 = 0.9;

    /// The state that leads a client to its target: the direction that has to give up the larger share of its natural rate, its congestion
    /// control's estimate, is held at its target, and the other uses the released bandwidth. No direction is held at a rate that is not
    /// below the natural one. (Relative to the present rates, a constrained client whose target rises a little would be released, and the
    /// server held in its place.)
    #[must_use]
    pub fn towards(target: Share, natural: Share) -> Self {
        let kept = |target: BitRate, natural: BitRate| {
            if target < natural { target.as_bps() as f64 / natural.as_bps() as f64 } else { 1.0 }
        };
        let (up, down) = (kept(target.up, natural.up), kept(target.down, natural.down));
        if up >= 1.0 && down >= 1.0 {
            Self::Natural
        } else if up <= down {
            Self::ClientConstrained { rate: target.up }
        } else {
            Self::ServerConstrained { rate: target.down }
        }
    }

    /// r_t of the notice to the client: its rate if it is constrained, 0 if it is natural.
    #[must_use]
    pub const fn client_rate(self) -> BitRate {
        match self {
            Self::ClientConstrained { rate } => rate,
            Self::Natural | Self::ServerConstrained { .. } => BitRate::ZERO,
        }
    }

    /// Returns the rate at which the server may send, if it is constrained.
    #[must_use]
    pub const fn server_limit(self) -> Option<BitRate> {
        match self {
            Self::ServerConstrained { rate } => Some(rate),
            Self::Natural | Self::ClientConstrained { .. } => None,
        }
    }

    /// Its number in the paper.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Natural => 1,
            Self::ClientConstrained { .. } => 2,
            Self::ServerConstrained { .. } => 3,
        }
    }
}

/// One end: natural or constrained, with the rate it had before it was constrained.
///
/// Both ends have one: the client for its encoder, the server for forwarding to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateGate {
    limit: Option<BitRate>,
    before: Option<BitRate>,
    restore: Option<BitRate>,
}

impl RateGate {
    /// Holds the end at `limit`, or releases it; `present` is its present rate.
    pub fn set(&mut self, limit: Option<BitRate>, present: BitRate) {
        match (self.limit, limit) {
            (None, Some(_)) => {
                self.before = Some(present);
                self.restore = None;
            }
            (Some(_), None) => self.restore = self.before.take(),
            _ => {}
        }
        self.limit = limit;
    }

    /// The settled rate, if the end is constrained.
    #[must_use]
    pub const fn limit(&self) -> Option<BitRate> {
        self.limit
    }

    /// The rate of the end before it was constrained, returned once after its release: it resumes there at once, without waiting for its
    /// congestion control.
    pub fn take_restored(&mut self) -> Option<BitRate> {
        self.restore.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(up: u64, down: u64) -> Share {
        Share { up: BitRate::from_mbps(up), down: BitRate::from_mbps(down) }
    }

    #[test]
    fn the_direction_that_shrinks_is_held() {
        let now = share(10, 10);
        assert_eq!(
            State::towards(share(3, 17), now),
            State::ClientConstrained { rate: BitRate::from_mbps(3) }
        );
        assert_eq!(
            State::towards(share(16, 4), now),
            State::ServerConstrained { rate: BitRate::from_mbps(4) }
        );
        assert_eq!(State::towards(share(10, 12), now), State::Natural);
    }

    #[test]
    fn the_rate_before_the_constraint_comes_back_once() {
        let mut gate = RateGate::default();
        gate.set(Some(BitRate::from_mbps(3)), BitRate::from_mbps(9));
        gate.set(Some(BitRate::from_mbps(2)), BitRate::from_mbps(3));
        assert_eq!((gate.limit(), gate.take_restored()), (Some(BitRate::from_mbps(2)), None));
        gate.set(None, BitRate::from_mbps(2));
        assert_eq!(gate.take_restored(), Some(BitRate::from_mbps(9)));
        assert_eq!((gate.limit(), gate.take_restored()), (None, None));
    }
}

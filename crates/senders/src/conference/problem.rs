//! The allocation problem of Plum (Sec. III-C): send and receive rates of all users.

use airbound_units::BitRate;

use super::qoe::Qoe;
use super::utility::Welfare;

/// Step to which the solver's downlink rates are rounded down, so that differences in the last bits of its arithmetic do not show. All
/// other rates follow from them in whole bits per second.
pub(super) const QUANTUM: BitRate = BitRate::from_kbps(1);

/// One participant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct User {
    /// B_i: total capacity of both directions of the half-duplex bottleneck.
    pub capacity: BitRate,
    /// Weight of this user's QoE in mean and deviation, relative to the others'; above 0 and finite. The paper uses equal weights.
    pub weight: f64,
    /// Lowest useful bitrate of this viewer, if above [`Problem::least_down`]; as that, less where it does not fit.
    pub least_down: BitRate,
}

/// Allocation problem: the objective to maximise, and its constraints.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// The participants.
    pub users: Vec<User>,
    /// The single-user QoE function.
    pub qoe: Qoe,
    /// Weight of fairness in equation 1, 0 to 1.
    pub rho: f64,
    /// M: the largest useful bitrate of the application.
    pub max_bitrate: BitRate,
    /// M/V: the largest value of one source to one viewer.
    pub source_cap: BitRate,
    /// Lowest bitrate of an encoder. A quarter of the capacity where that is less.
    pub least_up: BitRate,
    /// Lowest useful bitrate of a viewer. A quarter of the capacity, a quarter of M, or a tenth of what the others can send, where one of
    /// these is less.
    pub least_down: BitRate,
}

/// Rates of one participant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Share {
    /// u_i: rate from the client to the server.
    pub up: BitRate,
    /// d_i: rate from the server to the client.
    pub down: BitRate,
}

/// The reason why there is no allocation.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// There are fewer than two participants.
    #[error("a session needs at least 2 participants, not {users}")]
    TooFew {
        /// Number of participants.
        users: usize,
    },
    /// A value out of range.
    #[error("{what} is {value}; allowed is {allowed}")]
    Number {
        /// Name of the value.
        what: String,
        /// The number found.
        value: f64,
        /// The allowed range in words.
        allowed: &'static str,
    },
    /// The solver stopped without an optimum.
    #[error("no allocation was found: {reason}")]
    Unsolved {
        /// Reason given by the solver.
        reason: String,
    },
    /// An allocation that violates a constraint of Sec. III-C.
    #[error("the allocation of participant {user} violates the {constraint}")]
    Invalid {
        /// Index of the participant, from 0.
        user: usize,
        /// The constraint, in the paper's words.
        constraint: &'static str,
    },
}

impl Problem {
    /// Checks every number.
    ///
    /// # Errors
    /// There are fewer than two users, or a number is out of range.
    pub fn check(&self) -> Result<(), ProblemError> {
        if self.users.len() < 2 {
            return Err(ProblemError::TooFew { users: self.users.len() });
        }
        let wrong = |what: String, value, allowed| Err(ProblemError::Number { what, value, allowed });
        for (index, user) in self.users.iter().enumerate() {
            if !(user.weight.is_finite() && user.weight > 0.0) {
                return wrong(
                    format!("the weight of participant {index}"),
                    user.weight,
                    "above 0 and finite",
                );
            }
        }
        if !(0.0..=1.0).contains(&self.rho) {
            return wrong("rho".to_owned(), self.rho, "0 to 1");
        }
        if self.max_bitrate < QUANTUM {
            return wrong("the largest bitrate".to_owned(), self.max_mbps(), "at least 0.001 Mb/s");
        }
        Ok(())
    }

    /// M in Mb/s.
    pub(super) fn max_mbps(&self) -> f64 {
        self.max_bitrate.as_mbps_f64()
    }

    /// A rate as a share of M.
    pub(super) fn scaled(&self, rate: BitRate) -> f64 {
        rate.as_bps() as f64 / self.max_bitrate.as_bps().max(1) as f64
    }

    /// The weights, normalised to a sum of 1.
    pub(super) fn weights(&self) -> Vec<f64> {
        let sum: f64 = self.users.iter().map(|user| user.weight).sum();
        self.users.iter().map(|user| user.weight / sum).collect()
    }

    /// The floor of a user's uplink.
    pub(super) fn floor(&self, user: &User) -> BitRate {
        self.least_up.min(BitRate::from_bps(user.capacity.as_bps() / 4)).min(self.source_cap)
    }

    /// The floor of a user's downlink: all users can have theirs at once.
    pub(super) fn floor_down(&self, index: usize) -> BitRate {
        let worth = |user: &User| user.capacity.min(self.source_cap).min(self.max_bitrate).as_bps();
        let others = self.users.iter().enumerate().filter(|(other, _)| *other != index);
        let content = others.map(|(_, user)| worth(user)).fold(0, u64::saturating_add);
        let (capacity, own) = self
            .users
            .get(index)
            .map_or_else(Default::default, |user| (user.capacity.as_bps(), user.least_down));
        let most = (capacity / 4).min(content / 10).min(self.max_bitrate.as_bps() / 4);
        self.least_down.max(own).min(BitRate::from_bps(most))
    }

    /// Returns the terms and the sum of equation 1 for downlink rates.
    #[must_use]
    pub fn welfare(&self, shares: &[Share]) -> Welfare {
        let max = self.max_mbps();
        let qoe: Vec<f64> = shares.iter().map(|share| self.qoe.value(self.scaled(share.down), max)).collect();
        Welfare::of(&qoe, &self.weights(), self.rho)
    }

    /// Makes an exact allocation of downlink rates in shares of M: rounds them down, gives each uplink the remaining capacity (as far
    /// as a source is useful), and lowers downlinks that no source fills. A lower downlink only leaves more uplink, so one pass is
    /// enough, and no rate is lowered by more than the step. (Rounding uplinks too would lower their sum by as many steps as there are
    /// users.)
    pub(super) fn exact(&self, down: &[f64]) -> Vec<Share> {
        let round = |rate: BitRate| BitRate::from_bps(rate.as_bps() / QUANTUM.as_bps() * QUANTUM.as_bps());
        let mut shares: Vec<Share> = self
            .users
            .iter()
            .zip(down)
            .map(|(user, x)| {
                let most = user.capacity - self.floor(user).min(user.capacity);
                let wanted = BitRate::from_bps_f64(x.max(0.0) * self.max_bitrate.as_bps() as f64);
                let down = round(wanted.min(most).min(self.max_bitrate));
                Share { up: (user.capacity - down).min(self.source_cap), down }
            })
            .collect();
        let sources: u64 = shares.iter().map(|share| share.up.as_bps()).sum();
        for share in &mut shares {
            share.down = share.down.min(BitRate::from_bps(sources - share.up.as_bps()));
        }
        shares
    }

    /// Checks an allocation against the constraints of Sec. III-C.
    ///
    /// # Errors
    /// The first violated constraint.
    pub fn validate(&self, shares: &[Share]) -> Result<(), ProblemError> {
        if shares.len() != self.users.len() {
            return Err(ProblemError::Invalid { user: shares.len(), constraint: "number of participants" });
        }
        let worth = |share: &Share| share.up.min(self.source_cap).as_bps();
        let sources: u64 = shares.iter().map(worth).fold(0, u64::saturating_add);
        for (index, (user, share)) in self.users.iter().zip(shares).enumerate() {
            let broken = |constraint| Err(ProblemError::Invalid { user: index, constraint });
            if share.up.as_bps().saturating_add(share.down.as_bps()) > user.capacity.as_bps() {
                return broken("available bandwidth bound");
            }
            if share.down.as_bps() > sources - worth(share) {
                return broken("content source bound");
            }
        }
        Ok(())
    }
}

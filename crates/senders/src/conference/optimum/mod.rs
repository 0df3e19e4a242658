//! The bitrates that maximise the utility (Plum, Sec. III-C), with a certificate of their quality.
//!
//! With the QoE q_i as the variable, the mean is linear and the standard deviation convex, and the bitrate d_i for q_i is convex for
//! the linear, the logarithmic and the concave-square QoE: those have one global optimum (`barrier`). The convex square has local
//! optima; a local method starts from several points (`local`), and if that would take too long each start climbs under tangents
//! alone.

mod barrier;
mod curve;
mod local;

use super::problem::{Problem, ProblemError, Share};
use super::utility::Welfare;

/// Number of participants up to which the convex square is solved by SLSQP, whose cost grows with its cube.
const MOST_FOR_SLSQP: usize = 24;

/// Evidence of the quality of an allocation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Certificate {
    /// No allocation has a utility above `bound`, as proved by the dual problem.
    Global {
        /// Upper bound of the utility.
        bound: f64,
    },
    /// The best local optimum of several starts.
    BestOf {
        /// Number of starts.
        starts: usize,
        /// Number of starts within 0.001 of the best utility, the best included.
        agreeing: usize,
    },
}

/// Bitrates of all users.
#[derive(Debug, Clone, PartialEq)]
pub struct Allocation {
    /// In the order of the users.
    pub shares: Vec<Share>,
    /// Welfare of the shares.
    pub welfare: Welfare,
    /// Evidence of their quality.
    pub certificate: Certificate,
}

impl Allocation {
    fn new(problem: &Problem, down: &[f64], certificate: Certificate) -> Self {
        let shares = problem.exact(down);
        let welfare = problem.welfare(&shares);
        Self { shares, welfare, certificate }
    }
}

impl Problem {
    /// Computes the allocation with the greatest utility: the global optimum for a concave QoE, otherwise the best local optimum of
    /// several starts.
    ///
    /// # Errors
    /// A number of the problem is out of range, or the solver fails.
    pub fn solve(&self) -> Result<Allocation, ProblemError> {
        self.check()?;
        if self.qoe.is_concave() {
            let solution = barrier::solve(self, &[])?;
            return Ok(Allocation::new(self, &solution.down, Certificate::Global { bound: solution.bound }));
        }
        let starts = local::starts(self);
        self.best_of(&starts, self.users.len() <= MOST_FOR_SLSQP)
    }

    /// Computes the best local optimum that SLSQP, the paper's method, reaches from several starts, for any QoE.
    ///
    /// # Errors
    /// A number of the problem is out of range.
    pub fn solve_locally(&self) -> Result<Allocation, ProblemError> {
        self.check()?;
        self.best_of(&local::starts(self), true)
    }

    fn best_of(&self, starts: &[Vec<f64>], slsqp: bool) -> Result<Allocation, ProblemError> {
        let climbed = starts.iter().map(|start| {
            let down = if slsqp { local::slsqp(self, start) } else { start.clone() };
            // The gain that the local method missed, if the tangents of the convex square find more.
            if self.qoe.is_concave() { down } else { local::climb(self, down) }
        });
        let certificate = Certificate::BestOf { starts: starts.len(), agreeing: 0 };
        let all: Vec<Allocation> = climbed.map(|down| Allocation::new(self, &down, certificate)).collect();
        let utility = |allocation: &Allocation| allocation.welfare.utility;
        let best = all.iter().max_by(|a, b| utility(a).total_cmp(&utility(b)));
        let Some(best) = best else {
            return Err(ProblemError::Unsolved { reason: "there is no start".to_owned() });
        };
        let agreeing = all.iter().filter(|other| utility(other) > utility(best) - 1e-3).count();
        Ok(Allocation { certificate: Certificate::BestOf { starts: starts.len(), agreeing }, ..best.clone() })
    }
}

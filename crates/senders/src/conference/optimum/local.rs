//! Sequential least-squares programming (Kraft 1988), the paper's method: finds a local optimum from a start.

use slsqp::{StopTols, minimize};

use super::barrier;
use crate::conference::problem::Problem;
use crate::conference::qoe::Qoe;
use crate::conference::utility::Welfare;

/// Upper limit on evaluations of the utility from one start.
const MOST_EVALUATIONS: usize = 400;
/// Upper limit on rounds of tangents in [`climb`].
const MOST_ROUNDS: usize = 12;
/// Gain in utility below which the search stops.
const LEAST_GAIN: f64 = 1e-6;
/// Added to the variance, so that the standard deviation is differentiable if all values are equal.
const SMOOTHING: f64 = 1e-12;

/// One constraint, written as a function that may not be above 0. The variables are the bitrates, then the sources.
#[derive(Debug, Clone, Copy)]
enum Constraint {
    /// x_i + u_i <= B_i.
    Capacity { user: usize, capacity: f64 },
    /// x_i <= sum of the others' u.
    Content { user: usize },
}

impl Constraint {
    fn value(self, point: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        let users = point.len() / 2;
        let (down, up) = point.split_at(users);
        match self {
            Self::Capacity { user, capacity } => {
                if let Some(gradient) = gradient {
                    gradient.fill(0.0);
                    gradient[user] = 1.0;
                    gradient[users + user] = 1.0;
                }
                down[user] + up[user] - capacity
            }
            Self::Content { user } => {
                if let Some(gradient) = gradient {
                    let (by_down, by_up) = gradient.split_at_mut(users);
                    by_down.fill(0.0);
                    by_up.fill(-1.0);
                    by_down[user] = 1.0;
                    by_up[user] = 0.0;
                }
                down[user] + up[user] - up.iter().sum::<f64>()
            }
        }
    }
}

/// The negative utility, which SLSQP minimises.
struct Loss<'a> {
    problem: &'a Problem,
    weights: Vec<f64>,
}

impl Loss<'_> {
    fn value(&self, point: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        let (rho, max) = (self.problem.rho, self.problem.max_mbps());
        let down = &point[..self.weights.len()];
        let qoe: Vec<f64> = down.iter().map(|x| self.problem.qoe.value(*x, max)).collect();
        let welfare = Welfare::of(&qoe, &self.weights, rho);
        let spread = (1.0 - welfare.fairness) / 2.0;
        let deviation = libm::sqrt(spread * spread + SMOOTHING);
        if let Some(gradient) = gradient {
            gradient.fill(0.0);
            for (user, slot) in gradient.iter_mut().enumerate().take(down.len()) {
                let by_qoe =
                    self.weights[user] * ((1.0 - rho) - 2.0 * rho * (qoe[user] - welfare.mean) / deviation);
                *slot = -by_qoe * self.problem.qoe.slope(down[user], max);
            }
        }
        -((1.0 - rho) * welfare.mean + rho * (1.0 - 2.0 * deviation))
    }
}

/// Bitrates to start from, in shares of M: the optima under the linear and the concave QoE, an even split, the weakest user's rate for
/// all, and nearly all capacity for the viewers.
pub(super) fn starts(problem: &Problem) -> Vec<Vec<f64>> {
    let capacities = || problem.users.iter().map(|user| problem.scaled(user.capacity));
    let users = problem.users.len() as f64;
    let weakest = capacities().fold(f64::INFINITY, f64::min);
    let mut starts: Vec<Vec<f64>> = [Qoe::Linear, Qoe::ConcaveSquare]
        .into_iter()
        .filter_map(|qoe| barrier::solve(&Problem { qoe, ..problem.clone() }, &[]).ok())
        .map(|solution| solution.down)
        .collect();
    starts.push(capacities().map(|capacity| (capacity / 2.0).min(1.0)).collect());
    starts.push(capacities().map(|_| (weakest * (users - 1.0) / users).min(1.0)).collect());
    starts.push(capacities().map(|capacity| (capacity * (users - 1.0) / users).min(1.0)).collect());
    for (index, down) in starts.iter_mut().flat_map(|start| start.iter_mut().enumerate()) {
        *down = down.max(problem.scaled(problem.floor_down(index)));
    }
    starts
}

/// Climbs from `start` to a local optimum; returns the start itself if SLSQP fails.
pub(super) fn slsqp(problem: &Problem, start: &[f64]) -> Vec<f64> {
    let users = problem.users.len();
    let loss = Loss { problem, weights: problem.weights() };
    let shares = problem.exact(start);
    let first: Vec<f64> = shares
        .iter()
        .map(|share| problem.scaled(share.down))
        .chain(shares.iter().map(|share| problem.scaled(share.up)))
        .collect();
    let cap = problem.scaled(problem.source_cap);
    let down_bounds = problem.users.iter().enumerate().map(|(index, user)| {
        let floor = problem.scaled(problem.floor_down(index));
        (floor, problem.scaled(user.capacity).min(1.0).max(floor))
    });
    let up_bounds = problem.users.iter().map(|user| {
        let floor = problem.scaled(problem.floor(user));
        (floor, problem.scaled(user.capacity).min(cap).max(floor))
    });
    let bounds: Vec<(f64, f64)> = down_bounds.chain(up_bounds).collect();
    let constraints: Vec<_> = (0..users)
        .flat_map(|user| {
            let capacity = problem.scaled(problem.users[user].capacity);
            [Constraint::Capacity { user, capacity }, Constraint::Content { user }]
        })
        .map(|constraint| {
            move |point: &[f64], gradient: Option<&mut [f64]>, (): &mut ()| constraint.value(point, gradient)
        })
        .collect();
    let objective = |point: &[f64], gradient: Option<&mut [f64]>, (): &mut ()| loss.value(point, gradient);
    let tolerance = StopTols { ftol_abs: 1e-9, ..StopTols::default() };
    let found = minimize(objective, &first, &bounds, &constraints, (), MOST_EVALUATIONS, Some(tolerance));
    // A line search that stops at the limit of precision has converged too.
    let point = match found {
        Ok((_, point, _)) => point,
        Err((_, point, _)) => point,
    };
    let usable = point.iter().all(|value| value.is_finite());
    let better =
        |down: &[f64]| problem.welfare(&problem.exact(down)).utility >= problem.welfare(&shares).utility;
    if usable && better(&point[..users]) { point[..users].to_vec() } else { start.to_vec() }
}

/// Climbs from bitrates under a convex Q: its tangents lie below it, so the optimum under them is feasible and no worse; new tangents
/// follow there, until there is no gain (the convex-concave procedure of Yuille and Rangarajan, 2003).
pub(super) fn climb(problem: &Problem, start: Vec<f64>) -> Vec<f64> {
    let utility = |down: &[f64]| problem.welfare(&problem.exact(down)).utility;
    let mut best = (utility(&start), start);
    for _ in 0..MOST_ROUNDS {
        let Ok(next) = barrier::solve(problem, &best.1) else { break };
        let found = utility(&next.down);
        let gained = found - best.0;
        if gained > 0.0 {
            best = (found, next.down);
        }
        if gained < LEAST_GAIN {
            break;
        }
    }
    best.1
}

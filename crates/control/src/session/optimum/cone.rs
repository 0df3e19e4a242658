//! The allocation as a cone program, solved by Clarabel's interior-point method.
//!
//! All rates are in shares of M. The variables are the QoE q, what each source is worth u, the bitrates x (where they are not q
//! itself), the sum of the sources, the mean QoE and the standard deviation. Sum and mean are variables of their own, so that
//! every row has a handful of entries: the sparse form that keeps the cost nearly linear in the number of users.
//!
//! ```text
//! maximise  (1 - rho) mean + rho (1 - 2 sigma)
//! mean = sum w q      total = sum u      sigma >= || sqrt(w) (q - mean) ||
//! x_i + u_i <= B_i    x_i + u_i <= total    floor_i <= u_i <= M/V    0 <= x_i <= 1    q_i <= Q(x_i)
//! ```
//! The last row is an inequality: at the optimum a user whose QoE is held below Q(x) simply gets less bitrate.

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{ExponentialConeT, NonnegativeConeT, SecondOrderConeT, ZeroConeT};
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use crate::session::problem::{Problem, ProblemError};
use crate::session::qoe::Qoe;

/// Rounds of tangents after which [`climb`] stops at the latest.
const MOST_ROUNDS: usize = 12;
/// Gain in utility below which it is pointless to go on.
const LEAST_GAIN: f64 = 1e-6;

/// So many users of the largest capacities have a row for the content bound at first.
const LARGEST: usize = 8;
/// Of gap and constraints, in shares of M; rates are rounded to 1 kb/s.
const TOLERANCE: f64 = 1e-6;

/// What stands for Q.
#[derive(Debug, Clone, Copy)]
pub(super) enum Curve<'a> {
    /// The problem's own, which is concave.
    Own,
    /// Tangents of a convex Q at these bitrates, which lie below it everywhere.
    Tangents(&'a [f64]),
}

/// What the solver found.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    /// Bitrates in shares of M.
    pub(super) down: Vec<f64>,
    /// Upper bound of the utility, from the dual problem.
    pub(super) bound: f64,
}

/// Rows of A x + s = b with s in a cone, as triplets.
#[derive(Debug, Default)]
struct Rows {
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    constants: Vec<f64>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Rows {
    /// Adds the row s = `constant` - sum of the entries.
    fn push(&mut self, entries: &[(usize, f64)], constant: f64) {
        let row = self.constants.len();
        for (column, value) in entries {
            self.rows.push(row);
            self.columns.push(*column);
            self.values.push(*value);
        }
        self.constants.push(constant);
    }
}

/// Where each variable stands.
#[derive(Debug, Clone, Copy)]
struct Layout {
    users: usize,
    /// Whether bitrates are variables beside the QoE.
    curved: bool,
}

impl Layout {
    const fn qoe(self, user: usize) -> usize {
        user
    }
    const fn source(self, user: usize) -> usize {
        self.users + user
    }
    const fn bitrate(self, user: usize) -> usize {
        if self.curved { 2 * self.users + user } else { user }
    }
    const fn total(self) -> usize {
        (if self.curved { 3 } else { 2 }) * self.users
    }
    const fn mean(self) -> usize {
        self.total() + 1
    }
    const fn deviation(self) -> usize {
        self.total() + 2
    }
    const fn count(self) -> usize {
        self.total() + 3
    }
}

/// Solves the problem to global optimality.
///
/// # Errors
/// Clarabel stops without a solution.
pub(super) fn solve(problem: &Problem, curve: Curve<'_>) -> Result<Solution, ProblemError> {
    let mut capacities: Vec<f64> = problem.users.iter().map(|user| problem.scaled(user.capacity)).collect();
    capacities.sort_unstable_by(|a, b| b.total_cmp(a));
    let ample = capacities.get(LARGEST).copied().unwrap_or(0.0);
    let (solution, total) = solve_above(problem, curve, ample)?;
    if total >= ample { Ok(solution) } else { Ok(solve_above(problem, curve, 0.0)?.0) }
}

/// Solves without the content bound of users whose capacity is at most `ample`: their d + u stays below a total of that size anyhow.
/// Returns the total of the sources as well, which tells whether that was right.
fn solve_above(problem: &Problem, curve: Curve<'_>, ample: f64) -> Result<(Solution, f64), ProblemError> {
    let curved = !matches!((curve, problem.qoe), (Curve::Own, Qoe::Linear));
    let layout = Layout { users: problem.users.len(), curved };
    let rows = constraints(problem, curve, layout, ample);
    let mut objective = vec![0.0; layout.count()];
    objective[layout.mean()] = problem.rho - 1.0;
    objective[layout.deviation()] = 2.0 * problem.rho;

    let unsolved = |reason: String| ProblemError::Unsolved { reason };
    let matrix = CscMatrix::new_from_triplets(
        rows.constants.len(),
        layout.count(),
        rows.rows,
        rows.columns,
        rows.values,
    );
    let nothing = CscMatrix::zeros((layout.count(), layout.count()));
    // The defaults set no limit on time, so that no clock decides anything.
    let settings = DefaultSettings {
        verbose: false,
        presolve_enable: false,
        tol_gap_abs: TOLERANCE,
        tol_gap_rel: TOLERANCE,
        tol_feas: TOLERANCE,
        ..DefaultSettings::default()
    };
    let mut solver =
        DefaultSolver::new(&nothing, &objective, &matrix, &rows.constants, &rows.cones, settings)
            .map_err(|error| unsolved(error.to_string()))?;
    solver.solve();
    let solution = &solver.solution;
    if !matches!(solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved) {
        return Err(unsolved(format!("the cone solver says {:?}", solution.status)));
    }
    // Where the QoE is held below Q(x), less bitrate gives it as well.
    let max = problem.max_mbps();
    let down = (0..layout.users).map(|user| problem.qoe.inverse(solution.x[layout.qoe(user)], max)).collect();
    let bound = problem.rho - solution.obj_val_dual;
    Ok((Solution { down, bound }, solution.x[layout.total()]))
}

fn constraints(problem: &Problem, curve: Curve<'_>, layout: Layout, ample: f64) -> Rows {
    let weights = problem.weights();
    let users = 0..layout.users;
    let mut rows = Rows::default();

    let mut mean: Vec<(usize, f64)> =
        weights.iter().enumerate().map(|(user, weight)| (layout.qoe(user), *weight)).collect();
    mean.push((layout.mean(), -1.0));
    rows.push(&mean, 0.0);
    let mut total: Vec<(usize, f64)> = users.clone().map(|user| (layout.source(user), 1.0)).collect();
    total.push((layout.total(), -1.0));
    rows.push(&total, 0.0);
    rows.cones.push(ZeroConeT(2));

    let before = rows.constants.len();
    let cap = problem.scaled(problem.source_cap);
    for (index, user) in problem.users.iter().enumerate() {
        let (bitrate, source) = (layout.bitrate(index), layout.source(index));
        let capacity = problem.scaled(user.capacity);
        rows.push(&[(bitrate, 1.0), (source, 1.0)], capacity);
        if capacity > ample {
            rows.push(&[(bitrate, 1.0), (source, 1.0), (layout.total(), -1.0)], 0.0);
        }
        rows.push(&[(source, -1.0)], -problem.scaled(problem.floor(user)));
        if cap < capacity {
            rows.push(&[(source, 1.0)], cap);
        }
        // Where the uplink has all that it can use anyhow, a negative bitrate would serve nobody.
        if capacity < cap {
            rows.push(&[(bitrate, -1.0)], 0.0);
        }
        // The parabola of the concave square turns at M by itself.
        let turns = problem.qoe == Qoe::ConcaveSquare && matches!(curve, Curve::Own);
        if capacity > 1.0 && !turns {
            rows.push(&[(bitrate, 1.0)], 1.0);
        }
        if let Curve::Tangents(points) = curve {
            let (at, max) = (points[index], problem.max_mbps());
            let slope = problem.qoe.slope(at, max);
            rows.push(
                &[(layout.qoe(index), 1.0), (bitrate, -slope)],
                problem.qoe.value(at, max) - slope * at,
            );
        }
    }
    rows.push(&[(layout.deviation(), -1.0)], 0.0);
    rows.cones.push(NonnegativeConeT(rows.constants.len() - before));

    if problem.rho > 0.0 {
        rows.push(&[(layout.deviation(), -1.0)], 0.0);
        for (user, weight) in weights.iter().enumerate() {
            let root = libm::sqrt(*weight);
            rows.push(&[(layout.qoe(user), -root), (layout.mean(), root)], 0.0);
        }
        rows.cones.push(SecondOrderConeT(layout.users + 1));
    } else {
        // Nothing asks for the deviation: it is held at 0, so that the program stays bounded.
        rows.push(&[(layout.deviation(), 1.0)], 0.0);
        rows.cones.push(NonnegativeConeT(1));
    }
    if matches!(curve, Curve::Own) {
        for user in users {
            curve_rows(problem, layout, user, &mut rows);
        }
    }
    rows
}

/// q <= Q(x) for one user.
fn curve_rows(problem: &Problem, layout: Layout, user: usize, rows: &mut Rows) {
    let (qoe, bitrate) = (layout.qoe(user), layout.bitrate(user));
    match problem.qoe {
        Qoe::Linear | Qoe::ConvexSquare => {}
        Qoe::Logarithmic => {
            // exp(q ln(M + 1)) <= M x + 1.
            let max = problem.max_mbps();
            rows.push(&[(qoe, -libm::log1p(max))], 0.0);
            rows.push(&[], 1.0);
            rows.push(&[(bitrate, -max)], 1.0);
            rows.cones.push(ExponentialConeT());
        }
        Qoe::ConcaveSquare => {
            // x² <= y with y = 2x - q, as || (2x, y - 1) || <= y + 1.
            rows.push(&[(bitrate, -2.0), (qoe, 1.0)], 1.0);
            rows.push(&[(bitrate, -2.0)], 0.0);
            rows.push(&[(bitrate, -2.0), (qoe, 1.0)], -1.0);
            rows.cones.push(SecondOrderConeT(3));
        }
    }
}

/// Climbs from bitrates under a convex Q: its tangents lie below it, so that the optimum under them is feasible and no worse; new
/// tangents there, until nothing is gained (the convex-concave procedure of Yuille and Rangarajan, 2003).
pub(super) fn climb(problem: &Problem, start: Vec<f64>) -> Vec<f64> {
    let utility = |down: &[f64]| problem.welfare(&problem.exact(down)).utility;
    let mut best = (utility(&start), start);
    for _ in 0..MOST_ROUNDS {
        let Ok(next) = solve(problem, Curve::Tangents(&best.1)) else { break };
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

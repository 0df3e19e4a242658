//! The global optimum for concave Q, by an interior-point method that uses the structure of the problem.
//!
//! All rates are in shares of M. With the QoE q_i and the value u_i of each source as variables, and X the inverse of Q:
//!
//! ```text
//! maximise  (1 - rho) mean + rho (1 - 2 sigma)      mean = sum w q,  sigma = || sqrt(w) (q - mean) ||
//! X(q_i) + u_i <= B_i    X(q_i) + u_i <= sum u    floor_i <= u_i <= M/V    0 <= X(q_i) <= 1
//! ```
//! The problem is convex, and users interact only through the total, the mean and the deviation. The Newton step of a logarithmic barrier
//! (Boyd and Vandenberghe, Convex Optimization, ch. 11) therefore has a matrix of two rows a user plus four outer products: its cost is
//! linear in the number of users. The deviation has the barrier of the second-order cone, -ln(t² - sigma²), whose t has a closed form.
//! The result is proved by a dual bound ([`Program::bound`]), not by the method: any prices of the constraints give an upper bound of the
//! utility, and those of the barrier give one that meets it.

use super::curve::Curve;
use crate::conference::problem::{Problem, ProblemError};
use crate::conference::utility::Welfare;

/// Smaller values of rho count as zero: they change the utility by less than rounding does.
const MIN_RHO: f64 = 1e-12;
/// Permitted distance of the utility from its bound, relative to the possible gain; rounding rates to 1 kb/s costs more.
const TOLERANCE: f64 = 1e-6;
/// Larger distances are not a solution.
const MAX_GAP: f64 = 1e-4;
/// Upper limit on Newton steps. 25 to 60 are usual.
const MOST_STEPS: usize = 400;
/// Squared Newton decrement at which the barrier is lowered: the point is near enough to the central path.
const CENTRED: f64 = 0.5;
/// Factor by which the barrier is lowered.
const BARRIER_FACTOR: f64 = 0.04;
/// Lower limit of rates, so that zero rates have an interior: 3 bit/s if M is 30 Mb/s.
const LEAST: f64 = 1e-7;

/// Result of the solver.
#[derive(Debug, Clone)]
pub(super) struct Solution {
    /// Bitrates in shares of M.
    pub(super) down: Vec<f64>,
    /// Upper bound of the utility.
    pub(super) bound: f64,
}

/// Limits of one user.
#[derive(Debug, Clone, Copy)]
struct Limits {
    capacity: f64,
    floor: f64,
    cap: f64,
    curve: Curve,
    /// QoE at the floor of the downlink.
    low: f64,
    /// QoE at the largest bitrate within the capacity.
    high: f64,
    weight: f64,
}

/// The variables.
#[derive(Debug, Clone)]
struct Point {
    qoe: Vec<f64>,
    up: Vec<f64>,
}

/// Quantities common to all users at a point.
#[derive(Debug, Clone, Copy)]
struct Shared {
    /// Sum over all sources.
    total: f64,
    mean: f64,
    /// t, the upper bound of the deviation.
    spread: f64,
    /// mu / rho.
    kappa: f64,
}

/// Distances of one user from its constraints, with X and its derivatives.
#[derive(Debug, Clone, Copy)]
struct Slacks {
    capacity: f64,
    content: f64,
    floor: f64,
    cap: f64,
    low: f64,
    high: f64,
    bitrate: [f64; 3],
}

impl Slacks {
    /// The product of all distances; `None` outside of a constraint.
    fn product(&self) -> Option<f64> {
        let all = [self.capacity, self.content, self.floor, self.cap, self.low, self.high];
        all.iter().all(|slack| *slack > 0.0).then(|| all.iter().product())
    }
}

/// The matrix of one user, inverted: diag(q, up) + both (rise, 1)ᵀ (rise, 1).
#[derive(Debug, Clone, Copy)]
struct Inverse {
    q: f64,
    up: f64,
    both: f64,
    rise: f64,
    det: f64,
}

impl Inverse {
    fn new(q: f64, up: f64, both: f64, rise: f64) -> Self {
        Self { q, up, both, rise, det: both * (q + rise * rise * up) + q * up }
    }

    /// The strong term sees the difference alone, which is exactly 0 along (rise, 1).
    fn times(&self, [q, u]: [f64; 2]) -> [f64; 2] {
        let across = self.both * (q - self.rise * u);
        [(across + self.up * q) / self.det, (self.q * u - self.rise * across) / self.det]
    }
}

fn dot(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

struct Program {
    users: Vec<Limits>,
    weights: Vec<f64>,
    rho: f64,
}

/// Solves the problem to global optimality. `touch` holds the points of tangency for a convex Q; a concave one needs none.
///
/// # Errors
/// The bound cannot be met.
pub(super) fn solve(problem: &Problem, touch: &[f64]) -> Result<Solution, ProblemError> {
    let program = Program::new(problem, touch);
    let (point, bound) = program.climb()?;
    let max = problem.max_mbps();
    // If the QoE is below Q(x), a lower bitrate gives the same QoE: below a tangent, one that may be under the floor, which x is not.
    let floor = |index| problem.scaled(problem.floor_down(index));
    let down = point
        .qoe
        .iter()
        .enumerate()
        .map(|(index, q)| problem.qoe.inverse(*q, max).max(floor(index)))
        .collect();
    Ok(Solution { down, bound })
}

impl Program {
    fn new(problem: &Problem, touch: &[f64]) -> Self {
        // One source of M fills every viewer: larger caps have no effect, and numbers of one magnitude keep the arithmetic exact.
        let cap = problem.scaled(problem.source_cap).clamp(LEAST, 1.0);
        let weights = problem.weights();
        let users = problem.users.iter().zip(&weights).enumerate();
        let users = users.map(|(index, (user, weight))| {
            let curve = Curve::of(problem.qoe, problem.max_mbps(), touch.get(index).copied().unwrap_or(0.0));
            let capacity = problem.scaled(user.capacity).clamp(LEAST, 3.0);
            let floor = problem.scaled(problem.floor(user)).min(cap * (1.0 - 1e-6));
            let low = curve.qoe(problem.scaled(problem.floor_down(index)));
            Limits { capacity, floor, cap, curve, low, high: curve.qoe(1.0), weight: *weight }
        });
        let users = users.collect();
        // For a weight without effect, 1 / rho would exceed the range of numbers.
        let rho = if problem.rho < MIN_RHO { 0.0 } else { problem.rho };
        Self { users, weights, rho }
    }

    /// Returns a point inside of all constraints.
    fn start(&self) -> Point {
        let middle = |user: &Limits| f64::midpoint(user.floor, user.cap.min(user.capacity / 2.0));
        let up: Vec<f64> = self.users.iter().map(middle).collect();
        let total: f64 = up.iter().sum();
        let half =
            |(user, up): (&Limits, &f64)| user.curve.qoe(0.5 * (user.capacity.min(total) - up).min(1.0));
        Point { qoe: self.users.iter().zip(&up).map(half).collect(), up }
    }

    /// Follows the central path until the bound is met.
    fn climb(&self) -> Result<(Point, f64), ProblemError> {
        let mut point = self.start();
        // The gain of a user alone in the session.
        let most = |user: &Limits| user.curve.qoe(user.capacity.min(1.0)) - user.low;
        let scale = self.users.iter().map(most).fold(0.0, f64::max);
        let mut mu = scale / (6.0 * self.users.len() as f64);
        let (mut bound, mut best) = (f64::INFINITY, (f64::NEG_INFINITY, point.clone()));
        for _ in 0..MOST_STEPS {
            let (step, decrement) = self.newton(&point, mu);
            let centred = (0.0..CENTRED).contains(&decrement);
            if centred {
                bound = self.bound(&point, &step, mu).min(bound);
            }
            let falls = decrement.is_finite() && decrement >= 0.0;
            if !(falls && self.advance(&mut point, &step, decrement, mu)) {
                break;
            }
            if !centred {
                continue;
            }
            let utility = Welfare::of(&point.qoe, &self.weights, self.rho).utility;
            if utility > best.0 {
                best = (utility, point.clone());
            }
            if bound - best.0 < TOLERANCE * scale {
                break;
            }
            mu *= BARRIER_FACTOR;
        }
        if bound - best.0 < MAX_GAP * scale {
            Ok((best.1, bound))
        } else {
            Err(ProblemError::Unsolved { reason: format!("{} below its bound", bound - best.0) })
        }
    }

    fn shared(&self, point: &Point, mu: f64) -> Shared {
        let mean: f64 = point.qoe.iter().zip(&self.weights).map(|(q, w)| q * w).sum();
        let variance: f64 =
            point.qoe.iter().zip(&self.weights).map(|(q, w)| w * (q - mean) * (q - mean)).sum();
        // The t that minimises 2 rho t - mu ln(t² - variance).
        let kappa = if self.rho > 0.0 { mu / self.rho } else { 0.0 };
        let spread = f64::midpoint(kappa, libm::sqrt(kappa * kappa + 4.0 * variance));
        Shared { total: point.up.iter().sum(), mean, spread, kappa }
    }

    fn slacks(user: &Limits, q: f64, up: f64, total: f64) -> Slacks {
        let bitrate = user.curve.bitrate(q);
        let used = bitrate[0] + up;
        Slacks {
            capacity: user.capacity - used,
            content: total - used,
            floor: up - user.floor,
            cap: user.cap - up,
            low: q - user.low,
            high: user.high - q,
            bitrate,
        }
    }

    /// The barrier function, which decreases along the path; `None` outside of a constraint.
    fn merit(&self, point: &Point, mu: f64) -> Option<f64> {
        let Shared { total, mean, spread, kappa } = self.shared(point, mu);
        let mut sum = -(1.0 - self.rho) * mean;
        if self.rho > 0.0 {
            sum += 2.0 * self.rho * spread - mu * libm::log(kappa * spread);
        }
        for ((user, q), up) in self.users.iter().zip(&point.qoe).zip(&point.up) {
            sum -= mu * libm::log(Self::slacks(user, *q, *up, total).product()?);
        }
        Some(sum)
    }

    /// The Newton step, and the square of its decrement.
    ///
    /// With the users' own matrices D and the vectors of the common quantities, U = (by total, up, w, w (q - mean)), the matrix is D + U C
    /// Uᵀ: the matrix inversion lemma leaves four equations.
    fn newton(&self, point: &Point, mu: f64) -> (Point, f64) {
        let Shared { total, mean, spread, kappa } = self.shared(point, mu);
        let pull = if self.rho > 0.0 { 2.0 * self.rho / spread } else { 0.0 };
        let bend = if self.rho > 0.0 { pull * 2.0 / (spread * (2.0 * spread - kappa)) } else { 0.0 };
        let count = self.users.len();
        let (mut inverses, mut gradients) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut columns: Vec<[[f64; 2]; 4]> = Vec::with_capacity(count);
        let (mut slope_of_total, mut bend_of_total) = (0.0, 0.0);
        for ((user, q), up) in self.users.iter().zip(&point.qoe).zip(&point.up) {
            let slacks = Self::slacks(user, *q, *up, total);
            let [_, rise, curl] = slacks.bitrate;
            let off = user.weight * (q - mean);
            let [capacity, content] = [slacks.capacity, slacks.content].map(|slack| mu / slack);
            let [floor, cap, low, high] =
                [slacks.floor, slacks.cap, slacks.low, slacks.high].map(|slack| mu / slack);
            let price = capacity + content;
            gradients.push([
                -(1.0 - self.rho) * user.weight + pull * off + price * rise - low + high,
                price - floor + cap,
            ]);
            let content_bend = content / slacks.content;
            let both = capacity / slacks.capacity + content_bend;
            let q_alone = pull * user.weight + price * curl + low / slacks.low + high / slacks.high;
            let up_alone = floor / slacks.floor + cap / slacks.cap;
            let inverse = Inverse::new(q_alone, up_alone, both, rise);
            columns.push([[-content_bend * rise, -content_bend], [0.0, 1.0], [user.weight, 0.0], [off, 0.0]]);
            slope_of_total -= content;
            // What remains of `content_bend` once the user has moved: as a difference it would lose all digits.
            let rest = capacity / slacks.capacity * (q_alone + rise * rise * up_alone);
            bend_of_total += content_bend * (q_alone * up_alone + rest) / inverse.det;
            inverses.push(inverse);
        }
        gradients.iter_mut().for_each(|gradient| gradient[1] += slope_of_total);

        // (1 + C Uᵀ D⁻¹ U) z = C Uᵀ D⁻¹ g; the second row keeps the first z in place of what the first row says it is.
        let (mut inner, mut right) = ([[0.0; 4]; 4], [0.0; 4]);
        for ((inverse, gradient), column) in inverses.iter().zip(&gradients).zip(&columns) {
            let solved = column.map(|entry| inverse.times(entry));
            for (row, entry) in solved.iter().enumerate() {
                right[row] += dot(*entry, *gradient);
                for (place, other) in column.iter().enumerate() {
                    inner[row][place] += dot(*entry, *other);
                }
            }
        }
        let coupled = |values: [f64; 4]| [values[1], values[0], -pull * values[2], -bend * values[3]];
        inner[0][0] = -bend_of_total;
        // The same by symmetry, without the error of a sum that all but cancels.
        let by_total = inner[0];
        inner.iter_mut().zip(by_total).skip(1).for_each(|(row, value)| row[0] = value);
        let mut equations = [[0.0; 5]; 4];
        for place in 0..4 {
            let column = coupled([0, 1, 2, 3].map(|row| inner[row][place]));
            for (row, value) in column.into_iter().enumerate() {
                equations[row][place] = value + if row == place { 1.0 } else { 0.0 };
            }
        }
        for (row, value) in coupled(right).into_iter().enumerate() {
            equations[row][4] = value;
        }
        let shared = eliminate(equations);

        let mut step = Point { qoe: Vec::with_capacity(count), up: Vec::with_capacity(count) };
        let mut descent = 0.0;
        for ((inverse, gradient), column) in inverses.iter().zip(&gradients).zip(&columns) {
            let mut right = *gradient;
            for (entry, factor) in column.iter().zip(shared).skip(1) {
                right[0] -= entry[0] * factor;
                right[1] -= entry[1] * factor;
            }
            // The first column is as strong as the matrix: apart, its two entries cancel exactly.
            let ([q, up], [by_q, by_up]) = (inverse.times(right), inverse.times(column[0]));
            let [q, up] = [q - shared[0] * by_q, up - shared[0] * by_up];
            step.qoe.push(-q);
            step.up.push(-up);
            descent += dot(*gradient, [q, up]);
        }
        (step, descent / mu)
    }

    /// Moves along a step as far as the barrier function decreases enough (Armijo); `false` if it does not decrease any more.
    fn advance(&self, point: &mut Point, step: &Point, decrement: f64, mu: f64) -> bool {
        let moved = |length: f64| Point {
            qoe: point.qoe.iter().zip(&step.qoe).map(|(value, by)| value + length * by).collect(),
            up: point.up.iter().zip(&step.up).map(|(value, by)| value + length * by).collect(),
        };
        let Some(before) = self.merit(point, mu) else { return false };
        let mut length = 1.0;
        while length > 1e-10 {
            let next = moved(length);
            // Near the centre the full step is safe, and the difference of two merits is lost in rounding.
            let enough = |merit: f64| decrement < 0.1 || merit <= before - 0.1 * length * decrement * mu;
            if self.merit(&next, mu).is_some_and(enough) {
                *point = next;
                return true;
            }
            length *= 0.5;
        }
        false
    }

    /// An upper bound of the utility of any feasible point: the Lagrangian with the barrier's prices.
    ///
    /// The deviation is at least y·q for every y with sum y = 0 and sum y²/w <= 1; y = w (q - mean) / t is one. With prices a_i of the
    /// capacities and b_i of the contents, and the sum of all b_i for the total, each user's term of the Lagrangian has its own maximum.
    /// The sum is a bound for any non-negative prices. It is tight for consistent prices: those of the point, mu / slack, to first order
    /// where the Newton step leads.
    fn bound(&self, point: &Point, step: &Point, mu: f64) -> f64 {
        let Shared { total, mean, spread, kappa } = self.shared(point, mu);
        let grows: f64 = step.up.iter().sum();
        let by_mean: f64 = step.qoe.iter().zip(&self.weights).map(|(q, w)| q * w).sum();
        let at = || point.qoe.iter().zip(&point.up).zip(step.qoe.iter().zip(&step.up));
        let along: f64 =
            at().zip(&self.weights).map(|(((q, _), (by, _)), weight)| weight * (q - mean) * by).sum();
        let bend = if self.rho > 0.0 { 2.0 * along / (spread * (2.0 * spread - kappa)) } else { 0.0 };
        let mut support: Vec<f64> = Vec::with_capacity(self.users.len());
        let mut prices = Vec::with_capacity(self.users.len());
        for (user, ((q, up), (by_q, by_up))) in self.users.iter().zip(at()) {
            let slacks = Self::slacks(user, *q, *up, total);
            let used = slacks.bitrate[1] * by_q + by_up;
            let price = |slack: f64, change: f64| (mu / slack * (1.0 - change / slack)).max(0.0);
            prices.push([price(slacks.capacity, -used), price(slacks.content, grows - used)]);
            let off =
                if self.rho > 0.0 { ((q - mean) * (1.0 - bend) + by_q - by_mean) / spread } else { 0.0 };
            support.push(off);
        }
        // Makes it a support exactly, regardless of rounding and step.
        let middle: f64 = support.iter().zip(&self.weights).map(|(off, weight)| off * weight).sum();
        support.iter_mut().for_each(|off| *off -= middle);
        let squared: f64 = support.iter().zip(&self.weights).map(|(off, weight)| weight * off * off).sum();
        let length = libm::sqrt(f64::max(squared, 1.0));
        let worth: f64 = prices.iter().map(|[_, content]| content).sum();
        let mut sum = self.rho;
        for ((user, off), [capacity, content]) in self.users.iter().zip(support).zip(prices) {
            let gain = user.weight * ((1.0 - self.rho) - 2.0 * self.rho * off / length);
            let price = capacity + content;
            let source = worth - price;
            sum += capacity * user.capacity
                + (source * user.floor).max(source * user.cap.min(user.capacity))
                + user.curve.profit(gain, price, user.low, user.capacity.min(1.0));
        }
        sum
    }
}

/// Gaussian elimination with pivots on the largest entry; a singular system gives non-finite numbers.
fn eliminate(mut rows: [[f64; 5]; 4]) -> [f64; 4] {
    for step in 0..4 {
        let pivot = (step..4).max_by(|a, b| rows[*a][step].abs().total_cmp(&rows[*b][step].abs()));
        rows.swap(step, pivot.unwrap_or(step));
        let leading = rows[step];
        for row in rows.iter_mut().skip(step + 1) {
            let factor = row[step] / leading[step];
            row.iter_mut().zip(leading).skip(step).for_each(|(value, lead)| *value -= factor * lead);
        }
    }
    let mut solution = [0.0; 4];
    for step in (0..4).rev() {
        let known: f64 = (step + 1..4).map(|place| rows[step][place] * solution[place]).sum();
        solution[step] = (rows[step][4] - known) / rows[step][step];
    }
    solution
}

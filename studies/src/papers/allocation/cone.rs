//! Problem P (Sec. 5) as a cone program: an optimum that owes nothing to the closed form of `airbound_control`.
//!
//! In rates the constraints c x_i / (1 - wᵀx) <= N are linear: (c/N) x_i + wᵀx <= 1. Rates are counted in units of the max-min rate.

use airbound_senders::allocation::{Downlink, Optimum, Utility};
use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

/// Rows of A x + s = b with s in a cone, filled in one after the other.
#[derive(Default)]
struct Rows {
    places: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    right: Vec<f64>,
}

impl Rows {
    /// Adds `right` - the sum of `terms` (column, factor) as the next entry of s.
    fn add(&mut self, terms: impl IntoIterator<Item = (usize, f64)>, right: f64) {
        for (column, factor) in terms {
            self.places.push(self.right.len());
            self.columns.push(column);
            self.values.push(factor);
        }
        self.right.push(right);
    }
}

/// The rates at the optimum in packets/s; `None` if the solver does not find it.
pub(super) fn optimum(downlink: &Downlink, target: f64, utility: Utility) -> Option<Vec<f64>> {
    let n = downlink.stations();
    let unit = Optimum::of(downlink, target, Utility::MaxMin)?.cap;
    let overhead = downlink.round_overhead() / target * unit;
    let airtimes: Vec<f64> = downlink.packet_airtime().iter().map(|airtime| airtime * unit).collect();
    let mut rows = Rows::default();
    // Columns 0..n are rates, the rest t: n of them, or one for max-min.
    for station in 0..n {
        let term = |(column, airtime): (usize, &f64)| {
            (column, airtime + if column == station { overhead } else { 0.0 })
        };
        rows.add(airtimes.iter().enumerate().map(term), 1.0);
    }
    let mut cones = vec![SupportedConeT::NonnegativeConeT(n)];
    let auxiliary = if utility == Utility::MaxMin { 1 } else { n };
    let exponent = match utility {
        Utility::Proportional => 1.0,
        Utility::Alpha(exponent) => exponent,
        Utility::MaxMin => 0.0,
    };
    for station in 0..n {
        let (x, t) = (station, n + station);
        match utility {
            // t <= x_i for all.
            Utility::MaxMin => rows.add([(n, 1.0), (x, -1.0)], 0.0),
            // exp(t) <= x: (t, 1, x) in the exponential cone.
            _ if (exponent - 1.0).abs() < 1e-9 => {
                rows.add([(t, -1.0)], 0.0);
                rows.add([], 1.0);
                rows.add([(x, -1.0)], 0.0);
                cones.push(SupportedConeT::ExponentialConeT());
            }
            // t <= x^(1-a): (x, 1, t) in the power cone of 1 - a.
            _ if exponent < 1.0 => {
                rows.add([(x, -1.0)], 0.0);
                rows.add([], 1.0);
                rows.add([(t, -1.0)], 0.0);
                cones.push(SupportedConeT::PowerConeT(1.0 - exponent));
            }
            // t >= x^(1-a), or t^(1/a) x^(1 - 1/a) >= 1: (t, x, 1) in the power cone of 1/a.
            _ => {
                rows.add([(t, -1.0)], 0.0);
                rows.add([(x, -1.0)], 0.0);
                rows.add([], 1.0);
                cones.push(SupportedConeT::PowerConeT(1.0 / exponent));
            }
        }
    }
    if utility == Utility::MaxMin {
        cones.push(SupportedConeT::NonnegativeConeT(n));
    }
    let sign = if exponent > 1.0 + 1e-9 { 1.0 } else { -1.0 };
    let mut cost = vec![0.0; n + auxiliary];
    cost[n..].fill(sign);
    let columns = n + auxiliary;
    let matrix =
        CscMatrix::new_from_triplets(rows.right.len(), columns, rows.places, rows.columns, rows.values);
    let settings = DefaultSettings { verbose: false, ..DefaultSettings::default() };
    let none = CscMatrix::zeros((columns, columns));
    let mut solver = DefaultSolver::new(&none, &cost, &matrix, &rows.right, &cones, settings).ok()?;
    solver.solve();
    let found = matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved);
    found.then(|| solver.solution.x.iter().take(n).map(|rate| rate * unit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_is_the_optimum() {
        for mbps in
            [&[513.0, 850.0][..], &[58.5, 390.0, 780.0, 780.0], &[30.0, 60.0, 100.0, 300.0, 600.0, 1200.0]]
        {
            let airtimes = mbps.iter().map(|rate| 12_000.0 / (rate * 1e6)).collect();
            let downlink = Downlink::new(214e-6, airtimes).expect("positive");
            for utility in [
                Utility::Proportional,
                Utility::Alpha(0.5),
                Utility::Alpha(2.0),
                Utility::Alpha(4.0),
                Utility::MaxMin,
            ] {
                let exact = Optimum::of(&downlink, 32.0, utility).expect("an optimum");
                let cone = optimum(&downlink, 32.0, utility).expect("solved");
                for (a, b) in cone.iter().zip(&exact.rates) {
                    assert!((a / b - 1.0).abs() < 1e-3, "{utility:?}: {cone:?} {:?}", exact.rates);
                }
            }
        }
    }
}

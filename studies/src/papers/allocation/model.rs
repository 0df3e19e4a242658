//! Sec. 4 and 5: the model's figures, theorem 1, and what the optimum of problem P has over it. Its algebra is compared with
//! solvers in the tests below.

use airbound_report::{Chart, Line};
use airbound_senders::allocation::{Downlink, Optimum, Regulated, Utility};

use super::{CLAIMS, cone};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study, shown};

/// L: 1500 B.
const BITS: f64 = 12_000.0;
const MOST: f64 = 64.0;
const TARGET: f64 = 32.0;
/// T_acc + T_oh in s.
const OVERHEAD: f64 = 106e-6 + 108e-6;
/// PHY rates of Fig. 7 in Mb/s (footnote 6).
const FIG7: [f64; 2] = [513.0, 850.0];

/// Networks on which allocations are compared: names and PHY rates in Mb/s.
const NETWORKS: [(&str, &[f64]); 4] = [
    ("513 and 850 Mb/s (Fig. 7)", &FIG7),
    ("four at 780 Mb/s", &[780.0, 780.0, 780.0, 780.0]),
    ("390, 234, 117 Mb/s", &[390.0, 234.0, 117.0]),
    ("780 and three at 58.5 Mb/s", &[780.0, 58.5, 58.5, 58.5]),
];

fn network(phys: &[f64]) -> Option<Downlink> {
    Downlink::new(OVERHEAD, phys.iter().map(|mbps| BITS / (mbps * 1e6)).collect())
}

/// Rates up to overload, in packets/s.
fn sweep() -> impl Iterator<Item = f64> {
    (1..=400).map(|step| f64::from(step) * 150.0)
}

fn mbps(rate: f64) -> f64 {
    rate * BITS / 1e6
}

/// The level of a station that as many packets are sent to as to every other.
fn level(downlink: &Downlink, rate: f64, station: usize) -> f64 {
    downlink.projected_levels(&vec![rate; downlink.stations()], MOST)[station]
}

pub(super) struct Model;

fn fig7_charts() -> [Chart; 2] {
    let (mut frame_rates, mut levels) = (Vec::new(), Vec::new());
    for (n, name) in [(1, "one station"), (2, "two stations")] {
        let Some(downlink) = network(&FIG7[..n]) else { continue };
        for station in 0..n {
            let points: Vec<(f64, f64)> = sweep()
                .filter(|rate| mbps(*rate) * n as f64 <= 600.0)
                .map(|rate| (rate, level(&downlink, rate, station)))
                .collect();
            let name = format!("{name}: station {}", station + 1);
            frame_rates
                .push(Line::whole(name.clone(), points.iter().map(|(x, level)| (mbps(*x), x / level))));
            levels.push(Line::whole(name, points.iter().map(|(x, level)| (mbps(*x), *level))));
        }
    }
    [CLAIMS.lines("model-frames", &[], frame_rates), CLAIMS.lines("model-level", &[], levels)]
}

/// Fig. 9: the edge of the region for two stations, in the logarithms of rates.
fn region() -> Option<Chart> {
    let downlink = network(&FIG7)?;
    let (w, c) = (downlink.packet_airtime().to_vec(), downlink.round_overhead() / MOST);
    // On the edge one of the stations is at the most: (c / N) x + w x = 1 for the larger rate.
    let edge = |step: i32| {
        let (a, b) = (f64::from(step) / 200.0, 1.0 - f64::from(step) / 200.0);
        let scale = 1.0 / (c * a.max(b) + w[0] * a + w[1] * b);
        (libm::log(mbps(scale * a)), libm::log(mbps(scale * b)))
    };
    Some(CLAIMS.lines("region", &[], vec![Line::whole("edge of the region", (1..200).map(edge))]))
}

/// Rates and levels of an allocation, for comparison with the true optimum.
struct Allocation {
    name: &'static str,
    rates: Vec<f64>,
    levels: Vec<f64>,
}

impl Allocation {
    fn largest(&self) -> f64 {
        self.levels.iter().copied().fold(0.0, f64::max)
    }

    fn utility(&self) -> f64 {
        Utility::Proportional.of(&self.rates)
    }
}

/// Theorem 1 in both forms, and the optimum by its closed form and by the cone program.
fn allocations(downlink: &Downlink) -> Vec<Allocation> {
    let of = |(name, rates): (&'static str, Option<Vec<f64>>)| {
        let rates = rates?;
        Some(Allocation { name, levels: downlink.levels(&rates).unwrap_or_default(), rates })
    };
    let closed = Optimum::of(downlink, TARGET, Utility::Proportional).map(|best| best.rates);
    let all = [
        ("theorem 1 as printed (w_max)", Some(downlink.equal_airtime(TARGET, Regulated::Slowest))),
        ("theorem 1 with w_min", Some(downlink.equal_airtime(TARGET, Regulated::Fastest))),
        ("optimum, closed form", closed),
        ("optimum, cone program", cone::optimum(downlink, TARGET, Utility::Proportional)),
    ];
    all.into_iter().filter_map(of).collect()
}

impl Study for Model {
    fn part(&self, _effort: Effort, _results: &Results) -> Part {
        let mut grid = CLAIMS.table("model", &[]);
        for (name, phys) in NETWORKS {
            let Some(downlink) = network(phys) else { continue };
            let all = allocations(&downlink);
            let best = all.last().map_or(0.0, Allocation::utility);
            for one in &all {
                let cells = [
                    name.to_owned(),
                    one.name.to_owned(),
                    shown(one.largest()),
                    shown(mbps(one.rates.iter().sum())),
                    shown(mbps(Utility::MaxMin.of(&one.rates))),
                    format!("{:.4}", best - one.utility()),
                ];
                grid.rows.push(cells.map(Into::into).to_vec());
            }
        }
        let charts = fig7_charts().into_iter().chain(region()).collect();
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("model", vec![grid], charts) }
    }
}

#[cfg(test)]
mod tests {
    use airbound_senders::allocation::DualAscent;

    use super::*;

    /// The rate at which the level of the first station exceeds `limit`, in packets/s.
    fn threshold(downlink: &Downlink, limit: f64) -> f64 {
        let (mut low, mut high) = (1.0, 1e6);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if level(downlink, middle, 0) > limit { high = middle } else { low = middle }
        }
        high
    }

    /// The largest relative difference of two sequences.
    fn furthest(ours: impl IntoIterator<Item = f64>, theirs: impl IntoIterator<Item = f64>) -> f64 {
        ours.into_iter().zip(theirs).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn equation_7_has_the_thresholds_of_figure_7() {
        let one = network(&FIG7[..1]).expect("a network");
        let (c, w) = (one.round_overhead(), one.packet_airtime()[0]);
        assert!((threshold(&one, 1.0 + 1e-9) * (c + w) - 1.0).abs() < 1e-6);
        assert!((threshold(&one, MOST - 1e-6) * (c + MOST * w) / MOST - 1.0).abs() < 1e-6);
        // Equation 8 with w = L / mu_R.
        let three = network(&[FIG7[0]; 3]).expect("a network");
        let rates: Vec<f64> = sweep().filter(|rate| 3.0 * rate * w < 0.95).collect();
        let symmetric = rates.iter().map(|rate| three.symmetric_level(*rate, MOST));
        assert!(furthest(symmetric, rates.iter().map(|rate| level(&three, *rate, 0))) < 1e-6);
    }

    #[test]
    fn theorem_1_is_feasible_with_w_min_alone_and_not_the_optimum() {
        for (name, phys) in NETWORKS {
            let downlink = network(phys).expect("a network");
            let all = allocations(&downlink);
            let [printed, equal, closed, solved] = all.as_slice() else { panic!("four allocations") };
            let same = phys.iter().all(|rate| *rate == phys[0]);
            assert_eq!(printed.largest() > TARGET + 1e-6, !same, "{name}: as printed");
            assert!((equal.largest() - TARGET).abs() < 1e-6, "{name}: with w_min");
            // Corollary 1.
            let shares = downlink.airtime_shares(&equal.rates);
            assert!(shares.iter().all(|share| share * phys.len() as f64 <= 1.0 + 1e-9), "{name}: {shares:?}");
            let rates = [closed, solved].map(|one| one.rates.iter().copied());
            let [closed, solved_rates] = rates;
            assert!(furthest(closed, solved_rates) < 1e-3, "{name}: closed form beside the cone program");
            let gap = solved.utility() - equal.utility();
            assert_eq!(gap > 1e-4, !same, "{name}: {gap}");
        }
    }

    #[test]
    fn dual_ascent_reaches_the_optimum() {
        let downlink = network(&FIG7).expect("a network");
        for (utility, within) in
            [(Utility::Proportional, 0.01), (Utility::Alpha(2.0), 0.01), (Utility::MaxMin, 0.1)]
        {
            let best = Optimum::of(&downlink, TARGET, utility).expect("an optimum");
            let mut ascent = DualAscent::new(downlink.clone(), TARGET, utility, 0.5).expect("an ascent");
            (0..2000).for_each(|_| ascent.update());
            assert!(furthest(ascent.rates().iter().copied(), best.rates.iter().copied()) < within);
        }
    }
}

//! Sec. 4 and 5: the model's figures, theorem 1, and what the optimum of problem P has over it.

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance};
use airbound_senders::allocation::{Downlink, DualAscent, Optimum, Regulated, Utility};

use super::cone;
use super::measure::{holds, judged, told};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

/// L: 1500 B.
const BITS: f64 = 12_000.0;
const MOST: f64 = 64.0;
const TARGET: f64 = 32.0;

/// The network of Fig. 7, footnote 6: stations at 513 and 850 Mb/s.
pub(super) fn fig7(stations: usize) -> Downlink {
    let mbps = [513e6, 850e6];
    let airtimes = mbps.iter().take(stations.max(1)).map(|rate| BITS / rate).collect();
    // The values are positive.
    Downlink::new(106e-6 + 108e-6, airtimes).unwrap_or_else(|| unreachable!("positive values"))
}

/// Rates up to overload, in packets/s.
fn sweep() -> impl Iterator<Item = f64> {
    (1..=400).map(|step| f64::from(step) * 150.0)
}

fn mbps(rate: f64) -> f64 {
    rate * BITS / 1e6
}

/// Where the level leaves 1 and where it reaches the most, in packets/s.
fn thresholds(downlink: &Downlink) -> (f64, f64) {
    let n = downlink.stations();
    let level = |rate: f64| downlink.projected_levels(&vec![rate; n], MOST)[0];
    let bisect = |limit: f64| {
        let (mut low, mut high) = (1.0, 1e6);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if level(middle) > limit { high = middle } else { low = middle }
        }
        high
    };
    (bisect(1.0 + 1e-9), bisect(MOST - 1e-6))
}

pub(super) struct Model;

impl Model {
    fn fig7_charts() -> Vec<Chart> {
        let mut frame_rates = Vec::new();
        let mut levels = Vec::new();
        for (n, name) in [(1, "one station"), (2, "two stations")] {
            let downlink = fig7(n);
            for station in 0..n {
                let points: Vec<(f64, f64)> = sweep()
                    .filter(|rate| mbps(*rate) * n as f64 <= 600.0)
                    .map(|rate| (rate, downlink.projected_levels(&vec![rate; n], MOST)[station]))
                    .collect();
                let name = format!("{name}: station {}", station + 1);
                frame_rates
                    .push(Line::whole(name.clone(), points.iter().map(|(x, level)| (mbps(*x), x / level))));
                levels.push(Line::whole(name, points.iter().map(|(x, level)| (mbps(*x), *level))));
            }
        }
        [
            ("frames/s", frame_rates, "Fig. 7a: frame rate x / N"),
            ("packets a frame", levels, "Fig. 7b: aggregation level N"),
        ]
        .into_iter()
        .map(|(y, lines, caption)| Chart {
            kind: ChartKind::Lines(Lines {
                x: "send rate to each station (Mb/s)".to_owned(),
                y: y.to_owned(),
                lines,
                ..Lines::default()
            }),
            caption: format!("{caption} by the model, footnote 6's values."),
        })
        .collect()
    }

    /// Fig. 9: the edge of the region for two stations, in the logarithms of rates.
    fn region() -> Chart {
        let downlink = fig7(2);
        let (w, c) = (downlink.packet_airtime().to_vec(), downlink.round_overhead() / MOST);
        // On the edge one of the stations is at the most: (c / N) x + w x = 1 for the larger rate.
        let edge = |share: f64| {
            let (a, b) = (share, 1.0 - share);
            let scale = 1.0 / (c * a.max(b) + w[0] * a + w[1] * b);
            (scale * a, scale * b)
        };
        let points: Vec<(f64, f64)> = (1..200).map(|step| edge(f64::from(step) / 200.0)).collect();
        let log = |rate: f64| libm::log(mbps(rate));
        Chart {
            kind: ChartKind::Lines(Lines {
                x: "log of the rate to station 1 (Mb/s)".to_owned(),
                y: "log of the rate to station 2 (Mb/s)".to_owned(),
                lines: vec![Line::whole(
                    "edge of the region",
                    points.iter().map(|(x, y)| (log(*x), log(*y))),
                )],
                ..Lines::default()
            }),
            caption: "Fig. 9: below the line queues are stable; in logarithms the region is convex."
                .to_owned(),
        }
    }
}

/// Rates and levels of an allocation, for comparison with the true optimum.
struct Compared {
    name: &'static str,
    rates: Vec<f64>,
    levels: Vec<f64>,
}

fn compared(downlink: &Downlink) -> Vec<Compared> {
    let of =
        |name, rates: Vec<f64>| Compared { name, levels: downlink.levels(&rates).unwrap_or_default(), rates };
    let mut all = vec![
        of("theorem 1 as printed (w_max)", downlink.equal_airtime(TARGET, Regulated::Slowest)),
        of("theorem 1 with w_min", downlink.equal_airtime(TARGET, Regulated::Fastest)),
    ];
    all.extend(
        Optimum::of(downlink, TARGET, Utility::Proportional)
            .map(|best| of("optimum, closed form", best.rates)),
    );
    all.extend(
        cone::optimum(downlink, TARGET, Utility::Proportional)
            .map(|rates| of("optimum, cone program", rates)),
    );
    all
}

/// Networks on which allocations are compared: names and PHY rates in Mb/s.
const NETWORKS: [(&str, &[f64]); 4] = [
    ("513 and 850 Mb/s (Fig. 7)", &[513.0, 850.0]),
    ("four at 780 Mb/s", &[780.0, 780.0, 780.0, 780.0]),
    ("390, 234, 117 Mb/s", &[390.0, 234.0, 117.0]),
    ("780 and three at 58.5 Mb/s", &[780.0, 58.5, 58.5, 58.5]),
];

impl Study for Model {
    fn experiments(&self, _effort: Effort) -> Vec<Experiment> {
        Vec::new()
    }

    fn part(&self, _effort: Effort, _results: &Results) -> Part {
        let one = fig7(1);
        let (first, last) = thresholds(&one);
        let w = one.packet_airtime()[0];
        let mut rows = vec![
            judged(
                "model",
                "X1 of one station: level leaves 1",
                "packets/s",
                1.0 / (one.round_overhead() + w),
                Some(first),
                Tolerance::Relative(1e-6),
                "equation 7 solved numerically, beside c x / (1 - w x) = 1",
            ),
            judged(
                "model",
                "X2 of one station: level reaches 64",
                "packets/s",
                MOST / (one.round_overhead() + MOST * w),
                Some(last),
                Tolerance::Relative(1e-6),
                "beside c x / (1 - w x) = 64",
            ),
        ];
        let same = Downlink::new(214e-6, vec![w; 3]).map(|downlink| {
            sweep()
                .filter(|rate| 3.0 * rate * w < 0.95)
                .map(|rate| {
                    let (a, b) = (
                        downlink.symmetric_level(rate, MOST),
                        downlink.projected_levels(&[rate; 3], MOST)[0],
                    );
                    (a / b - 1.0).abs()
                })
                .fold(0.0, f64::max)
        });
        rows.push(judged(
            "model",
            "equation 8 beside equation 7, three equal stations",
            "",
            0.0,
            same,
            Tolerance::Absolute(1e-6),
            "largest relative difference; w = L / μ_R, not L μ_N / μ_R as printed",
        ));
        let mut grid = Grid::new(
            "Allocations beside the optimum of problem P (N = 32, T_acc + T_oh = 214 us)",
            &["network", "allocation", "largest level", "sum Mb/s", "least Mb/s", "utility gap"],
            2,
        );
        for (network, phys) in NETWORKS {
            let Some(downlink) = Downlink::new(214e-6, phys.iter().map(|rate| BITS / (rate * 1e6)).collect())
            else {
                continue;
            };
            let all = compared(&downlink);
            let best = all.last().map_or(0.0, |best| Utility::Proportional.of(&best.rates));
            for one in &all {
                let gap = best - Utility::Proportional.of(&one.rates);
                grid.rows.push(vec![
                    network.into(),
                    one.name.into(),
                    shown(one.levels.iter().copied().fold(0.0, f64::max)).into(),
                    shown(mbps(one.rates.iter().sum())).into(),
                    shown(mbps(Utility::MaxMin.of(&one.rates))).into(),
                    format!("{gap:.4}").into(),
                ]);
            }
            let largest =
                |place: usize| all.get(place).map(|one| one.levels.iter().copied().fold(0.0, f64::max));
            let equal = phys.iter().all(|rate| *rate == phys[0]);
            if network.contains("Fig. 7") || equal {
                rows.push(judged(
                    "theorem-1",
                    format!("largest level with w_max as printed, {network}"),
                    "packets",
                    TARGET,
                    largest(0),
                    if equal { Tolerance::Absolute(1e-6) } else { Tolerance::AtLeast },
                    if equal {
                        "equal w: as printed"
                    } else {
                        "the counterexample: the faster station exceeds N_eps"
                    },
                ));
            }
            rows.push(judged(
                "theorem-1",
                format!("largest level with w_min, {network}"),
                "packets",
                TARGET,
                largest(1),
                Tolerance::Absolute(1e-6),
                "feasible, and the fastest at the target",
            ));
            let shares = all.get(1).map(|one| downlink.airtime_shares(&one.rates));
            let share = shares.map(|shares| shares.into_iter().fold(0.0, f64::max) * phys.len() as f64);
            rows.push(judged(
                "theorem-1",
                format!("largest airtime over 1/n, {network}"),
                "",
                1.0,
                share,
                Tolerance::Absolute(1e-9),
                "corollary 1",
            ));
            let (closed, solved) = (all.get(2), all.get(3));
            let differs = closed.zip(solved).map(|(a, b)| {
                a.rates.iter().zip(&b.rates).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
            });
            rows.push(judged(
                "theorem-1",
                format!("closed form of the optimum beside the cone program, {network}"),
                "",
                0.0,
                differs,
                Tolerance::Absolute(1e-3),
                "largest relative difference of a rate (clarabel)",
            ));
            let gap = solved.zip(all.get(1)).map(|(best, equal)| {
                Utility::Proportional.of(&best.rates) - Utility::Proportional.of(&equal.rates)
            });
            let note =
                "sum of logarithms; e^gap is the product of the stations' gains. Zero for equal w only";
            rows.push(told(
                "theorem-1",
                format!("utility of the optimum over w_min, {network}"),
                "",
                gap,
                note,
            ));
        }
        rows.push(holds(
            "theorem-1",
            "dual ascent (Sec. 5.2) reaches the optimum",
            dual_agrees(),
            "proportional, a = 2 and max-min on 513 and 850 Mb/s, within 1 % (max-min 10 %)",
        ));
        let mut charts = Self::fig7_charts();
        charts.push(Self::region());
        let text = "The model of Sec. 4 solved exactly, theorem 1 in both forms, and the optimum of problem P by its closed form and by a cone solver.";
        Part {
            rows,
            chapter: Chapter {
                title: "The model".to_owned(),
                text: text.to_owned(),
                tables: vec![grid],
                charts,
            },
        }
    }
}

fn dual_agrees() -> Option<bool> {
    let downlink = fig7(2);
    let mut agrees = true;
    for (utility, within) in
        [(Utility::Proportional, 0.01), (Utility::Alpha(2.0), 0.01), (Utility::MaxMin, 0.1)]
    {
        let best = Optimum::of(&downlink, TARGET, utility)?;
        let mut ascent = DualAscent::new(downlink.clone(), TARGET, utility, 0.5)?;
        (0..2000).for_each(|_| ascent.update());
        agrees &=
            ascent.rates().iter().zip(&best.rates).all(|(found, exact)| (found / exact - 1.0).abs() < within);
    }
    Some(agrees)
}

//! Average downlink bitrate over the number of clients and the server's bandwidth (Fig. 11), beside what the traces hold.

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance, ValidationRow};

use super::case::{Case, Conferences, Who};
use super::fluid::{Limits, bound, oracle};
use super::traces::{Set, TraceSets};
use super::{gain, text};
use crate::Effort;
use crate::papers::{Part, shown};

const ID: &str = "average-downlink";

/// Numbers of clients.
fn counts(effort: Effort) -> &'static [usize] {
    match (effort.quick, effort.standard) {
        (true, _) => &[3, 8, 16],
        (false, true) => &[3, 8, 16, 20],
        (false, false) => &[3, 4, 5, 8, 10, 12, 14, 16, 18, 20],
    }
}

/// Servers between the slowest and the ample one, where the paper shows Vanilla and Plum alone.
fn servers(effort: Effort) -> &'static [u32] {
    if effort.quick || effort.standard { &[] } else { &[300, 500, 1000] }
}

const OURS: [Who; 2] = [Who::PLUM, Who::MEAN];
const SLOW_SERVER: u32 = 100;
/// Per cent below which an omniscient gain is none.
const LEAST_BOUND: f64 = 10.0;

pub(super) fn cases(effort: Effort) -> Vec<Case> {
    let mut cases = Vec::new();
    for set in Set::ALL {
        for clients in counts(effort) {
            let usual = |who| Case::usual(set, *clients, who, effort);
            for who in Who::BASELINES.into_iter().chain(OURS) {
                cases.extend(usual(who).seeds(effort));
                if who != Who::MEAN && (!effort.quick || *clients == 16) {
                    cases.extend(Case { server: Some(SLOW_SERVER), ..usual(who) }.seeds(effort));
                }
            }
            for server in servers(effort) {
                for who in [Who::Vanilla, Who::PLUM] {
                    cases.extend(Case { server: Some(*server), ..usual(who) }.seeds(effort));
                }
            }
        }
    }
    cases
}

/// Figures of one set and number of clients with an ample server.
struct Point {
    clients: usize,
    baselines: [f64; 3],
    plum: f64,
    mean: f64,
    oracle: f64,
    /// Omniscient gains over the fair share in per cent: for the mean alone, and under rho 0.5.
    bounds: [f64; 2],
}

impl Point {
    fn of(
        set: Set,
        clients: usize,
        sessions: &Conferences,
        traces: &TraceSets,
        effort: Effort,
    ) -> Option<Self> {
        let down = |who| {
            let case = Case::usual(set, clients, who, effort);
            sessions.mean(case, effort, airbound_sim::conference::ConferenceOutcome::mean_down)
        };
        let [vanilla, last_n, tack] = Who::BASELINES.map(down);
        let bounds = [0.0, 0.5].map(|rho| omniscient(set, clients, Limits::USUAL, rho, traces, effort));
        Some(Self {
            clients,
            baselines: [vanilla?, last_n?, tack?],
            plum: down(Who::PLUM)?,
            mean: down(Who::MEAN)?,
            oracle: static_links(set, clients, traces, effort),
            bounds: [bounds[0]?, bounds[1]?],
        })
    }

    fn best_baseline(&self) -> f64 {
        self.baselines.into_iter().fold(0.0, f64::max)
    }

    /// By how many per cent an omniscient allocation exceeds the best baseline: Vanilla's bitrate with the gain of the bound.
    fn bound_over_best(&self) -> f64 {
        gain(self.baselines[0] * (1.0 + self.bounds[0] / 100.0), self.best_baseline())
    }
}

/// Gain of the omniscient allocation over the fair share in per cent, over seeds.
fn omniscient(
    set: Set,
    clients: usize,
    limits: Limits,
    rho: f64,
    traces: &TraceSets,
    effort: Effort,
) -> Option<f64> {
    let step = if effort.quick { 10 } else { 3 };
    let mut sums = (0.0, 0.0);
    for case in Case::usual(set, clients, Who::Vanilla, effort).seeds(effort) {
        let (fair, best) = bound(&case, traces, limits, rho, step)?;
        sums = (sums.0 + fair, sums.1 + best);
    }
    Some(gain(sums.1, sums.0))
}

/// The public code's figure over seeds.
fn static_links(set: Set, clients: usize, traces: &TraceSets, effort: Effort) -> f64 {
    let cases: Vec<Case> = Case::usual(set, clients, Who::Vanilla, effort).seeds(effort).collect();
    cases.iter().map(|case| oracle(case, traces)).sum::<f64>() / cases.len().max(1) as f64
}

/// Returns the chapter on the gain that the traces allow an omniscient allocation, before any session is run.
pub(super) fn bounds(traces: &TraceSets, effort: Effort) -> Part {
    let columns = ["traces", "clients", "M Mb/s", "encoder Mb/s", "mean alone %", "rho 0.5 %"];
    let mut grid = Grid::new("What an omniscient allocation gains over a fair share", &columns, 1);
    let limits: &[(f64, f64)] = if effort.quick {
        &[(30.0, 10.0)]
    } else {
        &[(30.0, 10.0), (30.0, 30.0), (100.0, 10.0), (100.0, 100.0)]
    };
    for set in Set::ALL {
        for clients in counts(effort) {
            for (max, encoder) in limits {
                let limits = Limits { max: *max, encoder: *encoder };
                let [mean, fair] =
                    [0.0, 0.5].map(|rho| omniscient(set, *clients, limits, rho, traces, effort));
                let cells = [
                    set.name().to_owned(),
                    clients.to_string(),
                    shown(*max),
                    shown(*encoder),
                    text(mean),
                    text(fair),
                ];
                grid.rows.push(cells.map(Into::into).to_vec());
            }
        }
    }
    grid.note = format!(
        "From {}. Fluid: each second's mean capacities, every link split evenly against the allocation that is best for them. \
         \"mean alone\": rho 0, the largest mean downlink that there is; \"rho 0.5\": the mean downlink of the greatest utility as the \
         paper weighs it, which gives bitrate away for fairness.",
        traces.origin()
    );
    let chapter = Chapter {
        title: "What the traces hold".to_owned(),
        text: "The most that any coordination can gain on these traces, whatever its control loop."
            .to_owned(),
        tables: vec![grid],
        charts: Vec::new(),
    };
    Part { rows: Vec::new(), chapter }
}

pub(super) fn part(sessions: &Conferences, traces: &TraceSets, effort: Effort) -> Part {
    let columns = [
        "traces",
        "clients",
        "Vanilla",
        "LastN",
        "TACK",
        "Plum",
        "rho 0",
        "oracle",
        "Plum over best %",
        "rho 0 over best %",
        "bound over best %",
        "bound %",
        "bound, rho 0.5 %",
    ];
    let mut grid = Grid::new("Average downlink bitrate, ample server, Mb/s", &columns, 1);
    let (mut rows, mut charts) = (Vec::new(), Vec::new());
    for set in Set::ALL {
        let points: Vec<Point> = counts(effort)
            .iter()
            .filter_map(|clients| Point::of(set, *clients, sessions, traces, effort))
            .collect();
        for point in &points {
            let best = point.best_baseline();
            let mut cells = vec![set.name().to_owned(), point.clients.to_string()];
            let values = point.baselines.into_iter().chain([
                point.plum,
                point.mean,
                point.oracle,
                gain(point.plum, best),
                gain(point.mean, best),
                point.bound_over_best(),
                point.bounds[0],
                point.bounds[1],
            ]);
            cells.extend(values.map(shown));
            grid.rows.push(cells.into_iter().map(Into::into).collect());
        }
        rows.extend(judged(set, &points));
        rows.extend(slow_server(set, sessions, effort));
        charts.push(chart(set, &points));
    }
    grid.note = format!(
        "From {}. The server optimises with M = 30 Mb/s and the QoE linear; encoders send 1 to 10 Mb/s. Plum: rho 0.5; rho 0: the same loop \
         when the mean alone counts. oracle: two links of their own at the shares that are best on average, as fluids without contention (what \
         the public code calls Plum). bound: see the table above; \
         bound over best: Vanilla's bitrate with that gain, over the best baseline.",
        traces.origin()
    );
    let chapter = Chapter {
        title: "Average downlink bitrate".to_owned(),
        text: "Clients around a forwarding server, each behind a half-duplex link of its own.".to_owned(),
        tables: vec![grid],
        charts,
    };
    Part { rows, chapter }
}

fn judged(set: Set, points: &[Point]) -> Vec<ValidationRow> {
    let name = set.name();
    let paper = match set {
        Set::Game => 48.0,
        Set::Restaurant => 58.5,
    };
    let over_best = |point: &Point| gain(point.plum, point.best_baseline());
    let largest = points.iter().map(over_best).fold(f64::NEG_INFINITY, f64::max);
    let row = |metric: String, unit, reference, measured, tolerance, trend, note: &str| {
        ValidationRow::judged(ID, metric, unit, Some(reference), measured, Some(tolerance), trend, note)
    };
    let mut rows = vec![row(
        format!("largest gain over the best baseline, {name}"),
        "%",
        paper,
        Some(largest).filter(|gain| gain.is_finite()),
        Tolerance::Relative(0.25),
        largest > 0.0,
        "Fig. 11; the paper's figure is its oracle's, on traces of which ours hold less",
    )];
    for point in points.iter().filter(|point| [8, 16].contains(&point.clients)) {
        for (who, reached, bound) in
            [("rho 0", point.mean, point.bounds[0]), ("rho 0.5", point.plum, point.bounds[1])]
        {
            let share = 100.0 * gain(reached, point.baselines[0]) / bound;
            // Weighed for fairness, some sets have no gain of bitrate to reach.
            if bound < LEAST_BOUND {
                continue;
            }
            rows.push(row(
                format!("share of the omniscient gain over Vanilla, {name}, n = {}, {who}", point.clients),
                "%",
                80.0,
                Some(share),
                Tolerance::AtLeast,
                share > 0.0,
                "to reach with the loop closed",
            ));
        }
    }
    for point in points.iter().filter(|point| point.bounds[0] > 55.0) {
        let found = gain(point.mean, point.best_baseline());
        rows.push(row(
            format!(
                "gain over the best baseline where the bound exceeds 55 %, {name}, n = {}",
                point.clients
            ),
            "%",
            45.0,
            Some(found),
            Tolerance::AtLeast,
            found > 0.0,
            &format!(
                "to reach with the loop closed, when the mean alone counts as in the bound; an omniscient allocation gains {} % over the same baseline",
                shown(point.bound_over_best())
            ),
        ));
    }
    if let (Some(first), Some(last)) = (points.first(), points.last()) {
        let grown = over_best(last) - over_best(first);
        rows.push(row(
            format!("gain at n = {} less gain at n = {}, {name}", last.clients, first.clients),
            "%",
            0.0,
            Some(grown),
            Tolerance::AtLeast,
            false,
            "Sec. IV-A: the gain grows with the number of clients",
        ));
    }
    rows
}

/// With a slow server all schemes are alike.
fn slow_server(set: Set, sessions: &Conferences, effort: Effort) -> Option<ValidationRow> {
    let down = |who| {
        let case = Case { server: Some(SLOW_SERVER), ..Case::usual(set, 16, who, effort) };
        sessions.mean(case, effort, airbound_sim::conference::ConferenceOutcome::mean_down)
    };
    let all: Vec<f64> =
        [Who::Vanilla, Who::LastN, Who::Tack, Who::PLUM].into_iter().filter_map(down).collect();
    let (least, most) =
        all.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), value| (a.min(*value), b.max(*value)));
    (all.len() == 4).then(|| {
        ValidationRow::judged(
            ID,
            format!("spread of all schemes with a server of 100 Mb/s, {}, n = 16", set.name()),
            "%",
            Some(10.0),
            Some(gain(most, least)),
            Some(Tolerance::AtMost),
            false,
            "Fig. 11: restricted by the server, all are alike",
        )
    })
}

fn chart(set: Set, points: &[Point]) -> Chart {
    let line = |name: &str, value: fn(&Point) -> f64| {
        Line::whole(name, points.iter().map(|point| (point.clients as f64, value(point))))
    };
    let lines = vec![
        line("Vanilla", |point| point.baselines[0]),
        line("LastN", |point| point.baselines[1]),
        line("TACK", |point| point.baselines[2]),
        line("Plum", |point| point.plum),
        line("Plum, rho 0", |point| point.mean),
        line("oracle", |point| point.oracle),
    ];
    let kind = ChartKind::Lines(Lines {
        x: "clients".to_owned(),
        y: "average downlink (Mb/s)".to_owned(),
        lines,
        ..Lines::default()
    });
    Chart { kind, caption: format!("Fig. 11: {}, ample server.", set.name()) }
}

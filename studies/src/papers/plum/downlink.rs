//! Average downlink bitrate over the number of clients and the server's bandwidth (Fig. 11), beside what the traces hold.

use airbound_report::{Chart, Line};
use airbound_sim::conference::ConferenceOutcome;

use super::conferences::{Conferences, Links, PLAN};
use super::fluid::{Gains, oracle};
use super::traces::{Set, TraceSets};
use super::{CLAIMS, MEAN, SCHEMES, WARM_UP, best_baseline, cells, gain};
use crate::Effort;
use crate::papers::claims::ClaimRow;
use crate::papers::{Part, shown};

/// Per cent below which an omniscient gain is none.
const LEAST_BOUND: f64 = 10.0;

/// Figures of one set and number of clients with an ample server.
struct Point {
    clients: usize,
    /// By scheme.
    down: [f64; 5],
    oracle: f64,
    /// Omniscient gains over the fair share.
    bound: Gains,
}

impl Point {
    /// By how many per cent the mean of Plum, with rho 0.5 and 0, exceeds the best baseline.
    fn over_best(&self) -> [f64; 2] {
        [self.down[3], self.down[4]].map(|plum| gain(plum, best_baseline(&self.down)))
    }

    /// By how many per cent an omniscient allocation exceeds the best baseline: Vanilla's bitrate with the gain of the bound.
    fn bound_over_best(&self) -> f64 {
        gain(self.down[0] * (1.0 + self.bound.alone / 100.0), best_baseline(&self.down))
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let Self { down, oracle, bound, .. } = self;
        let bounds = [self.bound_over_best(), bound.alone, bound.weighed];
        down.iter().copied().chain([*oracle]).chain(self.over_best()).chain(bounds)
    }
}

/// Returns the chapter on the gain that the traces allow an omniscient allocation, and that on the conferences.
pub(super) fn parts(conferences: &Conferences, traces: &TraceSets, effort: Effort) -> [Part; 2] {
    let origin = ("origin", traces.origin().to_owned());
    let mut bounds = CLAIMS.table("bounds", std::slice::from_ref(&origin));
    let mut table = CLAIMS.table("downlink", &[origin]);
    let (mut rows, mut charts) = (Vec::new(), Vec::new());
    for set in Set::ALL {
        let mut points = Vec::new();
        for clients in PLAN.traces.figures["downlink"].clients.at(effort) {
            let texts = [set.name(), &clients.to_string()];
            let length = &PLAN.traces.length;
            let runs =
                length.seeds(effort).map(|seed| traces.seconds(set, *clients, seed, length.seconds(effort)));
            let runs: Vec<Vec<Vec<f64>>> = runs.collect();
            let looks =
                runs.iter().flat_map(|run| run[WARM_UP..].iter().step_by(*PLAN.fluid.step.at(effort)));
            let looks: Vec<Vec<f64>> = looks.cloned().collect();
            let limits = PLAN.fluid.limits.at(effort);
            let found: Vec<Option<Gains>> = limits.iter().map(|limits| Gains::of(&looks, *limits)).collect();
            for (limits, found) in limits.iter().zip(&found) {
                let gains = [found.map(|gains| gains.alone), found.map(|gains| gains.weighed)];
                let limits = [limits.max, limits.encoder].map(Some);
                bounds.rows.push(cells(&texts, limits.into_iter().chain(gains)));
            }
            let down =
                |scheme| conferences.mean(Links::own(set, *clients), scheme, ConferenceOutcome::mean_down);
            let oracle = runs.iter().map(|run| oracle(run, WARM_UP)).sum::<f64>() / runs.len() as f64;
            // The first limits are those of the conferences.
            let point = |bound| Point { clients: *clients, down: SCHEMES.map(down), oracle, bound };
            points.extend(found[0].map(point));
        }
        for point in &points {
            table.rows.push(cells(&[set.name(), &point.clients.to_string()], point.values()));
        }
        rows.extend(judged(set, &points));
        rows.push(slow_server(set, conferences));
        charts.push(chart(set, &points));
    }
    [
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("bounds", vec![bounds], Vec::new()) },
        Part { rows, chapter: CLAIMS.chapter("downlink", vec![table], charts) },
    ]
}

fn judged(set: Set, points: &[Point]) -> Vec<ClaimRow> {
    let row = |key, clients| CLAIMS.row(key).with("traces", set.name()).with("clients", clients);
    let largest = points.iter().map(|point| point.over_best()[0]).fold(f64::NEG_INFINITY, f64::max);
    let mut rows = vec![row("largest-gain", 0).trend(largest > 0.0).measured(largest)];
    for point in points.iter().filter(|point| [8, 16].contains(&point.clients)) {
        let [vanilla, .., plum, mean] = point.down;
        for (rho, reached, bound) in
            [("rho 0", mean, point.bound.alone), ("rho 0.5", plum, point.bound.weighed)]
        {
            // Weighed for fairness, some sets have no gain of bitrate to reach.
            if bound >= LEAST_BOUND {
                let share = 100.0 * gain(reached, vanilla) / bound;
                let row = row("share-of-bound", point.clients).with("rho", rho);
                rows.push(row.trend(share > 0.0).measured(share));
            }
        }
    }
    for point in points.iter().filter(|point| point.bound.alone > 55.0) {
        let [_, found] = point.over_best();
        let row = row("where-bound-is-high", point.clients).with("bound", shown(point.bound_over_best()));
        rows.push(row.trend(found > 0.0).measured(found));
    }
    if let [first, .., last] = points {
        let grown = last.over_best()[0] - first.over_best()[0];
        rows.push(
            row("gain-grows", 0).with("first", first.clients).with("last", last.clients).measured(grown),
        );
    }
    rows
}

/// With a slow server all schemes are alike.
fn slow_server(set: Set, conferences: &Conferences) -> ClaimRow {
    let links = Links::Traces { set, clients: 16, sharing: 1, server: Some(100) };
    let all = SCHEMES.iter().filter(|scheme| **scheme != MEAN);
    let all = all.map(|scheme| conferences.mean(links, scheme, ConferenceOutcome::mean_down));
    let (least, most) = all.fold((f64::INFINITY, 0.0_f64), |(a, b), value| (a.min(value), b.max(value)));
    CLAIMS.row("slow-server").with("traces", set.name()).measured(gain(most, least))
}

fn chart(set: Set, points: &[Point]) -> Chart {
    let line = |name: &str, value: &dyn Fn(&Point) -> f64| {
        Line::whole(name, points.iter().map(|point| (point.clients as f64, value(point))))
    };
    let schemes = SCHEMES.iter().enumerate().map(|(place, name)| line(name, &|point| point.down[place]));
    let lines = schemes.chain([line("oracle", &|point| point.oracle)]).collect();
    CLAIMS.lines("downlink", &[("traces", set.name().to_owned())], lines)
}

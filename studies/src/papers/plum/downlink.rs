//! Average downlink bitrate over the number of clients (Fig. 11): over the paper's links, and of the closed loop over half-duplex ones beside
//! the most that the traces allow.

use airbound_report::{Chart, Line};
use airbound_sim::conference::ConferenceOutcome;

use super::conferences::{Conferences, Links, Model, PLAN};
use super::fluid::Gains;
use super::links::Division;
use super::pooled::{Pooled, gain_of};
use super::traces::{Set, TraceSets};
use super::{BASELINES, CLAIMS, MEAN, PLUM, SCHEMES, VANILLA, WARM_UP, cells, gain};
use crate::Effort;
use crate::papers::Part;
use crate::papers::row::ClaimRow;

/// Numbers of clients at which the loop is judged.
const JUDGED: [usize; 2] = [8, 16];

/// Values of the three baselines over evenly divided links, then that of the oracle.
pub(super) fn of_paper<T>(set: Set, clients: usize, value: impl Fn(Links, &'static str) -> T) -> ([T; 3], T) {
    let of = |division, scheme| value(Links::own(set, clients, Model::paper(division)), scheme);
    (BASELINES.map(|scheme| of(Division::Even, scheme)), of(Division::Oracle, VANILLA))
}

/// Returns the chapter on the paper's links.
pub(super) fn paper(conferences: &Conferences, traces: &TraceSets, effort: Effort) -> Part {
    let mut table = CLAIMS.table("paper", &[("origin", traces.origin().to_owned())]);
    let (mut rows, mut charts) = (Vec::new(), Vec::new());
    let mean = |links, scheme| conferences.mean(links, scheme, ConferenceOutcome::mean_down);
    let by_draw = |links, scheme| conferences.by_draw(links, scheme, ConferenceOutcome::mean_down);
    let with_loop = PLAN.traces.figures["loop"].clients.at(effort);
    for set in Set::ALL {
        let mut points = Vec::new();
        for clients in PLAN.traces.figures["oracle"].clients.at(effort) {
            let (baselines, oracle) = of_paper(set, *clients, mean);
            let ([vanilla, last_n, tack], best) = of_paper(set, *clients, by_draw);
            let over = gain_of(&[vanilla, last_n, tack, best]);
            let of_loop = |scheme| {
                let links = Links::own(set, *clients, Model::LOOP);
                let [vanilla, last_n, tack] = BASELINES.map(|scheme| by_draw(links, scheme));
                gain_of(&[vanilla, last_n, tack, by_draw(links, scheme)])
            };
            let of_loop =
                [PLUM, MEAN].map(|scheme| with_loop.contains(clients).then(|| of_loop(scheme).value));
            let numbers = baselines.into_iter().chain([oracle, over.value]).map(Some).chain(of_loop);
            let mut row = cells(&[set.name(), &clients.to_string()], numbers);
            row.insert(7, over.between().into());
            table.rows.push(row);
            points.push((*clients, baselines, oracle, over));
        }
        let row = |key| CLAIMS.row(key).with("traces", set.name());
        // "Up to": the number of clients with the largest gain.
        let largest = points.iter().map(|(.., over)| *over).max_by(|a, b| a.value.total_cmp(&b.value));
        rows.extend(largest.map(|over| over.judge(row("oracle-gain").trend(over.value > 0.0))));
        let best = points.iter().max_by(|(_, _, one, _), (_, _, other, _)| one.total_cmp(other));
        rows.push(row("best-point").measured(best.map(|(clients, ..)| *clients as f64)));
        if let [(first, .., before), .., (last, .., after)] = points.as_slice() {
            rows.push(
                row("gain-grows")
                    .with("first", first)
                    .with("last", last)
                    .measured(after.value - before.value),
            );
        }
        for (_, baselines, ..) in points.iter().filter(|(clients, ..)| *clients == 8) {
            for (scheme, value) in BASELINES.into_iter().zip(baselines).skip(1) {
                rows.push(row("alike").with("scheme", scheme).measured(gain(*value, baselines[0])));
            }
        }
        rows.push(slow_server(set, conferences));
        let line = |name: &str, value: &dyn Fn([f64; 3], f64) -> f64| {
            let value = |(clients, baselines, oracle, _): &(usize, [f64; 3], f64, Pooled)| {
                (*clients as f64, value(*baselines, *oracle))
            };
            Line::whole(name, points.iter().map(value))
        };
        let baselines = BASELINES.into_iter().enumerate();
        let baselines = baselines.map(|(place, name)| line(name, &|baselines, _| baselines[place]));
        let lines = baselines.chain([line("oracle", &|_, oracle| oracle)]).collect();
        charts.push(CLAIMS.lines("paper", &[("traces", set.name().to_owned())], lines));
    }
    Part { rows, chapter: CLAIMS.chapter("paper", vec![table], charts) }
}

/// With a slow server all are alike.
fn slow_server(set: Set, conferences: &Conferences) -> ClaimRow {
    let mean = |division, scheme| {
        let links =
            Links::Traces { set, clients: 16, sharing: 1, model: Model::paper(division), server: Some(100) };
        conferences.mean(links, scheme, ConferenceOutcome::mean_down)
    };
    let baselines = BASELINES.map(|scheme| mean(Division::Even, scheme));
    let all = baselines.into_iter().chain([mean(Division::Oracle, VANILLA)]);
    let (least, most) = all.fold((f64::INFINITY, 0.0_f64), |(a, b), value| (a.min(value), b.max(value)));
    CLAIMS.row("slow-server").with("traces", set.name()).measured(gain(most, least))
}

/// Figures of the loop for one set and number of clients.
struct Point {
    clients: usize,
    /// By scheme.
    down: [f64; 5],
    /// Omniscient gains over an even split.
    bound: Gains,
}

impl Point {
    /// By how many per cent Plum, with rho 0.5 and 0, exceeds Vanilla.
    fn over_vanilla(&self) -> [f64; 2] {
        [self.down[3], self.down[4]].map(|plum| gain(plum, self.down[0]))
    }
}

/// Returns the chapter on what the traces hold, and that on the closed loop.
pub(super) fn closed_loop(conferences: &Conferences, traces: &TraceSets, effort: Effort) -> [Part; 2] {
    let origin = ("origin", traces.origin().to_owned());
    let mut bounds = CLAIMS.table("bounds", std::slice::from_ref(&origin));
    let mut table = CLAIMS.table("loop", &[origin]);
    let (mut rows, mut charts) = (Vec::new(), Vec::new());
    for set in Set::ALL {
        let mut points = Vec::new();
        for clients in PLAN.traces.figures["loop"].clients.at(effort) {
            let texts = [set.name(), &clients.to_string()];
            // The draws of the loop beside it.
            let links = Links::own(set, *clients, Model::LOOP);
            let draws = effort.seeds(conferences.of(links, VANILLA).len() as u64);
            let seconds = PLAN.traces.length.seconds(effort);
            let runs = draws.map(|seed| traces.seconds(set, *clients, seed, seconds));
            let runs: Vec<Vec<Vec<f64>>> = runs.collect();
            let looks =
                runs.iter().flat_map(|run| run[WARM_UP..].iter().step_by(*PLAN.fluid.step.at(effort)));
            let looks: Vec<Vec<f64>> = looks.cloned().collect();
            let limits = PLAN.fluid.limits.at(effort);
            let found: Vec<Option<Gains>> = limits.iter().map(|limits| Gains::of(&looks, *limits)).collect();
            for (limits, found) in limits.iter().zip(&found) {
                let values = found.map_or([None; 4], |Gains { alone, weighed, utility: [even, best] }| {
                    [alone, weighed, even, best].map(Some)
                });
                bounds
                    .rows
                    .push(cells(&texts, [limits.max, limits.encoder].map(Some).into_iter().chain(values)));
            }
            let down = SCHEMES.map(|scheme| conferences.mean(links, scheme, ConferenceOutcome::mean_down));
            // The first limits are those of the conferences.
            points.extend(found[0].map(|bound| Point { clients: *clients, down, bound }));
        }
        for point in &points {
            let texts = [set.name(), &point.clients.to_string()];
            let gains = point.over_vanilla().into_iter().chain([point.bound.alone]);
            table.rows.push(cells(&texts, point.down.into_iter().chain(gains)));
        }
        for point in points.iter().filter(|point| JUDGED.contains(&point.clients)) {
            let [weighed, alone] = point.over_vanilla();
            let row = |key| CLAIMS.row(key).with("traces", set.name()).with("clients", point.clients);
            rows.push(row("share-of-bound").trend(alone > 0.0).measured(100.0 * alone / point.bound.alone));
            rows.push(row("loop-gain").with("scheme", "rho 0.5").measured(weighed));
            rows.push(row("loop-gain").with("scheme", MEAN).measured(alone));
        }
        charts.push(chart(set, &points));
    }
    [
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("bounds", vec![bounds], Vec::new()) },
        Part { rows, chapter: CLAIMS.chapter("loop", vec![table], charts) },
    ]
}

fn chart(set: Set, points: &[Point]) -> Chart {
    let line = |place: usize, name: &str| {
        Line::whole(name, points.iter().map(|point| (point.clients as f64, point.down[place])))
    };
    let lines = SCHEMES.iter().enumerate().map(|(place, name)| line(place, name)).collect();
    CLAIMS.lines("loop", &[("traces", set.name().to_owned())], lines)
}

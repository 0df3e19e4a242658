//! `airbound law choose-bound`: a latency bound for Law, from what the present link layer does (appendix B of its paper).

use std::sync::{Arc, Mutex, PoisonError};

use airbound_feasibility::{BoundChoice, Stays};
use airbound_record::{Fate, LatencyHistogram, PacketRow, Resolution};
use airbound_report::{Cell, Column, Grid};
use airbound_sim::{Event, Events, Observer, Run};
use airbound_units::{Instant, Span};
use serde::Serialize;

use crate::args::{ChooseBound, Law, Source, Verbosity};
use crate::error::CliError;
use crate::progress::Steps;
use crate::request::{Named, Opened};
use crate::{jobs, output, request};

/// The baselines of the paper's Fig. 24.
const BASELINES: [&str; 3] = ["minstrel-ht", "llra", "thompson"];

pub(super) fn law(law: &Law, verbosity: Verbosity) -> Result<(), CliError> {
    match law {
        Law::ChooseBound(choose) => choose_bound(choose, verbosity),
    }
}

/// Output of `--json`.
#[derive(Serialize)]
struct Form<'a> {
    scenario: &'a str,
    flow: &'a str,
    alpha_percent: f64,
    baselines: Vec<Baseline<'a>>,
    lowest_ms: f64,
    highest_ms: f64,
    bound_ms: f64,
    limit_q_ms: f64,
    limit_h_ms: f64,
    law: &'a [Trial],
}

#[derive(Serialize)]
struct Baseline<'a> {
    scheme: &'a str,
    threshold_ms: Option<f64>,
    loss_rate: f64,
}

/// Results of Law with one bound.
#[derive(Serialize)]
struct Trial {
    bound_ms: f64,
    limit_q_ms: f64,
    loss_rate: f64,
    p99_ms: Option<f64>,
    p999_ms: Option<f64>,
}

/// A run to be made.
struct Job<'a> {
    opened: &'a Opened,
    named: Named,
    seed: u64,
}

fn choose_bound(choose: &ChooseBound, verbosity: Verbosity) -> Result<(), CliError> {
    let opened = request::open(&choose.source)?;
    opened.refuse_all_but_a_network()?;
    let flow = watched(&opened, choose.flow.as_deref())?;
    let names: Vec<String> = if choose.schemes.is_empty() {
        BASELINES.map(str::to_owned).to_vec()
    } else {
        choose.schemes.clone()
    };
    let schemes = super::compare::schemes(&opened, &names)?;
    let seeds = || (0..u64::from(choose.seeds)).map(|number| opened.scenario.seed.saturating_add(number));
    let steps = Steps::new(verbosity, schemes.len());
    let threads = jobs::threads(choose.jobs);

    steps.begin("baselines");
    let wanted: Vec<Job<'_>> = schemes
        .iter()
        .flat_map(|named| seeds().map(|seed| Job { opened: &opened, named: named.clone(), seed }))
        .collect();
    let stays = all(&wanted, flow, threads, &steps)?;
    let alpha = choose.alpha / 100.0;
    let limit_h = choose.limit_h;
    let choice = BoundChoice::of(joined(&schemes, stays), alpha, limit_h)
        .map_err(|error| CliError::Input(error.to_string()))?;

    // What the choice is worth is seen at once: Law at both ends of the interval and at the bound itself.
    steps.begin("Law");
    let mut bounds = vec![choice.lowest, choice.bound, choice.highest];
    bounds.dedup();
    bounds.retain(|bound| *bound > limit_h * 2);
    let laws: Result<Vec<(Opened, Named)>, CliError> =
        bounds.iter().map(|bound| with_law(&choose.source, *bound - limit_h * 2, limit_h)).collect();
    let laws = laws?;
    let wanted: Vec<Job<'_>> = laws
        .iter()
        .flat_map(|(opened, named)| seeds().map(|seed| Job { opened, named: named.clone(), seed }))
        .collect();
    let stays = all(&wanted, flow, threads, &steps)?;
    let named: Vec<Named> = laws.into_iter().map(|(_, named)| named).collect();
    let trials: Vec<Trial> = joined(&named, stays)
        .into_iter()
        .zip(&bounds)
        .map(|(stays, bound)| trial(stays, *bound, *bound - limit_h * 2))
        .collect();
    drop(steps);

    let name = &opened.scenario.flows[flow].name;
    if verbosity.json {
        return output::json(&form(&opened.name, name, choose, &choice, &trials));
    }
    let width = output::width();
    let text = thresholds(&opened.name, name, choose.alpha, &choice).to_text(width)
        + "\n"
        + &measured(&trials).to_text(width);
    output::say(verbosity, &text)
}

/// The flow whose packets count: the one that was named, or that the scenario is about.
fn watched(opened: &Opened, asked: Option<&str>) -> Result<usize, CliError> {
    let flows = &opened.scenario.flows;
    let wanted = asked.map(str::to_owned).or_else(|| opened.focus());
    let found = wanted.as_ref().and_then(|name| flows.iter().position(|flow| flow.name == *name));
    found.ok_or_else(|| {
        let names: Vec<&str> = flows.iter().take(20).map(|flow| flow.name.as_str()).collect();
        CliError::Input(match wanted {
            Some(name) => format!("--flow {name}: there is no such flow; flows are {}", names.join(", ")),
            None => format!("{} has no flow whose packets could be measured", opened.name),
        })
    })
}

/// The scenario with Law over it.
fn with_law(source: &Source, limit_q: Span, limit_h: Span) -> Result<(Opened, Named), CliError> {
    let mut source = source.clone();
    source
        .changes
        .sets
        .push(format!("scheme.queue={{ kind = \"law\", limit-q = \"{limit_q}\", limit-h = \"{limit_h}\" }}"));
    source.changes.sets.push("scheme.rate=law".to_owned());
    let opened = request::open(&source)?;
    opened.refuse_all_but_a_network()?;
    let named = opened.scheme(None)?;
    Ok((opened, named))
}

/// Makes all runs, and says what the packets of the flow met in each.
fn all(wanted: &[Job<'_>], flow: usize, threads: usize, steps: &Steps) -> Result<Vec<Stays>, CliError> {
    let done = std::sync::atomic::AtomicUsize::new(0);
    jobs::all(threads, wanted.len(), |number| {
        let Job { opened, named, seed } = &wanted[number];
        let measured_from = Instant::ZERO + opened.scenario.warm_up;
        let watch = Watch { flow: flow as u32, from: measured_from, seen: Arc::default() };
        let run = Run::observed(
            &opened.name,
            &opened.scenario,
            &named.scheme,
            *seed,
            &named.plugins,
            Box::new(watch.clone()),
        )?;
        run.finish()?;
        steps.reach(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, wanted.len());
        let (latencies, lost) =
            std::mem::take(&mut *watch.seen.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(Stays { name: named.label.clone(), latencies, lost })
    })
}

/// Puts the seeds of each scheme together; the runs come scheme by scheme.
fn joined(schemes: &[Named], runs: Vec<Stays>) -> Vec<Stays> {
    let seeds = runs.len() / schemes.len().max(1);
    let mut runs = runs.into_iter();
    schemes
        .iter()
        .map(|named| {
            let mut all = Stays { name: named.label.clone(), latencies: Vec::new(), lost: 0 };
            for run in runs.by_ref().take(seeds) {
                all.latencies.extend(run.latencies);
                all.lost += run.lost;
            }
            all
        })
        .collect()
}

fn trial(stays: Stays, bound: Span, limit_q: Span) -> Trial {
    let mut latency = LatencyHistogram::new(Resolution::Fine);
    stays.latencies.iter().for_each(|span| latency.record(*span));
    let all = stays.latencies.len() as u64 + stays.lost;
    let stats = latency.stats();
    Trial {
        bound_ms: bound.as_millis_f64(),
        limit_q_ms: limit_q.as_millis_f64(),
        loss_rate: if all > 0 { stays.lost as f64 / all as f64 } else { 0.0 },
        p99_ms: stats.p99,
        p999_ms: stats.p999,
    }
}

fn form<'a>(
    scenario: &'a str,
    flow: &'a str,
    choose: &ChooseBound,
    choice: &'a BoundChoice,
    law: &'a [Trial],
) -> Form<'a> {
    let baselines = choice.thresholds.iter().map(|threshold| Baseline {
        scheme: &threshold.name,
        threshold_ms: threshold.latency.map(Span::as_millis_f64),
        loss_rate: threshold.loss_rate,
    });
    Form {
        scenario,
        flow,
        alpha_percent: choose.alpha,
        baselines: baselines.collect(),
        lowest_ms: choice.lowest.as_millis_f64(),
        highest_ms: choice.highest.as_millis_f64(),
        bound_ms: choice.bound.as_millis_f64(),
        limit_q_ms: choice.limit_q.as_millis_f64(),
        limit_h_ms: choose.limit_h.as_millis_f64(),
        law,
    }
}

fn column(name: impl Into<String>, numeric: bool) -> Column {
    Column { name: name.into(), numeric }
}

fn thresholds(scenario: &str, flow: &str, alpha: f64, choice: &BoundChoice) -> Grid {
    let rows = choice.thresholds.iter().map(|threshold| {
        let latency = threshold
            .latency
            .map_or("too many lost".to_owned(), |latency| format!("{:.1}", latency.as_millis_f64()));
        vec![
            Cell::from(threshold.name.clone()),
            Cell::from(latency),
            Cell::from(format!("{:.2} %", 100.0 * threshold.loss_rate)),
        ]
    });
    let ms = Span::as_millis_f64;
    Grid {
        title: format!("{scenario}, {flow}: which bound costs {} % of the packets?", trimmed(100.0 - alpha)),
        columns: vec![
            column("baseline", false),
            column(format!("{} % stay below, ms", trimmed(alpha)), true),
            column("lost", true),
        ],
        rows: rows.collect(),
        note: format!(
            "The bound lies between {:.1} and {:.1} ms; the middle is {:.1} ms: write limit-q = \"{:.1} ms\".",
            ms(choice.lowest),
            ms(choice.highest),
            ms(choice.bound),
            ms(choice.limit_q),
        ),
    }
}

fn measured(trials: &[Trial]) -> Grid {
    let text = |value: Option<f64>| value.map_or("-".to_owned(), |ms| format!("{ms:.1}"));
    let rows = trials.iter().map(|trial| {
        vec![
            Cell::from(format!("{:.1}", trial.bound_ms)),
            Cell::from(format!("{:.1}", trial.limit_q_ms)),
            Cell::from(format!("{:.2} %", 100.0 * trial.loss_rate)),
            Cell::from(text(trial.p99_ms)),
            Cell::from(text(trial.p999_ms)),
        ]
    });
    Grid {
        title: "Law with these bounds".to_owned(),
        columns: ["bound ms", "limit-q ms", "lost", "p99 ms", "p99.9 ms"]
            .map(|name| column(name, true))
            .to_vec(),
        rows: rows.collect(),
        note: String::new(),
    }
}

/// A percentage without needless zeros.
fn trimmed(percent: f64) -> String {
    let text = format!("{percent:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Collects what the packets of a flow met on the last hop: from entering the queue to the end of the transmission that got
/// through.
#[derive(Debug, Clone)]
struct Watch {
    flow: u32,
    from: Instant,
    seen: Arc<Mutex<(Vec<Span>, u64)>>,
}

impl Watch {
    fn on_packet(&mut self, row: &PacketRow) {
        if row.flow != self.flow || row.sent < self.from {
            return;
        }
        let seen = &mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match row.fate {
            Fate::Delivered => seen.0.push(row.received.since(row.enqueued)),
            Fate::Dropped(_) => seen.1 += 1,
            Fate::Queued => {}
        }
    }
}

impl Observer for Watch {
    fn wants(&self) -> Events {
        Events { packets: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        if let Event::Packet(row) = event {
            self.on_packet(row);
        }
    }
}

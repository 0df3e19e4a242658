//! `airbound law choose-bound`: a latency bound for Law, from what the present link layer does (appendix B of its paper).

use airbound_report::{Cell, Column, Grid};
use airbound_runs::{BoundRequest, BoundTrial, ChosenBound, jobs};
use airbound_units::Span;
use serde::Serialize;

use crate::args::{ChooseBound, Law};
use crate::error::CliError;
use airbound_console::Progress;
use airbound_console::Verbosity;
use airbound_console::output;

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
    law: &'a [BoundTrial],
}

#[derive(Serialize)]
struct Baseline<'a> {
    scheme: &'a str,
    threshold_ms: Option<f64>,
    loss_rate: f64,
}

fn choose_bound(choose: &ChooseBound, verbosity: Verbosity) -> Result<(), CliError> {
    let request = BoundRequest {
        alpha: choose.alpha / 100.0,
        flow: choose.flow.clone(),
        schemes: choose.schemes.clone(),
        limit_h: choose.limit_h,
        seeds: choose.seeds,
    };
    let progress = Progress::new(verbosity);
    let overrides = choose.source.changes.overrides()?;
    let chosen =
        request.choose(&choose.source.scenario, &overrides, jobs::threads(choose.jobs), &progress)?;
    drop(progress);
    if verbosity.json {
        return Ok(output::json(&form(choose, &chosen))?);
    }
    let width = output::width();
    let tables = [thresholds(&chosen, choose.alpha), measured(&chosen.trials)];
    Ok(output::say(verbosity, &tables.map(|table| table.to_text(width)).join("\n"))?)
}

fn form<'a>(choose: &ChooseBound, chosen: &'a ChosenBound) -> Form<'a> {
    let choice = &chosen.choice;
    let baselines = choice.thresholds.iter().map(|threshold| Baseline {
        scheme: &threshold.name,
        threshold_ms: threshold.latency.map(Span::as_millis_f64),
        loss_rate: threshold.loss_rate,
    });
    Form {
        scenario: &chosen.scenario,
        flow: &chosen.flow,
        alpha_percent: choose.alpha,
        baselines: baselines.collect(),
        lowest_ms: choice.lowest.as_millis_f64(),
        highest_ms: choice.highest.as_millis_f64(),
        bound_ms: choice.bound.as_millis_f64(),
        limit_q_ms: choice.limit_q.as_millis_f64(),
        limit_h_ms: choose.limit_h.as_millis_f64(),
        law: &chosen.trials,
    }
}

fn thresholds(chosen: &ChosenBound, alpha: f64) -> Grid {
    let ChosenBound { scenario, flow, choice, .. } = chosen;
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

fn measured(trials: &[BoundTrial]) -> Grid {
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

fn column(name: impl Into<String>, numeric: bool) -> Column {
    Column { name: name.into(), numeric }
}

/// A percentage without needless zeros.
fn trimmed(percent: f64) -> String {
    let text = format!("{percent:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

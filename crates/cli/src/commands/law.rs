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
    /// Whether the bound keeps the accepted loss, in the mean and twice its standard error.
    keeps: bool,
    law: &'a [BoundTrial],
    /// The bound with seeds that the choice does not know.
    fresh: BoundTrial,
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
    let tables = [thresholds(&chosen, choose.alpha), measured(&chosen, choose)];
    Ok(output::say(verbosity, &tables.map(|table| table.to_text(width)).join("\n"))?)
}

fn form<'a>(choose: &ChooseBound, chosen: &'a ChosenBound) -> Form<'a> {
    let interval = &chosen.interval;
    let baselines = interval.thresholds.iter().map(|threshold| Baseline {
        scheme: &threshold.name,
        threshold_ms: threshold.latency.map(Span::as_millis_f64),
        loss_rate: threshold.loss_rate,
    });
    Form {
        scenario: &chosen.scenario,
        flow: &chosen.flow,
        alpha_percent: choose.alpha,
        baselines: baselines.collect(),
        lowest_ms: interval.lowest.as_millis_f64(),
        highest_ms: interval.highest.as_millis_f64(),
        bound_ms: chosen.chosen.bound_ms,
        limit_q_ms: chosen.chosen.limit_q_ms,
        limit_h_ms: choose.limit_h.as_millis_f64(),
        keeps: chosen.keeps(accepted(choose)),
        law: &chosen.trials,
        fresh: chosen.fresh,
    }
}

fn thresholds(chosen: &ChosenBound, alpha: f64) -> Grid {
    let ChosenBound { scenario, flow, interval, .. } = chosen;
    let rows = interval.thresholds.iter().map(|threshold| {
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
            "The bound lies between {:.1} and {:.1} ms.",
            ms(interval.lowest),
            ms(interval.highest)
        ),
    }
}

/// The loss that is accepted, 0 to 1.
fn accepted(choose: &ChooseBound) -> f64 {
    1.0 - choose.alpha / 100.0
}

fn measured(chosen: &ChosenBound, choose: &ChooseBound) -> Grid {
    let text = |value: Option<f64>| value.map_or("-".to_owned(), |ms| format!("{ms:.1}"));
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let row = |trial: &BoundTrial| {
        vec![
            Cell::from(format!("{:.1}", trial.bound_ms)),
            Cell::from(format!("{:.1}", trial.limit_q_ms)),
            Cell::from(percent(trial.loss_rate)),
            Cell::from(percent(trial.most_loss_rate)),
            Cell::from(text(trial.p99_ms)),
            Cell::from(text(trial.p999_ms)),
        ]
    };
    let (best, seeds) = (&chosen.chosen, choose.seeds);
    let runs = if seeds == 1 { "1 seed".to_owned() } else { format!("{seeds} seeds") };
    let wanted = trimmed(100.0 - choose.alpha);
    let choice = if chosen.keeps(accepted(choose)) {
        format!("{:.1} ms is the shortest that loses at most {wanted} %", best.bound_ms)
    } else {
        format!(
            "None of them loses at most {wanted} %, and {:.1} ms loses least; allow more loss with a smaller --alpha",
            best.bound_ms
        )
    };
    Grid {
        title: format!("Law with these bounds, {runs}"),
        columns: ["bound ms", "limit-q ms", "lost", "at most", "p99 ms", "p99.9 ms"]
            .map(|name| column(name, true))
            .to_vec(),
        rows: chosen.trials.iter().map(row).collect(),
        note: format!(
            "{choice}: write limit-q = \"{:.1} ms\". With {runs} more it loses {}.\n{}",
            best.limit_q_ms,
            percent(chosen.fresh.loss_rate),
            if seeds == 1 {
                "One seed tells no error: \"at most\" is the loss itself; --seeds 10 tells it."
            } else {
                "At most: the mean over the seeds and twice its standard error."
            }
        ),
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

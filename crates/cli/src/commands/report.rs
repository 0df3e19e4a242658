//! `airbound report`: one page of runs that are on disk.

use std::path::{Path, PathBuf};

use airbound_record::RunFolder;
use airbound_report::{Comparison, Run, align, fold, leading};
use airbound_runs::facts_of;
use airbound_runs::folder::{Index, REPORT, write_report};
use airbound_runs::output::STDOUT;
use airbound_scenario::{Overrides, Scenario};
use serde_json::json;

use super::run::refuse_terminal;
use crate::args::Report;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

/// A run with where it was found, and its scheme's name if that was noted.
struct Found {
    folder: PathBuf,
    label: Option<String>,
    run: Run,
}

pub(super) fn report(report: &Report, verbosity: Verbosity) -> Result<(), CliError> {
    let mut found = Vec::new();
    let mut baseline = report.baseline.clone();
    let mut focus = report.focus.clone();
    for folder in &report.runs {
        match Index::read(folder)? {
            None => found.push(load(folder, None)?),
            Some(index) => {
                for entry in &index.runs {
                    found.push(load(&folder.join(&entry.folder), Some(entry.scheme.clone()))?);
                }
                baseline = baseline.or(index.baseline);
                focus = focus.or(index.focus);
            }
        }
    }
    let facts = found.first().map(|first| facts_of(&first.run.scenario)).unwrap_or_default();
    let of_scenario = found.first().and_then(|first| focus_of(&first.run));
    let mut runs = labelled(found);
    let has = |name: &str| runs.iter().any(|(_, run)| run.summary.flows.iter().any(|flow| flow.name == name));
    // A name that was asked for stays.
    if !focus.as_deref().is_some_and(has) {
        align(&mut runs);
    }
    let focus = focus.or_else(|| leading(&runs)).or(of_scenario);
    if !report.full {
        fold(&mut runs, focus.as_deref());
    }
    if let Some(wanted) = &report.baseline
        && !runs.iter().any(|(label, _)| label == wanted)
    {
        return Err(CliError::Input(format!("--baseline: no run has the scheme {wanted}")));
    }
    let comparison = Comparison::new(runs, focus.as_deref(), baseline.as_deref())?.with_facts(facts);
    let page = match (&report.out, report.runs.as_slice()) {
        (Some(page), _) => page.clone(),
        (None, [only]) => only.join(REPORT),
        _ => PathBuf::from(REPORT),
    };
    let streamed = page == Path::new(STDOUT);
    if streamed {
        refuse_terminal("--out -", verbosity)?;
    }
    write_report(&comparison, &page)?;
    if streamed {
        return Ok(());
    }
    if report.open {
        airbound_console::open(&page);
    }
    if verbosity.json {
        return Ok(output::json(&json!({ "report": page, "verdict": comparison.verdict() }))?);
    }
    let text = super::compare::text(comparison, report.members, (!report.full).then_some("--full"));
    Ok(output::say(verbosity, &format!("{text}\nReport: {}\n", page.display()))?)
}

fn load(folder: &Path, label: Option<String>) -> Result<Found, CliError> {
    let run = Run::load(&RunFolder::open(folder)?)?;
    Ok(Found { folder: folder.to_owned(), label, run })
}

/// The flow that the scenario of a run is about, if the scenario can still be read.
fn focus_of(run: &Run) -> Option<String> {
    let scenario = Scenario::parse(&run.scenario, "scenario.toml", &Overrides::none()).ok()?;
    scenario.focus_name()
}

/// Gives each run the name of its scheme: that of its queue where this tells them apart, all slots where it does not, and
/// that of its folder where the same scheme ran twice with the same seed.
fn labelled(found: Vec<Found>) -> Vec<(String, Run)> {
    let short = |one: &Found| one.label.clone().unwrap_or_else(|| one.run.summary.scheme.queue.clone());
    let long = |one: &Found| one.label.clone().unwrap_or_else(|| one.run.scheme());
    let place = |one: &Found| one.folder.display().to_string();
    let schemes_differ = |one: &Found, other: &Found| one.run.scheme() != other.run.scheme();
    let clash = |name: &dyn Fn(&Found) -> String| {
        found.iter().enumerate().any(|(number, one)| {
            found[..number].iter().any(|other| {
                name(one) == name(other)
                    && (one.run.summary.seed == other.run.summary.seed || schemes_differ(one, other))
            })
        })
    };
    let names: Vec<String> = if !clash(&short) {
        found.iter().map(short).collect()
    } else if !clash(&long) {
        found.iter().map(long).collect()
    } else {
        found.iter().map(place).collect()
    };
    names.into_iter().zip(found).map(|(name, one)| (name, one.run)).collect()
}

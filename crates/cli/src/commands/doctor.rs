//! `airbound doctor`: why a program stutters on this machine's Wi-Fi.

mod observe;
mod place;

use airbound_console::{Verbosity, output};
use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Page};
use airbound_runs::RunsError;
use airbound_runs::output::write_page;
use airbound_senders::diagnosis::{Diagnosis, Observations, Probe, diagnose};
use airbound_units::Instant;
use serde_json::json;

use crate::args::doctor::Doctor;
use crate::error::CliError;
use place::Place;

pub(super) fn doctor(doctor: &Doctor, verbosity: Verbosity) -> Result<(), CliError> {
    let place = Place::find(doctor)?;
    let (mut watch, ways) = observe::Watch::open(doctor, &place)?;
    if !verbosity.quiet && output::is_watched() {
        output::remark(&format!("airbound: {} of probes: {}", doctor.duration, ways.join("; ")));
    }
    let seen = watch.observe(doctor)?;
    let found = diagnose(&seen);
    if let Some(folder) = doctor.out.parent() {
        std::fs::create_dir_all(folder).map_err(CliError::io("create", folder))?;
    }
    let html = page(&found, &seen, &ways).to_html().map_err(RunsError::from)?;
    write_page(&doctor.out, &html)?;
    if doctor.open {
        airbound_console::open(&doctor.out);
    }
    if verbosity.json {
        let points = |probes: &[Probe]| -> Vec<_> { times(probes, &seen).collect() };
        let (near, far) = (points(&seen.near), points(&seen.far));
        let value = json!({
            "diagnosis": found, "probes": ways, "report": doctor.out,
            "near": near, "far": far,
        });
        return Ok(output::json(&value)?);
    }
    let mut text = format!("=> {}\n   {}\n\n", found.sentence, found.advice);
    text += &evidence(&found).to_text(output::width());
    for line in &found.missing {
        text += &format!("Not known: {line}.\n");
    }
    text += &format!("\nProbes: {}\nReport: {}\n", ways.join("; "), doctor.out.display());
    Ok(output::say(verbosity, &text)?)
}

fn evidence(found: &Diagnosis) -> Grid {
    let mut grid = Grid::new("Evidence", &["figure", "value", "counts from"], 3);
    for row in &found.evidence {
        grid.rows.push([&row.what, &row.value, &row.limit].map(|text| text.clone().into()).to_vec());
    }
    grid
}

/// Seconds since the first probe, and the round trip in ms.
fn times<'a>(probes: &'a [Probe], seen: &Observations) -> impl Iterator<Item = (f64, Option<f64>)> + use<'a> {
    let first = seen.near.first().or(seen.far.first()).map_or(Instant::ZERO, |first| first.sent);
    probes.iter().map(move |probe| {
        (probe.sent.since(first).as_secs_f64(), probe.round_trip.map(|time| time.as_millis_f64()))
    })
}

fn page(found: &Diagnosis, seen: &Observations, ways: &[String]) -> Page {
    let line = |name: &str, probes: &[Probe]| Line {
        name: name.to_owned(),
        points: times(probes, seen).map(|(at, time)| Some((at, time?))).collect(),
    };
    let lines = Lines {
        x: "time (s)".to_owned(),
        y: "round trip (ms)".to_owned(),
        lines: vec![line("near", &seen.near), line("far", &seen.far)],
        ..Lines::default()
    };
    let chart =
        Chart { caption: "Round trips; a gap is a lost probe".to_owned(), kind: ChartKind::Lines(lines) };
    let mut sentences = vec![found.sentence.clone(), found.advice.clone()];
    sentences.extend(found.missing.iter().map(|line| format!("Not known: {line}.")));
    Page {
        title: "Why does it stutter?".to_owned(),
        subtitle: ways.join("; "),
        sentences,
        chapters: vec![Chapter {
            title: "Evidence".to_owned(),
            charts: vec![chart],
            tables: vec![Grid { title: String::new(), ..evidence(found) }],
            ..Chapter::default()
        }],
        ..Page::default()
    }
}

//! `airbound run`: one scenario, one scheme.

use std::path::{Path, PathBuf};

use airbound_record::Encoding;
use airbound_report::Comparison;

use super::compare;
use crate::args::{Run, Verbosity};
use crate::error::CliError;
use crate::matrix::{Matrix, file_name};
use crate::progress::Progress;
use crate::request::{self, Opened, RunRequest};
use crate::results::{Fresh, REPORT, write_report};
use crate::{jobs, output};

pub(super) fn run(run: &Run, verbosity: Verbosity) -> Result<(), CliError> {
    let opened = request::open(&run.source)?;
    let named = opened.scheme(run.scheme.as_deref())?;
    let folder = run.out.clone().unwrap_or_else(|| {
        let seed = run.source.changes.seed.map_or(String::new(), |seed| format!("-seed{seed}"));
        PathBuf::from("runs").join(format!("{}-{}{seed}", opened.name, file_name(&named.label)))
    });
    let tables = run.effort.tables(true);
    if run.effort.seeds > 1 {
        if run.pcap.is_some() {
            return Err(CliError::Input("--pcap takes one run; leave out --seeds".to_owned()));
        }
        let matrix = Matrix { schemes: vec![named], seeds: run.effort.seeds, tables, baseline: None };
        return compare::matrix(&opened, &matrix, jobs::threads(run.effort.jobs), &folder, verbosity);
    }
    let spare = jobs::threads(run.effort.jobs) > 1;
    let encoding = if spare { Encoding::Thread } else { Encoding::Inline };
    let session = RunRequest { named, seed: opened.scenario.seed, tables, encoding };
    one(&opened, &session, &folder, run.pcap.as_deref(), verbosity)
}

fn one(
    opened: &Opened,
    session: &RunRequest,
    folder: &Path,
    capture: Option<&Path>,
    verbosity: Verbosity,
) -> Result<(), CliError> {
    let fresh = Fresh::note(folder);
    let progress = Progress::new(verbosity, opened.length());
    let (record, summary) = session.run(opened, folder, capture, &progress)?;
    drop(progress);
    fresh.keep();
    let loaded = airbound_report::Run::load(&record)?;
    let label = session.named.label.clone();
    let comparison = Comparison::new(vec![(label, loaded)], opened.focus().as_deref(), None)?;
    let report = folder.join(REPORT);
    write_report(&comparison, &report)?;
    if verbosity.json {
        return output::print(&summary.to_json()?);
    }
    let mut text = comparison.to_text(output::width());
    text += &format!("\nRun:    {}\nReport: {}\n", folder.display(), report.display());
    if let Some(capture) = capture {
        text += &format!("Air:    {}\n", capture.display());
    }
    output::say(verbosity, &text)
}

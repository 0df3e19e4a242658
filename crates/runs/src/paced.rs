//! One run whose pace the caller keeps, left in a folder like any other.

use std::path::Path;
use std::time::Instant;

use airbound_record::{EmulationSummary, Encoding, Existing, Recorder, RunFolder, Summary, Tables};
use airbound_scenario::Scenario;
use airbound_sim::Run;

use crate::error::RunsError;
use crate::folder::Fresh;
use crate::opened::{Named, Opened};
use crate::performance::performance;
use crate::recording::Recording;

/// A run that is built and not yet recorded.
pub struct BuiltRun {
    run: Run,
    named: Named,
}

/// A run under way, recorded in a folder. Without [`PacedRun::finish`] nothing of it remains.
pub struct PacedRun {
    run: Run,
    named: Named,
    begun: Instant,
    // Dropped after the run, whose recording removes its files.
    fresh: Fresh,
}

impl BuiltRun {
    /// Builds the run of a scenario and a scheme with the scenario's seed. Nothing is written.
    ///
    /// # Errors
    /// The scheme is wrong.
    pub fn new(opened: &Opened, named: Named) -> Result<Self, RunsError> {
        Ok(Self { run: opened.build(&named, opened.scenario.seed)?, named })
    }

    /// The run.
    pub const fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Records it in `folder` from now on; its tables are encoded by a thread of their own, in steady memory.
    ///
    /// # Errors
    /// There is something else in the folder than an earlier run, or it cannot be written.
    pub fn record(mut self, folder: &Path, tables: Tables) -> Result<PacedRun, RunsError> {
        let begun = Instant::now();
        let fresh = Fresh::note(folder);
        let folder = RunFolder::create(folder, Existing::Replace)?;
        let recorder = Recorder::create(folder, self.run.info(), tables, Encoding::Steady)?;
        self.run.observe(Box::new(Recording::new(recorder, None)));
        Ok(PacedRun { run: self.run, named: self.named, begun, fresh })
    }
}

impl PacedRun {
    /// The run.
    pub const fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Ends the run now and completes the folder. `scenario` is the one that it states.
    ///
    /// # Errors
    /// The folder cannot be written, or packets were lost, which is a defect.
    pub fn finish(
        mut self,
        scenario: &Scenario,
        emulation: EmulationSummary,
    ) -> Result<(RunFolder, Summary), RunsError> {
        self.run.end_now();
        let info = self.run.info().clone();
        let (outcome, observer) = self.run.finish()?;
        let Some(recording) = Recording::of(observer) else {
            return Err(RunsError::Defect("the run lost its recording".to_owned()));
        };
        let (mut recorder, _) = recording.into_parts();
        for row in &outcome.distributions {
            recorder.distribution(*row);
        }
        recorder.set_info(&info);
        let summary = Summary { emulation: Some(emulation), ..outcome.summary };
        let duration = airbound_units::Span::from_secs_f64(summary.duration_s);
        let scheme = self.named.scheme.in_full();
        let resolved = Scenario { scheme, duration, ..scenario.clone() }.to_toml();
        let performance = performance(outcome.events, duration, self.begun.elapsed());
        let folder = recorder.finish(&resolved, &summary, &performance)?;
        self.fresh.keep();
        Ok((folder, summary))
    }
}

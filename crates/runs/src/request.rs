//! One run: built, simulated, and left in a folder.

use std::path::Path;
use std::time::Instant;

use airbound_record::{Encoding, Existing, Recorder, RunFolder, Summary, Tables};
use airbound_scenario::Scenario;
use airbound_sim::Run;

use crate::error::RunsError;
use crate::experiment;
use crate::folder::{Fresh, refuse_comparison};
use crate::opened::{Named, Opened};
use crate::pcap::Capture;
use crate::performance::performance;
use crate::recording::Recording;
use crate::watch::{Meter, Watch};

/// One run to be made.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The scheme.
    pub named: Named,
    /// The seed, from which all randomness comes.
    pub seed: u64,
    /// The tables that are left.
    pub tables: Tables,
    /// Thread that encodes them.
    pub encoding: Encoding,
}

impl RunRequest {
    /// Simulates, and leaves the run in `folder`; its air in `capture`, where `-` is standard output.
    ///
    /// # Errors
    /// The scheme is wrong or there is no network whose air can be captured, before anything is written; the system refuses
    /// something, or [`RunsError::Interrupted`] once `watch` says so, and then nothing of the run remains.
    pub fn run(
        &self,
        opened: &Opened,
        folder: &Path,
        capture: Option<&Path>,
        watch: &dyn Watch,
    ) -> Result<(RunFolder, Summary), RunsError> {
        self.metered(opened, None, folder, capture, &Meter::new(watch, opened.length()))
    }

    /// The same, of a run that may have been built already.
    pub(crate) fn metered(
        &self,
        opened: &Opened,
        built: Option<Run>,
        folder: &Path,
        capture: Option<&Path>,
        meter: &Meter<'_>,
    ) -> Result<(RunFolder, Summary), RunsError> {
        let begun = Instant::now();
        let scenario = &opened.scenario;
        if capture.is_some() && scenario.stations.is_empty() {
            return Err(RunsError::CaptureOfPipes);
        }
        // Before the run, so that it is dropped after the files that the run's recording removes.
        let fresh = Fresh::note(folder);
        let mut run = built.map_or_else(|| opened.build(&self.named, self.seed), Ok)?;
        refuse_comparison(folder)?;
        let folder = RunFolder::create(folder, Existing::Replace)?;
        let recorder = Recorder::create(folder, run.info(), self.tables_of(scenario), self.encoding)?;
        let writer = capture.map(|file| Capture::create(file, run.info(), scenario)).transpose()?;
        run.observe(Box::new(Recording::new(recorder, writer)));
        meter.simulate(&mut run)?;
        let (outcome, recording) = experiment::end::<Recording>(run)?;
        let (mut recorder, writer) = recording.into_parts();
        for row in &outcome.distributions {
            recorder.distribution(*row);
        }
        let scheme = self.named.scheme.in_full();
        let resolved = Scenario { scheme, seed: self.seed, ..scenario.clone() }.to_toml();
        let performance = performance(outcome.events, opened.length(), begun.elapsed());
        let folder = recorder.finish(&resolved, &outcome.summary, &performance)?;
        if let (Some(writer), Some(file)) = (writer, capture) {
            let _ = writer.finish(file)?;
        }
        fresh.keep();
        Ok((folder, outcome.summary))
    }

    /// Without relays there are no hops to list, without TCP and real-time video no senders, and the frames of a session are no
    /// flow's.
    fn tables_of(&self, scenario: &Scenario) -> Tables {
        let flows = scenario.session.is_none() || !scenario.flows.is_empty();
        Tables {
            hops: self.tables.hops && scenario.has_relays(),
            senders: self.tables.senders && scenario.flows.iter().any(|flow| flow.traffic.has_sender()),
            frames: self.tables.frames && flows,
            ..self.tables
        }
    }
}

/// The thread that encodes tables of so many runs on so many threads: one of its own while there are threads to spare.
#[must_use]
pub const fn encoding(runs: usize, threads: usize) -> Encoding {
    if runs < threads { Encoding::Thread } else { Encoding::Inline }
}

//! One run whose pace the caller keeps, left in a folder like any other.

use std::path::Path;
use std::time::Instant;

use airbound_record::{EmulationSummary, Encoding, Existing, Jain, Recorder, RunFolder, Summary, Tables};
use airbound_scenario::Scenario;
use airbound_sim::Run;

use crate::error::RunsError;
use crate::experiment;
use crate::folder::{Fresh, refuse_comparison};
use crate::opened::{Named, Opened};
use crate::pcap::{Capture, Contents, PreparedCapture};
use crate::performance::performance;
use crate::recording::Recording;

/// A run that is built and not yet recorded.
pub struct BuiltRun {
    run: Run,
    named: Named,
}

/// The air of a run as a capture with the bytes of a caller's packets.
pub struct AirCapture<'a> {
    /// Its file.
    pub prepared: PreparedCapture,
    /// The bytes.
    pub contents: Contents,
    /// The scenario of the run.
    pub scenario: &'a Scenario,
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
    pub fn record(
        mut self,
        folder: &Path,
        tables: Tables,
        capture: Option<AirCapture<'_>>,
    ) -> Result<PacedRun, RunsError> {
        let begun = Instant::now();
        let fresh = Fresh::note(folder);
        refuse_comparison(folder)?;
        let folder = RunFolder::create(folder, Existing::Replace)?;
        let recorder = Recorder::create(folder, self.run.info(), tables, Encoding::Steady)?;
        let info = self.run.info();
        let capture = capture.map(|AirCapture { prepared, contents, scenario }| {
            Capture::with_contents(prepared, contents, info, scenario)
        });
        self.run.observe(Box::new(Recording::new(recorder, capture.transpose()?)));
        Ok(PacedRun { run: self.run, named: self.named, begun, fresh })
    }
}

impl PacedRun {
    /// The run.
    pub const fn run(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Ends the run now and completes the folder, and the capture; the number is that of frames which the disk could not take in time.
    /// `scenario` is the one that it states.
    ///
    /// # Errors
    /// The folder cannot be written, or packets were lost, which is a defect.
    pub fn finish(
        mut self,
        scenario: &Scenario,
        emulation: EmulationSummary,
    ) -> Result<(RunFolder, Summary, u64), RunsError> {
        self.run.end_now();
        let info = self.run.info().clone();
        let (outcome, recording) = experiment::end::<Recording>(self.run)?;
        let (mut recorder, capture) = recording.into_parts();
        let left_out = capture.map_or(Ok(0), |capture| capture.finish(Path::new("the capture")))?;
        for row in &outcome.distributions {
            recorder.distribution(*row);
        }
        recorder.set_info(&info);
        let summary = over_their_time(Summary { emulation: Some(emulation), ..outcome.summary });
        let duration = airbound_units::Span::from_secs_f64(summary.duration_s);
        let scheme = self.named.scheme.in_full();
        let resolved = Scenario { scheme, duration, ..scenario.clone() }.to_toml();
        let performance = performance(outcome.events, duration, self.begun.elapsed());
        let folder = recorder.finish(&resolved, &summary, &performance)?;
        self.fresh.keep();
        Ok((folder, summary, left_out))
    }
}

/// The summary with the rates of applications over the time in which each was active: runs of one program differ in length, and a program
/// need not begin or end with its run.
fn over_their_time(mut summary: Summary) -> Summary {
    let Some(emulation) = &summary.emulation else { return summary };
    for application in &emulation.flows {
        if let Some(flow) = summary.flows.iter_mut().find(|flow| flow.name == application.name) {
            (flow.offered_mbps, flow.goodput_mbps) = application.rates();
        }
    }
    let goodputs: Vec<f64> = summary.flows.iter().map(|flow| flow.goodput_mbps).collect();
    summary.jain.goodput = Jain::index(&goodputs);
    summary
}

//! From a scenario to a finished run on disk.

use std::path::Path;
use std::time::Instant;

use airbound_record::{Encoding, Existing, Recorder, RunFolder, Summary, Tables};
use airbound_scenario::{Overrides, Scenario, Scheme};
use airbound_sim::pcap::Capture;
use airbound_sim::{NoObserver, Plugins, Recording, Run};
use airbound_units::Span;

use crate::args::{Changes, Source};
use crate::error::CliError;
use crate::performance::performance;

/// A scenario that was asked for.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Name in results: the name of a shipped one, or the file's without its ending.
    pub name: String,
    /// The scenario, resolved.
    pub scenario: Scenario,
}

/// A scheme under the name by which it was asked for.
#[derive(Debug, Clone)]
pub struct Named {
    /// The name in tables, plots and folders.
    pub label: String,
    /// Scheme that the name stands for.
    pub scheme: Scheme,
    /// Plugins that fill its slots.
    pub plugins: Plugins,
}

/// One run to be made.
#[derive(Debug, Clone)]
pub struct RunRequest {
    /// The scheme.
    pub named: Named,
    /// From where all randomness comes.
    pub seed: u64,
    /// The tables that are left.
    pub tables: Tables,
    /// Thread that encodes them.
    pub encoding: Encoding,
}

/// Watches runs, and may end them.
pub trait Watch: Sync {
    /// So much more has been simulated.
    fn advance(&self, span: Span);
    /// Whether the runs are to end now, unfinished.
    fn is_stopped(&self) -> bool;
}

/// Into how many pieces a run is cut, at least, for those who watch.
const PIECES: u64 = 200;
/// The longest piece: who stops a long run does not wait for its next percent.
const LONGEST_PIECE: Span = Span::from_millis(100);

/// Reads a scenario with its changes.
pub(crate) fn open(source: &Source) -> Result<Opened, CliError> {
    Opened::by_name(&source.scenario, &overrides(&source.changes)?)
}

fn overrides(changes: &Changes) -> Result<Overrides, CliError> {
    let mut overrides = Overrides::none();
    for set in &changes.sets {
        overrides.set(set)?;
    }
    if let Some(trace) = &changes.trace {
        overrides.trace(trace);
    }
    if let Some(seed) = changes.seed {
        overrides.set(&format!("seed={seed}"))?;
    }
    Ok(overrides)
}

impl Opened {
    /// Reads a file, or a shipped scenario.
    ///
    /// # Errors
    /// There is neither, or its content or an override is wrong.
    pub fn by_name(name: &str, overrides: &Overrides) -> Result<Self, CliError> {
        let scenario = Scenario::open(name, overrides)?;
        let stem = Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Ok(Self { name: stem.unwrap_or_else(|| name.to_owned()), scenario })
    }

    /// The scheme that was asked for, or the scenario's own under the name of its queue, or of its session's policy.
    ///
    /// # Errors
    /// The name stands for nothing.
    pub fn scheme(&self, asked: Option<&str>) -> Result<Named, CliError> {
        let own = &self.scenario.scheme;
        let plugins = Plugins::default();
        Ok(match asked {
            Some(name) => Named { label: name.to_owned(), scheme: own.with_name(name)?, plugins },
            None => {
                let decides = own.session.as_ref().unwrap_or(&own.queue);
                Named { label: decides.name().to_owned(), scheme: own.clone(), plugins }
            }
        })
    }

    /// Refuses a scenario with a session or with several networks, for a command that knows one network only.
    pub(crate) fn refuse_all_but_a_network(&self) -> Result<(), CliError> {
        let what = if self.scenario.session.is_some() {
            "is a session"
        } else if !self.scenario.networks.is_empty() {
            "has [[network]] entries"
        } else {
            return Ok(());
        };
        let name = &self.name;
        let problem =
            format!("{name} {what}, which airbound run and airbound compare can simulate and nothing else");
        Err(CliError::Input(problem))
    }

    /// Returns the time that a run simulates, warm-up included.
    #[must_use]
    pub fn length(&self) -> Span {
        self.scenario.end()
    }

    /// The flow that the headline is about; of a group its first.
    #[must_use]
    pub fn focus(&self) -> Option<String> {
        self.scenario.focus_name()
    }
}

/// Advances to the end, unless somebody stops it.
fn to_the_end(run: &mut Run, length: Span, watch: &dyn Watch) -> Result<(), CliError> {
    let piece = Span::from_nanos((length.as_nanos() / PIECES).max(1)).min(LONGEST_PIECE);
    let mut before = run.now();
    loop {
        let more = run.advance(piece);
        watch.advance(run.now() - before);
        before = run.now();
        if !more {
            return Ok(());
        }
        if watch.is_stopped() {
            return Err(CliError::Interrupted);
        }
    }
}

/// Says what is wrong with a run before anything is written.
///
/// # Errors
/// The parameters of the scheme are wrong, or there is not one network whose air can be `captured`.
pub fn check(opened: &Opened, named: &Named, captured: bool) -> Result<(), CliError> {
    let Opened { name, scenario } = opened;
    let Named { scheme, plugins, .. } = named;
    let seed = scenario.seed;
    if captured && !scenario.networks.is_empty() {
        let problem = "--pcap records one network, and this scenario has [[network]] entries; leave them out, or --pcap";
        return Err(CliError::Input(problem.to_owned()));
    }
    if captured && scenario.stations.is_empty() {
        let problem = "--pcap records the air, and no client of this session is on it; leave out --pcap";
        return Err(CliError::Input(problem.to_owned()));
    }
    Run::observed(name, scenario, scheme, seed, plugins, Box::new(NoObserver))?;
    Ok(())
}

impl RunRequest {
    /// Simulates, and leaves the run in `folder`; its air in `capture`.
    ///
    /// # Errors
    /// The scheme is wrong, the system refuses something, or [`CliError::Interrupted`] once `watch` says so; then nothing of
    /// the run remains.
    pub fn run(
        &self,
        opened: &Opened,
        folder: &Path,
        capture: Option<&Path>,
        watch: &dyn Watch,
    ) -> Result<(RunFolder, Summary), CliError> {
        let begun = Instant::now();
        let Opened { name, scenario } = opened;
        check(opened, &self.named, capture.is_some())?;
        let Named { scheme, plugins, .. } = &self.named;
        // The names that the tables carry come from the run, which is told of its tables when it is made.
        let info =
            Run::observed(name, scenario, scheme, self.seed, plugins, Box::new(NoObserver))?.info().clone();
        // Without relays there are no hops to list; a session is no flow of frames, and its flows have no windows.
        let flows = scenario.session.is_none();
        let tables = Tables {
            hops: self.tables.hops && scenario.has_relays(),
            frames: self.tables.frames && flows,
            series: self.tables.series && flows,
            ..self.tables
        };
        let folder = RunFolder::create(folder, Existing::Replace)?;
        let recorder = Recorder::create(folder, &info, tables, self.encoding)?;
        let capture = capture.map(|file| Capture::create(file, &info, &scenario.air)).transpose()?;
        let recording = Box::new(Recording::new(recorder, capture));
        let mut run = Run::observed(name, scenario, scheme, self.seed, plugins, recording)?;
        to_the_end(&mut run, opened.length(), watch)?;
        let (outcome, observer) = run.finish()?;
        let Some(recording) = Recording::of(observer) else {
            return Err(CliError::Defect("the run lost its recording".to_owned()));
        };
        let (mut recorder, capture) = recording.into_parts();
        for row in &outcome.distributions {
            recorder.distribution(*row);
        }
        let scheme = self.named.scheme.in_full();
        let resolved = Scenario { scheme, seed: self.seed, ..scenario.clone() }.to_toml();
        let performance = performance(outcome.events, opened.length(), begun.elapsed());
        let folder = recorder.finish(&resolved, &outcome.summary, &performance)?;
        if let Some(capture) = capture {
            capture.finish()?;
        }
        Ok((folder, outcome.summary))
    }
}

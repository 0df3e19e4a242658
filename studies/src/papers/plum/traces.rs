//! The bandwidth traces behind the clients: the measured ones where they lie, small synthetic ones where they do not.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use airbound_air::trace::{Format, Trace};
use airbound_random::Key;
use airbound_scenario::load_trace;
use airbound_units::{Instant, Span};

/// Where the measured traces lie beside the repository.
const BESIDE: &str = "../shared/traces";

/// A folder that holds no traces, or none that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{folder}: {reason}; a folder of traces holds hairpin-wifi and restaurant-wifi, each with files *.log of lines \"time/s bandwidth/(Mbit/s)\""
)]
pub struct TraceSetError {
    /// The folder.
    pub folder: String,
    /// The reason why it cannot be used.
    pub reason: String,
}

/// A set of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Set {
    /// Wi-Fi of players. The paper's set is not public; Hairpin's Wi-Fi set stands in for it, times 1.5 as in the paper's runs.
    Game,
    /// A crowded restaurant's Wi-Fi.
    Restaurant,
}

impl Set {
    pub(super) const ALL: [Self; 2] = [Self::Game, Self::Restaurant];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Game => "Tr-Game",
            Self::Restaurant => "Tr-Restaurant",
        }
    }

    /// Folder and factor on every bandwidth.
    const fn folder(self) -> (&'static str, f64) {
        match self {
            Self::Game => ("hairpin-wifi", 1.5),
            Self::Restaurant => ("restaurant-wifi", 1.0),
        }
    }

    /// Returns the parameters of the synthetic traces of this set: mean bandwidth of each in Mb/s, standard deviation of its natural
    /// logarithm, and time constant of its memory in s.
    const fn synthetic(self) -> ([f64; 8], f64, f64) {
        match self {
            Self::Game => ([6.0, 9.0, 12.0, 14.0, 17.0, 20.0, 24.0, 30.0], 0.35, 4.0),
            Self::Restaurant => ([8.0, 15.0, 17.0, 20.0, 22.0, 24.0, 25.0, 26.0], 0.55, 2.0),
        }
    }
}

/// Both sets, read.
#[derive(Debug, Clone)]
pub struct TraceSets {
    game: Vec<Arc<Trace>>,
    restaurant: Vec<Arc<Trace>>,
    /// Where they come from, in words.
    origin: String,
}

impl TraceSets {
    /// Reads the measured traces in `folder` or, without one, beside the repository; where there are none, makes synthetic ones.
    ///
    /// # Errors
    /// `folder` was named and holds no such traces, or a trace cannot be read.
    pub fn load(folder: Option<&Path>) -> Result<Self, TraceSetError> {
        let beside = PathBuf::from(BESIDE);
        match folder {
            Some(folder) => Self::read(folder),
            None if Set::ALL.iter().all(|set| beside.join(set.folder().0).is_dir()) => Self::read(&beside),
            None => Ok(Self::synthetic()),
        }
    }

    fn read(folder: &Path) -> Result<Self, TraceSetError> {
        let set = |set: Set| {
            let (name, scale) = set.folder();
            let folder = folder.join(name);
            let wrong = |reason: String| TraceSetError { folder: folder.display().to_string(), reason };
            let entries = std::fs::read_dir(&folder).map_err(|error| wrong(error.to_string()))?;
            let mut files: Vec<PathBuf> = entries
                .filter_map(Result::ok)
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
                .collect();
            files.sort();
            if files.is_empty() {
                return Err(wrong("it holds no trace (*.log)".to_owned()));
            }
            files
                .iter()
                .map(|file| {
                    let trace = load_trace(file, Format::Bandwidth, scale, true);
                    trace.map(Arc::new).map_err(|error| wrong(error.to_string()))
                })
                .collect::<Result<Vec<_>, _>>()
        };
        let origin = "measured traces (hairpin-wifi, restaurant-wifi)".to_owned();
        Ok(Self { game: set(Set::Game)?, restaurant: set(Set::Restaurant)?, origin })
    }

    /// Log-normal bandwidths that forget exponentially (a first-order autoregression in steps of 200 ms), made here.
    pub(super) fn synthetic() -> Self {
        let set = |set: Set| {
            let (means, sigma, memory) = set.synthetic();
            let made = means.iter().enumerate().map(|(index, mean)| {
                let key = Key::of_seed(0x91).with(set as u64).with(index as u64);
                Arc::new(synthetic_trace(key, *mean, sigma, memory))
            });
            made.collect::<Vec<_>>()
        };
        let origin = "synthetic traces (the measured ones are not there)".to_owned();
        Self { game: set(Set::Game), restaurant: set(Set::Restaurant), origin }
    }

    /// Where they come from, in words.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// The trace that a client picks, at random but the same for every scheme.
    pub(super) fn pick(&self, set: Set, seed: u64, client: usize) -> Arc<Trace> {
        let all = match set {
            Set::Game => &self.game,
            Set::Restaurant => &self.restaurant,
        };
        let draw = Key::of_seed(seed).with(7 + set as u64).with(client as u64).bits();
        Arc::clone(&all[(draw % all.len() as u64) as usize])
    }

    /// The capacities of all clients' links in each second of a session, in Mb/s.
    pub(super) fn seconds(&self, set: Set, clients: usize, seed: u64, length: u32) -> Vec<Vec<f64>> {
        let traces: Vec<Arc<Trace>> = (0..clients).map(|client| self.pick(set, seed, client)).collect();
        let all = |second| traces.iter().map(|trace| second_of(trace, second)).collect();
        (0..length).map(all).collect()
    }
}

fn synthetic_trace(key: Key, mean: f64, sigma: f64, memory: f64) -> Trace {
    const STEP: f64 = 0.2;
    let keep = libm::exp(-STEP / memory);
    let fresh = libm::sqrt(1.0 - keep * keep);
    let mut level = key.normal();
    let mut text = String::new();
    for step in 0..600_u32 {
        level = keep * level + fresh * key.with(u64::from(step)).normal();
        let bandwidth = mean * libm::exp(sigma * level - sigma * sigma / 2.0);
        let _ = writeln!(text, "{:.1} {bandwidth:.3}", f64::from(step) * STEP);
    }
    // The text is made here, and is one.
    Trace::parse(&text, "synthetic", Format::Bandwidth, 1.0, true)
        .unwrap_or_else(|error| unreachable!("{error}"))
}

/// Mean bandwidth of a trace in the second that begins at `second`, in Mb/s.
pub(super) fn second_of(trace: &Trace, second: u32) -> f64 {
    const LOOKS: u64 = 50;
    let Trace::Bandwidth(trace) = trace else { return 0.0 };
    let begin = Instant::ZERO + Span::from_secs(u64::from(second));
    let mut near = 0;
    let looks = (0..LOOKS).map(|look| begin + Span::from_millis(1000 / LOOKS) * look);
    looks.map(|at| trace.at_near(at, &mut near).as_mbps_f64()).sum::<f64>() / LOOKS as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synthetic_traces_have_the_means_that_they_are_made_for() {
        let sets = TraceSets::synthetic();
        for (set, traces) in [(Set::Game, &sets.game), (Set::Restaurant, &sets.restaurant)] {
            let (means, ..) = set.synthetic();
            for (trace, mean) in traces.iter().zip(means) {
                let measured = (0..120).map(|second| second_of(trace, second)).sum::<f64>() / 120.0;
                assert!((0.6..1.6).contains(&(measured / mean)), "{measured} of {mean}");
            }
        }
    }

    #[test]
    fn a_folder_without_traces_is_refused_with_its_name() {
        let error = TraceSets::load(Some(Path::new("/nowhere"))).expect_err("no such folder").to_string();
        assert!(error.contains("/nowhere"), "{error}");
    }
}

//! A scenario and schemes, by the names that were asked for.

use std::path::Path;

use airbound_scenario::{Overrides, Place, Scenario, Scheme};
use airbound_sim::{Plugin, Plugins, Run};
use airbound_units::Span;

use crate::error::RunsError;

/// A scenario that was asked for.
#[derive(Debug, Clone)]
pub struct Opened {
    /// Name in results: the name of a shipped one, or the file's without its ending.
    pub name: String,
    /// The scenario, resolved.
    pub scenario: Scenario,
}

impl Opened {
    /// Reads a file, or a shipped scenario.
    ///
    /// # Errors
    /// There is neither, or its content or an override is wrong.
    pub fn by_name(name: &str, overrides: &Overrides) -> Result<Self, RunsError> {
        Ok(Self::of(name, Scenario::open(name, overrides)?))
    }

    /// A scenario that was read from `file`, under the file's name without its ending.
    #[must_use]
    pub fn of(file: &str, scenario: Scenario) -> Self {
        let stem = Path::new(file).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        Self { name: stem.unwrap_or_else(|| file.to_owned()), scenario }
    }

    /// The scheme that was asked for, or the scenario's own under the name of its queue, or of its session's policy.
    ///
    /// # Errors
    /// The name stands for nothing.
    pub fn scheme(&self, asked: Option<&str>) -> Result<Named, RunsError> {
        match asked {
            Some(name) => self.named(name, "--scheme"),
            None => {
                let own = &self.scenario.scheme;
                let decides = own.session.as_ref().unwrap_or(&own.queue);
                let label = decides.name().to_owned();
                Ok(Named { label, scheme: own.clone(), plugins: Plugins::default() })
            }
        }
    }

    /// The scheme of this name, which `option` of the command line gives.
    fn named(&self, name: &str, option: &str) -> Result<Named, RunsError> {
        let scheme = self.scenario.scheme.with_name(name);
        let scheme = scheme.map_err(|error| error.of_scheme_at(Place::Option(option.to_owned())))?;
        Ok(Named { label: name.to_owned(), scheme, plugins: Plugins::default() })
    }

    /// The schemes of these names.
    ///
    /// # Errors
    /// A name stands for nothing, or is there twice.
    pub fn schemes(&self, names: &[impl AsRef<str>]) -> Result<Vec<Named>, RunsError> {
        let mut schemes: Vec<Named> = Vec::new();
        for name in names.iter().map(|name| name.as_ref().trim()) {
            if schemes.iter().any(|known| known.label == name) {
                return Err(RunsError::SchemeTwice(name.to_owned()));
            }
            schemes.push(self.named(name, "--schemes")?);
        }
        Ok(schemes)
    }

    /// Returns the simulated time of a run, warm-up included.
    #[must_use]
    pub(crate) fn length(&self) -> Span {
        self.scenario.end()
    }

    /// The flow that the headline is about; of a group its first.
    #[must_use]
    pub fn focus(&self) -> Option<String> {
        self.scenario.focus_name()
    }

    /// The seeds of several runs, counted up from that of the scenario.
    ///
    /// # Errors
    /// They exceed the largest seed that a scenario can have.
    pub(crate) fn seeds(&self, count: u32) -> Result<std::ops::Range<u64>, RunsError> {
        let first = self.scenario.seed;
        counted_up(first, count).ok_or(RunsError::Seeds { first, count })
    }

    /// Builds a run, of which nothing is simulated yet.
    pub(crate) fn build(&self, named: &Named, seed: u64) -> Result<Run, RunsError> {
        Ok(Run::with_plugins(&self.name, &self.scenario, &named.scheme, seed, &named.plugins)?)
    }
}

/// So many seeds from `first` on; `None` if the last one exceeds those that a scenario can have.
pub(crate) fn counted_up(first: u64, count: u32) -> Option<std::ops::Range<u64>> {
    let end = first.checked_add(u64::from(count))?;
    (end <= 1 << 63).then_some(first..end)
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

impl Named {
    /// This scheme with a plugin in one slot, under the name of the plugin.
    ///
    /// # Errors
    /// The name is that of a part of this program, or has other characters than letters, digits, `-` and `_`.
    pub fn with(mut self, name: &str, plugin: Plugin) -> Result<Self, RunsError> {
        self.scheme = self.scheme.with_custom(plugin.part(), name).map_err(RunsError::PluginName)?;
        self.plugins.add(plugin);
        Ok(Self { label: name.to_owned(), ..self })
    }

    /// Returns the label as a part of a file name.
    #[must_use]
    pub fn file_name(&self) -> String {
        self.label.chars().filter(|c| !c.is_whitespace()).collect()
    }
}

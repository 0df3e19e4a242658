//! The grid file: what is swept, over which values, how often, and what is looked at.
//!
//! `docs/use/sweep.md` is the reference of its keys.

use std::path::{Path, PathBuf};

use airbound_scenario::reading::{self, Document, Section, nearest, parse_document};
use airbound_scenario::{Overrides, Scenario, ScenarioError};

use super::axis::{Axis, Parameter};
use super::columns::is_own_column;
use super::metric::{METRICS, Metric, flow_names};
use super::number::Setting;
use super::rule::{Percent, Rule};
use super::sample::Sample;
use super::shipped;
use crate::error::RunsError;
use crate::opened::counted_up;

/// Cells times schemes.
pub(crate) const MOST_POINTS: usize = 1_000_000;
/// Seeds of a cell.
const MOST_SEEDS: u32 = 10_000;
/// Seeds unless the grid says otherwise: with a rule to stop, and without.
const SEEDS: [u32; 2] = [64, 3];
/// Metrics of the report unless the grid says otherwise.
const DEFAULT_METRICS: [&str; 3] = ["latency_p95_ms", "goodput_mbps", "loss_rate"];
const MOST_METRICS: usize = 12;

const KEYS: &[&str] = &[
    "title",
    "scenario",
    "schemes",
    "seeds",
    "flow",
    "metrics",
    "until",
    "confidence",
    "round",
    "set",
    "axes",
    "sample",
];

/// Changes of a grid by the command line.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Changes {
    /// Stop a cell once its interval is this narrow.
    pub until: Option<Percent>,
    /// At most so many seeds.
    pub seeds: Option<u32>,
}

/// A sweep that was asked for; its cells have not been looked at.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// Its name: that of the file without its ending.
    pub name: String,
    /// One line that says what it is; possibly empty.
    pub title: String,
    /// The scenario, as the grid names it.
    pub scenario: String,
    /// The names of the schemes.
    pub schemes: Vec<String>,
    /// The seeds; a rule to stop may use fewer.
    pub seeds: Vec<u64>,
    /// The flow, or group of flows, that the metrics are of.
    pub flow: String,
    /// The metrics of the report, by their numbers in `METRICS`; the first decides when a cell is done.
    pub(crate) metrics: Vec<usize>,
    /// When a cell is done.
    pub rule: Rule,
    /// The cells.
    pub(crate) design: Design,
    /// The grid as it was written.
    pub text: String,
    /// Settings that are the same in all cells.
    fixed: Vec<(Parameter, Setting)>,
    /// The folder of the grid file: relative file names begin there.
    folder: PathBuf,
}

/// Which settings the cells have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Design {
    /// Every combination; the last axis changes fastest.
    Axes(Vec<Axis>),
    /// Random points.
    Sample(Sample),
}

impl Design {
    /// Returns the number of cells.
    #[must_use]
    pub(crate) fn cells(&self) -> usize {
        match self {
            Self::Axes(axes) => axes.iter().map(|axis| axis.values.len()).product(),
            Self::Sample(sample) => sample.count,
        }
    }

    /// Returns the parameters that differ between cells.
    #[must_use]
    pub(crate) fn parameters(&self) -> Vec<&Parameter> {
        match self {
            Self::Axes(axes) => axes.iter().map(|axis| &axis.parameter).collect(),
            Self::Sample(sample) => sample.drawn.iter().map(|drawn| &drawn.parameter).collect(),
        }
    }

    /// The place of a cell on each axis.
    pub(crate) fn places(axes: &[Axis], cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut places: Vec<usize> = axes
            .iter()
            .rev()
            .map(|axis| {
                let place = rest % axis.values.len();
                rest /= axis.values.len();
                place
            })
            .collect();
        places.reverse();
        places
    }

    /// The values of a cell, in the order of the parameters.
    pub(crate) fn settings(&self, cell: usize) -> Vec<Setting> {
        match self {
            Self::Axes(axes) => {
                let places = Self::places(axes, cell);
                axes.iter().zip(places).map(|(axis, place)| axis.values[place].clone()).collect()
            }
            Self::Sample(sample) => sample.settings(cell),
        }
    }
}

impl Grid {
    /// Reads a grid by what was typed: a file if there is one of that name, one that comes with Airbound otherwise.
    ///
    /// # Errors
    /// There is neither, or its content is wrong.
    pub fn open(name: &str, changes: &Changes) -> Result<Self, ScenarioError> {
        let file = Path::new(name);
        if name.contains(['/', '\\']) || name.ends_with(".toml") || file.is_file() {
            return Self::load(file, changes);
        }
        let text = shipped::find(name)?;
        Self::parse(text, name, Path::new(""), changes)
    }

    /// Reads a grid file.
    ///
    /// # Errors
    /// The file cannot be read, or its content is wrong.
    pub(crate) fn load(file: &Path, changes: &Changes) -> Result<Self, ScenarioError> {
        let name = file.display().to_string();
        let text = reading::text_of(file)?;
        Self::parse(&text, &name, file.parent().unwrap_or(Path::new("")), changes)
    }

    /// Reads the text of a grid; `file` is its name in messages, and relative file names in it begin at `folder`.
    ///
    /// # Errors
    /// The text is wrong.
    pub fn parse(text: &str, file: &str, folder: &Path, changes: &Changes) -> Result<Self, ScenarioError> {
        reading::bound(text.len() as u64, file)?;
        let root = parse_document(text, file)?;
        let document = Document { file, folder: Some(folder), options: &[], bases: &[] };
        let top = Section::top(&document, &root);
        top.allow("a grid", &[KEYS])?;
        let fixed = fixed(&top.table("set")?)?;
        let design = read_design(&top)?;
        refuse_twice(&top, &design, &fixed)?;
        let scenario =
            top.required_text("scenario", "name a scenario file, or one that comes with airbound")?;
        let mut grid = Self {
            name: Path::new(file)
                .file_stem()
                .map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned()),
            title: top.text("title")?.unwrap_or_default().chars().take(200).collect(),
            scenario: scenario.to_owned(),
            schemes: Vec::new(),
            seeds: Vec::new(),
            flow: String::new(),
            metrics: read_metrics(&top)?,
            rule: Rule::read(&top, changes.until)?,
            design,
            text: text.to_owned(),
            fixed,
            folder: folder.to_owned(),
        };
        // What the grid leaves open is that of the scenario, as it is in the first cell.
        let first = grid.scenario_of(0).map_err(|error| at_the_grid(&top, error))?;
        if first.session.is_some() && top.texts("metrics")?.is_none() {
            grid.metrics.extend(Metric::find("session_utility"));
        }
        let schemes = read_schemes(&top, &first)?;
        if grid.design.cells().saturating_mul(schemes.len()) > MOST_POINTS {
            let (cells, schemes) = (grid.design.cells(), schemes.len());
            return Err(top.wrong(
                "schemes",
                format!("are {schemes}, and with {cells} cells more than {MOST_POINTS} in all"),
            ));
        }
        let seeds = read_seeds(&top, changes, &grid.rule, first.seed)?;
        let flow = match top.text("flow")? {
            Some(name) => {
                check_flow(&top, name, &first)?;
                name.to_owned()
            }
            None => first.focus.clone(),
        };
        Ok(Self { schemes, seeds, flow, ..grid })
    }

    /// The scenario of a cell, before a scheme is chosen.
    pub(crate) fn scenario_of(&self, cell: usize) -> Result<Scenario, ScenarioError> {
        let mut overrides = Overrides::none();
        for (parameter, setting) in &self.fixed {
            parameter.apply(setting, &mut overrides, &self.folder);
        }
        let settings = self.design.settings(cell);
        for (parameter, setting) in self.design.parameters().into_iter().zip(&settings) {
            parameter.apply(setting, &mut overrides, &self.folder);
        }
        // A file is looked for beside the grid; a bare name is that of a shipped scenario unless such a file is there.
        let beside = self.folder.join(&self.scenario);
        let is_file = self.scenario.contains(['/', '\\']) || self.scenario.ends_with(".toml");
        if is_file || beside.is_file() {
            Scenario::load(&beside, &overrides)
        } else {
            airbound_scenario::find_shipped(&self.scenario)?.load(&overrides)
        }
    }

    /// Returns the name of the scenario in results.
    pub(crate) fn scenario_name(&self) -> String {
        let stem = Path::new(&self.scenario).file_stem();
        stem.map_or_else(|| self.scenario.clone(), |stem| stem.to_string_lossy().into_owned())
    }

    /// Returns the number of cells: of the settings that are combined with every scheme.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.design.cells()
    }

    /// The settings of a cell in words.
    #[must_use]
    pub fn describe(&self, cell: usize) -> String {
        let settings = self.design.settings(cell);
        let parts = self.design.parameters().into_iter().zip(settings);
        parts
            .map(|(parameter, setting)| format!("{} = {}", parameter.name, setting.shown))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The metric that decides when a cell is done.
    pub(crate) fn deciding(&self) -> usize {
        self.metrics[0]
    }
}

/// The error for a scenario that is not there, at the line of the grid that names it.
fn at_the_grid(top: &Section<'_>, error: ScenarioError) -> ScenarioError {
    match error {
        ScenarioError::Read { file, reason } => {
            top.wrong("scenario", format!("names {file}, which cannot be read: {reason}"))
        }
        ScenarioError::NotShipped { name, hint } => top.wrong(
            "scenario",
            format!("names \"{name}\", which is neither shipped nor a file beside the grid; {hint}"),
        ),
        other => other,
    }
}

/// Refuses a flow that the first cell does not have.
fn check_flow(top: &Section<'_>, name: &str, first: &Scenario) -> Result<(), ScenarioError> {
    let known = flow_names(first);
    if known.iter().any(|flow| flow == name) {
        return Ok(());
    }
    let meant = nearest(name, known.iter().map(String::as_str));
    let meant = meant.map_or(String::new(), |near| format!("did you mean {near}? "));
    let known: Vec<&str> = known.iter().take(20).map(String::as_str).collect();
    let name = airbound_scenario::reading::shortened(name);
    Err(top
        .wrong("flow", format!("is \"{name}\", which is not there; {meant}flows are {}", known.join(", "))))
}

fn read_design(top: &Section<'_>) -> Result<Design, ScenarioError> {
    match (top.has("axes"), top.has("sample")) {
        (true, true) => Err(top.wrong("sample", "is given besides [axes]; write one of the two")),
        (false, false) => Err(top.missing(
            "axes",
            "write [axes] with at least one key of the scenario, such as \"flow.vr.rate\" = [\"20 Mbit/s\", \"40 Mbit/s\"], or [sample]",
        )),
        (true, false) => {
            let axes = Axis::read_all(&top.table("axes")?)?;
            if axes.is_empty() {
                return Err(top.wrong("axes", "is empty; name at least one key of the scenario"));
            }
            let cells = axes.iter().try_fold(1_usize, |cells, axis| cells.checked_mul(axis.values.len()));
            match cells.filter(|cells| *cells <= MOST_POINTS) {
                Some(_) => Ok(Design::Axes(axes)),
                None => Err(top.wrong("axes", format!("make too many cells; allowed are {MOST_POINTS}"))),
            }
        }
        (false, true) => Sample::read(&top.table("sample")?, MOST_POINTS).map(Design::Sample),
    }
}

/// Reads the settings in `[set]`, whose keys may be written with dots or in quotes.
fn fixed(section: &Section<'_>) -> Result<Vec<(Parameter, Setting)>, ScenarioError> {
    fn collect(
        section: &Section<'_>,
        prefix: &str,
        found: &mut Vec<(Parameter, Setting)>,
    ) -> Result<(), ScenarioError> {
        use airbound_scenario::reading::Value;
        for (key, node) in section.entries() {
            let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            // A table changes the keys within it, whether it has a heading, a dotted key or braces.
            if let Value::Table(_) = node.value {
                collect(&section.table(key)?, &name, found)?;
                continue;
            }
            let place = section.place_of(key).to_string();
            found.push((Parameter::read(&name, place, None)?, Setting::of_node(node)));
        }
        Ok(())
    }
    let mut found = Vec::new();
    collect(section, "", &mut found)?;
    Ok(found)
}

/// A key may be set in one place only, and the seed in none: seeds are what a cell is run with several of.
fn refuse_twice(
    top: &Section<'_>,
    design: &Design,
    fixed: &[(Parameter, Setting)],
) -> Result<(), ScenarioError> {
    let heading = if top.has("axes") { "axes" } else { "sample" };
    let parameters = design.parameters();
    let swept = || parameters.iter().flat_map(|parameter| &parameter.keys);
    for (number, key) in swept().enumerate() {
        if key == "seed" {
            return Err(top.wrong(heading, "names the seed; write seeds = 5 at the top for several"));
        }
        let twice = swept().take(number).any(|other| other == key)
            || fixed.iter().any(|(parameter, _)| parameter.keys.contains(key));
        if twice {
            return Err(top.wrong(heading, format!("sets {key}, which is set elsewhere in the grid, too")));
        }
    }
    for (number, parameter) in parameters.iter().enumerate() {
        let name = &parameter.name;
        if is_own_column(name) || parameters[..number].iter().any(|other| other.name == *name) {
            return Err(top.wrong(
                heading,
                format!("names {name}, which is another column of the results; write for example NAME = {{ keys = [\"{name}\"], … }}"),
            ));
        }
    }
    Ok(())
}

fn read_metrics(top: &Section<'_>) -> Result<Vec<usize>, ScenarioError> {
    let names = top.texts("metrics")?.unwrap_or_else(|| DEFAULT_METRICS.to_vec());
    if names.is_empty() || names.len() > MOST_METRICS {
        return Err(
            top.wrong("metrics", format!("has {} entries; allowed are 1 to {MOST_METRICS}", names.len()))
        );
    }
    let mut metrics = Vec::new();
    for name in names {
        let Some(metric) = Metric::find(name) else {
            let known = METRICS.iter().map(|metric| metric.name);
            let meant =
                nearest(name, known.clone()).map_or(String::new(), |near| format!("did you mean {near}? "));
            let known: Vec<&str> = known.collect();
            let name = airbound_scenario::reading::shortened(name);
            return Err(top.wrong(
                "metrics",
                format!("names \"{name}\", which is none; {meant}there are {}", known.join(", ")),
            ));
        };
        if metrics.contains(&metric) {
            return Err(top.wrong("metrics", format!("names {name} twice")));
        }
        metrics.push(metric);
    }
    Ok(metrics)
}

fn read_schemes(top: &Section<'_>, first: &Scenario) -> Result<Vec<String>, ScenarioError> {
    let Some(names) = top.texts("schemes")? else { return Ok(first.schemes.clone()) };
    if names.is_empty() {
        return Err(top.wrong("schemes", "is empty; name at least one, such as \"linux\""));
    }
    let mut schemes: Vec<String> = Vec::new();
    for name in names.into_iter().map(str::trim) {
        if schemes.iter().any(|known| known == name) {
            return Err(top.wrong("schemes", format!("names {name} twice")));
        }
        let refused = |error: ScenarioError| error.of_scheme_at(top.place_of("schemes"));
        first.scheme.with_name(name).map_err(refused)?;
        schemes.push(name.to_owned());
    }
    Ok(schemes)
}

/// A number of seeds, counted up from the scenario's, or a list of them.
fn read_seeds(
    top: &Section<'_>,
    changes: &Changes,
    rule: &Rule,
    first: u64,
) -> Result<Vec<u64>, ScenarioError> {
    use airbound_scenario::reading::Value;
    let counted = |count: u32| {
        let range = counted_up(first, count).ok_or(RunsError::Seeds { first, count });
        range.map(Vec::from_iter).map_err(|error| top.wrong("seeds", format!("cannot be counted: {error}")))
    };
    let [with_rule, without] = SEEDS;
    let default = if rule.until.is_some() { with_rule } else { without };
    let mut seeds: Vec<u64> = match top.get("seeds").map(|node| &node.value) {
        Some(Value::List(nodes)) => {
            let seed = |value: &Value| match value {
                Value::Integer(number) => u64::try_from(*number).ok().filter(|seed| *seed <= u64::MAX >> 1),
                _ => None,
            };
            let seeds: Option<Vec<u64>> = nodes.iter().map(|node| seed(&node.value)).collect();
            let seeds = seeds.filter(|seeds| !seeds.is_empty() && seeds.len() <= MOST_SEEDS as usize);
            seeds.ok_or_else(|| {
                top.wrong(
                    "seeds",
                    format!("is no list of 1 to {MOST_SEEDS} whole numbers from 0 to 2^63 - 1"),
                )
            })?
        }
        _ => counted(top.whole("seeds", default, 1..=MOST_SEEDS)?)?,
    };
    for (number, seed) in seeds.iter().enumerate() {
        if seeds[..number].contains(seed) {
            return Err(top.wrong("seeds", format!("has {seed} twice")));
        }
    }
    if let Some(count) = changes.seeds {
        if matches!(top.get("seeds").map(|node| &node.value), Some(Value::List(_))) {
            seeds.truncate(count as usize);
        } else {
            seeds = counted(count)?;
        }
    }
    if rule.until.is_some() && seeds.len() < rule.round {
        let problem = format!(
            "{} seeds are too few to stop a cell early, after {} at the soonest; allow more, such as --seeds {with_rule}",
            seeds.len(),
            rule.round
        );
        return Err(match changes.seeds {
            Some(count) => ScenarioError::Override { option: format!("--seeds {count}"), problem },
            None => top.wrong("seeds", format!("is not allowed beside until: {problem}")),
        });
    }
    Ok(seeds)
}

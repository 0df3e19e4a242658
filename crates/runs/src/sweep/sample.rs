//! A random sample of a space of parameters, in the place of a grid.

use airbound_random::Key as Draws;
use airbound_scenario::ScenarioError;
use airbound_scenario::reading::{Node, Section, Value};

use super::axis::{Parameter, find};
use super::key::Key;
use super::number::{Form, Number, Setting, common};

/// The keys of `[sample]` that are no parameters.
const OWN: [&str; 2] = ["count", "seed"];
/// Laws of the values, of which each parameter has one.
const LAWS: [&str; 3] = ["uniform", "log-uniform", "choice"];
const ALLOWED: &[&str] = &["uniform", "log-uniform", "choice", "keys"];

/// Points drawn at random. The value of a parameter in a cell is a function of the sample's seed, the parameter's name and the
/// number of the cell: a larger sample begins with the points of a smaller one, and a further parameter moves no other.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Number of points.
    pub count: usize,
    /// From where they come.
    pub seed: u64,
    /// Parameters that are drawn, each with its law.
    pub(crate) drawn: Vec<Drawn>,
}

/// A parameter and the law of its values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drawn {
    pub(crate) parameter: Parameter,
    law: Law,
}

#[derive(Debug, Clone, PartialEq)]
enum Law {
    Uniform(f64, f64),
    LogUniform(f64, f64),
    Choice(Vec<Setting>),
}

impl Sample {
    /// Reads `[sample]`.
    pub(crate) fn read(section: &Section<'_>, most: usize) -> Result<Self, ScenarioError> {
        if !section.has("count") {
            return Err(section.missing("count", "write count = 200 for so many points"));
        }
        let count: u32 = section.whole("count", 1, 1..=u32::try_from(most).unwrap_or(u32::MAX))?;
        let seed = section.whole("seed", 1, 0..=u64::MAX >> 1)?;
        let mut found = Vec::new();
        find(section, "", &LAWS, &mut found)?;
        let own = |name: &String| OWN.contains(&name.as_str());
        let drawn: Result<Vec<Drawn>, ScenarioError> = found
            .iter()
            .filter(|(name, ..)| !own(name))
            .map(|(name, section, key)| Drawn::read(name, section, key))
            .collect();
        let drawn = drawn?;
        if drawn.is_empty() {
            return Err(section.missing(
                "KEY",
                "name at least one key of the scenario, such as \"flow.vr.rate\" = { uniform = [\"10 Mbit/s\", \"50 Mbit/s\"] }",
            ));
        }
        Ok(Self { count: count as usize, seed, drawn })
    }

    /// The values of a cell.
    pub(crate) fn settings(&self, cell: usize) -> Vec<Setting> {
        self.drawn.iter().map(|drawn| drawn.value(self.seed, cell)).collect()
    }
}

impl Drawn {
    fn read(name: &str, section: &Section<'_>, key: &str) -> Result<Self, ScenarioError> {
        let place = section.place_of(key).to_string();
        if !matches!(section.get(key), Some(Node { value: Value::Table(_), .. })) {
            return Err(section.wrong(
                key,
                "is no table; write for example { uniform = [1, 9] }, { log-uniform = [1, 100] } or { choice = [\"a\", \"b\"] }",
            ));
        }
        let table = section.table(key)?;
        table.allow("a sampled key", &[ALLOWED])?;
        let mut parameter = Parameter::read(name, place, Some(&table))?;
        let given: Vec<&str> = LAWS.into_iter().filter(|law| table.has(law)).collect();
        let [law] = given[..] else {
            return Err(section.wrong(key, "has several laws; write one of uniform, log-uniform, choice"));
        };
        let Some(Node { value: Value::List(nodes), .. }) = table.get(law) else {
            return Err(table.wrong(law, "is no list; write for example [1, 9]"));
        };
        if law == "choice" {
            if nodes.is_empty() {
                return Err(table.wrong(law, "is empty"));
            }
            (parameter.form, parameter.unit) = common(nodes);
            let mut settings: Vec<Setting> = nodes.iter().map(Setting::of_node).collect();
            if parameter.form == Form::Text {
                settings.iter_mut().for_each(|setting| setting.number = None);
            }
            return Ok(Self { parameter, law: Law::Choice(settings) });
        }
        let [from, to] = &nodes[..] else {
            return Err(table.wrong(
                law,
                format!("has {} values; allowed are two, the lowest and the highest", nodes.len()),
            ));
        };
        let (from, to) = (Number::end(&table, law, from)?, Number::end(&table, law, to)?);
        Number::same_unit(&table, law, &from, &to)?;
        if from.value >= to.value {
            return Err(table.wrong(law, "ends where it begins, or before"));
        }
        parameter.form = if from.is_whole && to.is_whole { Form::Whole } else { Form::Real };
        parameter.unit = from.unit;
        let law = if law == "uniform" {
            Law::Uniform(from.value, to.value)
        } else if from.value > 0.0 {
            Law::LogUniform(from.value, to.value)
        } else {
            return Err(table.wrong(law, "does not begin above zero, as a logarithm needs it"));
        };
        Ok(Self { parameter, law })
    }

    fn value(&self, seed: u64, cell: usize) -> Setting {
        let Parameter { name, unit, form, .. } = &self.parameter;
        let share = Draws::of_seed(seed).with(Key::of(name).bits()).with(cell as u64).uniform();
        // Whole numbers have equal chances, the ends included.
        let is_whole = *form == Form::Whole;
        let within =
            |number: f64, from: f64, to: f64| if is_whole { number.round().clamp(from, to) } else { number };
        match &self.law {
            Law::Uniform(from, to) => {
                let half = if is_whole { 0.5 } else { 0.0 };
                let number = from - half + (to - from + 2.0 * half) * share;
                Setting::of_number(within(number, *from, *to), unit, *form)
            }
            Law::LogUniform(from, to) => {
                let number = from * libm::pow(to / from, share);
                Setting::of_number(within(number, *from, *to), unit, *form)
            }
            Law::Choice(settings) => {
                let at = (share * settings.len() as f64) as usize;
                settings[at.min(settings.len() - 1)].clone()
            }
        }
    }
}

//! Axes of a grid: the values that a key of the scenario takes, one after the other.

use std::path::Path;

use airbound_scenario::reading::{Node, Section, Value};
use airbound_scenario::{Overrides, ScenarioError};

use super::number::{Form, Number, Setting, common};

/// Values of one axis.
const MOST_VALUES: usize = 10_000;

/// A key of the scenario that differs between cells, or several that differ together; a column of the results.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Name of the column: the key, or what the grid calls several.
    pub name: String,
    /// The dotted keys that take the value, as `--set` has them.
    pub keys: Vec<String>,
    /// Storage form of the values.
    pub form: Form,
    /// The unit of all values; empty where they have none, or different ones.
    pub unit: String,
    /// Where it was written, for messages.
    pub(crate) place: String,
}

impl Parameter {
    /// Reads name and keys; `section` is the table of the parameter, if it has one.
    pub(crate) fn read(
        name: &str,
        place: String,
        section: Option<&Section<'_>>,
    ) -> Result<Self, ScenarioError> {
        let keys = match section.map(|section| section.texts("keys")).transpose()?.flatten() {
            Some(keys) => keys.into_iter().map(str::to_owned).collect(),
            None => vec![name.to_owned()],
        };
        let parameter = Self { name: name.to_owned(), keys, form: Form::Text, unit: String::new(), place };
        let Some(section) = section else { return Ok(parameter) };
        if parameter.keys.is_empty() {
            return Err(section.wrong("keys", "is empty; name at least one key of the scenario"));
        }
        Ok(parameter)
    }

    /// Adds the value to what is changed in the scenario.
    pub(crate) fn apply(&self, setting: &Setting, overrides: &mut Overrides, folder: &Path) {
        for key in &self.keys {
            let label = format!("{}: {key} = {}", self.place, setting.shown);
            overrides.set_from(key, &setting.written, &label, folder);
        }
    }
}

/// An axis: a parameter and all its values.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// The parameter that differs.
    pub parameter: Parameter,
    /// Its values, in the order of the grid.
    pub(crate) values: Vec<Setting>,
}

const RANGE: &[&str] = &["from", "to", "step", "count", "scale", "keys"];
const LIST: &[&str] = &["values", "keys"];

/// Whether a table is one parameter, and not a part of a dotted key.
pub(crate) fn is_parameter(entries: &[(String, Node)], marks: &[&str]) -> bool {
    entries.iter().any(|(key, _)| marks.contains(&key.as_str()))
}

/// Finds the parameters in a table, whose keys may be written with dots or in quotes.
pub(crate) fn find<'a>(
    section: &Section<'a>,
    prefix: &str,
    marks: &[&str],
    found: &mut Vec<(String, Section<'a>, &'a str)>,
) -> Result<(), ScenarioError> {
    for (key, node) in section.entries() {
        let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match &node.value {
            Value::Table(entries) if !is_parameter(entries, marks) => {
                if entries.is_empty() {
                    return Err(section.wrong(key, "is empty"));
                }
                find(&section.table(key)?, &name, marks, found)?;
            }
            _ => found.push((name, section.clone(), key)),
        }
    }
    Ok(())
}

impl Axis {
    /// Reads all axes of `[axes]`.
    pub(crate) fn read_all(section: &Section<'_>) -> Result<Vec<Self>, ScenarioError> {
        let mut found = Vec::new();
        find(section, "", &["from", "values"], &mut found)?;
        found.iter().map(|(name, section, key)| Self::read(name, section, key)).collect()
    }

    fn read(name: &str, section: &Section<'_>, key: &str) -> Result<Self, ScenarioError> {
        let place = section.place_of(key).to_string();
        let node = section.get(key).map(|node| &node.value);
        let (mut parameter, values) = match node {
            Some(Value::List(nodes)) => {
                let parameter = Parameter::read(name, place, None)?;
                (parameter, list(section, key, nodes)?)
            }
            Some(Value::Table(entries)) => {
                let table = section.table(key)?;
                let parameter = Parameter::read(name, place, Some(&table))?;
                if entries.iter().any(|(key, _)| key == "values") {
                    table.allow("an axis with values", &[LIST])?;
                    match table.get("values").map(|node| &node.value) {
                        Some(Value::List(nodes)) => (parameter, list(&table, "values", nodes)?),
                        _ => return Err(table.wrong("values", "is no list; write for example [1, 2, 4]")),
                    }
                } else {
                    table.allow("an axis with a range", &[RANGE])?;
                    (parameter, range(&table)?)
                }
            }
            _ => {
                return Err(section.wrong(
                    key,
                    "is one value; allowed is a list such as [1, 2, 4], or a range such as { from = 1, to = 9, step = 2 }; \
                     what is the same in all cells goes to [set]",
                ));
            }
        };
        let Values { settings, form, unit } = values;
        (parameter.form, parameter.unit) = (form, unit);
        for (number, setting) in settings.iter().enumerate() {
            if settings[..number].iter().any(|other| other.written == setting.written) {
                return Err(section.wrong(key, format!("has {} twice", setting.shown)));
            }
        }
        Ok(Self { parameter, values: settings })
    }
}

struct Values {
    settings: Vec<Setting>,
    form: Form,
    unit: String,
}

fn list(section: &Section<'_>, key: &str, nodes: &[Node]) -> Result<Values, ScenarioError> {
    if nodes.is_empty() || nodes.len() > MOST_VALUES {
        return Err(section.wrong(key, format!("has {} values; allowed are 1 to {MOST_VALUES}", nodes.len())));
    }
    let (form, unit) = common(nodes);
    let mut settings: Vec<Setting> = nodes.iter().map(Setting::of_node).collect();
    if form == Form::Text {
        settings.iter_mut().for_each(|setting| setting.number = None);
    }
    Ok(Values { settings, form, unit })
}

fn range(table: &Section<'_>) -> Result<Values, ScenarioError> {
    let end = |key: &str| match table.get(key) {
        Some(node) => Number::end(table, key, node),
        None => {
            Err(table.missing(key, "write for example { from = 1, to = 9, step = 2 } or { …, count = 5 }"))
        }
    };
    let (from, to) = (end("from")?, end("to")?);
    Number::same_unit(table, "to", &from, &to)?;
    if from.value >= to.value {
        return Err(table.wrong("to", "is not above the beginning of the range"));
    }
    let logarithmic = table.choice("scale", false, &[("linear", false), ("log", true)])?;
    let (mut numbers, is_whole): (Vec<f64>, bool) = match (table.get("step"), table.has("count")) {
        (Some(_), true) => {
            return Err(table.wrong("count", "is given besides step; write one of the two"));
        }
        (None, false) => {
            return Err(table.missing("count", "write count = 5 for so many values, or step = 2"));
        }
        (Some(node), false) => {
            if logarithmic {
                return Err(table.wrong("step", "does not go with scale = \"log\"; write count instead"));
            }
            let step = Number::end(table, "step", node)?;
            // A step may leave out the unit.
            if !step.unit.is_empty() {
                Number::same_unit(table, "step", &from, &step)?;
            }
            let steps = (to.value - from.value) / step.value;
            if step.value <= 0.0 || steps >= MOST_VALUES as f64 {
                let problem =
                    format!("is {}; allowed is a step that makes 1 to {MOST_VALUES} values", step.value);
                return Err(table.wrong("step", problem));
            }
            // The end belongs to the range, whatever the rounding of its steps.
            let last = (steps + 1e-9).floor() as u32;
            let numbers = (0..=last).map(|number| from.value + f64::from(number) * step.value);
            (numbers.collect(), from.is_whole && step.is_whole)
        }
        (None, true) => {
            let count: u32 = table.whole("count", 2, 2..=MOST_VALUES as u32)?;
            if logarithmic && from.value <= 0.0 {
                return Err(table.wrong("from", "is not above zero, as a logarithmic range needs it"));
            }
            let share = |number: u32| f64::from(number) / f64::from(count - 1);
            let at = |number: u32| match (number + 1 == count, logarithmic) {
                (true, _) => to.value,
                (false, false) => from.value + (to.value - from.value) * share(number),
                (false, true) => from.value * libm::pow(to.value / from.value, share(number)),
            };
            ((0..count).map(at).collect(), from.is_whole && to.is_whole)
        }
    };
    let form = if is_whole { Form::Whole } else { Form::Real };
    if is_whole {
        numbers.iter_mut().for_each(|number| *number = number.round());
        numbers.dedup();
    }
    let settings = numbers.into_iter().map(|number| Setting::of_number(number, &from.unit, form)).collect();
    Ok(Values { settings, form, unit: from.unit })
}

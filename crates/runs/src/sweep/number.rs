//! Numbers of a grid: plain, or with a unit as scenarios write them.

use airbound_record::rounded;
use airbound_scenario::ScenarioError;
use airbound_scenario::reading::{Node, Section, Value, shortened};

/// The largest number at the end of a range.
const LARGEST: f64 = 1e15;

/// Form in which the values of a column are stored and shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Whole numbers.
    Whole,
    /// Numbers, possibly of a unit.
    Real,
    /// Words, or anything else.
    Text,
}

/// A number as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Number {
    pub(crate) value: f64,
    /// Empty where there is none.
    pub(crate) unit: String,
    /// Whether it was written without a fraction and without a unit.
    pub(crate) is_whole: bool,
}

impl Number {
    /// Reads a number, or a text that is a number and a unit; `None` for anything else.
    pub(crate) fn read(node: &Node) -> Option<Self> {
        match &node.value {
            Value::Integer(number) => {
                Some(Self { value: *number as f64, unit: String::new(), is_whole: true })
            }
            Value::Float(value) => Some(Self { value: *value, unit: String::new(), is_whole: false }),
            Value::Text(text) => Self::with_unit(text),
            _ => None,
        }
    }

    fn with_unit(text: &str) -> Option<Self> {
        let text = text.trim();
        let end = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '-' | '+'))?;
        let unit = text[end..].trim();
        let known = |c: char| c.is_alphabetic() || matches!(c, '%' | '/' | '²');
        if unit.is_empty() || unit.len() > 12 || !unit.chars().all(known) {
            return None;
        }
        let value = text[..end].parse().ok()?;
        Some(Self { value, unit: unit.to_owned(), is_whole: false })
    }

    /// An end of a range.
    pub(crate) fn end(section: &Section<'_>, key: &str, node: &Node) -> Result<Self, ScenarioError> {
        let problem = || {
            section.wrong(
                key,
                format!(
                    "is {}; allowed is a number, or a text with number and unit such as \"10 Mbit/s\"",
                    node.value.describe()
                ),
            )
        };
        let number = Self::read(node).ok_or_else(problem)?;
        if !number.value.is_finite() || number.value.abs() > LARGEST {
            return Err(
                section.wrong(key, format!("is out of range; allowed is -{LARGEST:e} to {LARGEST:e}"))
            );
        }
        Ok(number)
    }

    /// Refuses two ends with different units.
    pub(crate) fn same_unit(
        section: &Section<'_>,
        key: &str,
        one: &Self,
        other: &Self,
    ) -> Result<(), ScenarioError> {
        if one.unit == other.unit {
            return Ok(());
        }
        let name =
            |unit: &str| if unit.is_empty() { "no unit".to_owned() } else { format!("the unit {unit}") };
        Err(section.wrong(
            key,
            format!(
                "has {} where the beginning has {}; write both alike",
                name(&other.unit),
                name(&one.unit)
            ),
        ))
    }
}

/// One value of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Setting {
    /// As a value of TOML, for the scenario.
    pub(crate) written: String,
    /// For people.
    pub(crate) shown: String,
    /// The number, where all values of the column are numbers of one unit.
    pub(crate) number: Option<f64>,
}

impl Setting {
    /// A number in the form of its column.
    pub(crate) fn of_number(value: f64, unit: &str, form: Form) -> Self {
        let value = match form {
            Form::Whole => value.round(),
            _ => rounded(value),
        };
        let written = match (unit, form) {
            ("", Form::Whole) => format!("{value:.0}"),
            // With a point or an exponent, as TOML wants its fractions.
            ("", _) => format!("{value:?}"),
            (unit, _) => format!("\"{value} {unit}\""),
        };
        let shown = if unit.is_empty() { format!("{value}") } else { format!("{value} {unit}") };
        Self { written, shown, number: Some(value) }
    }

    /// Any value, as it was written.
    pub(crate) fn of_node(node: &Node) -> Self {
        let written = airbound_scenario::reading::to_toml(node).to_string();
        let shown = match &node.value {
            Value::Text(text) => shortened(text),
            _ => shortened(&written),
        };
        Self { shown, number: Number::read(node).map(|number| number.value), written }
    }
}

/// The form and the unit that values of a list share.
pub(crate) fn common(nodes: &[Node]) -> (Form, String) {
    let numbers: Option<Vec<Number>> = nodes.iter().map(Number::read).collect();
    match numbers.as_deref() {
        Some([first, rest @ ..]) if rest.iter().all(|number| number.unit == first.unit) => {
            let is_whole = first.is_whole && rest.iter().all(|number| number.is_whole);
            (if is_whole { Form::Whole } else { Form::Real }, first.unit.clone())
        }
        _ => (Form::Text, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use airbound_scenario::reading::{Node, Origin, Value};

    use super::{Form, Number, Setting, common};

    fn node(value: Value) -> Node {
        Node { value, origin: Origin::Line(1) }
    }

    fn text(text: &str) -> Node {
        node(Value::Text(text.to_owned()))
    }

    #[test]
    fn numbers_with_and_without_units() {
        let read = |node: &Node| Number::read(node).map(|number| (number.value, number.unit));
        assert_eq!(read(&text("10 Mbit/s")), Some((10.0, "Mbit/s".to_owned())));
        assert_eq!(read(&text("-2.5dB")), Some((-2.5, "dB".to_owned())));
        assert_eq!(read(&text("linux")), None);
        assert_eq!(read(&text("5")), None);
        assert_eq!(read(&text("1.2.3 s")), None);
        assert_eq!(common(&[text("1 s"), text("2 s")]), (Form::Real, "s".to_owned()));
        assert_eq!(common(&[text("1 s"), text("2 ms")]).0, Form::Text);
        assert_eq!(common(&[node(Value::Integer(1)), node(Value::Float(0.5))]).0, Form::Real);
        assert_eq!(common(&[]).0, Form::Text);
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        assert_eq!(Setting::of_number(10.0, "Mbit/s", Form::Real).written, "\"10 Mbit/s\"");
        assert_eq!(Setting::of_number(3.162_277, "", Form::Whole).written, "3");
        assert_eq!(Setting::of_number(0.1 + 0.2, "", Form::Real).written, "0.3");
        assert_eq!(Setting::of_number(10.0, "", Form::Real).written, "10.0");
        assert_eq!(Setting::of_node(&text("5")).written, "\"5\"");
    }
}

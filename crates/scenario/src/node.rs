//! A TOML document as a tree of values with their positions.

use toml::de::{DeTable, DeValue};

use super::error::{Place, ScenarioError};

/// A value and its position: a line of the file, or an option of the command line.
#[derive(Debug, Clone)]
pub struct Node {
    /// The value.
    pub value: Value,
    /// Its position.
    pub origin: Origin,
}

/// Position of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A line of the file, counted from 1.
    Line(u32),
    /// Index in the list of overrides.
    Override(usize),
}

/// A value of TOML.
#[derive(Debug, Clone)]
pub enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i128),
    /// A number with a fraction.
    Float(f64),
    /// `true` or `false`.
    Boolean(bool),
    /// A date or a time, which no key takes.
    Date,
    /// A list.
    List(Vec<Node>),
    /// A table with its entries in the written order.
    Table(Vec<(String, Node)>),
}

impl Value {
    /// Describes the value for error messages.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Text(text) => format!("the text \"{}\"", shortened(text)),
            Self::Integer(number) => format!("the number {number}"),
            Self::Float(number) => format!("the number {number}"),
            Self::Boolean(value) => format!("{value}"),
            Self::Date => "a date".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

/// A text, shortened for a message.
#[must_use]
pub fn shortened(text: &str) -> String {
    let clean: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(60).collect();
    if text.chars().count() > 60 { format!("{clean}…") } else { clean }
}

/// Counts lines from the start of a text; fast for ascending positions, correct for all.
struct Lines {
    /// Byte offset of the start of each line.
    starts: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self { starts: std::iter::once(0).chain(newlines).collect() }
    }

    fn line(&self, offset: usize) -> u32 {
        self.starts.partition_point(|start| *start <= offset) as u32
    }
}

/// Reads a whole document; `file` is its name in messages.
///
/// # Errors
/// [`ScenarioError::Syntax`] if the text is not TOML.
pub fn parse_document(text: &str, file: &str) -> Result<Node, ScenarioError> {
    let lines = Lines::of(text);
    let table = DeTable::parse(text).map_err(|error| syntax(&error, &lines, file))?;
    let span = table.span();
    Ok(Node {
        value: convert_table(table.into_inner(), &|offset| Origin::Line(lines.line(offset))),
        origin: Origin::Line(lines.line(span.start)),
    })
}

/// Parses the value of an override: TOML, or a bare word or quantity.
pub(super) fn parse_override(text: &str, index: usize) -> Node {
    let origin = Origin::Override(index);
    let value = match DeValue::parse(text.trim()) {
        Ok(value) => convert(value.into_inner(), &|_| origin),
        Err(_) => Value::Text(text.trim().to_owned()),
    };
    Node { value, origin }
}

fn syntax(error: &toml::de::Error, lines: &Lines, file: &str) -> ScenarioError {
    let line = error.span().map_or(1, |span| lines.line(span.start));
    let reason = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
    ScenarioError::Syntax { place: Place::Line { file: file.to_owned(), line }, reason }
}

fn convert_table(table: DeTable<'_>, origin: &dyn Fn(usize) -> Origin) -> Value {
    let mut entries: Vec<(usize, String, Node)> = table
        .into_iter()
        .map(|(key, value)| {
            let at = key.span().start;
            let node_origin = origin(match value.get_ref() {
                // The position of a table is that of its header, where a reader looks for it.
                DeValue::Table(_) | DeValue::Array(_) => at,
                _ => value.span().start,
            });
            let node = Node { value: convert(value.into_inner(), origin), origin: node_origin };
            (at, key.into_inner().into_owned(), node)
        })
        .collect();
    entries.sort_by_key(|(at, _, _)| *at);
    Value::Table(entries.into_iter().map(|(_, key, node)| (key, node)).collect())
}

fn convert(value: DeValue<'_>, origin: &dyn Fn(usize) -> Origin) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => {
            // A number of more than 128 bits is out of every allowed range.
            Value::Integer(i128::from_str_radix(number.as_str(), number.radix()).unwrap_or(i128::MAX))
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(value) => Value::Boolean(value),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(array) => Value::List(
            array
                .into_iter()
                .map(|item| {
                    let origin_of_item = origin(item.span().start);
                    Node { value: convert(item.into_inner(), origin), origin: origin_of_item }
                })
                .collect(),
        ),
        DeValue::Table(table) => convert_table(table, origin),
    }
}

/// A node as a plain TOML value, for serde and for printing.
#[must_use]
pub fn to_toml(node: &Node) -> toml::Value {
    match &node.value {
        Value::Text(text) => toml::Value::String(text.clone()),
        Value::Integer(number) => toml::Value::Integer(i64::try_from(*number).unwrap_or(if *number < 0 {
            i64::MIN
        } else {
            i64::MAX
        })),
        Value::Float(number) => toml::Value::Float(*number),
        Value::Boolean(value) => toml::Value::Boolean(*value),
        Value::Date => toml::Value::String("a date".to_owned()),
        Value::List(items) => toml::Value::Array(items.iter().map(to_toml).collect()),
        Value::Table(entries) => {
            toml::Value::Table(entries.iter().map(|(key, node)| (key.clone(), to_toml(node))).collect())
        }
    }
}

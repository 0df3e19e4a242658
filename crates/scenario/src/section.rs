//! Reader of one table of a scenario: typed values, unknown keys, errors as sentences.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use airbound_units::ParseQuantityError;

use super::error::{Place, ScenarioError};
use super::node::{Node, Origin, Value, shortened};

/// Context of a reading: file, folder and overrides.
pub struct Document<'a> {
    /// The file, as named in messages.
    pub file: &'a str,
    /// Base folder of relative file names; `None` for a shipped scenario.
    pub folder: Option<&'a Path>,
    /// The overrides as written.
    pub options: &'a [String],
    /// Base folder of relative file names in each override; empty for the working directory.
    pub bases: &'a [PathBuf],
}

impl Document<'_> {
    /// Position of a value, as shown in messages.
    #[must_use]
    pub fn place(&self, origin: Origin) -> Place {
        match origin {
            Origin::Line(line) => Place::Line { file: self.file.to_owned(), line },
            Origin::Override(index) => {
                Place::Option(self.options.get(index).cloned().unwrap_or_else(|| "--set".to_owned()))
            }
        }
    }
}

/// Reading of a configuration from another crate out of a table of a scenario.
pub(super) trait FromSection: Sized {
    /// Reads the table.
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError>;
}

/// A table with its place in the document.
#[derive(Clone)]
pub struct Section<'a> {
    document: &'a Document<'a>,
    /// Dotted, empty for the top.
    path: String,
    entries: &'a [(String, Node)],
    origin: Origin,
}

impl<'a> Section<'a> {
    /// The whole document.
    #[must_use]
    pub fn top(document: &'a Document<'a>, node: &'a Node) -> Self {
        let entries = match &node.value {
            Value::Table(entries) => entries.as_slice(),
            _ => &[],
        };
        Self { document, path: String::new(), entries, origin: node.origin }
    }

    fn of(&self, path: String, node: &'a Node) -> Result<Self, ScenarioError> {
        match &node.value {
            Value::Table(entries) => Ok(Self { document: self.document, path, entries, origin: node.origin }),
            other => Err(ScenarioError::Value {
                place: self.document.place(node.origin),
                key: path,
                problem: format!("is {}; allowed is a table", other.describe()),
            }),
        }
    }

    /// The document of the table.
    #[must_use]
    pub fn document(&self) -> &'a Document<'a> {
        self.document
    }

    /// Position of the table.
    #[must_use]
    pub fn place(&self) -> Place {
        self.document.place(self.origin)
    }

    /// Position of the value of `key`, or of the table.
    #[must_use]
    pub fn place_of(&self, key: &str) -> Place {
        self.get(key).map_or_else(|| self.place(), |node| self.document.place(node.origin))
    }

    /// Position of the override that set the `name` of the member that was called `member` in the list `list`; `None` without one.
    #[must_use]
    pub fn renamed_by(&self, list: &str, member: &str) -> Option<Place> {
        let option = format!("--set {list}.{member}.name=");
        self.document.options.iter().find(|known| known.starts_with(&option)).cloned().map(Place::Option)
    }

    /// Base folder of a relative file name that an override set under `key`; `None` if no override did.
    #[must_use]
    pub fn override_base(&self, key: &str) -> Option<&'a Path> {
        match self.get(key) {
            Some(Node { origin: Origin::Override(index), .. }) => {
                Some(self.document.bases.get(*index).map_or(Path::new(""), PathBuf::as_path))
            }
            _ => None,
        }
    }

    /// The entries of the table, in the written order.
    #[must_use]
    pub fn entries(&self) -> &'a [(String, Node)] {
        self.entries
    }

    /// The whole dotted key.
    #[must_use]
    pub fn key(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a Node> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// Whether there is a value of `key`.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// An error about the value of `key`.
    #[must_use]
    pub fn wrong(&self, key: &str, problem: impl Into<String>) -> ScenarioError {
        ScenarioError::Value { place: self.place_of(key), key: self.key(key), problem: problem.into() }
    }

    /// Refuses every key that is in none of the lists; `owner` names their owner ("a flow of kind cbr").
    ///
    /// # Errors
    /// There is such a key.
    pub fn allow<K: AsRef<str>>(&self, owner: &str, lists: &[&[K]]) -> Result<(), ScenarioError> {
        for (key, node) in self.entries {
            let known = || lists.iter().flat_map(|list| list.iter()).map(AsRef::as_ref);
            if known().all(|known| known != key) {
                let known: Vec<&str> = known().collect();
                let meant = meant_among(key, &known);
                return Err(ScenarioError::UnknownKey {
                    place: self.document.place(node.origin),
                    key: self.key(&shortened(key)),
                    hint: hint(meant, owner, &known),
                    meant: meant.map(str::to_owned),
                });
            }
        }
        Ok(())
    }

    /// Reads the table under `key`; an empty one if there is none.
    ///
    /// # Errors
    /// It is not a table.
    pub fn table(&self, key: &str) -> Result<Self, ScenarioError> {
        match self.get(key) {
            Some(node) => self.of(self.key(key), node),
            None => {
                Ok(Self { document: self.document, path: self.key(key), entries: &[], origin: self.origin })
            }
        }
    }

    /// Reads the tables of `[[key]]`, each identified by its `name` in messages.
    ///
    /// # Errors
    /// It is not a list of tables.
    pub fn tables(&self, key: &str) -> Result<Vec<Self>, ScenarioError> {
        let Some(node) = self.get(key) else { return Ok(Vec::new()) };
        let Value::List(items) = &node.value else {
            return Err(self.wrong(
                key,
                format!("is {}; allowed is a list of tables, each headed [[{key}]]", node.value.describe()),
            ));
        };
        items
            .iter()
            .enumerate()
            .map(|(index, item)| {
                let name = match &item.value {
                    Value::Table(entries) => entries.iter().find_map(|(key, node)| match &node.value {
                        Value::Text(text) if key == "name" => Some(shortened(text)),
                        _ => None,
                    }),
                    _ => None,
                };
                self.of(format!("{}.{}", self.key(key), name.unwrap_or_else(|| index.to_string())), item)
            })
            .collect()
    }

    /// Reads a text.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn text(&self, key: &str) -> Result<Option<&'a str>, ScenarioError> {
        match self.get(key) {
            None => Ok(None),
            Some(Node { value: Value::Text(text), .. }) => Ok(Some(text)),
            Some(node) => {
                Err(self.wrong(key, format!("is {}; allowed is a text in quotes", node.value.describe())))
            }
        }
    }

    /// Reads a required text.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn required_text(&self, key: &str, what: &str) -> Result<&'a str, ScenarioError> {
        self.text(key)?.ok_or_else(|| self.missing(key, what))
    }

    /// The error for a missing `key`; about the word written in its place, if there is one.
    #[must_use]
    pub fn missing(&self, key: &str, what: &str) -> ScenarioError {
        if let Some((written, node)) = self.entries.iter().find(|(name, _)| meant(name).contains(&key)) {
            return ScenarioError::UnknownKey {
                place: self.document.place(node.origin),
                key: self.key(written),
                meant: Some(key.to_owned()),
                hint: format!("did you mean {key}? {what}"),
            };
        }
        ScenarioError::Missing { place: self.place(), key: self.key(key), hint: what.to_owned() }
    }

    /// Reads a quantity with its unit; `example` shows its form.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn quantity<T: FromStr<Err: Display>>(
        &self,
        key: &str,
        example: &str,
    ) -> Result<Option<T>, ScenarioError> {
        match self.get(key) {
            None => Ok(None),
            Some(node) => self.parse_quantity(key, node, example).map(Some),
        }
    }

    /// Reads a quantity inside of `key`, such as an item of a list.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn parse_quantity<T: FromStr<Err: Display>>(
        &self,
        key: &str,
        node: &Node,
        example: &str,
    ) -> Result<T, ScenarioError> {
        let problem = match &node.value {
            Value::Text(text) if text.len() <= 200 => match text.parse() {
                Ok(quantity) => return Ok(quantity),
                Err(error) => format!("is wrong: {error}"),
            },
            other => {
                format!(
                    "is {}; allowed is a text with number and unit such as \"{example}\"",
                    other.describe()
                )
            }
        };
        Err(ScenarioError::Value { place: self.document.place(node.origin), key: self.key(key), problem })
    }

    /// Reads a quantity within a range.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn ranged<T: FromStr<Err = ParseQuantityError> + Display + PartialOrd>(
        &self,
        key: &str,
        default: T,
        range: RangeInclusive<T>,
    ) -> Result<T, ScenarioError> {
        let example = default.to_string();
        // The range of the key says more than that of all quantities of its kind.
        if let Some(Node { value: Value::Text(text), .. }) = self.get(key)
            && text.len() <= 200
            && let Err(ParseQuantityError::Range { text, .. }) = text.parse::<T>()
        {
            let (first, last) = (range.start(), range.end());
            return Err(self.wrong(key, format!("is \"{text}\"; allowed is {first} to {last}")));
        }
        let value = self.quantity(key, &example)?.unwrap_or(default);
        if range.contains(&value) {
            Ok(value)
        } else {
            Err(self.wrong(key, format!("is {value}; allowed is {} to {}", range.start(), range.end())))
        }
    }

    /// Reads a whole number within a range.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn whole<T>(&self, key: &str, default: T, range: RangeInclusive<T>) -> Result<T, ScenarioError>
    where
        T: TryFrom<i128> + Display + PartialOrd + Copy,
    {
        let Some(node) = self.get(key) else { return Ok(default) };
        let allowed = format!("allowed is a whole number from {} to {}", range.start(), range.end());
        let Value::Integer(number) = &node.value else {
            return Err(self.wrong(key, format!("is {}; {allowed}", node.value.describe())));
        };
        match T::try_from(*number) {
            Ok(value) if range.contains(&value) => Ok(value),
            _ => Err(self.wrong(key, format!("is {number}; {allowed}"))),
        }
    }

    /// Reads a number without unit within a range.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn number(&self, key: &str, default: f64, range: RangeInclusive<f64>) -> Result<f64, ScenarioError> {
        let Some(node) = self.get(key) else { return Ok(default) };
        let value = match &node.value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            other => {
                let found = other.describe();
                return Err(self.wrong(
                    key,
                    format!("is {found}; allowed is a number from {} to {}", range.start(), range.end()),
                ));
            }
        };
        if range.contains(&value) {
            Ok(value)
        } else {
            Err(self.wrong(
                key,
                format!("is {value}; allowed is a number from {} to {}", range.start(), range.end()),
            ))
        }
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn boolean(&self, key: &str, default: bool) -> Result<bool, ScenarioError> {
        match self.get(key) {
            None => Ok(default),
            Some(Node { value: Value::Boolean(value), .. }) => Ok(*value),
            Some(node) => {
                Err(self.wrong(key, format!("is {}; allowed are true and false", node.value.describe())))
            }
        }
    }

    /// Reads one of a few words.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn choice<T: Copy>(&self, key: &str, default: T, choices: &[(&str, T)]) -> Result<T, ScenarioError> {
        let Some(node) = self.get(key) else { return Ok(default) };
        if let Value::Text(text) = &node.value
            && let Some((_, choice)) = choices.iter().find(|(name, _)| name == text)
        {
            return Ok(*choice);
        }
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let near = match &node.value {
            // Another number is not what was meant.
            Value::Text(text) if !text.starts_with(|sign: char| sign.is_ascii_digit()) => {
                nearest(text, choices.iter().map(|(name, _)| *name))
            }
            _ => None,
        };
        let near = near.map_or(String::new(), |name| format!("did you mean {name}? "));
        Err(self.wrong(key, format!("is {}; {near}allowed are {}", node.value.describe(), names.join(", "))))
    }

    /// Reads a list of texts.
    ///
    /// # Errors
    /// The value is not of that kind, or not allowed.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<&'a str>>, ScenarioError> {
        let Some(node) = self.get(key) else { return Ok(None) };
        let wrong = |found: String| {
            self.wrong(key, format!("is {found}; allowed is a list of texts such as [\"a\", \"b\"]"))
        };
        let Value::List(items) = &node.value else { return Err(wrong(node.value.describe())) };
        items
            .iter()
            .map(|item| match &item.value {
                Value::Text(text) => Ok(text.as_str()),
                other => Err(wrong(format!("a list with {}", other.describe()))),
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }
}

/// The error for a second member of `[[list]]` with this name. An override that gave an earlier one the name is to blame.
pub(super) fn taken(top: &Section<'_>, list: &str, section: &Section<'_>, name: &str) -> ScenarioError {
    let problem = format!("is \"{name}\", which is already taken");
    let wrong = section.wrong("name", problem.clone());
    let others = top.tables(list).unwrap_or_default();
    let renamed = others.into_iter().find(|other| {
        let is_same = matches!(other.text("name"), Ok(Some(text)) if text == name);
        is_same && matches!(other.place_of("name"), Place::Option(_))
    });
    match (&wrong, renamed) {
        (ScenarioError::Value { place: Place::Option(_), .. }, _) | (_, None) => wrong,
        (_, Some(other)) => other.wrong("name", problem),
    }
}

/// The keys that a word of other tools' files may stand for; none of these words is close to its key in letters.
fn meant(written: &str) -> &'static [&'static str] {
    match written {
        "type" | "class" => &["kind"],
        "to" | "target" | "destination" | "receiver" | "client" | "device" => &["station"],
        "bandwidth" => &["width", "rate"],
        "bitrate" | "throughput" => &["rate"],
        "latency" => &["demand", "delay"],
        "begin" => &["start"],
        "end" => &["stop"],
        _ => &[],
    }
}

/// The known key that another word stands for, or the one closest to the unknown one.
fn meant_among<'a>(key: &str, known: &[&'a str]) -> Option<&'a str> {
    let synonym = meant(key).iter().copied().find(|name| known.contains(name));
    synonym.or_else(|| nearest(key, known.iter().copied()))
}

/// Suggests the key that was meant, or lists all of them.
fn hint(meant: Option<&str>, owner: &str, known: &[&str]) -> String {
    match meant {
        Some(name) => format!("did you mean {name}? {owner} has the keys {}", known.join(", ")),
        None if known.is_empty() => format!("{owner} has no keys"),
        None => format!("{owner} has the keys {}", known.join(", ")),
    }
}

/// The closest candidate, if it differs little.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    if length > 60 {
        return None;
    }
    // FIFO is fifo.
    let word = &word.to_lowercase();
    // Words that differ in half of their letters look alike if they have the same beginning: rait and rate, not name and rate.
    let first = |text: &str| text.chars().next().map(|sign| sign.to_ascii_lowercase());
    let begins_alike = |candidate: &str| first(word) == first(candidate);
    candidates
        .map(|candidate| (strsim::osa_distance(word, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            let longest = length.max(candidate.len());
            *distance <= 1 + longest / 4 && (2 * distance < longest || begins_alike(candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

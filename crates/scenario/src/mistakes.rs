//! All mistakes of a scenario at once, where reading ends at the first.
//!
//! The scenario is read again and again. After each error its cause is repaired in the tree of values: an option is left out, a value
//! is taken away, a key is written as it was meant, a required key gets the value of the hint. The next reading then finds the next
//! mistake. What only follows from a repair is no mistake of its own: a required key that was taken away, and a name whose bearer was.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::{Place, ScenarioError};
use super::node::{self, Node, Origin, Value, shortened};
use super::overrides::{Overrides, name_of};
use super::shipped::{self, PREFIX};
use super::{Scenario, is_file, source};

/// Mistakes that are looked for; a file with more is no scenario.
const MOST: usize = 50;
/// Keys whose values are names of members of lists.
const REFERENCES: [&str; 4] = ["station", "via", "network", "focus"];

impl Scenario {
    /// Opens a scenario by name, as [`Scenario::open`], and finds all its mistakes.
    ///
    /// # Errors
    /// The mistakes, those of the command line first and those of the file in the order of its lines: at least one, at most 50.
    pub fn examine(name: &str, overrides: &Overrides) -> Result<Self, Vec<ScenarioError>> {
        Self::open(name, overrides).map_err(|first| {
            let found = Document::open(name).map(|document| document.mistakes(overrides));
            found.ok().filter(|mistakes| !mistakes.is_empty()).unwrap_or_else(|| vec![first])
        })
    }
}

/// A document that is not read yet.
struct Document<'a> {
    /// Name in messages.
    shown: String,
    folder: Option<&'a Path>,
    root: Node,
}

impl<'a> Document<'a> {
    fn open(name: &'a str) -> Result<Self, ScenarioError> {
        let (shown, folder, text) = if is_file(name) {
            let file = Path::new(name);
            (file.display().to_string(), file.parent(), source::text_of(file)?)
        } else {
            (format!("{PREFIX}{name}"), None, shipped::find(name)?.text.to_owned())
        };
        let root = node::parse_document(&text, &shown)?;
        Ok(Self { shown, folder, root })
    }

    fn mistakes(self, overrides: &Overrides) -> Vec<ScenarioError> {
        let mut repairs = Repairs {
            root: self.root,
            overrides: overrides.clone(),
            gone: BTreeSet::new(),
            names: Some(BTreeSet::new()),
        };
        let mut mistakes = Vec::new();
        // What follows from a repair counts, too, so that this ends.
        for _ in 0..4 * MOST {
            let read =
                Scenario::read_tree(repairs.root.clone(), &self.shown, self.folder, &repairs.overrides);
            let Err(error) = read else { break };
            let follows = repairs.follows(&error);
            let is_repaired = repairs.repair(&error);
            if !follows {
                mistakes.push(error);
            }
            if !is_repaired || mistakes.len() == MOST {
                break;
            }
        }
        let options = overrides.options();
        let number = |mistake: &ScenarioError| {
            let sentence = mistake.to_string();
            options.iter().position(|option| sentence.starts_with(option.as_str()))
        };
        mistakes.sort_by_key(|mistake| (line_of(mistake).unwrap_or(0), number(mistake)));
        mistakes
    }
}

fn line_of(error: &ScenarioError) -> Option<u32> {
    match error.place() {
        Some(Place::Line { line, .. }) => Some(*line),
        _ => None,
    }
}

/// A scenario that is repaired mistake by mistake.
struct Repairs {
    root: Node,
    overrides: Overrides,
    /// Dotted keys whose values were taken away.
    gone: BTreeSet<String>,
    /// Names that were taken away; `None` once there is one that cannot be known.
    names: Option<BTreeSet<String>>,
}

impl Repairs {
    /// Whether an error only follows from earlier repairs.
    fn follows(&self, error: &ScenarioError) -> bool {
        let Some(key) = error.key() else { return false };
        let is_missing = matches!(error, ScenarioError::Missing { .. });
        let is_part = |whole: &str, part: &str| {
            part.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        if self.gone.iter().any(|gone| is_part(gone, key) || (is_missing && is_part(key, gone))) {
            return true;
        }
        // One of two keys that can stand here was taken away, or what a table must name was taken out of it.
        let names = |text: &str, gone: &str| {
            let last = gone.rsplit('.').next().unwrap_or(gone);
            text.split(|sign: char| !sign.is_alphanumeric() && sign != '-').any(|word| word == last)
        };
        let is_named = |gone: &String| match error {
            ScenarioError::Missing { hint, .. } => parent(gone) == parent(key) && names(hint, gone),
            ScenarioError::Value { problem, .. } => {
                (parent(gone) == key && names(problem, gone)) || problem.contains(&format!(" {gone} = "))
            }
            _ => false,
        };
        if self.gone.iter().any(is_named) {
            return true;
        }
        if !matches!(error, ScenarioError::Value { .. }) {
            return false;
        }
        let way = self.find(key, line_of(error));
        let value = way.and_then(|way| Node::at(&self.root, &way)).map(|node| &node.value);
        let is_lost = |name: &String| match &self.names {
            None => REFERENCES.contains(&key.rsplit('.').next().unwrap_or(key)),
            Some(names) => names.contains(name),
        };
        matches!(value, Some(Value::Text(name)) if is_lost(name))
    }

    /// Takes away the cause of an error; returns whether that could be done.
    fn repair(&mut self, error: &ScenarioError) -> bool {
        match error {
            // Without an option the value of the file is judged.
            ScenarioError::Override { option, .. } => return self.overrides.remove(option),
            _ => {
                if let Some(Place::Option(option)) = error.place()
                    && self.overrides.remove(option)
                {
                    return true;
                }
            }
        }
        match error {
            ScenarioError::Missing { key, hint, .. } => {
                self.put_example(key, hint, line_of(error)) || self.take(parent(key), line_of(error))
            }
            ScenarioError::UnknownKey { key, meant: Some(meant), .. } => {
                self.rename(key, meant, line_of(error)) || self.take(key, line_of(error))
            }
            ScenarioError::Scheme { scheme, .. } => take_scheme(&mut self.root, scheme),
            _ => error.key().is_some_and(|key| self.take(key, line_of(error))),
        }
    }

    /// The way to the value of a dotted key; of several the one at this line.
    fn find(&self, key: &str, line: Option<u32>) -> Option<Vec<usize>> {
        let mut ways = Vec::new();
        self.root.ways(key, &mut Vec::new(), &mut ways);
        let is_there = |way: &&Vec<usize>| {
            Node::at(&self.root, way)
                .is_some_and(|node| line.is_some_and(|line| node.origin == Origin::Line(line)))
        };
        ways.iter().find(is_there).or(ways.first()).cloned()
    }

    /// Takes away the value of a key, or the table around it where there is none.
    fn take(&mut self, key: &str, line: Option<u32>) -> bool {
        let Some(mut way) = self.find(key, line) else {
            return !key.is_empty() && self.take(parent(key), line);
        };
        self.gone.insert(key.to_owned());
        let Some(last) = way.pop() else { return false };
        let Some(holder) = Node::at_mut(&mut self.root, &way) else { return false };
        match &mut holder.value {
            Value::Table(entries) if entries[last].0 == "name" => {
                // A member without a name would be another mistake.
                let own = Value::Text(format!("unnamed-{}", self.gone.len()));
                let name = std::mem::replace(&mut entries[last].1.value, own);
                self.lose(if let Value::Text(name) = name { Some(name) } else { None });
            }
            Value::Table(entries) => {
                entries.remove(last);
            }
            Value::List(items) => {
                let name = name_of(&items.remove(last));
                self.lose(name);
            }
            _ => return false,
        }
        true
    }

    fn lose(&mut self, name: Option<String>) {
        self.names = match (self.names.take(), name) {
            (Some(mut names), Some(name)) => {
                names.insert(name);
                Some(names)
            }
            _ => None,
        };
    }

    /// Writes a key as it was meant; not over another.
    fn rename(&mut self, key: &str, meant: &str, line: Option<u32>) -> bool {
        let Some(mut way) = self.find(key, line) else { return false };
        let last = way.pop();
        let holder = Node::at_mut(&mut self.root, &way).map(|node| &mut node.value);
        let (Some(Value::Table(entries)), Some(last)) = (holder, last) else { return false };
        if entries.iter().any(|(name, _)| name == meant) {
            return false;
        }
        entries[last].0 = meant.to_owned();
        true
    }

    /// Gives a required key a value that is allowed: the example of the hint, a name of its own, the first station.
    fn put_example(&mut self, key: &str, hint: &str, line: Option<u32>) -> bool {
        let table = parent(key);
        let own = key.rsplit('.').next().unwrap_or(key);
        let value = match own {
            "name" => Some(format!("unnamed-{}", self.gone.len())),
            "station" if !table.is_empty() => first_station(&self.root),
            _ => hint
                .split_once(&format!("{own} = "))
                .map(|(_, value)| value.to_owned())
                .filter(|value| is_value(value)),
        };
        let (Some(value), Some(way)) = (value, self.find(table, line)) else { return false };
        let example = node::parse_override(&value, 0);
        let Some(Node { value: Value::Table(entries), origin }) = Node::at_mut(&mut self.root, &way) else {
            return false;
        };
        if entries.iter().any(|(name, _)| name == own) {
            return false;
        }
        entries.push((own.to_owned(), Node { origin: *origin, ..example }));
        if own == "name" {
            self.lose(None);
        }
        self.gone.insert(key.to_owned());
        true
    }
}

/// The key of the table that holds a key.
fn parent(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(table, _)| table)
}

/// Whether a hint ends with a value of TOML, and with nothing behind it.
fn is_value(text: &str) -> bool {
    [('"', '"'), ('{', '}'), ('[', ']')]
        .iter()
        .any(|(begin, end)| text.starts_with(*begin) && text.ends_with(*end))
}

fn first_station(root: &Node) -> Option<String> {
    let Value::Table(entries) = &root.value else { return None };
    let (_, stations) = entries.iter().find(|(key, _)| key == "station")?;
    let Value::List(stations) = &stations.value else { return None };
    stations.iter().find_map(name_of)
}

/// Takes away a name of a scheme from a list of them, or from a network.
fn take_scheme(node: &mut Node, scheme: &str) -> bool {
    let is_it = |node: &Node| matches!(&node.value, Value::Text(text) if shortened(text) == scheme);
    match &mut node.value {
        Value::List(items) => match items.iter().position(is_it) {
            // An empty list is another mistake.
            Some(index) if items.len() > 1 => {
                items.remove(index);
                true
            }
            _ => items.iter_mut().any(|item| take_scheme(item, scheme)),
        },
        Value::Table(entries) => {
            let is_whole = |(key, node): &(String, Node)| match &node.value {
                Value::List(items) => key == "schemes" && matches!(items.as_slice(), [only] if is_it(only)),
                _ => key == "scheme" && is_it(node),
            };
            match entries.iter().position(is_whole) {
                Some(index) => {
                    entries.remove(index);
                    true
                }
                None => entries.iter_mut().any(|(_, entry)| take_scheme(entry, scheme)),
            }
        }
        _ => false,
    }
}

impl Node {
    /// The node at the end of a way: the number of an entry or of an item, from the top on.
    fn at<'a>(node: &'a Self, way: &[usize]) -> Option<&'a Self> {
        let Some((first, rest)) = way.split_first() else { return Some(node) };
        let inner = match &node.value {
            Value::Table(entries) => entries.get(*first).map(|(_, node)| node),
            Value::List(items) => items.get(*first),
            _ => None,
        };
        inner.and_then(|node| Self::at(node, rest))
    }

    fn at_mut<'a>(node: &'a mut Self, way: &[usize]) -> Option<&'a mut Self> {
        let Some((first, rest)) = way.split_first() else { return Some(node) };
        let inner = match &mut node.value {
            Value::Table(entries) => entries.get_mut(*first).map(|(_, node)| node),
            Value::List(items) => items.get_mut(*first),
            _ => None,
        };
        inner.and_then(|node| Self::at_mut(node, rest))
    }

    /// Adds all ways to a dotted key, in which members of lists have their name or their number.
    fn ways(&self, key: &str, way: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
        if key.is_empty() {
            found.push(way.clone());
            return;
        }
        let mut enter = |number: usize, label: &str, node: &Self| {
            let Some(rest) = key.strip_prefix(label) else { return };
            let Some(rest) = rest.strip_prefix('.').or(rest.is_empty().then_some("")) else { return };
            way.push(number);
            node.ways(rest, way, found);
            way.pop();
        };
        match &self.value {
            Value::Table(entries) => {
                for (number, (label, node)) in entries.iter().enumerate() {
                    enter(number, &shortened(label), node);
                }
            }
            Value::List(items) => {
                for (number, item) in items.iter().enumerate() {
                    let label = name_of(item).map_or_else(|| number.to_string(), |name| shortened(&name));
                    enter(number, &label, item);
                }
            }
            _ => {}
        }
    }
}

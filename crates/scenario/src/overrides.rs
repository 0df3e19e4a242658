//! `--set key=value`: changes to a scenario on the command line.

use std::path::{Path, PathBuf};

use super::error::ScenarioError;
use super::node::{self, Node, Origin, Value, shortened};
use super::section::nearest;

/// Changes to a scenario, applied in order before it is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    sets: Vec<Set>,
    trace: Option<String>,
}

/// One change: a dotted key and a value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Set {
    key: String,
    value: String,
    /// Name in messages, if it is not a `--set`.
    label: Option<String>,
    /// Base folder of relative file names in it; empty for the working directory.
    base: PathBuf,
}

impl Set {
    fn option(&self) -> String {
        let typed = || format!("--set {}={}", shortened(&self.key), shortened(&self.value));
        self.label.clone().unwrap_or_else(typed)
    }
}

/// The arrays of tables whose members are selected by name.
const NAMED: [&str; 4] = ["station", "flow", "neighbour", "interference"];

impl Overrides {
    /// No changes.
    #[must_use]
    pub const fn none() -> Self {
        Self { sets: Vec::new(), trace: None }
    }

    /// Creates changes from pairs of dotted key and value.
    #[must_use]
    pub fn from_pairs(pairs: &[(&str, &str)]) -> Self {
        let mut overrides = Self::none();
        for (key, value) in pairs {
            overrides.push(key, value, None, Path::new(""));
        }
        overrides
    }

    fn push(&mut self, key: &str, value: &str, label: Option<String>, base: &Path) {
        let (key, value) = (key.to_owned(), value.to_owned());
        self.sets.push(Set { key, value, label, base: base.to_owned() });
    }

    /// Adds a change from another file: messages call it `label`, and relative file names in it are relative to `base`. `value`
    /// is a value of TOML.
    pub fn set_from(&mut self, key: &str, value: &str, label: &str, base: &Path) {
        self.push(key, value, Some(label.to_owned()), base);
    }

    /// Adds the argument of a `--set`: a dotted key, `=`, and a value; quotes around a text may be omitted. Members of
    /// `[[station]]` and the like are selected by name or by number from 0: `station.phone.channel.distance=20 m`.
    ///
    /// # Errors
    /// There is no `=`, or no key before it.
    pub fn set(&mut self, argument: &str) -> Result<(), ScenarioError> {
        match argument.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                self.push(key.trim(), value.trim(), None, Path::new(""));
                Ok(())
            }
            _ => Err(ScenarioError::Override {
                option: format!("--set {}", shortened(argument)),
                problem: "is not of the form key=value; write for example --set flow.vr.rate=\"20 Mbit/s\""
                    .to_owned(),
            }),
        }
    }

    /// Adds a `--trace FILE`, which sets the file of the first station whose channel is a trace.
    pub fn trace(&mut self, file: &str) {
        self.trace = Some(file.to_owned());
    }

    /// The options as shown in messages, in the order of their numbers.
    pub(super) fn options(&self) -> Vec<String> {
        let sets = self.sets.iter().map(Set::option);
        sets.chain(self.trace.iter().map(|file| format!("--trace {}", shortened(file)))).collect()
    }

    /// Removes the option that messages show like this; returns whether there is one.
    pub(super) fn remove(&mut self, option: &str) -> bool {
        match self.options().iter().position(|known| known == option) {
            Some(index) if index < self.sets.len() => {
                self.sets.remove(index);
                true
            }
            Some(_) => self.trace.take().is_some(),
            None => false,
        }
    }

    /// Sets only a plain key of the top level, if any option names it.
    pub(super) fn choose(&self, root: &mut Node, name: &str) {
        let Value::Table(top) = &mut root.value else { return };
        for (index, set) in self.sets.iter().enumerate().filter(|(_, set)| set.key == name) {
            put(top, name, node::parse_override(&set.value, index));
        }
    }

    /// Base folders of relative file names, by option.
    pub(super) fn bases(&self) -> Vec<PathBuf> {
        self.sets.iter().map(|set| set.base.clone()).collect()
    }

    pub(super) fn apply(&self, root: &mut Node) -> Result<(), ScenarioError> {
        for (index, set) in self.sets.iter().enumerate() {
            let target = find(root, &set.key, Origin::Override(index))
                .map_err(|problem| ScenarioError::Override { option: set.option(), problem })?;
            *target = node::parse_override(&set.value, index);
        }
        if let Some(file) = &self.trace {
            let origin = Origin::Override(self.sets.len());
            let channel = first_trace(root).ok_or_else(|| ScenarioError::Override {
                option: format!("--trace {}", shortened(file)),
                problem: "has no effect: no station's channel is a trace; \
                          write channel = { kind = \"trace\", file = \"…\" } for one, or take the scenario trace-vr"
                    .to_owned(),
            })?;
            put(channel, "file", Node { value: Value::Text(file.clone()), origin });
        }
        Ok(())
    }
}

fn put(entries: &mut Vec<(String, Node)>, key: &str, node: Node) {
    match entries.iter_mut().find(|(name, _)| name == key) {
        Some((_, old)) => *old = node,
        None => entries.push((key.to_owned(), node)),
    }
}

/// The channel table of the first station whose channel is a trace.
fn first_trace(root: &mut Node) -> Option<&mut Vec<(String, Node)>> {
    let Value::Table(top) = &mut root.value else { return None };
    let (_, stations) = top.iter_mut().find(|(key, _)| key == "station")?;
    let Value::List(stations) = &mut stations.value else { return None };
    stations.iter_mut().find_map(|station| {
        let Value::Table(station) = &mut station.value else { return None };
        let (_, channel) = station.iter_mut().find(|(key, _)| key == "channel")?;
        let Value::Table(channel) = &mut channel.value else { return None };
        let is_trace = channel
            .iter()
            .any(|(key, node)| key == "kind" && matches!(&node.value, Value::Text(kind) if kind == "trace"));
        is_trace.then_some(channel)
    })
}

/// Finds the node of a dotted key; missing tables are created, members of lists must exist.
fn find<'a>(root: &'a mut Node, key: &str, origin: Origin) -> Result<&'a mut Node, String> {
    let mut node = root;
    let mut walked = String::new();
    for part in key.split('.').map(str::trim) {
        if part.is_empty() {
            return Err(
                "has an empty part in its key; write for example --set air.width=\"20 MHz\"".to_owned()
            );
        }
        // A value that is not a table is replaced: `fading = "rayleigh"` by `fading.kind`.
        if !matches!(node.value, Value::Table(_) | Value::List(_)) {
            node.value = Value::Table(Vec::new());
        }
        node = match &mut node.value {
            Value::Table(entries) => {
                let at = match entries.iter().position(|(name, _)| name == part) {
                    Some(at) => at,
                    None => {
                        let value = if walked.is_empty() && NAMED.contains(&part) {
                            Value::List(Vec::new())
                        } else {
                            Value::Table(Vec::new())
                        };
                        entries.push((part.to_owned(), Node { value, origin }));
                        entries.len() - 1
                    }
                };
                &mut entries[at].1
            }
            Value::List(items) => {
                let names: Vec<String> = items.iter().filter_map(name_of).collect();
                let at = items
                    .iter()
                    .position(|item| name_of(item).as_deref() == Some(part))
                    .or_else(|| part.parse().ok().filter(|index: &usize| *index < items.len()));
                let Some(at) = at else {
                    return Err(no_member(&walked, part, items.len(), &names));
                };
                &mut items[at]
            }
            _ => return Err(format!("{walked} has no members")),
        };
        if !walked.is_empty() {
            walked.push('.');
        }
        walked.push_str(part);
    }
    Ok(node)
}

pub(super) fn name_of(item: &Node) -> Option<String> {
    let Value::Table(entries) = &item.value else { return None };
    entries.iter().find_map(|(key, node)| match &node.value {
        Value::Text(text) if key == "name" => Some(text.clone()),
        _ => None,
    })
}

fn no_member(list: &str, part: &str, count: usize, names: &[String]) -> String {
    let part = shortened(part);
    let suggestion = nearest(&part, names.iter().map(String::as_str))
        .map_or(String::new(), |name| format!("did you mean {name}? "));
    if count == 0 {
        format!("there is no {list} {part}, since there is no {list} at all")
    } else if names.is_empty() {
        format!("{list} has no member {part}; members are numbered from 0 to {}", count - 1)
    } else {
        let shown: Vec<&str> = names.iter().take(20).map(|name| name.as_str()).collect();
        format!("there is no {list} {part}; {suggestion}there are {}", shown.join(", "))
    }
}

//! `surroundings`: a preset for values that a scenario omits.
//!
//! A preset is a file of the scenario language with a `channel` and the neighbours and bursts of a place; docs/understand/office-channel.md
//! has the source of each number. It is merged before overrides are applied and before anything is read, so that the resolved scenario
//! shows every number and an option can change it.

use super::error::ScenarioError;
use super::node::{self, Node, Origin, Value};
use super::overrides::name_of;
use super::section::{Document, Section};

/// The key of the top level.
pub(super) const KEY: &str = "surroundings";

macro_rules! presets {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../scenarios/surroundings/", $name, ".toml")))),*]
    };
}

/// The presets, three from the kindest to the worst, then those whose bad moments are a hidden network's, near and far.
pub(super) const PRESETS: &[(&str, &str)] = presets!["calm", "office", "harsh", "hidden", "distant"];

/// Sets the channel of every station without one to that of the chosen preset, and adds its neighbours and its interference; existing
/// entries of the same name are kept.
pub(super) fn fill_in(root: &mut Node, document: &Document<'_>) -> Result<(), ScenarioError> {
    let top = Section::top(document, root);
    let Some(Node { origin, .. }) = top.get(KEY) else { return Ok(()) };
    let origin = *origin;
    let text = top.choice(KEY, "", PRESETS)?;
    let mut preset = node::parse_document(text, KEY)?;
    // Errors in merged values refer to the line with the key.
    written_at(&mut preset, origin);
    let (Value::Table(entries), Value::Table(preset)) = (&mut root.value, preset.value) else {
        return Ok(());
    };
    for (key, value) in preset {
        if key == "channel" {
            give_channel(entries, &value);
        } else {
            append(entries, key, value);
        }
    }
    Ok(())
}

fn written_at(node: &mut Node, origin: Origin) {
    node.origin = origin;
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(|item| written_at(item, origin)),
        Value::Table(entries) => entries.iter_mut().for_each(|(_, entry)| written_at(entry, origin)),
        _ => {}
    }
}

fn give_channel(entries: &mut [(String, Node)], channel: &Node) {
    let stations = entries.iter_mut().filter(|(key, _)| key == "station");
    for (_, stations) in stations {
        let Value::List(stations) = &mut stations.value else { continue };
        for station in stations {
            if let Value::Table(station) = &mut station.value
                && !station.iter().any(|(key, _)| key == "channel")
            {
                station.push(("channel".to_owned(), channel.clone()));
            }
        }
    }
}

/// Appends the members of a list to the list of a key.
fn append(entries: &mut Vec<(String, Node)>, key: String, value: Node) {
    let Some((_, old)) = entries.iter_mut().find(|(name, _)| *name == key) else {
        entries.push((key, value));
        return;
    };
    // Other values than lists are refused when they are read.
    let (Value::List(old), Value::List(new)) = (&mut old.value, value.value) else { return };
    let known: Vec<_> = old.iter().filter_map(name_of).collect();
    old.extend(new.into_iter().filter(|item| name_of(item).is_none_or(|name| !known.contains(&name))));
}

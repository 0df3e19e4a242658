//! Errors about the parameters of a slot: which one is wrong, and what is allowed.

use crate::error::ScenarioError;
use crate::node::{Node, Value};
use crate::section::{Section, nearest};

/// The error for a problem with the parameters in `table`, which is the value of `key` in `section`. `check` judges parameters.
pub(super) fn wrong(
    (section, key): (&Section<'_>, &str),
    table: &Section<'_>,
    parameters: &toml::Table,
    problem: &str,
    check: impl Fn(toml::Table) -> Result<(), String>,
) -> ScenarioError {
    // A sentence about one parameter begins with its name; its position may be a `--set` instead of the table.
    let about = |name: &String| problem.strip_prefix(name.as_str())?.strip_prefix(' ');
    if let Some((name, problem)) = table.entries().iter().find_map(|(name, _)| Some((name, about(name)?))) {
        return table.wrong(name, problem);
    }
    // One about a text begins with that text.
    let is_quoted = |node: &Node| match &node.value {
        Value::Text(text) => problem.starts_with(&format!("\"{text}\" ")),
        _ => false,
    };
    if let Some((name, _)) = table.entries().iter().find(|(_, node)| is_quoted(node)) {
        return table.wrong(name, format!("is wrong: {problem}"));
    }
    let blamed = blamed(parameters, problem, check);
    match blamed.as_ref().and_then(|(name, allowed)| Some((name, table.get(name)?, allowed))) {
        Some((name, node, allowed)) => {
            let (found, text) = match &node.value {
                Value::Text(text) => (format!("is {}", node.value.describe()), Some(text)),
                Value::List(items) => {
                    let is_wrong = |node: &&Node| !matches!(&node.value, Value::Text(text) if words(allowed).any(|word| word == text));
                    let item = items.iter().find(is_wrong).unwrap_or(node);
                    let text = if let Value::Text(text) = &item.value { Some(text) } else { None };
                    (format!("has {}", item.value.describe()), text)
                }
                other => (format!("is {}", other.describe()), None),
            };
            let near = text.and_then(|text| nearest(text, words(allowed)));
            let near = near.map_or(String::new(), |name| format!("did you mean {name}? "));
            table.wrong(name, format!("{found}; {near}allowed is {allowed}"))
        }
        None => section.wrong(key, format!("is wrong: {problem}")),
    }
}

/// The parameter to blame for a problem with the type of one, and the values that it may have.
fn blamed(
    parameters: &toml::Table,
    problem: &str,
    check: impl Fn(toml::Table) -> Result<(), String>,
) -> Option<(String, String)> {
    // Of an unknown name the allowed ones are other names, not values.
    if !problem.starts_with("unknown variant") && !problem.starts_with("invalid") {
        return None;
    }
    let without = |name: &str| {
        let mut others = parameters.clone();
        others.remove(name);
        others
    };
    let (name, _) =
        parameters.iter().find(|(name, _)| check(without(name)).err().as_deref() != Some(problem))?;
    // A word that is no choice brings out the choices, alone or in a list.
    let no_choice = toml::Value::String("?".to_owned());
    let choices = [no_choice.clone(), toml::Value::Array(vec![no_choice])].into_iter().find_map(|value| {
        let mut asked = without(name);
        asked.insert(name.clone(), value);
        check(asked).err().filter(|problem| problem.contains("unknown variant"))
    });
    let allowed = choices.as_deref().and_then(allowed).or_else(|| allowed(problem))?;
    Some((name.clone(), allowed))
}

/// The values in "one of a, b" and "a or b".
fn words(allowed: &str) -> impl Iterator<Item = &str> {
    let is_list = allowed.starts_with("one of") || allowed.contains(" or ");
    let words = allowed.split([' ', ',', '`']).filter(|word| !["", "one", "of", "or"].contains(word));
    words.filter(move |_| is_list)
}

/// The values that the reader's sentence allows.
fn allowed(problem: &str) -> Option<String> {
    let (_, allowed) = problem.split_once("expected ").or_else(|| problem.split_once("allowed is "))?;
    Some(if allowed == "f64" { "a number".to_owned() } else { allowed.to_owned() })
}

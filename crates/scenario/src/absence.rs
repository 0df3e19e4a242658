//! `away` of stations and the access point: a radio that leaves the channel.

use airbound_air::absence::Absence;
use airbound_units::Span;

use super::error::ScenarioError;
use super::key::{Key, key};
use super::section::Section;

pub(super) const KEYS: &[Key] = &[
    key("period", "required; 1 ms–1 h", "from absence to absence"),
    key("length", "required; 1 us to less than `period`", "of an absence"),
    key("phase", r#"`"0 ms"`; 0–1 h"#, "of the first one"),
    key("announced", "true", "peers know, hold frames"),
];

/// Reads the table `away` of a section; `None` if there is none.
pub(super) fn read(section: &Section<'_>) -> Result<Option<Absence>, ScenarioError> {
    if !section.has("away") {
        return Ok(None);
    }
    let table = section.table("away")?;
    table.allow("away", &[KEYS])?;
    if let Some(key) = ["period", "length"].into_iter().find(|key| !table.has(key)) {
        return Err(table.missing(key, &format!("write for example {key} = \"100 ms\"")));
    }
    let longest = Span::from_secs(3600);
    let period = table.ranged("period", Span::from_secs(1), Span::from_millis(1)..=longest)?;
    let length = table.ranged("length", Span::from_millis(100), Span::from_micros(1)..=longest)?;
    if length >= period {
        return Err(table.wrong("length", format!("is {length}; allowed is less than the period, {period}")));
    }
    Ok(Some(Absence {
        period,
        length,
        phase: table.ranged("phase", Span::ZERO, Span::ZERO..=longest)?,
        announced: table.boolean("announced", true)?,
    }))
}

//! `power-save` of a station.

use airbound_air::power_save::{PowerSave, Wake};
use airbound_units::Span;

use super::error::ScenarioError;
use super::key::{Key, key};
use super::section::Section;

pub(super) const KEYS: &[Key] = &[
    key("wake", "**`null-frame`** `u-apsd`", "way to waiting frames"),
    key("timeout", r#"`"200 ms"`; 1 ms–60 s"#, "`null-frame`: last frame to sleep"),
    key("listen-interval", "1; 1–255", "one beacon of so many"),
];

/// Reads the table `power-save` of a station; `None` if there is none. `beacons` is whether the access point sends beacons.
pub(super) fn read(section: &Section<'_>, beacons: bool) -> Result<Option<PowerSave>, ScenarioError> {
    if !section.has("power-save") {
        return Ok(None);
    }
    let table = section.table("power-save")?;
    table.allow("power-save", &[KEYS])?;
    let refused = [
        (!beacons, "air.beacons is false: no beacon would wake the station"),
        (section.has("away"), "the station has away, too; allowed is one of the two"),
        (section.has("via"), "the station has via; allowed are stations that hear the access point"),
    ];
    if let Some((_, problem)) = refused.into_iter().find(|(refused, _)| *refused) {
        return Err(section.wrong("power-save", format!("is not allowed, since {problem}")));
    }
    let wake =
        table.choice("wake", Wake::NullFrame, &[("null-frame", Wake::NullFrame), ("u-apsd", Wake::UApsd)])?;
    if wake == Wake::UApsd && table.has("timeout") {
        return Err(table.wrong("timeout", "is not allowed with wake = \"u-apsd\", which has none"));
    }
    let timeout = match wake {
        Wake::NullFrame => Some(table.ranged(
            "timeout",
            Span::from_millis(200),
            Span::from_millis(1)..=Span::from_secs(60),
        )?),
        Wake::UApsd => None,
    };
    let listen_interval = table.whole("listen-interval", 1, 1..=255)?;
    Ok(Some(PowerSave { wake, timeout, listen_interval }))
}

//! A time that may be `"none"` in a file: TOML has no null.

use airbound_units::Span;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const NONE: &str = "none";

pub(in crate::queue) fn serialize<S: Serializer>(
    time: &Option<Span>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => time.serialize(serializer),
        None => serializer.serialize_str(NONE),
    }
}

pub(in crate::queue) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Span>, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text == NONE {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|error| D::Error::custom(format!("{error}, or \"{NONE}\"")))
}

//! Selection of the traffic that uses the classic link beside Law.

use std::fmt;

use airbound_wifi::edca::Category;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::classify::BulkConfig;
use crate::error::ConfigError;

/// Traffic that uses the classic link, Linux's queue and Minstrel-HT, beside Law as a standby module ([`crate::link::BesideClassic`],
/// appendix A).
///
/// - a list of access categories, such as `["be", "bk"]`; the default is none;
/// - `"auto"`: flows that behave as bulk transfers ([`crate::classify::BulkDetector`]), in any category, or a table with the keys of
///   [`BulkConfig`] for values other than its defaults.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Classic {
    /// These access categories.
    Categories(Vec<Category>),
    /// Bulk transfers, recognised by their effect on the queue.
    Bulk(BulkConfig),
}

impl Default for Classic {
    fn default() -> Self {
        Self::Categories(Vec::new())
    }
}

impl Classic {
    /// Whether all traffic uses Law.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        matches!(self, Self::Categories(categories) if categories.is_empty())
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Categories(_) => Ok(()),
            Self::Bulk(config) => config.check(),
        }
    }
}

struct ListNameOrTable;

impl<'de> Visitor<'de> for ListNameOrTable {
    type Value = Classic;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of access categories, \"auto\", or a table of what counts as a bulk transfer")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Classic, E> {
        match name {
            "auto" => Ok(Classic::Bulk(BulkConfig::default())),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(name), &self)),
        }
    }

    fn visit_seq<S: SeqAccess<'de>>(self, list: S) -> Result<Classic, S::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list)).map(Classic::Categories)
    }

    fn visit_map<M: MapAccess<'de>>(self, table: M) -> Result<Classic, M::Error> {
        BulkConfig::deserialize(MapAccessDeserializer::new(table)).map(Classic::Bulk)
    }
}

impl<'de> Deserialize<'de> for Classic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListNameOrTable)
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::Span;

    use super::super::LawConfig;
    use super::*;

    fn read(text: &str) -> Result<Classic, String> {
        let config: LawConfig = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        config.check().map_err(|error| error.to_string())?;
        let written = toml::to_string(&config).expect("writable");
        assert_eq!(toml::from_str::<LawConfig>(&written), Ok(config.clone()), "{written}");
        Ok(config.classic)
    }

    #[test]
    fn a_list_a_name_or_a_table() {
        assert!(read("").unwrap().is_nothing());
        assert_eq!(
            read("classic = [\"be\", \"bk\"]"),
            Ok(Classic::Categories(vec![Category::Be, Category::Bk]))
        );
        assert_eq!(read("classic = \"auto\""), Ok(Classic::Bulk(BulkConfig::default())));
        let trial = BulkConfig { trial: Span::from_secs(2), ..BulkConfig::default() };
        assert_eq!(read("classic = { trial = \"2 s\" }"), Ok(Classic::Bulk(trial)));
        assert!(read("classic = \"bulk\"").unwrap_err().contains("\"auto\""));
        assert!(read("classic = [\"best\"]").is_err());
        assert!(read("classic = { trials = 3 }").unwrap_err().contains("trials"));
        let sentence = "classic.trial is 0 ms; allowed is 500 ms to 60 s";
        assert_eq!(read("classic = { trial = \"0 s\" }"), Err(sentence.to_owned()));
        for wrong in
            ["found-at = 1.1", "found-at = 0.05", "lost-at = -1.0", "most-loss = 0.0", "pause = \"0 s\""]
        {
            assert!(read(&format!("classic = {{ {wrong} }}")).is_err(), "{wrong}");
        }
    }
}

//! The queue inside Law's time limit: it determines the order, and may drop packets for reasons of its own.

use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::queue::{FqCodelAirtimeConfig, QueueConfig};

/// The queue that determines the order: a name, such as `"codel"`, or a table with `kind` and the parameters of that queue.
///
/// - `fifo`, the paper's: a single queue for all traffic.
/// - `codel`: the same with CoDel as a further reason to drop (the paper's future work, Sec. 5).
/// - `fq-codel-airtime` (`linux`), the default: stations take turns by airtime, flows within a station take turns. With one receiver it
///   equals `fifo` within the noise; beside a slow station, a fast one loses nothing, while with `fifo` it loses a quarter and waits as
///   long as the slow one.
/// - `last-pq`: the same, with urgent packets of flows that have a demand first: demands determine the order, the bound when to give
///   up.
///
/// Any other queue works too. A limit on packets below the queue (the airtime queue limit) should be off: Law already limits them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct InnerQueue(pub QueueConfig);

impl Default for InnerQueue {
    fn default() -> Self {
        Self(QueueConfig::FqCodelAirtime(FqCodelAirtimeConfig {
            airtime_queue_limit: None,
            ..FqCodelAirtimeConfig::default()
        }))
    }
}

struct NameOrTable;

impl<'de> Visitor<'de> for NameOrTable {
    type Value = QueueConfig;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a queue, or a table with kind and parameters")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<QueueConfig, E> {
        QueueConfig::deserialize(MapDeserializer::new(std::iter::once(("kind", name))))
    }

    fn visit_map<M: MapAccess<'de>>(self, table: M) -> Result<QueueConfig, M::Error> {
        QueueConfig::deserialize(MapAccessDeserializer::new(table))
    }
}

impl<'de> Deserialize<'de> for InnerQueue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NameOrTable).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::LawConfig;
    use crate::frame::PlainPacket;

    fn kind(text: &str) -> Result<&'static str, String> {
        let config: LawConfig = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        config.check().map_err(|error| error.to_string())?;
        assert_eq!(
            toml::from_str::<LawConfig>(&toml::to_string(&config).expect("writable")),
            Ok(config.clone())
        );
        config.inner_queue.0.build::<PlainPacket>(1).expect("checked");
        Ok(config.inner_queue.0.name())
    }

    #[test]
    fn a_name_or_a_table() {
        assert_eq!(kind(""), Ok("fq-codel-airtime"));
        assert_eq!(kind("inside = \"codel\""), Ok("codel"));
        assert_eq!(kind("inside = \"linux\""), Ok("fq-codel-airtime"));
        assert_eq!(kind("inside = { kind = \"codel\", target = \"10 ms\" }"), Ok("codel"));
        assert!(kind("inside = \"red\"").unwrap_err().contains("red"));
        assert!(kind("inside = { kind = \"codel\", limits = 3 }").unwrap_err().contains("limits"));
        assert!(
            kind("inside = { kind = \"fifo\", limit = { packets = 0 } }")
                .unwrap_err()
                .contains("limit.packets")
        );
        assert!(kind("inside = 3").is_err());
    }
}

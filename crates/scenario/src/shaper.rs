//! `[access-point.shaper]`: a token bucket in front of the Wi-Fi queue.

use airbound_units::{BitRate, ByteCount};
use serde::Serialize;

use super::error::ScenarioError;
use super::key::{Key, key};
use super::scheme::{SHAPER_QUEUES, Slot};
use super::section::Section;

/// A shaper of the traffic from the wire, as home routers have: a rate below the wire's, and a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Shaper {
    /// The rate, of packets from the IP header on: 1 kbit/s to 1 Tbit/s.
    pub rate: BitRate,
    /// The depth of the token bucket: 0 to 16 MiB. Zero: a packet passes once the time of the one before it is over.
    pub burst: ByteCount,
    /// The queue at the bucket, common to all flows and categories.
    pub queue: Slot,
}

pub(super) const KEYS: &[Key] = &[
    key("rate", "required; 1 kbit/s–1 Tbit/s", "from the IP header on"),
    key("burst", r#"`"1500 B"`; 0 B–16 MiB"#, "depth of the bucket"),
    key("queue", "**`fifo`** `codel` `pie` `fq-codel`", "a name, or a table with `kind`"),
];

impl Shaper {
    pub(super) fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        section.allow("a shaper", &[KEYS])?;
        if !section.has("rate") {
            return Err(section.missing("rate", "write for example rate = \"50 Mbit/s\""));
        }
        Ok(Self {
            rate: section.ranged(
                "rate",
                BitRate::from_mbps(50),
                BitRate::from_kbps(1)..=BitRate::from_mbps(1_000_000),
            )?,
            burst: section.ranged(
                "burst",
                ByteCount::new(1500),
                ByteCount::ZERO..=ByteCount::new(16 << 20),
            )?,
            queue: Slot::read(section, "queue", SHAPER_QUEUES)?.unwrap_or_else(|| Slot::plain("fifo")),
        })
    }
}

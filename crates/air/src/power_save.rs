//! Power save of a station: when its radio sleeps, and what wakes it.

use airbound_units::Span;
use serde::Serialize;

/// The way in which a sleeping station gets its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wake {
    /// A beacon that announces frames wakes it; a null frame tells the access point, which sends all of them. It falls asleep some time
    /// after the last frame, as phones do.
    NullFrame,
    /// Each of its own frames triggers a service period, as does a null frame after a beacon that announces frames (802.11-2020,
    /// 11.2.3.5: U-APSD with all categories delivery- and trigger-enabled, service periods of any length).
    UApsd,
}

/// Power save of a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct PowerSave {
    /// Its way to the frames that wait.
    pub wake: Wake,
    /// Time from its last frame until it falls asleep; `None` with [`Wake::UApsd`], which needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// It listens to one beacon of this many; at least 1.
    pub listen_interval: u16,
}

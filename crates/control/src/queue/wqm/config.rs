//! Configuration of WQM, and choices that the paper leaves open or names as future work.

use airbound_units::Span;
use serde::{Deserialize, Serialize};

use super::super::station_lists::check_packets;
use crate::error::ConfigError;

/// Change of the buffer size (Sec. V-A, Fig. 5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepRule {
    /// One packet more; half, rounded up: the paper's choice, algorithm 1.
    #[default]
    Aimd,
    /// One packet more; one packet less.
    Aiad,
    /// Twice as many; one packet less.
    Miad,
    /// Twice as many; half, rounded up.
    Mimd,
}

/// Derivation of the free share of the channel from its measured load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FreeShare {
    /// 1 - (busy - own): the share that others leave. A driver's busy time includes its own transmissions.
    #[default]
    Others,
    /// 1 - busy: the paper's definition, taken literally. A single saturating station then finds no free time at all.
    Literal,
}

/// Source of the lower bound B_min.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Floor {
    /// `subframes`: the longest A-MPDU in the network at any rate (Sec. IV-B).
    #[default]
    Network,
    /// The longest A-MPDU within the duration limit at the present rate: 1 where aggregation is not possible.
    Rate,
}

/// The packet to drop when the buffer is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropRule {
    /// The arriving packet.
    #[default]
    Tail,
    /// The oldest packet of the flow with the most packets in the buffer: the flow that fills it is notified soonest, and others are
    /// spared (the paper's future work; the rule is that of Suter et al., "Design considerations for supporting TCP with per-flow
    /// queueing", 1998).
    Selective,
}

/// An adaptive look-around interval (the paper's future work; the rule is Airbound's): halved after an update that found the drain time
/// above the limit in a buffer that can still shrink, doubled after any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LookAround {
    /// Shortest interval, 1 ms to 10 s. Default 25 ms.
    pub shortest: Span,
    /// Longest interval, at least the shortest, at most 10 s. Default 400 ms.
    pub longest: Span,
}

impl Default for LookAround {
    fn default() -> Self {
        Self { shortest: Span::from_millis(25), longest: Span::from_millis(400) }
    }
}

/// Configuration of [`super::Wqm`] and [`super::BufferSize`]. Defaults are the paper's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct WqmConfig {
    /// Acceptable drain time, 1 us to 10 s. Default 2.5 ms (Sec. IV-B).
    pub limit: Span,
    /// Measurement interval, 1 ms to 10 s: the update interval of the rate control, since the rate is fixed over it (Sec. V-A). Default
    /// 100 ms, that of Minstrel in the paper's kernel (3.17); the simulator fills in the interval of its rate control where it has one.
    pub interval: Span,
    /// Upper limit on subframes of an A-MPDU, 1 to 1024: K of equations 6 and 7, and the lower bound B_min. 1 without aggregation.
    /// Default 64 (802.11n); the simulator fills in that of the transmit path.
    pub subframes: u16,
    /// Source of B_min.
    pub floor: Floor,
    /// Upper bound B_max, 1 to 1 000 000 packets; B_min wins if it is larger. Default 95 (Sec. IV-B).
    pub max_packets: usize,
    /// Single-hop round trips of an A-MPDU that B_initial holds, 1 to 100: "a larger B_initial may be needed in multi-hop networks" (Sec.
    /// IV-A), where each hop has one. Default 1 (equation 1).
    #[serde(skip_serializing_if = "is_one")]
    pub initial_hops: u16,
    /// Change of the size.
    pub step: StepRule,
    /// F of equation 2.
    pub free_share: FreeShare,
    /// The packet to drop when the buffer is full.
    pub drop: DropRule,
    /// Whether the interval adapts. Default no.
    #[serde(with = "super::super::switch")]
    pub look_around: Option<LookAround>,
}

/// Whether B_initial is that of equation 1, which is not printed.
const fn is_one(hops: &u16) -> bool {
    *hops == 1
}

impl Default for WqmConfig {
    fn default() -> Self {
        Self {
            limit: Span::from_micros(2500),
            interval: Span::from_millis(100),
            subframes: 64,
            floor: Floor::Network,
            max_packets: 95,
            initial_hops: 1,
            step: StepRule::Aimd,
            free_share: FreeShare::Others,
            drop: DropRule::Tail,
            look_around: None,
        }
    }
}

impl WqmConfig {
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value is out of range.
    pub(super) fn check(self) -> Result<Self, ConfigError> {
        let longest_time = Span::from_secs(10);
        let limit = Span::from_micros(1)..=longest_time;
        ConfigError::check(limit.contains(&self.limit), "limit", self.limit, "1 us to 10 s")?;
        let intervals = Span::from_millis(1)..=longest_time;
        ConfigError::check(intervals.contains(&self.interval), "interval", self.interval, "1 ms to 10 s")?;
        ConfigError::check((1..=1024).contains(&self.subframes), "subframes", self.subframes, "1 to 1024")?;
        check_packets("max-packets", self.max_packets)?;
        let hops = 1..=100;
        ConfigError::check(hops.contains(&self.initial_hops), "initial-hops", self.initial_hops, "1 to 100")?;
        if let Some(LookAround { shortest, longest }) = self.look_around {
            ConfigError::check(
                intervals.contains(&shortest),
                "look-around.shortest",
                shortest,
                "1 ms to 10 s",
            )?;
            ConfigError::check(
                (shortest..=longest_time).contains(&longest),
                "look-around.longest",
                longest,
                "look-around.shortest to 10 s",
            )?;
        }
        Ok(self)
    }
}

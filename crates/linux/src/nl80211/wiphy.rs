//! A radio and its capabilities.

use super::{attribute, command};
use crate::netlink::message::Attributes;

/// Extended features, by bit (`NL80211_EXT_FEATURE_*`).
mod feature {
    pub(super) const ACK_SIGNAL: usize = 27;
    pub(super) const TXQS: usize = 28;
    pub(super) const AIRTIME_FAIRNESS: usize = 33;
    pub(super) const AQL: usize = 40;
}

mod tid {
    pub(super) const VIF: u16 = 2;
    pub(super) const PEER: u16 = 3;
    pub(super) const RETRY_SHORT: u16 = 7;
    pub(super) const RETRY_LONG: u16 = 8;
}

/// Limits of mac80211's queues, over all stations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TxqLimits {
    /// Limit of packets.
    pub packets: Option<u32>,
    /// Limit of memory, bytes.
    pub memory: Option<u32>,
    /// The quantum of a flow, bytes.
    pub quantum: Option<u32>,
}

/// Settings supported for each traffic identifier: bits of `NL80211_TID_CONFIG_ATTR_*`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TidSupport {
    /// For the interface.
    pub interface: u64,
    /// For a single station.
    pub station: u64,
    /// Largest number of tries of a short frame.
    pub short_retries: u8,
    /// Largest number of tries of a long frame.
    pub long_retries: u8,
}

impl TidSupport {
    const fn has(bits: u64, attribute: u16) -> bool {
        bits >> attribute & 1 != 0
    }

    /// Whether retry limits can be set for a station.
    #[must_use]
    pub const fn has_retries(&self) -> bool {
        Self::has(self.station, tid::RETRY_SHORT) || Self::has(self.station, tid::RETRY_LONG)
    }

    /// Whether aggregation can be disabled for a station.
    #[must_use]
    pub const fn has_ampdu(&self) -> bool {
        Self::has(self.station, 9)
    }

    /// Whether a rate can be set for a station.
    #[must_use]
    pub const fn has_rate(&self) -> bool {
        Self::has(self.station, 13)
    }

    /// Names of the settings supported for a station.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        let known = [
            (6, "no-ack"),
            (7, "short retries"),
            (8, "long retries"),
            (9, "A-MPDU"),
            (10, "RTS/CTS"),
            (11, "A-MSDU"),
            (13, "rate"),
        ];
        known.into_iter().filter(|(bit, _)| Self::has(self.station, *bit)).map(|(_, name)| name).collect()
    }
}

/// A radio.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wiphy {
    /// Its number, usually 0 for phy0.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Extended features, one bit each.
    features: Vec<u8>,
    /// Supported commands of nl80211.
    commands: Vec<u32>,
    /// Limits of mac80211's queues; empty if the driver has no such queues.
    pub txq_limits: TxqLimits,
    /// Counters of this radio's queues in mac80211, over all stations.
    pub txq: Option<super::TxqCounters>,
    /// Settings supported for each traffic identifier.
    pub tid: TidSupport,
    /// Tries of a short frame.
    pub short_retries: Option<u8>,
    /// Tries of a long frame.
    pub long_retries: Option<u8>,
}

impl Wiphy {
    pub(super) fn new(number: u32) -> Self {
        Self { number, ..Self::default() }
    }

    fn feature(&self, bit: usize) -> bool {
        self.features.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 != 0)
    }

    /// Whether mac80211 has a queue for each station and category (FQ-CoDel).
    #[must_use]
    pub fn has_txqs(&self) -> bool {
        self.feature(feature::TXQS)
    }

    /// Whether mac80211 schedules stations by airtime and weight.
    #[must_use]
    pub fn has_airtime_fairness(&self) -> bool {
        self.feature(feature::AIRTIME_FAIRNESS)
    }

    /// Whether mac80211 bounds the airtime queued in the hardware.
    #[must_use]
    pub fn has_airtime_queue_limit(&self) -> bool {
        self.feature(feature::AQL)
    }

    /// Whether it reports the signal strength of acknowledgements.
    #[must_use]
    pub fn has_ack_signal(&self) -> bool {
        self.feature(feature::ACK_SIGNAL)
    }

    /// Whether it supports rate masks; a firmware that chooses rates itself may still refuse one.
    #[must_use]
    pub fn has_bitrate_mask(&self) -> bool {
        self.commands.contains(&u32::from(command::SET_TX_BITRATE_MASK))
    }

    /// Whether it supports settings for each traffic identifier.
    #[must_use]
    pub fn has_tid_config(&self) -> bool {
        // The list of commands does not include this one.
        (self.tid.station | self.tid.interface) != 0
    }

    /// Adds the attributes of one message of a split dump.
    pub(super) fn add(&mut self, attributes: Attributes<'_>) {
        for attribute in attributes {
            match attribute.kind {
                attribute::WIPHY_NAME => self.name = attribute.text().unwrap_or_default().to_owned(),
                attribute::EXT_FEATURES => self.features = attribute.value.to_vec(),
                attribute::SUPPORTED_COMMANDS => {
                    self.commands = attribute.nested().filter_map(|command| command.u32()).collect();
                }
                attribute::TXQ_STATS => self.txq = Some(super::TxqCounters::read(attribute.nested())),
                attribute::TXQ_LIMIT => self.txq_limits.packets = attribute.u32(),
                attribute::TXQ_MEMORY_LIMIT => self.txq_limits.memory = attribute.u32(),
                attribute::TXQ_QUANTUM => self.txq_limits.quantum = attribute.u32(),
                attribute::WIPHY_RETRY_SHORT => self.short_retries = attribute.u8(),
                attribute::WIPHY_RETRY_LONG => self.long_retries = attribute.u8(),
                attribute::TID_CONFIG => {
                    let find = |kind| attribute.nested().find(kind);
                    self.tid = TidSupport {
                        interface: find(tid::VIF).and_then(|bits| bits.u64()).unwrap_or(0),
                        station: find(tid::PEER).and_then(|bits| bits.u64()).unwrap_or(0),
                        short_retries: find(tid::RETRY_SHORT).and_then(|most| most.u8()).unwrap_or(0),
                        long_retries: find(tid::RETRY_LONG).and_then(|most| most.u8()).unwrap_or(0),
                    };
                }
                _ => {}
            }
        }
    }
}

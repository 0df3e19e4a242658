//! Settings of radios, interfaces and stations. Drivers refuse settings that they do not support (EOPNOTSUPP); no setting is applied in
//! part.

use super::{TxqLimits, Wireless, attribute, command};
use crate::{LinuxError, MacAddress};

/// `NL80211_TID_CONFIG_ATTR_*`.
mod tid {
    pub(super) const OVERRIDE: u16 = 4;
    pub(super) const TIDS: u16 = 5;
    pub(super) const NOACK: u16 = 6;
    pub(super) const RETRY_SHORT: u16 = 7;
    pub(super) const RETRY_LONG: u16 = 8;
    pub(super) const AMPDU: u16 = 9;
    pub(super) const RTS: u16 = 10;
    pub(super) const AMSDU: u16 = 11;
    pub(super) const RATE_KIND: u16 = 12;
    pub(super) const RATE: u16 = 13;
}

/// `NL80211_TXRATE_*`.
mod rates {
    pub(super) const LEGACY: u16 = 1;
    pub(super) const HT: u16 = 2;
    pub(super) const VHT: u16 = 3;
    pub(super) const GUARD: u16 = 4;
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

impl Switch {
    /// `NL80211_TID_CONFIG_ENABLE` and `_DISABLE`.
    const fn number(self) -> u8 {
        match self {
            Self::On => 0,
            Self::Off => 1,
        }
    }
}

/// A band of a rate mask (`NL80211_BAND_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Band {
    /// 2.4 GHz.
    Ghz2 = 0,
    /// 5 GHz.
    Ghz5 = 1,
    /// 6 GHz.
    Ghz6 = 3,
}

impl Band {
    /// The band of a channel's centre, MHz.
    #[must_use]
    pub const fn of_frequency(megahertz: u32) -> Option<Self> {
        match megahertz {
            2400..=2500 => Some(Self::Ghz2),
            4900..=5924 => Some(Self::Ghz5),
            5925..=7125 => Some(Self::Ghz6),
            _ => None,
        }
    }
}

/// The rates allowed in a band; `None` allows all of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BitrateMask {
    /// Legacy rates, units of 500 kb/s.
    pub legacy: Option<Vec<u8>>,
    /// HT indices, 0 to 76.
    pub ht: Option<Vec<u8>>,
    /// VHT: a bit for each index, for each number of streams.
    pub vht: Option<[u16; 8]>,
    /// Short guard interval: always or never.
    pub short_guard: Option<Switch>,
}

impl BitrateMask {
    fn write(&self, builder: &mut crate::netlink::message::Builder) {
        if let Some(legacy) = &self.legacy {
            builder.put(rates::LEGACY, legacy);
        }
        if let Some(ht) = &self.ht {
            builder.put(rates::HT, ht);
        }
        if let Some(vht) = self.vht {
            let bytes: Vec<u8> = vht.iter().flat_map(|streams| streams.to_ne_bytes()).collect();
            builder.put(rates::VHT, &bytes);
        }
        if let Some(guard) = self.short_guard {
            builder.put_u8(rates::GUARD, if guard == Switch::On { 1 } else { 2 });
        }
    }
}

/// The choice of rates for a traffic identifier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TidRate {
    /// Chosen by the driver's rate control.
    Automatic,
    /// Chosen by the driver, limited by this mask.
    Limited(Band, BitrateMask),
    /// One rate.
    Fixed(Band, BitrateMask),
}

/// Settings of traffic identifiers; `None` leaves a setting unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TidConfig {
    /// The traffic identifiers, one bit each.
    pub tids: u16,
    /// Whether earlier settings are discarded.
    pub replaces: bool,
    /// Frames are acknowledged.
    pub acknowledged: Option<Switch>,
    /// Tries of a short frame, 1 to the limit of [`super::TidSupport`].
    pub short_retries: Option<u8>,
    /// Tries of a long frame.
    pub long_retries: Option<u8>,
    /// A-MPDUs.
    pub ampdu: Option<Switch>,
    /// RTS and CTS before each frame.
    pub rts: Option<Switch>,
    /// A-MSDUs.
    pub amsdu: Option<Switch>,
    /// Rates.
    pub rate: Option<TidRate>,
}

impl TidConfig {
    fn write(&self, builder: &mut crate::netlink::message::Builder) {
        let flip = |switch: Switch| if switch == Switch::On { Switch::Off } else { Switch::On };
        let one = builder.nest(1);
        if self.replaces {
            builder.put(tid::OVERRIDE, &[]);
        }
        builder.put_u16(tid::TIDS, self.tids);
        let bytes = [
            (tid::NOACK, self.acknowledged.map(|switch| flip(switch).number())),
            (tid::RETRY_SHORT, self.short_retries),
            (tid::RETRY_LONG, self.long_retries),
            (tid::AMPDU, self.ampdu.map(Switch::number)),
            (tid::RTS, self.rts.map(Switch::number)),
            (tid::AMSDU, self.amsdu.map(Switch::number)),
        ];
        for (kind, value) in bytes {
            if let Some(value) = value {
                builder.put_u8(kind, value);
            }
        }
        match &self.rate {
            None => {}
            Some(TidRate::Automatic) => builder.put_u8(tid::RATE_KIND, 0),
            Some(TidRate::Limited(band, mask)) => self.write_rate(builder, 1, *band, mask),
            Some(TidRate::Fixed(band, mask)) => self.write_rate(builder, 2, *band, mask),
        }
        builder.end(one);
    }

    fn write_rate(
        &self,
        builder: &mut crate::netlink::message::Builder,
        kind: u8,
        band: Band,
        mask: &BitrateMask,
    ) {
        builder.put_u8(tid::RATE_KIND, kind);
        let all = builder.nest(tid::RATE);
        let nest = builder.nest(band as u16);
        mask.write(builder);
        builder.end(nest);
        builder.end(all);
    }
}

impl Wireless {
    /// Sets the limits of mac80211's queues; `None` leaves a limit unchanged.
    ///
    /// # Errors
    /// No CAP_NET_ADMIN, a driver without such queues, or the radio has disappeared.
    pub fn set_txq_limits(&mut self, wiphy: u32, limits: &TxqLimits) -> Result<(), LinuxError> {
        self.family.request(
            "set the limits of mac80211's queues",
            command::SET_WIPHY,
            0,
            |builder| {
                builder.put_u32(attribute::WIPHY, wiphy);
                let values = [
                    (attribute::TXQ_LIMIT, limits.packets),
                    (attribute::TXQ_MEMORY_LIMIT, limits.memory),
                    (attribute::TXQ_QUANTUM, limits.quantum),
                ];
                for (kind, value) in values {
                    if let Some(value) = value {
                        builder.put_u32(kind, value);
                    }
                }
            },
            |_| {},
        )
    }

    /// Sets a radio's retry limits, 1 to 255. mac80211's own rate control ignores them.
    ///
    /// # Errors
    /// No CAP_NET_ADMIN, or the driver refuses.
    pub fn set_retries(&mut self, wiphy: u32, short: u8, long: u8) -> Result<(), LinuxError> {
        self.family.request(
            "set retry limits",
            command::SET_WIPHY,
            0,
            |builder| {
                builder.put_u32(attribute::WIPHY, wiphy);
                builder.put_u8(attribute::WIPHY_RETRY_SHORT, short);
                builder.put_u8(attribute::WIPHY_RETRY_LONG, long);
            },
            |_| {},
        )
    }

    /// Sets a station's airtime weight, 256 by default; shares of airtime are proportional to it.
    ///
    /// # Errors
    /// No CAP_NET_ADMIN, a driver without airtime fairness, or the station has left.
    pub fn set_airtime_weight(
        &mut self,
        interface: u32,
        station: MacAddress,
        weight: u16,
    ) -> Result<(), LinuxError> {
        self.family.request(
            "set a station's airtime weight",
            command::SET_STATION,
            0,
            |builder| {
                builder.put_u32(attribute::IFINDEX, interface);
                builder.put(attribute::MAC, &station.0);
                builder.put_u16(attribute::AIRTIME_WEIGHT, weight);
            },
            |_| {},
        )
    }

    /// Configures traffic identifiers of one station or of the whole interface.
    ///
    /// # Errors
    /// No CAP_NET_ADMIN, or the driver does not support the setting.
    pub fn set_tid_config(
        &mut self,
        interface: u32,
        station: Option<MacAddress>,
        config: &TidConfig,
    ) -> Result<(), LinuxError> {
        self.family.request(
            "configure traffic identifiers",
            command::SET_TID_CONFIG,
            0,
            |builder| {
                builder.put_u32(attribute::IFINDEX, interface);
                if let Some(station) = station {
                    builder.put(attribute::MAC, &station.0);
                }
                let all = builder.nest(attribute::TID_CONFIG);
                config.write(builder);
                builder.end(all);
            },
            |_| {},
        )
    }

    /// Restricts the rates of an interface; an empty mask allows all rates.
    ///
    /// # Errors
    /// No CAP_NET_ADMIN, rates that the driver does not support, or a firmware that chooses rates itself.
    pub fn set_bitrate_mask(
        &mut self,
        interface: u32,
        band: Band,
        mask: &BitrateMask,
    ) -> Result<(), LinuxError> {
        self.family.request(
            "set the rate mask",
            command::SET_TX_BITRATE_MASK,
            0,
            |builder| {
                builder.put_u32(attribute::IFINDEX, interface);
                let all = builder.nest(attribute::TX_RATES);
                let nest = builder.nest(band as u16);
                mask.write(builder);
                builder.end(nest);
                builder.end(all);
            },
            |_| {},
        )
    }
}

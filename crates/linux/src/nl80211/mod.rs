//! Wi-Fi interfaces, radios, stations and settings through nl80211 (kernel include/uapi/linux/nl80211.h).

mod rest;
mod settings;
mod station;
mod survey;
mod wiphy;

use crate::netlink::generic::{Family, HEADER};
use crate::netlink::message::{Attributes, DUMP};
use crate::{LinuxError, MacAddress};

pub use rest::{ScanEvent, Scans};
pub use settings::{Band, BitrateMask, Switch, TidConfig, TidRate};
pub use station::{Bitrate, Station, TidCounters, TxqCounters};
pub use survey::Survey;
pub use wiphy::{TidSupport, TxqLimits, Wiphy};

pub(crate) use station::address as address_of;

/// Commands.
pub(crate) mod command {
    pub(super) const GET_WIPHY: u8 = 1;
    pub(super) const SET_WIPHY: u8 = 2;
    pub(super) const GET_INTERFACE: u8 = 5;
    pub(super) const GET_STATION: u8 = 17;
    pub(super) const SET_STATION: u8 = 18;
    pub(crate) const NEW_STATION: u8 = 19;
    pub(crate) const DEL_STATION: u8 = 20;
    pub(super) const TRIGGER_SCAN: u8 = 33;
    pub(super) const NEW_SCAN_RESULTS: u8 = 34;
    pub(super) const SCAN_ABORTED: u8 = 35;
    pub(super) const GET_SURVEY: u8 = 50;
    pub(super) const SET_TX_BITRATE_MASK: u8 = 57;
    pub(super) const GET_POWER_SAVE: u8 = 62;
    pub(super) const SET_TID_CONFIG: u8 = 137;
}

/// Attributes.
pub(crate) mod attribute {
    pub(super) const WIPHY: u16 = 1;
    pub(super) const WIPHY_NAME: u16 = 2;
    pub(crate) const IFINDEX: u16 = 3;
    pub(super) const IFNAME: u16 = 4;
    pub(super) const IFTYPE: u16 = 5;
    pub(crate) const MAC: u16 = 6;
    pub(super) const STA_INFO: u16 = 21;
    pub(super) const WIPHY_FREQ: u16 = 38;
    pub(super) const SUPPORTED_COMMANDS: u16 = 50;
    pub(super) const SSID: u16 = 52;
    pub(super) const WIPHY_RETRY_SHORT: u16 = 61;
    pub(super) const WIPHY_RETRY_LONG: u16 = 62;
    pub(super) const FOUR_ADDRESSES: u16 = 83;
    pub(super) const SURVEY_INFO: u16 = 84;
    pub(super) const TX_RATES: u16 = 90;
    pub(super) const PS_STATE: u16 = 93;
    pub(super) const CHANNEL_WIDTH: u16 = 159;
    pub(super) const SPLIT_WIPHY_DUMP: u16 = 174;
    pub(super) const EXT_FEATURES: u16 = 217;
    pub(super) const TXQ_STATS: u16 = 265;
    pub(super) const TXQ_LIMIT: u16 = 266;
    pub(super) const TXQ_MEMORY_LIMIT: u16 = 267;
    pub(super) const TXQ_QUANTUM: u16 = 268;
    pub(super) const AIRTIME_WEIGHT: u16 = 274;
    pub(super) const TID_CONFIG: u16 = 285;
}

/// The role of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An access point, or the group owner of a peer-to-peer group.
    AccessPoint,
    /// One VLAN of an access point.
    AccessPointVlan,
    /// A station.
    Station,
    /// A mesh node.
    Mesh,
    /// Another role, by `NL80211_IFTYPE_*`.
    Other(u32),
}

impl Role {
    const fn of(number: u32) -> Self {
        match number {
            3 | 9 => Self::AccessPoint,
            4 => Self::AccessPointVlan,
            2 | 8 => Self::Station,
            7 => Self::Mesh,
            other => Self::Other(other),
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AccessPoint => "access point",
            Self::AccessPointVlan => "VLAN of an access point",
            Self::Station => "station",
            Self::Mesh => "mesh node",
            Self::Other(_) => "other",
        }
    }
}

/// A Wi-Fi interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WifiInterface {
    /// Number of the network interface.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Number of its radio.
    pub wiphy: u32,
    /// Its hardware address, an access point's BSSID.
    pub address: MacAddress,
    /// Its role.
    pub role: Role,
    /// Whether its frames have four addresses (WDS): receivers behind the station are reached through it.
    pub has_four_addresses: bool,
    /// The network's name, if any; invalid UTF-8 is replaced.
    pub ssid: Option<String>,
    /// Centre of the primary channel, MHz.
    pub frequency: Option<u32>,
    /// Width of the channel, MHz.
    pub width: Option<u32>,
    /// Counters of its multicast queue.
    pub multicast: Option<TxqCounters>,
}

/// A connection to nl80211.
#[derive(Debug)]
pub struct Wireless {
    family: Family,
}

impl Wireless {
    /// Connects.
    ///
    /// # Errors
    /// The kernel lacks cfg80211, or has not loaded it.
    pub fn open() -> Result<Self, LinuxError> {
        Ok(Self { family: Family::open("nl80211")? })
    }

    /// All Wi-Fi interfaces of this network namespace, by number.
    ///
    /// # Errors
    /// nl80211 failed.
    pub fn interfaces(&mut self) -> Result<Vec<WifiInterface>, LinuxError> {
        let mut all = Vec::new();
        self.family.request(
            "list Wi-Fi interfaces",
            command::GET_INTERFACE,
            DUMP,
            |_| {},
            |message| {
                all.extend(interface(message.attributes(HEADER)));
            },
        )?;
        all.sort_by_key(|interface: &WifiInterface| interface.index);
        Ok(all)
    }

    /// A Wi-Fi interface by name.
    ///
    /// # Errors
    /// No interface has this name, or it is not a Wi-Fi interface.
    pub fn interface(&mut self, name: &str) -> Result<WifiInterface, LinuxError> {
        if let Some(found) = self.interfaces()?.into_iter().find(|interface| interface.name == name) {
            return Ok(found);
        }
        crate::interface::Interface::find(name)?;
        Err(LinuxError::NotWifi(name.to_owned()))
    }

    /// Reads the capabilities of a radio.
    ///
    /// # Errors
    /// It has disappeared, or nl80211 failed.
    pub fn wiphy(&mut self, number: u32) -> Result<Wiphy, LinuxError> {
        let mut wiphy = Wiphy::new(number);
        self.family.request(
            "read the radio's capabilities",
            command::GET_WIPHY,
            DUMP,
            |builder| {
                builder.put(attribute::SPLIT_WIPHY_DUMP, &[]);
                builder.put_u32(attribute::WIPHY, number);
            },
            |message| wiphy.add(message.attributes(HEADER)),
        )?;
        Ok(wiphy)
    }

    /// The stations of an interface, by address. Takes about 100 us for each station (measured: 180 to 240 us for two).
    ///
    /// # Errors
    /// The interface has disappeared, or nl80211 failed.
    pub fn stations(&mut self, interface: u32) -> Result<Vec<Station>, LinuxError> {
        let mut all = Vec::new();
        self.family.request(
            "list stations",
            command::GET_STATION,
            DUMP,
            |builder| builder.put_u32(attribute::IFINDEX, interface),
            |message| all.extend(Station::read(message.attributes(HEADER))),
        )?;
        all.sort_by_key(|station: &Station| station.address);
        Ok(all)
    }

    /// The survey of all channels, including that in use; empty if the driver has none.
    ///
    /// # Errors
    /// The interface has disappeared, or nl80211 failed.
    pub fn survey(&mut self, interface: u32) -> Result<Vec<Survey>, LinuxError> {
        let mut all = Vec::new();
        let result = self.family.request(
            "survey the channel",
            command::GET_SURVEY,
            DUMP,
            |builder| builder.put_u32(attribute::IFINDEX, interface),
            |message| all.extend(Survey::read(message.attributes(HEADER))),
        );
        match result {
            Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => Ok(Vec::new()),
            other => other.map(|()| all),
        }
    }
}

fn interface(attributes: Attributes<'_>) -> Option<WifiInterface> {
    let number = |kind| attributes.find(kind).and_then(|attribute| attribute.u32());
    let name = attributes.find(attribute::IFNAME)?.text()?.to_owned();
    Some(WifiInterface {
        index: number(attribute::IFINDEX)?,
        name,
        wiphy: number(attribute::WIPHY)?,
        address: station::address(attributes)?,
        role: Role::of(number(attribute::IFTYPE)?),
        has_four_addresses: attributes
            .find(attribute::FOUR_ADDRESSES)
            .is_some_and(|four| four.u8().is_some_and(|four| four != 0)),
        ssid: attributes
            .find(attribute::SSID)
            .filter(|ssid| !ssid.value.is_empty())
            .map(|ssid| String::from_utf8_lossy(ssid.value).into_owned()),
        frequency: number(attribute::WIPHY_FREQ),
        width: number(attribute::CHANNEL_WIDTH).and_then(width),
        multicast: attributes.find(attribute::TXQ_STATS).map(|txq| TxqCounters::read(txq.nested())),
    })
}

/// MHz of `NL80211_CHAN_WIDTH_*`.
const fn width(number: u32) -> Option<u32> {
    Some(match number {
        0 | 1 => 20,
        2 => 40,
        3 => 80,
        4 | 5 => 160,
        6 => 5,
        7 => 10,
        8 => 1,
        9 => 2,
        10 => 4,
        11 => 8,
        12 => 16,
        13 => 320,
        _ => return None,
    })
}

#[cfg(test)]
#[path = "../../tests/parsers/nl80211.rs"]
mod fuzz;

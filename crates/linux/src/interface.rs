//! Network interfaces: their properties, the length of their transmit queue, offloads (rtnetlink and ethtool netlink).

use crate::netlink::generic::Family;
use crate::netlink::message::{Attributes, DUMP, Message, u32_at};
use crate::netlink::socket::{ROUTE, Socket};
use crate::{LinuxError, MacAddress};

const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const SET_LINK: u16 = 19;
/// Bytes of `struct ifinfomsg`.
pub(crate) const FIXED: usize = 16;
/// `AF_UNSPEC`: the message is about an interface, and not about a bridge's port.
pub(crate) const UNSPECIFIED: u8 = 0;
/// `IFF_UP`, `IFF_RUNNING`.
const UP: u32 = 1;
const RUNNING: u32 = 0x40;

mod attribute {
    pub(super) const ADDRESS: u16 = 1;
    pub(super) const NAME: u16 = 3;
    pub(super) const MTU: u16 = 4;
    pub(super) const QDISC: u16 = 6;
    pub(super) const MASTER: u16 = 10;
    pub(super) const QUEUE_LENGTH: u16 = 13;
}

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its number, which changes when an interface is recreated under the same name.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its hardware address.
    pub address: MacAddress,
    /// Administratively up.
    pub is_up: bool,
    /// Operational; an access point is beaconing.
    pub is_running: bool,
    /// Largest packet, bytes.
    pub mtu: u32,
    /// The limit of a plain queue in packets (`txqueuelen`); mac80211's own queues ignore it.
    pub queue_length: u32,
    /// The queueing discipline; `noqueue` where mac80211 has the queues.
    pub qdisc: String,
    /// The bridge that it is a port of.
    pub bridge: Option<u32>,
}

impl Interface {
    /// Finds an interface by name.
    ///
    /// # Errors
    /// It does not exist, or rtnetlink failed.
    pub fn find(name: &str) -> Result<Self, LinuxError> {
        Self::all()?
            .into_iter()
            .find(|interface| interface.name == name)
            .ok_or_else(|| LinuxError::NoInterface(name.to_owned()))
    }

    /// All interfaces of this network namespace, by number.
    ///
    /// # Errors
    /// rtnetlink failed.
    pub fn all() -> Result<Vec<Self>, LinuxError> {
        let mut all = Vec::new();
        let mut socket = Socket::open(ROUTE)?;
        socket.request(
            "list interfaces",
            GET_LINK,
            DUMP,
            &[0; FIXED],
            |_| {},
            |message| {
                all.extend(read(message));
            },
        )?;
        all.sort_by_key(|interface: &Self| interface.index);
        Ok(all)
    }

    /// Whether mac80211 has its queues, where `queue_length` has no effect.
    #[must_use]
    pub fn queues_in_mac80211(&self) -> bool {
        self.qdisc == "noqueue"
    }

    /// Sets the limit of a plain queue in packets.
    ///
    /// # Errors
    /// No CAP_NET_ADMIN, or the interface has disappeared.
    pub fn set_queue_length(&self, packets: u32) -> Result<(), LinuxError> {
        let mut fixed = [0; FIXED];
        fixed[4..8].copy_from_slice(&self.index.to_ne_bytes());
        Socket::open(ROUTE)?.request(
            "set the transmit queue's length",
            SET_LINK,
            0,
            &fixed,
            |builder| builder.put_u32(attribute::QUEUE_LENGTH, packets),
            |_| {},
        )
    }
}

/// Reads rtnetlink's message about a link; `None` for other messages.
pub(crate) fn read(message: &Message<'_>) -> Option<Interface> {
    // Other families, such as bridges, tell about their ports with the same messages.
    if message.kind != NEW_LINK || message.body.first() != Some(&UNSPECIFIED) {
        return None;
    }
    let flags = u32_at(message.body, 8)?;
    let attributes = message.attributes(FIXED);
    let number = |kind| attributes.find(kind).and_then(|attribute| attribute.u32());
    let text =
        |kind| attributes.find(kind).and_then(|attribute| attribute.text()).unwrap_or_default().to_owned();
    Some(Interface {
        index: u32_at(message.body, 4)?,
        name: text(attribute::NAME),
        address: attributes
            .find(attribute::ADDRESS)
            .and_then(|attribute| MacAddress::from_slice(attribute.value))
            .unwrap_or_default(),
        is_up: flags & UP != 0,
        is_running: flags & RUNNING != 0,
        mtu: number(attribute::MTU).unwrap_or(0),
        queue_length: number(attribute::QUEUE_LENGTH).unwrap_or(0),
        qdisc: text(attribute::QDISC),
        bridge: number(attribute::MASTER).filter(|bridge| *bridge != 0),
    })
}

/// Offloads that merge packets into one held packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Received packets are merged (`ethtool -K IFACE gro off` disables it).
    pub receive_merging: bool,
    /// TCP data is segmented by the device (`tso`).
    pub segmentation: bool,
}

/// `ETHTOOL_MSG_FEATURES_GET`.
const FEATURES_GET: u8 = 11;

mod features {
    pub(super) const HEADER: u16 = 1;
    pub(super) const HEADER_NAME: u16 = 2;
    pub(super) const ACTIVE: u16 = 4;
    pub(super) const BITS: u16 = 3;
    pub(super) const BIT: u16 = 1;
    pub(super) const BIT_NAME: u16 = 2;
}

/// The offloads of an interface, as reported by ethtool.
///
/// # Errors
/// The kernel has no ethtool netlink (before 5.7), or the interface does not support it.
pub fn offloads(name: &str) -> Result<Offloads, LinuxError> {
    let mut offloads = Offloads::default();
    Family::open("ethtool")?.request(
        "read offloads",
        FEATURES_GET,
        0,
        |builder| {
            let header = builder.nest(features::HEADER);
            builder.put_text(features::HEADER_NAME, name);
            builder.end(header);
        },
        |message| {
            let active = message.attributes(crate::netlink::generic::HEADER).find(features::ACTIVE);
            for name in active.map(|bits| names(bits.nested())).unwrap_or_default() {
                match name {
                    "rx-gro" | "rx-gro-hw" | "rx-lro" => offloads.receive_merging = true,
                    "tx-tcp-segmentation" | "tx-tcp6-segmentation" => offloads.segmentation = true,
                    _ => {}
                }
            }
        },
    )?;
    Ok(offloads)
}

/// The names in a bit set of ethtool's verbose form.
fn names(bits: Attributes<'_>) -> Vec<&str> {
    let Some(bits) = bits.find(features::BITS) else { return Vec::new() };
    bits.nested()
        .filter(|bit| bit.kind == features::BIT)
        .filter_map(|bit| bit.nested().find(features::BIT_NAME)?.text())
        .collect()
}

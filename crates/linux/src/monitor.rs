//! Notifications of changes to stations, interface, neighbours and nftables rules: multicast from nl80211, rtnetlink and nftables.

use std::os::fd::{AsFd, BorrowedFd};

use crate::interface::{self, Interface};
use crate::neighbours::{self, Neighbour};
use crate::netlink::generic::{Family, HEADER};
use crate::netlink::message::{Message, Messages};
use crate::netlink::socket::{NETFILTER, ROUTE, Socket};
use crate::nl80211::{self, command};
use crate::{LinuxError, MacAddress, nftables};

/// `RTNLGRP_LINK`, `RTNLGRP_NEIGH`, `NFNLGRP_NFTABLES`.
const LINK: u32 = 1;
const NEIGHBOUR: u32 = 3;
const NFTABLES: u32 = 7;
/// `RTM_DELLINK`.
const DELETE_LINK: u16 = 17;

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A station associated with an interface that is watched.
    StationJoined(MacAddress),
    /// A station left an interface, or was removed.
    StationLeft(MacAddress),
    /// The current state of an interface; sent with every notification of the kernel, even if no field changed.
    Interface(Interface),
    /// An interface, by its number, was removed. A recreated one has another number.
    InterfaceGone(u32),
    /// The station of an IP address changed.
    Neighbour(Neighbour),
    /// A table, chain or rule of an agent was removed, by this or another program: see [`nftables::Table::is_present`].
    RulesTouched,
    /// Notifications were lost: all state has to be read again.
    Overrun,
}

/// A listener to the multicast groups.
#[derive(Debug)]
pub struct Monitor {
    interfaces: Vec<u32>,
    wifi: Option<Family>,
    route: Socket,
    netfilter: Option<Socket>,
}

impl Monitor {
    /// Starts to listen to changes of interfaces, by their numbers. Groups that the kernel lacks (without nftables) are left out.
    ///
    /// # Errors
    /// rtnetlink failed.
    pub fn open(interfaces: impl IntoIterator<Item = u32>) -> Result<Self, LinuxError> {
        let route = Socket::open(ROUTE)?;
        route.join(LINK)?;
        route.join(NEIGHBOUR)?;
        let wifi = Family::open("nl80211")
            .ok()
            .filter(|family| family.group("mlme").is_some_and(|group| family.socket.join(group).is_ok()));
        let netfilter = Socket::open(NETFILTER).ok().filter(|socket| socket.join(NFTABLES).is_ok());
        Ok(Self { interfaces: interfaces.into_iter().collect(), wifi, route, netfilter })
    }

    /// Listens to changes of these interfaces from now on.
    pub fn watch(&mut self, interfaces: impl IntoIterator<Item = u32>) {
        self.interfaces = interfaces.into_iter().collect();
    }

    /// The descriptors to poll; readable when changes are pending.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let wifi = self.wifi.as_ref().map(|family| family.socket.as_fd());
        let netfilter = self.netfilter.as_ref().map(AsFd::as_fd);
        [Some(self.route.as_fd()), wifi, netfilter].into_iter().flatten()
    }

    /// Reads pending changes without waiting.
    pub fn read(&mut self, mut each: impl FnMut(Change)) {
        let interfaces = self.interfaces.as_slice();
        drain(&mut self.route, &mut each, |message| of_route(message, interfaces));
        if let Some(family) = &mut self.wifi {
            let id = family.id;
            drain(&mut family.socket, &mut each, |message| {
                if message.kind == id { of_wifi(message, interfaces) } else { None }
            });
        }
        if let Some(socket) = &mut self.netfilter {
            drain(socket, &mut each, |message| {
                nftables::is_ours_removed(message).then_some(Change::RulesTouched)
            });
        }
    }
}

/// Limit of datagrams read in one call, so that a flood cannot block the caller.
const MOST: usize = 256;

fn drain(socket: &mut Socket, each: &mut impl FnMut(Change), read: impl Fn(&Message<'_>) -> Option<Change>) {
    for _ in 0..MOST {
        match socket.receive() {
            Ok(None) => return,
            Ok(Some(messages)) => deliver(messages, each, &read),
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => {}
            // ENOBUFS: notifications were lost. A truncated datagram counts as lost, too.
            Err(_) => each(Change::Overrun),
        }
    }
}

fn deliver(
    messages: Messages<'_>,
    each: &mut impl FnMut(Change),
    read: &impl Fn(&Message<'_>) -> Option<Change>,
) {
    for change in messages.filter_map(|message| read(&message)) {
        each(change);
    }
}

fn of_route(message: &Message<'_>, interfaces: &[u32]) -> Option<Change> {
    if let Some(neighbour) = neighbours::read(message) {
        return interfaces.contains(&neighbour.interface).then_some(Change::Neighbour(neighbour));
    }
    if let Some(link) = interface::read(message) {
        return interfaces.contains(&link.index).then_some(Change::Interface(link));
    }
    let index = crate::netlink::message::u32_at(message.body, 4)?;
    // A port that leaves its bridge is deleted there, too.
    let is_link = message.body.first() == Some(&interface::UNSPECIFIED);
    (message.kind == DELETE_LINK && is_link && interfaces.contains(&index))
        .then_some(Change::InterfaceGone(index))
}

fn of_wifi(message: &Message<'_>, interfaces: &[u32]) -> Option<Change> {
    let attributes = message.attributes(HEADER);
    if !interfaces.contains(&attributes.find(nl80211::attribute::IFINDEX)?.u32()?) {
        return None;
    }
    let station = nl80211::address_of(attributes)?;
    match *message.body.first()? {
        command::NEW_STATION => Some(Change::StationJoined(station)),
        command::DEL_STATION => Some(Change::StationLeft(station)),
        _ => None,
    }
}

#[cfg(test)]
#[path = "../tests/parsers/monitor.rs"]
mod fuzz;

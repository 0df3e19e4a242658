//! One list of packets for each station and category: what the queues without flow queueing share.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};

use airbound_units::{ByteCount, Instant};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::packets::{List, Packets};
use super::{Backlog, Readiness};
use crate::error::ConfigError;
use crate::payload::{DropReason, Dropped, Payload, StationId};

/// How much a category may hold. The packets of all stations count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limits {
    /// Most packets, 1 to 1 000 000; Linux: `txqueuelen`, 1000.
    pub packets: usize,
    /// Most bytes, as [`Payload::size`] counts them; none by default.
    pub bytes: Option<ByteCount>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { packets: 1000, bytes: None }
    }
}

impl Limits {
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a limit is zero or absurdly large.
    pub(super) fn check(self) -> Result<Self, ConfigError> {
        check_packets("limit.packets", self.packets)?;
        if let Some(bytes) = self.bytes {
            ConfigError::check(bytes.as_u64() >= 1, "limit.bytes", bytes, "1 B and more")?;
        }
        Ok(self)
    }

    /// Why a packet of `size` is refused over a backlog of `waiting`, if it is.
    pub(super) fn refuses(self, waiting: Backlog, size: ByteCount) -> Option<DropReason> {
        if waiting.packets >= self.packets {
            Some(DropReason::QueueFull)
        } else if self.bytes.is_some_and(|most| waiting.bytes + size > most) {
            Some(DropReason::MemoryLimit)
        } else {
            None
        }
    }
}

/// Checks a limit on packets.
pub(super) fn check_packets(key: &'static str, packets: usize) -> Result<(), ConfigError> {
    ConfigError::check((1..=1_000_000).contains(&packets), key, packets, "1 to 1000000 packets")
}

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    list: List,
    readiness: Readiness,
    /// Whether the order of its category holds the station.
    listed: bool,
    /// Whether the list of those with retries holds it.
    retrying: bool,
}

impl Entry {
    /// Whether the station has something to send and may send it.
    fn is_active(&self) -> bool {
        match self.readiness {
            Readiness::Fresh => !self.list.is_empty(),
            Readiness::Retries => true,
            Readiness::Blocked => false,
        }
    }
}

/// The lists, without an order between stations.
#[derive(Debug, Clone)]
pub(super) struct StationLists<P> {
    packets: Packets<P>,
    stations: Vec<[Entry; 4]>,
    waiting: [Backlog; 4],
}

impl<P> Default for StationLists<P> {
    fn default() -> Self {
        Self { packets: Packets::default(), stations: Vec::new(), waiting: [Backlog::default(); 4] }
    }
}

impl<P: Payload> StationLists<P> {
    fn entry(&mut self, station: StationId, category: Category) -> &mut Entry {
        let index = station.index();
        if index >= self.stations.len() {
            self.stations.resize_with(index + 1, Default::default);
        }
        &mut self.stations[index][category.index()]
    }

    fn known(&mut self, station: u16, category: usize) -> Option<&mut Entry> {
        self.stations.get_mut(usize::from(station)).map(|entries| &mut entries[category])
    }

    /// Appends a packet, or drops it because of `limits`. Returns whether it waits now.
    pub(super) fn push(
        &mut self,
        now: Instant,
        mut packet: P,
        limits: Limits,
        dropped: &mut Vec<Dropped<P>>,
    ) -> bool {
        let (station, category, size) = (packet.station(), packet.category(), packet.size());
        if let Some(reason) = limits.refuses(self.waiting(category), size) {
            dropped.push(Dropped { packet, reason });
            return false;
        }
        packet.set_enqueued(now);
        self.entry(station, category);
        let entry = &mut self.stations[station.index()][category.index()];
        if let Err(packet) = self.packets.push(&mut entry.list, packet, size) {
            dropped.push(Dropped { packet, reason: DropReason::QueueFull });
            return false;
        }
        let waiting = &mut self.waiting[category.index()];
        waiting.packets += 1;
        waiting.bytes += size;
        true
    }

    /// Takes the oldest packet of a station.
    pub(super) fn pop(&mut self, station: StationId, category: Category) -> Option<P> {
        let entry = self.stations.get_mut(station.index()).map(|entries| &mut entries[category.index()])?;
        let packet = self.packets.pop(&mut entry.list, P::size)?;
        let waiting = &mut self.waiting[category.index()];
        waiting.packets = waiting.packets.saturating_sub(1);
        waiting.bytes -= packet.size();
        Some(packet)
    }

    pub(super) fn waiting(&self, category: Category) -> Backlog {
        self.waiting[category.index()]
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.waiting.iter().fold(Backlog::default(), |sum, part| Backlog {
            packets: sum.packets + part.packets,
            bytes: sum.bytes + part.bytes,
        })
    }
}

/// Stations in the order of the arrival of their oldest packets; those with retries come first.
///
/// The heap holds each active station once, under the arrival of what was its oldest packet when it was last looked at.
/// Heads only grow older numbers, so a key is at most too small, and is put right when it comes to the top: an aggregate costs
/// one correction, not one for each packet.
#[derive(Debug, Clone, Default)]
pub(super) struct ArrivalOrder {
    heads: [BinaryHeap<Reverse<(u64, u16)>>; 4],
    retries: [VecDeque<u16>; 4],
}

impl ArrivalOrder {
    /// Something about the station changed.
    pub(super) fn update<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        station: StationId,
        category: Category,
    ) {
        let entry = *lists.entry(station, category);
        if entry.readiness == Readiness::Retries {
            if !entry.retrying {
                self.retries[category.index()].push_back(station.0);
                lists.entry(station, category).retrying = true;
            }
        } else if entry.is_active()
            && !entry.listed
            && let Some(arrival) = lists.packets.first_arrival(&entry.list)
        {
            self.heads[category.index()].push(Reverse((arrival, station.0)));
            lists.entry(station, category).listed = true;
        }
    }

    /// The station to be served next.
    pub(super) fn select<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        category: Category,
    ) -> Option<StationId> {
        let category = category.index();
        while let Some(&station) = self.retries[category].front() {
            match lists.known(station, category) {
                Some(entry) if entry.readiness == Readiness::Retries => return Some(StationId(station)),
                Some(entry) => entry.retrying = false,
                None => {}
            }
            self.retries[category].pop_front();
        }
        self.oldest_station(lists, category)
    }

    /// When the oldest packet of a category came that may be sent now.
    pub(super) fn oldest<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        category: Category,
    ) -> Option<Instant> {
        let category = category.index();
        let station = self.oldest_station(lists, category)?;
        let list = lists.known(station.0, category)?.list;
        lists.packets.first(&list).map(Payload::enqueued)
    }

    /// The station of that packet.
    fn oldest_station<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        category: usize,
    ) -> Option<StationId> {
        while let Some(mut top) = self.heads[category].peek_mut() {
            let Reverse((key, station)) = *top;
            let entry = lists.known(station, category).map(|entry| *entry).unwrap_or_default();
            let arrival = lists.packets.first_arrival(&entry.list);
            match arrival {
                Some(arrival) if entry.is_active() && arrival == key => return Some(StationId(station)),
                Some(arrival) if entry.is_active() => *top = Reverse((arrival, station)),
                _ => {
                    PeekMut::pop(top);
                    if let Some(entry) = lists.known(station, category) {
                        entry.listed = false;
                    }
                }
            }
        }
        None
    }
}

/// Stations in turn, each once in a round.
#[derive(Debug, Clone, Default)]
pub(super) struct Rotation {
    turns: [VecDeque<u16>; 4],
}

impl Rotation {
    /// Something about the station changed.
    pub(super) fn update<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        station: StationId,
        category: Category,
    ) {
        let entry = lists.entry(station, category);
        if entry.is_active() && !entry.listed {
            entry.listed = true;
            self.turns[category.index()].push_back(station.0);
        }
    }

    /// The station whose turn it is; it goes to the end of the round.
    pub(super) fn select<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        category: Category,
    ) -> Option<StationId> {
        let category = category.index();
        let turns = &mut self.turns[category];
        while let Some(station) = turns.pop_front() {
            let Some(entry) = lists.known(station, category) else { continue };
            if entry.is_active() {
                turns.push_back(station);
                return Some(StationId(station));
            }
            entry.listed = false;
        }
        None
    }
}

impl<P: Payload> StationLists<P> {
    /// Notes what lies below for a station.
    pub(super) fn set_readiness(&mut self, station: StationId, category: Category, readiness: Readiness) {
        self.entry(station, category).readiness = readiness;
    }
}

//! One list of packets for each station and category: what the queues without flow queueing share.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use airbound_units::{ByteCount, Instant};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::packets::{List, Packets};
use super::{Backlog, Backlogs};
use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, FlowId, Payload, StationId};
use crate::queue::Eligibility;

/// Limits of a category. The packets of all stations count together.
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
    eligibility: Eligibility,
    /// The time under which the order of its category holds the station; an entry of the heap with another time is stale.
    listed: Option<Instant>,
    /// Whether the rotation of its category holds the station.
    in_turn: bool,
}

impl Entry {
    /// Whether the station has something to send and may send it.
    fn is_active(&self) -> bool {
        match self.eligibility {
            Eligibility::Fresh => !self.list.is_empty(),
            Eligibility::Retries { .. } => true,
            Eligibility::Blocked => false,
        }
    }
}

/// The lists, without an order between stations.
#[derive(Debug, Clone)]
pub(super) struct StationLists<P> {
    packets: Packets<P>,
    stations: Vec<[Entry; 4]>,
    waiting: Backlogs,
    /// Whether packets keep the time at which they entered a queue above this one.
    keeps_stamps: bool,
}

impl<P> Default for StationLists<P> {
    fn default() -> Self {
        Self {
            packets: Packets::default(),
            stations: Vec::new(),
            waiting: Backlogs::default(),
            keeps_stamps: false,
        }
    }
}

impl<P: Payload> StationLists<P> {
    /// These lists lie below another queue, whose time stamps are left alone.
    pub(super) fn below(self) -> Self {
        Self { keeps_stamps: true, ..self }
    }

    #[inline]
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

    /// Appends a packet, or drops it because of `limits`. Returns whether it is the first of its station that waits: for those behind
    /// it nothing changes in the order of the stations.
    #[inline(always)]
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
        if !self.keeps_stamps {
            packet.set_enqueued(now);
        }
        self.entry(station, category);
        let entry = &mut self.stations[station.index()][category.index()];
        let is_first = entry.list.is_empty();
        if let Err(packet) = self.packets.push(now, &mut entry.list, packet, size) {
            dropped.push(Dropped { packet, reason: DropReason::QueueFull });
            return false;
        }
        self.waiting.of_mut(category).add(size);
        is_first
    }

    /// Takes the oldest packet of a station.
    #[inline]
    pub(super) fn pop(&mut self, station: StationId, category: Category) -> Option<P> {
        let entry = self.stations.get_mut(station.index()).map(|entries| &mut entries[category.index()])?;
        let packet = self.packets.pop(&mut entry.list, P::size)?;
        self.forget(category, packet.size());
        Some(packet)
    }

    /// When the oldest packet came that a station may send now, one that came back included.
    fn oldest_of(&self, entry: &Entry) -> Option<Instant> {
        let waiting = self.packets.first_appended(&entry.list);
        match entry.eligibility {
            Eligibility::Blocked => None,
            Eligibility::Fresh => waiting,
            Eligibility::Retries { since } => Some(waiting.map_or(since, |waiting| waiting.min(since))),
        }
    }

    /// The size of the oldest packet of a station.
    #[inline]
    pub(super) fn first_size(&self, station: StationId, category: Category) -> Option<ByteCount> {
        let entry = self.stations.get(station.index())?.get(category.index())?;
        self.packets.first(&entry.list).map(P::size)
    }

    /// Takes the oldest packet of the flow that has most packets in a category; among equals, of the lowest number.
    pub(super) fn take_from_longest_flow(&mut self, category: Category) -> Option<P> {
        let mut flows: BTreeMap<(FlowId, StationId), usize> = BTreeMap::new();
        for entries in &self.stations {
            for packet in self.packets.iter(&entries[category.index()].list) {
                *flows.entry((packet.flow(), packet.station())).or_default() += 1;
            }
        }
        // Of equals `max_by_key` takes the last.
        let ((flow, station), _) = flows.into_iter().rev().max_by_key(|(_, count)| *count)?;
        let entry = self.stations.get_mut(station.index()).map(|entries| &mut entries[category.index()])?;
        let packet = self.packets.take(&mut entry.list, |packet| packet.flow() == flow, P::size)?;
        self.forget(category, packet.size());
        Some(packet)
    }

    /// A packet has left.
    fn forget(&mut self, category: Category, size: ByteCount) {
        self.waiting.of_mut(category).remove(size);
    }

    /// Backlog in a category of each station that has one.
    pub(super) fn stations_waiting(
        &self,
        category: Category,
    ) -> impl Iterator<Item = (StationId, Backlog)> + '_ {
        self.stations.iter().zip(0..).filter_map(move |(entries, station)| {
            let list = &entries[category.index()].list;
            let waiting = Backlog { packets: list.packets(), bytes: list.bytes() };
            (!list.is_empty()).then_some((StationId(station), waiting))
        })
    }

    pub(super) const fn waiting(&self, category: Category) -> Backlog {
        self.waiting.of(category)
    }

    pub(super) const fn backlog(&self) -> &Backlogs {
        &self.waiting
    }

    /// Takes out all packets of a station.
    pub(super) fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        for category in Category::ALL {
            out.extend(std::iter::from_fn(|| self.pop(station, category)));
        }
    }
}

/// Stations in the order of the arrival of the oldest packet that each may send now, whether it waits in the queue or below
/// it for another transmission.
///
/// The heap holds each active station once that counts, under the arrival of what was its oldest packet when it was last looked
/// at. A key that is too early is put right when it comes to the top: an aggregate costs one correction, not one for each packet.
/// A station whose oldest packet became older (it came back) is entered anew, and its old entry is stale.
#[derive(Debug, Clone, Default)]
pub(super) struct ArrivalOrder {
    heads: [BinaryHeap<Reverse<(Instant, u16)>>; 4],
}

impl ArrivalOrder {
    /// Something about the station changed.
    #[inline]
    pub(super) fn update<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        station: StationId,
        category: Category,
    ) {
        let entry = *lists.entry(station, category);
        if entry.eligibility == Eligibility::Fresh && entry.listed.is_some() {
            // Packets that wait leave in the order in which they came: what is listed came no later than the oldest of them.
            return;
        }
        let Some(oldest) = lists.oldest_of(&entry) else { return };
        if entry.listed.is_none_or(|listed| oldest < listed) {
            self.heads[category.index()].push(Reverse((oldest, station.0)));
            lists.entry(station, category).listed = Some(oldest);
        }
    }

    /// The station to be served next.
    pub(super) fn select<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        category: Category,
    ) -> Option<StationId> {
        self.first(lists, category).map(|(_, station)| station)
    }

    /// When the oldest packet of a category came that may be sent now.
    pub(super) fn oldest<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        category: Category,
    ) -> Option<Instant> {
        self.first(lists, category).map(|(oldest, _)| oldest)
    }

    fn first<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        category: Category,
    ) -> Option<(Instant, StationId)> {
        let category = category.index();
        while let Some(mut top) = self.heads[category].peek_mut() {
            let Reverse((key, station)) = *top;
            let entry = lists.known(station, category).map(|entry| *entry).unwrap_or_default();
            if entry.listed != Some(key) {
                PeekMut::pop(top);
                continue;
            }
            match lists.oldest_of(&entry) {
                Some(oldest) if oldest == key => return Some((key, StationId(station))),
                Some(oldest) => {
                    *top = Reverse((oldest, station));
                    drop(top);
                    if let Some(entry) = lists.known(station, category) {
                        entry.listed = Some(oldest);
                    }
                }
                None => {
                    PeekMut::pop(top);
                    if let Some(entry) = lists.known(station, category) {
                        entry.listed = None;
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
    #[inline]
    pub(super) fn update<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        station: StationId,
        category: Category,
    ) {
        let entry = lists.entry(station, category);
        if entry.is_active() && !entry.in_turn {
            entry.in_turn = true;
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
            entry.in_turn = false;
        }
        None
    }
}

impl<P: Payload> StationLists<P> {
    /// Notes what lies below for a station.
    pub(super) fn set_eligibility(
        &mut self,
        station: StationId,
        category: Category,
        eligibility: Eligibility,
    ) {
        self.entry(station, category).eligibility = eligibility;
    }
}

//! One list of packets for each station and category, used by the queues without flow queueing.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use airbound_units::{ByteCount, Instant};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::packets::{List, Packets};
use super::{Backlog, Backlogs, Sink};
use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, FlowId, Payload, StationId};
use crate::queue::Eligibility;

/// Limits of a category, on the packets of all stations together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Limits {
    /// Upper limit on packets, 1 to 1 000 000; Linux: `txqueuelen`, 1000.
    pub packets: usize,
    /// Upper limit on bytes, the sum of [`Payload::size`]; none by default.
    pub bytes: Option<ByteCount>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { packets: 1000, bytes: None }
    }
}

impl Limits {
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a limit is zero or too large.
    pub(super) fn check(self) -> Result<Self, ConfigError> {
        check_packets("limit.packets", self.packets)?;
        if let Some(bytes) = self.bytes {
            ConfigError::check(bytes.as_u64() >= 1, "limit.bytes", bytes, "1 B and more")?;
        }
        Ok(self)
    }

    /// The reason to refuse a packet of `size` at a backlog of `waiting`; `None` if it is admitted.
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
    /// The station's key in the order of its category; a heap entry with another key is stale.
    listed: Option<Instant>,
    /// Whether the rotation of its category holds the station.
    in_turn: bool,
}

impl Entry {
    /// Whether the station has packets to send and is eligible.
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
    /// Whether packets keep the time stamp of a queue above this one.
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
    /// Marks the lists as lying below another queue, whose time stamps are kept.
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

    /// Appends a packet, or drops it because of `limits`. Returns whether it is its station's first waiting packet; later ones do not
    /// change the order of the stations.
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

    /// Hands packets of a station to `sink` while it has room, all with one look-up. Returns the number of those with an estimate.
    #[inline(always)]
    pub(super) fn hand_out(
        &mut self,
        station: StationId,
        category: Category,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) -> usize {
        let Some(entries) = self.stations.get_mut(station.index()) else { return 0 };
        let list = &mut entries[category.index()].list;
        let before = Backlog { packets: list.packets(), bytes: list.bytes() };
        // After an expired packet the next one goes without a question, whatever its size.
        let (mut estimated, mut has_room) = (0, false);
        while has_room || sink.has_room(|| self.packets.first(list).map(P::size)) {
            let Some(packet) = self.packets.pop(list, P::size) else { break };
            has_room = false;
            match sink.put(packet) {
                Ok(estimate) => estimated += usize::from(estimate.is_some()),
                Err(packet) => {
                    has_room = true;
                    dropped.push(Dropped { packet, reason: DropReason::Expired });
                }
            }
        }
        let waiting = self.waiting.of_mut(category);
        waiting.packets = waiting.packets.saturating_sub(before.packets - list.packets());
        waiting.bytes -= before.bytes - list.bytes();
        estimated
    }

    /// Arrival time of the oldest packet that a station may send now, returned ones included.
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

    /// Takes the oldest packet of the flow with the most packets in a category; on a tie, that with the lowest number.
    pub(super) fn take_from_longest_flow(&mut self, category: Category) -> Option<P> {
        let mut flows: BTreeMap<(FlowId, StationId), usize> = BTreeMap::new();
        for entries in &self.stations {
            for packet in self.packets.iter(&entries[category.index()].list) {
                *flows.entry((packet.flow(), packet.station())).or_default() += 1;
            }
        }
        // On a tie `max_by_key` takes the last.
        let ((flow, station), _) = flows.into_iter().rev().max_by_key(|(_, count)| *count)?;
        let entry = self.stations.get_mut(station.index()).map(|entries| &mut entries[category.index()])?;
        let packet = self.packets.take(&mut entry.list, |packet| packet.flow() == flow, P::size)?;
        self.forget(category, packet.size());
        Some(packet)
    }

    /// Notes that a packet has left.
    fn forget(&mut self, category: Category, size: ByteCount) {
        self.waiting.of_mut(category).remove(size);
    }

    /// Backlog of each station with packets in a category.
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

    /// Removes all packets of a station.
    pub(super) fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        for category in Category::ALL {
            out.extend(std::iter::from_fn(|| self.pop(station, category)));
        }
    }
}

/// Stations in order of the arrival time of the oldest packet that each may send now, waiting in the queue or below it for
/// retransmission.
///
/// The heap has one valid entry for each active station, keyed by the arrival time of its oldest packet at the last check. A key that
/// is too early is corrected when it reaches the top: an aggregate costs one correction, not one for each packet. A station whose
/// oldest packet became older (it was returned) gets a new entry, and the old one is stale.
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
            // Waiting packets leave in order of arrival: the listed key is no later than the oldest of them.
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

    /// Arrival time of the oldest packet of a category that may be sent now.
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

/// Round robin over stations.
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

    /// Returns the station whose turn it is, and moves it to the end of the round.
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
    /// Notes the state of the layers below for a station.
    pub(super) fn set_eligibility(
        &mut self,
        station: StationId,
        category: Category,
        eligibility: Eligibility,
    ) {
        self.entry(station, category).eligibility = eligibility;
    }
}

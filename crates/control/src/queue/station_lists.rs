//! One list of packets for each station and category, used by the queues without flow queueing.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::mem;

use airbound_units::{ByteCount, Instant};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::{Arrivals, Backlog, Backlogs, Sink};
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

/// The packets of one station and category in the order of arrival.
#[derive(Debug, Clone)]
struct List<P> {
    /// Each with the time of its arrival, which is not its time stamp below another queue.
    packets: VecDeque<(Instant, P)>,
    bytes: ByteCount,
}

impl<P> Default for List<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: ByteCount::ZERO }
    }
}

impl<P: Payload> List<P> {
    fn first_appended(&self) -> Option<Instant> {
        self.packets.front().map(|(appended, _)| *appended)
    }

    #[inline]
    fn first_size(&self) -> Option<ByteCount> {
        self.packets.front().map(|(_, packet)| packet.size())
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<P> {
        let (_, packet) = self.packets.pop_front()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    /// Hands the first packets of one size to `sink`, as far as it has room for them. Returns the number of those with an estimate.
    #[inline(always)]
    fn hand_out_equal(&mut self, sink: &mut impl Sink<P>) -> usize {
        let Some(size) = self.first_size() else { return 0 };
        let equal = |(_, packet): &&(Instant, P)| packet.size() == size && packet.frames() <= 1;
        let most = sink.room_for(size);
        let packets = self.packets.iter().take(most).take_while(equal).count();
        self.bytes -= size * packets as u64;
        sink.put_all(size, self.packets.drain(..packets).map(|(_, packet)| packet))
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }
}

#[derive(Debug, Clone)]
struct Entry<P> {
    list: List<P>,
    eligibility: Eligibility,
    /// The station's key in the order of its category; a heap entry with another key is stale.
    listed: Option<Instant>,
    /// Whether the rotation of its category holds the station.
    in_turn: bool,
}

impl<P> Default for Entry<P> {
    fn default() -> Self {
        Self { list: List::default(), eligibility: Eligibility::default(), listed: None, in_turn: false }
    }
}

impl<P: Payload> Entry<P> {
    /// Whether the station has packets to send and is eligible.
    fn is_active(&self) -> bool {
        match self.eligibility {
            Eligibility::Fresh => !self.list.packets.is_empty(),
            Eligibility::Retries { .. } => true,
            Eligibility::Blocked => false,
        }
    }

    /// Arrival time of the oldest packet that the station may send now, returned ones included.
    fn oldest(&self) -> Option<Instant> {
        let waiting = self.list.first_appended();
        match self.eligibility {
            Eligibility::Blocked => None,
            Eligibility::Fresh => waiting,
            Eligibility::Retries { since } => Some(waiting.map_or(since, |waiting| waiting.min(since))),
        }
    }
}

/// The lists, without an order between stations.
#[derive(Debug, Clone)]
pub(super) struct StationLists<P> {
    stations: Vec<[Entry<P>; 4]>,
    waiting: Backlogs,
    /// Whether packets keep the time stamp of a queue above this one.
    keeps_stamps: bool,
}

impl<P> Default for StationLists<P> {
    fn default() -> Self {
        Self { stations: Vec::new(), waiting: Backlogs::default(), keeps_stamps: false }
    }
}

impl<P: Payload> StationLists<P> {
    /// Marks the lists as lying below another queue, whose time stamps are kept.
    pub(super) fn below(self) -> Self {
        Self { keeps_stamps: true, ..self }
    }

    #[inline]
    fn entry(&mut self, station: StationId, category: Category) -> &mut Entry<P> {
        let index = station.index();
        if index >= self.stations.len() {
            self.stations.resize_with(index + 1, Default::default);
        }
        &mut self.stations[index][category.index()]
    }

    fn known(&mut self, station: u16, category: usize) -> Option<&mut Entry<P>> {
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
        let list = &mut self.entry(station, category).list;
        let is_first = list.packets.is_empty();
        list.packets.push_back((now, packet));
        list.bytes += size;
        self.waiting.of_mut(category).add(size);
        is_first
    }

    /// Appends packets like `first`, as far as there is room for them. Returns whether the first one is its station's first waiting packet,
    /// and the time of the last one; `None` without any.
    #[inline(always)]
    pub(super) fn push_equal(
        &mut self,
        first: &P,
        limits: Limits,
        arrivals: &mut impl Arrivals<P>,
    ) -> Option<(bool, Instant)> {
        let (station, category, size) = (first.station(), first.category(), first.size());
        let waiting = self.waiting(category);
        let bytes =
            limits.bytes.map_or(u64::MAX, |most| (most - waiting.bytes).as_u64() / size.as_u64().max(1));
        let room = (limits.packets.saturating_sub(waiting.packets) as u64).min(bytes) as usize;
        if room == 0 || self.keeps_stamps {
            return None;
        }
        let list = &mut self.entry(station, category).list;
        let is_first = list.packets.is_empty();
        let (packets, last) = arrivals.hand_over_equal(room, &mut list.packets)?;
        list.bytes += size * packets as u64;
        let waiting = self.waiting.of_mut(category);
        waiting.packets += packets;
        waiting.bytes += size * packets as u64;
        Some((is_first, last))
    }

    /// Takes the oldest packet of a station.
    #[inline]
    pub(super) fn pop(&mut self, station: StationId, category: Category) -> Option<P> {
        let entry = self.stations.get_mut(station.index()).map(|entries| &mut entries[category.index()])?;
        let packet = entry.list.pop()?;
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
        let before = list.backlog();
        // After an expired packet the next one goes without a question, whatever its size.
        let (mut estimated, mut has_room) = (0, false);
        while has_room || sink.has_room(|| list.first_size()) {
            let Some(packet) = list.pop() else { break };
            has_room = false;
            match sink.put(packet) {
                Ok(estimate) => {
                    estimated += usize::from(estimate.is_some());
                    estimated += list.hand_out_equal(sink);
                }
                Err(packet) => {
                    has_room = true;
                    dropped.push(Dropped { packet, reason: DropReason::Expired });
                }
            }
        }
        let waiting = self.waiting.of_mut(category);
        let left = list.backlog();
        waiting.packets = waiting.packets.saturating_sub(before.packets - left.packets);
        waiting.bytes -= before.bytes - left.bytes;
        estimated
    }

    /// The size of the oldest packet of a station.
    #[inline]
    pub(super) fn first_size(&self, station: StationId, category: Category) -> Option<ByteCount> {
        self.stations.get(station.index())?.get(category.index())?.list.first_size()
    }

    /// Takes the oldest packet of the flow with the most packets in a category; on a tie, that with the lowest number.
    pub(super) fn take_from_longest_flow(&mut self, category: Category) -> Option<P> {
        let mut flows: BTreeMap<(FlowId, StationId), usize> = BTreeMap::new();
        for entries in &self.stations {
            for (_, packet) in &entries[category.index()].list.packets {
                *flows.entry((packet.flow(), packet.station())).or_default() += 1;
            }
        }
        // On a tie `max_by_key` takes the last.
        let ((flow, station), _) = flows.into_iter().rev().max_by_key(|(_, count)| *count)?;
        let entry = self.stations.get_mut(station.index()).map(|entries| &mut entries[category.index()])?;
        let list = &mut entry.list;
        let place = list.packets.iter().position(|(_, packet)| packet.flow() == flow)?;
        let (_, packet) = list.packets.remove(place)?;
        list.bytes -= packet.size();
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
            (!list.packets.is_empty()).then_some((StationId(station), list.backlog()))
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
        let entry = lists.entry(station, category);
        if entry.eligibility == Eligibility::Fresh && entry.listed.is_some() {
            // Waiting packets leave in order of arrival: the listed key is no later than the oldest of them.
            return;
        }
        let Some(oldest) = entry.oldest() else { return };
        if entry.listed.is_none_or(|listed| oldest < listed) {
            self.heads[category.index()].push(Reverse((oldest, station.0)));
            entry.listed = Some(oldest);
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
            let Some(entry) = lists.known(station, category).filter(|entry| entry.listed == Some(key)) else {
                PeekMut::pop(top);
                continue;
            };
            entry.listed = entry.oldest();
            match entry.listed {
                Some(oldest) if oldest == key => return Some((key, StationId(station))),
                Some(oldest) => *top = Reverse((oldest, station)),
                None => drop(PeekMut::pop(top)),
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

    /// The turn of a station has ended: it is behind those whose packets came meanwhile.
    pub(super) fn end_turn<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        station: StationId,
        category: Category,
    ) {
        self.leave(lists, station, category);
        self.update(lists, station, category);
    }

    /// A station that was emptied leaves the round, and comes again at its end.
    pub(super) fn leave_if_idle<P: Payload>(
        &mut self,
        lists: &mut StationLists<P>,
        station: StationId,
        category: Category,
    ) {
        if !lists.entry(station, category).is_active() {
            self.leave(lists, station, category);
        }
    }

    fn leave<P: Payload>(&mut self, lists: &mut StationLists<P>, station: StationId, category: Category) {
        if mem::take(&mut lists.entry(station, category).in_turn) {
            self.turns[category.index()].retain(|&other| other != station.0);
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

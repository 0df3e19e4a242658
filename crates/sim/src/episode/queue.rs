//! The queue of an episode: CoDel with a target for each station, in the order of arrival plus target.

use std::collections::{BTreeMap, VecDeque};

use airbound_control::frame::{DropReason, PlainPacket, StationId};
use airbound_control::queue::custom::{GivenUp, Waiting};
use airbound_control::queue::{CodelParameters, CodelState, QueueDecider, Standing};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::decision::{Settings, station_of};

/// Limit of queued packets, as of kernel `sch_codel`.
const LIMIT: usize = 1000;

/// Packets to a station in a category.
#[derive(Debug, Default)]
struct List {
    packets: VecDeque<Waiting>,
    bytes: ByteCount,
    codel: CodelState,
}

/// The queue of one transmitter.
#[derive(Debug)]
pub(super) struct Targets {
    settings: Settings,
    own: u32,
    lists: BTreeMap<(usize, StationId), List>,
    queued: usize,
}

impl Targets {
    pub(super) const fn new(settings: Settings, own: u32) -> Self {
        Self { settings, own, lists: BTreeMap::new(), queued: 0 }
    }

    fn target(&self, peer: StationId) -> Span {
        Span::from_nanos(self.settings.get(station_of(self.own, peer.0)))
    }
}

impl QueueDecider for Targets {
    fn enqueue(&mut self, _now: Instant, packet: &Waiting, given_up: &mut GivenUp) {
        if self.queued >= LIMIT {
            given_up.push((packet.number, DropReason::QueueFull));
            return;
        }
        let list = self.lists.entry((packet.category.index(), packet.station)).or_default();
        list.packets.push_back(*packet);
        list.bytes += packet.size;
        self.queued += 1;
    }

    /// Packets that wait below for another try precede all.
    fn select(&mut self, _now: Instant, category: Category, stations: &[StationId]) -> Option<StationId> {
        let due = |station: &StationId| {
            let list = self.lists.get(&(category.index(), *station));
            let oldest = list.and_then(|list| list.packets.front());
            oldest.map_or(Instant::ZERO, |oldest| oldest.enqueued + self.target(*station))
        };
        stations.iter().copied().min_by_key(due)
    }

    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        given_up: &mut GivenUp,
    ) -> Option<u64> {
        let target = self.target(station);
        let list = self.lists.get_mut(&(category.index(), station))?;
        let standard = CodelParameters::default();
        let parameters = CodelParameters { target, interval: standard.interval.max(target), ..standard };
        let (packets, bytes, queued) = (&mut list.packets, &mut list.bytes, &mut self.queued);
        let next = || {
            let first = packets.pop_front()?;
            *queued -= 1;
            *bytes -= first.size;
            let packet = PlainPacket {
                number: first.number as usize,
                size: first.size,
                enqueued: first.enqueued,
                ..PlainPacket::new(first.station, first.flow)
            };
            Some((packet, Standing { left: *bytes, since: first.enqueued }))
        };
        let give_up = |packet: PlainPacket| given_up.push((packet.number as u64, DropReason::Congestion));
        list.codel.dequeue(&parameters, now, next, give_up).map(|packet| packet.number as u64)
    }
}

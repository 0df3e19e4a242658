//! A queue controlled by code outside of this crate, which is not trusted: a researcher's own scheme.
//!
//! [`CustomQueue`] holds the packets and the state of the stations; a [`QueueDecider`] is given the waiting packets and refers to them
//! by number. No answer can lose a packet or send it twice: an invalid answer is a [`Mistake`], is reported to the decider, and has no
//! effect.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::run::Dequeue;
use super::{
    AggregateBound, Backlogs, Deadline, Demand, Demands, Direction, Fact, Protection, Queue, Sink, Turn,
};
use crate::error::ConfigError;
use crate::frame::TxReport;
use crate::frame::{DropReason, Dropped, FlowId, Payload, StationId};
use crate::queue::Eligibility;

/// A waiting packet, as shown to a decider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Its number in this queue, ascending in the order of arrival.
    pub number: u64,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// The peer it is sent to next.
    pub station: StationId,
    /// The access category it travels in.
    pub category: Category,
    /// Its length from the IP header on.
    pub size: ByteCount,
    /// When it entered the queue.
    pub enqueued: Instant,
}

/// Numbers of packets to be dropped, with the reason.
pub type GivenUp = Vec<(u64, DropReason)>;

/// An invalid answer of a decider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// A packet was named that is not in the queue.
    #[error("packet {number} is not waiting in this queue")]
    Gone {
        /// Its number.
        number: u64,
    },
    /// A packet was returned that is not for the selected station.
    #[error("packet {number} is not for station {} in category {category}", station.0)]
    Astray {
        /// Its number.
        number: u64,
        /// The selected station.
        station: StationId,
        /// The selected category.
        category: Category,
    },
    /// A station was selected that is not eligible.
    #[error("`select` returned station {}, which is not eligible now", station.0)]
    Unserved {
        /// The station.
        station: StationId,
    },
}

/// Schedules the packets of a [`CustomQueue`].
pub trait QueueDecider: fmt::Debug + Send + Sync {
    /// Notes an arriving packet. Packets dropped for it, possibly itself, are appended to `given_up`.
    fn enqueue(&mut self, now: Instant, packet: &Waiting, given_up: &mut GivenUp);

    /// Selects the station of `stations` to be served next in `category`; `None`: no station now. `stations` lists those that are
    /// eligible, with packets here or waiting below for retransmission, in the order of their oldest packets. Never empty.
    fn select(&mut self, _now: Instant, _category: Category, stations: &[StationId]) -> Option<StationId> {
        stations.first().copied()
    }

    /// Selects the next packet for the selected station, which has at least one here; `None`: no more now. Packets to be dropped are
    /// appended to `given_up`.
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        given_up: &mut GivenUp,
    ) -> Option<u64>;

    /// The bound on the aggregate of the selected station.
    fn aggregate_bound(&self, _now: Instant, _station: StationId, _category: Category) -> AggregateBound {
        AggregateBound::NONE
    }

    /// See [`Fact::Airtime`].
    fn on_airtime(
        &mut self,
        _now: Instant,
        _station: StationId,
        _category: Category,
        _airtime: Span,
        _direction: Direction,
    ) {
    }

    /// See [`Fact::Rate`].
    fn on_rate(&mut self, _now: Instant, _station: StationId, _rate: BitRate, _mpdus: u16) {}

    /// Notes that `acknowledged` of the `mpdus` MPDUs of an aggregate were acknowledged. The others are retransmitted or given up
    /// below.
    fn on_report(
        &mut self,
        _now: Instant,
        _station: StationId,
        _category: Category,
        _mpdus: usize,
        _acknowledged: usize,
    ) {
    }

    /// Notes that the latency demand of a flow was set, changed or removed.
    fn on_demand(&mut self, _now: Instant, _flow: FlowId, _demand: Option<Demand>) {}

    /// When to call [`QueueDecider::select`] again even if no packet arrives.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Notes that an answer was invalid.
    fn on_mistake(&mut self, _mistake: Mistake) {}
}

/// State of a station in a category.
#[derive(Debug, Default)]
struct Entry {
    /// Numbers of its packets in the queue.
    waiting: BTreeSet<u64>,
    eligibility: Eligibility,
}

/// See the [module's](self) description.
#[derive(Debug)]
pub struct CustomQueue<P> {
    decider: Box<dyn QueueDecider>,
    packets: BTreeMap<u64, P>,
    /// Indexed by category, then station.
    stations: BTreeMap<(usize, StationId), Entry>,
    waiting: Backlogs,
    next: u64,
    given_up: GivenUp,
}

impl<P: Payload> CustomQueue<P> {
    /// Creates an empty queue controlled by `decider`.
    #[must_use]
    pub fn new(decider: Box<dyn QueueDecider>) -> Self {
        Self {
            decider,
            packets: BTreeMap::new(),
            stations: BTreeMap::new(),
            waiting: Backlogs::default(),
            next: 0,
            given_up: GivenUp::new(),
        }
    }

    /// Removes and returns a packet; `None` if it is not in the queue.
    fn take(&mut self, number: u64) -> Option<P> {
        let packet = self.packets.remove(&number)?;
        if let Some(entry) = self.stations.get_mut(&(packet.category().index(), packet.station())) {
            entry.waiting.remove(&number);
        }
        self.waiting.of_mut(packet.category()).remove(packet.size());
        Some(packet)
    }

    fn drop_given_up(&mut self, dropped: &mut Vec<Dropped<P>>) {
        let mut given_up = std::mem::take(&mut self.given_up);
        for (number, reason) in given_up.drain(..) {
            match self.take(number) {
                Some(packet) => dropped.push(Dropped { packet, reason }),
                None => self.decider.on_mistake(Mistake::Gone { number }),
            }
        }
        self.given_up = given_up;
    }

    /// Arrival time of a station's oldest packet in a category, if the station is eligible.
    fn since(&self, entry: &Entry) -> Option<Instant> {
        let own = || entry.waiting.first().and_then(|first| self.packets.get(first)).map(P::enqueued);
        match entry.eligibility {
            Eligibility::Blocked => None,
            Eligibility::Retries { since } => Some(own().map_or(since, |own| own.min(since))),
            Eligibility::Fresh => own(),
        }
    }
}

impl<P: Payload> CustomQueue<P> {
    /// The station to be served next.
    fn next_station(&mut self, now: Instant, category: Category) -> Option<StationId> {
        let index = category.index();
        let range = (index, StationId(0))..=(index, StationId(u16::MAX));
        let mut ready: Vec<(Instant, StationId)> = self
            .stations
            .range(range)
            .filter_map(|((_, station), entry)| Some((self.since(entry)?, *station)))
            .collect();
        if ready.is_empty() {
            return None;
        }
        ready.sort_unstable();
        let stations: Vec<StationId> = ready.into_iter().map(|(_, station)| station).collect();
        let station = self.decider.select(now, category, &stations)?;
        if stations.contains(&station) {
            return Some(station);
        }
        self.decider.on_mistake(Mistake::Unserved { station });
        None
    }

    fn on_report(&mut self, now: Instant, report: &TxReport<P>) {
        let mpdus = report.descriptor.mpdus.len();
        let acknowledged = (0..mpdus).filter(|index| report.acknowledged.get(*index)).count();
        self.decider.on_report(
            now,
            report.descriptor.station,
            report.descriptor.category,
            mpdus,
            acknowledged,
        );
    }
}

impl<P: Payload> Dequeue<P> for CustomQueue<P> {
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        let entry = self.stations.get(&(category.index(), station))?;
        if entry.waiting.is_empty() || entry.eligibility == Eligibility::Blocked {
            return None;
        }
        let answer = self.decider.dequeue(now, station, category, &mut self.given_up);
        self.drop_given_up(dropped);
        let number = answer?;
        let Some(packet) = self.packets.get(&number) else {
            self.decider.on_mistake(Mistake::Gone { number });
            return None;
        };
        if (packet.station(), packet.category()) != (station, category) {
            self.decider.on_mistake(Mistake::Astray { number, station, category });
            return None;
        }
        self.take(number)
    }
}

impl<P: Payload> Demands for CustomQueue<P> {
    fn check(&self, _demand: &Demand) -> Result<(), ConfigError> {
        Ok(())
    }

    fn set(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) -> Result<(), ConfigError> {
        self.decider.on_demand(now, flow, demand);
        Ok(())
    }

    fn protection(&self, _flow: FlowId) -> Option<Protection> {
        None
    }

    fn tightest(&self, _now: Instant) -> AggregateBound {
        AggregateBound::NONE
    }
}

impl<P: Payload> Queue<P> for CustomQueue<P> {
    fn enqueue(&mut self, now: Instant, mut packet: P, dropped: &mut Vec<Dropped<P>>) {
        packet.set_enqueued(now);
        let waiting = Waiting {
            number: self.next,
            flow: packet.flow(),
            station: packet.station(),
            category: packet.category(),
            size: packet.size(),
            enqueued: now,
        };
        self.next += 1;
        self.waiting.of_mut(packet.category()).add(packet.size());
        let place = (waiting.category.index(), waiting.station);
        self.stations.entry(place).or_default().waiting.insert(waiting.number);
        self.packets.insert(waiting.number, packet);
        self.decider.enqueue(now, &waiting, &mut self.given_up);
        self.drop_given_up(dropped);
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        let station = self.next_station(now, category)?;
        let bound = self.decider.aggregate_bound(now, station, category);
        let bound = AggregateBound { mpdus: bound.mpdus.max(1), ..bound };
        Some(Turn { bound, ..Turn::new(station, category) })
    }

    #[inline]
    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        self.hand_out(now, turn, sink, dropped);
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        for category in Category::ALL {
            let entry = self.stations.get(&(category.index(), station));
            let numbers: Vec<u64> = entry.into_iter().flat_map(|entry| &entry.waiting).copied().collect();
            out.extend(numbers.into_iter().filter_map(|number| self.take(number)));
        }
    }

    fn backlog(&self) -> &Backlogs {
        &self.waiting
    }

    fn on(&mut self, now: Instant, fact: Fact<'_, P>) {
        match fact {
            Fact::Eligibility { station, category, eligibility } => {
                self.stations.entry((category.index(), station)).or_default().eligibility = eligibility;
            }
            Fact::Reported(report) => self.on_report(now, report),
            Fact::Airtime { station, category, airtime, direction } => {
                self.decider.on_airtime(now, station, category, airtime, direction);
            }
            Fact::Rate { station, rate, mpdus } => self.decider.on_rate(now, station, rate, mpdus),
            _ => {}
        }
    }

    fn deadline(&self) -> Deadline {
        Deadline { select: self.decider.next_deadline(), channel_load: None }
    }
}

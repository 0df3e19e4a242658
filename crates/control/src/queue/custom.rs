//! A queue whose decisions come from outside of this crate, from code that nobody has checked: a researcher's own scheme.
//!
//! [`CustomQueue`] keeps the packets and what the link tells of the stations; a [`QueueDecider`] sees what is waiting, and decides by
//! number. Whatever it answers, no packet is lost or sent twice: an answer that cannot be followed is a [`Mistake`], is told, and
//! counts for nothing.

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

/// A packet as a decider sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Its number in this queue, which ascends from packet to packet.
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

/// Numbers of packets that are to be dropped, and why.
pub type GivenUp = Vec<(u64, DropReason)>;

/// Why an answer of a decider cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    /// A packet was named that is not there.
    #[error("packet {number} was named, which is not waiting in this queue (any more)")]
    Gone {
        /// Its number.
        number: u64,
    },
    /// A packet was handed out that is not for the station that is served.
    #[error("packet {number} was handed out for station {} in {category}, and is for another station or category", station.0)]
    Astray {
        /// Its number.
        number: u64,
        /// The station that is served.
        station: StationId,
        /// In which category.
        category: Category,
    },
    /// A station was selected that cannot be served.
    #[error("station {} was selected, which was none of those that can be served", station.0)]
    Unserved {
        /// Which.
        station: StationId,
    },
}

/// Decides over the packets of a [`CustomQueue`].
pub trait QueueDecider: fmt::Debug + Send + Sync {
    /// A packet came. Whoever is dropped for it, perhaps itself, goes to `given_up`.
    fn enqueue(&mut self, now: Instant, packet: &Waiting, given_up: &mut GivenUp);

    /// Which of `stations` is served next in `category`; `None`: nobody now. They are those that have packets, here or waiting below to
    /// be sent again, and may send; the one whose oldest packet came first is the first. Never empty.
    fn select(&mut self, _now: Instant, _category: Category, stations: &[StationId]) -> Option<StationId> {
        stations.first().copied()
    }

    /// The next packet for a selected station, which has at least one here; `None`: no more now. Packets dropped on the way go to
    /// `given_up`.
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        given_up: &mut GivenUp,
    ) -> Option<u64>;

    /// The bound on the aggregate that a selected station may be given.
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

    /// Of an aggregate of `mpdus` MPDUs so many were acknowledged. Those that were not are sent again or given up below.
    fn on_report(
        &mut self,
        _now: Instant,
        _station: StationId,
        _category: Category,
        _mpdus: usize,
        _acknowledged: usize,
    ) {
    }

    /// A latency is demanded of a flow from now on, or none any more.
    fn on_demand(&mut self, _now: Instant, _flow: FlowId, _demand: Option<Demand>) {}

    /// When [`QueueDecider::select`] wants to be called again although nothing came.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// An answer could not be followed.
    fn on_mistake(&mut self, _mistake: Mistake) {}
}

/// State of a station in a category.
#[derive(Debug, Default)]
struct Entry {
    /// Numbers of its packets here.
    waiting: BTreeSet<u64>,
    eligibility: Eligibility,
}

/// See the [module's](self) description.
#[derive(Debug)]
pub struct CustomQueue<P> {
    decider: Box<dyn QueueDecider>,
    packets: BTreeMap<u64, P>,
    /// By category, then station.
    stations: BTreeMap<(usize, StationId), Entry>,
    waiting: Backlogs,
    next: u64,
    given_up: GivenUp,
}

impl<P: Payload> CustomQueue<P> {
    /// An empty queue over which `decider` decides.
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

    /// Takes a packet out; `None` if it is not there.
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

    /// Since when a station has something to send in a category, if it has and may.
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

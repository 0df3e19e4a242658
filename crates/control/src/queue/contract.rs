//! The values of the queue contract: turns, facts, backlogs, deadlines.

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::{Demand, Protection};
use crate::error::ConfigError;
use crate::frame::{FlowId, StationId, TxDescriptor, TxReport};

/// Packets and bytes that wait.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Bytes, as [`crate::frame::Payload::size`] counts them.
    pub bytes: ByteCount,
}

impl Backlog {
    /// A packet of `size` joins.
    #[inline]
    pub(crate) fn add(&mut self, size: ByteCount) {
        self.packets += 1;
        self.bytes += size;
    }

    /// A packet of `size` leaves.
    #[inline]
    pub(crate) fn remove(&mut self, size: ByteCount) {
        self.packets = self.packets.saturating_sub(1);
        self.bytes -= size;
    }

    /// All of `parts` together.
    pub fn sum(parts: impl IntoIterator<Item = Self>) -> Self {
        parts.into_iter().fold(Self::default(), |sum, part| Self {
            packets: sum.packets + part.packets,
            bytes: sum.bytes + part.bytes,
        })
    }
}

/// The backlog of each access category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlogs([Backlog; 4]);

impl Backlogs {
    /// The backlog of one category.
    #[must_use]
    pub const fn of(&self, category: Category) -> Backlog {
        self.0[category.index()]
    }

    /// The backlog of one category, to be changed.
    #[inline]
    pub(crate) const fn of_mut(&mut self, category: Category) -> &mut Backlog {
        &mut self.0[category.index()]
    }

    /// Whether packets wait in a category.
    #[must_use]
    pub const fn has(&self, category: Category) -> bool {
        self.0[category.index()].packets > 0
    }

    /// The backlog of all categories.
    #[must_use]
    pub fn total(&self) -> Backlog {
        Backlog::sum(self.0)
    }
}

/// A tighter bound on the next aggregate than the standard and the hardware set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AggregateBound {
    /// Most MPDUs, at least 1.
    pub mpdus: u16,
    /// Longest airtime of the PPDU.
    pub duration: Span,
}

impl AggregateBound {
    /// No bound of its own.
    pub const NONE: Self = Self { mpdus: u16::MAX, duration: Span::MAX };
}

/// The right to send one aggregate, as [`super::Queue::select`] gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The receiver.
    pub station: StationId,
    /// The access category.
    pub category: Category,
    /// The bound on the aggregate.
    pub bound: AggregateBound,
    /// Whether the queue bounds or charges the airtime below it, so that each packet needs an estimate
    /// ([`super::Sink::put`]). Constant for a queue.
    pub counts_airtime: bool,
}

impl Turn {
    /// A turn without a bound, of a queue that does not count the airtime below it.
    #[must_use]
    pub const fn new(station: StationId, category: Category) -> Self {
        Self { station, category, bound: AggregateBound::NONE, counts_airtime: false }
    }

    /// The same turn of a queue that may count the airtime below it.
    #[must_use]
    pub const fn counting(self, counts_airtime: bool) -> Self {
        Self { counts_airtime, ..self }
    }
}

/// Turns of a category, one after another, until nothing can be served.
///
/// A turn may bring nothing: an AQM may drop all packets of a station, a queue of outside may refuse. Turns that neither serve
/// nor drop a packet are bounded by the number of stations, so that no queue can keep its caller in a loop.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    fruitless: usize,
    stations: usize,
}

impl Turns {
    /// The turns among so many stations.
    #[must_use]
    pub const fn among(stations: usize) -> Self {
        Self { fruitless: 0, stations }
    }

    /// The next turn, as `select` gives it.
    #[inline]
    pub fn next(&self, select: impl FnOnce() -> Option<Turn>) -> Option<Turn> {
        if self.fruitless <= self.stations { select() } else { None }
    }

    /// Notes whether the turn served or dropped a packet.
    #[inline]
    pub fn on_turn(&mut self, brought: bool) {
        self.fruitless += usize::from(!brought);
    }
}

/// Direction of a frame, seen from the transmitter that owns the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the station.
    Sent,
    /// From the station.
    Received,
}

/// The state of the layers below the queue for one station and category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Eligibility {
    /// Nothing waits below: the station takes part when packets wait in the queue.
    #[default]
    Fresh,
    /// MPDUs wait below for another transmission: the station takes part even if nothing waits in the queue.
    Retries {
        /// The arrival of the oldest of them.
        since: Instant,
    },
    /// The block-ack window is full: the station cannot be served before a report.
    Blocked,
}

/// An observation of the layers below or of the environment, as [`super::Queue::on`] takes it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fact<'a, P> {
    /// Another queue, which this one cannot order, lies between it and the hardware. Told once, before all else.
    LowerQueue,
    /// The state below the queue of a station and category; [`Eligibility::Fresh`] until told otherwise.
    Eligibility {
        /// The peer.
        station: StationId,
        /// The access category.
        category: Category,
        /// Its state.
        eligibility: Eligibility,
    },
    /// A descriptor goes to the hardware.
    Granted(&'a TxDescriptor<P>),
    /// A descriptor comes back from the hardware. Its MPDUs that were acknowledged have left the layers below; the link sends
    /// the others again, or gives them up ([`Fact::Dropped`]).
    Reported(&'a TxReport<P>),
    /// A packet that left the queue uncounted ([`super::Sink::put`]) goes to the layers below, with its estimate of airtime.
    Handed(&'a P),
    /// The layers below have given up a packet that was handed to them.
    Dropped(&'a P),
    /// Airtime that a station used, failed tries included.
    Airtime {
        /// The peer.
        station: StationId,
        /// The access category.
        category: Category,
        /// The air that was occupied.
        airtime: Span,
        /// The direction of the frames.
        direction: Direction,
    },
    /// The goodput that rate control expects of a station, perhaps unchanged (kernel:
    /// `ieee80211_sta_set_expected_throughput`).
    Throughput {
        /// The peer.
        station: StationId,
        /// The expected goodput; zero: unknown.
        throughput: BitRate,
    },
    /// Data to a station goes out at another rate from now on.
    Rate {
        /// The peer.
        station: StationId,
        /// The PHY rate.
        rate: BitRate,
        /// Most full-size packets that an aggregate holds at this rate.
        mpdus: u16,
    },
    /// The load of the channel since the last such fact, 0 to 1; `None` where the environment cannot tell.
    ChannelLoad {
        /// Share of the time in which the channel was busy for any reason.
        busy: Option<f64>,
        /// Share of the transmitter's own frames with their acknowledgements; part of `busy`.
        own: Option<f64>,
    },
}

/// The instants at which a queue or link wants to be called although nothing was enqueued or reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deadline {
    /// To be asked for a turn again.
    pub select: Option<Instant>,
    /// To be told the [`Fact::ChannelLoad`] of the time up to then; `None`: not before a packet comes.
    pub channel_load: Option<Instant>,
}

impl Deadline {
    /// The earlier ones of two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        let first = |one: Option<Instant>, other: Option<Instant>| one.into_iter().chain(other).min();
        Self {
            select: first(self.select, other.select),
            channel_load: first(self.channel_load, other.channel_load),
        }
    }
}

/// Latency demands of flows, where a queue works with them.
pub trait Demands {
    /// Checks whether the queue can work with a demand.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if it cannot.
    fn check(&self, demand: &Demand) -> Result<(), ConfigError>;

    /// Sets the demand of a flow, changes it, or removes it with `None`.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if the queue cannot work with the demand; the demand before stays.
    fn set(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) -> Result<(), ConfigError>;

    /// The state of a flow with a demand; `None` if it has none.
    fn protection(&self, flow: FlowId) -> Option<Protection>;

    /// The bound on aggregates of stations without a demand of their own.
    fn tightest(&self, now: Instant) -> AggregateBound;
}

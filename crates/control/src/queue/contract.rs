//! The values of the queue contract: turns, facts, backlogs, deadlines.

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use crate::frame::{StationId, TxDescriptor, TxReport};

/// Packets and bytes in a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of packets.
    pub packets: usize,
    /// Number of bytes, the sum of [`crate::frame::Payload::size`].
    pub bytes: ByteCount,
}

impl Backlog {
    /// Adds a packet of `size`.
    #[inline]
    pub(crate) fn add(&mut self, size: ByteCount) {
        self.packets += 1;
        self.bytes += size;
    }

    /// Removes a packet of `size`.
    #[inline]
    pub(crate) fn remove(&mut self, size: ByteCount) {
        self.packets = self.packets.saturating_sub(1);
        self.bytes -= size;
    }

    /// The sum of `parts`.
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

/// A bound on the next aggregate, tighter than those of the standard and the hardware.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AggregateBound {
    /// Upper limit on MPDUs, at least 1.
    pub mpdus: u16,
    /// Longest airtime of the PPDU.
    pub duration: Span,
}

impl AggregateBound {
    /// No bound beyond those of the standard and the hardware.
    pub const NONE: Self = Self { mpdus: u16::MAX, duration: Span::MAX };
}

/// The permission to send one aggregate, returned by [`super::Queue::select`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// The receiver.
    pub station: StationId,
    /// The access category.
    pub category: Category,
    /// The bound on the aggregate.
    pub bound: AggregateBound,
    /// Whether the queue bounds or charges the airtime below it, so that each packet needs an estimate ([`super::Sink::put`]).
    /// Constant for each queue.
    pub counts_airtime: bool,
    /// The packets that it moves where another queue lies below.
    pub portion: Portion,
}

/// The packets that one turn moves to a queue below; then the queue is asked for the next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Portion {
    /// One.
    Packet,
    /// Those of an aggregate.
    Aggregate,
    /// All that the queue hands out, as a driver of mac80211 takes them from a station (`ieee80211_tx_dequeue` until it returns none).
    All,
}

impl Turn {
    /// Creates a turn without a bound, of a queue that does not account for airtime below it.
    #[must_use]
    pub const fn new(station: StationId, category: Category) -> Self {
        Self {
            station,
            category,
            bound: AggregateBound::NONE,
            counts_airtime: false,
            portion: Portion::Packet,
        }
    }

    /// Sets whether the queue accounts for airtime below it.
    #[must_use]
    pub const fn counting(self, counts_airtime: bool) -> Self {
        Self { counts_airtime, ..self }
    }

    /// Sets the packets that it moves to a queue below.
    #[must_use]
    pub const fn moving(self, portion: Portion) -> Self {
        Self { portion, ..self }
    }
}

/// Iterates over the turns of a category until no station can be served.
///
/// A turn may serve nothing: an AQM may drop all packets of a station, a custom queue may refuse. Turns that neither serve nor
/// drop a packet are limited to the number of stations, so that no queue can trap its caller in a loop.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    fruitless: usize,
    stations: usize,
}

impl Turns {
    /// Creates the iteration for a number of stations.
    #[must_use]
    pub const fn among(stations: usize) -> Self {
        Self { fruitless: 0, stations }
    }

    /// The next turn returned by `select`, or `None` after too many turns without effect.
    #[inline]
    pub fn next(&self, select: impl FnOnce() -> Option<Turn>) -> Option<Turn> {
        if self.fruitless <= self.stations { select() } else { None }
    }

    /// Notes whether the turn served or dropped a packet.
    #[inline]
    pub fn on_turn(&mut self, had_effect: bool) {
        self.fruitless += usize::from(!had_effect);
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
    /// No MPDU waits below: the station is eligible if the queue holds packets for it.
    #[default]
    Fresh,
    /// MPDUs wait below for retransmission: the station is eligible even if the queue holds no packets for it.
    Retries {
        /// Arrival time of the oldest of them.
        since: Instant,
    },
    /// The block-ack window is full: the station is not eligible before the next report.
    Blocked,
}

/// An observation of the layers below or of the environment, passed to [`super::Queue::on`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Fact<'a, P> {
    /// Another queue, whose order this one cannot change, lies between it and the hardware. Reported once, before all other
    /// facts.
    LowerQueue {
        /// Whether the caller bounds the airtime in that queue according to the demands ([`super::Demands::tightest`]).
        bounded: bool,
    },
    /// The queue below begins to take packets of a category (kernel: `ieee80211_txq_schedule_start`).
    Round(Category),
    /// The state below the queue of a station and category; [`Eligibility::Fresh`] until reported otherwise.
    Eligibility {
        /// The peer.
        station: StationId,
        /// The access category.
        category: Category,
        /// Its state.
        eligibility: Eligibility,
    },
    /// A descriptor is handed to the hardware.
    Granted(&'a TxDescriptor<P>),
    /// The hardware returned a descriptor. Its acknowledged MPDUs have left the layers below; the link retransmits the others
    /// or gives them up ([`Fact::Dropped`]).
    Reported(&'a TxReport<P>),
    /// The exchange of a station's PPDU has ended, and only now the next one is formed ([`crate::link::LinkConfig::forms_ahead`]).
    /// To the queue that serves the hardware.
    TurnEnded {
        /// The receiver.
        station: StationId,
        /// The access category.
        category: Category,
    },
    /// A packet that left the queue without accounting ([`super::Sink::put`]) is handed to the layers below, with its airtime
    /// estimate.
    Handed(&'a P),
    /// The layers below have given up a packet.
    Dropped(&'a P),
    /// Airtime used by a station, failed tries included.
    Airtime {
        /// The peer.
        station: StationId,
        /// The access category.
        category: Category,
        /// The airtime.
        airtime: Span,
        /// The direction of the frames.
        direction: Direction,
    },
    /// The goodput that rate control expects of a station, possibly unchanged (kernel:
    /// `ieee80211_sta_set_expected_throughput`).
    Throughput {
        /// The peer.
        station: StationId,
        /// The expected goodput; zero: unknown.
        throughput: BitRate,
    },
    /// The data rate to a station changed.
    Rate {
        /// The peer.
        station: StationId,
        /// The PHY rate.
        rate: BitRate,
        /// Full-size packets in the longest aggregate at this rate.
        mpdus: u16,
    },
    /// The airtime weight of a station relative to others (`NL80211_ATTR_AIRTIME_WEIGHT`); 256 until reported otherwise, 0 counts as 1.
    Weight {
        /// The peer.
        station: StationId,
        /// The weight.
        weight: u16,
    },
    /// The channel load since the last such fact, 0 to 1; `None` if the environment cannot measure it.
    ChannelLoad {
        /// Share of the time in which the channel was busy for any reason.
        busy: Option<f64>,
        /// Share used by the transmitter's own frames and their acknowledgements; part of `busy`.
        own: Option<f64>,
    },
}

/// The instants at which a queue or link has to be called even if nothing was enqueued or reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Deadline {
    /// When to call `select` again.
    pub select: Option<Instant>,
    /// When to report the [`Fact::ChannelLoad`] up to then; `None`: not before the next packet.
    pub channel_load: Option<Instant>,
}

impl Deadline {
    /// The earlier instant of each kind.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        let first = |one: Option<Instant>, other: Option<Instant>| one.into_iter().chain(other).min();
        Self {
            select: first(self.select, other.select),
            channel_load: first(self.channel_load, other.channel_load),
        }
    }
}

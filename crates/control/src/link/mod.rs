//! The transmit path of one transmitter: queueing, aggregation, rates, retries.

mod airtime;
mod block_ack;
mod composed;
mod config;
pub mod law;
mod outstanding;
mod rate_facts;
mod transmit_state;

pub use airtime::AirtimeEstimate;
pub use composed::{Composed, DriverOrder, LowerQueue};
pub use config::{LinkConfig, TimeLimits};
pub use law::{BesideClassic, Law, LawConfig, LawCounts, LawState, LawView};
pub(crate) use outstanding::Outstanding;

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use crate::frame::{DropReason, Dropped, Payload, StationId};
use crate::frame::{Mpdu, TxDescriptor, TxReport};
use crate::queue::{Arrivals, Backlog, Deadline, take_all};
use crate::rate::LinkStats;

/// Capacity of the hardware for one descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The category asked for.
    pub category: Category,
    /// Longest airtime of the PPDU itself, for example the remainder of a TXOP.
    pub max_duration: Span,
}

/// Unacknowledged MPDUs of a report that the link did not keep.
#[derive(Debug, Clone)]
pub struct Returned<P> {
    /// A descriptor to be sent at once, ahead of all others of the category.
    pub retry_now: Option<TxDescriptor<P>>,
    /// MPDUs that were given up.
    pub dropped: Vec<(Mpdu<P>, DropReason)>,
    /// New start of the receiver's window, if an MPDU was given up or the window has just passed one given up earlier: no MPDU below
    /// it will follow.
    pub window_start: Option<u64>,
}

impl<P> Default for Returned<P> {
    fn default() -> Self {
        Self { retry_now: None, dropped: Vec::new(), window_start: None }
    }
}

/// Holds packets for stations that do not listen.
pub trait Hold {
    /// Holds the packets for a station, or sends them again: it does not listen, as it has announced. Descriptors already formed are not
    /// taken back.
    fn hold(&mut self, now: Instant, station: StationId, held: bool);
}

/// Decides what a transmitter sends next, and how: queueing, aggregation, rate and retries together.
pub trait Link<P: Payload> {
    /// Takes a packet at `now`; packets dropped in favour of it are appended to `dropped`.
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>);

    /// Takes packets one after another, each at its arrival time, until none is left or a packet is dropped. Returns the arrival
    /// time of the last packet taken.
    #[inline]
    fn enqueue_all(
        &mut self,
        arrivals: &mut impl Arrivals<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Instant>
    where
        Self: Sized,
    {
        take_all(arrivals, dropped, |now, packet, dropped| self.enqueue(now, packet, dropped))
    }

    /// Forms the next PPDU that fits in `room`; `None` if there is nothing to send. Packets that expired or were given up meanwhile
    /// are appended to `dropped`.
    fn next(&mut self, now: Instant, room: Room, dropped: &mut Vec<Dropped<P>>) -> Option<TxDescriptor<P>>;

    /// Takes a returned descriptor. The link keeps unacknowledged MPDUs for a later descriptor, or appends them to `returned`.
    fn on_report(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>);

    /// Notes a frame of `airtime` received from `station`.
    fn on_received(&mut self, _now: Instant, _station: StationId, _category: Category, _airtime: Span) {}

    /// Notes measurements of the link to `station`.
    fn on_link_stats(&mut self, _now: Instant, _station: StationId, _stats: &LinkStats) {}

    /// The lowest unsettled sequence number of a station and category: MPDUs below it were delivered, or given up with the receiver
    /// informed. [`u64::MAX`] if nothing was ever handed down.
    fn window_start(&self, _station: StationId, _category: Category) -> u64 {
        u64::MAX
    }

    /// Whether a report may free capacity for other categories, so that all have to be asked again.
    fn limits_all_categories(&self) -> bool {
        false
    }

    /// Whether [`Link::next`] may have something to send in `category`.
    fn has_backlog(&self, category: Category) -> bool;

    /// All packets waiting in the link, including those kept for retransmission.
    fn backlog(&self) -> Backlog;

    /// Notes the channel load since the last call: the share of time in which the channel was `busy` for any reason, and the part of
    /// it used by `own` transmissions and their acknowledgements; 0 to 1, `None` if the environment cannot measure it.
    fn on_channel(&mut self, _now: Instant, _busy: Option<f64>, _own: Option<f64>) {}

    /// The instants at which [`Link::next`] and [`Link::on_channel`] have to be called if nothing else happens.
    fn deadline(&self) -> Deadline {
        Deadline::default()
    }
}

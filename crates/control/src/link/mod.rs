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
pub use composed::{Composed, LowerQueue};
pub use config::{LinkConfig, TimeLimits};
pub use law::{BesideClassic, Law, LawConfig, LawCounts, LawState, LawView};
pub(crate) use outstanding::Outstanding;

use std::ops::ControlFlow;

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use crate::frame::{DropReason, Dropped, Payload, StationId};
use crate::frame::{Mpdu, TxDescriptor, TxReport};
use crate::queue::{Arrivals, Backlog, Deadline};
use crate::rate::LinkStats;

/// Room of the hardware for one descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The category asked for.
    pub category: Category,
    /// Longest airtime of the PPDU itself, for example what is left of a TXOP.
    pub max_duration: Span,
}

/// The MPDUs of a report that were not acknowledged and that the link did not keep.
#[derive(Debug, Clone)]
pub struct Returned<P> {
    /// To be sent at once, ahead of everything else of the category.
    pub retry_now: Option<TxDescriptor<P>>,
    /// Given up.
    pub dropped: Vec<(Mpdu<P>, DropReason)>,
    /// Where the receiver's window begins now, if something was given up or the window has just passed something that was given up
    /// earlier: below it nothing will come any more.
    pub window_start: Option<u64>,
}

impl<P> Default for Returned<P> {
    fn default() -> Self {
        Self { retry_now: None, dropped: Vec::new(), window_start: None }
    }
}

/// Decides what a transmitter sends next, and how: queueing, aggregation, rate and retries together.
pub trait Link<P: Payload> {
    /// Takes a packet at `now`; whoever is dropped for it is appended to `dropped`.
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>);

    /// Takes packets one after another, each at the time at which it came, until there are no more or somebody is dropped for one.
    /// Returns when the last one came that was taken.
    #[inline]
    fn enqueue_all(
        &mut self,
        arrivals: &mut impl Arrivals<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Instant>
    where
        Self: Sized,
    {
        let before = dropped.len();
        let mut last = None;
        arrivals.hand_over(|now, packet| {
            self.enqueue(now, packet, dropped);
            last = Some(now);
            if dropped.len() == before { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        last
    }

    /// The next PPDU that fits in `room`, or `None` if there is nothing to send. Packets that expired or were given up
    /// while looking are appended to `dropped`.
    fn next(&mut self, now: Instant, room: Room, dropped: &mut Vec<Dropped<P>>) -> Option<TxDescriptor<P>>;

    /// Takes back a descriptor. MPDUs that were not acknowledged are kept by the link for a later descriptor, or appended to
    /// `returned`.
    fn on_report(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>);

    /// A frame of `airtime` came in from `station`.
    fn on_received(&mut self, _now: Instant, _station: StationId, _category: Category, _airtime: Span) {}

    /// News about the link to `station`.
    fn on_link_stats(&mut self, _now: Instant, _station: StationId, _stats: &LinkStats) {}

    /// The lowest sequence number of a station and category that is not settled: what is below it was delivered, or given up and the
    /// receiver told. [`u64::MAX`] if nothing was ever handed down.
    fn window_start(&self, _station: StationId, _category: Category) -> u64 {
        u64::MAX
    }

    /// Whether a report may make room for another category than its own, so that all have to be asked again.
    fn limits_all_categories(&self) -> bool {
        false
    }

    /// Whether [`Link::next`] may have something to send in `category`.
    fn has_backlog(&self, category: Category) -> bool;

    /// All that waits in the link, packets kept for retransmission included.
    fn backlog(&self) -> Backlog;

    /// Load of the channel since the last call: the share of the time in which it was `busy` for any reason, and that of our `own`
    /// transmissions with their acknowledgements, which is part of it; 0 to 1, `None` where the environment cannot tell.
    fn on_channel(&mut self, _now: Instant, _busy: Option<f64>, _own: Option<f64>) {}

    /// The instants at which the link wants to be called although nothing happens: [`Link::next`], and [`Link::on_channel`].
    fn deadline(&self) -> Deadline {
        Deadline::default()
    }
}

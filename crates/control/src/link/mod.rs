//! What a transmitter sends next, and how.

mod airtime;
mod composed;
mod config;
pub mod law;
mod limits;
mod outstanding;
mod rate_facts;
mod session;
mod standby;

pub use airtime::{AirtimeEstimate, expected_airtime};
pub use composed::{Composed, LowerQueue};
pub use config::LinkConfig;
pub use law::{Law, LawConfig, LawCounts, LawState, LawView};
pub use limits::TimeLimits;
pub use outstanding::Outstanding;
pub use standby::Standby;

use std::ops::ControlFlow;

use airbound_units::{ByteCount, Instant, Span};
pub use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;

use crate::error::ConfigError;
use crate::payload::{DropReason, Dropped, FlowId, Payload, StationId};
use crate::queue::{Arrivals, Backlog, Demand};
use crate::rate::{LinkStats, Series};

/// A packet on its way through the hardware.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mpdu<P> {
    /// What it carries.
    pub packet: P,
    /// Its length with MAC header and FCS, without A-MPDU delimiter and padding.
    pub size: ByteCount,
    /// Its sequence number within station and traffic identifier, counted without wrapping.
    pub sequence: u64,
    /// In how many grants it was before this one.
    pub retries: u8,
    /// How often it was sent in those grants.
    pub transmissions: u16,
    /// When it was first handed to the hardware.
    pub formed: Instant,
    /// How long it was in the hardware in those grants.
    pub in_hardware: Span,
}

impl<P> Mpdu<P> {
    /// An MPDU that is about to be handed to the hardware for the first time.
    pub const fn new(packet: P, size: ByteCount, sequence: u64, formed: Instant) -> Self {
        Self { packet, size, sequence, retries: 0, transmissions: 0, formed, in_hardware: Span::ZERO }
    }

    /// Notes a grant in which it was sent `transmissions` times within `stay`, without being acknowledged.
    pub fn came_back(&mut self, transmissions: u32, stay: Span) {
        let transmissions = u16::try_from(transmissions).unwrap_or(u16::MAX);
        self.retries = self.retries.saturating_add(1);
        self.transmissions = self.transmissions.saturating_add(transmissions);
        self.in_hardware += stay;
    }
}

/// What is sent next, and how: one PPDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant<P> {
    /// The receiver.
    pub station: StationId,
    /// The access category.
    pub category: Category,
    /// Whether it goes under the second traffic identifier of its category. A category has two (802.11-2020, table 10-1), each with a
    /// block-ack agreement, sequence numbers and a reordering buffer of its own, over one contention function.
    pub alternate: bool,
    /// The MPDUs, by ascending sequence number; at least one.
    pub mpdus: Vec<Mpdu<P>>,
    /// Length of the PSDU: delimiters, and padding between MPDUs, included when it is an A-MPDU. VHT and HE put a delimiter before a
    /// single MPDU too.
    pub psdu: ByteCount,
    /// Whether the MPDUs form an A-MPDU that is answered by a block ack, or one goes alone and is answered by an ack.
    pub aggregated: bool,
    /// The rates to try, in this order, while no acknowledgement comes.
    pub series: Series,
    /// The hardware returns the grant when it has worked on it for so long, whatever tries are left: from the time at which it is the
    /// first of its category and contends for the channel, backoff and a busy channel included. A transmission on the air
    /// is finished first.
    pub give_up_after: Option<Span>,
    /// The hardware returns the grant after the first try that fails then or later.
    pub give_up_at: Option<Instant>,
}

/// How much the hardware can take in one grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// The category asked for.
    pub category: Category,
    /// Longest airtime of the PPDU itself, for example what is left of a TXOP.
    pub max_duration: Span,
}

/// What the hardware says when it is done with a grant. What an environment cannot see is `None`.
#[derive(Debug, Clone)]
pub struct TxReport<P> {
    /// The grant, given back.
    pub grant: Grant<P>,
    /// When it was handed to the hardware.
    pub handed: Instant,
    /// When its first transmission began; `None` also if the time limit ended it before.
    pub started: Option<Instant>,
    /// When its last transmission ended, acknowledgement or time-out included.
    pub ended: Instant,
    /// The tries that were made; an empty chain if the time limit ended it before the first.
    pub used: Series,
    /// Air that all tries occupied, control frames included.
    pub airtime: Option<Span>,
    /// What was acknowledged.
    pub acknowledged: AckBitmap,
    /// Whether the grant is known to have been one PPDU; a firmware that aggregates by itself hides it.
    pub boundaries_known: bool,
}

/// What a link did with the MPDUs of a report that were not acknowledged and that it did not keep.
#[derive(Debug, Clone)]
pub struct Returned<P> {
    /// To be sent at once, ahead of everything else of the category.
    pub retry_now: Option<Grant<P>>,
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

/// What a transmitter sends next, and how: queueing, aggregation, rate and retries together.
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
    fn next(&mut self, now: Instant, room: Room, dropped: &mut Vec<Dropped<P>>) -> Option<Grant<P>>;

    /// Takes back a grant. MPDUs that were not acknowledged are kept by the link for a later grant, or appended to
    /// `returned`.
    fn on_report(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>);

    /// A frame of `airtime` came in from `station`.
    fn on_received(&mut self, _now: Instant, _station: StationId, _category: Category, _airtime: Span) {}

    /// News about the link to `station`.
    fn on_link_stats(&mut self, _now: Instant, _station: StationId, _stats: &LinkStats) {}

    /// Demands a latency of a flow; see [`crate::queue::Queue::set_demand`].
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if the link cannot work with the demand; what was demanded before stays.
    fn set_demand(
        &mut self,
        _now: Instant,
        _flow: FlowId,
        _demand: Option<Demand>,
    ) -> Result<(), ConfigError> {
        Ok(())
    }

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

    /// How the channel was used of late: the share of the time in which it was `busy` for any reason, and that of our `own`
    /// transmissions with their acknowledgements, which is part of it; 0 to 1, `None` where the environment cannot tell.
    fn on_channel(&mut self, _now: Instant, _busy: Option<f64>, _own: Option<f64>) {}

    /// When the link wants [`Link::on_channel`] to be called, for the time up to then; `None`: not as long as nothing comes.
    fn channel_deadline(&self) -> Option<Instant> {
        None
    }

    /// When the link wants [`Link::next`] to be called again although nothing was enqueued or reported.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bitmap_holds_256() {
        assert_eq!(AckBitmap::first(0), AckBitmap::NONE);
        for count in [1, 63, 64, 65, 128, 255, 256] {
            let bitmap = AckBitmap::first(count);
            assert_eq!(usize::from(bitmap.count()), count);
            assert!(bitmap.get(count - 1) && !bitmap.get(count));
        }
        assert_eq!(AckBitmap::first(1000), AckBitmap::first(256));
        let mut bitmap = AckBitmap::NONE;
        bitmap.set(256);
        bitmap.set(usize::MAX);
        assert_eq!(bitmap, AckBitmap::NONE);
        assert!(!bitmap.get(usize::MAX));
    }

    proptest! {
        #[test]
        fn a_bitmap_is_a_set(indices in proptest::collection::btree_set(0usize..256, 0..80)) {
            let mut bitmap = AckBitmap::NONE;
            for &index in indices.iter().chain(&indices) {
                bitmap.set(index);
            }
            prop_assert_eq!(usize::from(bitmap.count()), indices.len());
            prop_assert!((0..256).all(|index| bitmap.get(index) == indices.contains(&index)));
        }
    }
}

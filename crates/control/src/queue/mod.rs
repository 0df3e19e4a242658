//! Which packets wait, are dropped and go next.
//!
//! A queue is asked in two steps, as mac80211 asks its own: [`Queue::select`] names the station that is served next in a
//! category, and [`Queue::dequeue`] then hands out packets of that station one by one until the aggregate is full.

mod any;
mod codel;
pub mod custom;
mod fifo;
mod fq_codel;
mod last_pq;
mod packets;
mod pie;
mod round_robin;
mod run;
mod station_lists;
mod switch;
#[cfg(test)]
mod test_packet;
pub mod wqm;

pub use any::{AnyQueue, QueueConfig};
pub use codel::{Codel, CodelConfig, CodelParameters, CodelState, Standing};
pub use custom::{CustomQueue, QueueDecider};
pub use fifo::{Fifo, FifoConfig};
pub use fq_codel::{
    AirtimeQueueLimit, FqCodel, FqCodelAirtime, FqCodelAirtimeConfig, FqCodelConfig, SlowStations,
};
pub use last_pq::{
    AutoConfig, Choice, DelayConfig, DelayController, Demand, DrainConfig, HoldConfig, LastPq, LastPqConfig,
    Mark, Protect, Protection,
};
pub use pie::{DelayEstimate, Pie, PieConfig};
pub use round_robin::{RoundRobin, RoundRobinConfig};
pub use run::{Arrivals, Sink};
pub use station_lists::Limits;
pub use wqm::{Wqm, WqmConfig};

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, FlowId, Payload, StationId};
use crate::frame::{TxDescriptor, TxReport};

/// How much is waiting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets.
    pub packets: usize,
    /// Bytes, as [`Payload::size`] counts them.
    pub bytes: ByteCount,
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

/// Which way a frame went, seen from the transmitter that owns the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the station.
    Sent,
    /// From the station.
    Received,
}

/// What lies below the queue for one station and category.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Eligibility {
    /// Nothing waits below: the station takes part when packets wait in the queue.
    #[default]
    Fresh,
    /// MPDUs wait below for another transmission: the station takes part even if nothing waits in the queue.
    Retries {
        /// When the oldest of them came.
        since: Instant,
    },
    /// The block-ack window is full: the station cannot be served before a report.
    Blocked,
}

/// A queueing scheme for all stations and categories of one transmitter.
///
/// Packets leave through [`Queue::dequeue`] or through the `dropped` lists, each exactly once. Dropped packets are appended;
/// the caller clears the list. No method panics on any order of calls.
pub trait Queue<P: Payload> {
    /// Takes a packet at `now`; whoever is dropped for it (perhaps itself) is appended to `dropped`.
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>);

    /// The station to be served next in `category`, or `None` if nobody has packets or nobody may send now.
    ///
    /// Selecting again without dequeueing gives the same answer or a later station in the rotation; it never loses one.
    fn select(&mut self, now: Instant, category: Category) -> Option<StationId>;

    /// The next packet for a selected station, or `None` if it has no more (after drops, possibly none at all).
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P>;

    /// The size of what [`Queue::dequeue`] would give next, so that a packet that does not fit in an aggregate can stay where
    /// it is; `None` if that is not known, or if there is none. A hint: what is dropped on the way may change it.
    fn next_size(&mut self, _station: StationId, _category: Category) -> Option<ByteCount> {
        None
    }

    /// Hands packets of a selected station to `sink` while it has room, and counts those that it takes as [`Queue::on_handed`] does.
    #[inline]
    fn dequeue_into(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) where
        Self: Sized,
    {
        while sink.has_room(|| self.next_size(station, category)) {
            loop {
                let Some(packet) = self.dequeue(now, station, category, dropped) else { return };
                match sink.put(packet) {
                    Ok(None) => break,
                    Ok(Some(estimated)) => {
                        self.on_handed(now, station, category, estimated);
                        break;
                    }
                    Err(packet) => dropped.push(Dropped { packet, reason: DropReason::Expired }),
                }
            }
        }
    }

    /// When the packet came that is served next in `category`, where packets are served in the order in which they came; `None`
    /// elsewhere, and if nothing can be served.
    fn oldest(&mut self, _category: Category) -> Option<Instant> {
        None
    }

    /// Whether packets wait in `category`, for anyone.
    fn has_backlog(&self, category: Category) -> bool;

    /// All that waits.
    fn backlog(&self) -> Backlog;

    /// A bound on the aggregate that `station` may be given now.
    fn aggregate_bound(&self, _now: Instant, _station: StationId, _category: Category) -> AggregateBound {
        AggregateBound::NONE
    }

    /// Tells what is known of `station` outside of the queue; [`Eligibility::Fresh`] until told otherwise.
    fn set_eligibility(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        eligibility: Eligibility,
    );

    /// Whether the queue bounds what lies below it, in packets or airtime, and has to be told of each packet through
    /// [`Queue::on_handed`] and [`Queue::on_returned`].
    fn counts_below(&self) -> bool {
        false
    }

    /// A packet with an `estimated` airtime went from this queue to the layers below (kernel:
    /// `ieee80211_sta_update_pending_airtime`).
    fn on_handed(&mut self, _now: Instant, _station: StationId, _category: Category, _estimated: Span) {}

    /// A packet whose estimate at [`Queue::on_handed`] was `estimated` left the layers below, sent or given up.
    fn on_returned(&mut self, _now: Instant, _station: StationId, _category: Category, _estimated: Span) {}

    /// [`Queue::on_returned`] for packets of these estimates, one after another. Returns how many they were.
    #[inline]
    fn on_all_returned(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        estimates: impl Iterator<Item = Span>,
    ) -> usize
    where
        Self: Sized,
    {
        let mut count = 0;
        for estimated in estimates {
            self.on_returned(now, station, category, estimated);
            count += 1;
        }
        count
    }

    /// Told once, before all else: another queue, which this one cannot order, lies between it and the hardware.
    fn expect_lower_queue(&mut self) {}

    /// A descriptor goes to the hardware.
    fn on_granted(&mut self, _now: Instant, _grant: &TxDescriptor<P>) {}

    /// A descriptor comes back from the hardware. What of it was not acknowledged is sent again or given up by the link.
    fn on_report(&mut self, _now: Instant, _report: &TxReport<P>) {}

    /// Airtime that `station` really used, tries that failed included.
    fn on_airtime(
        &mut self,
        _now: Instant,
        _station: StationId,
        _category: Category,
        _airtime: Span,
        _direction: Direction,
    ) {
    }

    /// The goodput that rate control expects of `station`, perhaps changed (kernel: `ieee80211_sta_set_expected_throughput`).
    fn on_expected_throughput(&mut self, _now: Instant, _station: StationId, _throughput: BitRate) {}

    /// Demands a latency of a flow from now on, another one than before, or with `None` none any more. A queue that protects nobody
    /// ignores it.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if the queue cannot work with the demand; what was demanded before stays.
    fn set_demand(
        &mut self,
        _now: Instant,
        _flow: FlowId,
        _demand: Option<Demand>,
    ) -> Result<(), ConfigError> {
        Ok(())
    }

    /// How a flow with a demand fares; `None` if it has none, or if the queue protects nobody.
    fn protection(&self, _flow: FlowId) -> Option<Protection> {
        None
    }

    /// Data to `station` goes out at `rate` now, at which an aggregate holds at most `mpdus` full-size packets.
    fn on_rate(&mut self, _now: Instant, _station: StationId, _rate: BitRate, _mpdus: u16) {}

    /// How the channel was used of late: the share of the time in which it was `busy` for any reason, and that of our `own`
    /// transmissions with their acknowledgements, which is part of it; 0 to 1, `None` where the environment cannot tell.
    fn on_channel(&mut self, _now: Instant, _busy: Option<f64>, _own: Option<f64>) {}

    /// When the queue wants [`Queue::on_channel`] to be called, for the time up to then; `None`: not as long as nothing comes.
    fn channel_deadline(&self) -> Option<Instant> {
        None
    }

    /// When the queue wants [`Queue::select`] to be called again although nothing was enqueued or reported.
    fn next_deadline(&self) -> Option<Instant> {
        None
    }
}

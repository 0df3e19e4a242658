//! Queues: storing, dropping and scheduling of packets.
//!
//! A queue is called in two steps, like mac80211's own: [`Queue::select`] returns the next [`Turn`] of a category, and
//! [`Queue::dequeue_into`] then hands out packets of its station until the aggregate is full. Events below the queue are reported to
//! it as a [`Fact`].

mod airbound;
mod any;
mod codel;
mod contract;
pub mod custom;
mod demands;
mod draws;
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
pub mod zhuge;

pub use airbound::{Airbound, AirboundCodel, AirboundConfig, AirboundLimits};
pub use any::{AnyQueue, QueueConfig};
pub use codel::{Codel, CodelConfig, CodelParameters, CodelState, Standing};
pub use contract::{
    AggregateBound, Backlog, Backlogs, Deadline, Direction, Eligibility, Fact, Portion, Turn, Turns,
};
pub use custom::{CustomQueue, QueueDecider};
pub use demands::{Demands, Protection};
pub use fifo::{Fifo, FifoConfig};
pub use fq_codel::{
    AirtimeQueueLimit, FqCodel, FqCodelAirtime, FqCodelAirtimeConfig, FqCodelConfig, SlowStations,
};
pub use last_pq::{
    AutoConfig, Choice, DelayConfig, DelayController, Demand, DrainConfig, HoldConfig, LastPq, LastPqConfig,
    Mark, Protect,
};
pub use pie::{DelayEstimate, Pie, PieConfig, PieRevision};
pub use round_robin::{RoundRobin, RoundRobinConfig};
pub(crate) use run::take_all;
pub use run::{Arrivals, Sink};
pub use station_lists::Limits;
pub use wqm::{Wqm, WqmConfig};
pub use zhuge::{Zhuge, ZhugeConfig};

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use crate::frame::{Dropped, Payload, StationId};

/// A queueing scheme for all stations and categories of one transmitter, with the interface of mac80211's own (`ieee80211_next_txq`,
/// `ieee80211_tx_dequeue`, `ieee80211_return_txq`).
///
/// Packets leave through [`Queue::dequeue_into`], [`Queue::flush`] or the `dropped` lists, each exactly once. Dropped packets are
/// appended; the caller clears the list. No method panics in any order of calls.
pub trait Queue<P: Payload> {
    /// Takes a packet at `now`. Packets dropped for it, possibly itself, are appended to `dropped`.
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>);

    /// Takes packets one after another, each at its arrival time, until none is left or a packet is dropped. Returns the arrival
    /// time of the last packet taken.
    #[inline(always)]
    fn enqueue_all(
        &mut self,
        arrivals: &mut impl Arrivals<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Instant> {
        take_all(arrivals, dropped, |now, packet, dropped| self.enqueue(now, packet, dropped))
    }

    /// Returns the next turn in `category`, or `None` if no eligible station has packets.
    ///
    /// The station has packets in the queue or waits with retries ([`Eligibility::Retries`]), and is neither blocked nor over a
    /// limit. An unused turn is not lost: the station is selected again, at the latest in the next round.
    fn select(&mut self, now: Instant, category: Category) -> Option<Turn>;

    /// Hands packets of the selected station to `sink` while it has room, and accounts for those with an estimate as pending below.
    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    );

    /// Moves all packets of a station to `out`, category by category, regardless of order, AQM and limits.
    fn flush(&mut self, station: StationId, out: &mut Vec<P>);

    /// The backlog of each category.
    fn backlog(&self) -> &Backlogs;

    /// Arrival time of the packet to be served next in `category`, for queues in order of arrival; `None` for others, and if no
    /// packet can be served.
    fn oldest(&mut self, _category: Category) -> Option<Instant> {
        None
    }

    /// The age at which the layers below give up a packet, which tolerates loss; `None`: no limit of the queue.
    fn lifetime(&self, _packet: &P) -> Option<Span> {
        None
    }

    /// Reports a fact to the queue.
    fn on(&mut self, now: Instant, fact: Fact<'_, P>);

    /// The instants at which the queue has to be called if nothing else happens.
    fn deadline(&self) -> Deadline {
        Deadline::default()
    }
}

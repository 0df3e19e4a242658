//! Which packets wait, are dropped and go next.
//!
//! A queue is asked in two steps, as mac80211 asks its own: [`Queue::select`] gives the next [`Turn`] of a category, and
//! [`Queue::dequeue_into`] then hands out packets of its station until the aggregate is full. Everything that happens below the queue
//! comes back as a [`Fact`].

mod any;
mod codel;
mod contract;
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
pub use contract::{
    AggregateBound, Backlog, Backlogs, Deadline, Demands, Direction, Eligibility, Fact, Turn, Turns,
};
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

use airbound_units::Instant;
use airbound_wifi::edca::Category;

use crate::frame::{Dropped, Payload, StationId};

/// A queueing scheme for all stations and categories of one transmitter, asked as mac80211 asks its own (`ieee80211_next_txq`,
/// `ieee80211_tx_dequeue`, `ieee80211_return_txq`).
///
/// Packets leave through [`Queue::dequeue_into`], [`Queue::flush`] or the `dropped` lists, each exactly once. Dropped packets are
/// appended; the caller clears the list. No method panics on any order of calls.
pub trait Queue<P: Payload> {
    /// Takes a packet at `now`. Packets dropped for it, perhaps itself, are appended to `dropped`.
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>);

    /// The next turn in `category`, or `None` if no station has packets and may send now.
    ///
    /// The station has packets in the queue or waits with retries ([`Eligibility::Retries`]), and is neither blocked nor over a
    /// limit. A turn that is not used loses nothing: the station is selected again, at the latest in the next round.
    fn select(&mut self, now: Instant, category: Category) -> Option<Turn>;

    /// Hands packets of the selected station to `sink` while it has room, and counts those for which it returns an estimate as
    /// lying below.
    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    );

    /// Moves all packets of a station to `out`, category by category, whatever the order, AQM and limits say.
    fn flush(&mut self, station: StationId, out: &mut Vec<P>);

    /// The backlog of each category.
    fn backlog(&self) -> &Backlogs;

    /// The arrival of the packet that is served next in `category`, where packets are served in the order of arrival; `None`
    /// elsewhere, and if nothing can be served.
    fn oldest(&mut self, _category: Category) -> Option<Instant> {
        None
    }

    /// Takes note of a fact.
    fn on(&mut self, now: Instant, fact: Fact<'_, P>);

    /// The instants at which the queue wants to be called although nothing happens.
    fn deadline(&self) -> Deadline {
        Deadline::default()
    }
}

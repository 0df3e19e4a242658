//! Any queue of this crate behind one type, chosen by a scenario.

use airbound_units::{BitRate, Instant, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::{
    AggregateBound, Backlog, Codel, CodelConfig, Direction, Fifo, FifoConfig, FqCodel, FqCodelAirtime,
    FqCodelAirtimeConfig, FqCodelConfig, Pie, PieConfig, Queue, Readiness, RoundRobin, RoundRobinConfig,
};
use crate::error::ConfigError;
use crate::payload::{Dropped, Payload, StationId};

/// Which queue, and its configuration. In a scenario file `kind` names it and the other keys are those of its own
/// configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum QueueConfig {
    /// First in, first out.
    Fifo(FifoConfig),
    /// CoDel over one queue.
    Codel(CodelConfig),
    /// PIE over one queue.
    Pie(PieConfig),
    /// Flow queues with CoDel over everything in a category.
    FqCodel(FqCodelConfig),
    /// What Linux does for Wi-Fi; also called `linux`.
    #[serde(alias = "linux")]
    FqCodelAirtime(FqCodelAirtimeConfig),
    /// Stations in turn.
    RoundRobin(RoundRobinConfig),
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self::FqCodelAirtime(FqCodelAirtimeConfig::default())
    }
}

impl QueueConfig {
    /// Builds the queue. `seed` decides its random drops, if it makes any.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value is out of range.
    pub fn build<P: Payload>(&self, seed: u64) -> Result<AnyQueue<P>, ConfigError> {
        Ok(match self {
            Self::Fifo(config) => AnyQueue::Fifo(Fifo::new(*config)?),
            Self::Codel(config) => AnyQueue::Codel(Codel::new(*config)?),
            Self::Pie(config) => AnyQueue::Pie(Pie::new(*config, seed)?),
            Self::FqCodel(config) => AnyQueue::FqCodel(FqCodel::new(*config)?),
            Self::FqCodelAirtime(config) => AnyQueue::FqCodelAirtime(FqCodelAirtime::new(*config)?),
            Self::RoundRobin(config) => AnyQueue::RoundRobin(RoundRobin::new(*config)?),
        })
    }

    /// The name of the kind, as in a scenario file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fifo(_) => "fifo",
            Self::Codel(_) => "codel",
            Self::Pie(_) => "pie",
            Self::FqCodel(_) => "fq-codel",
            Self::FqCodelAirtime(_) => "fq-codel-airtime",
            Self::RoundRobin(_) => "round-robin",
        }
    }
}

/// One of the queues. A branch on its kind costs less than a call through a table of functions, and lets calls be
/// inlined.
#[derive(Debug, Clone)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "one for each transmitter; a box would cost each packet a look-up")]
pub enum AnyQueue<P> {
    /// See [`Fifo`].
    Fifo(Fifo<P>),
    /// See [`Codel`].
    Codel(Codel<P>),
    /// See [`Pie`].
    Pie(Pie<P>),
    /// See [`FqCodel`].
    FqCodel(FqCodel<P>),
    /// See [`FqCodelAirtime`].
    FqCodelAirtime(FqCodelAirtime<P>),
    /// See [`RoundRobin`].
    RoundRobin(RoundRobin<P>),
}

/// Passes a call on to whichever queue it is.
macro_rules! each {
    ($any:expr, $queue:ident => $call:expr) => {
        match $any {
            AnyQueue::Fifo($queue) => $call,
            AnyQueue::Codel($queue) => $call,
            AnyQueue::Pie($queue) => $call,
            AnyQueue::FqCodel($queue) => $call,
            AnyQueue::FqCodelAirtime($queue) => $call,
            AnyQueue::RoundRobin($queue) => $call,
        }
    };
}

impl<P: Payload> Queue<P> for AnyQueue<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        each!(self, queue => queue.enqueue(now, packet, dropped));
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<StationId> {
        each!(self, queue => queue.select(now, category))
    }

    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        each!(self, queue => queue.dequeue(now, station, category, dropped))
    }

    fn has_backlog(&self, category: Category) -> bool {
        each!(self, queue => queue.has_backlog(category))
    }

    fn backlog(&self) -> Backlog {
        each!(self, queue => queue.backlog())
    }

    fn aggregate_bound(&self, now: Instant, station: StationId, category: Category) -> AggregateBound {
        each!(self, queue => queue.aggregate_bound(now, station, category))
    }

    fn set_readiness(&mut self, now: Instant, station: StationId, category: Category, readiness: Readiness) {
        each!(self, queue => queue.set_readiness(now, station, category, readiness));
    }

    fn counts_below(&self) -> bool {
        each!(self, queue => queue.counts_below())
    }

    fn on_handed(&mut self, now: Instant, station: StationId, category: Category, estimated: Span) {
        each!(self, queue => queue.on_handed(now, station, category, estimated));
    }

    fn on_returned(&mut self, now: Instant, station: StationId, category: Category, estimated: Span) {
        each!(self, queue => queue.on_returned(now, station, category, estimated));
    }

    fn on_airtime(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        airtime: Span,
        direction: Direction,
    ) {
        each!(self, queue => queue.on_airtime(now, station, category, airtime, direction));
    }

    fn on_expected_throughput(&mut self, now: Instant, station: StationId, throughput: BitRate) {
        each!(self, queue => queue.on_expected_throughput(now, station, throughput));
    }

    fn next_deadline(&self) -> Option<Instant> {
        each!(self, queue => queue.next_deadline())
    }
}

//! First in, first out, with drop-tail (kernel: `net/sched/sch_fifo.c`, `pfifo` and `bfifo`).

use airbound_units::Instant;
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::station_lists::{ArrivalOrder, Limits, StationLists};
use super::{Backlog, Queue, Readiness};
use crate::error::ConfigError;
use crate::payload::{Dropped, Payload, StationId};

/// Configuration of a [`Fifo`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FifoConfig {
    /// How much each category may hold.
    pub limit: Limits,
}

/// One queue for each category; a packet that finds it full is dropped.
///
/// The station of the oldest packet is served next. An aggregate goes to one station, so its later packets overtake
/// packets of other stations, as they do where a driver forms aggregates from a first-in-first-out queue.
#[derive(Debug, Clone)]
pub struct Fifo<P> {
    limits: Limits,
    lists: StationLists<P>,
    order: ArrivalOrder,
}

impl<P: Payload> Fifo<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: FifoConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            limits: config.limit.check()?,
            lists: StationLists::default(),
            order: ArrivalOrder::default(),
        })
    }
}

impl<P: Payload> Queue<P> for Fifo<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let (station, category) = (packet.station(), packet.category());
        if self.lists.push(now, packet, self.limits, dropped) {
            self.order.update(&mut self.lists, station, category);
        }
    }

    fn select(&mut self, _now: Instant, category: Category) -> Option<StationId> {
        self.order.select(&mut self.lists, category)
    }

    fn dequeue(
        &mut self,
        _now: Instant,
        station: StationId,
        category: Category,
        _dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        self.lists.pop(station, category)
    }

    fn has_backlog(&self, category: Category) -> bool {
        self.lists.waiting(category).packets > 0
    }

    fn backlog(&self) -> Backlog {
        self.lists.backlog()
    }

    fn set_readiness(
        &mut self,
        _now: Instant,
        station: StationId,
        category: Category,
        readiness: Readiness,
    ) {
        self.lists.set_readiness(station, category, readiness);
        self.order.update(&mut self.lists, station, category);
    }
}

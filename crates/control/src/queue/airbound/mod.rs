//! One scheme of five papers' parts: LAST-PQ's order, WQM's size and CoDel for the classic side, Law's limits for what tolerates loss.
//!
//! ```text
//!  demands ──▶ LAST-PQ: marks ─────────────┐
//!  packets ──▶ classic: WQM's size of each │ urgent first, then the fair order   ┌ hardware: Limit_h ┐
//!              station, CoDel at 2.5 ms    ├─▶ older than Limit_q and tolerant: ─▶│ of each PPDU      │─▶ air
//!              others: no size             │   dropped                           └─────────┬─────────┘
//!                                          └── judged again ◀── next rate ◀── returned ◀───┘
//! ```
//!
//! Every part is the core of its paper; [`AirboundConfig`] switches each off.

mod config;
mod sizes;

pub use config::{AirboundConfig, Codel as AirboundCodel, Limits as AirboundLimits};

use std::collections::BTreeMap;

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use self::sizes::Sizes;
use super::run::Dequeue;
use super::{
    AggregateBound, Backlogs, Deadline, Demand, Demands, Direction, Fact, LastPq, Protection, Queue, Sink,
    Turn,
};
use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, FlowId, Payload, StationId};

/// LAST-PQ with a bounded classic side and a lifetime for packets that tolerate loss.
///
/// A packet *tolerates loss* if its flow has a demand or its category is one of [`AirboundLimits::tolerant`]; all others are the *classic
/// side*. A tolerant packet older than Limit_q is dropped when it leaves the queue or comes back from the hardware; a demand longer than
/// Limit_q counts in its place. Where a station's classic packets of a category exceed WQM's size, the oldest of its longest flow is dropped
/// (WQM's `selective`).
#[derive(Debug, Clone)]
pub struct Airbound<P> {
    order: LastPq<P>,
    sizes: Option<Sizes>,
    /// Limit_q, and whether a category tolerates loss.
    limit: Option<Span>,
    tolerant: [bool; 4],
    config: AirboundConfig,
    longest: Span,
    /// Demands, whether or not they decide the order.
    demands: BTreeMap<FlowId, Demand>,
}

impl<P: Payload> Airbound<P> {
    /// Creates an empty queue without demands.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: &AirboundConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let law = config.law.as_ref();
        let tolerant = |category| law.is_some_and(|law| law.tolerant.contains(&category));
        Ok(Self {
            order: LastPq::new(config.order())?,
            sizes: config.size.map(Sizes::new).transpose()?,
            limit: law.and_then(|law| law.limit_q),
            tolerant: Category::ALL.map(tolerant),
            longest: config.longest_ppdu(),
            config: config.clone(),
            demands: BTreeMap::new(),
        })
    }

    /// Whether airtime below the queue is accounted for.
    pub(super) const fn counts_below(&self) -> bool {
        self.order.counts_below()
    }

    /// The age at which a packet is given up; `None` for one that does not tolerate loss.
    fn lifetime_of(&self, packet: &P) -> Option<Span> {
        let limit = self.limit?;
        let demand = || self.demands.get(&packet.flow()).map(Demand::latency);
        match self.tolerant[packet.category().index()] {
            true => Some(demand().map_or(limit, |demand| demand.max(limit))),
            false => demand().map(|demand| demand.max(limit)),
        }
    }

    /// Drops the oldest packets of the longest flows of a station beyond its size.
    fn shrink(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        if self.tolerant[category.index()] {
            return;
        }
        let Some(sizes) = &mut self.sizes else { return };
        let most = sizes.of(now, station, category);
        self.order.shed(station, category, most, dropped);
    }
}

impl<P: Payload> Dequeue<P> for Airbound<P> {
    #[inline]
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        loop {
            let packet = self.order.dequeue(now, station, category, dropped)?;
            match self.lifetime_of(&packet) {
                Some(lifetime) if now.since(packet.enqueued()) > lifetime => {
                    dropped.push(Dropped { packet, reason: DropReason::Expired });
                }
                _ => return Some(packet),
            }
        }
    }

    fn on_handed(&mut self, now: Instant, station: StationId, category: Category, estimated: Span) {
        self.order.on_handed(now, station, category, estimated);
    }
}

impl<P: Payload> Demands for Airbound<P> {
    fn check(&self, demand: &Demand) -> Result<(), ConfigError> {
        self.order.check(demand)
    }

    fn set(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) -> Result<(), ConfigError> {
        if self.config.urgency {
            let held = demand.map(|demand| self.config.held(&demand)).transpose()?;
            self.order.set(now, flow, held)?;
        } else if let Some(demand) = &demand {
            self.order.check(demand)?;
        }
        match demand {
            Some(demand) => self.demands.insert(flow, demand),
            None => self.demands.remove(&flow),
        };
        Ok(())
    }

    fn protection(&self, flow: FlowId) -> Option<Protection> {
        let protection = self.order.protection(flow)?;
        let demand = self.demands.get(&flow).copied().unwrap_or(protection.demand);
        Some(Protection { demand, ..protection })
    }

    fn tightest(&self, now: Instant) -> AggregateBound {
        self.order.tightest(now)
    }
}

impl<P: Payload> Queue<P> for Airbound<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let (station, category) = (packet.station(), packet.category());
        self.order.enqueue(now, packet, dropped);
        self.shrink(now, station, category, dropped);
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        let turn = self.order.select(now, category)?;
        let duration = turn.bound.duration.min(self.longest);
        Some(Turn { bound: AggregateBound { duration, ..turn.bound }, ..turn })
    }

    #[inline]
    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        self.hand_out(now, turn, sink, dropped);
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        self.order.flush(station, out);
    }

    fn backlog(&self) -> &Backlogs {
        self.order.backlog()
    }

    fn on(&mut self, now: Instant, fact: Fact<'_, P>) {
        if let Some(sizes) = &mut self.sizes {
            match fact {
                Fact::Rate { station, rate, mpdus } => sizes.on_rate(station, rate, mpdus),
                Fact::Airtime { station, airtime, direction: Direction::Sent, .. } => {
                    sizes.on_airtime(station, airtime);
                }
                Fact::ChannelLoad { busy, own } => {
                    let order = &self.order;
                    sizes.on_channel(now, busy, own, |station, category| {
                        order.classic_of(station, category).bytes
                    });
                }
                _ => {}
            }
        }
        self.order.on(now, fact);
    }

    fn lifetime(&self, packet: &P) -> Option<Span> {
        self.lifetime_of(packet)
    }

    fn deadline(&self) -> Deadline {
        let is_empty = self.order.backlog().total().packets == 0;
        let due = self.sizes.as_ref().and_then(Sizes::due).filter(|_| !is_empty);
        self.order.deadline().min(Deadline { select: None, channel_load: due })
    }
}

#[cfg(test)]
mod tests;

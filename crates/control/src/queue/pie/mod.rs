//! Proportional integral controller enhanced (PIE, RFC 8033): drops arriving packets with a probability computed from
//! the delay and its trend.

mod config;
mod controller;
mod departures;

use airbound_units::{ByteCount, Instant};
use airbound_wifi::edca::Category;

pub use config::{DelayEstimate, PieConfig, PieRevision};
use controller::Controller;

use super::run::Dequeue;
use super::station_lists::{ArrivalOrder, StationLists};
use super::{Backlogs, Fact, Queue, Sink, Turn};
use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, Payload, StationId};

/// A first-in-first-out queue for each category with one PIE controller in front (kernel: `net/sched/sch_pie.c`).
///
/// Not implemented of RFC 8033: ECN, the activation of section 5.3 and byte mode, all optional there; of Linux 3.17: ECN and byte
/// mode, both off by default.
#[derive(Debug, Clone)]
pub struct Pie<P> {
    config: PieConfig,
    lists: StationLists<P>,
    order: ArrivalOrder,
    controllers: [Controller; 4],
    /// Latest time observed.
    now: Instant,
}

impl<P: Payload> Pie<P> {
    /// Creates an empty queue; `seed` determines its random drops.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: PieConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        config.limit.check()?;
        // Four streams: seeds of splitmix64 need only differ.
        let controllers = [0, 1, 2, 3].map(|category| Controller::new(&config, seed ^ (category << 61)));
        Ok(Self {
            config,
            lists: StationLists::default(),
            order: ArrivalOrder::default(),
            controllers,
            now: Instant::ZERO,
        })
    }

    /// The drop probability of a packet arriving in `category`, 0 to 1.
    pub const fn drop_probability(&self, category: Category) -> f64 {
        self.controllers[category.index()].drop_probability
    }

    fn catch_up(&mut self, now: Instant, category: Category) -> Instant {
        self.now = self.now.max(now);
        let backlog = self.lists.waiting(category).bytes;
        self.controllers[category.index()].catch_up(&self.config, self.now, backlog);
        self.now
    }
}

impl<P: Payload> Pie<P> {
    /// The station to be served next.
    fn next_station(&mut self, _now: Instant, category: Category) -> Option<StationId> {
        self.order.select(&mut self.lists, category)
    }
}

impl<P: Payload> Dequeue<P> for Pie<P> {
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        _dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        let now = self.catch_up(now, category);
        let packet = self.lists.pop(station, category)?;
        let left = self.lists.waiting(category).bytes;
        // Packets of one station may overtake those of others: the delay is that of the oldest packet of all.
        let oldest = self.order.oldest(&mut self.lists, category).unwrap_or(Instant::MAX);
        let sojourn = now.since(oldest.min(packet.enqueued()));
        self.controllers[category.index()].on_departure(&self.config, now, sojourn, packet.size(), left);
        Some(packet)
    }

    #[inline]
    fn next_size(&mut self, station: StationId, category: Category) -> Option<ByteCount> {
        self.lists.first_size(station, category)
    }
}

impl<P: Payload> Queue<P> for Pie<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let (station, category) = (packet.station(), packet.category());
        self.catch_up(now, category);
        let waiting = self.lists.waiting(category);
        // A full queue drops regardless of the probability.
        if self.config.limit.refuses(waiting, packet.size()).is_none()
            && self.controllers[category.index()].drops_early(&self.config, waiting.bytes)
        {
            dropped.push(Dropped { packet, reason: DropReason::Congestion });
        } else if self.lists.push(now, packet, self.config.limit, dropped) {
            self.order.update(&mut self.lists, station, category);
        }
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        self.next_station(now, category).map(|station| Turn::new(station, category))
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
        self.lists.flush(station, out);
    }

    fn backlog(&self) -> &Backlogs {
        self.lists.backlog()
    }

    fn on(&mut self, _now: Instant, fact: Fact<'_, P>) {
        if let Fact::Eligibility { station, category, eligibility } = fact {
            self.lists.set_eligibility(station, category, eligibility);
            self.order.update(&mut self.lists, station, category);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packet::{at_micros, packet};
    use super::*;

    /// The mean delay of the second minute under twice the load that can leave, from unresponsive senders.
    fn delay_under_overload(config: PieConfig) -> f64 {
        let mut queue = Pie::new(config, 11).expect("valid");
        let mut dropped = Vec::new();
        let (mut sum, mut count) = (0.0, 0.0);
        for millis in 0..120_000 {
            for half in 0..2 {
                let now = at_micros(millis * 1000 + half * 500);
                queue.enqueue(now, packet(0, 0), &mut dropped);
            }
            let now = at_micros(millis * 1000 + 700);
            if let Some(station) = queue.next_station(now, Category::Be)
                && let Some(packet) = queue.dequeue(now, station, Category::Be, &mut dropped)
                && millis >= 60_000
            {
                sum += now.since(packet.enqueued()).as_millis_f64();
                count += 1.0;
            }
            dropped.clear();
        }
        assert!(count > 59_000.0, "the link idles: {count}");
        sum / count
    }

    #[test]
    fn the_delay_settles_at_the_target() {
        let by_rate = PieConfig { delay: DelayEstimate::DepartureRate, ..PieConfig::default() };
        for config in [PieConfig::default(), by_rate, PieConfig::of(PieRevision::Linux3_17)] {
            let delay = delay_under_overload(config);
            let target = config.target.as_millis_f64();
            assert!((0.8 * target..1.2 * target).contains(&delay), "{config:?}: {delay} ms");
        }
    }
}

//! Round robin over stations, one aggregate each.

use airbound_units::{ByteCount, Instant};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::run::Dequeue;
use super::station_lists::{Limits, Rotation, StationLists};
use super::{Backlogs, Fact, Queue, Sink, Turn};
use crate::error::ConfigError;
use crate::frame::{Dropped, Payload, StationId};

/// Configuration of a [`RoundRobin`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RoundRobinConfig {
    /// Limits of each category.
    pub limit: Limits,
}

/// A first-in-first-out queue for each station and category; [`Queue::select`] returns eligible stations in turn.
///
/// Each turn is one aggregate of any airtime, so slow stations take more air than fast ones (the anomaly of 802.11).
/// Stations with only retransmissions take their turn like the others.
#[derive(Debug, Clone)]
pub struct RoundRobin<P> {
    limits: Limits,
    lists: StationLists<P>,
    order: Rotation,
}

impl<P: Payload> RoundRobin<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: RoundRobinConfig) -> Result<Self, ConfigError> {
        Ok(Self { limits: config.limit.check()?, lists: StationLists::default(), order: Rotation::default() })
    }

    /// Makes this the lower one of two queues: packets keep the time at which they entered the upper one.
    #[must_use]
    pub fn below(self) -> Self {
        Self { lists: self.lists.below(), ..self }
    }
}

impl<P: Payload> RoundRobin<P> {
    /// The station to be served next.
    fn next_station(&mut self, _now: Instant, category: Category) -> Option<StationId> {
        self.order.select(&mut self.lists, category)
    }
}

impl<P: Payload> Dequeue<P> for RoundRobin<P> {
    fn dequeue(
        &mut self,
        _now: Instant,
        station: StationId,
        category: Category,
        _dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        self.lists.pop(station, category)
    }

    #[inline]
    fn next_size(&mut self, station: StationId, category: Category) -> Option<ByteCount> {
        self.lists.first_size(station, category)
    }
}

impl<P: Payload> Queue<P> for RoundRobin<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let (station, category) = (packet.station(), packet.category());
        if self.lists.push(now, packet, self.limits, dropped) {
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
        self.order.leave_if_idle(&mut self.lists, turn.station, turn.category);
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        self.lists.flush(station, out);
    }

    fn backlog(&self) -> &Backlogs {
        self.lists.backlog()
    }

    fn on(&mut self, _now: Instant, fact: Fact<'_, P>) {
        match fact {
            Fact::Eligibility { station, category, eligibility } => {
                self.lists.set_eligibility(station, category, eligibility);
                self.order.update(&mut self.lists, station, category);
            }
            Fact::TurnEnded { station, category } => {
                self.order.end_turn(&mut self.lists, station, category);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packet::packet;
    use super::*;
    use crate::queue::Eligibility;

    #[test]
    fn stations_take_turns() {
        let mut queue = RoundRobin::new(RoundRobinConfig::default()).expect("valid");
        for station in [0, 0, 0, 0, 1, 2, 2] {
            queue.enqueue(Instant::ZERO, packet(station, 0), &mut Vec::new());
        }
        let now = Instant::ZERO;
        queue.on(
            now,
            Fact::Eligibility {
                station: StationId(2),
                category: Category::Be,
                eligibility: Eligibility::Blocked,
            },
        );
        queue.on(
            now,
            Fact::Eligibility {
                station: StationId(5),
                category: Category::Be,
                eligibility: Eligibility::Retries { since: Instant::ZERO },
            },
        );
        let mut turns = Vec::new();
        while turns.len() < 8
            && let Some(station) = queue.next_station(now, Category::Be)
        {
            let packet = queue.dequeue(now, station, Category::Be, &mut Vec::new());
            turns.push((station.0, packet.is_some()));
        }
        let expected =
            [(0, true), (1, true), (5, false), (0, true), (5, false), (0, true), (5, false), (0, true)];
        assert_eq!(turns, expected);
        queue.on(
            now,
            Fact::Eligibility {
                station: StationId(5),
                category: Category::Be,
                eligibility: Eligibility::Fresh,
            },
        );
        queue.on(
            now,
            Fact::Eligibility {
                station: StationId(2),
                category: Category::Be,
                eligibility: Eligibility::Fresh,
            },
        );
        assert_eq!(queue.next_station(now, Category::Be), Some(StationId(2)));
    }
}

//! Stations in turn, one aggregate each.

use airbound_units::Instant;
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::Queue;
use super::station_lists::{Limits, Rotation, StationLists};
use crate::error::ConfigError;
use crate::frame::{Dropped, Payload, StationId};

/// Configuration of a [`RoundRobin`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RoundRobinConfig {
    /// How much each category may hold.
    pub limit: Limits,
}

/// A first-in-first-out queue for each station and category; [`Queue::select`] names the stations that have something to
/// send in turn.
///
/// Each turn is one aggregate whatever its airtime, so slow stations take more air than fast ones (the anomaly of
/// 802.11). Stations that only repeat take their turn like the others.
#[derive(Debug, Clone)]
pub struct RoundRobin<P> {
    limits: Limits,
    lists: StationLists<P>,
    order: Rotation,
}

impl<P: Payload> RoundRobin<P> {
    /// An empty queue.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: RoundRobinConfig) -> Result<Self, ConfigError> {
        Ok(Self { limits: config.limit.check()?, lists: StationLists::default(), order: Rotation::default() })
    }

    /// This queue as the lower one of two: packets keep the time at which they entered the upper one.
    #[must_use]
    pub fn below(self) -> Self {
        Self { lists: self.lists.below(), ..self }
    }
}

impl<P: Payload> Queue<P> for RoundRobin<P> {
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

    super::station_lists::answers_of_lists!();
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
        queue.set_eligibility(now, StationId(2), Category::Be, Eligibility::Blocked);
        queue.set_eligibility(now, StationId(5), Category::Be, Eligibility::Retries { since: Instant::ZERO });
        let mut turns = Vec::new();
        while turns.len() < 8
            && let Some(station) = queue.select(now, Category::Be)
        {
            let packet = queue.dequeue(now, station, Category::Be, &mut Vec::new());
            turns.push((station.0, packet.is_some()));
        }
        let expected =
            [(0, true), (1, true), (5, false), (0, true), (5, false), (0, true), (5, false), (0, true)];
        assert_eq!(turns, expected);
        queue.set_eligibility(now, StationId(5), Category::Be, Eligibility::Fresh);
        queue.set_eligibility(now, StationId(2), Category::Be, Eligibility::Fresh);
        assert_eq!(queue.select(now, Category::Be), Some(StationId(2)));
    }
}

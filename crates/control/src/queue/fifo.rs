//! First in, first out, with drop-tail (kernel: `net/sched/sch_fifo.c`, `pfifo` and `bfifo`).

use airbound_units::Instant;
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::station_lists::{ArrivalOrder, Limits, StationLists};
use super::{Arrivals, Backlogs, Fact, Queue, Sink, Turn, take_all};
use crate::error::ConfigError;
use crate::frame::{Dropped, Payload, StationId};

/// Configuration of a [`Fifo`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FifoConfig {
    /// Limits of each category.
    pub limit: Limits,
    /// Whether a packet counts against the limit until it is acknowledged or given up, as in ns-3's `WifiMacQueue`, rather
    /// than until it leaves the queue. Default no.
    pub holds_in_flight: bool,
}

/// One queue for each category; packets arriving at a full queue are dropped.
///
/// The station of the oldest packet is served next. An aggregate has one receiver, so its later packets overtake packets
/// of other stations, as in drivers that form aggregates from a FIFO queue.
#[derive(Debug, Clone)]
pub struct Fifo<P> {
    limits: Limits,
    holds_in_flight: bool,
    /// Packets that left the queue and are neither acknowledged nor given up, by category; counted only if
    /// `holds_in_flight`.
    in_flight: [usize; 4],
    lists: StationLists<P>,
    order: ArrivalOrder,
}

impl<P: Payload> Fifo<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: FifoConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            limits: config.limit.check()?,
            holds_in_flight: config.holds_in_flight,
            in_flight: [0; 4],
            lists: StationLists::default(),
            order: ArrivalOrder::default(),
        })
    }

    /// Makes this the lower one of two queues: packets keep the time at which they entered the upper one.
    #[must_use]
    pub fn below(self) -> Self {
        Self { lists: self.lists.below(), ..self }
    }
}

impl<P: Payload> Fifo<P> {
    /// The station to be served next.
    fn next_station(&mut self, _now: Instant, category: Category) -> Option<StationId> {
        self.order.select(&mut self.lists, category)
    }

    /// The limits on the packets of a category that wait.
    #[inline(always)]
    fn limits_of(&self, category: Category) -> Limits {
        let packets = self.limits.packets.saturating_sub(self.in_flight[category.index()]);
        Limits { packets, ..self.limits }
    }

    /// Whether packets below the queue count against the limit.
    pub(super) const fn counts_below(&self) -> bool {
        self.holds_in_flight
    }

    /// Notes packets handed to the layers below.
    fn on_handed(&mut self, category: Category, packets: usize) {
        self.in_flight[category.index()] += packets;
    }

    /// Notes that packets have left the layers below.
    fn on_returned(&mut self, category: Category, packets: usize) {
        let in_flight = &mut self.in_flight[category.index()];
        *in_flight = in_flight.saturating_sub(packets);
    }
}

impl<P: Payload> Queue<P> for Fifo<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let (station, category) = (packet.station(), packet.category());
        let limits = self.limits_of(category);
        if self.lists.push(now, packet, limits, dropped) {
            self.order.update(&mut self.lists, station, category);
        }
    }

    #[inline(always)]
    fn enqueue_all(
        &mut self,
        arrivals: &mut impl Arrivals<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Instant> {
        let mut last = None;
        if let Some(packet) = arrivals.next_equal() {
            let (station, category) = (packet.station(), packet.category());
            let limits = self.limits_of(category);
            if let Some((is_first, at)) = self.lists.push_equal(&packet, limits, arrivals) {
                if is_first {
                    self.order.update(&mut self.lists, station, category);
                }
                last = Some(at);
            }
        }
        take_all(arrivals, dropped, |now, packet, dropped| self.enqueue(now, packet, dropped)).or(last)
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        let station = self.next_station(now, category)?;
        Some(Turn::new(station, category).counting(self.holds_in_flight))
    }

    #[inline]
    fn dequeue_into(
        &mut self,
        _now: Instant,
        &Turn { station, category, .. }: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        let handed = self.lists.hand_out(station, category, sink, dropped);
        self.on_handed(category, handed);
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        self.lists.flush(station, out);
    }

    fn backlog(&self) -> &Backlogs {
        self.lists.backlog()
    }

    fn oldest(&mut self, category: Category) -> Option<Instant> {
        self.order.oldest(&mut self.lists, category)
    }

    fn on(&mut self, _now: Instant, fact: Fact<'_, P>) {
        match fact {
            Fact::Eligibility { station, category, eligibility } => {
                self.lists.set_eligibility(station, category, eligibility);
                self.order.update(&mut self.lists, station, category);
            }
            Fact::Handed(packet) if self.holds_in_flight => {
                self.on_handed(packet.category(), 1);
            }
            Fact::Dropped(packet) if self.holds_in_flight => self.on_returned(packet.category(), 1),
            Fact::Reported(report) if self.holds_in_flight => {
                self.on_returned(report.descriptor.category, report.arrived().count());
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packet::{Special, at_micros, packet};
    use super::*;
    use crate::frame::DropReason;
    use crate::frame::PlainPacket;
    use crate::queue::Eligibility;
    use airbound_units::{ByteCount, Span};

    fn filled(stations: &[u16]) -> Fifo<PlainPacket> {
        let mut queue = Fifo::new(FifoConfig::default()).expect("valid");
        for (number, &station) in stations.iter().enumerate() {
            let packet = packet(station, number as u32);
            queue.enqueue(at_micros(number as u64), packet, &mut Vec::new());
        }
        queue
    }

    fn take(queue: &mut Fifo<PlainPacket>, most: usize) -> Option<(u16, Vec<u32>)> {
        let station = queue.next_station(Instant::ZERO, Category::Be)?;
        let packets =
            std::iter::from_fn(|| queue.lists.pop(station, Category::Be).map(|packet| packet.flow().0));
        Some((station.0, packets.take(most).collect()))
    }

    #[test]
    fn the_oldest_packet_names_the_station() {
        let mut queue = filled(&[3, 1, 3, 1, 2, 3]);
        assert_eq!(take(&mut queue, 2), Some((3, vec![0, 2])));
        assert_eq!(take(&mut queue, 1), Some((1, vec![1])));
        assert_eq!(take(&mut queue, 9), Some((1, vec![3])));
        assert_eq!(take(&mut queue, 9), Some((2, vec![4])));
        assert_eq!(take(&mut queue, 9), Some((3, vec![5])));
        assert_eq!(take(&mut queue, 9), None);
    }

    #[test]
    fn a_returned_station_keeps_its_age_and_a_blocked_one_waits() {
        let mut queue = filled(&[3, 1, 2]);
        let be = Category::Be;
        queue.on(
            Instant::ZERO,
            Fact::Eligibility { station: StationId(3), category: be, eligibility: Eligibility::Blocked },
        );
        // A retry older than all packets goes first; one between the packets of stations 1 and 2 goes between them.
        queue.on(
            Instant::ZERO,
            Fact::Eligibility {
                station: StationId(9),
                category: be,
                eligibility: Eligibility::Retries { since: Instant::ZERO },
            },
        );
        assert_eq!(take(&mut queue, 1), Some((9, vec![])));
        let since = at_micros(1) + Span::from_nanos(1);
        queue.on(
            Instant::ZERO,
            Fact::Eligibility {
                station: StationId(9),
                category: be,
                eligibility: Eligibility::Retries { since },
            },
        );
        assert_eq!(take(&mut queue, 1), Some((1, vec![1])));
        assert_eq!(take(&mut queue, 1), Some((9, vec![])));
        queue.on(
            Instant::ZERO,
            Fact::Eligibility { station: StationId(9), category: be, eligibility: Eligibility::Fresh },
        );
        queue.on(
            Instant::ZERO,
            Fact::Eligibility { station: StationId(3), category: be, eligibility: Eligibility::Fresh },
        );
        assert_eq!(take(&mut queue, 1), Some((3, vec![0])));
        assert_eq!(take(&mut queue, 1), Some((2, vec![2])));
        assert_eq!(take(&mut queue, 1), None);
    }

    #[test]
    fn packets_in_flight_can_count() {
        let limit = Limits { packets: 2, bytes: None };
        let mut queue = Fifo::new(FifoConfig { limit, holds_in_flight: true }).expect("valid");
        let (be, station) = (Category::Be, StationId(0));
        let mut dropped = Vec::new();
        let mut offer = |queue: &mut Fifo<PlainPacket>| {
            queue.enqueue(Instant::ZERO, packet(0, 0), &mut dropped);
            dropped.len()
        };
        offer(&mut queue);
        assert_eq!(offer(&mut queue), 0);
        assert!(queue.lists.pop(station, be).is_some());
        queue.on_handed(be, 1);
        assert_eq!(offer(&mut queue), 1);
        queue.on_returned(be, 1);
        assert_eq!(offer(&mut queue), 1);
    }

    #[test]
    fn each_category_has_its_limit() {
        let limit = Limits { packets: 2, bytes: Some(ByteCount::new(2900)) };
        let mut queue = Fifo::new(FifoConfig { limit, ..FifoConfig::default() }).expect("valid");
        let mut dropped = Vec::new();
        for bytes in [1500, 1500, 1400, 1] {
            queue.enqueue(Instant::ZERO, packet(0, 0).of_size(bytes), &mut dropped);
        }
        let reasons: Vec<_> =
            dropped.drain(..).map(|drop| (drop.packet.size().as_u64(), drop.reason)).collect();
        assert_eq!(reasons, [(1500, DropReason::MemoryLimit), (1, DropReason::QueueFull)]);
        queue.enqueue(Instant::ZERO, packet(0, 0).of_category(Category::Vo), &mut dropped);
        assert!(dropped.is_empty());
    }
}

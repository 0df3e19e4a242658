//! Runs of packets that come to a queue or leave it: properties that they share are asked once, not for each packet.

use std::ops::ControlFlow;

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::Turn;
use crate::frame::{DropReason, Dropped, Payload, StationId};

/// Packets that come to a link, each at its own time.
pub trait Arrivals<P> {
    /// Hands them to `take` in the order of time, until there are no more or `take` wants no more.
    fn hand_over(&mut self, take: impl FnMut(Instant, P) -> ControlFlow<()>);
}

/// The destination of packets that leave a queue through [`super::Queue::dequeue_into`].
pub trait Sink<P> {
    /// Whether there is room for one more. `size` tells how large it will be, if the queue knows.
    fn has_room(&mut self, size: impl FnOnce() -> Option<ByteCount>) -> bool;

    /// Takes a packet; returns the airtime that it is expected to take, if that is to be counted against the queue.
    ///
    /// # Errors
    /// Gives a packet back that has waited too long. It is dropped, and another may come in its place, of whatever size.
    fn put(&mut self, packet: P) -> Result<Option<Span>, P>;
}

/// The steps of which [`super::Queue::dequeue_into`] is made.
pub(super) trait Dequeue<P: Payload> {
    /// The next packet of a station, or `None` if it has no more (after drops, possibly none at all).
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P>;

    /// The size of the packet that [`Dequeue::dequeue`] would give next, so that a packet that does not fit can stay where it is;
    /// `None` if it is not known, or if there is none. A hint: drops on the way may change it.
    fn next_size(&mut self, _station: StationId, _category: Category) -> Option<ByteCount> {
        None
    }

    /// A packet with an `estimated` airtime went to the layers below (kernel: `ieee80211_sta_update_pending_airtime`).
    fn on_handed(&mut self, _now: Instant, _station: StationId, _category: Category, _estimated: Span) {}

    /// Hands packets of the selected station to `sink` while it has room.
    #[inline(always)]
    fn hand_out(
        &mut self,
        now: Instant,
        &Turn { station, category, .. }: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
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
}

#[cfg(test)]
mod tests {
    use airbound_wifi::edca::Category;

    use super::super::test_packet::{Special, at_micros, packet};
    use super::super::{Fact, Fifo, FifoConfig, Limits, Queue};
    use super::*;
    use crate::frame::{DropReason, PlainPacket, StationId};

    /// Takes packets of up to 1500 B while it has places, and gives back those of flow 9 as too old.
    struct Places {
        left: usize,
        taken: Vec<u32>,
        foreseen: Vec<Option<ByteCount>>,
    }

    impl Sink<PlainPacket> for Places {
        fn has_room(&mut self, size: impl FnOnce() -> Option<ByteCount>) -> bool {
            let size = size();
            self.foreseen.push(size);
            self.left > 0 && size.is_none_or(|size| size <= ByteCount::new(1500))
        }

        fn put(&mut self, packet: PlainPacket) -> Result<Option<Span>, PlainPacket> {
            if packet.flow.0 == 9 {
                return Err(packet);
            }
            self.left -= 1;
            self.taken.push(packet.flow.0);
            Ok(Some(Span::from_micros(4)))
        }
    }

    fn places(left: usize) -> Places {
        Places { left, taken: Vec::new(), foreseen: Vec::new() }
    }

    #[test]
    fn a_sink_takes_while_it_has_room_and_what_it_takes_counts_below() {
        let limit = Limits { packets: 6, bytes: None };
        let mut queue = Fifo::new(FifoConfig { limit, holds_in_flight: true }).expect("valid");
        let turn = Turn::new(StationId(1), Category::Be);
        let mut dropped = Vec::new();
        for (flow, size) in [(1, 1000), (9, 1000), (9, 1000), (2, 1500), (3, 1501), (4, 100)] {
            queue.enqueue(at_micros(1), packet(1, flow).of_size(size), &mut dropped);
        }
        assert!(dropped.is_empty());
        let mut one = places(1);
        queue.dequeue_into(at_micros(2), &turn, &mut one, &mut dropped);
        assert_eq!((one.taken.as_slice(), one.foreseen.len(), dropped.len()), ([1].as_slice(), 2, 0));
        // The two that are too old make room for the one behind them; the one that is too large stays.
        let mut more = places(9);
        queue.dequeue_into(at_micros(2), &turn, &mut more, &mut dropped);
        assert_eq!(more.taken, [2]);
        assert_eq!(more.foreseen.last(), Some(&Some(ByteCount::new(1501))));
        assert!(dropped.drain(..).all(|lost| lost.reason == DropReason::Expired && lost.packet.flow.0 == 9));
        assert_eq!(queue.backlog().total().packets, 2);
        // Two are below, and two wait: of nine more, two find a place among six; and two again once those below are back.
        let fill = |queue: &mut Fifo<PlainPacket>| {
            let mut dropped = Vec::new();
            (0..9).for_each(|_| queue.enqueue(at_micros(3), packet(2, 5), &mut dropped));
            dropped.len()
        };
        assert_eq!(fill(&mut queue), 7);
        (0..2).for_each(|_| queue.on(at_micros(4), Fact::Dropped(&packet(1, 1))));
        assert_eq!(fill(&mut queue), 7);
    }
}

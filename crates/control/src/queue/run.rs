//! Batches of packets that enter a queue or leave it, so that common properties are looked up once, not for each packet.

use std::ops::ControlFlow;

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::Turn;
use crate::frame::{DropReason, Dropped, Payload, StationId};

/// Packets that arrive at a link, each at its own time.
pub trait Arrivals<P> {
    /// Passes the packets to `take` in order of time, until none is left or `take` breaks.
    fn hand_over(&mut self, take: impl FnMut(Instant, P) -> ControlFlow<()>);

    /// The next packet, if others that differ in nothing but number and time follow it without one of another kind in between.
    fn next_equal(&self) -> Option<P> {
        None
    }

    /// Passes packets like [`Arrivals::next_equal`] to `taker`, up to `most`, each stamped with its time. Returns their number, and the
    /// time of the last.
    fn hand_over_equal(
        &mut self,
        _most: usize,
        _taker: &mut impl Extend<(Instant, P)>,
    ) -> Option<(usize, Instant)> {
        None
    }
}

/// Takes packets through `enqueue` until none is left or one is dropped. Returns the arrival time of the last one taken.
#[inline(always)]
pub(crate) fn take_all<P>(
    arrivals: &mut impl Arrivals<P>,
    dropped: &mut Vec<Dropped<P>>,
    mut enqueue: impl FnMut(Instant, P, &mut Vec<Dropped<P>>),
) -> Option<Instant> {
    let before = dropped.len();
    let mut last = None;
    arrivals.hand_over(|now, packet| {
        enqueue(now, packet, dropped);
        last = Some(now);
        if dropped.len() == before { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    last
}

/// The destination of packets that leave a queue through [`super::Queue::dequeue_into`].
pub trait Sink<P> {
    /// Whether there is room for one more packet. `size` returns its size, if the queue knows.
    fn has_room(&mut self, size: impl FnOnce() -> Option<ByteCount>) -> bool;

    /// Takes a packet; returns its expected airtime, if that is to be accounted for.
    ///
    /// # Errors
    /// Returns an expired packet. It is dropped, and another of any size may follow in its place.
    fn put(&mut self, packet: P) -> Result<Option<Span>, P>;

    /// Number of packets of `size`, none of several frames, that [`Sink::put_all`] takes next. 0: they are offered one by one.
    fn room_for(&self, _size: ByteCount) -> usize {
        0
    }

    /// Takes packets of `size` for which there is room, all with one look-up; returns their number, if their airtime is to be accounted for.
    fn put_all(&mut self, _size: ByteCount, packets: impl Iterator<Item = P>) -> usize {
        packets.map(|packet| self.put(packet)).filter(|taken| matches!(taken, Ok(Some(_)))).count()
    }
}

/// The steps of [`super::Queue::dequeue_into`].
pub(super) trait Dequeue<P: Payload> {
    /// Takes the next packet of a station; `None` if it has no more (possibly after drops).
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P>;

    /// The size of the packet that [`Dequeue::dequeue`] would return next, so that a packet that does not fit can remain in the
    /// queue; `None` if it is unknown or there is none. A hint: drops on the way may change it.
    fn next_size(&mut self, _station: StationId, _category: Category) -> Option<ByteCount> {
        None
    }

    /// Notes that a packet with an `estimated` airtime was handed to the layers below (kernel:
    /// `ieee80211_sta_update_pending_airtime`).
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

    /// Takes packets of up to 1500 B while it has places, and refuses those of flow 9 as expired.
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
        // The two expired packets make room for the one behind them; the packet that is too large stays.
        let mut more = places(9);
        queue.dequeue_into(at_micros(2), &turn, &mut more, &mut dropped);
        assert_eq!(more.taken, [2]);
        assert_eq!(more.foreseen.last(), Some(&Some(ByteCount::new(1501))));
        assert!(dropped.drain(..).all(|lost| lost.reason == DropReason::Expired && lost.packet.flow.0 == 9));
        assert_eq!(queue.backlog().total().packets, 2);
        // Two are below and two wait: of nine more, two find a place among six; and two again once those below are returned.
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

//! What flows into one transmitter: its sources, merged in the order of sending, and the wire in front of it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use airbound_control::payload::Payload;
use airbound_units::Instant;
use airbound_wifi::edca::Category;

use super::source::{FrameStart, Source};
use crate::packet::Packet;
use crate::wire::Wire;

/// The sources of one transmitter, and the wire between them and it.
#[derive(Debug)]
pub(crate) struct Feed {
    sources: Vec<Source>,
    /// The next sending of each source, soonest first; among equals the source declared first.
    order: BinaryHeap<Reverse<Turn>>,
    wire: Wire,
    direct: bool,
    /// Packets on the wire, by category, in the order of arrival; and how many they are.
    transit: [VecDeque<(Instant, Packet)>; 4],
    flying: usize,
}

/// The time at which a source sends, and behind it in the lower bits the number of the source: one comparison for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn(u128);

impl Turn {
    const fn new(at: Instant, source: u32) -> Self {
        Self((at.as_nanos() as u128) << 32 | source as u128)
    }

    const fn at(self) -> Instant {
        Instant::from_nanos((self.0 >> 32) as u64)
    }

    const fn source(self) -> usize {
        self.0 as u32 as usize
    }
}

/// What a feed tells while it advances.
pub(crate) trait FeedObserver {
    /// A source sent `packet`; `lost` if the wire lost it.
    fn on_sent(&mut self, packet: &Packet, lost: bool);
    /// A source began a frame.
    fn on_frame(&mut self, frame: &FrameStart);
}

impl Feed {
    pub(crate) fn new(wire: Wire) -> Self {
        Self {
            sources: Vec::new(),
            order: BinaryHeap::new(),
            direct: wire.is_transparent(),
            wire,
            transit: Default::default(),
            flying: 0,
        }
    }

    pub(crate) fn add(&mut self, source: Source) {
        if let Some(next) = source.next() {
            self.order.push(Reverse(Turn::new(next, self.sources.len() as u32)));
        }
        self.sources.push(source);
    }

    /// The soonest that a packet of `category` may arrive.
    pub(crate) fn next_arrival(&self, category: Category) -> Option<Instant> {
        let flying = self.transit[category.index()].front().map(|(at, _)| *at);
        // Ways differ in delay: what is not sent yet may overtake what flies.
        let sources = self.sources.iter().filter(|source| source.category() == category);
        let soonest = |source: &Source| source.next().map(|sent| self.wire.soonest(source.flow(), sent));
        sources.filter_map(soonest).chain(flying).min()
    }

    /// Packets on the wire.
    pub(crate) const fn in_transit(&self) -> usize {
        self.flying
    }

    /// Puts a packet that somebody else sends now on the wire. Returns when it arrives, or `None` if it was lost.
    pub(crate) fn push(&mut self, packet: Packet, observer: &mut impl FeedObserver) -> Option<Instant> {
        self.send_until(packet.sent, observer);
        self.put_on_wire(packet, observer)
    }

    fn put_on_wire(&mut self, packet: Packet, observer: &mut impl FeedObserver) -> Option<Instant> {
        let arrival = self.wire.transit(packet.flow.0 as usize, packet.sent, packet.size());
        observer.on_sent(&packet, arrival.is_none());
        if let Some(arrival) = arrival {
            // Ways differ in delay: the newest packet is rarely, but sometimes, not the last to arrive.
            let queue = &mut self.transit[packet.category().index()];
            let mut place = queue.len();
            while place > 0 && queue[place - 1].0 > arrival {
                place -= 1;
            }
            queue.insert(place, (arrival, packet));
            self.flying += 1;
        }
        arrival
    }

    /// Changes the rate of the constant source of a flow from `now` on.
    pub(crate) fn set_rate(
        &mut self,
        flow: usize,
        now: Instant,
        rate: airbound_units::BitRate,
        observer: &mut impl FeedObserver,
    ) {
        self.send_until(now, observer);
        for source in self.sources.iter_mut().filter(|source| source.flow() == flow) {
            source.set_rate(now, rate);
        }
        let sources = self.sources.iter().zip(0..);
        self.order =
            sources.filter_map(|(source, index)| Some(Reverse(Turn::new(source.next()?, index)))).collect();
    }

    /// Lets the sources send what is due by `until`.
    fn send_until(&mut self, until: Instant, observer: &mut impl FeedObserver) {
        while let Some(packet) = self.emit_until(until, observer) {
            self.put_on_wire(packet, observer);
        }
    }

    #[inline]
    fn emit_until(&mut self, until: Instant, observer: &mut impl FeedObserver) -> Option<Packet> {
        let mut top = self.order.peek_mut()?;
        let Reverse(turn) = *top;
        if turn.at() > until {
            return None;
        }
        let source = &mut self.sources[turn.source()];
        if source.has_frames()
            && let Some(frame) = source.take_started()
        {
            observer.on_frame(&frame);
        }
        let packet = source.emit();
        match source.next() {
            Some(next) => *top = Reverse(Turn::new(next, turn.source() as u32)),
            None => drop(std::collections::binary_heap::PeekMut::pop(top)),
        }
        Some(packet)
    }

    /// The next packet that arrives by `until`, with the time of its arrival.
    #[inline]
    pub(crate) fn arrive(
        &mut self,
        until: Instant,
        observer: &mut impl FeedObserver,
    ) -> Option<(Instant, Packet)> {
        if self.direct && self.flying == 0 {
            let packet = self.emit_until(until, observer)?;
            observer.on_sent(&packet, false);
            return Some((packet.sent, packet));
        }
        self.send_until(until, observer);
        if self.flying == 0 {
            return None;
        }
        let waiting = self.transit.iter_mut().filter(|queue| !queue.is_empty());
        let soonest = waiting.min_by_key(|queue| queue[0].0)?;
        if soonest.front()?.0 > until {
            return None;
        }
        self.flying -= 1;
        soonest.pop_front()
    }
}

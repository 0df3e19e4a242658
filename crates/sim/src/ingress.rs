//! Ingress of one transmitter: its sources, merged in the order of sending, and the wire in front of it.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use airbound_control::frame::{Dropped, FlowId, Payload};
use airbound_control::queue::Arrivals;
use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use crate::packet::{Header, Kind, Packet};
use crate::path::{Shaper, Wire};
use airbound_traffic::{FrameStart, Source};

/// The sources of one transmitter, and the wire between.
#[derive(Debug)]
pub(crate) struct Ingress {
    sources: Vec<(Header, Source)>,
    /// The next packet of all sources; on a tie that of the source declared first.
    next: Option<Turn>,
    /// The next packets of all other sources, in order: of equal rates, the newest is mostly the last.
    others: VecDeque<Turn>,
    wire: Wire,
    direct: bool,
    /// Packets on the wire, by category, in order of arrival; their number, and the first arrival with its category's index
    /// ([`Instant::MAX`] for none).
    transit: [VecDeque<(Instant, Packet)>; 4],
    flying: usize,
    first_landing: (Instant, usize),
    /// The shaper behind the wire; `None` without one.
    shaper: Option<Box<Shaper>>,
}

/// The time at which a source sends, with the number of the source in the lower bits: one comparison for both.
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

/// Inserts a turn in its place.
fn line_up(turns: &mut VecDeque<Turn>, turn: Turn) {
    if turns.back().is_none_or(|last| *last < turn) {
        turns.push_back(turn);
    } else {
        turns.insert(turns.partition_point(|other| *other < turn), turn);
    }
}

/// A set of access categories.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Categories([bool; 4]);

impl Categories {
    pub(crate) const ALL: Self = Self([true; 4]);

    /// The categories set to true, in the order of [`Category::ALL`].
    pub(crate) const fn of(set: [bool; 4]) -> Self {
        Self(set)
    }

    /// Whether the set is not empty.
    pub(crate) fn are_any(self) -> bool {
        self.0.contains(&true)
    }

    const fn has(self, category: Category) -> bool {
        self.0[category.index()]
    }
}

/// Receives the packets sent while an ingress advances.
pub(crate) trait IngressObserver {
    /// A source sent `packet`; `lost` if the wire lost it.
    fn on_sent(&mut self, packet: &Packet, lost: bool);
    /// A source sent packets like `packet`, the last one at `last`, of which the wire lost none.
    fn on_all_sent(&mut self, packet: &Packet, packets: u64, last: Instant);
    /// Whether packets from `first` to `last` count alike.
    fn counts_alike(&self, first: Instant, last: Instant) -> bool;
    /// A source began a frame.
    fn on_frame(&mut self, flow: FlowId, frame: &FrameStart);
}

impl Ingress {
    pub(crate) fn new(wire: Wire) -> Self {
        Self {
            sources: Vec::new(),
            next: None,
            others: VecDeque::new(),
            direct: wire.is_transparent(),
            wire,
            transit: Default::default(),
            flying: 0,
            first_landing: (Instant::MAX, 0),
            shaper: None,
        }
    }

    /// The same with a shaper behind the wire.
    pub(crate) fn shaped(self, shaper: Shaper) -> Self {
        Self { direct: false, shaper: Some(Box::new(shaper)), ..self }
    }

    pub(crate) fn add(&mut self, header: Header, source: Source) {
        let turn = source.next_departure().map(|at| Turn::new(at, self.sources.len() as u32));
        turn.into_iter().chain(self.next.take()).for_each(|turn| line_up(&mut self.others, turn));
        self.next = self.others.pop_front();
        self.sources.push((header, source));
    }

    /// Replaces a source's turn by its next one, `own`, if any. Returns the turn of the next source.
    #[inline]
    fn take_turn(&mut self, own: Option<Turn>) -> Option<Turn> {
        if self.others.is_empty() { own } else { self.pick_turn(own) }
    }

    fn pick_turn(&mut self, own: Option<Turn>) -> Option<Turn> {
        if own.is_some_and(|own| self.others.front().is_none_or(|first| own < *first)) {
            return own;
        }
        let first = self.others.pop_front();
        own.into_iter().for_each(|own| line_up(&mut self.others, own));
        first
    }

    /// The earliest possible arrival of a packet of the `wanted` categories.
    pub(crate) fn next_arrival(&self, wanted: Categories) -> Option<Instant> {
        let mut first = Instant::MAX;
        // Delays differ between flows: a packet not yet sent may overtake one on the wire.
        for (header, source) in self.sources.iter().filter(|(header, _)| wanted.has(header.category)) {
            if let Some(sent) = source.next_departure() {
                first = first.min(self.wire.soonest(header.flow.0 as usize, sent));
            }
        }
        if self.flying > 0 || self.shaper.is_some() {
            for category in Category::ALL.into_iter().filter(|category| wanted.has(*category)) {
                let flying = self.transit[category.index()].front().map_or(Instant::MAX, |(at, _)| *at);
                let shaped = self.shaper.as_ref().and_then(|shaper| shaper.next_departure(category));
                first = first.min(flying).min(shaped.unwrap_or(Instant::MAX));
            }
        }
        (first < Instant::MAX).then_some(first)
    }

    /// Whether no source sends and no packet arrives by `until`. A shaper may act any time.
    #[inline]
    pub(crate) fn is_quiet(&self, until: Instant) -> bool {
        self.next.is_none_or(|turn| turn.at() > until)
            && self.first_landing.0 > until
            && self.shaper.is_none()
    }

    /// Number of packets on the wire and in the shaper.
    pub(crate) fn in_transit(&self) -> usize {
        self.flying + self.shaper.as_ref().map_or(0, |shaper| shaper.held())
    }

    /// The next packet that the shaper's queue has dropped, with the time.
    #[inline]
    pub(crate) fn take_dropped(&mut self) -> Option<(Instant, Dropped<Packet>)> {
        self.shaper.as_mut()?.take_dropped()
    }

    /// Puts a packet of an endpoint, sent now, on the wire. Returns its arrival, or `None` if it was lost.
    pub(crate) fn push(&mut self, packet: Packet, observer: &mut impl IngressObserver) -> Option<Instant> {
        self.send_until(packet.sent, observer);
        self.put_on_wire(packet, observer)
    }

    fn put_on_wire(&mut self, packet: Packet, observer: &mut impl IngressObserver) -> Option<Instant> {
        let arrival = self.wire.transit(packet.flow.0 as usize, packet.sent, packet.size());
        observer.on_sent(&packet, arrival.is_none());
        if let Some(arrival) = arrival {
            // Delays differ between flows: the newest packet is rarely, but sometimes, not the last to arrive.
            let category = packet.category().index();
            let queue = &mut self.transit[category];
            let mut place = queue.len();
            while place > 0 && queue[place - 1].0 > arrival {
                place -= 1;
            }
            queue.insert(place, (arrival, packet));
            self.flying += 1;
            self.first_landing = self.first_landing.min((arrival, category));
        }
        arrival
    }

    /// Changes the rate of the constant source of a flow from `now` on.
    pub(crate) fn set_rate(
        &mut self,
        flow: usize,
        now: Instant,
        rate: airbound_units::BitRate,
        observer: &mut impl IngressObserver,
    ) {
        self.send_until(now, observer);
        for (_, source) in self.sources.iter_mut().filter(|(header, _)| header.flow.0 as usize == flow) {
            source.set_rate(now, rate);
        }
        let turns = self
            .sources
            .iter()
            .zip(0..)
            .filter_map(|((_, source), index)| Some(Turn::new(source.next_departure()?, index)));
        self.others = turns.collect();
        self.others.make_contiguous().sort_unstable();
        self.next = self.others.pop_front();
    }

    /// Makes the sources send all packets due by `until`.
    fn send_until(&mut self, until: Instant, observer: &mut impl IngressObserver) {
        while let Some(packet) = self.emit_until(until, Categories::ALL, observer) {
            self.put_on_wire(packet, observer);
        }
    }

    /// Sends the next packet, if it is of a `wanted` category and due by `until`.
    #[inline(always)]
    fn emit_until(
        &mut self,
        until: Instant,
        wanted: Categories,
        observer: &mut impl IngressObserver,
    ) -> Option<Packet> {
        let turn = self.next.filter(|turn| turn.at() <= until)?;
        let (header, source) = &mut self.sources[turn.source()];
        if !wanted.has(header.category) {
            return None;
        }
        if source.has_frames()
            && let Some(frame) = source.take_started()
        {
            observer.on_frame(header.flow, &frame);
        }
        let sent = source.emit();
        let packet = Packet::new(*header, sent.number, Kind::Datagram, sent.frame, sent.size, sent.at);
        let own = source.next_departure().map(|at| Turn::new(at, turn.source() as u32));
        self.next = self.take_turn(own);
        Some(packet)
    }

    /// Returns the packets that the sources send by `until`, up to the first of another category than `wanted`, if they arrive when
    /// they are sent; `None` if there is a wire.
    pub(crate) fn arrivals<'a, O: IngressObserver>(
        &'a mut self,
        until: Instant,
        wanted: Categories,
        observer: &'a mut O,
    ) -> Option<Sent<'a, O>> {
        self.is_direct().then_some(Sent { ingress: self, until, wanted, observer })
    }

    /// Returns the next packet that arrives by `until`, with its arrival time.
    pub(crate) fn arrive(
        &mut self,
        until: Instant,
        observer: &mut impl IngressObserver,
    ) -> Option<(Instant, Packet)> {
        if self.is_direct() {
            let packet = self.emit_until(until, Categories::ALL, observer)?;
            observer.on_sent(&packet, false);
            return Some((packet.sent, packet));
        }
        self.send_until(until, observer);
        if self.shaper.is_none() {
            return self.land(until);
        }
        while let Some((at, packet)) = self.land(until) {
            if let Some(shaper) = &mut self.shaper {
                shaper.offer(at, packet);
            }
        }
        let shaper = self.shaper.as_mut()?;
        shaper.advance(until);
        shaper.take_passed()
    }

    /// Takes the next packet off the wire that arrives by `until`, with its arrival time.
    fn land(&mut self, until: Instant) -> Option<(Instant, Packet)> {
        if self.first_landing.0 > until || self.flying == 0 {
            return None;
        }
        let landed = self.transit[self.first_landing.1].pop_front();
        self.flying -= 1;
        let fronts = self.transit.iter().map(|queue| queue.front().map_or(Instant::MAX, |(at, _)| *at));
        self.first_landing = fronts.zip(0..).min().unwrap_or((Instant::MAX, 0));
        landed
    }

    /// Whether no packet is or will be on the wire.
    const fn is_direct(&self) -> bool {
        self.direct && self.flying == 0
    }
}

/// Packets that have arrived by a point in time, as sent, and are to be enqueued.
pub(crate) struct Sent<'a, O> {
    ingress: &'a mut Ingress,
    until: Instant,
    wanted: Categories,
    observer: &'a mut O,
}

impl<O: IngressObserver> Sent<'_, O> {
    /// The next packet, and the time up to which no other source sends.
    #[inline(always)]
    fn steady(&self) -> Option<(Packet, Instant)> {
        let Ingress { next, others, sources, .. } = &*self.ingress;
        let turn = next.filter(|turn| turn.at() <= self.until)?;
        let (header, source) = &sources[turn.source()];
        let until =
            others.front().map_or(self.until, |other| self.until.min(other.at() - Span::from_nanos(1)));
        let is_steady = self.wanted.has(header.category)
            && source.is_steady()
            && turn.at() < until
            && self.observer.counts_alike(turn.at(), until);
        let packet = Packet::new(*header, 0, Kind::Datagram, 0, source.size(), turn.at());
        is_steady.then_some((packet, until))
    }
}

impl<O: IngressObserver> Arrivals<Packet> for Sent<'_, O> {
    #[inline(always)]
    fn next_equal(&self) -> Option<Packet> {
        self.steady().map(|(packet, _)| packet)
    }

    #[inline(always)]
    fn hand_over_equal(
        &mut self,
        most: usize,
        taker: &mut impl Extend<(Instant, Packet)>,
    ) -> Option<(usize, Instant)> {
        let (packet, until) = self.steady()?;
        let turn = self.ingress.next?;
        let (_, source) = &mut self.ingress.sources[turn.source()];
        let (mut packets, mut last) = (0, turn.at());
        taker.extend(source.emit_until(until, most).map(|sent| {
            (packets, last) = (packets + 1, sent.at);
            (sent.at, packet.sent_as(sent.number, sent.at))
        }));
        let own = source.next_departure().map(|at| Turn::new(at, turn.source() as u32));
        self.ingress.next = self.ingress.take_turn(own);
        self.observer.on_all_sent(&packet, packets as u64, last);
        (packets > 0).then_some((packets, last))
    }

    #[inline(always)]
    fn hand_over(&mut self, mut take: impl FnMut(Instant, Packet) -> ControlFlow<()>) {
        while let Some(packet) = self.ingress.emit_until(self.until, self.wanted, self.observer) {
            self.observer.on_sent(&packet, false);
            if take(packet.sent, packet).is_break() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use airbound_control::frame::StationId;
    use airbound_units::{BitRate, ByteCount};

    use super::*;

    /// Counts the packets reported to it.
    #[derive(Default)]
    struct Counter(usize);

    impl IngressObserver for Counter {
        fn on_sent(&mut self, _packet: &Packet, lost: bool) {
            assert!(!lost);
            self.0 += 1;
        }
        fn on_all_sent(&mut self, _packet: &Packet, packets: u64, _last: Instant) {
            self.0 += packets as usize;
        }
        fn counts_alike(&self, _first: Instant, _last: Instant) -> bool {
            true
        }
        fn on_frame(&mut self, _flow: FlowId, _frame: &FrameStart) {}
    }

    /// A source that sends 1000 bits every `micros` from 0 to `stop`.
    fn source(flow: u32, category: Category, micros: u64, stop: Instant) -> (Header, Source) {
        let header = Header { flow: FlowId(flow), to: StationId(1), category };
        let rhythm = Source::constant(BitRate::from_bps(1_000_000_000 / micros), ByteCount::new(125));
        (header, Source::new(ByteCount::new(153), Instant::ZERO, stop, rhythm))
    }

    const fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    #[test]
    fn sources_send_in_the_order_of_time_and_among_equals_of_declaration() {
        let mut ingress = Ingress::new(Wire::none());
        for (flow, micros, stop) in [(0, 30, Instant::MAX), (1, 20, Instant::MAX), (2, 10, at(15))] {
            let (header, source) = source(flow, Category::Be, micros, stop);
            ingress.add(header, source);
        }
        let mut counter = Counter::default();
        let sent: Vec<(u64, u32)> = std::iter::from_fn(|| ingress.arrive(at(60), &mut counter))
            .map(|(at, packet)| (at.as_nanos() / 1000, packet.flow.0))
            .collect();
        let expected = [(0, 0), (0, 1), (0, 2), (10, 2), (20, 1), (30, 0), (40, 1), (60, 0), (60, 1)];
        assert_eq!((sent.as_slice(), counter.0), (expected.as_slice(), expected.len()));
    }

    #[test]
    fn a_run_ends_before_a_category_that_is_not_wanted_and_where_its_taker_has_enough() {
        let mut ingress = Ingress::new(Wire::none());
        let (header, one) = source(0, Category::Be, 10, Instant::MAX);
        ingress.add(header, one);
        let (header, one) = source(1, Category::Vo, 35, Instant::MAX);
        ingress.add(header, one);
        let mut counter = Counter::default();
        // The voice packet at the start is sent by itself.
        let wanted = Categories::of(Category::ALL.map(|category| category == Category::Be));
        let mut run = |ingress: &mut Ingress, most: usize| {
            let mut taken = Vec::new();
            ingress.arrivals(at(50), wanted, &mut counter).expect("no wire").hand_over(|at, packet| {
                assert_eq!(packet.category, Category::Be);
                taken.push(at.as_nanos() / 1000);
                if taken.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            taken
        };
        assert_eq!(run(&mut ingress, 9), [0]);
        assert!(run(&mut ingress, 9).is_empty());
        let voice = ingress.arrive(at(50), &mut Counter::default()).expect("voice is due");
        assert_eq!((voice.0, voice.1.flow), (Instant::ZERO, FlowId(1)));
        assert_eq!(run(&mut ingress, 2), [10, 20]);
        assert_eq!(run(&mut ingress, 9), [30]);
        assert_eq!(ingress.arrive(at(50), &mut Counter::default()).map(|(at, _)| at), Some(at(35)));
        assert_eq!(run(&mut ingress, 9), [40, 50]);
    }

    #[test]
    fn equal_packets_of_one_source_arrive_as_they_do_one_by_one() {
        let make = |other: Option<u64>| {
            let mut ingress = Ingress::new(Wire::none());
            for (flow, micros) in (0..).zip([Some(7), other].into_iter().flatten()) {
                let (header, source) = source(flow, Category::Be, micros, at(90));
                ingress.add(header, source);
            }
            ingress
        };
        let seen =
            |(at, packet): (Instant, Packet)| (at, packet.flow, packet.number, packet.sent, packet.enqueued);
        for (other, most, expected) in
            [(None, 99, 13), (None, 5, 5), (Some(1_000_000), 99, 12), (Some(3), 99, 2), (Some(7), 99, 0)]
        {
            let (mut together, mut single) = (make(other), make(other));
            // The other source sends at 0, too.
            let both = other.is_some().then(|| together.arrive(at(0), &mut Counter::default()).map(seen));
            let mut counter = Counter::default();
            let mut taken = Vec::new();
            let mut sent = together.arrivals(at(90), Categories::ALL, &mut counter).expect("no wire");
            if both.is_some() {
                sent.hand_over(|at, packet| {
                    taken.push((at, packet));
                    ControlFlow::Break(())
                });
            }
            let before = taken.len();
            let run = sent.hand_over_equal(most, &mut taken);
            assert_eq!(run.map_or(0, |(packets, _)| packets), expected, "{other:?}");
            assert_eq!(run.map(|(_, last)| last), taken[before..].last().map(|(at, _)| *at));
            assert_eq!(counter.0, taken.len());
            let taken = both.flatten().into_iter().chain(taken.into_iter().map(seen));
            let rest: Vec<_> =
                std::iter::from_fn(|| together.arrive(at(90), &mut Counter::default())).map(seen).collect();
            let all: Vec<_> =
                std::iter::from_fn(|| single.arrive(at(90), &mut Counter::default())).map(seen).collect();
            assert_eq!(taken.chain(rest).collect::<Vec<_>>(), all);
        }
    }

    #[test]
    fn nothing_runs_past_a_wire() {
        let mut ingress = Ingress::new(Wire::none());
        ingress.direct = false;
        let (header, one) = source(0, Category::Be, 10, Instant::MAX);
        ingress.add(header, one);
        let mut counter = Counter::default();
        assert!(ingress.arrivals(at(50), Categories::ALL, &mut counter).is_none());
        assert_eq!(std::iter::from_fn(|| ingress.arrive(at(50), &mut counter)).count(), 6);
        assert_eq!(ingress.in_transit(), 0);
    }
}

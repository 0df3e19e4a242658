//! A shaper in front of the Wi-Fi queue: a token bucket with a queue of its own, as home routers have (Linux `tbf` with `fifo` or
//! `fq_codel` behind it).
//!
//! It is computed, not stepped: packets are offered in the order of arrival, and departures up to an instant are drawn when the
//! transmitter looks. The packet at the head waits for its tokens outside of the queue, as behind `qdisc_peek_dequeued`.

use std::collections::VecDeque;

use airbound_control::frame::{Dropped, FlowId, Payload, StationId};
use airbound_control::queue::{AnyQueue, Queue as _, Sink};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use crate::packet::Packet;

/// A packet as a queueing discipline of a wired interface sees it: one receiver, one category; flows are told apart.
#[derive(Debug, Clone, Copy)]
struct Unsorted(Packet);

impl Payload for Unsorted {
    fn flow(&self) -> FlowId {
        self.0.flow
    }
    fn station(&self) -> StationId {
        StationId(0)
    }
    fn category(&self) -> Category {
        Category::Be
    }
    fn size(&self) -> ByteCount {
        self.0.size()
    }
    fn enqueued(&self) -> Instant {
        self.0.enqueued
    }
    fn set_enqueued(&mut self, now: Instant) {
        self.0.enqueued = now;
    }
    fn airtime_estimate(&self) -> Span {
        Span::ZERO
    }
    fn set_airtime_estimate(&mut self, _estimate: Span) {}
}

/// The queue of a shaper, built from a configuration.
#[derive(Debug)]
pub(crate) struct ShaperQueue(AnyQueue<Unsorted>);

impl ShaperQueue {
    /// Builds the queue; `seed` decides its random drops, if it makes any.
    pub(crate) fn new(
        config: &airbound_control::queue::QueueConfig,
        seed: u64,
    ) -> Result<Self, airbound_units::ConfigError> {
        config.build(seed).map(Self)
    }
}

/// Takes one packet of a turn.
struct One(Option<Packet>);

impl Sink<Unsorted> for One {
    fn has_room(&mut self, _size: impl FnOnce() -> Option<ByteCount>) -> bool {
        self.0.is_none()
    }

    fn put(&mut self, packet: Unsorted) -> Result<Option<Span>, Unsorted> {
        self.0 = Some(packet.0);
        Ok(None)
    }
}

/// A token bucket with a queue.
#[derive(Debug)]
pub(crate) struct Shaper {
    rate: BitRate,
    /// The time in which an empty bucket fills.
    depth: Span,
    /// When the bucket is full if nothing more departs.
    full: Instant,
    queue: AnyQueue<Unsorted>,
    /// The packet that waits for its tokens, and since when it is at the head.
    head: Option<(Instant, Packet)>,
    /// Packets inside, by category.
    held: [usize; 4],
    /// Packets that have left, with their departures, in order.
    passed: VecDeque<(Instant, Packet)>,
    /// Packets dropped by the queue, with the time, until they are taken.
    dropped: VecDeque<(Instant, Dropped<Packet>)>,
    buffer: Vec<Dropped<Unsorted>>,
}

impl Shaper {
    /// An empty shaper with a full bucket.
    pub(crate) fn new(rate: BitRate, burst: ByteCount, queue: ShaperQueue) -> Self {
        Self {
            rate,
            depth: rate.time_for(burst),
            full: Instant::ZERO,
            queue: queue.0,
            head: None,
            held: [0; 4],
            passed: VecDeque::new(),
            dropped: VecDeque::new(),
            buffer: Vec::new(),
        }
    }

    /// Takes a packet that arrives at `now`. Call in the order of arrival.
    pub(crate) fn offer(&mut self, now: Instant, packet: Packet) {
        self.advance(now);
        self.held[packet.category.index()] += 1;
        self.queue.enqueue(now, Unsorted(packet), &mut self.buffer);
        self.settle_dropped(now);
        if self.head.is_none() {
            self.pull(now);
        }
    }

    /// Lets packets depart whose tokens suffice by `until`.
    pub(crate) fn advance(&mut self, until: Instant) {
        while let Some((departure, need)) = self.next_head()
            && departure <= until
            && let Some((_, packet)) = self.head.take()
        {
            self.full = self.full.max(departure) + need;
            self.held[packet.category.index()] = self.held[packet.category.index()].saturating_sub(1);
            self.passed.push_back((departure, packet));
            self.pull(departure);
        }
    }

    /// The departure of the packet at the head, and its tokens. It departs once the bucket holds them; a packet larger than the bucket
    /// departs with a full one, and the bucket then stays empty for longer.
    fn next_head(&self) -> Option<(Instant, Span)> {
        let (since, packet) = self.head.as_ref()?;
        let need = self.rate.time_for(packet.size());
        // Before the bucket is full, by the time that the spare tokens stand for.
        let filled = self.full + need.min(self.depth) - self.depth;
        Some((filled.max(*since), need))
    }

    /// Moves the next packet of the queue to the head.
    fn pull(&mut self, now: Instant) {
        while let Some(turn) = self.queue.select(now, Category::Be) {
            let mut one = One(None);
            self.queue.dequeue_into(now, &turn, &mut one, &mut self.buffer);
            let has_dropped = !self.buffer.is_empty();
            self.settle_dropped(now);
            if let Some(packet) = one.0 {
                self.head = Some((now, packet));
                return;
            }
            if !has_dropped {
                return;
            }
        }
    }

    fn settle_dropped(&mut self, now: Instant) {
        for Dropped { packet: Unsorted(packet), reason } in self.buffer.drain(..) {
            let held = &mut self.held[packet.category.index()];
            *held = held.saturating_sub(1);
            self.dropped.push_back((now, Dropped { packet, reason }));
        }
    }

    /// The next packet that has left, with its departure.
    pub(crate) fn take_passed(&mut self) -> Option<(Instant, Packet)> {
        self.passed.pop_front()
    }

    /// The next packet that its queue has dropped, with the time. Each is returned once.
    pub(crate) fn take_dropped(&mut self) -> Option<(Instant, Dropped<Packet>)> {
        self.dropped.pop_front()
    }

    /// The earliest possible departure of a packet of `category` inside; `None` if there is none.
    pub(crate) fn next_departure(&self, category: Category) -> Option<Instant> {
        let passed = self.passed.iter().find(|(_, packet)| packet.category == category).map(|(at, _)| *at);
        let waits = self.held[category.index()] > 0;
        passed.or_else(|| self.next_head().filter(|_| waits).map(|(at, _)| at))
    }

    /// Number of packets inside, those included that have been dropped but not taken.
    pub(crate) fn held(&self) -> usize {
        self.held.iter().sum::<usize>() + self.passed.len() + self.dropped.len()
    }
}

#[cfg(test)]
mod tests {
    use airbound_control::queue::{Fifo, FifoConfig, FqCodelConfig, Limits, QueueConfig};

    use super::*;
    use crate::packet::{Header, Kind};

    fn packet(number: u64, flow: u32, category: Category, bytes: u64) -> Packet {
        let header = Header { flow: FlowId(flow), to: StationId(1), category };
        Packet::new(header, number, Kind::Datagram, 0, ByteCount::new(bytes), Instant::ZERO)
    }

    const fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    /// 1250 B take 1 ms; a fifo with `packets` places.
    fn shaper(burst: u64, packets: usize) -> Shaper {
        let config = FifoConfig { limit: Limits { packets, bytes: None }, ..FifoConfig::default() };
        assert!(Fifo::<Unsorted>::new(config).is_ok());
        let queue = ShaperQueue::new(&QueueConfig::Fifo(config), 1).expect("valid");
        Shaper::new(BitRate::from_mbps(10), ByteCount::new(burst), queue)
    }

    fn departures(shaper: &mut Shaper, until: u64) -> Vec<(u64, u64)> {
        shaper.advance(at(until));
        std::iter::from_fn(|| shaper.take_passed())
            .map(|(at, packet)| (packet.number, at.as_nanos() / 1000))
            .collect()
    }

    #[test]
    fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
        let mut shaper = shaper(2500, 10);
        for number in 0..5 {
            shaper.offer(at(100), packet(number, 0, Category::Be, 1250));
        }
        assert_eq!(departures(&mut shaper, 100), [(0, 100), (1, 100)]);
        assert_eq!(shaper.next_departure(Category::Be), Some(at(1100)));
        assert_eq!(departures(&mut shaper, 9000), [(2, 1100), (3, 2100), (4, 3100)]);
        // Half of the bucket is full again after 1 ms: one more passes, the next waits for a whole packet's tokens.
        shaper.offer(at(4100), packet(5, 0, Category::Be, 1250));
        shaper.offer(at(4100), packet(6, 0, Category::Be, 1250));
        assert_eq!(departures(&mut shaper, 9000), [(5, 4100), (6, 5100)]);
    }

    #[test]
    fn a_packet_larger_than_the_bucket_passes_a_full_one_and_pays_later() {
        let mut shaper = shaper(0, 10);
        for number in 0..3 {
            shaper.offer(at(0), packet(number, 0, Category::Be, 1250));
        }
        assert_eq!(departures(&mut shaper, 9000), [(0, 0), (1, 1000), (2, 2000)]);
    }

    #[test]
    fn a_full_queue_drops_and_every_packet_is_counted() {
        let mut shaper = shaper(1250, 2);
        for number in 0..6 {
            shaper.offer(at(0), packet(number, 0, Category::Be, 1250));
        }
        // One has passed, one waits at the bucket, two in the queue; two are dropped.
        assert_eq!(shaper.held(), 6);
        let lost: Vec<_> =
            std::iter::from_fn(|| shaper.take_dropped()).map(|(_, lost)| lost.packet.number).collect();
        assert_eq!(lost, [4, 5]);
        assert_eq!(departures(&mut shaper, 9000), [(0, 0), (1, 1000), (2, 2000), (3, 3000)]);
        assert_eq!(shaper.held(), 0);
    }

    #[test]
    fn categories_share_the_bucket_and_each_knows_whether_it_waits() {
        let mut shaper = shaper(1250, 9);
        shaper.offer(at(0), packet(0, 0, Category::Be, 1250));
        shaper.offer(at(0), packet(1, 0, Category::Vo, 1250));
        assert_eq!(shaper.next_departure(Category::Be), Some(at(0)));
        assert_eq!(shaper.next_departure(Category::Vo), Some(at(1000)));
        assert_eq!(shaper.next_departure(Category::Vi), None);
    }

    #[test]
    fn fq_codel_lets_a_sparse_flow_pass_the_bulk() {
        let queue = ShaperQueue::new(&QueueConfig::FqCodel(FqCodelConfig::default()), 1).expect("valid");
        let mut shaper = Shaper::new(BitRate::from_mbps(10), ByteCount::new(1250), queue);
        for number in 0..20 {
            shaper.offer(at(0), packet(number, 0, Category::Be, 1250));
        }
        shaper.offer(at(2500), packet(99, 1, Category::Be, 125));
        let order: Vec<u64> = departures(&mut shaper, 5000).into_iter().map(|(number, _)| number).collect();
        // 3 is at the bucket when the sparse packet comes.
        assert_eq!(order, [0, 1, 2, 3, 99, 4]);
    }
}

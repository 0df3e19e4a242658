//! Packets with numbers, and a queue that is watched.

use std::collections::BTreeMap;

pub(crate) use airbound_control::frame::PlainPacket as Packet;
use airbound_control::frame::{Dropped, FlowId, StationId};
use airbound_control::frame::{TxDescriptor, TxReport};
use airbound_control::queue::{
    AggregateBound, AnyQueue, Backlog, Demand, Direction, Eligibility, Queue, QueueConfig,
};
use airbound_units::ConfigError;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

/// A packet with a number.
pub(crate) fn packet(number: usize, flow: u32, station: u16, category: Category, size: u64) -> Packet {
    let size = ByteCount::new(size);
    Packet { number, category, size, ..Packet::new(StationId(station), FlowId(flow)) }
}

/// A queue that counts what it is told.
pub(crate) struct Watched {
    pub(crate) queue: AnyQueue<Packet>,
    /// Packets that wait in it, by category.
    pub(crate) waiting: [usize; 4],
    /// Estimates handed down and not returned.
    pub(crate) below: BTreeMap<(StationId, Category), Span>,
    pub(crate) throughput: BTreeMap<StationId, BitRate>,
}

impl Watched {
    pub(crate) fn new(config: &str) -> Self {
        let config: QueueConfig = toml::from_str(config).expect("a valid configuration");
        let queue = config.build(7).expect("values in range");
        Self { queue, waiting: [0; 4], below: BTreeMap::new(), throughput: BTreeMap::new() }
    }

    fn note_drops(&mut self, dropped: &[Dropped<Packet>]) {
        for Dropped { packet, .. } in dropped {
            self.waiting[packet.category.index()] -= 1;
        }
    }
}

impl Queue<Packet> for Watched {
    fn enqueue(&mut self, now: Instant, packet: Packet, dropped: &mut Vec<Dropped<Packet>>) {
        let before = dropped.len();
        self.waiting[packet.category.index()] += 1;
        self.queue.enqueue(now, packet, dropped);
        self.note_drops(&dropped[before..]);
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<StationId> {
        self.queue.select(now, category)
    }

    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<Packet>>,
    ) -> Option<Packet> {
        let before = dropped.len();
        let packet = self.queue.dequeue(now, station, category, dropped);
        self.waiting[category.index()] -= usize::from(packet.is_some());
        self.note_drops(&dropped[before..]);
        packet
    }

    fn next_size(&mut self, station: StationId, category: Category) -> Option<ByteCount> {
        self.queue.next_size(station, category)
    }

    fn oldest(&mut self, category: Category) -> Option<Instant> {
        self.queue.oldest(category)
    }

    fn has_backlog(&self, category: Category) -> bool {
        self.queue.has_backlog(category)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn aggregate_bound(&self, now: Instant, station: StationId, category: Category) -> AggregateBound {
        self.queue.aggregate_bound(now, station, category)
    }

    fn set_eligibility(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        eligibility: Eligibility,
    ) {
        self.queue.set_eligibility(now, station, category, eligibility);
    }

    fn counts_below(&self) -> bool {
        self.queue.counts_below()
    }

    fn on_handed(&mut self, now: Instant, station: StationId, category: Category, estimated: Span) {
        *self.below.entry((station, category)).or_default() += estimated;
        self.queue.on_handed(now, station, category, estimated);
    }

    fn on_returned(&mut self, now: Instant, station: StationId, category: Category, estimated: Span) {
        let below = self.below.entry((station, category)).or_default();
        assert!(estimated <= *below, "{estimated} returned, {below} handed down");
        *below -= estimated;
        self.queue.on_returned(now, station, category, estimated);
    }

    fn on_airtime(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        airtime: Span,
        direction: Direction,
    ) {
        self.queue.on_airtime(now, station, category, airtime, direction);
    }

    fn on_expected_throughput(&mut self, now: Instant, station: StationId, throughput: BitRate) {
        self.throughput.insert(station, throughput);
        self.queue.on_expected_throughput(now, station, throughput);
    }

    fn on_rate(&mut self, now: Instant, station: StationId, rate: BitRate, mpdus: u16) {
        self.queue.on_rate(now, station, rate, mpdus);
    }

    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.queue.on_channel(now, busy, own);
    }

    fn channel_deadline(&self) -> Option<Instant> {
        self.queue.channel_deadline()
    }

    fn expect_lower_queue(&mut self) {
        Queue::<Packet>::expect_lower_queue(&mut self.queue);
    }

    fn on_granted(&mut self, now: Instant, descriptor: &TxDescriptor<Packet>) {
        self.queue.on_granted(now, descriptor);
    }

    fn on_report(&mut self, now: Instant, report: &TxReport<Packet>) {
        self.queue.on_report(now, report);
    }

    fn set_demand(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) -> Result<(), ConfigError> {
        self.queue.set_demand(now, flow, demand)
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.queue.next_deadline()
    }
}

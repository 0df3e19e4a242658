//! Numbered packets, and a queue that records its calls.

use std::collections::BTreeMap;

pub(crate) use airbound_control::frame::PlainPacket as Packet;
use airbound_control::frame::{Dropped, FlowId, StationId};
use airbound_control::queue::{AnyQueue, Backlogs, Deadline, Fact, Queue, QueueConfig, Sink, Turn};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

/// A packet with a number.
pub(crate) fn packet(number: usize, flow: u32, station: u16, category: Category, size: u64) -> Packet {
    let size = ByteCount::new(size);
    Packet { number, category, size, ..Packet::new(StationId(station), FlowId(flow)) }
}

/// A queue that records the facts reported to it.
pub(crate) struct Watched {
    pub(crate) queue: AnyQueue<Packet>,
    /// Packets that wait in it, by category.
    pub(crate) waiting: [usize; 4],
    /// Estimates handed down and not returned.
    pub(crate) below: BTreeMap<(StationId, Category), Span>,
    pub(crate) throughput: BTreeMap<StationId, BitRate>,
}

impl Watched {
    fn note_returned(&mut self, packet: &Packet) {
        let below = self.below.entry((packet.station, packet.category)).or_default();
        assert!(packet.estimate <= *below, "{} returned, {below} handed down", packet.estimate);
        *below -= packet.estimate;
    }

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

/// A sink that records the packets that it passes on.
struct Noted<'a, S> {
    sink: &'a mut S,
    taken: usize,
    below: Span,
}

impl<S: Sink<Packet>> Sink<Packet> for Noted<'_, S> {
    fn has_room(&mut self, size: impl FnOnce() -> Option<ByteCount>) -> bool {
        self.sink.has_room(size)
    }

    fn put(&mut self, packet: Packet) -> Result<Option<Span>, Packet> {
        let estimate = self.sink.put(packet)?;
        self.taken += 1;
        self.below += estimate.unwrap_or_default();
        Ok(estimate)
    }
}

impl Queue<Packet> for Watched {
    fn enqueue(&mut self, now: Instant, packet: Packet, dropped: &mut Vec<Dropped<Packet>>) {
        let before = dropped.len();
        self.waiting[packet.category.index()] += 1;
        self.queue.enqueue(now, packet, dropped);
        self.note_drops(&dropped[before..]);
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        self.queue.select(now, category)
    }

    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<Packet>,
        dropped: &mut Vec<Dropped<Packet>>,
    ) {
        let before = dropped.len();
        let mut noted = Noted { sink, taken: 0, below: Span::ZERO };
        self.queue.dequeue_into(now, turn, &mut noted, dropped);
        self.waiting[turn.category.index()] -= noted.taken;
        *self.below.entry((turn.station, turn.category)).or_default() += noted.below;
        self.note_drops(&dropped[before..]);
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<Packet>) {
        self.queue.flush(station, out);
    }

    fn backlog(&self) -> &Backlogs {
        self.queue.backlog()
    }

    fn oldest(&mut self, category: Category) -> Option<Instant> {
        self.queue.oldest(category)
    }

    fn on(&mut self, now: Instant, fact: Fact<'_, Packet>) {
        match &fact {
            Fact::Handed(packet) => {
                *self.below.entry((packet.station, packet.category)).or_default() += packet.estimate;
            }
            Fact::Dropped(packet) => self.note_returned(packet),
            Fact::Reported(report) => report.arrived().for_each(|mpdu| self.note_returned(&mpdu.packet)),
            Fact::Throughput { station, throughput } => {
                self.throughput.insert(*station, *throughput);
            }
            _ => {}
        }
        self.queue.on(now, fact);
    }

    fn deadline(&self) -> Deadline {
        self.queue.deadline()
    }
}

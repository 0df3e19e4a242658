use super::super::test_packet::{Special, packet};
use super::*;
use crate::frame::{FlowId, PlainPacket};

const BE: Category = Category::Be;
const FAST: BitRate = BitRate::from_mbps(65);

fn millis(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// A queue whose stations 0 to 2 are reached at `FAST`.
fn queue(config: WqmConfig) -> Wqm<PlainPacket> {
    let mut queue = Wqm::new(config).expect("valid");
    for station in 0..3 {
        queue.on_rate(StationId(station), FAST, 21);
    }
    queue
}

fn config() -> WqmConfig {
    WqmConfig { subframes: 10, ..WqmConfig::default() }
}

/// Enqueues packets of 1500 B; returns the number of dropped ones.
fn offer(queue: &mut Wqm<PlainPacket>, at: Instant, station: u16, count: usize) -> usize {
    let mut dropped = Vec::new();
    for _ in 0..count {
        queue.enqueue(at, packet(station, u32::from(station)), &mut dropped);
    }
    dropped.len()
}

fn size(queue: &Wqm<PlainPacket>) -> usize {
    queue.buffer_size(BE).packets()
}

#[test]
fn the_buffer_takes_as_many_as_it_is_large() {
    let mut queue = queue(config());
    // 65 Mb/s x (438 + 1892.9 + 48 us) are 12.9 packets.
    assert_eq!(offer(&mut queue, millis(0), 0, 20), 8);
    assert_eq!((queue.backlog().total().packets, size(&queue)), (12, 12));
    // Other categories have their own size.
    let mut dropped = Vec::new();
    queue.enqueue(millis(0), packet(0, 0).of_category(Category::Vo), &mut dropped);
    assert!(dropped.is_empty());
}

#[test]
fn a_backlog_shrinks_the_buffer_at_the_second_update() {
    let mut queue = queue(WqmConfig { subframes: 5, ..WqmConfig::default() });
    offer(&mut queue, millis(0), 0, 1);
    queue.dequeue(millis(1), StationId(0), BE, &mut Vec::new());
    // A minute of silence lets it grow to B_max.
    assert_eq!(offer(&mut queue, millis(60_000), 0, 100), 5);
    assert_eq!((queue.backlog().total().packets, size(&queue)), (95, 95));
    assert_eq!(queue.deadline().channel_load, Some(millis(60_100)));
    // Before the interval ends nothing happens; 95 packets take 17.5 ms.
    queue.on_channel(millis(60_099), Some(0.5), Some(0.5));
    assert_eq!(size(&queue), 95);
    for (at, expected) in [(60_100, 95), (60_200, 48), (60_300, 24), (60_400, 12), (60_500, 6), (60_600, 5)] {
        queue.on_channel(millis(at), Some(0.9), Some(0.9));
        assert_eq!(size(&queue), expected, "{at}");
    }
    // Waiting packets stay; none is admitted.
    assert_eq!((offer(&mut queue, millis(60_650), 0, 1), queue.backlog().total().packets), (1, 95));
    let mut left = 0;
    while queue.next_station(millis(60_650), BE) == Some(StationId(0)) {
        left += usize::from(queue.dequeue(millis(60_650), StationId(0), BE, &mut Vec::new()).is_some());
    }
    assert_eq!((left, queue.deadline().channel_load), (95, None));
}

#[test]
fn own_airtime_does_not_count_against_us_unless_taken_literally() {
    for (free_share, own, expected) in [
        (FreeShare::Others, Some(0.9), Some(1.0)),
        (FreeShare::Others, Some(0.3), Some(0.4)),
        (FreeShare::Literal, Some(0.9), Some(0.1)),
        // Unknown: literal. More than busy: nothing is left to others.
        (FreeShare::Others, None, Some(0.1)),
        (FreeShare::Others, Some(f64::NAN), Some(0.1)),
        (FreeShare::Others, Some(7.0), Some(1.0)),
    ] {
        let queue = queue(WqmConfig { free_share, ..config() });
        let free = queue.free_share(Some(0.9), own);
        assert!(free.zip(expected).is_some_and(|(a, b)| (a - b).abs() < 1e-12), "{own:?}: {free:?}");
    }
    assert_eq!(queue(config()).free_share(None, Some(0.5)), None);
    assert_eq!(queue(config()).free_share(Some(f64::NAN), None), None);
}

#[test]
fn stations_count_by_what_waits_for_them() {
    let mut queue = queue(config());
    queue.on_rate(StationId(1), BitRate::from_kbps(6500), 1);
    offer(&mut queue, millis(0), 0, 9);
    offer(&mut queue, millis(0), 1, 3);
    let seen = queue.observe(BE);
    // 13500 B at 65 and 4500 B at 6.5 Mb/s: 1661.5 + 5538.5 us for 18000 B.
    assert_eq!((seen.backlog, seen.subframes), (ByteCount::new(18_000), Some(21)));
    let mbps = seen.rate.expect("known").as_mbps_f64();
    assert!((mbps - 20.0).abs() < 1e-3, "{mbps}");
    // A station with unknown rate does not count in the mean.
    offer(&mut queue, millis(0), 9, 1);
    assert_eq!(queue.observe(BE).rate, seen.rate);
    queue.on_rate(StationId(0), BitRate::ZERO, 1);
    assert_eq!(queue.observe(BE).rate, Some(BitRate::ZERO));
}

#[test]
fn without_rates_nothing_changes() {
    let mut queue = Wqm::new(config()).expect("valid");
    assert_eq!(offer(&mut queue, millis(0), 0, 100), 5);
    for tick in 1..20 {
        queue.on_channel(millis(100 * tick), Some(1.0), Some(0.0));
        assert_eq!(size(&queue), 95);
    }
}

#[test]
fn without_channel_load_other_calls_make_the_updates() {
    let mut queue = queue(config());
    offer(&mut queue, millis(0), 0, 20);
    assert_eq!(queue.deadline().select, Some(millis(100)));
    // 12 packets take 2.2 ms: below the limit.
    queue.next_station(millis(100), BE);
    queue.next_station(millis(200), BE);
    assert_eq!((size(&queue), queue.deadline().select), (13, Some(millis(300))));
    // With reported channel load, an update waits for the report, but not for ever.
    queue.on_channel(millis(300), Some(0.0), Some(0.0));
    assert_eq!(
        (queue.deadline().channel_load, queue.deadline().select),
        (Some(millis(400)), Some(millis(500)))
    );
    queue.next_station(millis(499), BE);
    assert_eq!((size(&queue), queue.deadline().channel_load), (14, Some(millis(400))));
    queue.next_station(millis(500), BE);
    assert_eq!((size(&queue), queue.deadline().channel_load), (15, Some(millis(600))));
}

#[test]
fn a_selective_drop_takes_the_oldest_of_the_longest_flow() {
    let mut queue = queue(WqmConfig { drop: DropRule::Selective, ..config() });
    let mut dropped = Vec::new();
    let mut send = |queue: &mut Wqm<PlainPacket>, flow, number| {
        queue.enqueue(millis(0), PlainPacket { number, ..packet(0, flow) }, &mut dropped);
        dropped.drain(..).map(|drop| drop.packet.number).collect::<Vec<_>>()
    };
    for number in 0..12 {
        // Flow 2 has eight of twelve: 1, 2, 4, 5, 7, 8, 10, 11.
        assert!(send(&mut queue, if number % 3 == 0 { 1 } else { 2 }, number).is_empty());
    }
    assert_eq!(send(&mut queue, 1, 12), [1]);
    assert_eq!(send(&mut queue, 3, 13), [2]);
    assert_eq!(send(&mut queue, 3, 14), [4]);
    // Five of flow 2, five of flow 1: the lower number on a tie.
    assert_eq!(send(&mut queue, 3, 15), [0]);
    let mut left = Vec::new();
    while let Some(packet) = queue.dequeue(millis(0), StationId(0), BE, &mut Vec::new()) {
        left.push(packet.number);
    }
    assert_eq!(left, [3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
}

/// A super-packet of segmentation offload.
#[derive(Debug, Clone)]
struct Merged {
    packet: PlainPacket,
    frames: u16,
}

impl Payload for Merged {
    fn flow(&self) -> FlowId {
        self.packet.flow()
    }
    fn station(&self) -> StationId {
        self.packet.station()
    }
    fn category(&self) -> Category {
        self.packet.category()
    }
    fn size(&self) -> ByteCount {
        self.packet.size()
    }
    fn frames(&self) -> u16 {
        self.frames
    }
    fn enqueued(&self) -> Instant {
        self.packet.enqueued()
    }
    fn set_enqueued(&mut self, now: Instant) {
        self.packet.set_enqueued(now);
    }
    fn airtime_estimate(&self) -> Span {
        self.packet.airtime_estimate()
    }
    fn set_airtime_estimate(&mut self, estimate: Span) {
        self.packet.set_airtime_estimate(estimate);
    }
}

#[test]
fn a_super_packet_fills_the_buffer_as_its_frames_do() {
    let mut queue: Wqm<Merged> = Wqm::new(config()).expect("valid");
    queue.on_rate(StationId(0), FAST, 21);
    let mut dropped = Vec::new();
    let mut offer = |queue: &mut Wqm<Merged>, frames| {
        queue.enqueue(millis(0), Merged { packet: packet(0, 0), frames }, &mut dropped);
        std::mem::take(&mut dropped).len()
    };
    // The size is 12 packets. An empty buffer takes one of any size.
    assert_eq!([40, 1].map(|frames| offer(&mut queue, frames)), [0, 1]);
    assert!(queue.dequeue(millis(0), StationId(0), BE, &mut Vec::new()).is_some());
    assert_eq!([5, 5, 3, 2, 1].map(|frames| offer(&mut queue, frames)), [0, 0, 1, 0, 1]);
    let mut out = Vec::new();
    queue.flush(StationId(0), &mut out);
    assert_eq!(out.len(), 3);
    assert_eq!([6, 6, 1].map(|frames| offer(&mut queue, frames)), [0, 0, 1]);
}

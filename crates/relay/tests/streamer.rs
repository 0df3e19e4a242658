//! A sender with a rate control of its own, that of the library, behind the relay: two controllers in series.

use crate::world::{Air, Way, World};
use airbound_relay::protocol::EdgeConfig;
use airbound_senders::allocation::{ReceiverId, Stamps};
use airbound_senders::stream::{Arrival, ReceiverConfig, StreamConfig, StreamReceiver, StreamSender};
use airbound_units::{BitRate, ByteCount, Instant, Span};

/// Payload of a packet in bytes.
const PACKET: usize = 1172;
/// Frames a second.
const FPS: u64 = 500;

/// The library's sender at the backend, and a receiver at each station.
struct Streamer {
    sender: StreamSender,
    receivers: Vec<StreamReceiver>,
    next_frame: Instant,
    next_allowed: Vec<Instant>,
    sequence: Vec<u64>,
}

impl Streamer {
    fn new(world: &World, phy: &[u64], start: u64) -> Self {
        let config = StreamConfig {
            receivers: phy.len() as u16,
            start: BitRate::from_bps(start * 1_000_000 / phy.len() as u64),
            frame_interval: Span::from_nanos(1_000_000_000 / FPS),
            packet: ByteCount::new(PACKET as u64),
            spread: 1.0,
            encoder_share: 0.95,
            ..StreamConfig::default()
        };
        let mut sender = StreamSender::new(config).expect("a valid configuration");
        let mut receivers = Vec::new();
        for (place, rate) in phy.iter().enumerate() {
            let receiver = ReceiverId(place as u16);
            sender.join(world.now, receiver, [0; 16]).expect("room");
            let config = ReceiverConfig { receiver, stamps: Stamps::Jittered, ..ReceiverConfig::default() };
            let mut receiver = StreamReceiver::new(config).expect("a valid configuration");
            receiver.phy_rate(Some(BitRate::from_mbps(*rate))).expect("in range");
            receivers.push(receiver);
        }
        let next_allowed = vec![world.now; phy.len()];
        Self { sender, receivers, next_frame: world.now, next_allowed, sequence: vec![0; phy.len()] }
    }

    /// Sends what is due, and takes what has arrived.
    fn turn(&mut self, world: &mut World) {
        let now = world.now;
        let is_frame = now >= self.next_frame;
        if is_frame {
            self.next_frame += Span::from_nanos(1_000_000_000 / FPS);
        }
        for place in 0..self.receivers.len() {
            let id = ReceiverId(place as u16);
            let decision = self.sender.poll(id, now).expect("joined");
            if is_frame {
                let bytes = decision.encoder.bytes_in(Span::from_nanos(1_000_000_000 / FPS)).as_u64();
                let packets = bytes.div_ceil(PACKET as u64).max(1);
                let bytes = ByteCount::new(packets * PACKET as u64);
                self.sender.frame(id, now, bytes, packets as u32, None).expect("room");
                self.next_allowed[place] = now;
            }
            if now >= self.next_allowed[place] {
                let allowed = self.sender.allowed(id, now).expect("joined");
                for _ in 0..allowed.packets {
                    let mut datagram = [0; PACKET];
                    datagram[..8].copy_from_slice(&self.sequence[place].to_be_bytes());
                    self.sequence[place] += 1;
                    world.down(place, &datagram);
                    self.sender.sent(id, now, 1, ByteCount::new(PACKET as u64)).expect("joined");
                }
                self.next_allowed[place] = allowed.next.unwrap_or(Instant::MAX);
            }
        }
        for received in world.received.replace(Vec::new()).unwrap_or_default() {
            if received.is_up {
                let _ = self.sender.report(now, &received.datagram);
                self.next_allowed[received.place] = now;
            } else {
                let number = std::array::from_fn(|at| received.datagram[at]);
                let arrival = Arrival {
                    stamp: received.at,
                    sequence: u64::from_be_bytes(number),
                    packets: 1,
                    payload: ByteCount::new(received.datagram.len() as u64),
                    companion: false,
                };
                self.receivers[received.place].arrived(now, None, [arrival]).expect("in range");
            }
        }
        for place in 0..self.receivers.len() {
            if let Some(message) = self.receivers[place].poll(now) {
                world.up(place, &message);
            }
        }
    }

    fn run(&mut self, world: &mut World, span: Span) {
        let end = world.now + span;
        while world.now < end {
            self.turn(world);
            let packets = self.next_allowed.iter().fold(self.next_frame, |next, at| next.min(*at));
            let step = packets.since(world.now).min(Span::from_micros(100)).max(Span::from_micros(5));
            world.run(step);
        }
    }
}

/// Sends to so many stations, after sessions without a datagram, with `start` Mb/s for all together. Returns packets sent, packets
/// dropped at the edge.
fn stream(count: usize, start: u64, config: EdgeConfig, span: Span) -> (u64, u64) {
    let phy = vec![702; count];
    let mut world = World::with(count, Way { air: Some(Air::new(&phy)), ..Way::default() }, 3, config);
    // Longer than a start of the allocation.
    world.run(Span::from_secs(3));
    assert!((0..count).all(|place| world.joined(place)));
    world.received = Some(Vec::new());
    let mut streamer = Streamer::new(&world, &phy, start);
    streamer.run(&mut world, span);
    let dropped = (0..count).map(|place| world.row(place).dropped).sum();
    (streamer.sequence.iter().sum(), dropped)
}

#[test]
fn a_sender_that_probes_for_its_rate_loses_nothing_at_the_edge() {
    for count in [5, 10, 20] {
        let (sent, dropped) = stream(count, 20, EdgeConfig::default(), Span::from_secs(4));
        assert_eq!(dropped, 0, "of {sent} to {count} stations");
        // 400 Mb/s or more in the second half.
        assert!(sent > 80_000, "{sent} to {count} stations");
    }
}

#[test]
fn one_station_is_sent_what_the_air_carries_after_a_silent_start() {
    let (sent, dropped) = stream(1, 5, EdgeConfig::default(), Span::from_secs(4));
    assert_eq!(dropped, 0, "of {sent}");
    // 200 Mb/s on average.
    assert!(sent > 85_000, "{sent}");
}

#[test]
fn an_edge_that_rises_no_faster_than_the_sender_drops_packets() {
    let mut config = EdgeConfig::default();
    config.stream.headroom = 1.5;
    let (sent, dropped) = stream(5, 20, config, Span::from_secs(2));
    assert!(dropped > 100, "{dropped} of {sent}");
}

//! Law and a classic link in one category, under any order of reports: packets are conserved, the hardware holds at most its limit,
//! and a flow's packets arrive in order although it changes sides.

use std::collections::BTreeMap;

use crate::link_parts::{Packet, Watched, packet};
use airbound_control::classify::Verdict;
use airbound_control::frame::{Dropped, FlowId, StationId};
use airbound_control::frame::{TxDescriptor, TxReport};
use airbound_control::link::law::Classic;
use airbound_control::link::{BesideClassic, Composed, Law, LawConfig, Link, LinkConfig, Returned, Room};
use airbound_control::queue::AnyQueue;
use airbound_control::rate::{AnyRate, Capabilities, RateConfig};
use airbound_units::{Instant, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use proptest::prelude::*;

type Queue = AnyQueue<Packet>;
type Stock = Composed<Packet, Watched, Queue, AnyRate>;

/// A flow that keeps `inside` packets in the link while it is greedy, and sends one packet now and then otherwise.
#[derive(Debug, Clone, Copy)]
struct Source {
    flow: u32,
    station: u16,
    category: Category,
    inside: usize,
}

/// The receiver's side of a block-ack agreement.
#[derive(Default)]
struct Receiver {
    next: u64,
    early: BTreeMap<u64, Packet>,
}

struct World {
    link: BesideClassic<Packet, Watched, Stock>,
    now: Instant,
    draws: u64,
    sent: usize,
    delivered: usize,
    dropped: usize,
    inside: BTreeMap<u32, usize>,
    out: Vec<TxDescriptor<Packet>>,
    receivers: BTreeMap<(StationId, Category, bool), Receiver>,
    /// One above the number of the last packet of each flow that arrived.
    arrived: BTreeMap<u32, usize>,
    /// Number of PSDUs by side.
    granted: [usize; 2],
    loss: u64,
}

impl World {
    fn new((seed, loss): (u64, u64), least_rate: &str, mpdus: u32, inner: &str, stock: &str) -> Self {
        let bulk =
            format!("least-rate = \"{least_rate}\"\ntrial = \"2 s\"\npause = \"1 s\"\nmost-loss = 1.0");
        let config = LawConfig {
            classic: Classic::Bulk(toml::from_str(&bulk).expect("valid")),
            ..LawConfig::default()
        };
        let path =
            LinkConfig { ampdu: AmpduLimits { max_mpdus: mpdus, ..AmpduLimits::ht() }, ..Default::default() };
        let capabilities = Capabilities::default();
        let rate = RateConfig::default().build(&capabilities, 1).expect("valid");
        let stock = Composed::new(Watched::new(stock), None, rate, config.path_beside(path.clone()));
        let law = Law::new(config, path, Watched::new(inner), &capabilities).expect("valid");
        Self {
            link: BesideClassic::new(law, stock).expect("valid"),
            now: Instant::ZERO,
            draws: seed | 1,
            sent: 0,
            delivered: 0,
            dropped: 0,
            inside: BTreeMap::new(),
            out: Vec::new(),
            receivers: BTreeMap::new(),
            arrived: BTreeMap::new(),
            granted: [0; 2],
            loss,
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        (self.draws >> 11) % below.max(1)
    }

    fn check(&mut self, dropped: Vec<Dropped<Packet>>) {
        for Dropped { packet, .. } in dropped {
            self.gone(&packet);
            self.dropped += 1;
        }
        let flying: usize = self.out.iter().map(|descriptor| descriptor.mpdus.len()).sum();
        let early: usize = self.receivers.values().map(|receiver| receiver.early.len()).sum();
        let inside = self.link.backlog().packets;
        assert_eq!(self.delivered + self.dropped + inside + flying + early, self.sent, "conservation");
        assert!(self.out.len() <= 2);
    }

    fn gone(&mut self, packet: &Packet) {
        let inside = self.inside.entry(packet.flow.0).or_default();
        *inside = inside.checked_sub(1).expect("each packet leaves once");
    }

    fn enqueue(&mut self, source: Source) {
        let packet = packet(self.sent, source.flow, source.station, source.category, 1200);
        self.sent += 1;
        *self.inside.entry(source.flow).or_default() += 1;
        let mut dropped = Vec::new();
        self.link.enqueue(self.now, packet, &mut dropped);
        self.check(dropped);
    }

    fn fill(&mut self) {
        for category in Category::ALL {
            let mut dropped = Vec::new();
            let room = Room { category, max_duration: Span::from_micros(5484) };
            if let Some(descriptor) = self.link.next(self.now, room, &mut dropped) {
                assert!(descriptor.give_up_after.is_some_and(|limit| limit <= Span::from_millis(3)));
                self.granted[usize::from(descriptor.alternate)] += 1;
                self.out.push(descriptor);
            }
            self.check(dropped);
        }
    }

    fn arrive(&mut self, packet: &Packet) {
        self.delivered += 1;
        self.gone(packet);
        let behind = self.arrived.insert(packet.flow.0, packet.number + 1).unwrap_or(0);
        assert!(
            packet.number >= behind,
            "{} of flow {} came after its successor",
            packet.number,
            packet.flow.0
        );
    }

    /// The hardware reports one of its descriptors.
    fn report(&mut self) {
        if self.out.is_empty() {
            return;
        }
        let which = self.draw(self.out.len() as u64) as usize;
        let descriptor = self.out.remove(which);
        let agreement = (descriptor.station, descriptor.category, descriptor.alternate);
        let mut acknowledged = AckBitmap::NONE;
        for (place, mpdu) in descriptor.mpdus.iter().enumerate() {
            if self.draw(16) >= self.loss {
                acknowledged.set(place);
                let receiver = self.receivers.entry(agreement).or_default();
                assert!(mpdu.sequence >= receiver.next, "beyond the window");
                assert!(receiver.early.insert(mpdu.sequence, mpdu.packet.clone()).is_none());
            }
        }
        let report = TxReport {
            used: descriptor.chain,
            handed: self.now - Span::from_millis(1),
            started: None,
            ended: self.now,
            airtime: Some(Span::from_millis(1)),
            acknowledged,
            boundaries_known: true,
            descriptor,
        };
        let mut returned = Returned::default();
        self.link.on_report(self.now, report, &mut returned);
        self.out.extend(returned.retry_now);
        for (mpdu, _) in returned.dropped {
            self.gone(&mpdu.packet);
            self.dropped += 1;
        }
        self.deliver(agreement, returned.window_start);
        self.check(Vec::new());
    }

    /// A receiver delivers packets in order, and those below the window of its sender.
    fn deliver(&mut self, agreement: (StationId, Category, bool), window_start: Option<u64>) {
        loop {
            let receiver = self.receivers.entry(agreement).or_default();
            let Some((&first, _)) = receiver.early.first_key_value() else { break };
            if first > receiver.next && window_start.is_none_or(|start| first >= start) {
                break;
            }
            receiver.next = first + 1;
            if let Some((_, packet)) = receiver.early.pop_first() {
                self.arrive(&packet);
            }
        }
        let receiver = self.receivers.entry(agreement).or_default();
        receiver.next = receiver.next.max(window_start.unwrap_or(0));
        if receiver.early.first_key_value().is_some_and(|(first, _)| *first == receiver.next) {
            self.deliver(agreement, None);
        }
    }

    /// Runs for `millis` milliseconds. Every three seconds the greedy flows are drawn again.
    fn run(&mut self, sources: &[Source], millis: u64) {
        let mut greedy = u64::MAX;
        for step in 0..millis {
            if step % 3000 == 2999 {
                greedy = self.draw(1 << sources.len());
            }
            for (place, source) in sources.iter().enumerate() {
                let most = if greedy >> place & 1 == 1 { source.inside } else { 1 };
                let rare = most > 1 || self.draw(4) == 0;
                let inside = self.inside.get(&source.flow).copied().unwrap_or(0);
                // Packets refused by a full queue are not sent again.
                for _ in 0..most.saturating_sub(inside) * usize::from(rare) {
                    self.enqueue(*source);
                }
            }
            self.fill();
            if self.draw(3) > 0 {
                self.report();
            }
            self.fill();
            self.now += Span::from_millis(1);
        }
    }
}

fn source() -> impl Strategy<Value = Source> {
    (1..3u16, prop::sample::select(vec![Category::Be, Category::Be, Category::Vi]), 1..60usize)
        .prop_map(|(station, category, inside)| Source { flow: 0, station, category, inside })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn packets_are_conserved_and_each_flow_keeps_its_order(
        seed in any::<u64>(),
        loss in 0..12u64,
        mpdus in prop::sample::select(vec![1u32, 16, 64]),
        inner in prop::sample::select(vec!["kind = \"fifo\"", "kind = \"linux\"", "kind = \"last-pq\""]),
        stock in prop::sample::select(vec!["kind = \"linux\"", "kind = \"fifo\"\nlimit = { packets = 40 }"]),
        mut sources in prop::collection::vec(source(), 1..5),
    ) {
        for (flow, source) in sources.iter_mut().enumerate() {
            source.flow = flow as u32;
        }
        World::new((seed, loss), "100 kbit/s", mpdus, inner, stock).run(&sources, 10_000);
    }
}

#[test]
fn a_flow_goes_over_and_comes_back() {
    let source = |flow, inside| Source { flow, station: 1, category: Category::Be, inside };
    let (bulk, sparse) = (source(0, 40), source(1, 1));
    let mut world = World::new((7, 2), "3 Mbit/s", 1, "kind = \"fifo\"", "kind = \"linux\"");
    let verdict = |world: &World, flow| {
        world.link.verdicts().find(|(one, _)| *one == FlowId(flow)).map(|(_, held)| held)
    };
    world.run(&[bulk, sparse], 2000);
    assert_eq!((world.granted[1], verdict(&world, 0)), (0, Some(Verdict::Watched)));
    world.run(&[bulk, sparse], 2500);
    assert_eq!((verdict(&world, 0), verdict(&world, 1)), (Some(Verdict::Bulk), Some(Verdict::Watched)));
    // Neither link starves: a PSDU of the sparse flow whenever it has one.
    let [law, classic] = world.granted;
    assert!(law > 200 && classic > 200, "{law} {classic}");
    // It has only a packet now and then to send.
    world.run(&[source(0, 1), sparse], 2900);
    assert_eq!(verdict(&world, 0), Some(Verdict::Watched));
    let classic = world.granted[1];
    world.run(&[source(0, 1), sparse], 500);
    assert_eq!(world.granted[1], classic);
}

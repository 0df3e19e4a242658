//! The invariant of Law, over a small model of hardware: for any channel and load, no packet is delivered later than Limit_q + 2 Limit_h
//! and one frame exchange after it entered the driver queue. That holds beside a classic link in the same categories too.

// The watched queue is not used here.
#[allow(dead_code)]
use std::collections::VecDeque;

use crate::link_parts::{Packet, packet};
use airbound_control::frame::FlowId;
use airbound_control::frame::{TxDescriptor, TxReport};
use airbound_control::link::law::Classic;
use airbound_control::link::{BesideClassic, Composed, Law, LawConfig, Link, LinkConfig, Returned, Room};
use airbound_control::queue::{AnyQueue, Demand, QueueConfig};
use airbound_control::rate::{Capabilities, RateConfig};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::{Format, Width};
use airbound_wifi::timing::ppdu_duration;
use proptest::prelude::*;

/// SIFS and a block ack at 6 Mbit/s.
const AFTER_PPDU: Span = Span::from_micros(84);

/// A world: channel and load.
#[derive(Debug, Clone)]
struct World {
    seed: u64,
    law: LawConfig,
    queue: &'static str,
    max_mpdus: u32,
    categories: u64,
    stations: u64,
    /// Whether flow 0 sends only every eighth packet.
    has_mouse: bool,
    /// Mean time between packets.
    gap: Span,
    /// Share of lost MPDUs, by phase of 50 ms, in sixteenths.
    loss: [u64; 8],
    /// Longest backoff of a try, and longest use of the channel by others between two tries.
    backoff: Span,
    others: Span,
}

struct Held {
    descriptor: TxDescriptor<Packet>,
    contending: Option<Instant>,
    tries: u32,
    /// Earliest time of the next transmission.
    ready: Instant,
}

struct Model {
    world: World,
    link: Box<dyn Link<Packet>>,
    now: Instant,
    hardware: [VecDeque<Held>; 4],
    /// Category, end and received MPDUs of the PPDU on the air.
    on_air: Option<(usize, Instant, AckBitmap)>,
    free: Instant,
    draws: u64,
    delivered: usize,
    /// Packets of these sent by the classic link.
    classic: usize,
    dropped: usize,
    given_up_unsent: usize,
    /// The longest time from entering the queue to delivery, and the excess over the bound and an exchange.
    longest: Span,
    excess: Span,
}

impl Model {
    fn new(world: World) -> Self {
        let queue: QueueConfig = toml::from_str(world.queue).expect("valid");
        let path = LinkConfig {
            ampdu: AmpduLimits { max_mpdus: world.max_mpdus, ..AmpduLimits::ht() },
            overhead: ByteCount::new(38),
            first_subframe_padding: ByteCount::ZERO,
            window: 64,
            max_grants: 1,
            ..LinkConfig::default()
        };
        let capabilities = Capabilities {
            format: Format::Ht,
            width: Width::Mhz20,
            max_streams: 1,
            ..Capabilities::default()
        };
        let mut order: AnyQueue<Packet> = queue.build(3).expect("valid");
        if let Some(demands) = order.demands_mut() {
            let demand = Demand::new(Span::from_millis(10), 95.0).ok();
            demands.set(Instant::ZERO, FlowId(0), demand).expect("accepted");
        }
        let law = Law::new(world.law.clone(), path.clone(), order, &capabilities).expect("valid");
        let link: Box<dyn Link<Packet>> = if world.law.classic.is_nothing() {
            Box::new(law)
        } else {
            let stock: AnyQueue<Packet> = QueueConfig::default().build(5).expect("valid");
            let rate = RateConfig::default().build(&capabilities, 9).expect("valid");
            let path = world.law.path_beside(path);
            let stock = Composed::<_, _, AnyQueue<Packet>, _>::new(stock, None, rate, path);
            Box::new(BesideClassic::new(law, stock).expect("valid"))
        };
        Self {
            draws: world.seed | 1,
            link,
            now: Instant::ZERO,
            hardware: Default::default(),
            on_air: None,
            free: Instant::ZERO,
            delivered: 0,
            classic: 0,
            dropped: 0,
            given_up_unsent: 0,
            longest: Span::ZERO,
            excess: Span::ZERO,
            world,
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.draws ^= self.draws << 13;
        self.draws ^= self.draws >> 7;
        self.draws ^= self.draws << 17;
        (self.draws >> 11) % below.max(1)
    }

    fn draw_span(&mut self, longest: Span) -> Span {
        Span::from_nanos(self.draw(longest.as_nanos() + 1))
    }

    /// Asks the link for descriptors of every category until it has none.
    fn fill(&mut self) {
        loop {
            let mut dropped = Vec::new();
            let mut some = false;
            for category in Category::ALL.into_iter().rev() {
                let room = Room { category, max_duration: Span::from_micros(5484) };
                while let Some(descriptor) = self.link.next(self.now, room, &mut dropped) {
                    some = true;
                    self.hold(descriptor, false);
                }
            }
            self.dropped += dropped.len();
            if !some {
                break;
            }
        }
        let held: usize = self.hardware.iter().map(VecDeque::len).sum();
        assert!(held <= usize::from(self.world.law.psdus_in_hardware), "{held} PSDUs in the hardware");
    }

    fn hold(&mut self, descriptor: TxDescriptor<Packet>, front: bool) {
        let category = descriptor.category.index();
        let held = Held { descriptor, contending: None, tries: 0, ready: self.now };
        if front {
            self.hardware[category].push_front(held);
        } else {
            self.hardware[category].push_back(held);
        }
        self.contend(category);
    }

    fn contend(&mut self, category: usize) {
        let backoff = self.draw_span(self.world.backoff);
        let now = self.now;
        if let Some(first) = self.hardware[category].front_mut().filter(|first| first.contending.is_none()) {
            first.contending = Some(now);
            first.ready = now + backoff;
        }
    }

    fn report(&mut self, category: usize, acknowledged: AckBitmap) {
        let Some(done) = self.hardware[category].pop_front() else { return };
        self.given_up_unsent += usize::from(done.tries == 0);
        let exchange = exchange(&done.descriptor, done.tries.saturating_sub(1));
        for (index, mpdu) in done.descriptor.mpdus.iter().enumerate() {
            if acknowledged.get(index) {
                self.delivered += 1;
                if done.descriptor.alternate {
                    self.classic += 1;
                    continue;
                }
                let latency = self.now - mpdu.packet.enqueued;
                self.longest = self.longest.max(latency);
                self.excess = self.excess.max(latency - (self.world.law.bound() + exchange));
            }
        }
        let report = TxReport {
            used: done.descriptor.chain.used(done.tries),
            handed: done.contending.unwrap_or(self.now),
            started: None,
            ended: self.now,
            airtime: None,
            acknowledged,
            boundaries_known: true,
            descriptor: done.descriptor,
        };
        let mut returned = Returned::default();
        self.link.on_report(self.now, report, &mut returned);
        self.dropped += returned.dropped.len();
        if let Some(descriptor) = returned.retry_now {
            self.hold(descriptor, true);
        }
        self.contend(category);
        self.fill();
    }

    /// Returns the start of the next transmission and the index of its category.
    fn next_start(&self) -> Option<(Instant, usize)> {
        let firsts =
            self.hardware.iter().enumerate().filter_map(|(category, held)| Some((held.front()?, category)));
        firsts.map(|(first, category)| (first.ready.max(self.free), category)).min()
    }

    fn deadline(&self, category: usize) -> Instant {
        let first = self.hardware[category].front();
        let limit = first.and_then(|first| Some(first.contending? + first.descriptor.give_up_after?));
        limit.unwrap_or(Instant::MAX)
    }

    fn next_deadline(&self) -> Option<(Instant, usize)> {
        let flying = self.on_air.map(|(category, ..)| category);
        (0..4)
            .filter(|category| Some(*category) != flying)
            .map(|category| (self.deadline(category), category))
            .min()
    }

    fn transmit(&mut self, category: usize) {
        let phase = (self.now.as_nanos() / 50_000_000 % 8) as usize;
        let loss = self.world.loss[phase];
        let Some(first) = self.hardware[category].front() else { return };
        let count = first.descriptor.mpdus.len();
        let end = self.now + exchange(&first.descriptor, first.tries);
        let mut acknowledged = AckBitmap::NONE;
        // Fading destroys a whole PPDU more often than a part of it.
        if self.draw(16) >= loss {
            for index in 0..count {
                if self.draw(32) >= loss {
                    acknowledged.set(index);
                }
            }
        }
        if let Some(first) = self.hardware[category].front_mut() {
            first.tries += 1;
        }
        self.on_air = Some((category, end, acknowledged));
    }

    fn land(&mut self, category: usize, acknowledged: AckBitmap) {
        self.on_air = None;
        self.free = self.now + self.draw_span(self.world.others);
        let over = self.now >= self.deadline(category);
        let backoff = self.draw_span(self.world.backoff);
        let (now, free) = (self.now, self.free);
        let Some(first) = self.hardware[category].front_mut() else { return };
        let tried = first.tries >= first.descriptor.chain.total_tries();
        if acknowledged == AckBitmap::NONE && !tried && !over {
            first.ready = now.max(free) + backoff;
            return;
        }
        self.report(category, acknowledged);
    }

    fn run(&mut self, packets: usize) {
        let mut arrival = Instant::ZERO;
        let mut sent = 0;
        loop {
            let landing = self.on_air.map_or(Instant::MAX, |(_, end, _)| end);
            let starting = self.next_start().filter(|_| self.on_air.is_none());
            let deadline = self.next_deadline();
            let due = if sent < packets { arrival } else { Instant::MAX };
            let start = starting.map_or(Instant::MAX, |(at, _)| at);
            let limit = deadline.map_or(Instant::MAX, |(at, _)| at);
            let at = due.min(landing).min(start).min(limit);
            if at == Instant::MAX {
                break;
            }
            self.now = self.now.max(at);
            if at == due {
                let category = Category::ALL[(self.draw(self.world.categories) + 1) as usize % 4];
                let station = self.draw(self.world.stations) as u16;
                let size = if self.draw(4) == 0 { 60 + self.draw(1440) } else { 1500 };
                let is_mouse = self.world.has_mouse && self.draw(8) == 0;
                let flow = if is_mouse {
                    0
                } else if self.world.has_mouse {
                    1 + self.draw(2) as u32
                } else {
                    self.draw(3) as u32
                };
                let mut dropped = Vec::new();
                self.link.enqueue(self.now, packet(sent, flow, station, category, size), &mut dropped);
                self.dropped += dropped.len();
                sent += 1;
                // Bursts, as of video.
                arrival =
                    if self.draw(8) == 0 { self.now + self.draw_span(self.world.gap * 16) } else { self.now };
                self.fill();
            } else if at == landing {
                let Some((category, _, acknowledged)) = self.on_air else { break };
                self.land(category, acknowledged);
            } else if at == limit {
                let Some((_, category)) = deadline else { break };
                self.report(category, AckBitmap::NONE);
            } else if let Some((_, category)) = starting {
                self.transmit(category);
            }
        }
        let left = self.link.backlog().packets;
        assert_eq!(self.delivered + self.dropped + left, sent, "packets are conserved");
    }
}

/// Returns the duration of the frame exchange of a try.
fn exchange(descriptor: &TxDescriptor<Packet>, attempt: u32) -> Span {
    let rate = descriptor.chain.rate_of(attempt).unwrap_or(descriptor.chain.first_rate());
    ppdu_duration(rate, descriptor.psdu) + AFTER_PPDU
}

fn world() -> impl Strategy<Value = World> {
    let queues = prop::sample::select(vec![
        "kind = \"fifo\"",
        "kind = \"fifo\"\nlimit = { packets = 30 }",
        "kind = \"round-robin\"",
        "kind = \"codel\"",
        "kind = \"linux\"",
        "kind = \"last-pq\"",
    ]);
    let law =
        (1..60u64, 300..5000u64, 1..5u8, 0..3u8, any::<bool>()).prop_map(|(q, h, psdus, again, highest)| {
            LawConfig {
                limit_q: Span::from_millis(q),
                limit_h: Span::from_micros(h),
                overhead: Span::from_micros(h / 5),
                psdus_in_hardware: if psdus < 4 { 2 } else { 3 },
                software_retransmissions: again,
                first_rate: if highest {
                    airbound_control::link::law::FirstRate::Highest
                } else {
                    Default::default()
                },
                ..LawConfig::default()
            }
        });
    let shape = (prop::sample::select(vec![1u32, 16, 64]), 1..4u64, 1..4u64);
    let channel =
        (prop::array::uniform8(0..17u64), 0..600u64, prop_oneof![Just(0), 0..2000u64, 0..12_000u64]);
    (any::<u64>(), queues, law, shape, 20..2500u64, channel).prop_map(
        |(seed, queue, law, (max_mpdus, categories, stations), gap, (loss, backoff, others))| World {
            seed,
            law,
            queue,
            max_mpdus,
            categories,
            stations,
            has_mouse: false,
            gap: Span::from_micros(gap),
            loss,
            backoff: Span::from_micros(backoff),
            others: Span::from_micros(others),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn no_delivered_packet_exceeds_the_bound_by_more_than_a_frame_exchange(world in world()) {
        let mut model = Model::new(world);
        model.run(1500);
        prop_assert_eq!(model.excess, Span::ZERO);
    }
}

/// The same with classified flows, for long enough that most are tried and found.
fn shared() -> impl Strategy<Value = World> {
    let bulk = "least-rate = \"100 kbit/s\"\ntrial = \"60 s\"\nfound-at = 0.3\nmost-loss = 1.0";
    let classic = Classic::Bulk(toml::from_str(bulk).expect("valid"));
    (world(), 1200..2500u64, any::<bool>()).prop_map(move |(world, gap, has_mouse)| World {
        has_mouse,
        law: LawConfig { classic: classic.clone(), ..world.law },
        gap: Span::from_micros(gap),
        ..world
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nor_beside_a_classic_link_in_the_same_category(world in shared()) {
        let mut model = Model::new(world);
        model.run(4000);
        prop_assert_eq!(model.excess, Span::ZERO);
    }
}

#[test]
fn both_links_are_used_and_law_comes_to_its_bound_beside_the_classic_one() {
    let bulk = "least-rate = \"2 Mbit/s\"\nfound-at = 0.7\nmost-loss = 1.0";
    let world = World {
        seed: 12,
        law: LawConfig {
            classic: Classic::Bulk(toml::from_str(bulk).expect("valid")),
            ..LawConfig::default()
        },
        queue: "kind = \"fifo\"",
        max_mpdus: 16,
        categories: 1,
        stations: 1,
        has_mouse: true,
        gap: Span::from_micros(900),
        loss: [0, 14, 0, 16, 0, 15, 0, 16],
        backoff: Span::from_micros(140),
        others: Span::from_millis(4),
    };
    let mut model = Model::new(world);
    model.run(12_000);
    let law = model.delivered - model.classic;
    assert!(law > 500 && model.classic > 500, "{law} {}", model.classic);
    assert!(model.longest > Span::from_millis(42) && model.excess.is_zero(), "{}", model.longest);
}

/// A world in which the bound is reached, so that the test above could fail.
#[test]
fn a_loaded_bad_channel_comes_to_the_bound() {
    let world = World {
        seed: 11,
        law: LawConfig::default(),
        queue: "kind = \"fifo\"",
        max_mpdus: 1,
        categories: 1,
        stations: 1,
        has_mouse: false,
        gap: Span::from_micros(500),
        loss: [0, 14, 0, 16, 0, 15, 0, 16],
        backoff: Span::from_micros(140),
        others: Span::from_millis(4),
    };
    let mut model = Model::new(world.clone());
    model.run(5000);
    assert!(model.delivered > 300 && model.dropped > 500, "{} {}", model.delivered, model.dropped);
    assert!(model.given_up_unsent > 100, "{}", model.given_up_unsent);
    assert!(model.longest > Span::from_millis(42), "{}", model.longest);
    // With a later limit in the driver, packets of the same world are beyond the bound.
    let late = LawConfig { limit_q: Span::from_millis(60), ..LawConfig::default() };
    let mut model = Model::new(World { law: late, ..world });
    model.run(5000);
    assert!(model.longest > LawConfig::default().bound() + Span::from_millis(5), "{}", model.longest);
}

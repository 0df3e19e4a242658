//! Limits on time and on transmissions in a composed link, under any order of calls: packets are conserved, no packet is sent
//! after it has exceeded a limit, nor after its last permitted try.

#[allow(dead_code)]
use std::collections::BTreeMap;

use crate::link_parts::{Packet, packet};
use airbound_control::frame::{DropReason, Dropped};
use airbound_control::frame::{TxDescriptor, TxReport};
use airbound_control::link::{Composed, Link, LinkConfig, LowerQueue, Returned, Room, TimeLimits};
use airbound_control::queue::{AnyQueue, QueueConfig};
use airbound_control::rate::{AnyRate, Capabilities, RateConfig, ThompsonConfig};
use airbound_units::{Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use bolero::TypeGenerator;

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    Enqueue { station: u8, copies: u8 },
    Next,
    Report { which: u8, acknowledged: bool, transmissions: u8 },
    Pass { micros: u16 },
    GoBack { micros: u16 },
}

#[derive(Debug, Clone, TypeGenerator)]
struct Setup {
    queue: u8,
    lower: bool,
    limits: [u8; 4],
    tries: u8,
    steps: u8,
    block_ack: bool,
}

/// None, or up to 25 ms.
fn limit(choice: u8) -> Option<Span> {
    (!choice.is_multiple_of(4)).then(|| Span::from_micros(u64::from(choice) * 100))
}

impl Setup {
    fn config(&self) -> LinkConfig {
        let [queue, driver, hardware, total] = self.limits.map(limit);
        LinkConfig {
            block_ack: self.block_ack,
            chain_steps: self.steps % 6,
            max_grants: 255,
            max_tries: (!self.tries.is_multiple_of(3)).then(|| u16::from(self.tries)),
            limits: TimeLimits { queue, driver, hardware, total },
            ..LinkConfig::default()
        }
    }

    fn queue(&self) -> AnyQueue<Packet> {
        let text = ["kind = \"fifo\"", "kind = \"linux\"", "kind = \"fq-codel\"", "kind = \"round-robin\""];
        let config: QueueConfig = toml::from_str(text[usize::from(self.queue % 4)]).expect("valid");
        config.build(1).expect("valid")
    }
}

type TestLink = Composed<Packet, AnyQueue<Packet>, AnyQueue<Packet>, AnyRate>;

struct Checked {
    link: TestLink,
    config: LinkConfig,
    now: Instant,
    entered: usize,
    left: usize,
    dropped: Vec<Dropped<Packet>>,
    outstanding: Vec<(TxDescriptor<Packet>, Instant)>,
    /// Number of transmissions of each packet, by packet number.
    sent: BTreeMap<usize, u32>,
}

impl Checked {
    fn new(setup: &Setup) -> Self {
        let lower = setup.lower.then(|| {
            let config: QueueConfig = toml::from_str("kind = \"round-robin\"").expect("valid");
            LowerQueue { queue: config.build(1).expect("valid"), depth: 10 }
        });
        let rate = RateConfig::Thompson(ThompsonConfig::default()).build(&Capabilities::default(), 1);
        Self {
            link: Composed::new(setup.queue(), lower, rate.expect("valid"), setup.config()),
            config: setup.config(),
            now: Instant::from_nanos(1 << 40),
            entered: 0,
            left: 0,
            dropped: Vec::new(),
            outstanding: Vec::new(),
            sent: BTreeMap::new(),
        }
    }

    fn next(&mut self) {
        let room = Room { category: Category::Be, max_duration: Span::from_micros(5484) };
        let Some(descriptor) = self.link.next(self.now, room, &mut self.dropped) else { return };
        let limits = self.config.limits;
        assert!(descriptor.chain.steps().len() <= usize::from(self.config.chain_steps.clamp(1, 4)));
        assert!(self.config.block_ack || descriptor.mpdus.len() == 1);
        let mut deadline = None;
        for mpdu in &descriptor.mpdus {
            let stay = self.now - mpdu.packet.enqueued;
            assert!(limits.total.is_none_or(|limit| stay <= limit), "{mpdu:?} has outlived its stay");
            if mpdu.retries > 0 {
                assert!(limits.hardware.is_none_or(|limit| mpdu.in_hardware <= limit));
                let driver = (self.now - mpdu.formed) - mpdu.in_hardware;
                assert!(limits.driver.is_none_or(|limit| driver <= limit));
                let tries = self.config.max_tries.map_or(u32::MAX, u32::from);
                assert!(self.sent[&mpdu.packet.number] < tries);
            }
            assert_eq!(
                u32::from(mpdu.transmissions),
                self.sent.get(&mpdu.packet.number).copied().unwrap_or(0)
            );
            let hardware = limits.hardware.map(|limit| self.now + (limit - mpdu.in_hardware));
            let total = limits.total.map(|limit| mpdu.packet.enqueued + limit);
            deadline = deadline.into_iter().chain(hardware).chain(total).min();
        }
        assert_eq!(descriptor.give_up_at, deadline);
        self.outstanding.push((descriptor, self.now));
    }

    fn report(&mut self, which: usize, acknowledged: bool, transmissions: u32) {
        let (descriptor, handed) = self.outstanding.remove(which);
        let used = descriptor.chain.used(transmissions);
        let count = descriptor.mpdus.len();
        for mpdu in &descriptor.mpdus {
            *self.sent.entry(mpdu.packet.number).or_default() += used.total_tries();
        }
        let report = TxReport {
            used,
            handed,
            started: Some(handed),
            ended: self.now,
            airtime: None,
            acknowledged: if acknowledged { AckBitmap::first(count) } else { AckBitmap::NONE },
            boundaries_known: true,
            descriptor,
        };
        let mut returned = Returned::default();
        self.link.on_report(self.now, report, &mut returned);
        self.left += if acknowledged { count } else { returned.dropped.len() };
        assert!(returned.dropped.iter().all(|(mpdu, reason)| {
            let tries_are_up = self.config.max_tries.is_some_and(|most| mpdu.transmissions >= most);
            tries_are_up == (*reason == DropReason::RetryLimit)
        }));
    }

    fn apply(&mut self, op: &Op) {
        match *op {
            Op::Enqueue { station, copies } => {
                for _ in 0..copies % 16 {
                    let packet = packet(self.entered, 0, u16::from(station % 3), Category::Be, 1400);
                    self.entered += 1;
                    self.link.enqueue(self.now, packet, &mut self.dropped);
                }
            }
            Op::Next => self.next(),
            Op::Report { which, acknowledged, transmissions } => {
                if !self.outstanding.is_empty() {
                    let which = usize::from(which) % self.outstanding.len();
                    self.report(which, acknowledged, u32::from(transmissions) % 9);
                }
            }
            Op::Pass { micros } => self.now += Span::from_micros(micros.into()),
            Op::GoBack { micros } => self.now = self.now - Span::from_micros(micros.into()),
        }
        self.left += self.dropped.len();
        self.dropped.clear();
        let outstanding: usize = self.outstanding.iter().map(|(descriptor, _)| descriptor.mpdus.len()).sum();
        assert_eq!(self.left + outstanding + self.link.backlog().packets, self.entered);
    }
}

#[test]
fn no_packet_outlives_a_limit_unnoticed() {
    bolero::check!().with_type::<(Setup, Vec<Op>)>().for_each(|(setup, ops)| {
        let mut checked = Checked::new(setup);
        for op in ops {
            checked.apply(op);
        }
        // All remaining packets leave in the end, sent or dropped.
        for _ in 0..10_000 {
            if checked.link.backlog().packets + checked.outstanding.len() == 0 {
                return;
            }
            checked.now += Span::from_millis(1);
            checked.apply(&Op::Next);
            checked.apply(&Op::Report { which: 0, acknowledged: true, transmissions: 1 });
        }
        panic!("{:?} is left", checked.link.backlog());
    });
}

//! Law under any order of calls: packets are conserved, the number of PSDUs is limited, and every descriptor keeps its limits.

use std::collections::BTreeMap;

use crate::link_parts::{Packet, Watched, packet};
use airbound_control::frame::{DropReason, Dropped, FlowId, StationId};
use airbound_control::frame::{TxDescriptor, TxReport};
use airbound_control::link::{Law, LawConfig, Link, LinkConfig, Returned, Room};
use airbound_control::queue::{Backlog, Demand};
use airbound_control::rate::{Capabilities, LinkStats};
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::mpdu::psdu_size;
use airbound_wifi::rate::{Format, Width};
use bolero::TypeGenerator;

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    Enqueue { station: u8, category: u8, flow: u8, size: u16, copies: u8 },
    Next { category: u8, micros: u16 },
    Report { which: u8, acknowledged: u64, transmissions: u8, airtime: Option<u16> },
    Unknown { station: u8, category: u8 },
    Received { station: u8, category: u8, micros: u16 },
    Channel { busy: Option<f64>, own: Option<f64> },
    Dictated { station: u8, kbps: u32 },
    Demand { flow: u8, millis: u8, percentile: u8 },
    Capabilities { station: u8, format: u8 },
    Pass { micros: u32 },
    GoBack { micros: u32 },
}

#[derive(Debug, Clone, TypeGenerator)]
struct Setup {
    config: u8,
    most: u8,
    window: u8,
    format: u8,
}

fn capabilities(format: u8) -> Capabilities {
    let default = Capabilities::default();
    match format % 3 {
        0 => Capabilities { format: Format::Ht, width: Width::Mhz20, max_streams: 1, ..default },
        1 => default,
        _ => Capabilities { format: Format::Legacy, width: Width::Mhz20, max_streams: 1, ..default },
    }
}

impl Setup {
    fn config(&self) -> LawConfig {
        let text = [
            "",
            "limit-q = \"5 ms\"\nlimit-h = \"1 ms\"\nfirst-rate = \"highest\"\nequality = \"enter\"",
            "psdus-in-hardware = 5\nsoftware-retransmissions = 3\nnever-sent = \"failure\"\nrate-min = \"tx-time-per-success\"",
            "psdus-in-hardware = 1\nclean-up-rate = \"present\"\nextra-after-losses = 0\nequality = \"leave\"\nfirst-len-max = 0",
            "check-when-enqueued = false\nladder = \"all\"\nleave-when-empty = false\nkeep-previous-rate = false\nfirst-rate-index = 0",
        ];
        toml::from_str(text[usize::from(self.config) % text.len()]).expect("valid")
    }

    fn path(&self) -> LinkConfig {
        LinkConfig {
            ampdu: AmpduLimits {
                max_mpdus: [1, 32, 64, 400][usize::from(self.most % 4)],
                max_bytes: ByteCount::new(65_535),
                max_duration: Span::from_micros(5484),
            },
            overhead: ByteCount::new(38),
            first_subframe_padding: ByteCount::ZERO,
            window: [64, 1, 7, 0][usize::from(self.window % 4)],
            max_grants: 8,
            ..LinkConfig::default()
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    InGrant,
    Gone,
}

#[derive(Default)]
struct Window {
    /// Sequence numbers in the hardware.
    out: BTreeMap<u64, ()>,
    next: u64,
    window_start: u64,
}

struct Checked {
    link: Law<Packet, Watched>,
    config: LawConfig,
    path: LinkConfig,
    now: Instant,
    states: Vec<State>,
    inside: Backlog,
    dropped: Vec<Dropped<Packet>>,
    out: Vec<TxDescriptor<Packet>>,
    windows: BTreeMap<(StationId, Category), Window>,
    delivered: usize,
    repeated: usize,
    expired: usize,
    longest: usize,
}

impl Checked {
    fn new(queue: &str, setup: &Setup) -> Self {
        let (config, path) = (setup.config(), setup.path());
        let link = Law::new(config.clone(), path.clone(), Watched::new(queue), &capabilities(setup.format));
        Self {
            link: link.expect("valid"),
            config,
            path,
            now: Instant::from_nanos(5_000_000_000),
            states: Vec::new(),
            inside: Backlog::default(),
            dropped: Vec::new(),
            out: Vec::new(),
            windows: BTreeMap::new(),
            delivered: 0,
            repeated: 0,
            expired: 0,
            longest: 0,
        }
    }

    fn check(&mut self) {
        for Dropped { packet, reason } in std::mem::take(&mut self.dropped) {
            let state = std::mem::replace(&mut self.states[packet.number], State::Gone);
            assert_eq!(state, State::Waiting, "{packet:?} was dropped for {reason:?}");
            self.inside.packets -= 1;
            self.inside.bytes -= packet.size;
            if reason == DropReason::Expired {
                self.expired += 1;
                assert!(self.now - packet.enqueued > self.config.limit_q);
            }
        }
        assert_eq!(self.link.backlog(), self.inside);
        let any = Category::ALL.iter().any(|&category| self.link.has_backlog(category));
        assert_eq!(any, self.inside.packets > 0);
        assert!(self.out.len() <= usize::from(self.config.psdus_in_hardware));
        for view in self.link.views() {
            assert_eq!((view.in_hardware, view.in_driver), (self.out.len(), self.inside.packets));
            assert!(view.success.is_none_or(|success| (0.0..=1.0).contains(&success)));
            assert!(view.tx_time.is_none_or(|time| time <= self.config.limit_h));
            assert!(view.len_max.is_none_or(|length| length >= 0.0));
        }
    }

    /// Asserts the invariants of every descriptor and records its MPDUs.
    fn check_descriptor(&mut self, descriptor: &TxDescriptor<Packet>, again: bool) {
        let count = descriptor.mpdus.len();
        assert!((1..=self.path.ampdu.max_mpdus.min(256) as usize).contains(&count));
        assert_eq!(descriptor.aggregated, count > 1);
        assert!(descriptor.give_up_after.is_some_and(|limit| limit <= self.config.limit_h));
        let most = self.config.tries.max(self.config.probe_tries).max(self.config.clean_up_tries);
        assert_eq!(descriptor.chain.steps().len(), 1);
        assert!(descriptor.chain.total_tries() <= u32::from(most));
        if count > 1 {
            assert_eq!(descriptor.psdu, psdu_size(descriptor.mpdus.iter().map(|mpdu| mpdu.size)));
            assert!(descriptor.psdu <= self.path.ampdu.max_bytes);
        }
        assert!(descriptor.mpdus.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
        let window = self.windows.entry((descriptor.station, descriptor.category)).or_default();
        for mpdu in &descriptor.mpdus {
            assert_eq!(
                (mpdu.packet.station, mpdu.packet.category),
                (descriptor.station, descriptor.category)
            );
            assert_eq!(mpdu.size, mpdu.packet.size + self.path.overhead);
            assert!(self.now.since(mpdu.packet.enqueued) <= self.config.limit_q, "pushed too late");
            assert_eq!(mpdu.retries > 0, again);
            if !again {
                assert_eq!((self.states[mpdu.packet.number], mpdu.sequence), (State::Waiting, window.next));
                window.next += 1;
                self.inside.packets -= 1;
                self.inside.bytes -= mpdu.packet.size;
            }
            self.states[mpdu.packet.number] = State::InGrant;
            window.out.insert(mpdu.sequence, ());
        }
        let first = window.out.keys().next().copied().unwrap_or_default();
        assert!(window.next - first <= u64::from(self.path.window.clamp(1, 256)), "beyond the window");
        self.longest = self.longest.max(count);
        self.repeated += usize::from(again);
    }

    fn enqueue(&mut self, station: u16, category: Category, flow: u32, size: u64) {
        let packet = packet(self.states.len(), flow, station, category, size);
        self.states.push(State::Waiting);
        self.inside.packets += 1;
        self.inside.bytes += packet.size;
        self.link.enqueue(self.now, packet, &mut self.dropped);
        self.check();
    }

    fn next(&mut self, category: Category, longest: Span) -> bool {
        let descriptor =
            self.link.next(self.now, Room { category, max_duration: longest }, &mut self.dropped);
        if let Some(descriptor) = &descriptor {
            assert_eq!(descriptor.category, category);
            self.check_descriptor(descriptor, false);
        }
        let granted = descriptor.is_some();
        self.out.extend(descriptor);
        self.check();
        granted
    }

    fn report(&mut self, which: usize, acknowledged: AckBitmap, transmissions: u32, airtime: Option<Span>) {
        let descriptor = self.out.remove(which);
        let acknowledged = if transmissions == 0 { AckBitmap::NONE } else { acknowledged };
        let key = (descriptor.station, descriptor.category);
        for (index, mpdu) in descriptor.mpdus.iter().enumerate() {
            self.windows.entry(key).or_default().out.remove(&mpdu.sequence);
            self.states[mpdu.packet.number] = State::Gone;
            self.delivered += usize::from(acknowledged.get(index));
        }
        let mut missing: Vec<usize> = (0..descriptor.mpdus.len())
            .filter(|index| !acknowledged.get(*index))
            .map(|index| descriptor.mpdus[index].packet.number)
            .collect();
        let report = TxReport {
            used: descriptor.chain.used(transmissions),
            handed: self.now,
            started: None,
            ended: self.now,
            airtime,
            acknowledged,
            boundaries_known: true,
            descriptor,
        };
        let mut returned = Returned::default();
        self.link.on_report(self.now, report, &mut returned);
        for (mpdu, reason) in &returned.dropped {
            let place = missing.iter().position(|number| *number == mpdu.packet.number);
            missing.remove(place.expect("dropped though it was not lost"));
            let old = self.now.since(mpdu.packet.enqueued) > self.config.limit_q;
            assert_eq!(*reason == DropReason::Expired, old);
        }
        if let Some(descriptor) = returned.retry_now {
            // All MPDUs that were neither acknowledged nor dropped, and no others.
            assert!(descriptor.mpdus.iter().map(|mpdu| mpdu.packet.number).eq(missing.drain(..)));
            self.check_descriptor(&descriptor, true);
            self.out.push(descriptor);
        }
        assert!(missing.is_empty(), "{missing:?} are kept");
        let window = self.windows.entry(key).or_default();
        if let Some(start) = returned.window_start {
            assert!(start >= window.window_start, "the window went back");
            assert!(window.out.keys().all(|sequence| *sequence >= start));
            window.window_start = start;
        }
        self.check();
    }

    fn apply(&mut self, op: &Op) {
        let station = |number: u8| StationId(u16::from(number % 5));
        let category = |number: u8| Category::ALL[usize::from(number % 4)];
        match *op {
            Op::Enqueue { station: to, category: of, flow, size, copies } => {
                for _ in 0..=copies % 64 {
                    self.enqueue(station(to).0, category(of), u32::from(flow % 8), u64::from(size) % 2400);
                }
            }
            Op::Next { category: of, micros } => {
                self.next(category(of), Span::from_micros(u64::from(micros) % 6000));
            }
            Op::Report { which, acknowledged, transmissions, airtime } => {
                if self.out.is_empty() {
                    return;
                }
                let mut bitmap = AckBitmap::NONE;
                (0..256).filter(|index| acknowledged >> (index % 64) & 1 == 1).for_each(|at| bitmap.set(at));
                let which = usize::from(which) % self.out.len();
                let airtime = airtime.map(|micros| Span::from_micros(u64::from(micros)));
                self.report(which, bitmap, u32::from(transmissions % 6), airtime);
            }
            Op::Unknown { station: of, category: in_category } => {
                self.report_unknown(station(of), category(in_category))
            }
            Op::Received { station: from, category: of, micros } => {
                self.link.on_received(
                    self.now,
                    station(from),
                    category(of),
                    Span::from_micros(micros.into()),
                );
            }
            Op::Channel { busy, own } => self.link.on_channel(self.now, busy, own),
            Op::Dictated { station: of, kbps } => {
                let rate = Some(BitRate::from_kbps(u64::from(kbps)));
                self.link.on_link_stats(self.now, station(of), &LinkStats { rate, ..LinkStats::default() });
            }
            Op::Demand { flow, millis, percentile } => {
                let demand = Demand::new(Span::from_millis(millis.into()), f64::from(percentile)).ok();
                let _ = self
                    .link
                    .queue_mut()
                    .queue
                    .demands_mut()
                    .map(|demands| demands.set(self.now, FlowId(u32::from(flow % 8)), demand));
            }
            Op::Capabilities { station: of, format } => {
                self.link.set_capabilities(station(of), &capabilities(format)).expect("valid");
            }
            Op::Pass { micros } => self.now += Span::from_micros(u64::from(micros) % 30_000),
            Op::GoBack { micros } => self.now = self.now - Span::from_micros(u64::from(micros) % 30_000),
        }
        self.check();
    }

    /// Reports a descriptor that the link never made: a copy of one that may be outstanding, or of none.
    fn report_unknown(&mut self, station: StationId, category: Category) {
        if !self.out.is_empty() {
            return;
        }
        let mpdus = Vec::new();
        let chain = airbound_control::frame::RateChain::single(
            Capabilities::default().rate_set().expect("valid").lowest(),
            1,
        );
        let descriptor = TxDescriptor {
            station,
            category,
            alternate: false,
            mpdus,
            psdu: ByteCount::ZERO,
            aggregated: false,
            chain,
            give_up_after: None,
            give_up_at: None,
        };
        let report = TxReport {
            used: chain.used(1),
            handed: self.now,
            started: None,
            ended: self.now,
            airtime: None,
            acknowledged: AckBitmap::first(3),
            boundaries_known: false,
            descriptor,
        };
        let mut returned = Returned::default();
        self.link.on_report(self.now, report, &mut returned);
        assert!(returned.retry_now.is_none() && returned.dropped.is_empty());
    }

    fn drain(&mut self) {
        let mut idle = 0;
        while idle < 4 {
            idle += 1;
            while !self.out.is_empty() {
                self.report(0, AckBitmap::first(256), 1, Some(Span::from_micros(50)));
            }
            for category in Category::ALL {
                while self.next(category, Span::from_millis(4)) {
                    idle = 0;
                }
            }
            self.now += Span::from_millis(1);
        }
        assert_eq!(self.inside.packets, 0, "stuck in the link");
        assert!(self.states.iter().all(|state| *state == State::Gone));
        assert!(self.link.queue().below.values().all(|below| below.is_zero()));
    }
}

fn run(queue: &str, setup: &Setup, ops: impl IntoIterator<Item = Op>) -> Checked {
    let mut checked = Checked::new(queue, setup);
    for op in ops {
        checked.apply(&op);
    }
    checked.drain();
    // It still works afterwards.
    let delivered = checked.delivered;
    checked.enqueue(1, Category::Be, 1, 100);
    checked.drain();
    assert_eq!(checked.delivered, delivered + 1);
    checked
}

/// Operations with a high load, which arbitrary ones rarely have.
fn busy(seed: u32) -> impl Iterator<Item = Op> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..800).map(move |_| {
        let (choice, value, other) = (draw() % 16, draw(), draw());
        let (station, category) = ((value & 1) as u8, (value >> 1 & 1) as u8);
        match choice {
            0..=2 => {
                Op::Enqueue { station, category, flow: other as u8, size: 1500, copies: (value >> 8) as u8 }
            }
            3..=7 => Op::Next { category, micros: 5400 },
            8..=13 => Op::Report {
                which: (value >> 8) as u8,
                acknowledged: match other % 4 {
                    0 => 0,
                    1 => u64::from(value | other) << 32 | u64::from(other),
                    _ => u64::MAX,
                },
                transmissions: (other >> 24) as u8,
                airtime: Some((other >> 12) as u16 % 3000),
            },
            14 => Op::Pass { micros: other % 4_000 },
            _ if other % 8 == 0 => Op::GoBack { micros: value % 10_000 },
            _ if other % 8 == 1 => Op::Demand { flow: other as u8, millis: value as u8, percentile: 95 },
            _ => Op::Unknown { station, category },
        }
    })
}

macro_rules! check {
    ($queue:expr) => {
        bolero::check!()
            .with_type::<(Setup, Vec<Op>)>()
            .for_each(|(setup, ops)| drop(run($queue, setup, ops.iter().cloned())));
        let (mut delivered, mut repeated, mut expired, mut longest) = (0, 0, 0, 0);
        for seed in 0..60u32 {
            let pick = |step: u32| (seed / step) as u8;
            let setup = Setup {
                config: pick(1),
                most: pick(3),
                window: if seed % 5 == 0 { pick(5) } else { 0 },
                format: pick(2),
            };
            let checked = run($queue, &setup, busy(seed));
            delivered += checked.delivered;
            repeated += checked.repeated;
            expired += checked.expired;
            longest = longest.max(checked.longest);
        }
        // The runs covered the interesting cases.
        assert!(
            delivered > 3_000 && repeated > 500 && expired > 500 && longest > 3,
            "{delivered} {repeated} {expired} {longest}"
        );
    };
}

#[test]
fn law_keeps_the_promises_of_a_link() {
    check!("kind = \"fifo\"");
}

#[test]
fn law_over_codel_keeps_the_promises_of_a_link() {
    check!("kind = \"codel\"\ninterval = \"20 ms\"");
}

#[test]
fn law_over_linux_keeps_the_promises_of_a_link() {
    check!("kind = \"linux\"\npackets = 260\nflows = 4\ninterval = \"20 ms\"");
}

#[test]
fn law_over_last_pq_keeps_the_promises_of_a_link() {
    check!("kind = \"last-pq\"\nlinux = { packets = 260, flows = 4, interval = \"20 ms\" }");
}

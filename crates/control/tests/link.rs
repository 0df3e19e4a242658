//! A composed link under any order of calls: packets are conserved, and every descriptor obeys the rules of aggregation.

use std::collections::{BTreeMap, BTreeSet};

use crate::link_parts::{Packet, Watched, packet};
use airbound_control::frame::{DropReason, Dropped, FlowId, StationId};
use airbound_control::frame::{TxDescriptor, TxReport};
use airbound_control::link::{Composed, Hold, Link, LinkConfig, LowerQueue, Returned, Room};
use airbound_control::queue::{AnyQueue, Backlog, Demand, QueueConfig};
use airbound_control::rate::{
    AnyRate, Capabilities, FixedConfig, IdealConfig, LinkStats, MinstrelHtConfig, RateConfig,
};
use airbound_units::{BitRate, ByteCount, Decibel, Instant, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::mpdu::{DELIMITER, psdu_size};
use airbound_wifi::rate::{Format, Width};
use airbound_wifi::timing::PpduTiming;
use bolero::TypeGenerator;

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    Enqueue { station: u8, category: u8, flow: u8, size: u16, copies: u8 },
    Next { category: u8, micros: u16, descriptors: u8 },
    Report { which: u8, acknowledged: u64, transmissions: u8, airtime: Option<u16> },
    Received { station: u8, category: u8, micros: u16 },
    Channel { busy: Option<f64>, own: Option<f64> },
    Signal { station: u8, decibels: i8 },
    Dictated { station: u8, kbps: u32 },
    Demand { flow: u8, millis: u8, percentile: u8 },
    Hold { station: u8, held: bool },
    Pass { micros: u32 },
    GoBack { micros: u32 },
}

/// Parameters from which the link is built.
#[derive(Debug, Clone, TypeGenerator)]
struct Setup {
    window: u8,
    most: u8,
    bytes: u8,
    descriptors: u8,
    lower: u8,
    capabilities: u8,
}

impl Setup {
    fn link(&self) -> LinkConfig {
        LinkConfig {
            ampdu: AmpduLimits {
                max_mpdus: [1, 5, 32, 64, 400][usize::from(self.most % 5)],
                max_bytes: ByteCount::new([65_535, 1_048_575, 4_000][usize::from(self.bytes % 3)]),
                max_duration: Span::from_micros(4000),
            },
            overhead: ByteCount::new(38),
            first_subframe_padding: ByteCount::ZERO,
            window: [64, 1, 7, 256, 1000, 0][usize::from(self.window % 6)],
            max_grants: [8, 1, 3][usize::from(self.descriptors % 3)],
            ..LinkConfig::default()
        }
    }

    fn lower(&self) -> Option<LowerQueue<AnyQueue<Packet>>> {
        let (text, depth) = match self.lower % 6 {
            0 => ("kind = \"fifo\"", 20),
            1 => ("kind = \"round-robin\"", 123),
            2 => ("kind = \"codel\"\ntarget = \"1 ms\"\ninterval = \"2 ms\"", 40),
            3 => ("kind = \"linux\"\nmemory = \"30 kB\"\nairtime-queue-limit = false", usize::MAX),
            _ => return None,
        };
        let config: QueueConfig = toml::from_str(text).expect("valid");
        Some(LowerQueue { queue: config.build(3).expect("valid"), depth })
    }

    fn capabilities(&self) -> Capabilities {
        let default = Capabilities::default();
        match self.capabilities % 3 {
            0 => default,
            1 => Capabilities { format: Format::He, ..default },
            _ => Capabilities {
                format: Format::Legacy,
                width: Width::Mhz20,
                max_streams: 1,
                short_guard_interval: false,
                ..default
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    InGrant(u8),
    /// Returned from this number of descriptors.
    Kept(u8),
    Gone,
}

/// Block-ack window of one station and category, tracked by the test.
#[derive(Default)]
struct Window {
    /// Sequence numbers that were sent and are unsettled; whether they are in a descriptor.
    unsettled: BTreeMap<u64, bool>,
    window_start: u64,
    sent: BTreeSet<u64>,
}

struct Checked {
    link: Composed<Packet, Watched, AnyQueue<Packet>, AnyRate>,
    config: LinkConfig,
    depth: usize,
    now: Instant,
    states: Vec<State>,
    /// Packets neither delivered nor dropped, by category.
    live: [usize; 4],
    /// Those of them not in a descriptor.
    inside: Backlog,
    dropped: Vec<Dropped<Packet>>,
    outstanding: Vec<TxDescriptor<Packet>>,
    windows: BTreeMap<(StationId, Category), Window>,
    dictated: BTreeMap<StationId, BitRate>,
    /// Stations that do not listen.
    held: BTreeSet<StationId>,
    delivered: usize,
    /// MPDUs retransmitted in a later descriptor, and the size of the largest descriptor.
    repeated: usize,
    longest: usize,
}

impl Checked {
    fn new(queue: &str, rate: &RateConfig, setup: &Setup) -> Self {
        let (lower, config) = (setup.lower(), setup.link());
        let rate = rate.build(&setup.capabilities(), 5).expect("valid");
        Self {
            depth: lower.as_ref().map_or(usize::MAX, |lower| lower.depth),
            link: Composed::new(Watched::new(queue), lower, rate, config.clone()),
            config,
            now: Instant::from_nanos(5_000_000_000),
            states: Vec::new(),
            live: [0; 4],
            inside: Backlog::default(),
            dropped: Vec::new(),
            outstanding: Vec::new(),
            windows: BTreeMap::new(),
            dictated: BTreeMap::new(),
            held: BTreeSet::new(),
            delivered: 0,
            repeated: 0,
            longest: 0,
        }
    }

    fn check(&mut self) {
        for Dropped { packet, reason } in std::mem::take(&mut self.dropped) {
            let state = std::mem::replace(&mut self.states[packet.number], State::Gone);
            assert_eq!(state, State::Waiting, "{packet:?} was dropped for {reason:?}");
            self.live[packet.category.index()] -= 1;
            self.inside.packets -= 1;
            self.inside.bytes -= packet.size;
        }
        assert_eq!(self.link.backlog(), self.inside);
        let any = Category::ALL.iter().any(|&category| self.link.has_backlog(category));
        assert_eq!(any, self.inside.packets > 0);
        let upper = self.link.queue();
        for category in Category::ALL.map(Category::index) {
            let below = self.live[category] - upper.waiting[category];
            assert!(below <= self.depth, "{below} packets below, {} allowed", self.depth);
        }
    }

    fn enqueue(&mut self, station: u16, category: Category, flow: u32, size: u64) {
        let packet = packet(self.states.len(), flow, station, category, size);
        self.states.push(State::Waiting);
        self.live[category.index()] += 1;
        self.inside.packets += 1;
        self.inside.bytes += packet.size;
        self.link.enqueue(self.now, packet, &mut self.dropped);
        self.check();
    }

    fn next(&mut self, category: Category, longest: Span) -> bool {
        let room = Room { category, max_duration: longest };
        let descriptor = self.link.next(self.now, room, &mut self.dropped);
        if let Some(descriptor) = &descriptor {
            assert_eq!(descriptor.category, category);
            assert!(!self.held.contains(&descriptor.station), "sent to a station that does not listen");
            self.check_aggregate(descriptor, longest);
            self.check_sequence(descriptor);
        }
        let granted = descriptor.is_some();
        self.outstanding.extend(descriptor);
        self.check();
        granted
    }

    /// Limits of count, bytes and time, at every rate of the chain.
    fn check_aggregate(&self, descriptor: &TxDescriptor<Packet>, longest: Span) {
        let limits = &self.config.ampdu;
        let count = descriptor.mpdus.len();
        for mpdu in &descriptor.mpdus {
            assert_eq!(mpdu.size, mpdu.packet.size + self.config.overhead);
            assert_eq!(
                (mpdu.packet.station, mpdu.packet.category),
                (descriptor.station, descriptor.category)
            );
        }
        assert!((1..=limits.max_mpdus.min(256) as usize).contains(&count));
        assert_eq!(descriptor.aggregated, count > 1);
        if count > 1 {
            assert!(!descriptor.chain.probe, "a sample goes alone");
            assert_ne!(descriptor.chain.first_rate().format(), Format::Legacy);
            assert_eq!(descriptor.psdu, psdu_size(descriptor.mpdus.iter().map(|mpdu| mpdu.size)));
            assert!(descriptor.psdu <= limits.max_bytes);
            let longest = longest.min(limits.max_duration);
            for step in descriptor.chain.steps() {
                let timing = PpduTiming::new(step.rate);
                let duration = match self.dictated.get(&descriptor.station) {
                    // The last byte may be begun a nanosecond early.
                    Some(rate) => timing.preamble() + rate.time_for(descriptor.psdu) - Span::from_nanos(1),
                    None => timing.duration(descriptor.psdu),
                };
                assert!(duration <= longest, "{duration} at {}, {longest} allowed", step.rate);
            }
        } else {
            let alone = match descriptor.chain.first_rate().format() {
                Format::Legacy | Format::Ht => ByteCount::ZERO,
                _ => DELIMITER,
            };
            assert_eq!(descriptor.psdu, descriptor.mpdus[0].size + alone);
        }
    }

    /// Checks the window, the order of retries, and that no packet is in two places.
    fn check_sequence(&mut self, descriptor: &TxDescriptor<Packet>) {
        let window = self.windows.entry((descriptor.station, descriptor.category)).or_default();
        assert!(descriptor.mpdus.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
        let mut kept = window.unsettled.iter().filter(|(_, handed)| !**handed).map(|(at, _)| *at);
        let mut fresh = false;
        for mpdu in &descriptor.mpdus {
            match self.states[mpdu.packet.number] {
                State::Waiting => {
                    fresh = true;
                    assert_eq!(mpdu.retries, 0);
                    assert!(window.sent.insert(mpdu.sequence), "a sequence number for two packets");
                }
                State::Kept(descriptors) => {
                    assert!(!fresh);
                    assert_eq!(mpdu.retries, descriptors);
                    assert_eq!(kept.next(), Some(mpdu.sequence), "an older one waits to be sent again");
                }
                state => panic!("{mpdu:?} is {state:?}"),
            }
            assert!(mpdu.retries < self.config.max_grants);
        }
        assert!(!fresh || kept.next().is_none(), "new packets overtake those to be sent again");
        self.longest = self.longest.max(descriptor.mpdus.len());
        for mpdu in &descriptor.mpdus {
            self.repeated += usize::from(mpdu.retries > 0);
            self.states[mpdu.packet.number] = State::InGrant(mpdu.retries);
            self.inside.packets -= 1;
            self.inside.bytes -= mpdu.packet.size;
            window.unsettled.insert(mpdu.sequence, true);
        }
        let (first, last) = (window.unsettled.keys().min(), window.unsettled.keys().max());
        let spread = last.expect("not empty") - first.expect("not empty");
        assert!(spread < u64::from(self.config.window.clamp(1, 256)), "beyond the window");
    }

    fn report(&mut self, which: usize, acknowledged: AckBitmap, transmissions: u32, airtime: Option<Span>) {
        let descriptor = self.outstanding.remove(which);
        let key = (descriptor.station, descriptor.category);
        let window = self.windows.entry(key).or_default();
        let mut given_up = 0;
        for (index, mpdu) in descriptor.mpdus.iter().enumerate() {
            let state = &mut self.states[mpdu.packet.number];
            let State::InGrant(retries) = *state else { panic!("{mpdu:?} is {state:?}") };
            let arrived = acknowledged.get(index);
            if arrived || retries + 1 >= self.config.max_grants {
                *state = State::Gone;
                self.live[key.1.index()] -= 1;
                window.unsettled.remove(&mpdu.sequence);
                self.delivered += usize::from(arrived);
                given_up += usize::from(!arrived);
            } else {
                *state = State::Kept(retries + 1);
                self.inside.packets += 1;
                self.inside.bytes += mpdu.packet.size;
                window.unsettled.insert(mpdu.sequence, false);
            }
        }
        let report = TxReport {
            used: descriptor.chain.used(transmissions),
            handed: self.now,
            started: None,
            ended: self.now,
            airtime,
            acknowledged,
            boundaries_known: transmissions % 8 != 7,
            descriptor,
        };
        let mut returned = Returned::default();
        self.link.on_report(self.now, report, &mut returned);
        assert!(returned.retry_now.is_none());
        assert_eq!(returned.dropped.len(), given_up);
        for (mpdu, reason) in &returned.dropped {
            assert_eq!((self.states[mpdu.packet.number], *reason), (State::Gone, DropReason::RetryLimit));
            assert!(returned.window_start.is_some());
        }
        if let Some(start) = returned.window_start {
            assert!(start >= window.window_start, "the window went back");
            assert!(window.unsettled.keys().all(|sequence| *sequence >= start));
            window.window_start = start;
        }
        assert!(self.link.queue().throughput.contains_key(&key.0));
        self.check();
    }

    fn apply(&mut self, op: &Op) {
        let station = |number: u8| StationId(u16::from(number % 6));
        let category = |number: u8| Category::ALL[usize::from(number % 4)];
        match *op {
            Op::Enqueue { station: to, category: of, flow, size, copies } => {
                for copy in 0..=copies % 64 {
                    let flow = u32::from(flow % 8) + u32::from(copy % 3);
                    self.enqueue(station(to).0, category(of), flow, u64::from(size) % 2400);
                }
            }
            Op::Next { category: of, micros, descriptors } => {
                for _ in 0..=descriptors % 4 {
                    self.next(category(of), Span::from_micros(u64::from(micros) % 6000));
                }
            }
            Op::Report { which, acknowledged, transmissions, airtime } => {
                if self.outstanding.is_empty() {
                    return;
                }
                let mut bitmap = AckBitmap::NONE;
                for index in 0..256 {
                    if acknowledged >> (index % 64) & 1 == 1 {
                        bitmap.set(index);
                    }
                }
                let which = usize::from(which) % self.outstanding.len();
                let airtime = airtime.map(|micros| Span::from_micros(u64::from(micros)));
                self.report(which, bitmap, u32::from(transmissions), airtime);
            }
            Op::Received { station: from, category: of, micros } => {
                let airtime = Span::from_micros(u64::from(micros));
                self.link.on_received(self.now, station(from), category(of), airtime);
            }
            Op::Signal { station: of, decibels } => {
                let snr = Some(Decibel::new(f64::from(decibels)));
                self.link.on_link_stats(self.now, station(of), &LinkStats { snr, ..LinkStats::default() });
            }
            Op::Channel { busy, own } => {
                self.link.on_channel(self.now, busy, own);
                // A requested report of the channel load has been made.
                assert!(
                    self.link.deadline().channel_load.is_none_or(|due| due > self.now || due == Instant::MAX)
                );
            }
            Op::Dictated { station: of, kbps } => {
                let rate = BitRate::from_kbps(u64::from(kbps));
                self.dictated.insert(station(of), rate);
                let stats = LinkStats { rate: Some(rate), ..LinkStats::default() };
                self.link.on_link_stats(self.now, station(of), &stats);
            }
            Op::Demand { flow, millis, percentile } => {
                let latency = Span::from_millis(u64::from(millis));
                let demand = Demand::new(latency, f64::from(percentile)).ok();
                // A refused demand changes nothing.
                let _ = self
                    .link
                    .queue_mut()
                    .queue
                    .demands_mut()
                    .map(|demands| demands.set(self.now, FlowId(u32::from(flow % 8)), demand));
            }
            Op::Hold { station: of, held } => self.hold(station(of), held),
            Op::Pass { micros } => self.now += Span::from_micros(u64::from(micros)),
            Op::GoBack { micros } => self.now = self.now - Span::from_micros(u64::from(micros)),
        }
        self.check();
    }

    fn hold(&mut self, station: StationId, held: bool) {
        if held {
            self.held.insert(station);
        } else {
            self.held.remove(&station);
        }
        self.link.hold(self.now, station, held);
    }

    /// Checks that all packets leave if all stations listen and all MPDUs arrive.
    fn drain(&mut self) {
        for station in (0..6).map(StationId) {
            self.hold(station, false);
        }
        let mut idle = 0;
        while idle < 4 {
            idle += 1;
            while !self.outstanding.is_empty() {
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

fn rates() -> [RateConfig; 3] {
    [
        RateConfig::Fixed(FixedConfig::default()),
        RateConfig::Ideal(IdealConfig::default()),
        RateConfig::MinstrelHt(MinstrelHtConfig { sample_interval: Span::ZERO, ..Default::default() }),
    ]
}

fn run(queue: &str, rate: u8, setup: &Setup, ops: impl IntoIterator<Item = Op>) -> Checked {
    let rates = rates();
    let mut checked = Checked::new(queue, &rates[usize::from(rate) % rates.len()], setup);
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

/// A long time of high load: a fuzzer's lists are too short to fill windows again and again.
fn busy(seed: u32) -> impl Iterator<Item = Op> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    (0..600).map(move |_| {
        let (choice, value, other) = (draw() % 16, draw(), draw());
        // Two stations and two categories have most of the traffic.
        let (station, category) = ((value & 1) as u8 + (other % 9 / 8) as u8, (value >> 1 & 1) as u8);
        match choice {
            0..=3 => Op::Enqueue {
                station,
                category,
                flow: other as u8,
                size: if other & 64 == 0 { 1500 } else { (other >> 8) as u16 },
                copies: (value >> 8) as u8,
            },
            4..=8 => {
                Op::Next { category, micros: 5400 - (other % 600) as u16, descriptors: (other >> 16) as u8 }
            }
            9..=12 => Op::Report {
                which: (value >> 8) as u8,
                acknowledged: match other % 4 {
                    0 => 0,
                    1 => u64::MAX,
                    _ => u64::from(value | other) << 32 | u64::from(value.rotate_left(7) | other),
                },
                transmissions: (other >> 24) as u8,
                airtime: (other & 32 == 0).then_some((other >> 12) as u16 % 5000),
            },
            13 => Op::Pass { micros: other % 3_000 },
            14 if other % 8 == 0 => Op::GoBack { micros: value % 10_000 },
            14 if other % 8 == 2 => {
                Op::Demand { flow: other as u8, millis: (value >> 8) as u8, percentile: (value % 101) as u8 }
            }
            14 if other % 8 == 1 => Op::Dictated { station, kbps: value % 400_000 },
            14 => Op::Signal { station, decibels: (other % 50) as i8 },
            _ if other % 8 == 0 => Op::Hold { station, held: value & 3 == 0 },
            _ => Op::Received { station, category, micros: other as u16 },
        }
    })
}

/// Drives links with some queues with the same operations, then with busy ones. A macro, since a fuzz target has the name of the
/// function that `check!` stands in.
macro_rules! check {
    ($($queue:expr),+ $(,)?) => {
        bolero::check!().with_type::<(u8, Setup, Vec<Op>)>().for_each(|(rate, setup, ops)| {
            $(run($queue, *rate, setup, ops.iter().cloned());)+
        });
        $(keep_busy($queue);)+
    };
}

/// Runs with a high load, which arbitrary operations rarely have.
fn keep_busy(queue: &str) {
    let (mut delivered, mut repeated, mut longest) = (0, 0, 0);
    for seed in 0..90u32 {
        let pick = |step: u32| (seed / step) as u8;
        // Every kind of lower queue with every kind of rate control, mostly with HT and a window of 64.
        let setup = Setup {
            lower: pick(3),
            window: if seed % 5 == 0 { pick(5) } else { 0 },
            most: if seed % 4 == 0 { pick(4) } else { 3 },
            bytes: pick(2),
            descriptors: pick(18),
            capabilities: if seed % 7 == 0 { pick(7) } else { seed as u8 % 2 },
        };
        let checked = run(queue, seed as u8, &setup, busy(seed));
        delivered += checked.delivered;
        repeated += checked.repeated;
        longest = longest.max(checked.longest);
    }
    // The runs covered the interesting cases.
    assert!(delivered > 50_000 && repeated > 10_000 && longest >= 64, "{delivered} {repeated} {longest}");
}

#[test]
fn fifo_keeps_the_promises_of_a_link() {
    check!("kind = \"fifo\"\nlimit = { packets = 150 }");
}

#[test]
fn round_robin_keeps_the_promises_of_a_link() {
    check!("kind = \"round-robin\"\nlimit = { packets = 150 }");
}

#[test]
fn wqm_keeps_the_promises_of_a_link() {
    check!("kind = \"wqm\"\ninterval = \"20 ms\"\nsubframes = 20\nmax-packets = 150\ndrop = \"selective\"");
}

#[test]
fn codel_keeps_the_promises_of_a_link() {
    check!("kind = \"codel\"\ninterval = \"20 ms\"");
}

#[test]
fn pie_keeps_the_promises_of_a_link() {
    check!("kind = \"pie\"\nmax-burst = \"0 ms\"\nlimit = { packets = 200 }");
}

#[test]
fn fq_codel_keeps_the_promises_of_a_link() {
    check!("kind = \"fq-codel\"\npackets = 160\nflows = 4\ninterval = \"20 ms\"");
}

#[test]
fn linux_keeps_the_promises_of_a_link() {
    check!(
        "kind = \"linux\"\npackets = 260\nflows = 4\ninterval = \"20 ms\"",
        "kind = \"linux\"\ncharge-estimates = true\nairtime-queue-limit = { low = \"1 ms\", high = \"2 ms\" }",
    );
}

#[test]
fn last_pq_keeps_the_promises_of_a_link() {
    check!(
        "kind = \"last-pq\"\nlinux = { packets = 260, flows = 4, interval = \"20 ms\", airtime-queue-limit = false }",
        "kind = \"last-pq\"\nfill = 3\nchoice = \"slack\"\nlinux = { charge-estimates = true }",
    );
}

#[test]
fn airbound_keeps_the_promises_of_a_link() {
    check!(
        "kind = \"airbound\"\nsize = { interval = \"20 ms\", subframes = 2, max-packets = 3 }\nlaw = { limit-q = \"1 ms\" }",
        "kind = \"airbound\"\nlast-pq = { fill = 3, linux = { charge-estimates = true } }",
    );
}

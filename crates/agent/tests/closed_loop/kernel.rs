//! A model of kernel and radio: held packets, aggregates at each station's rate, completions that may be lost, late or repeated.

use std::collections::{BTreeMap, VecDeque};

use airbound_agent::engine::{
    Arrival, Carried, Completion, Decision, Engine, EngineConfig, Fate, FlowKey, Passage, StationFacts,
    Ticket,
};
use airbound_linux::MacAddress;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

/// Overhead of an exchange: AIFS, backoff, preamble, SIFS and block ack.
const OVERHEAD: Span = Span::from_micros(200);
/// The longest aggregate of the radio.
const AGGREGATE: Span = Span::from_micros(5_484);

/// Pseudo-random numbers: a linear congruential generator (Knuth's MMIX).
#[derive(Debug, Clone)]
pub(crate) struct Dice(pub u64);

impl Dice {
    /// 0 to `below` - 1.
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

/// Probabilities of faults of completions, in thousandths.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub(crate) lost: u64,
    pub(crate) twice: u64,
    pub(crate) unknown: u64,
    pub(crate) late: u64,
}

#[derive(Debug, Clone, Copy)]
struct Packet {
    ticket: Ticket,
    station: MacAddress,
    size: ByteCount,
    rule: Option<u16>,
    arrived: Instant,
    /// It went through without a verdict.
    through: bool,
}

/// Engine, kernel, radio and channel.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) now: Instant,
    pub(crate) faults: Faults,
    pub(crate) dice: Dice,
    /// Rates by station; other stations are out of range.
    pub(crate) rates: BTreeMap<MacAddress, BitRate>,
    held: BTreeMap<Ticket, Packet>,
    radio: VecDeque<Packet>,
    air: Option<(Instant, Vec<Packet>)>,
    late: Vec<(Instant, Completion)>,
    next: u32,
    /// Latencies of delivered packets, by rule, and bytes by station.
    pub(crate) latencies: BTreeMap<Option<u16>, Vec<Span>>,
    pub(crate) bytes: BTreeMap<MacAddress, u64>,
    /// The radio's counters of sent bytes.
    pub(crate) counted: BTreeMap<MacAddress, u64>,
    pub(crate) dropped: u64,
    pub(crate) most_below: Span,
    /// While packets go through: the number of frames below at which the engine is told.
    limit: Option<u32>,
    /// The most frames below.
    pub(crate) most_frames: usize,
    /// Decisions of the engine, in order.
    pub(crate) told: Vec<Decision>,
    /// FNV-1a over the time, packet and fate of every verdict.
    verdicts: u64,
}

pub(crate) fn mac(number: u8) -> MacAddress {
    MacAddress([2, 0, 0, 0, number, 0])
}

impl World {
    pub(crate) fn new(config: EngineConfig, rates: &[u64]) -> Self {
        let rates = (1u8..).zip(rates).map(|(number, mbps)| (mac(number), BitRate::from_mbps(*mbps)));
        let mut world = Self {
            engine: Engine::new(config, 1).expect("valid"),
            now: Instant::from_nanos(1_000_000_000),
            faults: Faults::default(),
            dice: Dice(7),
            rates: rates.collect(),
            held: BTreeMap::new(),
            radio: VecDeque::new(),
            air: None,
            late: Vec::new(),
            next: 1,
            latencies: BTreeMap::new(),
            bytes: BTreeMap::new(),
            counted: BTreeMap::new(),
            dropped: 0,
            most_below: Span::ZERO,
            limit: None,
            most_frames: 0,
            told: Vec::new(),
            verdicts: 0xcbf2_9ce4_8422_2325,
        };
        world.tell_stations();
        world
    }

    /// Reports the associated stations to the engine.
    pub(crate) fn tell_stations(&mut self) {
        let facts: Vec<StationFacts> = self
            .rates
            .iter()
            .map(|(station, rate)| StationFacts {
                station: *station,
                rate: Some(*rate),
                aggregates: true,
                sent: self.counted.get(station).copied(),
            })
            .collect();
        self.engine.on_stations(self.now, &facts);
        self.settle();
    }

    /// A packet arrives from the wire.
    pub(crate) fn send(&mut self, station: u8, flow: u64, size: u64, rule: Option<u16>) {
        let (ticket, station) = (Ticket(self.next), mac(station));
        self.next += 1;
        let size = ByteCount::new(size);
        let through = self.limit.is_some();
        let packet = Packet { ticket, station, size, rule, arrived: self.now, through };
        if let Some(limit) = self.limit {
            self.radio.push_back(packet);
            self.start_air();
            let below = u32::try_from(self.frames_below()).expect("few");
            if below >= limit {
                self.limit = None;
                self.engine.on_filled(self.now, below);
                self.settle();
            }
            return;
        }
        self.held.insert(ticket, packet);
        let arrival = Arrival {
            ticket,
            station: Some(station),
            flow: FlowKey(flow),
            rule,
            category: Category::Be,
            size,
            segments: 1,
        };
        self.engine.on_packet(self.now, &arrival);
        self.settle();
    }

    /// One line of figures and a hash of all verdicts so far.
    pub(crate) fn digest(&mut self) -> String {
        let (sent, dropped, arrived) = (self.next - 1, self.dropped, self.total());
        let (middle, most) = (self.quantile(Some(0), 0.5), self.quantile(Some(0), 0.95));
        format!(
            "packets={sent} dropped={dropped} bytes={arrived} p50={middle} p95={most} below={} verdicts={:016x}",
            self.most_below, self.verdicts
        )
    }

    /// Packets held for a station.
    pub(crate) fn waiting(&self, station: u8) -> usize {
        self.held.values().filter(|packet| packet.station == mac(station)).count()
    }

    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    fn frames_below(&mut self) -> usize {
        let frames = self.radio.len() + self.air.as_ref().map_or(0, |(_, packets)| packets.len());
        self.most_frames = self.most_frames.max(frames);
        frames
    }

    /// The frames of 1538 B that fill the window at a rate.
    pub(crate) fn frames_limit(&self, rate: BitRate) -> usize {
        let window = airbound_agent::engine::WindowConfig::default().aggregate;
        usize::try_from(window.as_nanos().div_ceil(rate.time_for(ByteCount::new(1538)).as_nanos()))
            .expect("few")
    }

    /// Whether packets go through without a verdict.
    pub(crate) const fn is_bypassed(&self) -> bool {
        self.limit.is_some()
    }

    /// Applies the engine's verdicts.
    pub(crate) fn settle(&mut self) {
        let output = std::mem::take(self.engine.output());
        match output.passage {
            Some(Passage::Bypass { limit } | Passage::Limit(limit)) => self.limit = Some(limit),
            Some(Passage::Held) => self.limit = None,
            None => {}
        }
        self.told.extend(output.decisions);
        for verdict in output.verdicts {
            let packet = self.held.remove(&verdict.ticket);
            let packet = packet.unwrap_or_else(|| panic!("a second verdict on {:?}", verdict.ticket));
            let fate = u64::from(!matches!(verdict.fate, Fate::Release));
            for word in [self.now.as_nanos(), u64::from(verdict.ticket.0), fate] {
                self.verdicts = (self.verdicts ^ word).wrapping_mul(0x100_0000_01b3);
            }
            match verdict.fate {
                Fate::Release => self.radio.push_back(packet),
                Fate::Drop(_) => self.dropped += 1,
            }
        }
        self.most_below = self.most_below.max(self.engine.below(Category::Be));
        self.frames_below();
        self.start_air();
    }

    /// The radio forms the next aggregate: the packets of the first station, as many as fit.
    fn start_air(&mut self) {
        if self.air.is_some() {
            return;
        }
        // Frames to stations out of range stay in mac80211, as those to sleeping stations.
        let reachable = self
            .radio
            .iter()
            .find(|packet| self.rates.contains_key(&packet.station))
            .map(|packet| packet.station);
        let Some(station) = reachable else { return };
        let rate = self.rates[&station];
        let (mut taken, mut left, mut bytes) = (Vec::new(), VecDeque::new(), ByteCount::ZERO);
        for packet in self.radio.drain(..) {
            let longer = bytes + packet.size + ByteCount::new(42);
            let fits = taken.is_empty() || (rate.time_for(longer) <= AGGREGATE && taken.len() < 64);
            if packet.station == station && fits && left.iter().all(|other: &Packet| other.station != station)
            {
                bytes = longer;
                taken.push(packet);
            } else {
                left.push_back(packet);
            }
        }
        self.radio = left;
        for packet in &taken {
            // The header of 802.11 with QoS and LLC.
            *self.counted.entry(packet.station).or_default() += packet.size.as_u64() + 34;
        }
        self.air = Some((self.now + OVERHEAD + rate.time_for(bytes), taken));
    }

    /// Advances the time, and processes all events meanwhile.
    pub(crate) fn pass(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            let air = self.air.as_ref().map(|(end, _)| *end);
            let late = self.late.iter().map(|(at, _)| *at).min();
            let tick = self.engine.next_deadline();
            let Some(next) = [air, late, tick].into_iter().flatten().min().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            if air.is_some_and(|at| at <= self.now)
                && let Some((_, packets)) = self.air.take()
            {
                self.complete(packets);
            }
            let (due, later) =
                std::mem::take(&mut self.late).into_iter().partition(|(at, _)| *at <= self.now);
            self.late = later;
            let due: Vec<(Instant, Completion)> = due;
            for (_, completion) in due {
                self.engine.on_completion(self.now, &completion);
            }
            let before = self.engine.next_deadline();
            self.engine.on_tick(self.now);
            self.settle();
            // A deadline that does not move would loop for ever.
            assert!(
                before != Some(self.now) || self.engine.next_deadline() != before || self.air.is_some(),
                "a deadline that stays"
            );
        }
        self.now = end;
    }

    fn complete(&mut self, packets: Vec<Packet>) {
        let rate = packets.first().and_then(|packet| self.rates.get(&packet.station)).copied();
        let mut reported = Vec::new();
        for packet in packets {
            let took = self.now.since(packet.arrived);
            self.latencies.entry(packet.rule).or_default().push(took);
            *self.bytes.entry(packet.station).or_default() += packet.size.as_u64();
            let unknown = self.dice.roll(1000) < self.faults.unknown;
            let completion = Completion {
                station: packet.station,
                carried: match packet.through {
                    true => Carried::Bypassed { rule: packet.rule, took },
                    false if unknown => Carried::Unknown,
                    false => Carried::Packet(packet.ticket),
                },
                category: Some(Category::Be),
                size: (unknown || packet.through).then_some(packet.size),
                acknowledged: true,
                rate,
                tries: 1,
                airtime: None,
                at: self.now,
            };
            if self.dice.roll(1000) < self.faults.lost {
                continue;
            }
            if self.dice.roll(1000) < self.faults.late {
                self.late.push((self.now + Span::from_millis(self.dice.roll(80)), completion));
                continue;
            }
            for _ in 0..=usize::from(self.dice.roll(1000) < self.faults.twice) {
                reported.push(completion);
            }
        }
        self.engine.on_completions(self.now, reported);
        self.settle();
    }

    /// A percentile of the latencies of a rule, 0 to 1.
    pub(crate) fn quantile(&mut self, rule: Option<u16>, quantile: f64) -> Span {
        let all = self.latencies.entry(rule).or_default();
        all.sort_unstable();
        let place = ((all.len() as f64 * quantile).ceil() as usize).clamp(1, all.len().max(1)) - 1;
        all.get(place).copied().unwrap_or(Span::MAX)
    }

    /// Bytes that arrived, of all stations.
    pub(crate) fn total(&self) -> u64 {
        self.bytes.values().sum()
    }
}

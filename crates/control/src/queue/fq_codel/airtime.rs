//! The queueing of mac80211: flow queues with CoDel for each station and category, airtime fairness, and the airtime queue limit.

mod out_of_turn;

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::super::codel::CodelParameters;
use super::super::run::Dequeue;
use super::super::{Backlog, Backlogs, Direction, Fact, Portion, Queue, Sink, Turn};
use super::flows::{DropBatch, FlowLimits, FlowTable};
use super::plain::check_limits;
use super::stations::{AirtimeQueueLimit, Stations};
use crate::error::ConfigError;
use crate::frame::{Dropped, Payload, StationId};

pub(in crate::queue) use out_of_turn::FlowQueue;

/// Definition of slow stations, and their CoDel parameters (`sta_update_codel_params`).
///
/// The kernel used this from 2017 to 2025, when commit 487637698808 removed it: with many associated stations it effectively disabled
/// CoDel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SlowStations {
    /// A station is slow if its expected throughput is below this (`STA_SLOW_THRESHOLD`): 6 Mbit/s. The paper "Ending the Anomaly" (ATC
    /// 2017, section 3.1.1) uses 12 Mbit/s, not scaled.
    pub threshold: BitRate,
    /// Whether the threshold is multiplied by the number of stations with a known throughput, as in the kernel.
    pub scaled: bool,
    /// CoDel target: 50 ms.
    pub target: Span,
    /// CoDel interval: 300 ms.
    pub interval: Span,
}

impl Default for SlowStations {
    fn default() -> Self {
        Self {
            threshold: BitRate::from_mbps(6),
            scaled: true,
            target: Span::from_millis(50),
            interval: Span::from_millis(300),
        }
    }
}

/// Configuration of an [`FqCodelAirtime`] queue. The defaults are those of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FqCodelAirtimeConfig {
    /// Upper limit on packets, summed over all stations and categories (`fq_init`): 8192. 1 to 1 000 000.
    pub packets: usize,
    /// Upper limit on memory, kernel overhead included: 2304 B for a packet of 1500 B. 16 MiB (`fq_init`); drivers without VHT have 4 MiB
    /// (`ieee80211_txq_setup_flows`), which is 1820 such packets. At least 4 kB.
    pub memory: ByteCount,
    /// Quantum of a flow in bytes (`fq_init`): 300. 1 B to 1 MB.
    pub quantum: ByteCount,
    /// Idle flows whose CoDel state is remembered (kernel: 4096 buckets); 1 to 65 536.
    pub flows: usize,
    /// CoDel target (`ieee80211_txq_setup_flows`): 20 ms.
    pub target: Span,
    /// CoDel interval: 100 ms.
    pub interval: Span,
    /// No packet is dropped that leaves at most this number of bytes in its flow. mac80211 leaves the kernel's `mtu` at zero, so that only
    /// the last packet of a flow is exempt.
    pub mtu: ByteCount,
    /// Other CoDel parameters for slow stations; `false` in a file for none.
    #[serde(with = "super::super::switch")]
    pub slow: Option<SlowStations>,
    /// Airtime quantum of a station at the default weight (`ATH_AIRTIME_QUANTUM`): 300 µs. Current mac80211: 256 µs. 1 µs to 1 s.
    pub airtime_quantum: Span,
    /// Whether stations share airtime. Otherwise they take turns, an aggregate each, as in ath9k before 4.11 (`ath_txq_schedule`), and no
    /// airtime is charged.
    pub airtime_fairness: bool,
    /// Whether the airtime of received frames is charged too (`AIRTIME_USE_RX`).
    pub charge_received: bool,
    /// Whether the estimated airtime of a packet is charged when it is returned, for environments that cannot report airtime. Without
    /// either source no deficit is used up, and a station keeps its turn while it has packets.
    pub charge_estimates: bool,
    /// The airtime queue limit; the kernel has one since 5.5. `false` in a file for none.
    #[serde(with = "super::super::switch")]
    pub airtime_queue_limit: Option<AirtimeQueueLimit>,
}

impl Default for FqCodelAirtimeConfig {
    fn default() -> Self {
        Self {
            packets: 8192,
            memory: ByteCount::new(16 << 20),
            quantum: ByteCount::new(300),
            flows: 4096,
            target: Span::from_millis(20),
            interval: Span::from_millis(100),
            mtu: ByteCount::ZERO,
            slow: Some(SlowStations::default()),
            airtime_quantum: Span::from_micros(300),
            airtime_fairness: true,
            charge_received: true,
            charge_estimates: false,
            airtime_queue_limit: Some(AirtimeQueueLimit::default()),
        }
    }
}

impl FqCodelAirtimeConfig {
    fn check(&self) -> Result<(), ConfigError> {
        check_limits(self.packets, self.memory, self.quantum, self.flows)?;
        CodelParameters { target: self.target, interval: self.interval, mtu: self.mtu }.check()?;
        if let Some(slow) = &self.slow {
            CodelParameters { target: slow.target, interval: slow.interval, mtu: self.mtu }.check()?;
        }
        ConfigError::check(
            (Span::from_micros(1)..=Span::from_secs(1)).contains(&self.airtime_quantum),
            "airtime-quantum",
            self.airtime_quantum,
            "1 us to 1 s",
        )?;
        if let Some(limit) = &self.airtime_queue_limit {
            ConfigError::check(!limit.low.is_zero(), "airtime-queue-limit.low", limit.low, "more than 0 ms")?;
            ConfigError::check(
                limit.high >= limit.low,
                "airtime-queue-limit.high",
                limit.high,
                "at least airtime-queue-limit.low",
            )?;
        }
        Ok(())
    }
}

/// Speed of a station.
#[derive(Debug, Clone, Copy)]
struct Speed {
    codel: CodelParameters,
    known: bool,
}

/// Linux's queueing for Wi-Fi (`net/mac80211/tx.c`, `include/net/fq_impl.h`; Høiland-Jørgensen et al., "Ending the
/// Anomaly", ATC 2017).
///
/// ```text
///  station ─▶ category ─▶ flows: new, old ─▶ CoDel of the flow ─▶ packet
///     ▲ airtime deficit: new, old              20/100 ms, slow 50/300 ms
///     │ airtime queue limit: 5, 12 of 24 ms
/// ```
///
/// Stations are scheduled as in the paper and in ath9k from 4.11 until mac80211 took over (5.1): a station that begins to send joins a list
/// of new stations, which go first, for one turn. Current mac80211 has one list, at whose head a station joins, with much the same effect;
/// it serves each station at most once in a driver's scheduling round, and subtracts the airtime pending below the queue from the deficit,
/// which this implementation does whenever there is an airtime queue limit. A station that is over its limit or blocked leaves the
/// rotation, and receives the refills that it missed when it returns.
#[derive(Debug, Clone)]
pub struct FqCodelAirtime<P> {
    config: FqCodelAirtimeConfig,
    flows: FlowTable<P>,
    stations: Stations,
    speeds: Vec<Speed>,
    /// Number of stations with a known throughput.
    known: u64,
    waiting: Backlogs,
    /// Latest time observed.
    now: Instant,
}

impl<P: Payload> FqCodelAirtime<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: FqCodelAirtimeConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let limits = FlowLimits {
            packets: config.packets,
            memory: config.memory.as_u64(),
            quantum: config.quantum.as_u64(),
            idle_flows: config.flows,
            batch: DropBatch::HalfOfPackets,
        };
        Ok(Self {
            flows: FlowTable::new(limits),
            stations: Stations::new(
                config.airtime_quantum,
                config.airtime_fairness,
                config.airtime_queue_limit,
            ),
            speeds: Vec::new(),
            known: 0,
            waiting: Backlogs::default(),
            now: Instant::ZERO,
            config,
        })
    }

    /// Backlog of one station.
    pub fn backlog_of(&self, station: StationId, category: Category) -> Backlog {
        self.flows.backlog_of(owner(station, category))
    }

    /// Accounts for packets that left a category, one handed out and others dropped.
    #[inline]
    fn note_left(&mut self, category: Category, packet: Option<&P>, dropped: &[Dropped<P>]) {
        let waiting = self.waiting.of_mut(category);
        for left in packet.into_iter().chain(dropped.iter().map(|dropped| &dropped.packet)) {
            waiting.remove(left.size());
        }
    }

    /// The CoDel parameters for a station.
    fn codel_of(&self, station: StationId) -> CodelParameters {
        self.speeds.get(station.index()).map_or(self.usual_codel(), |speed| speed.codel)
    }

    const fn usual_codel(&self) -> CodelParameters {
        CodelParameters { target: self.config.target, interval: self.config.interval, mtu: self.config.mtu }
    }
}

/// The number under which the flows of a station's category are scheduled.
const fn owner(station: StationId, category: Category) -> usize {
    station.index() * 4 + category.index()
}

impl<P: Payload> FqCodelAirtime<P> {
    /// The station to be served next.
    pub(in crate::queue) fn next_station(&mut self, _now: Instant, category: Category) -> Option<StationId> {
        let flows = &self.flows;
        self.stations
            .select(category.index(), |station| flows.backlog_of(owner(station, category)).packets > 0)
    }

    /// Whether the airtime below the queue is bounded or charged.
    #[inline]
    pub(in crate::queue) const fn counts_below(&self) -> bool {
        self.config.airtime_queue_limit.is_some() || self.config.charge_estimates
    }

    /// Notes that a packet left the layers below.
    #[inline]
    fn on_returned(&mut self, station: StationId, category: Category, estimated: Span) {
        if self.config.charge_estimates && self.config.airtime_fairness {
            self.stations.charge(station, category.index(), estimated);
        }
        self.stations.on_returned(station, category.index(), estimated);
    }

    /// Notes airtime used by a station.
    fn on_airtime(&mut self, station: StationId, category: Category, airtime: Span, direction: Direction) {
        let charged = match direction {
            Direction::Sent => !self.config.charge_estimates,
            Direction::Received => self.config.charge_received,
        };
        if charged && self.config.airtime_fairness {
            self.stations.charge(station, category.index(), airtime);
        }
    }

    /// Notes the expected goodput of a station, which determines its CoDel parameters.
    fn on_expected_throughput(&mut self, station: StationId, throughput: BitRate) {
        let Some(slow) = self.config.slow else { return };
        let usual = self.usual_codel();
        if station.index() >= self.speeds.len() {
            self.speeds.resize(station.index() + 1, Speed { codel: usual, known: false });
        }
        let Some(speed) = self.speeds.get_mut(station.index()) else { return };
        self.known += u64::from(!speed.known);
        speed.known = true;
        let stations = if slow.scaled { self.known } else { 1 };
        let threshold = slow.threshold.as_bps().saturating_mul(stations);
        // Zero: unknown.
        let is_slow = !throughput.is_zero() && throughput.as_bps() < threshold;
        speed.codel = if is_slow {
            CodelParameters { target: slow.target, interval: slow.interval, mtu: self.config.mtu }
        } else {
            usual
        };
    }
}

impl<P: Payload> Dequeue<P> for FqCodelAirtime<P> {
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        self.now = self.now.max(now);
        if !self.stations.may_hand(station, category.index()) {
            return None;
        }
        let codel = self.codel_of(station);
        let owner = owner(station, category);
        let before = dropped.len();
        let packet = loop {
            let Some(head) = self.flows.head(owner, |_| false) else { break None };
            if let Some(packet) = self.flows.pop(self.now, head, &codel, dropped) {
                break Some(packet);
            }
        };
        self.note_left(category, packet.as_ref(), &dropped[before..]);
        packet
    }

    fn on_handed(&mut self, _now: Instant, station: StationId, category: Category, estimated: Span) {
        self.stations.on_handed(station, category.index(), estimated);
    }
}

impl<P: Payload> Queue<P> for FqCodelAirtime<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.enqueue_sparing(now, packet, |_| false, dropped);
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        let station = self.next_station(now, category)?;
        Some(Turn::new(station, category).counting(self.counts_below()).moving(Portion::All))
    }

    #[inline]
    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        self.hand_out(now, turn, sink, dropped);
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        for category in Category::ALL {
            let from = out.len();
            self.flows.flush(owner(station, category), |_| true, out);
            for packet in out.iter().skip(from) {
                self.waiting.of_mut(category).remove(packet.size());
            }
        }
    }

    fn backlog(&self) -> &Backlogs {
        &self.waiting
    }

    fn on(&mut self, now: Instant, fact: Fact<'_, P>) {
        match fact {
            Fact::Round(category) => self.stations.begin_round(category.index()),
            Fact::Eligibility { station, category, eligibility } => {
                self.stations.set_eligibility(station, category.index(), eligibility);
            }
            Fact::Granted(descriptor) if !self.config.airtime_fairness => {
                self.stations.on_turn(descriptor.station, descriptor.category.index());
            }
            Fact::Reported(report) if self.counts_below() => {
                let (station, category) = (report.descriptor.station, report.descriptor.category);
                for mpdu in report.arrived() {
                    self.on_returned(station, category, mpdu.packet.airtime_estimate());
                }
            }
            Fact::Handed(packet) if self.counts_below() => {
                self.on_handed(now, packet.station(), packet.category(), packet.airtime_estimate());
            }
            Fact::Dropped(packet) if self.counts_below() => {
                self.on_returned(packet.station(), packet.category(), packet.airtime_estimate());
            }
            Fact::Airtime { station, category, airtime, direction } => {
                self.on_airtime(station, category, airtime, direction);
            }
            Fact::Weight { station, weight } => self.stations.set_weight(station, weight),
            Fact::Throughput { station, throughput } => self.on_expected_throughput(station, throughput),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_packet::{at_micros, packet};
    use super::*;
    use crate::frame::DropReason;
    use crate::frame::PlainPacket;

    fn queue(config: FqCodelAirtimeConfig) -> FqCodelAirtime<PlainPacket> {
        FqCodelAirtime::new(config).expect("valid")
    }

    fn without_limit() -> FqCodelAirtimeConfig {
        FqCodelAirtimeConfig { airtime_queue_limit: None, ..FqCodelAirtimeConfig::default() }
    }

    /// Serves `turns` aggregates of at most 32 packets to stations with a permanent backlog; returns the airtime of each.
    fn shares(queue: &mut FqCodelAirtime<PlainPacket>, micros_per_packet: &[u64], turns: u64) -> Vec<u64> {
        let mut airtime = vec![0; micros_per_packet.len()];
        let mut dropped = Vec::new();
        let mut now = Instant::ZERO;
        for _ in 0..turns {
            for station in 0..micros_per_packet.len() as u16 {
                while queue.backlog_of(StationId(station), Category::Be).packets < 64 {
                    queue.enqueue(now, packet(station, u32::from(station)), &mut dropped);
                }
            }
            let station = queue.next_station(now, Category::Be).expect("all have packets");
            let mut used = Span::ZERO;
            for _ in 0..32 {
                let each = Span::from_micros(micros_per_packet[station.index()]);
                if used + each > Span::from_millis(4) {
                    break;
                }
                queue.dequeue(now, station, Category::Be, &mut dropped).expect("a packet");
                used += each;
            }
            airtime[station.index()] += used.as_micros();
            now += used;
            queue.on_airtime(station, Category::Be, used, Direction::Sent);
        }
        airtime
    }

    #[test]
    fn stations_of_ten_to_one_rates_get_the_same_airtime() {
        let airtime = shares(&mut queue(without_limit()), &[100, 1000], 20_000);
        // A turn ends within one aggregate (3.2 or 4 ms) and one quantum of equality.
        assert!(airtime[0].abs_diff(airtime[1]) <= 4_300, "{airtime:?}");
        assert!(airtime[0] > 30_000_000);
    }

    #[test]
    fn without_fairness_each_station_has_an_aggregate_in_turn() {
        let mut queue = queue(FqCodelAirtimeConfig { airtime_fairness: false, ..without_limit() });
        for station in 0..2 {
            for _ in 0..10 {
                queue.enqueue(Instant::ZERO, packet(station, 0), &mut Vec::new());
            }
        }
        let be = Category::Be;
        for turn in 0..6 {
            let station = queue.next_station(Instant::ZERO, be).expect("both have packets");
            assert_eq!(station.index(), turn % 2);
            queue.stations.on_turn(station, be.index());
            queue.on_airtime(station, be, Span::from_millis(1 + 20 * turn as u64), Direction::Sent);
        }
    }

    #[test]
    fn weights_share_the_airtime() {
        let mut queue = queue(without_limit());
        queue.on(Instant::ZERO, Fact::Weight { station: StationId(1), weight: 768 });
        let airtime = shares(&mut queue, &[100, 300, 50], 30_000);
        let ratio = airtime[1] as f64 / airtime[0] as f64;
        assert!((2.99..3.01).contains(&ratio), "{airtime:?}");
        assert!(airtime[0].abs_diff(airtime[2]) <= 4_300, "{airtime:?}");
    }

    #[test]
    fn received_airtime_is_charged() {
        let mut queue = queue(without_limit());
        for station in 0..2 {
            for _ in 0..1000 {
                queue.enqueue(Instant::ZERO, packet(station, 0), &mut Vec::new());
            }
        }
        let now = Instant::ZERO;
        let be = Category::Be;
        queue.on_airtime(StationId(0), be, Span::from_millis(30), Direction::Received);
        let mut used = Span::ZERO;
        while queue.next_station(now, be) == Some(StationId(1)) {
            queue.dequeue(now, StationId(1), be, &mut Vec::new());
            queue.on_airtime(StationId(1), be, Span::from_micros(100), Direction::Sent);
            used += Span::from_micros(100);
        }
        assert!((Span::from_millis(30)..=Span::from_micros(30_400)).contains(&used), "{used}");
    }

    #[test]
    fn a_station_that_begins_goes_before_those_that_stand() {
        let mut queue = queue(without_limit());
        shares(&mut queue, &[100, 100, 100], 100);
        let now = at_micros(1_000_000);
        queue.enqueue(now, packet(7, 9), &mut Vec::new());
        assert_eq!(queue.next_station(now, Category::Be), Some(StationId(7)));
    }

    #[test]
    fn slow_stations_have_patient_codel() {
        let mut queue = queue(without_limit());
        for (station, mbps) in [(0, 100), (1, 11), (2, 100)] {
            queue.on_expected_throughput(StationId(station), BitRate::from_mbps(mbps));
        }
        // 11 Mbit/s is below 6 Mbit/s times 2 known stations. Packets wait for 60 ms; one leaves every millisecond.
        let mut first_drop = [None; 3];
        for station in 0..3 {
            let mut dropped = Vec::new();
            for millis in 0..1000 {
                let now = at_micros(millis * 1000);
                let before = Instant::from_nanos(now.as_nanos().saturating_sub(60_000_000));
                for _ in 0..2 {
                    queue.enqueue(before, packet(station, 0), &mut dropped);
                }
                queue.dequeue(now, StationId(station), Category::Be, &mut dropped);
                if !dropped.is_empty() && first_drop[usize::from(station)].is_none() {
                    assert_eq!(dropped[0].reason, DropReason::Congestion);
                    first_drop[usize::from(station)] = Some(millis);
                }
            }
            queue.now = Instant::ZERO;
        }
        // The sojourn time reaches 20 ms at 20 ms, 50 ms at 50 ms; packets are dropped an interval later.
        assert_eq!(first_drop, [Some(120), Some(350), Some(120)]);
    }

    #[test]
    fn the_longest_flow_of_all_stations_pays() {
        let config = FqCodelAirtimeConfig { packets: 100, ..without_limit() };
        let mut queue = queue(config);
        let mut dropped = Vec::new();
        for number in 0..60 {
            queue.enqueue(at_micros(number), packet(1, 1), &mut dropped);
        }
        for number in 0..41 {
            queue.enqueue(at_micros(100 + number), packet(2, 2), &mut dropped);
        }
        // Half of 60 packets of the other station, from its head.
        assert_eq!(dropped.len(), 30);
        for (number, drop) in dropped.iter().enumerate() {
            assert_eq!((drop.reason, drop.packet.station()), (DropReason::QueueFull, StationId(1)));
            assert_eq!(drop.packet.enqueued(), at_micros(number as u64));
        }
        assert_eq!(queue.backlog().total().packets, 71);
    }

    #[test]
    fn the_memory_of_ht_drivers_holds_1820_full_packets() {
        let config = FqCodelAirtimeConfig { memory: ByteCount::new(4 << 20), ..without_limit() };
        let mut queue = queue(config);
        let mut dropped = Vec::new();
        for _ in 0..1820 {
            queue.enqueue(Instant::ZERO, packet(0, 0), &mut dropped);
        }
        assert!(dropped.is_empty());
        queue.enqueue(Instant::ZERO, packet(0, 1), &mut dropped);
        assert_eq!(dropped.len(), 32);
        assert!(dropped.iter().all(|drop| drop.reason == DropReason::MemoryLimit));
    }

    #[test]
    fn estimates_are_charged_where_airtime_is_not_reported() {
        let mut queue = queue(FqCodelAirtimeConfig { charge_estimates: true, ..without_limit() });
        assert!(queue.counts_below());
        let now = Instant::ZERO;
        let mut served = [0; 2];
        for _ in 0..1000 {
            for station in 0..2 {
                queue.enqueue(now, packet(station, 0), &mut Vec::new());
            }
            let station = queue.next_station(now, Category::Be).expect("a backlog");
            queue.dequeue(now, station, Category::Be, &mut Vec::new());
            let estimate = Span::from_micros(if station.0 == 0 { 100 } else { 300 });
            queue.on_handed(now, station, Category::Be, estimate);
            queue.on_returned(station, Category::Be, estimate);
            served[station.index()] += 1;
        }
        assert!((745..=755).contains(&served[0]), "{served:?}");
    }
}

//! The agent's snapshot, the source of the status table, of `--json` and of the metrics.

use airbound_control::frame::DropReason;
use airbound_linux::nl80211::{Bitrate, Station};
use airbound_record::LatencyStats;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use serde::{Deserialize, Serialize};

use crate::engine::{Engine, RuleRecord};

/// A snapshot of the agent's state. Times in milliseconds, rates in Mb/s.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Version of Airbound.
    pub airbound: String,
    /// The Wi-Fi interface.
    pub interface: String,
    /// Name of the scheme.
    pub scheme: String,
    /// The source of completions: "eBPF", or "counters of nl80211" with a reason.
    pub completions: String,
    /// Seconds since the start.
    pub uptime_s: f64,
    /// CPU time of the process, seconds.
    pub cpu_s: f64,
    /// The part of it in readings of counters, seconds; 0 with eBPF.
    pub reading_s: f64,
    /// The parts of the scheme that are in force, and those that are not.
    pub in_force: Vec<String>,
    /// With Law, the latency bound of each station with a known rate.
    pub bounds: Vec<BoundView>,
    /// Counters.
    pub totals: Totals,
    /// Packets held.
    pub held: u64,
    /// Known flows.
    pub flows: u64,
    /// Rules, in the order of the configuration.
    pub rules: Vec<RuleView>,
    /// Flows that match a rule.
    pub protected: Vec<ProtectedView>,
    /// Stations.
    pub stations: Vec<StationRow>,
    /// The stations of each interface as nl80211 lists them.
    #[serde(default)]
    pub interfaces: Vec<InterfaceRow>,
    /// Access categories with something below.
    pub categories: Vec<CategoryRow>,
}

/// The latency bound of a station under Law.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BoundView {
    /// The station's address.
    pub station: String,
    /// Limit_q.
    pub limit_q_ms: f64,
    /// The release window.
    pub window_ms: f64,
    /// The driver's longest try chain.
    pub chain_ms: f64,
    /// Its tries.
    pub tries: u32,
    /// The sum.
    pub total_ms: f64,
}

/// Counters since the start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// Packets that arrived; a super-packet is one.
    pub arrived: u64,
    /// The same with each segment of a super-packet, which is a frame on the air.
    pub arrived_segments: u64,
    /// Packets passed without being held: unknown station, or a group address.
    pub passed: u64,
    /// Held packets that were released.
    pub released: u64,
    /// Packets dropped by the agent.
    pub dropped: u64,
    /// Frames that completed.
    pub completed: u64,
    /// Completed frames that are not the agent's.
    pub foreign: u64,
    /// Packets without a completion.
    pub lost: u64,
    /// Frames of packets that went through without a verdict, while none would have waited.
    #[serde(default)]
    pub through: u64,
    /// Times that packets came to be held again after that.
    #[serde(default)]
    pub through_ends: u64,
    /// Packets that bypassed the agent because the kernel's queue was full.
    pub overruns: u64,
    /// Verdicts that the kernel refused: the packet was gone.
    pub refused: u64,
}

/// A rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RuleView {
    /// Its name.
    pub name: String,
    /// The demanded latency.
    pub demand_ms: f64,
    /// The percentile that the demand bounds.
    pub percentile: f64,
    /// "met" or "missed" in the last second, "idle", or "unknown": packets may have passed the agent unseen.
    pub state: String,
    /// That percentile in the last second with packets.
    pub last_ms: Option<f64>,
    /// The 95th percentile in that second.
    pub last_p95_ms: Option<f64>,
    /// When the demand came into force, seconds since the start: 0 for that of the configuration.
    pub demand_since_s: f64,
    /// The share of seconds since then that met the demand.
    pub met_share: Option<f64>,
    /// Time from arrival at the agent to the acknowledgement.
    pub latency_ms: LatencyStats,
    /// Waiting time of released packets in the agent.
    pub held_ms: LatencyStats,
    /// Packets that arrived.
    pub packets: u64,
    /// Bytes that arrived.
    pub bytes: u64,
    /// That percentile since the demand is in force.
    pub measured_ms: Option<f64>,
    /// Packets that were acknowledged, and their bytes.
    pub acknowledged: u64,
    /// See [`RuleView::acknowledged`].
    pub acknowledged_bytes: u64,
    /// Packets that completed and were not acknowledged.
    pub failed: u64,
    /// Packets without a completion.
    pub unknown: u64,
    /// Packets dropped by the agent, by reason; reasons without packets are left out.
    pub dropped: Vec<(String, u64)>,
}

/// A flow that matches a rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ProtectedView {
    /// Its number.
    pub flow: u32,
    /// The name of its rule.
    pub rule: String,
    /// Its station.
    pub station: String,
    /// Its permitted queueing latency.
    pub permitted_ms: Option<f64>,
    /// Its latency in the last window of the controller.
    pub latency_ms: Option<f64>,
    /// Packets that left the queue.
    pub packets: u64,
    /// Those of them that were urgent.
    pub urgent: u64,
}

/// A station.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StationRow {
    /// Its address.
    pub station: String,
    /// "associated", "stalled" or "gone".
    pub state: String,
    /// The average PHY rate of data to it.
    pub rate_mbps: Option<f64>,
    /// Packets held for it.
    pub held: u64,
    /// Estimated airtime of its packets below.
    pub below_ms: f64,
    /// Airtime of its frames since the start.
    pub airtime_s: f64,
    /// Bytes past the agent between the last two readings of the station's counters; 0 if they were few.
    pub unseen_bytes: u64,
    /// Bytes between these readings that passed before the agent knew the station's address; 0 if they were few.
    pub unmeasured_bytes: u64,
    /// Packets released.
    pub released: u64,
    /// Packets dropped by the agent.
    pub dropped: u64,
    /// Frames that completed.
    pub completed: u64,
    /// Completed frames that were not acknowledged.
    pub failed: u64,
    /// Packets without a completion.
    pub lost: u64,
}

/// An interface and its stations.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct InterfaceRow {
    /// Its name.
    pub interface: String,
    /// Its stations, by address.
    pub stations: Vec<LinkRow>,
}

/// A station as nl80211 lists it. What the driver does not report is `None`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkRow {
    /// Its address.
    pub station: String,
    /// Signal strength of the last frame received, dBm.
    pub signal_dbm: Option<i8>,
    /// Time since its last frame.
    pub inactive_ms: Option<f64>,
    /// Throughput expected by rate control.
    pub expected_mbps: Option<f64>,
    /// Rate of the last frame sent.
    pub sent_mbps: Option<f64>,
    /// Rate of the last frame received.
    pub received_mbps: Option<f64>,
    /// Packets sent.
    pub sent_packets: Option<u32>,
    /// Packets received.
    pub received_packets: Option<u32>,
    /// Bytes sent.
    pub sent_bytes: Option<u64>,
    /// Bytes received.
    pub received_bytes: Option<u64>,
}

impl From<&Station> for LinkRow {
    fn from(station: &Station) -> Self {
        let mbps = |rate: Option<Bitrate>| rate.map(|rate| rate.rate.as_mbps_f64());
        Self {
            station: station.address.to_string(),
            signal_dbm: station.signal,
            inactive_ms: station.inactive.map(Span::as_millis_f64),
            expected_mbps: station.expected_throughput.map(BitRate::as_mbps_f64),
            sent_mbps: mbps(station.transmit_rate),
            received_mbps: mbps(station.receive_rate),
            sent_packets: station.sent_packets,
            received_packets: station.received_packets,
            sent_bytes: station.sent_bytes,
            received_bytes: station.received_bytes,
        }
    }
}

/// An access category.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CategoryRow {
    /// Its name.
    pub category: String,
    /// Estimated airtime below.
    pub below_ms: f64,
    /// Airtime below at which releases stop: half of the window.
    pub gate_ms: f64,
    /// WQM's buffer size in packets.
    pub buffer: Option<u64>,
}

fn rule(record: &RuleRecord, started: Instant) -> RuleView {
    let dropped = DropReason::ALL.iter().zip(record.dropped).filter(|(_, count)| *count > 0);
    RuleView {
        name: record.name.clone(),
        demand_ms: record.demand.latency().as_millis_f64(),
        percentile: record.demand.percentile(),
        state: record.state.name().to_owned(),
        last_ms: record.last.map(Span::as_millis_f64),
        last_p95_ms: record.last_p95.map(Span::as_millis_f64),
        demand_since_s: record.since.since(started).as_secs_f64(),
        met_share: record.met_share(),
        latency_ms: record.latency.stats(),
        held_ms: record.held.stats(),
        packets: record.arrived,
        bytes: record.bytes.as_u64(),
        measured_ms: record.measured().map(Span::as_millis_f64),
        acknowledged: record.acknowledged,
        acknowledged_bytes: record.acknowledged_bytes.as_u64(),
        failed: record.failed,
        unknown: record.unknown,
        dropped: dropped.map(|(reason, count)| (reason.name().to_owned(), count)).collect(),
    }
}

impl Snapshot {
    /// Updates the snapshot from the engine.
    pub fn update(&mut self, now: Instant, started: Instant, engine: &Engine) {
        let counts = engine.counts();
        self.uptime_s = now.since(started).as_secs_f64();
        self.totals = Totals {
            arrived: counts.arrived,
            arrived_segments: counts.arrived_segments,
            passed: counts.passed,
            through: counts.through,
            through_ends: counts.through_ends,
            released: counts.released,
            dropped: counts.dropped,
            completed: counts.completed,
            foreign: counts.foreign,
            lost: counts.lost,
            ..self.totals
        };
        self.held = engine.held() as u64;
        self.flows = engine.flows() as u64;
        self.rules = engine.rules().iter().map(|record| rule(record, started)).collect();
        let names = &self.rules;
        let protected = engine.protected().map(|flow| ProtectedView {
            flow: flow.flow,
            rule: names.get(usize::from(flow.rule)).map(|rule| rule.name.clone()).unwrap_or_default(),
            station: flow.station.to_string(),
            permitted_ms: flow.permitted.map(Span::as_millis_f64),
            latency_ms: flow.latency.map(Span::as_millis_f64),
            packets: flow.packets,
            urgent: flow.urgent,
        });
        self.protected = protected.collect();
        let stations = engine.stations().map(|station| StationRow {
            station: station.mac.to_string(),
            state: match (station.present, station.stalled) {
                (false, _) => "gone",
                (true, true) => "stalled",
                (true, false) => "associated",
            }
            .to_owned(),
            rate_mbps: station.rate_mbps,
            held: station.held as u64,
            below_ms: station.below.as_millis_f64(),
            unseen_bytes: station.unseen.map_or(0, ByteCount::as_u64),
            unmeasured_bytes: station.unmeasured.map_or(0, ByteCount::as_u64),
            airtime_s: station.counts.airtime_us as f64 / 1e6,
            released: station.counts.released,
            dropped: station.counts.dropped,
            completed: station.counts.completed,
            failed: station.counts.failed,
            lost: station.counts.lost,
        });
        self.stations = stations.collect();
        let categories = engine.categories().into_iter().map(|category| CategoryRow {
            category: category.category.name().to_owned(),
            below_ms: category.below_ms,
            gate_ms: category.gate_ms,
            buffer: category.buffer.map(|packets| packets as u64),
        });
        self.categories = categories.collect();
    }
}

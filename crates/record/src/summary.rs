//! `summary.json` and `performance.json`: the stable interface of a run.
//!
//! The keys and their order are those of the structs below. Numbers with a fraction have six significant digits
//! ([`crate::SIGNIFICANT_DIGITS`]), so that one scenario and seed give the same bytes on every machine; what
//! depends on the machine stands in [`Performance`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::RecordError;
use crate::number;

/// Results of a run: `summary.json`. The same for a simulated, a lab and a field run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Version of Airbound that made the run.
    pub airbound: String,
    /// Name of the scenario.
    pub scenario: String,
    /// Contents of the four slots.
    pub scheme: Scheme,
    /// Seed of the run.
    pub seed: u64,
    /// Measured time, seconds (without warm-up).
    #[serde(with = "number")]
    pub duration_s: f64,
    /// Every flow, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// Every station, in the order of the scenario.
    pub stations: Vec<StationSummary>,
    /// The medium as a whole.
    pub air: AirSummary,
    /// Fairness among flows and stations.
    pub jain: Jain,
    /// Only of a multi-user session: what it was worth to its users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ConferenceSummary>,
    /// Only of a scenario that names its networks: each of them, in its order. What stands above is of all together: `air` has the
    /// mean busy share of the channels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkSummary>,
}

/// QoE of the users of a multi-user session, fairness and utility (Plum, equations 1 and 2), all of them from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConferenceSummary {
    /// Name of the QoE function of one user (Table I).
    pub qoe: String,
    /// M: the received bitrate that gives a QoE of 1, Mb/s.
    #[serde(with = "number")]
    pub max_bitrate_mbps: f64,
    /// Weight of fairness in the utility.
    #[serde(with = "number")]
    pub rho: f64,
    /// Every user, in the order of the scenario.
    pub users: Vec<UserSummary>,
    /// The mean QoE, by weight.
    #[serde(with = "number")]
    pub mean_qoe: f64,
    /// F: 1 less twice the standard deviation of the QoE, by weight.
    #[serde(with = "number")]
    pub fairness: f64,
    /// U = (1 - rho) mean + rho F.
    #[serde(with = "number")]
    pub utility: f64,
}

/// One user of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserSummary {
    /// Name of the client.
    pub name: String,
    /// Weight of the user relative to the others.
    #[serde(with = "number")]
    pub weight: f64,
    /// QoE of its mean received bitrate.
    #[serde(with = "number")]
    pub qoe: f64,
}

/// One of several networks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkSummary {
    /// Its name.
    pub name: String,
    /// The number of its channel.
    pub channel: u16,
    /// The scheme that decided in it.
    pub scheme: String,
    /// The names of its stations.
    pub stations: Vec<String>,
    /// Goodput of its flows to the stations, Mb/s of payload.
    #[serde(with = "number")]
    pub downlink_mbps: f64,
    /// The same of those from the stations.
    #[serde(with = "number")]
    pub uplink_mbps: f64,
    /// Share of the measured time that its transmissions took.
    #[serde(with = "number")]
    pub airtime_share: f64,
    /// Its channel: how long it was busy with all networks on it, and which share of its own transmissions collided.
    pub air: AirSummary,
    /// Fairness within it.
    pub jain: Jain,
}

/// Contents of the four slots of the scheme, by name; a slot that the scenario leaves empty is null.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Queue of the access point.
    pub queue: String,
    /// Rate control.
    pub rate: String,
    /// When a source sends.
    pub sender: Option<String>,
    /// Bitrates of a multi-user session.
    pub session: Option<String>,
}

/// Which way a flow's data go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the access point to the station.
    Downlink,
    /// From the station to the access point.
    Uplink,
}

/// One flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSummary {
    /// Name, unique in the scenario.
    pub name: String,
    /// Kind of traffic: "cbr", "voip", "tcp", "vr" ...
    pub kind: String,
    /// Name of the station at the Wi-Fi end.
    pub station: String,
    /// Which way the data go.
    pub direction: Direction,
    /// Offered load: rate that the source wanted to send, Mb/s of payload.
    #[serde(with = "number")]
    pub offered_mbps: f64,
    /// Goodput: rate that the receiver's application got, Mb/s of payload.
    #[serde(with = "number")]
    pub goodput_mbps: f64,
    /// Latency of delivered packets, from sending to arrival.
    pub latency_ms: LatencyStats,
    /// TCP only: round trips that the sender measured, one for each acknowledgement that allows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<LatencyStats>,
    /// Dropped packets over dropped and delivered ones; null where there were neither.
    #[serde(with = "number::optional")]
    pub loss_rate: Option<f64>,
    /// Where the packets of the flow ended.
    pub packets: PacketCounts,
    /// Dropped packets by reason.
    pub drops: BTreeMap<String, u64>,
    /// Video only: frames delivered per second.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::optional")]
    pub fps: Option<f64>,
    /// Video only: latency of whole frames, from creation to the arrival of the last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_latency_ms: Option<LatencyStats>,
    /// Video only: of real-time video the share of time in which the picture stood still, see [`RtcSummary`]; of a VR stream the
    /// share of frames that a viewer had to do without in time.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::optional")]
    pub stall_rate: Option<f64>,
    /// Real-time video only: what congestion control, error correction and retransmission made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtc: Option<RtcSummary>,
    /// Only where a latency is demanded of it: whether the demand was met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandSummary>,
    /// Only where the queue protected a flow that nobody named: since when, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundSummary>,
}

/// Real-time video. Its `stall_rate` is the time in frozen frames over all time: a frame that comes later after the one before
/// than three times the mean of the last 30 intervals, and than that mean and 150 ms, was waited for in front of a frozen picture
/// (W3C webrtc-stats, `totalFreezesDuration`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RtcSummary {
    /// Mean bitrate that the encoder produced, Mb/s of coded video.
    #[serde(with = "number")]
    pub bitrate_mbps: f64,
    /// Mean rate that congestion control allowed, Mb/s, all that is sent included.
    #[serde(with = "number")]
    pub allowed_mbps: f64,
    /// A frame is late if it can be decoded later than this after it was created.
    #[serde(with = "number")]
    pub deadline_ms: f64,
    /// Frames that were late, or never came, over all whose fate is known; null if there were none.
    #[serde(with = "number::optional")]
    pub deadline_miss_rate: Option<f64>,
    /// Frames by fate.
    pub frames: FrameCounts,
    /// Share of frames of which the network lost at least one packet as it was sent for the first time.
    #[serde(with = "number::optional")]
    pub frames_lossy_share: Option<f64>,
    /// Share of frames of which it lost more than a fifth of the packets so.
    #[serde(with = "number::optional")]
    pub frames_over_20pct_loss_share: Option<f64>,
    /// Share of complete frames that a retransmission completed.
    #[serde(with = "number::optional")]
    pub frames_retransmitted_share: Option<f64>,
    /// Latency until they were complete of all other frames: their last packet was recovered, or sent for the first time.
    pub first_time_frame_latency_ms: LatencyStats,
    /// Lost packets that forward error correction recovered.
    pub packets_recovered: u64,
    /// Lost packets that retransmissions brought.
    pub packets_retransmitted: u64,
    /// Key frames that the receiver asked for, having lost what it builds on.
    pub key_frame_requests: u64,
    /// Sending rates by kind of packet, Mb/s of IP packets.
    pub sent_mbps: SentRates,
}

/// Video frames by fate, of those created in the measured time: `delivered + lost + skipped + unfinished = created`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameCounts {
    /// All of them.
    pub created: u64,
    /// They could be decoded.
    pub delivered: u64,
    /// Of the delivered ones, those that were late.
    pub late: u64,
    /// The receiver went on without them.
    pub lost: u64,
    /// Not coded, since too much waited to be sent.
    pub skipped: u64,
    /// Neither when the run ended.
    pub unfinished: u64,
}

/// Rates of what a real-time video sends, Mb/s of IP packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentRates {
    /// Packets of frames, sent for the first time.
    #[serde(with = "number")]
    pub media: f64,
    /// Forward error correction.
    #[serde(with = "number")]
    pub fec: f64,
    /// Retransmissions.
    #[serde(with = "number")]
    pub retransmission: f64,
    /// Padding that probes for bandwidth.
    #[serde(with = "number")]
    pub padding: f64,
    /// Feedback that the receiver sends back.
    #[serde(with = "number")]
    pub feedback: f64,
}

/// A latency demand, and what became of it. The latency is that of Wi-Fi alone: from entering the queue of the transmitter to the
/// acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemandSummary {
    /// The latency that was demanded last.
    #[serde(with = "number")]
    pub latency_ms: f64,
    /// Of which percentile, in percent.
    #[serde(with = "number")]
    pub percentile: f64,
    /// That percentile of the packets that were acknowledged since then; null if there were none.
    #[serde(with = "number::optional")]
    pub measured_ms: Option<f64>,
    /// Share of the seconds, of those with acknowledged packets, in which the percentile kept to the demand of the time; null if
    /// there were none.
    #[serde(with = "number::optional")]
    pub met_share: Option<f64>,
}

/// A flow that a queue chose to protect by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoundSummary {
    /// When it was first found, seconds from the beginning of the run, warm-up included.
    #[serde(with = "number")]
    pub at_s: f64,
    /// Why it was protected last, as a sentence.
    pub because: String,
}

/// Quantiles of a latency in milliseconds; all null where there was no sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyStats {
    /// Median.
    #[serde(with = "number::optional")]
    pub p50: Option<f64>,
    /// 90th percentile.
    #[serde(with = "number::optional")]
    pub p90: Option<f64>,
    /// 95th percentile.
    #[serde(with = "number::optional")]
    pub p95: Option<f64>,
    /// 99th percentile.
    #[serde(with = "number::optional")]
    pub p99: Option<f64>,
    /// 99.9th percentile.
    #[serde(with = "number::optional")]
    pub p999: Option<f64>,
    /// 99.99th percentile.
    #[serde(with = "number::optional")]
    pub p9999: Option<f64>,
    /// Mean.
    #[serde(with = "number::optional")]
    pub mean: Option<f64>,
    /// Largest.
    #[serde(with = "number::optional")]
    pub max: Option<f64>,
}

/// Where the packets of a flow ended: `delivered + dropped + queued = sent`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketCounts {
    /// Given to the network by the source.
    pub sent: u64,
    /// Arrived.
    pub delivered: u64,
    /// Dropped for a stated reason.
    pub dropped: u64,
    /// Still under way when the run ended.
    pub queued: u64,
}

impl PacketCounts {
    /// Whether every packet is accounted for exactly once.
    #[must_use]
    pub fn conserved(&self) -> bool {
        self.delivered.checked_add(self.dropped).and_then(|n| n.checked_add(self.queued)) == Some(self.sent)
    }
}

/// One station.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationSummary {
    /// Name, unique in the scenario.
    pub name: String,
    /// Share of the measured time that transmissions to and from it took.
    #[serde(with = "number")]
    pub airtime_share: f64,
    /// Mean number of MPDUs in an A-MPDU sent to or by it; null if none was sent.
    #[serde(with = "number::optional")]
    pub mean_ampdu: Option<f64>,
    /// MPDUs sent again over MPDUs sent; null if none was sent.
    #[serde(with = "number::optional")]
    pub retry_rate: Option<f64>,
    /// Mean PHY rate of data MPDUs, Mb/s; null if none was sent.
    #[serde(with = "number::optional")]
    pub mean_phy_rate_mbps: Option<f64>,
}

/// The medium as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AirSummary {
    /// Share of the measured time in which the medium was busy.
    #[serde(with = "number")]
    pub busy_share: f64,
    /// Collided transmissions over all transmissions; null if there was none.
    #[serde(with = "number::optional")]
    pub collision_rate: Option<f64>,
}

/// Jain's index of fairness, 1/n (one has all) to 1 (all equal); null where it is undefined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jain {
    /// Of the goodput of flows.
    #[serde(with = "number::optional")]
    pub goodput: Option<f64>,
    /// Of the airtime of stations.
    #[serde(with = "number::optional")]
    pub airtime: Option<f64>,
}

impl Jain {
    /// `(sum x)^2 / (n sum x^2)`; `None` without shares or if all are zero.
    #[must_use]
    pub fn index(shares: &[f64]) -> Option<f64> {
        let sum: f64 = shares.iter().sum();
        let squares: f64 = shares.iter().map(|share| share * share).sum();
        (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
    }
}

/// Speed of a run: `performance.json`. Differs from machine to machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Performance {
    /// Events that the simulator handled.
    pub events: u64,
    /// Wall time of the run, seconds.
    #[serde(with = "number")]
    pub wall_s: f64,
    /// Simulated seconds per second of wall time.
    #[serde(with = "number")]
    pub simulated_s_per_wall_s: f64,
    /// Largest resident memory of the process, MB (10^6 bytes); null where the system does not tell.
    #[serde(with = "number::optional")]
    pub peak_rss_mb: Option<f64>,
}

impl Summary {
    /// The text of `summary.json`, with a line feed at its end.
    ///
    /// # Errors
    /// If a number is infinite or undefined.
    pub fn to_json(&self) -> Result<String, RecordError> {
        to_json("summary", self)
    }
}

impl Performance {
    /// The text of `performance.json`, with a line feed at its end.
    ///
    /// # Errors
    /// If a number is infinite or undefined.
    pub fn to_json(&self) -> Result<String, RecordError> {
        to_json("performance", self)
    }
}

fn to_json(document: &'static str, value: &impl Serialize) -> Result<String, RecordError> {
    let mut text =
        serde_json::to_string_pretty(value).map_err(|source| RecordError::Unwritable { document, source })?;
    text.push('\n');
    Ok(text)
}

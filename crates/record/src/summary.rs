//! `summary.json` and `performance.json`: the stable interface of a run.
//!
//! The keys and their order are those of the structs below. Numbers with a fraction have six significant digits
//! ([`crate::SIGNIFICANT_DIGITS`]), so that a scenario and seed give the same bytes on every machine; values that depend on the
//! machine are in [`Performance`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::emulation::{ApplicationFlow, EmulationSummary};
#[cfg(feature = "files")]
use crate::error::RecordError;
use crate::number;

/// Results of a run: `summary.json`. The form is the same for simulated, laboratory and field runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// Version of Airbound.
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
    /// All flows, in the order of the scenario.
    pub flows: Vec<FlowSummary>,
    /// All stations, in the order of the scenario.
    pub stations: Vec<StationSummary>,
    /// The medium as a whole.
    pub air: AirSummary,
    /// Fairness among flows and stations.
    pub jain: Jain,
    /// Conferences only: QoE and utility.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ConferenceSummary>,
    /// Scenarios with `[[network]]` only: all networks, in their order. The fields above cover all of them; `air` has the mean busy share
    /// of the channels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub networks: Vec<NetworkSummary>,
    /// Emulated runs only: their real time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub emulation: Option<EmulationSummary>,
}

/// QoE of a conference's users, fairness and utility (Plum, equations 1 and 2), all from 0 to 1.
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
    /// All users, in the order of the scenario.
    pub users: Vec<UserSummary>,
    /// The weighted mean QoE.
    #[serde(with = "number")]
    pub mean_qoe: f64,
    /// F: 1 less twice the weighted standard deviation of the QoE.
    #[serde(with = "number")]
    pub fairness: f64,
    /// U = (1 - rho) mean + rho F.
    #[serde(with = "number")]
    pub utility: f64,
}

/// One user of a conference.
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
    /// Its scheme.
    pub scheme: String,
    /// The names of its stations.
    pub stations: Vec<String>,
    /// Goodput of its downlink flows, Mb/s of payload.
    #[serde(with = "number")]
    pub downlink_mbps: f64,
    /// Goodput of its uplink flows, Mb/s of payload.
    #[serde(with = "number")]
    pub uplink_mbps: f64,
    /// Airtime share of its transmissions.
    #[serde(with = "number")]
    pub airtime_share: f64,
    /// Its channel: the busy share over all networks on it, and the collided share of its own transmissions.
    pub air: AirSummary,
    /// Fairness within it.
    pub jain: Jain,
}

/// Contents of the scheme's slots, by name; an unused slot is null.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Queue of the access point.
    pub queue: String,
    /// Rate control.
    pub rate: String,
    /// The sender: congestion control or rate allocation.
    pub sender: Option<String>,
    /// The bitrate policy of a conference.
    pub session: Option<String>,
}

/// Direction of a flow's data.
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
    /// Name of the station.
    pub station: String,
    /// Direction of the data.
    pub direction: Direction,
    /// Offered load of the source, Mb/s of payload, over the measured time; of an application over the time in which it was active
    /// ([`ApplicationFlow::active_s`]), as the goodput.
    #[serde(with = "number")]
    pub offered_mbps: f64,
    /// Goodput at the receiver's application, Mb/s of payload.
    #[serde(with = "number")]
    pub goodput_mbps: f64,
    /// Latency of delivered packets, from sending to arrival.
    pub latency_ms: LatencyStats,
    /// TCP only: round trips measured by the sender, one for each suitable acknowledgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<LatencyStats>,
    /// TCP only: round trips a minute, 60 000 over the mean of the least 95 % of `rtt_ms`. Of a flow that fills the network it is
    /// `Loaded_Responsiveness` of draft-ietf-ippm-responsiveness-06, with segments and their acknowledgements as probes.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::optional")]
    pub rpm: Option<f64>,
    /// Dropped packets over dropped and delivered ones; null without either.
    #[serde(with = "number::optional")]
    pub loss_rate: Option<f64>,
    /// Packets by fate.
    pub packets: PacketCounts,
    /// Dropped packets by reason.
    pub drops: BTreeMap<String, u64>,
    /// Video only: frames delivered per second.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::optional")]
    pub fps: Option<f64>,
    /// Video only: latency of frames, from creation to the arrival of the last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_latency_ms: Option<LatencyStats>,
    /// Video only: for real-time video the share of time in frozen frames, see [`RtcSummary`]; for a VR stream the share of frames that
    /// missed their deadline, those included that still wait past it at the end.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "number::optional")]
    pub stall_rate: Option<f64>,
    /// Real-time video only: results of congestion control, error correction and retransmission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtc: Option<RtcSummary>,
    /// Flows with a latency demand only: the result of the demand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand: Option<DemandSummary>,
    /// Flows protected by auto-detection only: the time and the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<FoundSummary>,
}

/// Real-time video. The flow's `stall_rate` is the time in frozen frames over all time: the interval before a frame counts as frozen
/// if it exceeds both three times the mean of the last 30 intervals and that mean plus 150 ms (W3C webrtc-stats,
/// `totalFreezesDuration`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RtcSummary {
    /// Mean bitrate of the encoder, Mb/s of coded video.
    #[serde(with = "number")]
    pub bitrate_mbps: f64,
    /// Mean target rate of congestion control for all packets, Mb/s.
    #[serde(with = "number")]
    pub allowed_mbps: f64,
    /// Deadline of frames: the longest time from creation until a frame can be decoded.
    #[serde(with = "number")]
    pub deadline_ms: f64,
    /// Frames that were late or lost over all frames with a known fate; null without frames.
    #[serde(with = "number::optional")]
    pub deadline_miss_rate: Option<f64>,
    /// Frames by fate.
    pub frames: FrameCounts,
    /// Share of frames of which the network lost at least one packet's first transmission.
    #[serde(with = "number::optional")]
    pub frames_lossy_share: Option<f64>,
    /// Share of frames of which it lost the first transmission of more than a fifth of the packets.
    #[serde(with = "number::optional")]
    pub frames_over_20pct_loss_share: Option<f64>,
    /// Share of complete frames whose last packet was a retransmission.
    #[serde(with = "number::optional")]
    pub frames_retransmitted_share: Option<f64>,
    /// Completion time of the other complete frames, whose last packet was recovered or a first transmission.
    pub first_time_frame_latency_ms: LatencyStats,
    /// Lost packets recovered by forward error correction.
    pub packets_recovered: u64,
    /// Lost packets received by retransmission.
    pub packets_retransmitted: u64,
    /// Key frames requested by the receiver after a loss.
    pub key_frame_requests: u64,
    /// Sending rates by kind of packet, Mb/s of IP packets.
    pub sent_mbps: SentRates,
}

/// Video frames by fate, of those created in the measured time: `delivered + lost + skipped + unfinished = created`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrameCounts {
    /// Frames created.
    pub created: u64,
    /// Frames that could be decoded.
    pub delivered: u64,
    /// Delivered frames that were late.
    pub late: u64,
    /// Frames that the receiver gave up.
    pub lost: u64,
    /// Frames not coded because of a full send queue.
    pub skipped: u64,
    /// Frames with unknown fate at the end of the run.
    pub unfinished: u64,
}

/// Sending rates of real-time video, Mb/s of IP packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentRates {
    /// First transmissions of media packets.
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
    /// Feedback of the receiver.
    #[serde(with = "number")]
    pub feedback: f64,
}

/// A latency demand and its result. The latency is that of Wi-Fi alone, from entering the transmitter's queue to the acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DemandSummary {
    /// The last demanded latency.
    #[serde(with = "number")]
    pub latency_ms: f64,
    /// The percentile that it bounds, in percent.
    #[serde(with = "number")]
    pub percentile: f64,
    /// That percentile of the packets acknowledged since then; null without packets.
    #[serde(with = "number::optional")]
    pub measured_ms: Option<f64>,
    /// Share of seconds whose percentile met the demand of the time, of those with acknowledged packets; null without such seconds.
    #[serde(with = "number::optional")]
    pub met_share: Option<f64>,
}

/// A flow protected by auto-detection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoundSummary {
    /// Time of the first detection, seconds from the start of the run, warm-up included.
    #[serde(with = "number")]
    pub at_s: f64,
    /// The reason of the last protection, as a sentence.
    pub because: String,
}

/// Quantiles of a latency in milliseconds; all null without samples.
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

/// Packets of a flow by fate: `delivered + dropped + queued = sent`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketCounts {
    /// Sent by the source.
    pub sent: u64,
    /// Arrived.
    pub delivered: u64,
    /// Dropped for a stated reason.
    pub dropped: u64,
    /// In the network at the end of the run.
    pub queued: u64,
}

impl PacketCounts {
    /// Whether every packet has exactly one fate.
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
    /// Airtime share of transmissions to and from it.
    #[serde(with = "number")]
    pub airtime_share: f64,
    /// Mean number of MPDUs of the A-MPDUs sent to or by it; null without transmissions.
    #[serde(with = "number::optional")]
    pub mean_ampdu: Option<f64>,
    /// Retransmitted MPDUs over MPDUs sent; null without transmissions.
    #[serde(with = "number::optional")]
    pub retry_rate: Option<f64>,
    /// Mean PHY rate of data MPDUs, Mb/s; null without transmissions.
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
    /// Collided transmissions over all transmissions; null without transmissions.
    #[serde(with = "number::optional")]
    pub collision_rate: Option<f64>,
}

/// Jain's fairness index, 1/n (one has all) to 1 (all equal); null if undefined.
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

/// Speed of a run: `performance.json`, which depends on the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Performance {
    /// Events of the simulator.
    pub events: u64,
    /// Wall time of the run, seconds.
    #[serde(with = "number")]
    pub wall_s: f64,
    /// Simulated seconds per second of wall time.
    #[serde(with = "number")]
    pub simulated_s_per_wall_s: f64,
    /// Largest resident memory of the process, MB (10^6 bytes); null if unknown.
    #[serde(with = "number::optional")]
    pub peak_rss_mb: Option<f64>,
}

impl Summary {
    /// The application's side of a flow; `None` for flows that were simulated.
    #[must_use]
    pub fn application(&self, flow: &str) -> Option<&ApplicationFlow> {
        self.emulation.as_ref()?.flows.iter().find(|one| one.name == flow)
    }

    /// The text of `summary.json`, with a line feed at its end.
    ///
    /// # Errors
    /// If a number is infinite or undefined.
    #[cfg(feature = "files")]
    pub fn to_json(&self) -> Result<String, RecordError> {
        to_json("summary", self)
    }
}

impl Performance {
    /// The text of `performance.json`, with a line feed at its end.
    ///
    /// # Errors
    /// If a number is infinite or undefined.
    #[cfg(feature = "files")]
    pub fn to_json(&self) -> Result<String, RecordError> {
        to_json("performance", self)
    }
}

#[cfg(feature = "files")]
fn to_json(document: &'static str, value: &impl Serialize) -> Result<String, RecordError> {
    let mut text =
        serde_json::to_string_pretty(value).map_err(|source| RecordError::Unwritable { document, source })?;
    text.push('\n');
    Ok(text)
}

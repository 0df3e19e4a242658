//! `emulation` of `summary.json`: the exactness of a run in real time.

use serde::{Deserialize, Serialize};

use crate::number;

/// Real time of an emulated run. All of it depends on the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmulationSummary {
    /// Whether at most 1 % of the packets were released more than 1 ms late: otherwise the run does not count.
    pub counts: bool,
    /// Share of packets that were released more than 1 ms late; `None` without packets.
    #[serde(with = "number::optional")]
    pub late_share: Option<f64>,
    /// Scheduling class of the emulator: `fifo` or `other`.
    pub class: String,
    /// Lateness of the first packet of each aggregate.
    pub first: Lateness,
    /// Lateness of the last packet of each aggregate, after it was written.
    pub last: Lateness,
    /// Packets that were released.
    pub packets: u64,
    /// Aggregates that they came in: packets due at one instant for one host.
    pub aggregates: u64,
    /// Number of times that the emulator was more than 50 ms behind and put its clock back.
    pub slips: u64,
    /// Time put back, seconds.
    #[serde(with = "number")]
    pub slipped_s: f64,
    /// Packets that the kernel dropped at the devices, because the emulator read them too late or a host had no room.
    pub device_drops: Option<u64>,
    /// Packets that a queue marked as having experienced congestion, in place of a drop.
    #[serde(default)]
    pub marked: u64,
    /// Packets to no host of the emulation, multicast among them.
    pub strays: u64,
    /// Share of the machine's processor time that its hypervisor gave to others; `None` if the kernel does not tell.
    #[serde(with = "number::optional")]
    pub steal_share: Option<f64>,
    /// Processors that the emulator used on average.
    #[serde(with = "number")]
    pub processors: f64,
    /// The part of them that waited busily for the next deadline.
    #[serde(with = "number", default)]
    pub spinning: f64,
    /// The part of them that the kernel used for reading and writing packets and for sleeping; `None` if it does not tell. The rest
    /// is the simulation.
    #[serde(with = "number::optional", default)]
    pub system: Option<f64>,
    /// Flows of applications, in the order of `flows`.
    pub flows: Vec<ApplicationFlow>,
}

/// A distribution of lateness, microseconds; `None` without aggregates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lateness {
    /// Median.
    #[serde(with = "number::optional")]
    pub p50_us: Option<f64>,
    /// 99th percentile.
    #[serde(with = "number::optional")]
    pub p99_us: Option<f64>,
    /// 99.9th percentile.
    #[serde(with = "number::optional")]
    pub p999_us: Option<f64>,
    /// Longest.
    #[serde(with = "number::optional")]
    pub max_us: Option<f64>,
}

/// The packets behind a flow of the results.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApplicationFlow {
    /// Its name in the results.
    pub name: String,
    /// Protocol, source and destination of its first packet.
    pub first: String,
    /// Number of other connections that later had the same flow.
    pub others: u64,
    /// Time from its first packet to its last one, sent or delivered, seconds: its rates in `flows` are over this time.
    #[serde(with = "number", default)]
    pub active_s: f64,
    /// Bytes that the application sent, from the IP header on.
    #[serde(default)]
    pub sent_bytes: u64,
    /// Those of them that arrived.
    #[serde(default)]
    pub delivered_bytes: u64,
    /// Under a demand the number of seconds with acknowledged packets, which the demand's `met_share` is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demand_seconds: Option<u64>,
}

impl ApplicationFlow {
    /// Share of the bytes sent that arrived, 0 to 1; `None` if none were sent.
    #[must_use]
    pub fn delivered_share(&self) -> Option<f64> {
        (self.sent_bytes > 0).then(|| self.delivered_bytes as f64 / self.sent_bytes as f64)
    }

    /// The rates at which it sent and delivered while it was active, Mb/s; 0 if it had a single packet which was lost.
    #[must_use]
    pub fn rates(&self) -> (f64, f64) {
        let mbps = |bytes: u64| {
            let rate = bytes as f64 * 8.0 / 1e6 / self.active_s;
            if rate.is_finite() { rate } else { 0.0 }
        };
        (mbps(self.sent_bytes), mbps(self.delivered_bytes))
    }
}

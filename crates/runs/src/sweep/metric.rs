//! Metrics that are kept of each run: the figures of its summary, flow by flow.

use airbound_record::{FlowSummary, LatencyStats, StationSummary, Summary, UserSummary, rounded};
use airbound_scenario::Scenario;
use serde::{Deserialize, Serialize};

/// A figure of a flow, or of the run that it belongs to.
pub(crate) struct Metric {
    /// Name of its column, with the unit.
    pub(crate) name: &'static str,
    /// The unit; empty where there is none.
    pub(crate) unit: &'static str,
    /// Its meaning, in words.
    pub(crate) meaning: &'static str,
    /// Whether it counts something.
    pub(crate) is_count: bool,
    /// Whether more of it is better; `None` where that depends.
    pub(crate) more_is_better: Option<bool>,
    of: fn(&Facts<'_>) -> Option<f64>,
}

/// Where a figure is taken from.
struct Facts<'a> {
    summary: &'a Summary,
    flow: &'a FlowSummary,
    /// That of the flow, where it is on the air.
    station: Option<&'a StationSummary>,
}

impl Facts<'_> {
    fn rtt(&self) -> LatencyStats {
        self.flow.rtt_ms.unwrap_or_default()
    }

    /// The user of a session that the flow is of.
    fn user(&self) -> Option<&UserSummary> {
        let mut users = self.summary.session.iter().flat_map(|session| &session.users);
        users.find(|user| matches!(self.flow.name.strip_prefix(&user.name), Some(" down" | " up")))
    }

    fn frame(&self) -> LatencyStats {
        self.flow.frame_latency_ms.unwrap_or_default()
    }
}

const LESS: Option<bool> = Some(false);
const MORE: Option<bool> = Some(true);

macro_rules! metrics {
    ($($name:literal, $unit:literal, $count:literal, $better:expr, $meaning:literal, $of:expr;)*) => {
        &[$(Metric {
            name: $name,
            unit: $unit,
            meaning: $meaning,
            is_count: $count,
            more_is_better: $better,
            of: $of,
        },)*]
    };
}

/// Every figure, in the order of the columns. The keys of `summary.json` with their path joined by underscores.
pub(crate) const METRICS: &[Metric] = metrics![
    "offered_mbps", "Mb/s", false, None, "what the source wanted to send", |f| Some(f.flow.offered_mbps);
    "goodput_mbps", "Mb/s", false, MORE, "what the receiver's application got", |f| Some(f.flow.goodput_mbps);
    "loss_rate", "", false, LESS, "dropped packets over dropped and delivered ones", |f| f.flow.loss_rate;
    "latency_p50_ms", "ms", false, LESS, "median latency of packets", |f| f.flow.latency_ms.p50;
    "latency_p90_ms", "ms", false, LESS, "90th percentile", |f| f.flow.latency_ms.p90;
    "latency_p95_ms", "ms", false, LESS, "95th percentile", |f| f.flow.latency_ms.p95;
    "latency_p99_ms", "ms", false, LESS, "99th percentile", |f| f.flow.latency_ms.p99;
    "latency_p999_ms", "ms", false, LESS, "99.9th percentile", |f| f.flow.latency_ms.p999;
    "latency_p9999_ms", "ms", false, LESS, "99.99th percentile", |f| f.flow.latency_ms.p9999;
    "latency_mean_ms", "ms", false, LESS, "mean latency of packets", |f| f.flow.latency_ms.mean;
    "latency_max_ms", "ms", false, LESS, "largest latency of a packet", |f| f.flow.latency_ms.max;
    "rtt_p50_ms", "ms", false, LESS, "TCP: median round trip", |f| f.rtt().p50;
    "rtt_p95_ms", "ms", false, LESS, "TCP: 95th percentile of round trips", |f| f.rtt().p95;
    "rtt_p99_ms", "ms", false, LESS, "TCP: 99th percentile of round trips", |f| f.rtt().p99;
    "packets_sent", "", true, None, "given to the network by the source", |f| Some(f.flow.packets.sent as f64);
    "packets_delivered", "", true, MORE, "arrived", |f| Some(f.flow.packets.delivered as f64);
    "packets_dropped", "", true, LESS, "dropped", |f| Some(f.flow.packets.dropped as f64);
    "packets_queued", "", true, None, "under way when the run ended", |f| Some(f.flow.packets.queued as f64);
    "fps", "1/s", false, MORE, "video: frames delivered per second", |f| f.flow.fps;
    "frame_latency_p50_ms", "ms", false, LESS, "video: median latency of frames", |f| f.frame().p50;
    "frame_latency_p95_ms", "ms", false, LESS, "video: 95th percentile of frames", |f| f.frame().p95;
    "frame_latency_p99_ms", "ms", false, LESS, "video: 99th percentile of frames", |f| f.frame().p99;
    "frame_latency_p999_ms", "ms", false, LESS, "video: 99.9th percentile of frames", |f| f.frame().p999;
    "stall_rate", "", false, LESS, "video: stalled time (real-time), or frames not there in time (VR)", |f| f.flow.stall_rate;
    "deadline_miss_rate", "", false, LESS, "real-time video: frames late or never there", |f| f.flow.rtc?.deadline_miss_rate;
    "bitrate_mbps", "Mb/s", false, MORE, "real-time video: mean rate of the encoder", |f| Some(f.flow.rtc?.bitrate_mbps);
    "demand_measured_ms", "ms", false, LESS, "the demanded percentile, measured", |f| f.flow.demand?.measured_ms;
    "demand_met_share", "", false, MORE, "share of the seconds in which the demand was met", |f| f.flow.demand?.met_share;
    "station_airtime_share", "", false, None, "airtime of the flow's station", |f| Some(f.station?.airtime_share);
    "station_mean_ampdu", "", false, None, "MPDUs in an A-MPDU of its station", |f| f.station?.mean_ampdu;
    "station_retry_rate", "", false, LESS, "MPDUs of its station sent again", |f| f.station?.retry_rate;
    "station_mean_phy_rate_mbps", "Mb/s", false, MORE, "mean PHY rate of its station", |f| f.station?.mean_phy_rate_mbps;
    "air_busy_share", "", false, None, "of the run: share of the time in which the medium was busy", |f| Some(f.summary.air.busy_share);
    "air_collision_rate", "", false, LESS, "of the run: collided transmissions", |f| f.summary.air.collision_rate;
    "jain_goodput", "", false, MORE, "of the run: Jain's index of the flows' goodput", |f| f.summary.jain.goodput;
    "jain_airtime", "", false, MORE, "of the run: Jain's index of the stations' airtime", |f| f.summary.jain.airtime;
    "user_qoe", "", false, MORE, "sessions: QoE of the flow's client, 0 to 1", |f| f.user().map(|user| user.qoe);
    "session_mean_qoe", "", false, MORE, "of the run: weighted mean QoE of a session", |f| Some(f.summary.session.as_ref()?.mean_qoe);
    "session_fairness", "", false, MORE, "of the run: fairness of a session", |f| Some(f.summary.session.as_ref()?.fairness);
    "session_utility", "", false, MORE, "of the run: utility of a session", |f| Some(f.summary.session.as_ref()?.utility);
    "duration_s", "s", false, None, "of the run: measured time", |f| Some(f.summary.duration_s);
];

impl Metric {
    /// The metric of that name, by its number.
    #[must_use]
    pub(crate) fn find(name: &str) -> Option<usize> {
        METRICS.iter().position(|metric| metric.name == name)
    }
}

/// Results of one flow in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowResult {
    /// Its name.
    pub flow: String,
    /// The entry of the scenario that it comes from.
    pub group: String,
    /// Kind of traffic.
    pub kind: String,
    /// Its station.
    pub station: String,
    /// `downlink` or `uplink`.
    pub direction: String,
    /// Values in the order of `METRICS`; `None` where there is no such figure.
    pub values: Vec<Option<f64>>,
}

/// Results of a run, flow by flow.
pub type RunResult = Vec<FlowResult>;

/// The figures of a run, six digits each, as its `summary.json` has them.
pub(crate) fn results(summary: &Summary, scenario: &Scenario) -> RunResult {
    let group = |name: &str| {
        let listed = scenario.flows.iter().find(|flow| flow.name == name).map(|flow| flow.group.clone());
        listed.or_else(|| session_group(scenario, name)).unwrap_or_else(|| name.to_owned())
    };
    let flows = summary.flows.iter().map(|flow| {
        let station = summary.stations.iter().find(|station| station.name == flow.station);
        let facts = Facts { summary, flow, station };
        let value = |metric: &Metric| (metric.of)(&facts).filter(|value| value.is_finite()).map(rounded);
        FlowResult {
            flow: flow.name.clone(),
            group: group(&flow.name),
            kind: flow.kind.clone(),
            station: flow.station.clone(),
            direction: match flow.direction {
                airbound_record::Direction::Downlink => "downlink".to_owned(),
                airbound_record::Direction::Uplink => "uplink".to_owned(),
            },
            values: METRICS.iter().map(value).collect(),
        }
    });
    flows.collect()
}

/// Clients of a session: what they receive goes by the name of their group, what they send by "group up".
fn session_group(scenario: &Scenario, name: &str) -> Option<String> {
    let clients = scenario.session.iter().flat_map(|session| &session.clients);
    clients.into_iter().find_map(|client| match name {
        _ if client.down() == name => Some(client.group.clone()),
        _ if client.up() == name => Some(format!("{} up", client.group)),
        _ => None,
    })
}

/// The names under which flows can be looked at: their own, and those of their groups.
pub(crate) fn flow_names(scenario: &Scenario) -> Vec<String> {
    let clients = scenario.session.iter().flat_map(|session| &session.clients);
    let clients = clients.flat_map(|client| {
        [client.down(), client.group.clone(), client.up(), format!("{} up", client.group)]
    });
    let flows = scenario.flows.iter().flat_map(|flow| [flow.group.clone(), flow.name.clone()]);
    let mut names: Vec<String> = Vec::new();
    for name in clients.chain(flows) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A metric of a run: the mean over the flows of that name or group that have it.
pub(crate) fn value_of(result: &RunResult, flow: &str, metric: usize) -> Option<f64> {
    let wanted = result.iter().filter(|row| row.flow == flow || row.group == flow);
    let (mut sum, mut count) = (0.0, 0);
    for value in wanted.filter_map(|row| row.values.get(metric).copied().flatten()) {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;
    use std::{env, fs};

    use airbound_arguments::reference;

    use super::METRICS;

    #[test]
    fn the_reference_page_lists_every_metric() {
        let mut text = "| metric | unit | meaning |\n|---|---|---|\n".to_owned();
        for metric in METRICS {
            let _ = writeln!(text, "| `{}` | {} | {} |", metric.name, metric.unit, metric.meaning);
        }
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/sweep-keys.md");
        let found = fs::read_to_string(&page).expect("the page");
        let wanted = reference::with_block(&found, &text.replace("|  |", "| |")).expect("the block");
        if env::var_os(reference::RENEW).is_some() {
            fs::write(&page, &wanted).expect("written");
        } else {
            assert!(found == wanted, "{} is not what the code says; run: make reference", page.display());
        }
    }
}

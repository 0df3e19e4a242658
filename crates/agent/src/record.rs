//! The record of an agent's run: a `summary.json` and a page, made from its last snapshot.
//!
//! A flow of the summary is a rule; its latency is that of Wi-Fi alone, from arrival at the agent to the acknowledgement. Values unknown
//! to an access point are null, and `air.busy_share` is the share of the agent's own frames.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use airbound_record::{
    AirSummary, DemandSummary, Direction, Existing, FlowSummary, Jain, PacketCounts, RunFolder, Scheme,
    StationSummary, Summary, files,
};
use airbound_report::{Comparison, ReportError, Run};

use crate::error::AgentError;
use crate::snapshot::{RuleView, Snapshot};
use crate::timeline::Timeline;

/// The summary of a snapshot.
#[must_use]
pub fn summary(snapshot: &Snapshot) -> Summary {
    let seconds = snapshot.uptime_s.max(1e-9);
    let flows: Vec<FlowSummary> = snapshot.rules.iter().map(|rule| flow(snapshot, rule, seconds)).collect();
    let stations: Vec<StationSummary> = snapshot
        .stations
        .iter()
        .map(|row| StationSummary {
            name: row.station.clone(),
            airtime_share: row.airtime_s / seconds,
            mean_ampdu: None,
            retry_rate: None,
            mean_phy_rate_mbps: row.rate_mbps,
        })
        .collect();
    let shares: Vec<f64> = stations.iter().map(|station| station.airtime_share).collect();
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_mbps).collect();
    Summary {
        airbound: snapshot.airbound.clone(),
        scenario: format!("agent on {}", snapshot.interface),
        scheme: Scheme {
            queue: snapshot.scheme.clone(),
            rate: "the driver's".to_owned(),
            sender: None,
            session: None,
        },
        seed: 0,
        duration_s: snapshot.uptime_s,
        air: AirSummary { busy_share: shares.iter().sum(), collision_rate: None },
        jain: Jain { goodput: Jain::index(&goodputs), airtime: Jain::index(&shares) },
        networks: Vec::new(),
        emulation: None,
        flows,
        stations,
        session: None,
    }
}

fn flow(snapshot: &Snapshot, rule: &RuleView, seconds: f64) -> FlowSummary {
    let mbps = |bytes: u64| bytes as f64 * 8.0 / seconds / 1e6;
    let mut stations: Vec<&str> = snapshot
        .protected
        .iter()
        .filter(|flow| flow.rule == rule.name)
        .map(|flow| flow.station.as_str())
        .collect();
    stations.sort_unstable();
    stations.dedup();
    let mut drops: BTreeMap<String, u64> = rule.dropped.iter().cloned().collect();
    // Frames that failed had used all tries; packets without a completion may also have been dropped below.
    for (reason, count) in [("retry_limit", rule.failed), ("unknown", rule.unknown)] {
        if count > 0 {
            *drops.entry(reason.to_owned()).or_default() += count;
        }
    }
    let dropped: u64 = drops.values().sum();
    let settled = dropped + rule.acknowledged;
    FlowSummary {
        name: rule.name.clone(),
        kind: "protected".to_owned(),
        station: stations.join(" "),
        direction: Direction::Downlink,
        offered_mbps: mbps(rule.bytes),
        goodput_mbps: mbps(rule.acknowledged_bytes),
        latency_ms: rule.latency_ms,
        rtt_ms: None,
        rpm: None,
        loss_rate: (settled > 0).then(|| dropped as f64 / settled as f64),
        packets: PacketCounts {
            sent: rule.packets,
            delivered: rule.acknowledged,
            dropped,
            queued: rule.packets.saturating_sub(settled),
        },
        drops,
        fps: None,
        frame_latency_ms: None,
        stall_rate: None,
        rtc: None,
        demand: Some(DemandSummary {
            latency_ms: rule.demand_ms,
            percentile: rule.percentile,
            measured_ms: rule.measured_ms,
            met_share: rule.met_share,
        }),
        found: None,
    }
}

/// The page of a run of the agent: the verdict on its demands, its rules over time, and its tables.
fn page(summary: Summary, timeline: &Timeline) -> Result<String, ReportError> {
    let scheme = summary.scheme.queue.clone();
    let run = Run::from_summary(summary).with_series(timeline.rows().collect());
    Comparison::new(vec![(scheme, run)], None, None)?.to_html()
}

/// Writes `summary.json` and `report.html` of the last snapshot to a folder, and replaces earlier ones.
///
/// # Errors
/// The folder contains other files, or cannot be written.
pub fn write(folder: &Path, snapshot: &Snapshot, timeline: &Timeline) -> Result<(), AgentError> {
    let folder = RunFolder::create(folder, Existing::Replace)?;
    let summary = summary(snapshot);
    let text = summary.to_json()?;
    let page = page(summary, timeline).map_err(|error| AgentError::Value(error.to_string()))?;
    for (name, text) in [("report.html", page), ("summary.json", text)] {
        let (partial, whole) = (folder.file(&format!("{name}.partial")), folder.file(name));
        let failed = |source| AgentError::Io { action: "write", path: whole.clone(), source };
        files::write(&partial, text).and_then(|()| fs::rename(&partial, &whole)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_has_one_place() {
        let rule = RuleView {
            name: "vr".to_owned(),
            packets: 100,
            bytes: 100_000,
            acknowledged: 80,
            acknowledged_bytes: 80_000,
            failed: 3,
            unknown: 2,
            dropped: vec![("expired".to_owned(), 5)],
            ..RuleView::default()
        };
        let snapshot = Snapshot { uptime_s: 2.0, rules: vec![rule], ..Snapshot::default() };
        let folder = tempfile::tempdir().expect("a folder");
        let mut timeline = Timeline::default();
        timeline.note(&snapshot);
        write(folder.path(), &snapshot, &timeline).expect("written");
        write(folder.path(), &snapshot, &timeline).expect("written again");
        let read = RunFolder::open(folder.path()).expect("a run").summary().expect("readable");
        assert_eq!(read.flows.len(), 1);
        let flow = &read.flows[0];
        assert!(flow.packets.conserved(), "{:?}", flow.packets);
        assert_eq!((flow.packets.dropped, flow.packets.queued), (10, 10));
        assert_eq!((flow.offered_mbps, flow.goodput_mbps), (0.4, 0.32));
        assert_eq!(flow.drops.get("retry_limit"), Some(&3));
        let page = fs::read_to_string(folder.path().join("report.html")).expect("a page");
        assert!(page.contains("Latency demands") && page.contains("vr"), "{page}");
        assert!(page.contains("Over time") && page.contains("goodput (Mb/s)"), "{page}");
        // An agent without rules has a page, too.
        let empty = tempfile::tempdir().expect("a folder");
        write(empty.path(), &Snapshot::default(), &Timeline::default()).expect("written");
        fs::write(folder.path().join("letter.txt"), "mine").expect("written");
        fs::remove_file(folder.path().join("summary.json")).expect("removed");
        assert!(write(folder.path(), &snapshot, &timeline).is_err(), "a folder with other files");
    }
}

//! The snapshot as a table for terminals.

use std::fmt::Write;

use airbound_report::{Cell, Grid};

use crate::snapshot::Snapshot;

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.1}"))
}

fn add<const N: usize>(grid: &mut Grid, cells: [String; N]) {
    grid.rows.push(cells.into_iter().map(Cell::from).collect());
}

/// The snapshot as text of at most `width` columns.
#[must_use]
pub fn text(snapshot: &Snapshot, width: u16) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(snapshot, width, &mut out);
    out
}

fn write(snapshot: &Snapshot, width: u16, out: &mut String) -> std::fmt::Result {
    let totals = &snapshot.totals;
    let per_packet = snapshot.cpu_s * 1e6 / (totals.arrived_segments + totals.through).max(1) as f64;
    writeln!(
        out,
        "{} on {}, completions from {}, up {:.0} s",
        snapshot.scheme, snapshot.interface, snapshot.completions, snapshot.uptime_s
    )?;
    for line in &snapshot.in_force {
        writeln!(out, "  {line}")?;
    }
    writeln!(
        out,
        "packets: {} arrived, {} held, {} released, {} dropped, {} passed, {} overran, {} refused; {per_packet:.1} us of CPU each",
        totals.arrived,
        snapshot.held,
        totals.released,
        totals.dropped,
        totals.passed,
        totals.overruns,
        totals.refused
    )?;
    writeln!(
        out,
        "frames: {} completed, {} not the agent's, {} without completion",
        totals.completed, totals.foreign, totals.lost
    )?;
    writeln!(
        out,
        "        {} went through unheld while none would have waited, which ended {} times\n",
        totals.through, totals.through_ends
    )?;
    if !snapshot.rules.is_empty() {
        let mut rules = Grid::new(
            "",
            &[
                "rule",
                "demand ms",
                "state",
                "last s",
                "met %",
                "p50",
                "p95",
                "p99",
                "held p95",
                "packets",
                "failed",
                "dropped",
            ],
            1,
        );
        for rule in &snapshot.rules {
            let dropped: u64 = rule.dropped.iter().map(|(_, count)| count).sum();
            add(
                &mut rules,
                [
                    rule.name.clone(),
                    format!("{} @{}", rule.demand_ms, rule.percentile),
                    rule.state.clone(),
                    number(rule.last_ms),
                    number(rule.met_share.map(|share| share * 100.0)),
                    number(rule.latency_ms.p50),
                    number(rule.latency_ms.p95),
                    number(rule.latency_ms.p99),
                    number(rule.held_ms.p95),
                    rule.packets.to_string(),
                    rule.failed.to_string(),
                    dropped.to_string(),
                ],
            );
        }
        writeln!(out, "{}", rules.to_text(width))?;
        for rule in snapshot.rules.iter().filter(|rule| rule.demand_since_s > 0.0) {
            let ago = snapshot.uptime_s - rule.demand_since_s;
            writeln!(out, "the demand of {} was changed {ago:.0} s ago", rule.name)?;
        }
    }
    if !snapshot.protected.is_empty() {
        let mut flows = Grid::new(
            "",
            &["protected flow", "rule", "station", "permitted ms", "latency ms", "packets", "urgent %"],
            3,
        );
        for flow in &snapshot.protected {
            let urgent =
                if flow.packets > 0 { flow.urgent as f64 * 100.0 / flow.packets as f64 } else { 0.0 };
            add(
                &mut flows,
                [
                    flow.flow.to_string(),
                    flow.rule.clone(),
                    flow.station.clone(),
                    number(flow.permitted_ms),
                    number(flow.latency_ms),
                    flow.packets.to_string(),
                    format!("{urgent:.0}"),
                ],
            );
        }
        writeln!(out, "{}", flows.to_text(width))?;
    }
    for row in snapshot.stations.iter().filter(|row| row.unseen_bytes > 0) {
        writeln!(
            out,
            "{} is sent packets past the agent (flow offload, rules of others, or the access point's own): {} kB in the last second",
            row.station,
            row.unseen_bytes / 1000
        )?;
    }
    for row in snapshot.stations.iter().filter(|row| row.unmeasured_bytes > 0) {
        writeln!(
            out,
            "{} was sent packets that waited in the kernel for its address, unmeasured: {} kB in the last second",
            row.station,
            row.unmeasured_bytes / 1000
        )?;
    }
    let mut stations = Grid::new(
        "",
        &["station", "state", "Mb/s", "held", "below ms", "airtime s", "released", "dropped", "failed %"],
        2,
    );
    for row in snapshot.stations.iter().filter(|row| row.state != "gone") {
        let failed = if row.completed > 0 { row.failed as f64 * 100.0 / row.completed as f64 } else { 0.0 };
        add(
            &mut stations,
            [
                row.station.clone(),
                row.state.clone(),
                number(row.rate_mbps),
                row.held.to_string(),
                number(Some(row.below_ms)),
                number(Some(row.airtime_s)),
                row.released.to_string(),
                row.dropped.to_string(),
                format!("{failed:.1}"),
            ],
        );
    }
    writeln!(out, "{}", stations.to_text(width))?;
    for row in snapshot.categories.iter().filter(|row| row.below_ms > 0.0 || row.buffer.is_some()) {
        write!(out, "category {}: {:.1} ms below, gate {:.1} ms", row.category, row.below_ms, row.gate_ms)?;
        match row.buffer {
            Some(packets) => writeln!(out, ", buffer {packets} packets")?,
            None => writeln!(out)?,
        }
    }
    for bound in &snapshot.bounds {
        writeln!(
            out,
            "bound for {}: {:.1} ms = {:.1} in the queue + {:.1} window + {:.1} for {} tries",
            bound.station, bound.total_ms, bound.limit_q_ms, bound.window_ms, bound.chain_ms, bound.tries
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{RuleView, StationRow, Totals};

    #[test]
    fn a_table_fits_a_terminal() {
        let snapshot = Snapshot {
            scheme: "last-pq".to_owned(),
            interface: "wlan0".to_owned(),
            completions: "eBPF".to_owned(),
            cpu_s: 0.5,
            totals: Totals { arrived: 100_000, arrived_segments: 100_000, ..Totals::default() },
            rules: vec![RuleView {
                name: "vr".to_owned(),
                demand_ms: 20.0,
                percentile: 95.0,
                last_ms: Some(12.34),
                ..RuleView::default()
            }],
            stations: vec![StationRow {
                station: "02:00:00:00:01:00".to_owned(),
                state: "associated".to_owned(),
                ..StationRow::default()
            }],
            ..Snapshot::default()
        };
        let text = text(&snapshot, 100);
        assert!(
            text.contains("5.0 us of CPU each") && text.contains("20 @95") && text.contains("12.3"),
            "{text}"
        );
        assert!(text.lines().skip(2).all(|line| line.chars().count() <= 100), "{text}");
    }
}

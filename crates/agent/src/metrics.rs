//! Metrics in the text format of Prometheus (exposition format 0.0.4).

use std::fmt;

use airbound_linux::service::exposition::Family;

use crate::snapshot::{LinkRow, Snapshot, StationRow};

/// Reads a metric's value from a station's row; `None` if it is unknown.
type OfStation = fn(&StationRow) -> Option<f64>;

/// The metrics of a snapshot.
#[must_use]
pub fn text(snapshot: &Snapshot) -> String {
    let mut out = String::with_capacity(4096);
    // Writing to a string does not fail.
    let _ = write(snapshot, &mut out);
    out
}

fn write(snapshot: &Snapshot, out: &mut String) -> fmt::Result {
    let info = [
        ("version", snapshot.airbound.as_str()),
        ("interface", &snapshot.interface),
        ("scheme", &snapshot.scheme),
        ("completions", &snapshot.completions),
    ];
    Family::new(out, "info", "gauge", "Version, interface, scheme and source of completions.")?
        .sample(&info, 1.0)?;
    let totals = &snapshot.totals;
    let mut packets = Family::new(out, "packets_total", "counter", "Packets by fate.")?;
    for (fate, count) in [
        ("arrived", totals.arrived),
        ("passed", totals.passed),
        ("released", totals.released),
        ("dropped", totals.dropped),
        ("overrun", totals.overruns),
        ("refused", totals.refused),
    ] {
        packets.sample(&[("fate", fate)], count as f64)?;
    }
    let mut frames = Family::new(
        out,
        "frames_total",
        "counter",
        "Frames by fate: completed, not the agent's, without a completion, gone through without being held.",
    )?;
    for (fate, count) in [
        ("completed", totals.completed),
        ("foreign", totals.foreign),
        ("lost", totals.lost),
        ("through", totals.through),
    ] {
        frames.sample(&[("fate", fate)], count as f64)?;
    }
    Family::new(out, "held_packets", "gauge", "Packets held.")?.sample(&[], snapshot.held as f64)?;
    Family::new(out, "flows", "gauge", "Known flows.")?.sample(&[], snapshot.flows as f64)?;
    Family::new(out, "cpu_seconds_total", "counter", "CPU time of the agent.")?
        .sample(&[], snapshot.cpu_s)?;
    Family::new(out, "uptime_seconds", "gauge", "Time since the start.")?.sample(&[], snapshot.uptime_s)?;

    let mut demand = Family::new(out, "demand_seconds", "gauge", "The demanded latency.")?;
    for rule in &snapshot.rules {
        demand.sample(&[("rule", &rule.name)], rule.demand_ms / 1e3)?;
    }
    let mut latency = Family::new(
        out,
        "latency_seconds",
        "summary",
        "Time from arrival at the agent to the acknowledgement, of a rule's packets.",
    )?;
    for rule in &snapshot.rules {
        let stats = &rule.latency_ms;
        for (quantile, value) in
            [("0.5", stats.p50), ("0.95", stats.p95), ("0.99", stats.p99), ("0.999", stats.p999)]
        {
            latency.sample(&[("rule", &rule.name), ("quantile", quantile)], value.map(|ms| ms / 1e3))?;
        }
    }
    let mut last = Family::new(
        out,
        "last_second_latency_seconds",
        "gauge",
        "The demanded percentile in the last second with packets.",
    )?;
    for rule in &snapshot.rules {
        last.sample(&[("rule", &rule.name)], rule.last_ms.map(|ms| ms / 1e3))?;
    }
    let mut state = Family::new(
        out,
        "demand_state",
        "gauge",
        "1 for the state of a demand in the last second: idle, met, missed or unknown.",
    )?;
    for rule in &snapshot.rules {
        state.sample(&[("rule", &rule.name), ("state", &rule.state)], 1.0)?;
    }
    let mut met = Family::new(out, "demand_met_ratio", "gauge", "Share of seconds that met the demand.")?;
    for rule in &snapshot.rules {
        met.sample(&[("rule", &rule.name)], rule.met_share)?;
    }
    let mut fates = Family::new(out, "rule_packets_total", "counter", "A rule's packets by fate.")?;
    for rule in &snapshot.rules {
        let name = rule.name.as_str();
        for (fate, count) in [
            ("arrived", rule.packets),
            ("acknowledged", rule.acknowledged),
            ("failed", rule.failed),
            ("unknown", rule.unknown),
        ] {
            fates.sample(&[("rule", name), ("fate", fate)], count as f64)?;
        }
        for (reason, count) in &rule.dropped {
            fates.sample(&[("rule", name), ("fate", reason)], *count as f64)?;
        }
    }
    let stations: [(&'static str, &str, &str, OfStation); 8] = [
        ("station_unseen_bytes", "gauge", "Bytes past the agent in the last second, 0 if few.", |row| {
            Some(row.unseen_bytes as f64)
        }),
        (
            "station_unmeasured_bytes",
            "gauge",
            "Bytes in the last second that passed before the agent knew the station's address, 0 if few.",
            |row| Some(row.unmeasured_bytes as f64),
        ),
        ("station_rate_bits_per_second", "gauge", "The average PHY rate of data to a station.", |row| {
            row.rate_mbps.map(|mbps| mbps * 1e6)
        }),
        ("station_held_packets", "gauge", "Packets held for a station.", |row| Some(row.held as f64)),
        (
            "station_below_seconds",
            "gauge",
            "Estimated airtime of packets released and not completed.",
            |row| Some(row.below_ms / 1e3),
        ),
        ("station_airtime_seconds_total", "counter", "Airtime of a station's frames.", |row| {
            Some(row.airtime_s)
        }),
        ("station_dropped_packets_total", "counter", "Packets dropped by the agent.", |row| {
            Some(row.dropped as f64)
        }),
        ("station_stalled", "gauge", "Whether a station has no completions.", |row| {
            Some(f64::from(u8::from(row.state == "stalled")))
        }),
    ];
    for (name, kind, help, value) in stations {
        let mut family = Family::new(out, name, kind, help)?;
        for row in snapshot.stations.iter().filter(|row| row.state != "gone") {
            family.sample(&[("station", &row.station)], value(row))?;
        }
    }
    let mut window = Family::new(out, "window_seconds", "gauge", "Airtime that may be below the agent.")?;
    for row in &snapshot.categories {
        window.sample(&[("category", &row.category)], row.gate_ms * 2.0 / 1e3)?;
    }
    let mut buffer = Family::new(out, "buffer_packets", "gauge", "WQM's buffer size.")?;
    for row in &snapshot.categories {
        buffer.sample(&[("category", &row.category)], row.buffer.map(|packets| packets as f64))?;
    }
    let mut bounds = Family::new(out, "law_bound_seconds", "gauge", "Law's latency bound for a station.")?;
    for bound in &snapshot.bounds {
        bounds.sample(&[("station", &bound.station)], bound.total_ms / 1e3)?;
    }
    write_links(snapshot, out)
}

/// Reads a metric's value from what nl80211 lists of a station.
type OfLink = fn(&LinkRow) -> Option<f64>;

/// The families of the collector `wifi_stations` of prometheus-node-exporter-lua 2026.06.05, with its labels: addresses in capitals, as
/// iwinfo writes them, and no 0 for what is unknown.
const LINKS: [(&str, &str, &str, OfLink); 9] = [
    ("wifi_station_signal_dbm", "gauge", "Signal strength of the last frame received.", |row| {
        row.signal_dbm.map(f64::from)
    }),
    ("wifi_station_inactive_milliseconds", "gauge", "Time since the last frame received.", |row| {
        row.inactive_ms
    }),
    (
        "wifi_station_expected_throughput_kilobits_per_second",
        "gauge",
        "Throughput that rate control expects.",
        |row| row.expected_mbps.map(|mbps| mbps * 1e3),
    ),
    ("wifi_station_transmit_kilobits_per_second", "gauge", "PHY rate of the last frame sent.", |row| {
        row.sent_mbps.map(|mbps| mbps * 1e3)
    }),
    ("wifi_station_receive_kilobits_per_second", "gauge", "PHY rate of the last frame received.", |row| {
        row.received_mbps.map(|mbps| mbps * 1e3)
    }),
    ("wifi_station_transmit_packets_total", "counter", "Packets sent to a station.", |row| {
        row.sent_packets.map(f64::from)
    }),
    ("wifi_station_receive_packets_total", "counter", "Packets received from a station.", |row| {
        row.received_packets.map(f64::from)
    }),
    ("wifi_station_transmit_bytes_total", "counter", "Bytes sent to a station.", |row| {
        row.sent_bytes.map(|bytes| bytes as f64)
    }),
    ("wifi_station_receive_bytes_total", "counter", "Bytes received from a station.", |row| {
        row.received_bytes.map(|bytes| bytes as f64)
    }),
];

fn write_links(snapshot: &Snapshot, out: &mut String) -> fmt::Result {
    let mut count = Family::as_elsewhere(out, "wifi_stations", "gauge", "Stations of an interface.")?;
    for row in &snapshot.interfaces {
        count.sample(&[("ifname", &row.interface)], row.stations.len() as f64)?;
    }
    for (name, kind, help, value) in LINKS {
        let mut family = Family::as_elsewhere(out, name, kind, help)?;
        for interface in &snapshot.interfaces {
            for row in &interface.stations {
                let mac = row.station.to_ascii_uppercase();
                family.sample(&[("ifname", &interface.interface), ("mac", &mac)], value(row))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{env, fs};

    use airbound_arguments::reference;

    use super::*;
    use crate::snapshot::{InterfaceRow, RuleView};

    #[test]
    fn the_reference_page_lists_every_metric() {
        let mut page_text = "| metric | meaning |\n|---|---|\n".to_owned();
        for line in text(&Snapshot::default()).lines() {
            if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|line| line.split_once(' ')) {
                page_text += &format!("| `{name}` | {} |\n", help.trim_end_matches('.'));
            }
        }
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/agent-keys.md");
        let found = fs::read_to_string(&page).expect("the page");
        let wanted = reference::with_block(&found, &page_text).expect("the block");
        if env::var_os(reference::RENEW).is_some() {
            fs::write(&page, &wanted).expect("written");
        } else {
            assert!(found == wanted, "{} is not what the code says; run: make reference", page.display());
        }
    }

    #[test]
    fn the_reference_page_lists_every_fate() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/agent-keys.md");
        let page = fs::read_to_string(&page).expect("the page").replace('\n', " ");
        let rules = vec![RuleView::default()];
        let text = text(&Snapshot { rules, ..Snapshot::default() });
        for metric in ["packets_total", "frames_total", "rule_packets_total"] {
            let samples = text.lines().filter_map(|line| line.strip_prefix(&format!("airbound_{metric}{{")));
            let fates: Vec<&str> = samples
                .filter_map(|labels| labels.split_once("fate=\"")?.1.split_once('"'))
                .map(|(fate, _)| fate)
                .collect();
            let listed: String =
                fates.iter().map(|fate| format!("`{fate}`")).collect::<Vec<String>>().join(", ");
            // In the order of the code, behind the name of the metric; reasons of drops are not fixed.
            let found = [format!("`{metric}` are {listed}"), format!("`{metric}` {listed}")];
            assert!(!fates.is_empty() && found.iter().any(|found| page.contains(found)), "{found:?}");
        }
    }

    /// The samples of a router's exporter for the same station, by its collector `wifi_stations`.
    #[test]
    fn stations_have_the_names_of_the_routers_exporter() {
        use airbound_linux::MacAddress;
        use airbound_linux::nl80211::Station;
        use airbound_units::{BitRate, Span};

        let station = Station {
            address: MacAddress([2, 0, 0, 0, 0xab, 1]),
            signal: Some(-61),
            inactive: Some(Span::from_millis(40)),
            expected_throughput: Some(BitRate::from_kbps(92_345)),
            sent_packets: Some(7),
            received_bytes: Some(5_000_000_000),
            ..Station::default()
        };
        let row = InterfaceRow { interface: "phy0-ap0".to_owned(), stations: vec![LinkRow::from(&station)] };
        let empty = InterfaceRow { interface: "phy1-ap0".to_owned(), ..InterfaceRow::default() };
        let text = text(&Snapshot { interfaces: vec![row, empty], ..Snapshot::default() });
        let samples: Vec<&str> = text.lines().filter(|line| line.starts_with("wifi_")).collect();
        let labels = "{ifname=\"phy0-ap0\",mac=\"02:00:00:00:AB:01\"}";
        let of = |name: &str, value: &str| format!("wifi_station_{name}{labels} {value}");
        assert_eq!(
            samples,
            [
                "wifi_stations{ifname=\"phy0-ap0\"} 1".to_owned(),
                "wifi_stations{ifname=\"phy1-ap0\"} 0".to_owned(),
                of("signal_dbm", "-61"),
                of("inactive_milliseconds", "40"),
                of("expected_throughput_kilobits_per_second", "92345"),
                of("transmit_packets_total", "7"),
                of("receive_bytes_total", "5000000000"),
            ]
        );
    }

    #[test]
    fn every_line_is_a_sample_or_a_comment() {
        let snapshot = Snapshot {
            rules: vec![RuleView {
                name: "a \"b\"\\".to_owned(),
                demand_ms: 20.0,
                met_share: Some(0.5),
                ..RuleView::default()
            }],
            stations: vec![StationRow {
                station: "02:00".to_owned(),
                state: "associated".to_owned(),
                ..StationRow::default()
            }],
            ..Snapshot::default()
        };
        let text = text(&snapshot);
        assert!(text.contains("airbound_demand_seconds{rule=\"a \\\"b\\\"\\\\\"} 0.02\n"));
        assert!(text.contains("airbound_demand_met_ratio{rule=\"a \\\"b\\\"\\\\\"} 0.5\n"));
        assert!(!text.contains("airbound_station_rate_bits_per_second{"), "unknown, so left out");
        let is_name = |text: &str| text.starts_with("airbound_") || text.starts_with("wifi_station");
        for line in text.lines() {
            let is_comment =
                ["# HELP ", "# TYPE "].iter().any(|word| line.strip_prefix(word).is_some_and(is_name));
            let is_sample = line
                .rsplit_once(' ')
                .is_some_and(|(name, value)| is_name(name) && value.parse::<f64>().is_ok());
            assert!(is_comment || is_sample, "{line}");
        }
    }
}

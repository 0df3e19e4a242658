//! The numbers that the paper prints for its own parameters (Secs. 3.3, 3.4, 4.1), and the points that it leaves open, each decided
//! otherwise.

use airbound_control::link::LawConfig;

use super::measure::{Runs, add, percent};
use super::{CLAIMS, JUDGED, LAW, OFFICE};
use crate::papers::Part;

pub(super) fn printed(_: Runs<'_>) -> Part {
    let law = LawConfig::paper();
    let spans = [
        ("Limit_q", law.limit_q.as_millis_f64()),
        ("Limit_h", law.limit_h.as_millis_f64()),
        ("Limit_q + 2 Limit_h", law.bound().as_millis_f64()),
    ];
    let counts: [(&str, f64); 7] = [
        ("PSDUs in hardware", law.psdus_in_hardware.into()),
        ("software retransmissions", law.software_retransmissions.into()),
        ("hardware tries in clean-up", law.clean_up_tries.into()),
        ("software retransmissions in clean-up", law.clean_up_retransmissions.into()),
        ("packets of a probe", law.probe_packets.into()),
        ("losses in a row before an extra retry", law.extra_after_losses.into()),
        ("drops in a row that lower the rate in clean-up", law.rate_down_drops.into()),
    ];
    let spans = spans.into_iter().map(|parameter| ("spans", parameter));
    let all = spans.chain(counts.into_iter().map(|parameter| ("counts", parameter)));
    let rows = all.map(|(key, (name, value))| CLAIMS.row(key).with("parameter", name).measured(value));
    let mut grid = CLAIMS.table("parameters", &[]);
    // Every value of the configuration.
    for line in toml::to_string(&law).unwrap_or_default().lines() {
        if let Some((key, value)) = line.split_once(" = ") {
            grid.rows.push(vec![key.into(), value.trim_matches('"').into()]);
        }
    }
    Part { rows: rows.collect(), chapter: CLAIMS.chapter("parameters", vec![grid], Vec::new()) }
}

pub(super) fn open(runs: Runs<'_>) -> Part {
    let mut grid = CLAIMS.table("open", &[]);
    for name in OFFICE.names("open", runs.effort) {
        let (point, choice) = name.split_once(": ").unwrap_or(("", name));
        let columns = JUDGED.into_iter().flat_map(|place| {
            let digest = runs.digest(&[LAW, place, name, "300 s, 1 seed"]);
            [percent(digest.loss_rate()), digest.quantile(0.99), digest.quantile(0.999)]
        });
        add(&mut grid, &[point, choice], columns);
    }
    Part { rows: Vec::new(), chapter: CLAIMS.chapter("open", vec![grid], Vec::new()) }
}

//! 802.11ac, 80 MHz: UDP to n stations, saturated and at 80 % of capacity.

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::{Instant, Span};

use super::super::delays::DelayWatch;
use super::super::table::{Row, Table};
use super::{compared, mean_ampdu};
use crate::{Effort, Trial, TrialError};

const REFERENCE: &str = include_str!("../../../data/ns3-vht.csv");

fn trial(reference: &Row<'_>, effort: Effort) -> Trial {
    let n = reference.whole("n");
    let offered = reference.number("offered_total_mbps").unwrap_or(0.0) * 1e6 / f64::from(n.max(1));
    let scenario = format!(
        r#"
duration = "{seconds} s"
warm-up = "2 s"
[air]
standard = "vht"
width = "80 MHz"
edca = "equal"
control-rate = "24 Mbit/s"
[access-point]
preset = "direct"
streams = 2
[scheme]
queue = {{ kind = "fifo", limit = {{ packets = {packets} }}, holds-in-flight = true }}
rate = "fixed"
[wire]
rate = "unlimited"
delay = "0 ms"
[[station]]
name = "station"
count = {n}
rate = "VHT80 MCS9 2SS LGI"
[[flow]]
name = "stream"
kind = "cbr"
station = "station"
rate = "{offered:.0} bit/s"
size = "1470 B"
"#,
        seconds = effort.seconds(10, 3),
        packets = 200 * n,
    );
    Trial::new(format!("VHT n = {n}, {}", reference.text("load")), scenario, 1)
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    compared(&Table::of(REFERENCE), effort, compare)
}

fn compare(reference: &Row<'_>, effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let (n, build, load) = (reference.whole("n"), reference.text("build"), reference.text("load"));
    let watch = DelayWatch::new(n, Instant::ZERO + Span::from_secs(2));
    let (outcome, watch) = trial(reference, effort).observed(watch)?;
    let delays = watch.delays();
    let goodput: f64 = outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
    // One build of ns-3 has a run in which a station's traffic stops for a second.
    let is_outlier = build == "apt" && n == 20;
    let version = if build == "apt" { "ns-3.37" } else { "ns-3.44" };
    let row = |metric: &str, unit: &str, column: &str, measured: Option<f64>, tolerance: f64| {
        let note = match metric {
            _ if is_outlier && metric.starts_with("delay") => {
                "informs only: in ns-3.37 this run holds single packets for a second (delay_max 1.0 s); ns-3.44 does not"
            }
            "goodput" => "ns-3 leaves out VHT-SIG-B: its PPDU is 4 us (0.4 %) shorter",
            _ => "",
        };
        let tolerance =
            (!(is_outlier && metric.starts_with("delay"))).then_some(Tolerance::Relative(tolerance));
        ValidationRow::judged(
            "ns3-vht",
            format!("{metric}, n = {n}, {load}, {version}"),
            unit,
            reference.number(column),
            measured,
            tolerance,
            note,
        )
    };
    Ok(vec![
        row("goodput", "Mb/s", "goodput_total_mbps", Some(goodput), 0.03),
        row("delay mean", "ms", "delay_mean_ms", delays.mean(), 0.10),
        row("delay p95", "ms", "delay_p95_ms", delays.quantile(0.95), 0.10),
        row("MPDUs per A-MPDU", "", "mpdus_per_ampdu", mean_ampdu(&outcome.summary.stations), 0.05),
    ])
}

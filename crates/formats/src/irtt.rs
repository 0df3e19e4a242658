//! JSON of irtt: round trips of UDP probes at equal distances.

use serde::Deserialize;

use super::{Content, FormatError, Measured, Path, Probe};

#[derive(Deserialize)]
pub(super) struct Report {
    version: Version,
    config: Config,
    round_trips: Vec<Trip>,
}

#[derive(Deserialize)]
struct Version {
    irtt: String,
}

#[derive(Deserialize)]
struct Config {
    params: Parameters,
}

#[derive(Deserialize)]
struct Parameters {
    /// In ns.
    interval: f64,
    /// In bytes.
    length: u64,
}

#[derive(Deserialize)]
struct Trip {
    /// `false`, or how it was lost: `true`, `true_up`, `true_down`.
    lost: String,
    #[serde(default)]
    delay: Delay,
}

#[derive(Deserialize, Default)]
struct Delay {
    /// In ns.
    rtt: Option<f64>,
}

pub(super) fn read(report: &Report) -> Result<Measured, FormatError> {
    let (sent, interval) = (report.round_trips.len(), report.config.params.interval / 1e6);
    if sent == 0 || interval <= 0.0 {
        return Err(FormatError::new("irtt sent nothing"));
    }
    let lost = report.round_trips.iter().filter(|trip| trip.lost.starts_with("true")).count();
    let trips = report.round_trips.iter().filter(|trip| trip.lost == "false");
    let path = Path {
        link: None,
        both_ways: false,
        round_trips: trips.filter_map(|trip| trip.delay.rtt).map(|rtt| rtt / 1e6).collect(),
        loss: Some(lost as f64 / sent as f64),
        probe: Some(Probe { interval, bytes: report.config.params.length }),
        seconds: sent as f64 * interval / 1000.0,
    };
    if path.round_trips.is_empty() {
        return Err(FormatError::new("irtt lost every probe"));
    }
    Ok(Measured {
        tool: format!("irtt {}", report.version.irtt),
        content: Content::Path(path),
        left_out: None,
    })
}

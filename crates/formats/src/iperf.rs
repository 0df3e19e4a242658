//! JSON of iperf3 (`-J`): rates of intervals, and TCP's round trips.

use serde::Deserialize;

use super::{Content, FormatError, Link, Measured, Path};

#[derive(Deserialize)]
pub(super) struct Report {
    start: Start,
    intervals: Vec<Interval>,
    #[serde(default)]
    end: serde_json::Value,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Start {
    version: Option<String>,
    test_start: Option<Test>,
}

#[derive(Deserialize)]
struct Test {
    protocol: String,
    #[serde(default)]
    reverse: u8,
}

#[derive(Deserialize)]
struct Interval {
    #[serde(default)]
    streams: Vec<Stream>,
    sum: Sum,
}

#[derive(Deserialize)]
struct Stream {
    /// Smoothed round trip in us, of a sender over TCP.
    rtt: Option<f64>,
}

#[derive(Deserialize)]
struct Sum {
    start: f64,
    end: f64,
    bits_per_second: f64,
    #[serde(default)]
    omitted: bool,
    /// Of a receiver over UDP.
    lost_percent: Option<f64>,
}

pub(super) fn read(report: &Report) -> Result<Measured, FormatError> {
    if let Some(error) = &report.error {
        return Err(FormatError::new(format!("iperf3 ended with an error: {error}")));
    }
    let counted = || report.intervals.iter().filter(|interval| !interval.sum.omitted);
    let (Some(first), Some(last)) = (counted().next(), counted().next_back()) else {
        return Err(FormatError::new("iperf3 measured no interval"));
    };
    let test = report.start.test_start.as_ref();
    let protocol = test.map_or("TCP", |test| test.protocol.as_str());
    let reverse = test.is_some_and(|test| test.reverse > 0);
    let way = if reverse { "reverse" } else { "client to server" };
    let of = format!("{protocol}, {way}");
    // Intervals of a sender over UDP have what it sent; what arrived stands at the end alone.
    let arrived = report.end.pointer("/sum_received/bits_per_second").and_then(serde_json::Value::as_f64);
    let series: Vec<(f64, f64)> = match arrived.filter(|rate| protocol == "UDP" && !reverse && *rate > 0.0) {
        Some(rate) => vec![(first.sum.start, rate / 1e6)],
        None => counted().map(|interval| (interval.sum.start, interval.sum.bits_per_second / 1e6)).collect(),
    };
    let link = Link::of(&of, &series).ok_or_else(|| FormatError::new("iperf3 carried nothing"))?;
    let losses: Vec<f64> = counted().filter_map(|interval| interval.sum.lost_percent).collect();
    let whole = report.end.pointer("/sum/lost_percent").and_then(serde_json::Value::as_f64);
    let mean = (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64);
    let trips = counted().flat_map(|interval| &interval.streams).filter_map(|stream| stream.rtt);
    let path = Path {
        link: Some(link),
        round_trips: trips.filter(|rtt| *rtt > 0.0).map(|rtt| rtt / 1000.0).collect(),
        loss: whole.filter(|_| protocol == "UDP").or(mean).map(|percent| percent / 100.0),
        probe: None,
        seconds: last.sum.end - first.sum.start,
    };
    let version = report.start.version.clone().unwrap_or_else(|| "iperf3".to_owned());
    Ok(Measured { tool: version.replacen("iperf ", "iperf3 ", 1), content: Content::Path(path) })
}

//! JSON of iperf3 (`-J`, `--json-stream`): rates of intervals, and TCP's round trips.

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
    /// With `--bidir`: what the server sent.
    sum_bidir_reverse: Option<Sum>,
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
    /// Whether it has what was sent, not what arrived; versions before 3.7 do not say it.
    sender: Option<bool>,
    /// Of a receiver over UDP.
    lost_percent: Option<f64>,
}

/// The report of `--json-stream`: an event a line, behind which `--json-stream-full-output` repeats the whole; `None` if it is no stream of events.
pub(super) fn of_events(text: &str) -> Option<serde_json::Value> {
    let (mut report, mut intervals) = (serde_json::Map::new(), Vec::new());
    for value in serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>() {
        let mut value = value.ok()?;
        let Some(event) = value.get("event") else { break };
        let (event, data) = (event.as_str()?.to_owned(), value.get_mut("data")?.take());
        if event == "interval" {
            intervals.push(data);
        } else {
            report.insert(event, data);
        }
    }
    if report.is_empty() {
        return None;
    }
    report.entry("start").or_insert_with(|| serde_json::json!({}));
    report.insert("intervals".to_owned(), intervals.into());
    Some(report.into())
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
    let both_ways = first.sum_bidir_reverse.is_some();
    let at_end = |key: &str| report.end.pointer(key).and_then(serde_json::Value::as_f64);
    // Intervals of a sender over UDP have what it sent; what arrived stands at the end alone.
    let arrived = |sum: &Sum, key| {
        let sender = sum.sender.unwrap_or(!reverse);
        at_end(key).filter(|rate| protocol == "UDP" && sender && *rate > 0.0)
    };
    let there = arrived(&first.sum, "/sum_received/bits_per_second");
    let back = first
        .sum_bidir_reverse
        .as_ref()
        .and_then(|sum| arrived(sum, "/sum_received_bidir_reverse/bits_per_second"));
    let rates = counted().map(|interval| {
        let back = interval.sum_bidir_reverse.as_ref().map_or(0.0, |sum| back.unwrap_or(sum.bits_per_second));
        (interval.sum.start, (there.unwrap_or(interval.sum.bits_per_second) + back) / 1e6)
    });
    let alone = there.is_some() && !both_ways;
    let series: Vec<(f64, f64)> = rates.take(if alone { 1 } else { usize::MAX }).collect();
    let way = match (both_ways, reverse) {
        (true, _) => "both directions together",
        (_, true) => "reverse",
        _ => "client to server",
    };
    let link = Link::of(&format!("{protocol}, {way}"), &series)
        .ok_or_else(|| FormatError::new("iperf3 carried nothing"))?;
    let sums = counted().flat_map(|interval| [Some(&interval.sum), interval.sum_bidir_reverse.as_ref()]);
    let losses: Vec<f64> = sums.flatten().filter_map(|sum| sum.lost_percent).collect();
    let mean =
        |losses: &[f64]| (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64);
    let whole: Vec<f64> = ["/sum/lost_percent", "/sum_bidir_reverse/lost_percent"]
        .into_iter()
        .filter_map(|key| at_end(key).filter(|_| protocol == "UDP"))
        .collect();
    let trips = counted().flat_map(|interval| &interval.streams).filter_map(|stream| stream.rtt);
    let path = Path {
        link: Some(link),
        both_ways,
        round_trips: trips.filter(|rtt| *rtt > 0.0).map(|rtt| rtt / 1000.0).collect(),
        loss: mean(&whole).or_else(|| mean(&losses)).map(|percent| percent / 100.0),
        probe: None,
        seconds: last.sum.end - first.sum.start,
    };
    let version = report.start.version.clone().unwrap_or_else(|| "iperf3".to_owned());
    Ok(Measured {
        tool: version.replacen("iperf ", "iperf3 ", 1),
        content: Content::Path(path),
        left_out: None,
    })
}

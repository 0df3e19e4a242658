//! Data files of flent, format 4: series over one axis of time, and single round trips as raw values.
//!
//! The test is `rrul_be_nflows`, whose plots have any number of downloads and uploads and their pings. Flows that are not TCP, and
//! one-way delays, are series of their own, which flent's tables show and its plots leave out.

use std::collections::BTreeMap;
use std::io::Write as _;

use airbound_record::{Direction, RunFolder, SenderRow, SeriesRow};
use airbound_units::Instant;
use flate2::{Compression, GzBuilder};
use serde_json::{Map, Value, json};

use super::{ExportError, table};

/// Version of the format: flent 1.0 to 2.3.
const VERSION: u32 = 4;
/// Simulated time has no date.
const BEGINNING: &str = "1970-01-01T00:00:00.000000Z";

/// The bytes with which such a file begins: a gzip header of no time and operating system, with a comment.
pub const FLENT_BEGINNING: &[u8] = b"\x1f\x8b\x08\x10\0\0\0\0\x00\xffairbound export\0";

/// A run as a data file of flent (`.flent.gz`): goodput and median one-way delay of each flow in windows, and the round trips of TCP where
/// the run logged its packets.
///
/// # Errors
/// A table is missing or damaged.
pub fn flent(folder: &RunFolder) -> Result<Vec<u8>, ExportError> {
    let text = data(folder)?.to_string();
    let mut file = GzBuilder::new()
        .operating_system(255)
        .comment("airbound export")
        .write(Vec::with_capacity(text.len() / 4), Compression::default());
    let written = file.write_all(text.as_bytes()).and_then(|()| file.finish());
    written.map_err(|error| ExportError::Encoding(error.to_string()))
}

/// Series under construction, by name.
struct Series {
    windows: usize,
    results: BTreeMap<String, Vec<Option<f64>>>,
    about: Map<String, Value>,
}

impl Series {
    fn add(&mut self, name: String, unit: &str, flow: &str) -> &mut Vec<Option<f64>> {
        self.about.insert(name.clone(), json!({ "UNITS": unit, "FLOW": flow }));
        self.results.entry(name).or_insert_with(|| vec![None; self.windows])
    }
}

fn data(folder: &RunFolder) -> Result<Value, ExportError> {
    let summary = folder.summary()?;
    let reader = table::<SeriesRow>(folder, "series")?;
    let info = reader.info().clone();
    let rows = reader.collect::<Result<Vec<SeriesRow>, _>>()?;
    let mut starts: Vec<Instant> = rows.iter().map(|row| row.window_start).collect();
    starts.sort_unstable();
    starts.dedup();
    let first = starts.first().copied().unwrap_or(Instant::ZERO);
    let window = starts.get(1).map_or(0.0, |second| second.since(first).as_secs_f64());
    let window_of = |at: Instant| starts.partition_point(|start| *start <= at).checked_sub(1);

    let mut series = Series { windows: starts.len(), results: BTreeMap::new(), about: Map::new() };
    let mut raw = Map::new();
    let mut streams = [0_u32; 2];
    let trips = round_trips(folder)?;
    for flow in &summary.flows {
        let Some(number) = info.flows.iter().position(|name| *name == flow.name) else { continue };
        let own = || rows.iter().filter(|row| row.flow as usize == number);
        let (way, count) = match flow.direction {
            Direction::Downlink => ("download", &mut streams[0]),
            Direction::Uplink => ("upload", &mut streams[1]),
        };
        let is_tcp = flow.rtt_ms.is_some();
        let name = if is_tcp {
            *count += 1;
            format!("TCP {way} BE::{count}")
        } else {
            format!("{} goodput", flow.name)
        };
        let rates = series.add(name, "Mbits/s", &flow.name);
        for row in own() {
            set(rates, window_of(row.window_start), Some(row.goodput_mbps));
        }
        let rates = rates.clone();
        if is_tcp {
            let sum = series.add(format!("TCP {way} sum"), "Mbits/s", "");
            for (sum, rate) in sum.iter_mut().zip(rates) {
                *sum = sum.map_or(rate, |sum| Some(sum + rate.unwrap_or(0.0)));
            }
        }
        let delays = series.add(format!("{} delay", flow.name), "ms", &flow.name);
        for row in own() {
            set(delays, window_of(row.window_start), row.latency_p50_ms);
        }
        if let Some(trips) = trips.get(&number).filter(|trips| is_tcp && !trips.is_empty()) {
            let name = format!("Ping (ms) TCP {}", flow.name);
            means(series.add(name.clone(), "ms", &flow.name), trips, window_of);
            let value = |(at, trip): &(Instant, f64)| json!({ "t": at.as_secs_f64(), "val": trip });
            raw.insert(name, trips.iter().map(value).collect());
        }
    }
    let ends: Vec<f64> = starts.iter().map(|start| start.as_secs_f64() + window).collect();
    let note = format!(
        "written by airbound {} from seed {} of {}: simulated time; windows stand at their ends",
        summary.airbound, summary.seed, summary.scenario
    );
    Ok(json!({
        "version": VERSION,
        "metadata": {
            "NAME": "rrul_be_nflows",
            "TITLE": format!("{} {}", info.scenario, info.scheme),
            "TIME": BEGINNING,
            "T0": BEGINNING,
            "LENGTH": summary.duration_s,
            "TOTAL_LENGTH": ends.last().copied().unwrap_or(0.0),
            "STEP_SIZE": window,
            "HOST": "stations",
            "HOSTS": info.stations,
            "LOCAL_HOST": "access-point",
            "NOTE": note,
            "TEST_PARAMETERS": {
                "download_streams": streams[0].to_string(),
                "upload_streams": streams[1].to_string(),
            },
            "SERIES_META": series.about,
        },
        "x_values": ends,
        "results": series.results,
        "raw_values": raw,
    }))
}

/// Round trips in ms with their times, by flow; none if the run did not log its packets.
fn round_trips(folder: &RunFolder) -> Result<BTreeMap<usize, Vec<(Instant, f64)>>, ExportError> {
    let mut trips = BTreeMap::<usize, Vec<(Instant, f64)>>::new();
    if folder.existing("senders.parquet").is_some() {
        for row in table::<SenderRow>(folder, "senders")? {
            let row = row?;
            if let Some(rtt) = row.rtt {
                trips.entry(row.flow as usize).or_default().push((row.at, rtt.as_millis_f64()));
            }
        }
    }
    Ok(trips)
}

/// The mean of each window with a round trip.
fn means(
    windows: &mut [Option<f64>],
    trips: &[(Instant, f64)],
    window_of: impl Fn(Instant) -> Option<usize>,
) {
    let mut sums = vec![(0.0, 0_u32); windows.len()];
    for (at, trip) in trips {
        if let Some(sum) = window_of(*at).and_then(|window| sums.get_mut(window)) {
            *sum = (sum.0 + trip, sum.1 + 1);
        }
    }
    for (window, (sum, count)) in windows.iter_mut().zip(sums) {
        *window = (count > 0).then(|| sum / f64::from(count));
    }
}

fn set(values: &mut [Option<f64>], window: Option<usize>, value: Option<f64>) {
    if let Some(place) = window.and_then(|window| values.get_mut(window)) {
        *place = value;
    }
}

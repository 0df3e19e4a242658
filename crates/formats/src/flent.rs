//! Data files of flent (its format 4 and before): series of rates and of pings over one axis of time.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Content, FormatError, Link, Measured, Path};

#[derive(Deserialize)]
pub(super) struct Data {
    #[serde(default)]
    metadata: Metadata,
    /// Times in s.
    x_values: Vec<f64>,
    results: BTreeMap<String, Vec<Option<f64>>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
struct Metadata {
    name: Option<String>,
    flent_version: Option<String>,
}

/// Series of rates in Mbit/s of a direction, the best first: sums before single streams.
const RATES: [&str; 4] = [" sum", "", " BE", "::1"];

pub(super) fn read(data: &Data) -> Result<Measured, FormatError> {
    let series = |name: &str| -> Vec<(f64, f64)> {
        let values = data.results.get(name).into_iter().flatten();
        data.x_values.iter().zip(values).filter_map(|(at, value)| Some((*at, (*value)?))).collect()
    };
    // The first series of a direction that carried something.
    let direction = |direction: &str| {
        RATES.iter().find_map(|part| {
            let name = format!("TCP {direction}{part}");
            Link::of(&name, &series(&name)).map(|link| (name, link))
        })
    };
    let (link, both_ways) = match (direction("download"), direction("upload")) {
        (Some((down, _)), Some((up, _))) => {
            let values = |name: &str| data.results.get(name).into_iter().flatten().copied();
            let pairs = data.x_values.iter().zip(values(&down).zip(values(&up)));
            let sums: Vec<_> = pairs.filter_map(|(at, (down, up))| Some((*at, down? + up?))).collect();
            (Link::of(&format!("{down} and {}", up.trim_start_matches("TCP ")), &sums), true)
        }
        (Some((_, link)), None) | (None, Some((_, link))) => (Some(link), false),
        (None, None) => (Link::of("TCP totals", &series("TCP totals")), false),
    };
    let is_ping = |name: &str| name.starts_with("Ping (ms)");
    // Averages of several pings would count them twice.
    let single = data.results.keys().filter(|name| is_ping(name) && !name.ends_with("avg"));
    let mut names: Vec<&String> = single.collect();
    if let Some(icmp) = names.iter().position(|name| name.ends_with("ICMP")) {
        names = vec![names[icmp]];
    }
    let trips: Vec<f64> = names.iter().flat_map(|name| series(name)).map(|(_, trip)| trip).collect();
    if link.is_none() && trips.is_empty() {
        let known: Vec<&str> = data.results.keys().take(6).map(String::as_str).collect();
        return Err(FormatError::new(format!(
            "flent's file has neither rates nor pings, only {}",
            known.join(", ")
        )));
    }
    let seconds = data.x_values.first().zip(data.x_values.last()).map_or(0.0, |(first, last)| last - first);
    let path = Path { link, both_ways, round_trips: trips, loss: None, probe: None, seconds };
    let part = |before: &str, value: &Option<String>| {
        value.as_deref().map_or_else(String::new, |value| format!("{before}{value}"))
    };
    let Metadata { name, flent_version } = &data.metadata;
    let tool = format!("flent{}{}", part(" ", flent_version), part(", test ", name));
    Ok(Measured { tool, content: Content::Path(path), left_out: None })
}

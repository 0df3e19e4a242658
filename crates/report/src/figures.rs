//! The figures of a comparison.

use airbound_record::{Component, SeriesRow};
use serde::Serialize;
use std::collections::BTreeMap;

use crate::comparison::{Comparison, SchemeRuns};
use crate::error::ReportError;
use crate::plot::{Frame, Line, MOST_LINES, exceedance, lines as plot_lines, split_bars};

/// Limit of windows of a time series; more are merged.
const MOST_WINDOWS: usize = 400;
/// Limit of flows whose split is drawn; tables have all.
const MOST_FLOWS: usize = 12;

/// A plot with the sentence below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Figure {
    pub(crate) svg: String,
    pub(crate) caption: String,
}

impl Comparison {
    /// The subjects of the lines: schemes, or the flows of a single scheme.
    fn subjects(&self) -> (Vec<(String, &SchemeRuns, String)>, String) {
        let names = self.flow_names();
        if self.schemes.len() > 1 {
            let all = self.schemes.iter().map(|scheme| (scheme.name.clone(), scheme, self.focus.clone()));
            (all.collect(), format!("flow {}", self.focus))
        } else {
            let focus_first = std::iter::once(&self.focus).chain(names.iter().filter(|n| **n != self.focus));
            let all = focus_first
                .flat_map(|flow| self.schemes.iter().map(move |s| (flow.clone(), s, flow.clone())));
            (all.collect(), "all flows".to_owned())
        }
    }

    /// Lines of all subjects with data, and the text of the caption, which names omissions.
    fn lines(&self, points: impl Fn(&SchemeRuns, &str) -> Vec<Option<(f64, f64)>>) -> (Vec<Line>, String) {
        let (subjects, what) = self.subjects();
        let all =
            subjects.into_iter().map(|(name, scheme, flow)| Line { name, points: points(scheme, &flow) });
        let mut lines: Vec<Line> = all.filter(|line| line.points.iter().any(Option::is_some)).collect();
        let count = lines.len();
        lines.truncate(MOST_LINES);
        let what =
            if count > MOST_LINES { format!("{what} (the first {MOST_LINES} of {count})") } else { what };
        (lines, what)
    }

    /// Complementary distributions of the latencies of packets and video frames.
    pub(crate) fn distributions(&self) -> Result<Vec<Figure>, ReportError> {
        let mut figures = Vec::new();
        let components = [
            (Component::Latency, "packets"),
            (Component::Frame, "video frames"),
            (Component::FirstTimeFrame, "video frames that no retransmission completed"),
        ];
        for (component, of) in components {
            let (lines, what) = self.lines(|scheme, flow| exceeding(scheme, flow, component));
            let svg = exceedance("packets", &lines)?;
            let seeds = if self.seeds() > 1 { "; all seeds together" } else { "" };
            let caption = format!(
                "Latency of {of}, {what}: the share of {of} that took longer{seeds}. 1 % is the 99th percentile, \
                 0.01 % the 99.99th."
            );
            figures.extend(svg.map(|svg| Figure { svg, caption }));
        }
        Ok(figures)
    }

    /// Latency, goodput and queue over time, of the first seed.
    pub(crate) fn time_series(&self) -> Result<Vec<Figure>, ReportError> {
        type Pick = fn(&SeriesRow) -> Option<f64>;
        let picks: [(&'static str, Pick, Gather); 3] = [
            ("p95 latency (ms)", |row| row.latency_p95_ms, Gather::Largest),
            ("goodput (Mb/s)", |row| Some(row.goodput_mbps), Gather::Mean),
            ("packets in the queue", |row| Some(row.queue_packets as f64), Gather::Largest),
        ];
        let seeds = if self.seeds() > 1 { "; the first seed" } else { "" };
        let mut figures = Vec::new();
        for (axis, pick, gather) in picks {
            let mut merged = 1;
            let (lines, what) = {
                let longest = self.schemes.iter().flat_map(|scheme| scheme.runs.first());
                let longest = longest.map(|run| run.windows(&self.focus).count()).max().unwrap_or(0);
                merged = merged.max(longest.div_ceil(MOST_WINDOWS));
                self.lines(|scheme, flow| over_time(scheme, flow, pick, gather, merged))
            };
            let how = match (merged, gather) {
                (0 | 1, _) => String::new(),
                (_, Gather::Largest) => format!("; each point is the largest of {merged} windows"),
                (_, Gather::Mean) => format!("; each point is the mean of {merged} windows"),
            };
            let frame = Frame { x: "time (s)".to_owned(), y: axis.to_owned(), ..Frame::default() };
            let svg = plot_lines(&lines, &frame)?;
            let caption =
                format!("{}, {what}{seeds}{how}.", capitalised(axis.split(" (").next().unwrap_or(axis)));
            figures.extend(svg.map(|svg| Figure { svg, caption }));
        }
        Ok(figures)
    }

    /// The mean latency by stage, one figure for each flow, the flow in focus first.
    pub(crate) fn splits(&self) -> Result<Vec<Figure>, ReportError> {
        let names = self.flow_names();
        let ordered = std::iter::once(&self.focus).chain(names.iter().filter(|name| **name != self.focus));
        let seeds = if self.seeds() > 1 { "; all seeds together" } else { "" };
        let mut figures = Vec::new();
        let left_out = if names.len() > MOST_FLOWS {
            format!(" (the first {MOST_FLOWS} of {} flows)", names.len())
        } else {
            String::new()
        };
        if self.schemes.len() == 1 {
            let bars: Vec<_> = ordered
                .flat_map(|flow| {
                    self.schemes.iter().filter_map(move |s| Some((flow.clone(), mean_split(s, flow)?)))
                })
                .take(MOST_FLOWS)
                .collect();
            let caption = format!("Where the mean latency of each flow went{left_out}{seeds}.");
            figures.extend(split_bars(&bars)?.map(|svg| Figure { svg, caption }));
            return Ok(figures);
        }
        for flow in ordered.take(MOST_FLOWS) {
            let bars: Vec<_> =
                self.schemes.iter().filter_map(|s| Some((s.name.clone(), mean_split(s, flow)?))).collect();
            let caption = format!("Where the mean latency of flow {flow} went{left_out}{seeds}.");
            figures.extend(split_bars(&bars)?.map(|svg| Figure { svg, caption }));
        }
        Ok(figures)
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    // "p95" keeps its lower-case letter.
    match letters.next() {
        Some(first) if !text.starts_with("p95") => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

/// The steps of (latency in ms, share of samples above it), from the shortest latency on.
fn exceeding(scheme: &SchemeRuns, flow: &str, component: Component) -> Vec<Option<(f64, f64)>> {
    let mut buckets = BTreeMap::<_, u64>::new();
    for (high, count) in scheme.runs.iter().flat_map(|run| run.buckets(flow, component)) {
        *buckets.entry(high).or_default() += count;
    }
    let total: u64 = buckets.values().sum();
    let (mut above, mut shown) = (total, total);
    let mut points = Vec::new();
    for (high, count) in buckets {
        above -= count;
        // Invisible steps are merged.
        if above == 0 || shown as f64 / above as f64 > 1.01 {
            for share in [shown, above] {
                points.push(Some((high.as_millis_f64(), share as f64 / total as f64)));
            }
            shown = above;
        }
    }
    points
}

#[derive(Debug, Clone, Copy)]
enum Gather {
    Largest,
    Mean,
}

/// (time in s, value) of the first seed, with `merged` windows combined.
fn over_time(
    scheme: &SchemeRuns,
    flow: &str,
    pick: fn(&SeriesRow) -> Option<f64>,
    gather: Gather,
    merged: usize,
) -> Vec<Option<(f64, f64)>> {
    let Some(run) = scheme.runs.first() else { return Vec::new() };
    let windows: Vec<&SeriesRow> = run.windows(flow).collect();
    let point = |windows: &[&SeriesRow]| {
        let values: Vec<f64> = windows.iter().filter_map(|row| pick(row)).filter(|v| v.is_finite()).collect();
        let value = match gather {
            Gather::Largest => values.iter().copied().reduce(f64::max)?,
            Gather::Mean => values.iter().sum::<f64>() / values.len().max(1) as f64,
        };
        Some((windows.first()?.window_start.as_secs_f64(), value))
    };
    windows.chunks(merged.max(1)).map(point).collect()
}

/// Mean of each stage over all packets of all seeds, ms.
pub(crate) fn mean_split(scheme: &SchemeRuns, flow: &str) -> Option<[f64; 6]> {
    let (mut sums, mut packets) = ([0.0; 6], 0);
    for (means, count) in scheme.runs.iter().filter_map(|run| run.split(flow)) {
        packets += count;
        for (sum, mean) in sums.iter_mut().zip(means) {
            *sum += mean * count as f64;
        }
    }
    (packets > 0).then(|| sums.map(|sum| sum / packets as f64))
}

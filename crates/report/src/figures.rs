//! The charts of a comparison.

use airbound_record::{Component, SeriesRow, Summary};
use airbound_units::Span;

use crate::chart::{Band, Bar, Chart, ChartKind, Dots, Line, Panels, Split, Tails};
use crate::comparison::{Comparison, SchemeRuns, relative_change};
use crate::grid::{Spread, number};
use crate::groups::Group;
use crate::page::Pick;
use crate::plot::SERIES;
use crate::run::Run;

/// Limit of windows of a small plot; more are merged.
const MOST_WINDOWS: usize = 200;
/// Limit of groups whose split is drawn, and of rows of dots; tables have all.
const MOST_GROUPS: usize = 12;

/// A line for a scheme, or for a group of a single scheme.
struct Subject<'a> {
    name: String,
    scheme: &'a SchemeRuns,
    group: &'a Group,
}

impl Comparison {
    /// The schemes with the group in focus, or a single scheme with all groups; and the words of the caption.
    fn subjects(&self) -> (Vec<Subject<'_>>, String) {
        let Some(focus) = self.focus() else { return (Vec::new(), String::new()) };
        if let [scheme] = self.schemes.as_slice() {
            let all = self.focus_first().map(|group| Subject { name: group.label(), scheme, group });
            return (all.collect(), String::new());
        }
        let all =
            self.schemes.iter().map(|scheme| Subject { name: scheme.name.clone(), scheme, group: focus });
        (all.collect(), format!(" of {}", focus.label()))
    }

    fn seed_words(&self) -> &'static str {
        if self.seeds() > 1 { "; all seeds together" } else { "" }
    }

    /// Complementary distributions of the latencies of packets and video frames.
    pub(crate) fn distributions(&self) -> Pick {
        let components = [
            (Component::Latency, "packets"),
            (Component::Frame, "video frames"),
            (Component::FirstTimeFrame, "frames that no retransmission completed"),
        ];
        let (subjects, what) = self.subjects();
        let option = |(component, samples): (Component, &str)| {
            let lines = subjects.iter().map(|subject| Line {
                name: subject.name.clone(),
                points: self.exceeding(subject, component),
            });
            let mut lines: Vec<Line> = lines.filter(|line| line.points.iter().any(Option::is_some)).collect();
            let count = lines.len();
            lines.truncate(SERIES);
            if count == 0 {
                return None;
            }
            let left_out =
                if count > SERIES { format!(" (the first {SERIES} of {count})") } else { String::new() };
            let is_packets = component == Component::Latency;
            let floor = if is_packets {
                "; a line that ends above the axis ends at the share that was lost"
            } else {
                ""
            };
            // Of several flows the line is that of the first one.
            let demand =
                subjects.first().and_then(|subject| self.demand(subject.group)).filter(|_| is_packets);
            let of = if count > 1 && self.schemes.len() == 1 {
                subjects.first().map(|first| &first.name)
            } else {
                None
            };
            let of = of.map_or(String::new(), |name| format!(" of {name}"));
            let demand = demand.map(|(name, ms, share)| (format!("{name}{of}"), ms, share));
            let demanded = if demand.is_some() {
                "; the demand counts on the Wi-Fi part, so the delay of the wire is added to it"
            } else {
                ""
            };
            let caption = format!(
                "The share of {samples}{what}{left_out} that took longer{floor}{demanded}{}. 1 % is the 99th percentile.",
                self.seed_words()
            );
            let kind = ChartKind::Tails(Tails { samples: samples.to_owned(), lines, demand });
            Some((samples.to_owned(), Chart { kind, caption }))
        };
        Pick { label: "Latency of".to_owned(), options: components.into_iter().filter_map(option).collect() }
    }

    /// The demand of a group on an axis of the whole latency: its words, its latency with the delay of the wire in ms, and the share that
    /// may be above it.
    pub(crate) fn demand(&self, group: &Group) -> Option<(String, f64, f64)> {
        let flow = self.example(group)?;
        let demand = flow.demand?;
        let wire = self.wire_delay(group).map_or(0.0, Span::as_millis_f64);
        let words = if wire > 0.0 {
            format!("demand {} ms + {} ms of wire", demand.latency_ms, number(wire))
        } else {
            format!("demand {} ms", demand.latency_ms)
        };
        Some((words, demand.latency_ms + wire, 1.0 - demand.percentile / 100.0))
    }

    /// The steps of (latency in ms, share of samples above it), from the shortest latency on. Lost packets are above all.
    fn exceeding(&self, subject: &Subject<'_>, component: Component) -> Vec<Option<(f64, f64)>> {
        let runs = subject.scheme.runs.iter();
        let flows =
            runs.flat_map(|run| self.numbers_of(run, subject.group).into_iter().map(move |flow| (run, flow)));
        let buckets = Run::merged(flows, component);
        if buckets.is_empty() {
            return Vec::new();
        }
        let lost = if component == Component::Latency {
            self.members(subject.scheme, subject.group).map(|flow| flow.packets.dropped).sum()
        } else {
            0
        };
        let total = buckets.iter().map(|(_, count)| count).sum::<u64>() + lost;
        let (mut above, mut shown) = (total, total);
        let mut points = Vec::new();
        for (high, count) in buckets {
            above -= count;
            // Invisible steps are merged.
            if above == lost || shown as f64 / above as f64 > 1.02 {
                for share in [shown, above] {
                    points.push(Some((high.as_millis_f64(), share as f64 / total as f64)));
                }
                shown = above;
            }
        }
        points
    }

    /// The mean latency by stage, for one group at a time, that in focus first.
    pub(crate) fn splits(&self) -> Pick {
        let left_out = if self.flows.all().len() > MOST_GROUPS {
            format!(" (the first {MOST_GROUPS} of {})", self.flows.all().len())
        } else {
            String::new()
        };
        let chart = |of: &str, bars: Vec<(String, [f64; 6])>| {
            let caption = format!("Where the mean latency of {of} went{left_out}{}.", self.seed_words());
            let is_drawn = !bars.is_empty();
            is_drawn.then_some(Chart { kind: ChartKind::Split(Split { bars }), caption })
        };
        let groups = || self.focus_first().take(MOST_GROUPS);
        let options = if let [scheme] = self.schemes.as_slice() {
            let bars = groups().filter_map(|group| Some((group.label(), self.mean_split(scheme, group)?)));
            chart("each flow", bars.collect())
                .map(|chart| ("each flow".to_owned(), chart))
                .into_iter()
                .collect()
        } else {
            let option = |group: &Group| {
                let bars =
                    self.schemes.iter().filter_map(|s| Some((s.name.clone(), self.mean_split(s, group)?)));
                Some((group.label(), chart(&group.label(), bars.collect())?))
            };
            groups().filter_map(option).collect()
        };
        Pick { label: "Where the time went:".to_owned(), options }
    }

    /// Mean of each stage over all packets of all members and seeds, ms.
    pub(crate) fn mean_split(&self, scheme: &SchemeRuns, group: &Group) -> Option<[f64; 6]> {
        let (mut sums, mut packets) = ([0.0; 6], 0);
        for run in &scheme.runs {
            for (means, count) in self.numbers_of(run, group).into_iter().filter_map(|flow| run.split(flow)) {
                packets += count;
                for (sum, mean) in sums.iter_mut().zip(means) {
                    *sum += mean * count as f64;
                }
            }
        }
        (packets > 0).then(|| sums.map(|sum| sum / packets as f64))
    }

    /// Change of goodput, and latency, of the other groups under each scheme.
    pub(crate) fn cost_dots(&self) -> Vec<Chart> {
        let Some(base) = self.base().filter(|_| self.schemes.len() > 1) else { return Vec::new() };
        let count = self.others().count();
        let groups: Vec<&Group> = self.others().take(MOST_GROUPS).collect();
        let left_out = if count > groups.len() {
            format!(" (the first {MOST_GROUPS} of {count})")
        } else {
            String::new()
        };
        let rows: Vec<String> = groups.iter().map(|group| group.label()).collect();
        let ranges = if self.seeds() > 1 { "; the lines are the ranges over the seeds" } else { "" };
        let series =
            |value: &dyn Fn(&SchemeRuns, &Group) -> Option<Spread>| -> Vec<(String, Vec<Option<Bar>>)> {
                let of = |scheme: &SchemeRuns| {
                    (scheme.name.clone(), groups.iter().map(|group| value(scheme, group).map(dot)).collect())
                };
                self.schemes.iter().map(of).collect()
            };
        let goodput = |scheme: &SchemeRuns, group: &Group| {
            relative_change(scheme, base, |summary: &Summary| self.goodput_of(summary, group))
        };
        let p95 = |scheme: &SchemeRuns, group: &Group| {
            let positive = |flow: &airbound_record::FlowSummary| flow.latency_ms.p95.filter(|ms| *ms > 0.0);
            scheme.spread(|summary| self.middle_of(summary, group, &positive))
        };
        let chart = |x: &str, logarithmic: bool, series, caption: String| {
            let kind = ChartKind::Dots(Dots { x: x.to_owned(), logarithmic, rows: rows.clone(), series });
            Chart { kind, caption }
        };
        let change = format!("Goodput of the other flows{left_out}, change against {}{ranges}.", base.name);
        let latency = format!("95th percentile of their latency{left_out}, logarithmic{ranges}.");
        vec![
            chart("change of goodput (%)", false, series(&goodput), change),
            chart("p95 latency (ms)", true, series(&p95), latency),
        ]
    }

    /// Latency, goodput and queue over time, of the first seed: a small plot for each scheme, or each group of a single one.
    pub(crate) fn over_time(&self) -> Pick {
        type Read = fn(&SeriesRow) -> Option<f64>;
        let quantities: [(&str, Read, Gather); 3] = [
            ("p95 latency (ms)", |row| row.latency_p95_ms, Gather::Largest),
            ("goodput (Mb/s)", |row| Some(row.goodput_mbps), Gather::Mean),
            ("packets in the queue", |row| Some(row.queue_packets as f64), Gather::Largest),
        ];
        let (mut subjects, what) = self.subjects();
        let count = subjects.len();
        subjects.truncate(MOST_GROUPS);
        let left_out = if count > MOST_GROUPS {
            format!(" (the first {MOST_GROUPS} of {count})")
        } else {
            String::new()
        };
        let seeds = if self.seeds() > 1 { "; the first seed" } else { "" };
        let members = if subjects.iter().any(|subject| subject.group.is_many()) {
            "; of a group the median, and the band of 90 % of its members"
        } else {
            ""
        };
        let link = if self.any_session() { "; packets of a session on one access link" } else { "" };
        let option = |(axis, read, gather): (&str, Read, Gather)| {
            let (panels, merged): (Vec<(Line, Band)>, Vec<usize>) = subjects
                .iter()
                .map(|subject| {
                    let (points, band, merged) = self.windows(subject, read, gather);
                    ((Line { name: subject.name.clone(), points }, band), merged)
                })
                .unzip();
            let merged = merged.into_iter().max().unwrap_or(1);
            let how = match (merged, gather) {
                (0 | 1, _) => String::new(),
                (_, Gather::Largest) => format!("; each point is the largest of {merged} windows"),
                (_, Gather::Mean) => format!("; each point is the mean of {merged} windows"),
            };
            if panels.iter().all(|(line, _)| line.points.iter().all(Option::is_none)) {
                return None;
            }
            let caption = format!("{axis}{what}{left_out} over the time in s{seeds}{how}{members}{link}.");
            let level = |subject: &Subject<'_>| self.demand(subject.group).map(|(_, ms, _)| ms);
            let levels =
                if axis.starts_with("p95") { subjects.iter().map(level).collect() } else { Vec::new() };
            let kind = ChartKind::Panels(Panels { y: axis.to_owned(), panels, levels });
            Some((axis.to_owned(), Chart { kind, caption: capitalised(&caption) }))
        };
        Pick { label: "Over time:".to_owned(), options: quantities.into_iter().filter_map(option).collect() }
    }

    /// (time in s, value) of the first seed, with so many windows combined as said last; of a group the median, and the band around it.
    fn windows(
        &self,
        subject: &Subject<'_>,
        read: fn(&SeriesRow) -> Option<f64>,
        gather: Gather,
    ) -> (Vec<Option<(f64, f64)>>, Band, usize) {
        let Some(run) = subject.scheme.runs.first() else { return (Vec::new(), Band::new(), 1) };
        let flows = self.numbers_of(run, subject.group);
        let longest = flows.iter().map(|flow| run.windows(*flow).len()).max().unwrap_or(0);
        let merged = longest.div_ceil(MOST_WINDOWS).max(1);
        let mut values = vec![(0.0, Vec::<Option<f64>>::new()); longest.div_ceil(merged)];
        for flow in flows {
            for (rows, (time, values)) in run.windows(flow).chunks(merged).zip(&mut values) {
                *time = rows.first().map_or(0.0, |row| row.window_start.as_secs_f64());
                values.push(gather.of(rows.iter().filter_map(read)));
            }
        }
        let spreads: Vec<(f64, Option<Spread>)> =
            values.into_iter().map(|(time, values)| (time, Spread::of_members(values.into_iter()))).collect();
        let points = spreads.iter().map(|(time, spread)| Some((*time, (*spread)?.median))).collect();
        let band =
            spreads.iter().filter_map(|(time, spread)| spread.map(|spread| (*time, spread.low, spread.high)));
        let band = if subject.group.is_many() { band.collect() } else { Band::new() };
        (points, band, merged)
    }
}

/// The value of several windows.
#[derive(Debug, Clone, Copy)]
enum Gather {
    Largest,
    Mean,
}

impl Gather {
    fn of(self, values: impl Iterator<Item = f64>) -> Option<f64> {
        let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        match self {
            Self::Largest => values.into_iter().reduce(f64::max),
            Self::Mean => Some(values.iter().sum::<f64>() / values.len().max(1) as f64),
        }
    }
}

/// A dot with the range over the seeds.
pub(crate) fn dot(spread: Spread) -> Bar {
    Bar { value: spread.median, range: Some((spread.low, spread.high)), reference: None }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    // "p95" keeps its lower-case letter.
    match letters.next() {
        Some(first) if !text.starts_with("p95") => first.to_uppercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

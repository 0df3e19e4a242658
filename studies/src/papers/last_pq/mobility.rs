//! Sec. VI, Fig. 12: the VR phone walks from M1 to M8 and back, with five flows at it and five other clients.

use std::collections::BTreeMap;

use airbound_report::{Grid, Line};
use airbound_units::{Instant, Span};

use super::measure::text;
use super::{CLAIMS, FLOOR, LAST_PQ, LEAD_S, LINUX, SCHEMES};
use crate::Effort;
use crate::papers::claims::Row;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

const WAYS: [&str; 2] = ["M1 to M8", "M8 to M1"];
const DEMAND_MS: f64 = 20.0;
/// Windows of frame rate and latency in the charts.
const WINDOW: Span = Span::from_secs(1);
/// Windows of the table of settling; the rows are judged with [`WINDOW`], as all of the walk.
const WINDOWS: [Span; 4] = [Span::from_millis(100), Span::from_millis(200), Span::from_millis(500), WINDOW];

pub(super) struct Mobility;

/// Five flows at the phone and five other clients.
const fn crowded(scheme: &str) -> [&str; 3] {
    [scheme, "5F", "5C"]
}

fn experiments([scheme, flows, clients]: [&str; 3], way: &str, effort: Effort) -> Vec<Experiment> {
    let trials = FLOOR.trials(&[scheme, flows, clients, way], effort).into_iter();
    trials.map(|trial| Experiment::watching(trial, 0)).collect()
}

/// A walk, in seconds from its beginning.
struct Walk {
    /// 95th percentile of each second, ms.
    p95: Vec<(f64, f64)>,
    /// When the demand is met, by [`WINDOWS`].
    settled: [Option<f64>; WINDOWS.len()],
    fps: Vec<(f64, f64)>,
    /// Mean frame rate.
    mean_fps: f64,
}

impl Walk {
    fn of(run: &Measured) -> Self {
        let shifted = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
            points.into_iter().map(|(at, value)| (at - LEAD_S, value)).filter(|(at, _)| *at >= 0.0).collect()
        };
        let end = Instant::ZERO + Span::from_secs_f64(LEAD_S + run.outcome.summary.duration_s);
        let fps = shifted(run.watched.frame_rate(WINDOW, end));
        Self {
            p95: shifted(run.watched.percentiles(WINDOW, 95.0)),
            settled: WINDOWS.map(|window| settled(&shifted(run.watched.percentiles(window, 95.0)), window)),
            mean_fps: fps.iter().map(|(_, fps)| *fps).sum::<f64>() / fps.len().max(1) as f64,
            fps,
        }
    }

    fn settled(&self) -> Option<f64> {
        self.settled[WINDOWS.len() - 1]
    }

    /// When a second first has all its frames.
    fn full(&self) -> Option<f64> {
        self.fps.iter().find(|(_, fps)| *fps >= 30.0).map(|(at, _)| *at)
    }

    fn share_above(&self, limit: f64) -> f64 {
        let above = self.p95.iter().filter(|(_, p95)| *p95 > limit).count();
        above as f64 / self.p95.len().max(1) as f64
    }

    /// The largest 95th percentile of a second.
    fn highest(&self) -> Option<f64> {
        self.p95.iter().map(|(_, p95)| *p95).reduce(f64::max)
    }

    /// The lowest frame rate of a second once the stream has settled; `None` if it never does.
    fn lowest_fps(&self) -> Option<f64> {
        let from = self.settled()?.max(self.full()?);
        self.fps.iter().filter(|(at, _)| *at >= from).map(|(_, fps)| *fps).reduce(f64::min)
    }
}

/// The end of the last window above the demand before the demand is met for a whole second.
fn settled(windows: &[(f64, f64)], window: Span) -> Option<f64> {
    let mut since = 0.0;
    for (at, p95) in windows {
        let end = at + window.as_secs_f64();
        if *p95 > DEMAND_MS {
            since = end;
        } else if end - since >= 1.0 - 1e-9 {
            return Some(since);
        }
    }
    None
}

/// Returns the walks that were made, one for each seed.
fn walks(walker: [&str; 3], way: &str, effort: Effort, results: &Results) -> Vec<Walk> {
    let made = experiments(walker, way, effort);
    made.iter().filter_map(|experiment| results.get(experiment)).map(Walk::of).collect()
}

/// The value of each walk; one that never gets there counts with its length.
fn values(walks: &[Walk], value: impl Fn(&Walk) -> Option<f64>) -> Vec<f64> {
    walks.iter().map(|walk| value(walk).unwrap_or(walk.p95.len() as f64)).collect()
}

/// The mean of these.
fn mean(walks: &[Walk], value: impl Fn(&Walk) -> Option<f64>) -> Option<f64> {
    (!walks.is_empty()).then(|| values(walks, value).iter().sum::<f64>() / walks.len() as f64)
}

impl Study for Mobility {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let of = |scheme: &str, way: &str| walks(crowded(scheme), way, effort, results);
        let judge = |row: Row<'static>, case: &'static BTreeMap<String, String>| {
            let (linux, ours) = (of(LINUX, &case["way"]), of(LAST_PQ, &case["way"]));
            let fps = |walk: &Walk| Some(walk.mean_fps);
            row.baseline(mean(&linux, fps)).over(match case["key"].as_str() {
                "linux-fps" => values(&linux, fps),
                "settled" => values(&ours, Walk::settled),
                "full" => values(&ours, Walk::full),
                "fps" => values(&ours, fps),
                "met" => values(&ours, |walk| Some(1.0 - walk.share_above(DEMAND_MS))),
                _ => values(&ours, |walk| Some(walk.lowest_fps().unwrap_or(0.0))),
            })
        };
        let mut rows = ["walk", "walk-fps", "walk-settled", "full", "excursion"]
            .map(|key| CLAIMS.each(key, judge))
            .concat();
        let [linux, ours] =
            SCHEMES.map(|scheme| WAYS.iter().flat_map(|way| of(scheme, way)).collect::<Vec<Walk>>());
        let above = |walks| values(walks, |walk| Some(walk.share_above(60.0)));
        let more = above(&linux).iter().sum::<f64>() > above(&ours).iter().sum();
        rows.push(CLAIMS.row("above-60").trend(more).over(above(&linux)));
        rows.push(CLAIMS.row("highest").measured(linux.iter().filter_map(Walk::highest).reduce(f64::max)));
        let charts = WAYS.iter().flat_map(|way| {
            let first = SCHEMES.map(|scheme| (scheme, of(scheme, way).into_iter().next()));
            let lines = |pick: fn(&Walk) -> &Vec<(f64, f64)>| {
                let line = |(scheme, walk): &(&str, Option<Walk>)| {
                    Some(Line::whole(*scheme, pick(walk.as_ref()?).clone()))
                };
                first.iter().filter_map(line).collect()
            };
            let named = [("way", (*way).to_owned())];
            [
                CLAIMS.lines("walk-p95", &named, lines(|walk| &walk.p95)),
                CLAIMS.lines(way, &[], lines(|walk| &walk.fps)),
            ]
        });
        Part { rows, chapter: CLAIMS.chapter("walk", Vec::new(), charts.collect()) }
    }
}

/// The same walk to places beyond M8, from nearer ones, and VR alone on it.
pub(super) struct Farther;

const FARTHER: [&str; 5] = [WAYS[0], "M1 to 20 m", "M1 to 26 m", WAYS[1], "13 m to M1"];
const WALKERS: [(&str, [&str; 3]); 3] =
    [("VR alone", [LINUX, "0F", "0C"]), (LINUX, crowded(LINUX)), (LAST_PQ, crowded(LAST_PQ))];

impl Study for Farther {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("farther", &[]);
        for way in FARTHER {
            for (name, walker) in WALKERS {
                let walks = walks(walker, way, effort, results);
                let values = [
                    mean(&walks, |walk| Some(walk.mean_fps)),
                    mean(&walks, Walk::settled),
                    mean(&walks, |walk| Some(100.0 * walk.share_above(DEMAND_MS))),
                    mean(&walks, |walk| Some(100.0 * walk.share_above(60.0))),
                    mean(&walks, Walk::highest),
                ];
                let cells = [way.to_owned(), name.to_owned()].into_iter().chain(values.map(text));
                grid.rows.push(cells.map(Into::into).collect());
            }
        }
        let tables = vec![settling(effort, results), grid];
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("farther", tables, Vec::new()) }
    }
}

/// When LAST-PQ meets the demand, by the length of the windows.
fn settling(effort: Effort, results: &Results) -> Grid {
    let mut grid = CLAIMS.table("settling", &[]);
    for way in [WAYS[0], WAYS[1], "13 m to M1"] {
        let walks = walks(crowded(LAST_PQ), way, effort, results);
        let values = (0..WINDOWS.len()).map(|window| text(mean(&walks, |walk| walk.settled[window])));
        grid.rows.push([way.to_owned()].into_iter().chain(values).map(Into::into).collect());
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settled_is_the_end_of_the_last_window_above_before_a_second_without() {
        let half = Span::from_millis(500);
        let windows = |values: &[f64]| -> Vec<(f64, f64)> {
            values.iter().enumerate().map(|(place, p95)| (place as f64 * 0.5, *p95)).collect()
        };
        assert_eq!(settled(&windows(&[25.0, 15.0, 21.0, 15.0, 15.0, 30.0]), half), Some(1.5));
        assert_eq!(settled(&windows(&[15.0, 15.0, 30.0]), half), Some(0.0));
        assert_eq!(settled(&windows(&[15.0, 25.0, 15.0]), half), None);
    }
}

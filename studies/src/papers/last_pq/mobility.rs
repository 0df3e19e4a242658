//! Sec. VI, Fig. 12: the VR phone walks from M1 to M8 and back, with five flows at it and five other clients.

use airbound_report::Line;
use airbound_units::{Instant, Span};

use super::{CLAIMS, FLOOR, LAST_PQ, LEAD_S, LINUX, SCHEMES};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

const WAYS: [&str; 2] = ["M1 to M8", "M8 to M1"];
const DEMAND_MS: f64 = 20.0;
/// Windows of frame rate and latency in the charts.
const WINDOW: Span = Span::from_secs(1);
/// Windows in which it is found out when the demand is first met.
const FINE: Span = Span::from_millis(100);

pub(super) struct Mobility;

fn experiment(scheme: &str, way: &str, effort: Effort) -> Experiment {
    Experiment::watching(FLOOR.trial(&[scheme, way, "5F", "5C"], 1, effort), 0)
}

/// A walk, in seconds from its beginning.
struct Walk {
    /// 95th percentile of each second, ms.
    p95: Vec<(f64, f64)>,
    fine_p95: Vec<(f64, f64)>,
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
            fine_p95: shifted(run.watched.percentiles(FINE, 95.0)),
            mean_fps: fps.iter().map(|(_, fps)| *fps).sum::<f64>() / fps.len().max(1) as f64,
            fps,
        }
    }

    /// The end of the last fine window above the demand before the demand is met for a whole second.
    fn settled(&self) -> Option<f64> {
        let mut since = 0.0;
        for (at, p95) in &self.fine_p95 {
            if *p95 > DEMAND_MS {
                since = at + FINE.as_secs_f64();
            } else if at + FINE.as_secs_f64() - since >= 1.0 {
                return Some(since);
            }
        }
        None
    }

    /// When a second first has all its frames.
    fn full(&self) -> Option<f64> {
        self.fps.iter().find(|(_, fps)| *fps >= 30.0).map(|(at, _)| *at)
    }

    fn share_above(&self, limit: f64) -> f64 {
        let above = self.p95.iter().filter(|(_, p95)| *p95 > limit).count();
        above as f64 / self.p95.len().max(1) as f64
    }

    /// The lowest frame rate of a second once the stream has settled.
    fn lowest_fps(&self) -> Option<f64> {
        let from = self.settled()?.max(self.full()?);
        self.fps.iter().filter(|(at, _)| *at >= from).map(|(_, fps)| *fps).reduce(f64::min)
    }
}

impl Study for Mobility {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        WAYS.iter().flat_map(|way| SCHEMES.map(|scheme| experiment(scheme, way, effort))).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let walk = |scheme: &str, way: &str| results.get(&experiment(scheme, way, effort)).map(Walk::of);
        let mut rows = CLAIMS.each("walk", |row, case| {
            let (linux, ours) = (walk(LINUX, &case["way"]), walk(LAST_PQ, &case["way"]));
            let ours = ours.as_ref();
            row.measured(match case["key"].as_str() {
                "linux-fps" => linux.map(|walk| walk.mean_fps),
                "settled" => ours.and_then(Walk::settled),
                "full" => ours.and_then(Walk::full),
                "fps" => ours.map(|walk| walk.mean_fps),
                "met" => ours.map(|walk| 1.0 - walk.share_above(DEMAND_MS)),
                _ => ours.and_then(Walk::lowest_fps),
            })
        });
        let linux: Vec<Walk> = WAYS.iter().filter_map(|way| walk(LINUX, way)).collect();
        let above = linux.iter().map(|walk| walk.share_above(60.0)).sum::<f64>() / linux.len() as f64;
        rows.push(CLAIMS.row("above-60").measured((!linux.is_empty()).then_some(above)));
        let p95s = linux.iter().flat_map(|walk| &walk.p95).map(|(_, p95)| *p95);
        rows.push(CLAIMS.row("highest").measured(p95s.reduce(f64::max)));
        let charts = WAYS.iter().flat_map(|way| {
            let lines = |pick: fn(Walk) -> Vec<(f64, f64)>| {
                let line = |scheme| Some(Line::whole(scheme, pick(walk(scheme, way)?)));
                SCHEMES.into_iter().filter_map(line).collect()
            };
            let named = [("way", (*way).to_owned())];
            [
                CLAIMS.lines("walk-p95", &named, lines(|walk| walk.p95)),
                CLAIMS.lines(way, &[], lines(|walk| walk.fps)),
            ]
        });
        Part { rows, chapter: CLAIMS.chapter("walk", Vec::new(), charts.collect()) }
    }
}

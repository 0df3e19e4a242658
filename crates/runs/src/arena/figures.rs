//! Figures of one run, and how often its stream changed its rate.

use airbound_control::frame::FlowId;
use airbound_sim::Run;
use airbound_units::{BitRate, Instant};
use serde::Serialize;

use super::place::Place;
use crate::error::RunsError;
use crate::opened::{Named, Opened};
use crate::watch::{LONGEST_PIECE, Meter};

/// Share by which a target differs from the last one counted, to count as changed.
const CHANGE: f64 = 0.02;

/// Results of a stream, and of those beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Figures {
    /// 99th percentile of the latency of decoded frames, ms; 0 without any.
    #[serde(rename = "frame_p99_ms")]
    pub(super) p99: f64,
    /// Share of frames that were late, lost or left out.
    #[serde(rename = "late_share")]
    pub(super) late: f64,
    /// Mb/s of coded video.
    #[serde(rename = "bitrate_mbps")]
    pub(super) bitrate: f64,
    /// Share of time in frozen frames.
    #[serde(rename = "stall_share")]
    pub(super) stalls: f64,
    /// Changes of the target rate by 2 % or more in a minute.
    #[serde(rename = "changes_per_minute")]
    pub(super) changes: f64,
    /// Goodput of all other flows, Mb/s.
    #[serde(rename = "others_mbps")]
    pub(super) others: f64,
    /// Share of it that the stream cost; below 0 by chance.
    #[serde(rename = "others_lost_share")]
    pub(super) cost: f64,
}

impl Figures {
    /// The rate, less tenfold the share of late frames.
    pub(super) fn timely_rate(&self) -> f64 {
        self.bitrate * (1.0 - 10.0 * self.late).max(0.0)
    }

    /// The mean of some.
    pub(super) fn mean(runs: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| runs.iter().map(of).sum::<f64>() / runs.len().max(1) as f64;
        Self {
            p99: mean(|run| run.p99),
            late: mean(|run| run.late),
            bitrate: mean(|run| run.bitrate),
            stalls: mean(|run| run.stalls),
            changes: mean(|run| run.changes),
            others: mean(|run| run.others),
            cost: mean(|run| run.cost),
        }
    }

    /// With the cost against a run without the stream.
    pub(super) fn beside(&self, alone: &Self) -> Self {
        let cost = if alone.others > 0.0 { 1.0 - self.others / alone.others } else { 0.0 };
        Self { cost, ..*self }
    }
}

/// Simulates a run and measures it.
pub(super) fn measure(
    opened: &Opened,
    named: &Named,
    seed: u64,
    place: &Place,
    meter: &Meter<'_>,
) -> Result<Figures, RunsError> {
    let mut run = opened.build(named, seed)?;
    let begin = Instant::ZERO + opened.scenario.warm_up;
    let mut changes = Changes::default();
    let flow = FlowId(place.number);
    meter.simulate_seen(&mut run, LONGEST_PIECE, |run| {
        if run.now() >= begin {
            changes.see(run, flow);
        }
    })?;
    let summary = run.finish()?.0.summary;
    let mut figures =
        Figures { changes: changes.count as f64 * 60.0 / summary.duration_s, ..Figures::default() };
    for found in &summary.flows {
        if found.name == place.flow {
            figures.p99 = found.frame_latency_ms.and_then(|latency| latency.p99).unwrap_or(0.0);
            figures.stalls = found.stall_rate.unwrap_or(0.0);
            if let Some(rtc) = found.rtc {
                figures.late = rtc.deadline_miss_rate.unwrap_or(0.0);
                figures.bitrate = rtc.bitrate_mbps;
            }
        } else {
            figures.others += found.goodput_mbps;
        }
    }
    Ok(figures)
}

/// Counts changes of the target rate.
#[derive(Default)]
struct Changes {
    last: Option<BitRate>,
    count: u64,
}

impl Changes {
    fn see(&mut self, run: &Run, flow: FlowId) {
        let snapshot = run.snapshot();
        let Some((_, video)) = snapshot.videos.iter().find(|(known, _)| *known == flow) else { return };
        let last = *self.last.get_or_insert(video.allowed);
        let (now, before) = (video.allowed.as_bps() as f64, last.as_bps() as f64);
        if (now - before).abs() >= CHANGE * before {
            self.last = Some(video.allowed);
            self.count += 1;
        }
    }
}

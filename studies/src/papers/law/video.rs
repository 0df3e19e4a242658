//! Figures of a stream of video, over runs.

use std::collections::BTreeMap;

use airbound_record::{Component, FlowSummary, RtcSummary};
use airbound_units::Span;

use super::measure;
use crate::papers::experiment::Measured;
use crate::papers::shown;

/// Samples of a latency in buckets, of several runs together.
#[derive(Debug, Clone, Default)]
pub(super) struct Buckets {
    /// Samples by the upper end of their bucket.
    counts: BTreeMap<Span, u64>,
    total: u64,
}

impl Buckets {
    /// Those of flow 0.
    fn of(runs: &[&Measured], component: Component) -> Self {
        let mut buckets = Self::default();
        let rows = runs.iter().flat_map(|run| &run.outcome.distributions);
        for row in rows.filter(|row| row.flow == 0 && row.component == component) {
            *buckets.counts.entry(row.high).or_default() += row.count;
            buckets.total += row.count;
        }
        buckets
    }

    /// The latency in ms that a share (0 to 1) of the samples does not exceed.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share * self.total as f64).ceil() as u64;
        let mut up_to = 0;
        let bucket = self.counts.iter().find(|(_, count)| {
            up_to += **count;
            up_to >= rank.max(1)
        });
        bucket.map(|(high, _)| high.as_millis_f64())
    }

    /// The share of the samples above each latency.
    pub(super) fn tail(&self) -> Vec<(f64, f64)> {
        let mut above = self.total;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (high, count) in &self.counts {
            above -= count;
            let share = above as f64 / self.total as f64;
            // Steps too small to be seen are left out.
            if above == 0 || points.last().is_none_or(|(_, last)| share < last * 0.97) {
                points.push((high.as_millis_f64(), share));
            }
        }
        points
    }
}

/// A stream of video; shares are means over runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Video {
    /// From the encoder until a frame can be decoded.
    pub(super) frames: Buckets,
    /// Until a frame is complete, of those whose last packet was no retransmission.
    pub(super) first_time: Buckets,
    /// Share of frames later than 100 ms, those never decoded included.
    pub(super) miss_rate: Option<f64>,
    /// Share of the time in which the picture stood still.
    pub(super) stall_rate: Option<f64>,
    pub(super) bitrate_mbps: Option<f64>,
    /// Share of frames with a lost packet.
    pub(super) lossy: Option<f64>,
    /// Share of frames with more than a fifth of the packets lost.
    pub(super) over_fifth_lost: Option<f64>,
    /// Share of complete frames that a retransmission completed.
    pub(super) retransmitted: Option<f64>,
}

/// The columns that [`Video::cells`] fills.
pub(super) const COLUMNS: [&str; 6] = ["p50 ms", "p99 ms", "p99.9 ms", "> 100 ms %", "stalled %", "Mb/s"];

impl Video {
    /// Returns the cells with which every table of frames begins.
    pub(super) fn cells(&self) -> Vec<String> {
        let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
        let percent = |value: Option<f64>| text(value.map(|share| 100.0 * share));
        let mut cells: Vec<String> =
            [0.5, 0.99, 0.999].map(|share| text(self.frames.quantile(share))).to_vec();
        cells.extend([percent(self.miss_rate), percent(self.stall_rate), text(self.bitrate_mbps)]);
        cells
    }

    /// Of the first flow of the runs.
    pub(super) fn of(runs: &[&Measured]) -> Self {
        let flow = |value: &dyn Fn(&FlowSummary) -> Option<f64>| {
            measure::mean(runs, |run| value(run.outcome.summary.flows.first()?))
        };
        let rtc = |value: &dyn Fn(&RtcSummary) -> Option<f64>| flow(&|flow| value(flow.rtc.as_ref()?));
        Self {
            frames: Buckets::of(runs, Component::Frame),
            first_time: Buckets::of(runs, Component::FirstTimeFrame),
            miss_rate: rtc(&|rtc| rtc.deadline_miss_rate),
            stall_rate: flow(&|flow| flow.stall_rate),
            bitrate_mbps: rtc(&|rtc| Some(rtc.bitrate_mbps)),
            lossy: rtc(&|rtc| rtc.frames_lossy_share),
            over_fifth_lost: rtc(&|rtc| rtc.frames_over_20pct_loss_share),
            retransmitted: rtc(&|rtc| rtc.frames_retransmitted_share),
        }
    }
}

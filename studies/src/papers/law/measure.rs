//! Figures of the runs of a cell, over seeds: packets, and frames of video.

use std::collections::BTreeMap;

use airbound_record::{Component, FlowSummary, RtcSummary};
use airbound_report::{Grid, Line};
use airbound_units::{Instant, Span};

use super::OFFICE;
use crate::papers::digest::Digest;
use crate::papers::distribution::tail;
pub(super) use crate::papers::experiment::mean;
use crate::papers::experiment::{Experiment, Measured, Results};
pub(super) use crate::papers::text;
use crate::{Effort, Trial};

/// The end of the warm-up: packets that were sent earlier are not measured.
pub(super) const MEASURED_FROM: Instant = Instant::from_nanos(10_000_000_000);
/// The bound of the default setting, Limit_q + 2 Limit_h: what comes later is late (Sec. 4.2).
const BOUND: Span = Span::from_millis(46);

/// The runs that were made.
#[derive(Debug, Clone, Copy)]
pub(super) struct Runs<'a> {
    pub(super) effort: Effort,
    pub(super) results: &'a Results,
}

impl<'a> Runs<'a> {
    /// Returns the runs of a cell of the office, with the digest of the packets of its first flow.
    pub(super) fn of(self, cell: &[&str]) -> Vec<&'a Measured> {
        let digesting = |trial| Experiment::digesting(trial, 0, MEASURED_FROM, BOUND);
        self.made(OFFICE.trials(cell, self.effort), digesting)
    }

    /// Returns the runs of trials.
    pub(super) fn made(self, trials: Vec<Trial>, watch: fn(Trial) -> Experiment) -> Vec<&'a Measured> {
        trials.into_iter().filter_map(|trial| self.results.get(&watch(trial))).collect()
    }

    /// Returns the packets of the first flow, all seeds together.
    pub(super) fn digest(self, cell: &[&str]) -> Digest {
        Digest::merged(self.of(cell).into_iter().filter_map(|run| run.digest.as_ref()))
    }

    /// Returns the packets of the first flow in each run.
    pub(super) fn digests(self, cell: &[&str]) -> Vec<&'a Digest> {
        self.of(cell).into_iter().filter_map(|run| run.digest.as_ref()).collect()
    }

    /// Returns the frames of the first flow in each run.
    pub(super) fn videos(self, cell: &[&str]) -> Vec<Video> {
        self.of(cell).into_iter().map(|run| Video::of(&[run])).collect()
    }

    /// Returns the goodput of the first flow in each run, Mb/s.
    pub(super) fn goodputs(self, cell: &[&str]) -> Vec<f64> {
        let flow = |run: &Measured| run.outcome.summary.flows.first().map(|flow| flow.goodput_mbps);
        self.of(cell).into_iter().filter_map(flow).collect()
    }

    /// Returns the frames of the first flow, all seeds together.
    pub(super) fn video(self, cell: &[&str]) -> Video {
        Video::of(&self.of(cell))
    }

    /// Returns the goodput of the first flow in Mb/s.
    pub(super) fn goodput(self, cell: &[&str]) -> Option<f64> {
        mean(&self.of(cell), |run| Some(run.outcome.summary.flows.first()?.goodput_mbps))
    }
}

/// The change in percent from `from` to `to`.
pub(super) fn change(from: Option<f64>, to: Option<f64>) -> Option<f64> {
    let (from, to) = (from?, to?);
    (from > 0.0).then(|| 100.0 * (to / from - 1.0))
}

/// The changes in percent of a value from runs to others, which have the same seeds.
pub(super) fn changes<T>(from: &[T], to: &[T], value: impl Fn(&T) -> Option<f64>) -> Vec<f64> {
    from.iter().zip(to).filter_map(|(from, to)| change(value(from), value(to))).collect()
}

pub(super) fn percent(share: Option<f64>) -> Option<f64> {
    share.map(|share| 100.0 * share)
}

/// Adds a row of texts and numbers to a table.
pub(super) fn add(grid: &mut Grid, texts: &[&str], numbers: impl IntoIterator<Item = Option<f64>>) {
    let texts = texts.iter().map(|text| (*text).into());
    grid.rows.push(texts.chain(numbers.into_iter().map(|number| text(number).into())).collect());
}

/// The share of packets above each latency.
pub(super) fn packet_line(name: &str, digest: &Digest) -> Line {
    let buckets: Vec<(Span, u64)> = digest.latency.buckets().map(|(_, high, count)| (high, count)).collect();
    Line::whole(name, tail(buckets.into_iter()))
}

/// Samples of a latency in buckets, by their upper ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Buckets(BTreeMap<Span, u64>);

impl Buckets {
    /// Those of flow 0 of several runs together.
    fn of(runs: &[&Measured], component: Component) -> Self {
        let mut buckets = BTreeMap::new();
        let rows = runs.iter().flat_map(|run| &run.outcome.distributions);
        for row in rows.filter(|row| row.flow == 0 && row.component == component) {
            *buckets.entry(row.high).or_default() += row.count;
        }
        Self(buckets)
    }

    /// The number of samples.
    pub(super) fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The latency in ms that a share (0 to 1) of the samples does not exceed.
    pub(super) fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share * self.count() as f64).ceil() as u64;
        let mut up_to = 0;
        let bucket = self.0.iter().find(|(_, count)| {
            up_to += **count;
            up_to >= rank.max(1)
        });
        bucket.map(|(high, _)| high.as_millis_f64())
    }

    /// The share of samples above each latency.
    pub(super) fn line(&self, name: &str) -> Line {
        Line::whole(name, tail(self.0.iter().map(|(high, count)| (*high, *count))))
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
    /// Packets of a frame, those of error correction and retransmissions included.
    pub(super) packets_a_frame: Option<f64>,
    /// Share of frames with a lost packet.
    pub(super) lossy: Option<f64>,
    /// Share of frames with more than a fifth of the packets lost.
    pub(super) over_fifth_lost: Option<f64>,
    /// Share of complete frames that a retransmission completed.
    pub(super) retransmitted: Option<f64>,
}

impl Video {
    /// Of the first flow of the runs.
    fn of(runs: &[&Measured]) -> Self {
        let flow = |value: &dyn Fn(&FlowSummary) -> Option<f64>| {
            mean(runs, |run| value(run.outcome.summary.flows.first()?))
        };
        let rtc = |value: &dyn Fn(&RtcSummary) -> Option<f64>| flow(&|flow| value(flow.rtc.as_ref()?));
        Self {
            frames: Buckets::of(runs, Component::Frame),
            first_time: Buckets::of(runs, Component::FirstTimeFrame),
            miss_rate: rtc(&|rtc| rtc.deadline_miss_rate),
            stall_rate: flow(&|flow| flow.stall_rate),
            bitrate_mbps: rtc(&|rtc| Some(rtc.bitrate_mbps)),
            packets_a_frame: flow(&|flow| {
                let frames = flow.rtc.as_ref()?.frames.created;
                (frames > 0).then(|| flow.packets.sent as f64 / frames as f64)
            }),
            lossy: rtc(&|rtc| rtc.frames_lossy_share),
            over_fifth_lost: rtc(&|rtc| rtc.frames_over_20pct_loss_share),
            retransmitted: rtc(&|rtc| rtc.frames_retransmitted_share),
        }
    }

    /// The columns with which tables of frames begin: p50, p99, p99.9, late, stalled, bitrate.
    pub(super) fn columns(&self) -> [Option<f64>; 6] {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| self.frames.quantile(share));
        [p50, p99, p999, percent(self.miss_rate), percent(self.stall_rate), self.bitrate_mbps]
    }
}

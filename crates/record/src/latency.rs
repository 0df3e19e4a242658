//! Latency distributions of bounded size and constant cost per sample.

use airbound_units::Span;

use crate::counts::{Added, Counts};
use crate::rows::{Component, DistributionRow};
use crate::split::Split;
use crate::stage::Stage;
use crate::summary::LatencyStats;

/// Resolution of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolution {
    /// Relative error below 0.1 % (at most 90 kB), for reported quantiles.
    Fine,
    /// Relative error below 1 % (at most 12 kB), for plots.
    Coarse,
}

/// A distribution of spans, exact in count, mean and maximum, of bounded relative error in its quantiles.
///
/// The resolution is 512 ns at best; spans above 1100 s count as 1100 s. Recording costs a few nanoseconds. Memory depends on the
/// longest sample, and is not allocated before the first.
#[derive(Debug, Clone)]
pub struct LatencyHistogram {
    counts: Counts,
    /// Samples of zero, which most stages of most packets are; counting them here is several times cheaper.
    zeros: u64,
    sum_ns: u128,
    max: Span,
}

impl LatencyHistogram {
    /// An empty distribution.
    #[must_use]
    pub const fn new(resolution: Resolution) -> Self {
        let bits = match resolution {
            Resolution::Fine => 10,
            Resolution::Coarse => 7,
        };
        Self { counts: Counts::new(bits), zeros: 0, sum_ns: 0, max: Span::ZERO }
    }

    /// Adds one sample.
    #[inline]
    pub fn record(&mut self, span: Span) {
        self.record_alike(span, 1);
    }

    /// Adds several samples at a fraction of the cost of single ones.
    pub fn record_all(&mut self, spans: &[Span]) {
        /// Fewer samples cost less one by one.
        const MANY: usize = 16;
        let Some(first) = spans.first().filter(|_| spans.len() >= MANY) else {
            spans.iter().for_each(|span| self.record(*span));
            return;
        };
        // Bitwise OR and AND over the samples suffice to classify them, and vectorise.
        let (mut any, mut all, mut sum) = (0, u64::MAX, 0u64);
        for span in spans {
            any |= span.as_nanos();
            all &= span.as_nanos();
            sum = sum.wrapping_add(span.as_nanos());
        }
        if any == all
            && let Ok(times) = u32::try_from(spans.len())
        {
            // All samples are equal, as mostly for a stage of an aggregate's packets.
            self.record_alike(*first, times);
        } else if let Some(Added { zeros, longest }) = self.counts.add_all(spans, any, self.max) {
            self.zeros += zeros;
            self.sum_ns += u128::from(sum);
            self.max = longest;
        } else {
            spans.iter().for_each(|span| self.record(*span));
        }
    }

    #[inline]
    fn record_alike(&mut self, span: Span, times: u32) {
        if span.is_zero() {
            self.zeros += u64::from(times);
            return;
        }
        self.counts.add(span.as_nanos(), times);
        self.sum_ns += u128::from(span.as_nanos()) * u128::from(times);
        self.max = self.max.max(span);
    }

    /// Adds all samples of another distribution.
    pub fn merge(&mut self, other: &Self) {
        for (_, longest, count) in other.counts.buckets() {
            self.counts.add(longest, count);
        }
        self.zeros += other.zeros;
        self.sum_ns += other.sum_ns;
        self.max = self.max.max(other.max);
    }

    /// Removes all samples and keeps the allocation, for windows.
    pub fn clear(&mut self) {
        self.counts.clear();
        self.zeros = 0;
        self.sum_ns = 0;
        self.max = Span::ZERO;
    }

    /// Number of samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.zeros + self.counts.total()
    }

    /// Largest sample, exact; zero without samples.
    #[must_use]
    pub const fn max(&self) -> Span {
        self.max
    }

    /// Mean, exact to a nanosecond; `None` without samples.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        let mean = self.sum_ns.checked_div(u128::from(self.count()))?;
        Some(Span::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX)))
    }

    /// The mean of the least samples, a share of `share` (0 to 1) of all, by the middles of their buckets; `None` without samples.
    #[must_use]
    pub fn trimmed_mean(&self, share: f64) -> Option<Span> {
        let kept = ((share.clamp(0.0, 1.0) * self.count() as f64).ceil() as u64).max(1);
        let (mut left, mut sum) = (kept, 0_u128);
        for (low, high, count) in self.buckets() {
            let counted = count.min(left);
            sum += u128::from(counted)
                * (u128::from(low.as_nanos()) + u128::from(high.min(self.max).as_nanos()))
                / 2;
            left -= counted;
        }
        (left < kept)
            .then(|| Span::from_nanos(u64::try_from(sum / u128::from(kept - left)).unwrap_or(u64::MAX)))
    }

    /// Round trips a minute, where samples are round trips: 60 s over the mean of the least 95 % (draft-ietf-ippm-responsiveness-06,
    /// Aggregating the Measurements); `None` without samples.
    #[must_use]
    pub fn round_trips_per_minute(&self) -> Option<f64> {
        self.trimmed_mean(0.95).filter(|mean| *mean > Span::ZERO).map(|mean| 60.0 / mean.as_secs_f64())
    }

    /// The span that a fraction `quantile` (0 to 1) of the samples does not exceed; `None` without samples.
    #[must_use]
    pub fn quantile(&self, quantile: f64) -> Option<Span> {
        let [found] = self.quantiles([quantile]);
        found
    }

    /// Ascending quantiles in one pass.
    fn quantiles<const N: usize>(&self, quantiles: [f64; N]) -> [Option<Span>; N] {
        let count = self.count();
        if count == 0 {
            return [None; N];
        }
        // The ranks of the samples, from 1; zeros are first.
        let rank = |quantile: f64| ((quantile.clamp(0.0, 1.0) * count as f64).ceil() as u64).clamp(1, count);
        let ranks = quantiles.map(rank);
        let found = self.counts.at_ranks(ranks.map(|rank| rank.saturating_sub(self.zeros)));
        std::array::from_fn(|place| {
            Some(match found[place] {
                _ if ranks[place] <= self.zeros => Span::ZERO,
                Some(longest) => Span::from_nanos(longest).min(self.max),
                None => self.max,
            })
        })
    }

    /// The quantiles of `summary.json`.
    #[must_use]
    pub fn stats(&self) -> LatencyStats {
        let [p50, p90, p95, p99, p999, p9999] =
            self.quantiles([0.5, 0.9, 0.95, 0.99, 0.999, 0.9999]).map(|span| span.map(Span::as_millis_f64));
        LatencyStats {
            p50,
            p90,
            p95,
            p99,
            p999,
            p9999,
            mean: self.mean().map(Span::as_millis_f64),
            max: (self.count() > 0).then(|| self.max.as_millis_f64()),
        }
    }

    /// The buckets with samples, shortest spans first: lower bound, upper bound, number of samples.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, Span, u64)> + '_ {
        let zeros = (self.zeros > 0).then_some((Span::ZERO, Span::ZERO, self.zeros));
        let counted = self.counts.buckets();
        zeros.into_iter().chain(
            counted
                .map(|(low, high, count)| (Span::from_nanos(low), Span::from_nanos(high), u64::from(count))),
        )
    }
}

/// The distributions of one flow: latency and its stages, for video the latency of frames, for TCP round trips.
#[derive(Debug, Clone)]
pub struct FlowLatency {
    latency: LatencyHistogram,
    stages: [LatencyHistogram; 6],
    frames: Option<LatencyHistogram>,
    first_time_frames: Option<LatencyHistogram>,
    round_trips: Option<LatencyHistogram>,
}

impl FlowLatency {
    /// Empty distributions.
    #[must_use]
    pub fn new() -> Self {
        Self {
            latency: LatencyHistogram::new(Resolution::Fine),
            stages: std::array::from_fn(|_| LatencyHistogram::new(Resolution::Coarse)),
            frames: None,
            first_time_frames: None,
            round_trips: None,
        }
    }

    /// Adds a delivered packet.
    pub fn record(&mut self, split: &Split) {
        self.latency.record(split.latency());
        for (stage, span) in self.stages.iter_mut().zip(split.stages()) {
            stage.record(*span);
        }
    }

    /// Adds delivered packets: their latencies, and their times in each stage, in the order of [`Stage::ALL`].
    pub fn record_all(&mut self, latencies: &[Span], stages: [&[Span]; 6]) {
        self.latency.record_all(latencies);
        for (stage, spans) in self.stages.iter_mut().zip(stages) {
            stage.record_all(spans);
        }
    }

    /// Adds packets of one aggregate: their latencies, their times in the stage in which they differ, and those in common.
    pub fn record_aggregate(
        &mut self,
        latencies: &[Span],
        (stage, differ): (Stage, &[Span]),
        common: [(Stage, Span); 4],
    ) {
        self.latency.record_all(latencies);
        self.stages[stage as usize].record_all(differ);
        for (stage, span) in common {
            self.record_alike(stage, span, latencies.len() as u32);
        }
    }

    /// Adds the time of `packets` packets in one stage.
    pub fn record_alike(&mut self, stage: Stage, span: Span, packets: u32) {
        self.stages[stage as usize].record_alike(span, packets);
    }

    /// Adds a delivered video frame.
    pub fn record_frame(&mut self, latency: Span) {
        self.frames.get_or_insert_with(|| LatencyHistogram::new(Resolution::Fine)).record(latency);
    }

    /// Adds the completion time of a video frame whose last packet was no retransmission.
    pub fn record_first_time_frame(&mut self, latency: Span) {
        let frames = &mut self.first_time_frames;
        frames.get_or_insert_with(|| LatencyHistogram::new(Resolution::Fine)).record(latency);
    }

    /// Adds a round trip measured by the flow's sender.
    pub fn record_round_trip(&mut self, round_trip: Span) {
        self.round_trips.get_or_insert_with(|| LatencyHistogram::new(Resolution::Fine)).record(round_trip);
    }

    /// Latency of packets.
    #[must_use]
    pub const fn latency(&self) -> &LatencyHistogram {
        &self.latency
    }

    /// Time of packets in one stage.
    #[must_use]
    pub const fn stage(&self, stage: Stage) -> &LatencyHistogram {
        &self.stages[stage as usize]
    }

    /// Latency of video frames; `None` without frames.
    #[must_use]
    pub const fn frames(&self) -> Option<&LatencyHistogram> {
        self.frames.as_ref()
    }

    /// Completion time of video frames whose last packet was no retransmission; `None` without such frames.
    #[must_use]
    pub const fn first_time_frames(&self) -> Option<&LatencyHistogram> {
        self.first_time_frames.as_ref()
    }

    /// Round trips; `None` if none was measured.
    #[must_use]
    pub const fn round_trips(&self) -> Option<&LatencyHistogram> {
        self.round_trips.as_ref()
    }

    /// The rows of `distributions.parquet` for flow number `flow`.
    pub fn rows(&self, flow: u32) -> impl Iterator<Item = DistributionRow> + '_ {
        let stages = Stage::ALL.iter().map(|stage| (Component::Stage(*stage), self.stage(*stage)));
        std::iter::once((Component::Latency, &self.latency))
            .chain(stages)
            .chain(self.frames.iter().map(|frames| (Component::Frame, frames)))
            .chain(self.round_trips.iter().map(|round_trips| (Component::RoundTrip, round_trips)))
            .chain(self.first_time_frames.iter().map(|frames| (Component::FirstTimeFrame, frames)))
            .flat_map(move |(component, histogram)| {
                let mean = histogram.mean().unwrap_or(Span::ZERO);
                histogram.buckets().map(move |(low, high, count)| DistributionRow {
                    flow,
                    component,
                    low,
                    high,
                    count,
                    mean,
                })
            })
    }
}

impl Default for FlowLatency {
    fn default() -> Self {
        Self::new()
    }
}

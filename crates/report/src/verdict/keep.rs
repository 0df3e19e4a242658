//! Whether a scheme keeps the demands of the network: at their percentile, on the Wi-Fi, as mean over the seeds.

use airbound_record::{FlowSummary, Summary};
use serde::Serialize;

use super::rules::{LOSSY, PLAYABLE};
use crate::comparison::{Comparison, SchemeRuns, is_adaptive};
use crate::groups::Group;
use crate::student::student_quantile;

/// Confidence of the intervals of means.
const CONFIDENCE: f64 = 0.95;

/// Whether a demand is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keeping {
    /// The mean over the seeds is at most what is demanded.
    Kept,
    /// The 95 % interval of the mean spans what is demanded.
    About,
    /// The mean is more, or more than 5 % are lost.
    Missed,
}

/// The result of one demand under a scheme; of a group that of the member that is furthest from what is demanded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DemandResult {
    /// The flow, or the group of flows.
    pub group: String,
    /// The flow, of a group the member.
    pub flow: String,
    /// Percentile of the latency on the Wi-Fi that the demand bounds, in per cent.
    pub percentile: f64,
    /// Latency demanded, ms.
    pub demanded_ms: f64,
    /// Mean over the seeds of that percentile, ms; `None` if packets of a seed never arrived.
    pub measured_ms: Option<f64>,
    /// The 95 % interval of that mean, ms; `None` with fewer than three seeds.
    pub interval_ms: Option<[f64; 2]>,
    /// Share of packets, or of payload, that did not arrive, mean over the seeds.
    pub lost_share: f64,
    /// Goodput of a sender that adapts its bitrate, Mb/s, mean over the seeds; `None` of others.
    pub bitrate_mbps: Option<f64>,
    /// Whether it is kept.
    pub keeping: Keeping,
    /// The larger of measured over demanded latency, and of lost over allowed share: at most 1 if the mean keeps the demand.
    pub excess: f64,
}

impl DemandResult {
    fn of(comparison: &Comparison, scheme: &SchemeRuns, group: &Group, member: &str) -> Option<Self> {
        let flows = || scheme.summaries().filter_map(|run| run.flows.iter().find(|flow| flow.name == member));
        let demand = flows().find_map(|flow| flow.demand)?;
        let measured: Option<Vec<f64>> = flows().map(|flow| flow.demand?.measured_ms).collect();
        let measured = measured.filter(|values| !values.is_empty());
        let measured_ms = measured.as_deref().map(mean);
        let interval_ms = measured.as_deref().and_then(interval);
        let lost_share = mean(&flows().map(|flow| undelivered(comparison, flow)).collect::<Vec<_>>());
        let bitrates: Vec<f64> =
            flows().filter(|flow| is_adaptive(flow)).map(|flow| flow.goodput_mbps).collect();
        let late = measured_ms.map_or(f64::INFINITY, |ms| ms / demand.latency_ms);
        let lossy = 100.0 * lost_share / LOSSY.threshold;
        let spans = |[low, high]: [f64; 2]| low <= demand.latency_ms && demand.latency_ms <= high;
        let keeping = match () {
            () if lossy > 1.0 => Keeping::Missed,
            () if interval_ms.is_some_and(spans) => Keeping::About,
            () if late <= 1.0 => Keeping::Kept,
            () => Keeping::Missed,
        };
        Some(Self {
            group: group.name.clone(),
            flow: member.to_owned(),
            percentile: demand.percentile,
            demanded_ms: demand.latency_ms,
            measured_ms,
            interval_ms,
            lost_share,
            bitrate_mbps: (!bitrates.is_empty()).then(|| mean(&bitrates)),
            keeping,
            excess: late.max(lossy),
        })
    }

    /// Whether the means are within what is demanded.
    pub(super) fn is_within(&self) -> bool {
        self.excess <= 1.0
    }

    /// Whether loss, not latency, is what is furthest from the demand.
    pub(super) fn is_lossy(&self) -> bool {
        100.0 * self.lost_share / LOSSY.threshold >= self.excess
    }
}

/// The result of each demand under a scheme, that of the group in focus first.
pub(crate) fn demands(comparison: &Comparison, scheme: &SchemeRuns) -> Vec<DemandResult> {
    let worst = |group: &Group| {
        let members = group.members.iter();
        let results = members.filter_map(|member| DemandResult::of(comparison, scheme, group, member));
        // The first of equals.
        results.reduce(|worst, other| if other.excess > worst.excess { other } else { worst })
    };
    comparison.demanding().filter_map(worst).collect()
}

/// Whether at most half of the frames, or packets, of the flow in focus and of each flow with a demand are late or lost.
pub(super) fn is_playable(comparison: &Comparison, scheme: &SchemeRuns) -> bool {
    worst_played(comparison, scheme).is_none_or(|(_, share)| 100.0 * share <= PLAYABLE.threshold)
}

/// The group with the largest share of late or lost frames, and that share.
pub(super) fn worst_played<'a>(comparison: &'a Comparison, scheme: &SchemeRuns) -> Option<(&'a Group, f64)> {
    let focus = comparison.focus().filter(|focus| !comparison.demanding().any(|group| group.is(focus)));
    let groups = focus.into_iter().chain(comparison.demanding());
    let share = |group: &'a Group| {
        let of =
            |summary: &Summary| comparison.mean_of(summary, group, &|flow| Some(spoiled(comparison, flow)));
        let values: Vec<f64> = scheme.summaries().filter_map(of).collect();
        (!values.is_empty()).then(|| (group, mean(&values)))
    };
    groups.filter_map(share).reduce(|worst, other| if other.1 > worst.1 { other } else { worst })
}

/// Words on frames, or packets, of a group that missed, with the deadline where it is known.
pub(super) fn late(comparison: &Comparison, group: &Group) -> String {
    let facts = group.members.first().and_then(|name| comparison.facts.flow(name));
    facts.and_then(|facts| facts.deadline).map_or_else(
        || "late or lost".to_owned(),
        |deadline| format!("lost or later than {} ms", deadline.as_millis_f64()),
    )
}

/// Share of a flow's frames that were late or lost; of what has no frames, of packets that were lost.
fn spoiled(comparison: &Comparison, flow: &FlowSummary) -> f64 {
    missed_frames(flow).unwrap_or_else(|| undelivered(comparison, flow))
}

/// Share of a video's frames that were late or lost; `None` of what has no frames.
pub(crate) fn missed_frames(flow: &FlowSummary) -> Option<f64> {
    flow.rtc.map_or(flow.stall_rate, |rtc| rtc.deadline_miss_rate)
}

/// Share of a flow that did not arrive: of its packets, or of a stream's rate, of which its sender skips frames that TCP has no room for.
fn undelivered(comparison: &Comparison, flow: &FlowSummary) -> f64 {
    let lost = flow.loss_rate.unwrap_or(0.0);
    let rate = comparison.facts.flow(&flow.name).and_then(|facts| facts.rate);
    // An encoder adapts its rate; only rendered frames, which have deadlines, come at a given one.
    let rate = rate.filter(|_| flow.stall_rate.is_some() && flow.rtc.is_none());
    // Sizes of frames are random, so that a little less than the rate is not a skipped frame.
    let skipped = rate.map(|rate| 1.0 - flow.goodput_mbps / rate.as_mbps_f64());
    skipped.filter(|share| 100.0 * share > LOSSY.threshold).map_or(lost, |share| lost.max(share))
}

/// The mean; zero of nothing.
pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The 95 % interval of a mean, by Student's distribution; `None` for fewer than three values, since that of two spans nearly anything.
fn interval(values: &[f64]) -> Option<[f64; 2]> {
    let degrees = u32::try_from(values.len().checked_sub(1)?).ok().filter(|degrees| *degrees > 1)?;
    let centre = mean(values);
    let variance = values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / f64::from(degrees);
    let half =
        student_quantile(f64::midpoint(1.0, CONFIDENCE), degrees) * (variance / values.len() as f64).sqrt();
    Some([centre - half, centre + half])
}

#[cfg(test)]
mod tests {
    use airbound_units::{BitRate, Span};

    use super::super::test_runs::{Made, compared};
    use super::*;
    use crate::facts::{Facts, FlowFacts};

    fn results(runs: Vec<Made>) -> Vec<DemandResult> {
        let comparison = compared(runs, "vr", "linux");
        demands(&comparison, &comparison.schemes[0])
    }

    #[test]
    fn the_mean_over_the_seeds_decides_and_an_interval_that_spans_is_said() {
        let of = |latencies: [f64; 3]| {
            let runs = (1..).zip(latencies).map(|(seed, p95)| Made::new("linux", seed).vr(p95, 0.5));
            results(runs.collect()).remove(0)
        };
        let close = of([17.0, 19.5, 22.0]);
        // 4.303 * 2.5 / sqrt(3) on either side.
        let [low, high] = close.interval_ms.expect("three seeds");
        assert!((low - 13.29).abs() < 0.01 && (high - 25.71).abs() < 0.01, "{low} {high}");
        assert_eq!((close.keeping, close.measured_ms), (Keeping::About, Some(19.5)));
        assert_eq!(of([18.0, 18.1, 18.2]).keeping, Keeping::Kept);
        assert_eq!(of([21.0, 21.1, 21.2]).keeping, Keeping::Missed);
    }

    #[test]
    fn two_seeds_tell_no_interval() {
        let runs = (1..).zip([15.0, 108.0]).map(|(seed, p95)| Made::new("linux", seed).vr(p95, 0.5));
        let result = results(runs.collect()).remove(0);
        assert_eq!((result.keeping, result.interval_ms), (Keeping::Missed, None));
    }

    #[test]
    fn one_seed_keeps_or_misses_and_the_demand_itself_is_kept() {
        let of = |p95| results(vec![Made::new("linux", 1).vr(p95, 0.1)]).remove(0);
        assert_eq!((of(20.0).keeping, of(20.1).keeping), (Keeping::Kept, Keeping::Missed));
        assert_eq!(of(20.0).interval_ms, None);
    }

    #[test]
    fn late_frames_are_said_with_their_deadline() {
        let runs = compared(vec![Made::new("linux", 1).vr(5.0, 1.0)], "vr", "linux");
        let group = runs.demanding().next().expect("a demand").clone();
        assert_eq!(late(&runs, &group), "late or lost");
        let vr = FlowFacts {
            name: "vr".to_owned(),
            group: "vr".to_owned(),
            delay: Span::ZERO,
            start: Span::ZERO,
            rate: None,
            deadline: Some(Span::from_millis(33)),
        };
        let runs = runs.with_facts(Facts { flows: vec![vr], ..Facts::default() });
        assert_eq!(late(&runs, &group), "lost or later than 33 ms");
    }

    #[test]
    fn what_loses_more_than_a_twentieth_is_not_kept() {
        let of = |share: f64| results(vec![Made::new("linux", 1).vr(5.0, 1.0).loss("vr", share)]).remove(0);
        assert_eq!((of(0.05).keeping, of(0.051).keeping), (Keeping::Kept, Keeping::Missed));
        assert!((of(0.1).excess - 2.0).abs() < 1e-9 && of(0.1).is_lossy());
        // Frames that the sender skipped are lost, too: 42 of 45 Mb/s arrive.
        let made = Made::new("linux", 1).vr(5.0, 1.0).goodput("vr", 42.0).stalls("vr", 0.1);
        let skipped = compared(vec![made], "vr", "linux");
        let vr = FlowFacts {
            name: "vr".to_owned(),
            group: "vr".to_owned(),
            delay: Span::ZERO,
            start: Span::ZERO,
            rate: Some(BitRate::from_mbps(45)),
            deadline: None,
        };
        let skipped = skipped.with_facts(Facts { flows: vec![vr], ..Facts::default() });
        let result = demands(&skipped, &skipped.schemes[0]).remove(0);
        assert_eq!(result.keeping, Keeping::Missed);
        assert!((result.lost_share - 3.0 / 45.0).abs() < 1e-9);
    }
}

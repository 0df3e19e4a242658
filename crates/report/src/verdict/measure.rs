//! Figures by which schemes are ranked for a flow without a demand.

use airbound_record::Summary;

use super::keep::missed_frames;
use super::percent;
use super::rules::{CHOICE, DELIVERS, LOSES};
use crate::comparison::{Comparison, SchemeRuns, is_transfer};
use crate::grid::{Spread, number};
use crate::groups::Group;

/// Figure by which schemes are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// Utility of a conference.
    Utility,
    /// Share of video frames that missed their deadline.
    Missed,
    /// Goodput of a transfer.
    Goodput,
    /// 95th percentile of the latency.
    Latency,
    /// 99th percentile of the latency.
    Tail,
}

impl Measure {
    /// The figure of a flow without a demand: what its users care for.
    pub(super) fn for_flow(comparison: &Comparison, flow: &Group) -> Self {
        let has = |measure: Self| {
            let value = |summary: &Summary| measure.of(comparison, summary, flow);
            comparison.schemes.iter().any(|scheme| scheme.spread(value).is_some())
        };
        match () {
            () if has(Self::Utility) => Self::Utility,
            () if has(Self::Missed) => Self::Missed,
            () if comparison.example(flow).is_some_and(is_transfer) => Self::Goodput,
            () => Self::Latency,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Utility => "utility",
            Self::Missed => "missed frames",
            Self::Goodput => "goodput",
            Self::Latency => "p95",
            Self::Tail => "p99",
        }
    }

    const fn is_share(self) -> bool {
        matches!(self, Self::Missed)
    }

    const fn wants_more(self) -> bool {
        matches!(self, Self::Utility | Self::Goodput)
    }

    /// The figure of a flow, or of a group: shares are those of all seconds and frames, goodput is that of all members, the latency
    /// the median of theirs.
    pub(super) fn of(self, comparison: &Comparison, summary: &Summary, flow: &Group) -> Option<f64> {
        match self {
            Self::Utility => Some(summary.session.as_ref()?.utility),
            Self::Missed => comparison.mean_of(summary, flow, &missed_frames),
            Self::Goodput => comparison.goodput_of(summary, flow),
            Self::Latency => comparison.middle_of(summary, flow, &|flow| flow.latency_ms.p95),
            Self::Tail => comparison.middle_of(summary, flow, &|flow| flow.latency_ms.p99),
        }
    }

    pub(super) fn show(self, value: f64) -> String {
        match self {
            Self::Utility => number(value),
            Self::Missed => percent(value),
            Self::Goodput => format!("{} Mb/s", number(value)),
            Self::Latency | Self::Tail => format!("{} ms", number(value)),
        }
    }

    /// The value without its unit, in front of one with it.
    pub(super) fn bare(self, value: f64) -> String {
        if self.is_share() { self.show(value) } else { number(value) }
    }

    /// The value with its range over the seeds.
    pub(super) fn show_spread(self, spread: Spread) -> String {
        let (median, low, high) = (self.show(spread.median), self.show(spread.low), self.show(spread.high));
        if low == high { median } else { format!("{median} ({low} to {high})") }
    }
}

/// A scheme with its value.
pub(super) struct Ranked<'a> {
    pub(super) scheme: &'a SchemeRuns,
    pub(super) value: Spread,
}

/// Schemes that serve the flow, and why others do not: a flow that starves, or loses much, has low latencies.
pub(super) fn able<'a>(
    comparison: &'a Comparison,
    flow: &Group,
    measure: Measure,
) -> (Vec<&'a SchemeRuns>, Vec<(&'a str, String)>) {
    let all: Vec<&SchemeRuns> = comparison.schemes.iter().collect();
    if matches!(measure, Measure::Utility | Measure::Goodput | Measure::Missed) {
        return (all, Vec::new());
    }
    let goodput = |scheme: &SchemeRuns| {
        super::median(scheme, |summary| comparison.goodput_of(summary, flow)).unwrap_or(0.0)
    };
    let loss = |scheme: &SchemeRuns| {
        let lost = |summary: &Summary| comparison.mean_of(summary, flow, &|flow| flow.loss_rate);
        super::median(scheme, lost).unwrap_or(0.0)
    };
    // Programs that are emulated send something else each time: each run is judged by its own offer.
    let offer = |scheme: &SchemeRuns| {
        let of = |summary: &Summary| {
            summary.emulation.as_ref()?;
            Some(comparison.flows_of(summary, flow).map(|flow| flow.offered_mbps).sum::<f64>())
        };
        super::median(scheme, of)
    };
    let most = all.iter().map(|scheme| goodput(scheme)).fold(0.0, f64::max);
    let least = all.iter().map(|scheme| loss(scheme)).fold(1.0, f64::min);
    let (mut able, mut refused) = (Vec::new(), Vec::new());
    for scheme in all {
        let (goodput, loss) = (goodput(scheme), loss(scheme));
        let due = offer(scheme).unwrap_or(most);
        if 100.0 * goodput < DELIVERS.threshold * due {
            let reason = format!("delivers {} of {} Mb/s", number(goodput), number(due));
            refused.push((scheme.name.as_str(), reason));
        } else if 100.0 * (loss - least) > LOSES.threshold {
            refused.push((scheme.name.as_str(), format!("loses {} of the packets", percent(loss))));
        } else {
            able.push(scheme);
        }
    }
    (able, refused)
}

/// The schemes with a value, the best first.
pub(super) fn rank<'a>(
    comparison: &Comparison,
    schemes: &[&'a SchemeRuns],
    flow: &Group,
    measure: Measure,
) -> Vec<Ranked<'a>> {
    let mut ranked: Vec<Ranked<'_>> = schemes
        .iter()
        .filter_map(|scheme| {
            let value = scheme.spread(|summary| measure.of(comparison, summary, flow))?;
            Some(Ranked { scheme, value })
        })
        .collect();
    ranked.sort_by(|one, other| {
        let order = one.value.median.total_cmp(&other.value.median);
        if measure.wants_more() { order.reverse() } else { order }
    });
    ranked
}

/// Number of schemes, from the best on, that the runs do not tell from it.
pub(super) fn tied(ranked: &[Ranked<'_>], measure: Measure) -> usize {
    let Some(best) = ranked.first() else { return 0 };
    ranked.iter().take_while(|other| is_tie(best, other, measure)).count()
}

pub(super) fn is_tie(best: &Ranked<'_>, other: &Ranked<'_>, measure: Measure) -> bool {
    let (one, two) = (best.value.median, other.value.median);
    if measure.is_share() && 100.0 * (one - two).abs() <= LOSES.threshold {
        return true;
    }
    if best.scheme.runs.len() > 1 && other.scheme.runs.len() > 1 {
        return best.value.low <= other.value.high && other.value.low <= best.value.high;
    }
    let scale = if measure.is_share() { 1.0 } else { one.abs().max(two.abs()) };
    100.0 * (one - two).abs() < CHOICE.threshold * scale || one == two
}

/// Least and largest median.
pub(super) fn ends(ranked: &[Ranked<'_>]) -> (f64, f64) {
    let medians = || ranked.iter().map(|one| one.value.median);
    (medians().fold(f64::INFINITY, f64::min), medians().fold(f64::NEG_INFINITY, f64::max))
}

//! The answer of a plan, its margins, and the changes that it recommends.

use airbound_scenario::Scenario;
use airbound_units::{BitRate, Span};

use super::demand::{self, Demand, PlanError};
use super::search::{Estimate, Held, Model, Wanted};

/// Whether all demands can be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// All demands can be met.
    Yes,
    /// At least one demand cannot be met.
    No,
}

/// The result of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Whether all demands can be met.
    pub answer: Answer,
    /// Whether one half of the runs gives the other answer.
    pub is_close: bool,
    /// The share of time that the flows with demands need, contention included; above 1 the airtime does not suffice.
    pub load: f64,
    /// The result for each demand.
    pub demands: Vec<Outlook>,
    /// The factor, less one, by which the rates of all flows with demands could grow with all demands met, at most
    /// `MOST_HEADROOM`; `None` if they are not met, or have no rate of their own.
    pub headroom: Option<f64>,
    /// Relaxed demands that could be met; empty if all are met, or if the airtime does not suffice.
    pub relax: Vec<Relaxed>,
    /// Rates of single flows at which all demands could be met, the smallest reduction first. Empty if all are met, or if no single flow
    /// suffices.
    pub slow_down: Vec<Slower>,
}

/// The result for one demand.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// The demand: flow, latency and percentile.
    pub demand: Demand,
    /// Its station.
    pub station: String,
    /// The key of the scenario for its demand.
    pub key: String,
    /// Payload rate of its source.
    pub rate: BitRate,
    /// The median PHY rate of its exchanges; zero without any.
    pub phy_rate: BitRate,
    /// The longest delay of the wire before the access point.
    pub wire: Span,
    /// The part of the demand that the wire leaves to the access point; zero if nothing.
    pub left: Span,
    /// The demand that LAST-PQ has to be given: at most what is left, on a grid of 2^(1/4).
    pub target: Span,
    /// The share of time that the flow needs.
    pub load: f64,
    /// The expected latency at the percentile, wire included, with protection; `None` if nothing arrives.
    pub latency: Option<Span>,
    /// Delivered over offered payload, at most 1. A stream over TCP skips frames for which its window has no room.
    pub delivered: f64,
    /// Whether it meets the demand.
    pub met: bool,
}

/// A relaxed demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relaxed {
    /// The flow.
    pub flow: String,
    /// The demanded latency.
    pub from: Span,
    /// The latency that could be met, in whole milliseconds.
    pub to: Span,
}

/// A reduced rate of one flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slower {
    /// The flow.
    pub flow: String,
    /// Its payload rate.
    pub from: BitRate,
    /// The payload rate at which all demands could be met, a multiple of 100 kbit/s.
    pub to: BitRate,
}

/// Halvings in the search for a rate: to a thirty-second.
const HALVINGS: usize = 5;
/// Limit of the search for headroom: four times the rate.
pub(super) const MOST_HEADROOM: f64 = 3.0;
/// Rounds in the search for relaxed demands, the growth of a demand in each over what is expected, and the longest in seconds.
const ROUNDS: usize = 8;
const STEP: f64 = 1.1;
const LONGEST: f64 = 10.0;
/// The ratio of a recommended rate to the highest that suffices, which depends on the draws.
const MARGIN: f64 = 0.95;
/// Lowest ratio of a recommended rate to the flow's rate.
const SLOWEST: f64 = 0.1;

/// Answers whether the demands can be met in a scenario, and recommends what to change.
///
/// # Errors
/// A demand's flow does not exist or has no rate.
pub fn plan(scenario: &Scenario, demands: &[Demand]) -> Result<Plan, PlanError> {
    let model = model(scenario, demands)?;
    let (mut plan, held) = outlook(&model)?;
    if plan.answer == Answer::Yes {
        plan.headroom = headroom(&model, &held);
    } else {
        plan.slow_down = slower(&model, &held);
        plan.relax = relaxed(model, held);
    }
    Ok(plan)
}

/// The answer of [`plan`] alone: without headroom and without recommendations, each of which takes many more estimates.
///
/// # Errors
/// Those of [`plan`].
pub fn judge(scenario: &Scenario, demands: &[Demand]) -> Result<Plan, PlanError> {
    outlook(&model(scenario, demands)?).map(|(plan, _)| plan)
}

fn model<'a>(scenario: &'a Scenario, demands: &[Demand]) -> Result<Model<'a>, PlanError> {
    let demands = demand::of_flows(scenario, demands)?;
    Model::new(scenario, demands)
}

fn outlook(model: &Model<'_>) -> Result<(Plan, Held), PlanError> {
    let held = model.held()?;
    let met = held.is_met();
    let plan = Plan {
        answer: if met { Answer::Yes } else { Answer::No },
        is_close: held.halves.iter().any(|half| are_met(model, half) != met),
        load: held.all.iter().map(|estimate| estimate.load).sum(),
        demands: outlooks(model, &held),
        headroom: None,
        relax: Vec::new(),
        slow_down: Vec::new(),
    };
    Ok((plan, held))
}

fn outlooks(model: &Model<'_>, held: &Held) -> Vec<Outlook> {
    let each = model.wanted.iter().zip(&held.all).zip(&held.targets);
    each.map(|((wanted, estimate), target)| Outlook {
        demand: wanted.demand.clone(),
        station: wanted.subject.flow.station.clone(),
        key: wanted.subject.key(),
        // A session's is what arrived.
        rate: if wanted.subject.has_rate() {
            wanted.rate
        } else {
            BitRate::from_bps(estimate.delivered as u64)
        },
        phy_rate: estimate.phy_rate,
        wire: wanted.wire(),
        left: wanted.left(),
        target: *target,
        load: estimate.load,
        latency: estimate.latency.is_finite().then(|| Span::from_secs_f64(estimate.latency)),
        delivered: estimate.delivered.min(1.0),
        met: wanted.is_met(estimate),
    })
    .collect()
}

fn are_met(model: &Model<'_>, estimates: &[Estimate]) -> bool {
    estimates.len() == model.wanted.len()
        && model.wanted.iter().zip(estimates).all(|(wanted, estimate)| wanted.is_met(estimate))
}

/// The relaxed demands with which all are met. A longer demand permits longer aggregates of others, so the search repeats until the
/// answer is yes; empty if the airtime does not suffice.
fn relaxed(mut model: Model<'_>, mut held: Held) -> Vec<Relaxed> {
    let before: Vec<Span> = model.wanted.iter().map(|wanted| wanted.demand.latency).collect();
    for _ in 0..ROUNDS {
        let is_late = |(wanted, estimate): (&Wanted, &Estimate)| {
            estimate.latency > wanted.demand.latency.as_secs_f64() && estimate.latency <= LONGEST
        };
        // More time helps a flow that is late, not one that its window or the air does not let through.
        let missed =
            || model.wanted.iter().zip(&held.all).filter(|(wanted, estimate)| !wanted.is_met(estimate));
        if missed().next().is_none() || !missed().all(is_late) {
            break;
        }
        for (wanted, estimate) in model.wanted.iter_mut().zip(&held.all) {
            if !wanted.is_met(estimate) {
                // LAST-PQ lets a stream wait for as long as it may, so that a demand of what is expected would be met by chance.
                wanted.demand.latency = rounded_up(Span::from_secs_f64(STEP * estimate.latency));
            }
        }
        let Ok(next) = model.held() else { return Vec::new() };
        held = next;
    }
    if !held.is_met() {
        return Vec::new();
    }
    let each = model.wanted.iter().zip(before).filter(|(wanted, before)| wanted.demand.latency > *before);
    each.map(|(wanted, from)| Relaxed {
        flow: wanted.subject.flow.name.clone(),
        from,
        to: wanted.demand.latency,
    })
    .collect()
}

/// Rounds up to a whole millisecond.
fn rounded_up(latency: Span) -> Span {
    Span::from_millis(latency.as_nanos().div_ceil(1_000_000))
}

/// The common growth of all rates at which the demands are still met.
fn headroom(model: &Model<'_>, held: &Held) -> Option<f64> {
    // A session fills whatever there is.
    let has_rate = model.wanted.iter().any(|wanted| wanted.subject.has_rate());
    has_rate.then(|| {
        largest(0.0, MOST_HEADROOM, |more| {
            model.meets(&held.targets, &vec![1.0 + more; model.wanted.len()], true)
        })
    })
}

/// The largest value of a range that satisfies `is_good`, by bisection; its lower end does.
fn largest(mut low: f64, mut high: f64, is_good: impl Fn(f64) -> bool) -> f64 {
    if is_good(high) {
        return high;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if is_good(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The highest rates of single flows at which all demands are met.
fn slower(model: &Model<'_>, held: &Held) -> Vec<Slower> {
    let mut found = Vec::new();
    for (place, wanted) in model.wanted.iter().enumerate().filter(|(_, wanted)| wanted.subject.has_rate()) {
        let met_at = |scale: f64, is_search: bool| {
            let mut scales = vec![1.0; model.wanted.len()];
            scales[place] = scale;
            model.meets(&held.targets, &scales, is_search)
        };
        if !met_at(SLOWEST, true) {
            continue;
        }
        let mut low = MARGIN * largest(SLOWEST, 1.0, |scale| met_at(scale, true));
        // The search has short runs; what it finds holds in full.
        while low > SLOWEST && !met_at(low, false) {
            low *= MARGIN;
        }
        if low <= SLOWEST {
            continue;
        }
        found.push(Slower {
            flow: wanted.subject.flow.name.clone(),
            from: wanted.rate,
            to: BitRate::from_kbps((wanted.rate.as_bps() as f64 * low / 1e5) as u64 * 100),
        });
    }
    found.sort_by_key(|slower| slower.from.as_bps() - slower.to.as_bps().min(slower.from.as_bps()));
    found
}

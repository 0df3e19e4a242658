//! The answer of a plan, its margins, and the changes that it recommends.

use airbound_scenario::{ChannelSpec, Scenario, TraceUse};
use airbound_units::{BitRate, Span};

use crate::demand::{self, Demand, PlanError};
use crate::model::{Estimate, Model};

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
    /// Whether an expected latency is within a factor of [`CLOSE`] of the demanded one.
    pub is_close: bool,
    /// The share of time that the flows with demands need, contention included; above 1 the airtime does not suffice.
    pub load: f64,
    /// The result for each demand.
    pub demands: Vec<Outlook>,
    /// The factor, less one, by which the rates of all flows with demands could grow with all demands met; zero if they are not met,
    /// at most [`MOST_HEADROOM`].
    pub headroom: f64,
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
    /// Payload rate of its source.
    pub rate: BitRate,
    /// The station's median PHY rate.
    pub phy_rate: BitRate,
    /// The share of time that the flow needs.
    pub load: f64,
    /// The expected latency at the percentile, with protection; `None` if the queue never empties.
    pub latency: Option<Span>,
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

/// The factor by which latencies may differ from the expected ones, from the development set of `airbound plan --check`.
pub const CLOSE: f64 = 1.5;
/// Halvings in the search for a rate: to a sixty-fourth.
const HALVINGS: usize = 6;
/// Limit of the search for headroom: four times the rate.
pub const MOST_HEADROOM: f64 = 3.0;
/// Rounds in the search for relaxed demands, each of which extends at least one by a millisecond.
const ROUNDS: usize = 16;
/// The ratio of a recommended rate to the highest that suffices, which depends on the draws.
const MARGIN: f64 = 0.95;
/// Lowest ratio of a recommended rate to the flow's rate.
const SLOWEST: f64 = 0.1;

/// Answers whether the demands can be met in a scenario.
///
/// # Errors
/// A demand's flow does not exist or cannot be protected, or the model does not cover the scenario.
pub fn plan(scenario: &Scenario, demands: &[Demand]) -> Result<Plan, PlanError> {
    if !scenario.networks.is_empty() {
        return Err(PlanError::Networks { count: scenario.networks.len() });
    }
    let demands = demand::of_flows(scenario, demands)?;
    for station in &scenario.stations {
        if let ChannelSpec::Trace(trace) = &station.channel
            && trace.used_as == TraceUse::Pipe
        {
            return Err(PlanError::Pipe { station: station.name.clone() });
        }
    }
    let model = Model::new(scenario, demands)?;
    let as_is = vec![1.0; model.wanted.len()];
    let estimates = model.estimates(&as_is);
    let all_met = are_met(&model, &estimates);
    let demands: Vec<Outlook> = outlooks(&model, &estimates);
    let slow_down = if all_met { Vec::new() } else { slower(&model) };
    let headroom = if all_met { headroom(&model) } else { 0.0 };
    let is_close = is_close(&model, &estimates);
    let relax = relaxed(model, &estimates);
    Ok(Plan {
        answer: if all_met { Answer::Yes } else { Answer::No },
        is_close,
        load: estimates.iter().map(|estimate| estimate.load).sum(),
        headroom,
        relax,
        slow_down,
        demands,
    })
}

fn outlooks(model: &Model<'_>, estimates: &[Estimate]) -> Vec<Outlook> {
    let each = model.wanted.iter().zip(estimates);
    each.map(|(wanted, estimate)| Outlook {
        demand: wanted.demand.clone(),
        station: wanted.flow.station.clone(),
        rate: BitRate::from_bps_f64(wanted.pattern.rate),
        phy_rate: model.middle(wanted.station).bit_rate(),
        load: estimate.load,
        latency: estimate.latency.is_finite().then(|| Span::from_secs_f64(estimate.latency)),
        met: is_met(&wanted.demand, estimate),
    })
    .collect()
}

fn is_met(demand: &Demand, estimate: &Estimate) -> bool {
    estimate.latency <= demand.latency.as_secs_f64()
}

fn are_met(model: &Model<'_>, estimates: &[Estimate]) -> bool {
    model.wanted.iter().zip(estimates).all(|(wanted, estimate)| is_met(&wanted.demand, estimate))
}

/// Whether the demand with the highest ratio of expected to demanded latency is within [`CLOSE`].
fn is_close(model: &Model<'_>, estimates: &[Estimate]) -> bool {
    let each = model.wanted.iter().zip(estimates);
    let ratios = each.map(|(wanted, estimate)| estimate.latency / wanted.demand.latency.as_secs_f64());
    (1.0 / CLOSE..=CLOSE).contains(&ratios.fold(0.0, f64::max))
}

/// The relaxed demands with which all are met. A longer demand permits longer aggregates of others, so the search repeats until the
/// answer is yes; empty if the airtime does not suffice.
fn relaxed(mut model: Model<'_>, estimates: &[Estimate]) -> Vec<Relaxed> {
    let before: Vec<Span> = model.wanted.iter().map(|wanted| wanted.demand.latency).collect();
    let mut estimates = estimates.to_vec();
    for _ in 0..ROUNDS {
        if are_met(&model, &estimates) || estimates.iter().any(|estimate| estimate.latency.is_infinite()) {
            break;
        }
        for (wanted, estimate) in model.wanted.iter_mut().zip(&estimates) {
            if !is_met(&wanted.demand, estimate) {
                wanted.demand.latency = rounded_up(Span::from_secs_f64(estimate.latency));
            }
        }
        estimates = model.estimates(&vec![1.0; model.wanted.len()]);
    }
    if !are_met(&model, &estimates) {
        return Vec::new();
    }
    let each = model.wanted.iter().zip(before).filter(|(wanted, before)| wanted.demand.latency > *before);
    each.map(|(wanted, from)| Relaxed { flow: wanted.flow.name.clone(), from, to: wanted.demand.latency })
        .collect()
}

/// Rounds up to a whole millisecond.
fn rounded_up(latency: Span) -> Span {
    Span::from_millis(latency.as_nanos().div_ceil(1_000_000))
}

/// The common growth of all rates at which the demands are still met.
fn headroom(model: &Model<'_>) -> f64 {
    largest(0.0, MOST_HEADROOM, |more| {
        are_met(model, &model.estimates(&vec![1.0 + more; model.wanted.len()]))
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
fn slower(model: &Model<'_>) -> Vec<Slower> {
    let mut found = Vec::new();
    for (place, wanted) in model.wanted.iter().enumerate() {
        let met_at = |scale: f64| {
            let mut scales = vec![1.0; model.wanted.len()];
            scales[place] = scale;
            are_met(model, &model.estimates(&scales))
        };
        if !met_at(SLOWEST) {
            continue;
        }
        let low = MARGIN * largest(SLOWEST, 1.0, met_at);
        let rate = wanted.pattern.rate;
        found.push(Slower {
            flow: wanted.flow.name.clone(),
            from: BitRate::from_bps_f64(rate),
            to: BitRate::from_kbps((rate * low / 1e5) as u64 * 100),
        });
    }
    found.sort_by_key(|slower| slower.from.as_bps() - slower.to.as_bps().min(slower.from.as_bps()));
    found
}

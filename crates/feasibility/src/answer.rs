//! Yes or no, by how much, and what to change.

use airbound_scenario::{ChannelSpec, Scenario, TraceUse};
use airbound_units::{BitRate, Span};

use crate::demand::{self, Demand, PlanError};
use crate::model::{Estimate, Model};

/// Whether all demands can be met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// All of them.
    Yes,
    /// At least one cannot.
    No,
}

/// Result of a plan: whether the demands can be met, by how much, and what to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Whether all demands can be met.
    pub answer: Answer,
    /// Whether the answer hangs by a thread: the expected latency lies within a factor of [`CLOSE`] of what is demanded.
    pub is_close: bool,
    /// The share of all time that the flows with demands need, contention included; above 1 the air is too short.
    pub load: f64,
    /// Each demand.
    pub demands: Vec<Outlook>,
    /// All demanding flows together could send so much more, as a share of what they send, with all demands met; zero if
    /// they are not, at most [`MOST_HEADROOM`].
    pub headroom: f64,
    /// Relaxed so, the demands that are not met could be; empty if none needs it, or if the air is too short.
    pub relax: Vec<Relaxed>,
    /// The one flow, and the rate, at which all demands could be met as they are; the least loss first. Empty if none
    /// needs it or no single flow helps.
    pub slow_down: Vec<Slower>,
}

/// One demand.
#[derive(Debug, Clone, PartialEq)]
pub struct Outlook {
    /// The demand: flow, latency and percentile.
    pub demand: Demand,
    /// Its station.
    pub station: String,
    /// Payload rate that its source offers.
    pub rate: BitRate,
    /// The PHY rate of the station in its middle state.
    pub phy_rate: BitRate,
    /// The share of time that it needs.
    pub load: f64,
    /// The latency at the demanded percentile when it is protected; `None` if its queue never empties.
    pub latency: Option<Span>,
    /// Whether that is short enough.
    pub met: bool,
}

/// A demand that could be met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relaxed {
    /// The flow.
    pub flow: String,
    /// Latency demanded.
    pub from: Span,
    /// Latency that could be met, in whole milliseconds.
    pub to: Span,
}

/// A flow that could be slower.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slower {
    /// The flow.
    pub flow: String,
    /// Payload rate that it offers.
    pub from: BitRate,
    /// Payload rate at which all demands could be met, a multiple of 100 kbit/s.
    pub to: BitRate,
}

/// So far, as a factor, a latency may lie from what is expected; read off the development set of `airbound plan --check`.
pub const CLOSE: f64 = 1.5;
/// Halvings in the search for a rate: to a sixty-fourth.
const HALVINGS: usize = 6;
/// No more headroom than this is looked for: four times the rate.
pub const MOST_HEADROOM: f64 = 3.0;
/// Rounds in the search for longer demands: each makes at least one longer by a millisecond.
const ROUNDS: usize = 16;
/// A recommended rate stays so far below the highest that will do, since that is a matter of luck.
const MARGIN: f64 = 0.95;
/// A flow is slowed down to this share of its rate at most.
const SLOWEST: f64 = 0.1;

/// Answers whether the demands can be met in a scenario.
///
/// # Errors
/// A demand names no flow, or one that cannot be protected.
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
        rate: BitRate::from_bps_f64(wanted.rhythm.rate),
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

/// Whether what is expected of the demand that has it hardest is near to what is demanded.
fn is_close(model: &Model<'_>, estimates: &[Estimate]) -> bool {
    let each = model.wanted.iter().zip(estimates);
    let strains = each.map(|(wanted, estimate)| estimate.latency / wanted.demand.latency.as_secs_f64());
    (1.0 / CLOSE..=CLOSE).contains(&strains.fold(0.0, f64::max))
}

/// The demands that must be longer, and how long, so that all are met. A longer one lets others send longer aggregates, so
/// that it is asked again until the answer is yes; empty if the air is too short for any.
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

/// To the next whole millisecond.
fn rounded_up(latency: Span) -> Span {
    Span::from_millis(latency.as_nanos().div_ceil(1_000_000))
}

/// By how much all flows can grow together.
fn headroom(model: &Model<'_>) -> f64 {
    largest(0.0, MOST_HEADROOM, |more| {
        are_met(model, &model.estimates(&vec![1.0 + more; model.wanted.len()]))
    })
}

/// The largest value that is good, of a range whose lower end is good, by halving.
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

/// The highest rate of each flow, by itself, at which all demands are met.
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
        let rate = wanted.rhythm.rate;
        found.push(Slower {
            flow: wanted.flow.name.clone(),
            from: BitRate::from_bps_f64(rate),
            to: BitRate::from_kbps((rate * low / 1e5) as u64 * 100),
        });
    }
    found.sort_by_key(|slower| slower.from.as_bps() - slower.to.as_bps().min(slower.from.as_bps()));
    found
}

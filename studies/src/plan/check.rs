//! The plan's answers beside what LAST-PQ then does in the simulator.

use std::any::Any;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use airbound_runs::plan::{Answer, DELIVERED, Demand, Plan, judge};
use airbound_record::{Fate, PacketRow};
use airbound_scenario::{Overrides, Scenario, Traffic};
use airbound_sim::{Event, Events, Observer};
use airbound_units::{BitRate, Instant, Span};
use serde::Serialize;

use super::generator::{Kind, RandomScenario, random_scenario};
use crate::trial::in_parallel;
use crate::{Trial, TrialError};

/// A case whose measured latency, or delivered share, lies within this fraction of what is demanded is at the border.
pub const BORDER: f64 = 0.1;

/// One random scenario, planned and simulated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Case {
    /// Seed of the set and number in it.
    pub name: String,
    /// Whether the plan says that all demands can be met.
    pub planned: bool,
    /// Whether the plan says that this is close.
    pub close: bool,
    /// Whether they were met in the simulation.
    pub met: bool,
    /// Whether they were met in the first, and in the second half of its runs: where the two differ, so does luck.
    pub met_by_half: [bool; 2],
    /// The largest of measured over demanded latency, and of demanded over delivered rate where too little was delivered,
    /// over all demands: at most 1 if all are met.
    pub strain: f64,
    /// The share of time that the plan says the demanding flows need.
    pub load: f64,
    /// The kinds of scenario that it belongs to.
    pub kinds: BTreeSet<Kind>,
    /// Each demand.
    pub demands: Vec<Judged>,
    /// The scenario file, for whoever wants to run it alone.
    pub scenario: String,
}

/// One demand, planned and simulated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// Name of the flow.
    pub flow: String,
    /// Demanded latency from the sender to the acknowledgement, in ms.
    pub demanded_ms: f64,
    /// At which percentile.
    pub percentile: f64,
    /// Latency that the plan expects, in ms; `None` without bound.
    pub planned_ms: Option<f64>,
    /// Latency measured from the sender to the acknowledgement, in ms, over all seeds; `None` if nothing arrived.
    pub measured_ms: Option<f64>,
    /// Delivered over offered payload.
    pub delivered: f64,
    /// Whether the plan says that it can be met.
    pub planned: bool,
    /// Whether it was.
    pub met: bool,
}

/// Numbers of cases by the plan's answer and the simulation's outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Confusion {
    /// Planned and met.
    pub yes_met: usize,
    /// Planned, and not met.
    pub yes_missed: usize,
    /// Refused, and met all the same.
    pub no_met: usize,
    /// Refused, and not met.
    pub no_missed: usize,
}

impl Confusion {
    /// Of cases.
    #[must_use]
    pub fn of<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Self {
        let mut confusion = Self::default();
        for case in cases {
            *match (case.planned, case.met) {
                (true, true) => &mut confusion.yes_met,
                (true, false) => &mut confusion.yes_missed,
                (false, true) => &mut confusion.no_met,
                (false, false) => &mut confusion.no_missed,
            } += 1;
        }
        confusion
    }

    /// Returns the number of cases.
    #[must_use]
    pub const fn all(&self) -> usize {
        self.yes_met + self.yes_missed + self.no_met + self.no_missed
    }

    /// Returns the number of wrong answers.
    #[must_use]
    pub const fn wrong(&self) -> usize {
        self.yes_missed + self.no_met
    }

    /// The share of wrong answers; zero without cases.
    #[must_use]
    pub fn wrong_share(&self) -> f64 {
        self.wrong() as f64 / self.all().max(1) as f64
    }
}

impl Case {
    /// Whether one half of the runs says so, and the other one otherwise.
    #[must_use]
    pub fn is_by_luck(&self) -> bool {
        self.met_by_half[0] != self.met_by_half[1]
    }

    /// Whether what was measured lies so close to what is demanded that little decides.
    #[must_use]
    pub fn is_at_border(&self) -> bool {
        (1.0 / (1.0 + BORDER)..=1.0 + BORDER).contains(&self.strain)
    }
}

/// Parameters of the check of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Set {
    /// Seed from which the scenarios follow.
    pub seed: u64,
    /// Number of scenarios.
    pub count: u64,
    /// Runs of each with seeds of its own, whose packets are judged together.
    pub runs: u64,
}

/// Plans and simulates a set, `jobs` simulations at a time.
///
/// # Errors
/// A scenario cannot be run: a defect.
pub fn check(set: Set, jobs: NonZeroUsize) -> Result<Vec<Case>, TrialError> {
    let scenarios: Vec<RandomScenario> =
        (0..set.count).map(|number| random_scenario(set.seed, number)).collect();
    in_parallel(&scenarios, jobs, |random| case(random, set.runs))
}

fn case(random: &RandomScenario, runs: u64) -> Result<Case, TrialError> {
    let defect = |reason: String| TrialError { name: random.name.clone(), reason };
    let scenario = Scenario::parse(&random.text, &random.name, &Overrides::default())
        .map_err(|error| defect(error.to_string()))?;
    let plan = judge(&scenario, &Demand::of(&scenario)).map_err(|error| defect(error.to_string()))?;
    // Phases follow from the seed: no two scenarios share them.
    let seed = |run: u64| random.number * runs + run + 1;
    let first = Heard::of(random, &scenario, &plan, (0..runs.div_ceil(2)).map(seed))?;
    let second = Heard::of(random, &scenario, &plan, (runs.div_ceil(2)..runs).map(seed))?;
    let demands = || plan.demands.iter().map(|outlook| &outlook.demand);
    let is_met = |heard: &Heard| demands().all(|demand| heard.found(&scenario, demand).strain() <= 1.0);
    let first_is_met = is_met(&first);
    // A half without runs says what the other one says.
    let met_by_half = [first_is_met, if second.runs > 0 { is_met(&second) } else { first_is_met }];
    let all = first.and(second);
    let found: Vec<Found> = demands().map(|demand| all.found(&scenario, demand)).collect();
    let strain = found.iter().map(Found::strain).fold(0.0, f64::max);
    let judged = plan.demands.iter().zip(&found).map(|(outlook, found)| Judged {
        flow: outlook.demand.flow.clone(),
        demanded_ms: outlook.demand.latency.as_millis_f64(),
        percentile: outlook.demand.percentile,
        planned_ms: outlook.latency.map(Span::as_millis_f64),
        measured_ms: found.latency.map(Span::as_millis_f64),
        delivered: found.delivered,
        planned: outlook.met,
        met: found.strain() <= 1.0,
    });
    let judged = judged.collect();
    Ok(Case {
        name: random.name.clone(),
        planned: plan.answer == Answer::Yes,
        close: plan.is_close,
        met: strain <= 1.0,
        met_by_half,
        strain: strain.min(1e6),
        load: plan.load,
        kinds: random.kinds.clone(),
        demands: judged,
        scenario: random.text.clone(),
    })
}

/// Latencies and goodput of several runs of a scenario.
struct Heard {
    runs: u64,
    /// Of the packets of each flow.
    latencies: Vec<Vec<Span>>,
    /// Sums over the runs, in Mb/s.
    goodput: Vec<f64>,
}

/// Measured outcome of a demand.
struct Found {
    demanded: Span,
    /// At its percentile; `None` if nothing arrived.
    latency: Option<Span>,
    /// Delivered over offered payload.
    delivered: f64,
}

impl Heard {
    /// Runs the scenario once with each seed; LAST-PQ is given the demands that the plan recommends.
    fn of(
        random: &RandomScenario,
        scenario: &Scenario,
        plan: &Plan,
        seeds: impl Iterator<Item = u64>,
    ) -> Result<Self, TrialError> {
        let flows = scenario.flows.len();
        let mut heard = Self { runs: 0, latencies: vec![Vec::new(); flows], goodput: vec![0.0; flows] };
        for seed in seeds {
            let trial = Trial::new(random.name.clone(), random.text.clone(), seed);
            let trial = plan.demands.iter().fold(trial, |trial, outlook| {
                let key = format!("flow.{}.demand.latency", outlook.demand.flow);
                trial.set(&key, format!("\"{} us\"", outlook.target.as_micros()))
            });
            let ears = Ears { from: Instant::ZERO + scenario.warm_up, latencies: heard.latencies };
            let (outcome, observer) = trial.observed(Box::new(ears))?;
            let observer: Box<dyn Any> = observer;
            heard.latencies = observer.downcast::<Ears>().map(|ears| ears.latencies).unwrap_or_default();
            for (sum, flow) in heard.goodput.iter_mut().zip(&scenario.flows) {
                let summary = outcome.summary.flows.iter().find(|summary| summary.name == flow.name);
                *sum += summary.map_or(0.0, |summary| summary.goodput_mbps);
            }
            heard.runs += 1;
        }
        Ok(heard)
    }

    /// The runs of both.
    fn and(mut self, other: Self) -> Self {
        self.runs += other.runs;
        self.latencies.iter_mut().zip(other.latencies).for_each(|(all, more)| all.extend(more));
        self.goodput.iter_mut().zip(other.goodput).for_each(|(sum, more)| *sum += more);
        self
    }

    fn found(&self, scenario: &Scenario, demand: &Demand) -> Found {
        let index = scenario.flows.iter().position(|flow| flow.name == demand.flow).unwrap_or(0);
        let offered = offered(&scenario.flows[index].traffic).as_mbps_f64();
        Found {
            demanded: demand.latency,
            latency: percentile(self.latencies[index].clone(), demand.percentile),
            delivered: self.goodput[index] / self.runs.max(1) as f64 / offered,
        }
    }
}

impl Found {
    /// Measured over demanded latency, or demanded over delivered rate where that is more and too little was delivered.
    fn strain(&self) -> f64 {
        let demanded = self.demanded.as_secs_f64();
        let late = self.latency.map_or(f64::INFINITY, |latency| latency.as_secs_f64() / demanded);
        // Who delivers enough is not near the border for it, however little more would be too little.
        let short = if self.delivered < DELIVERED { DELIVERED / self.delivered.max(1e-9) } else { 0.0 };
        late.max(short)
    }
}

/// Payload rate of a call.
const VOICE: BitRate = BitRate::from_bps(50 * 172 * 8);

fn offered(traffic: &Traffic) -> BitRate {
    match traffic {
        Traffic::Vr(stream) => stream.rate,
        Traffic::Cbr(datagrams) | Traffic::Poisson(datagrams) => datagrams.rate,
        // G.711 with frames of 20 ms.
        Traffic::Voip => VOICE,
        // The generator demands of no other kind.
        _ => BitRate::from_bps(1),
    }
}

fn percentile(mut latencies: Vec<Span>, percentile: f64) -> Option<Span> {
    latencies.sort_unstable();
    let place = (latencies.len() as f64 * percentile / 100.0).ceil() as usize;
    latencies.get(place.saturating_sub(1)).copied()
}

/// Keeps the latencies of packets from the sender to the acknowledgement, by flow.
struct Ears {
    from: Instant,
    latencies: Vec<Vec<Span>>,
}

impl Ears {
    fn on_packet(&mut self, row: &PacketRow) {
        if row.fate == Fate::Delivered
            && row.sent >= self.from
            && let Some(latencies) = self.latencies.get_mut(row.flow as usize)
        {
            latencies.push(row.completed - row.sent);
        }
    }
}

impl Observer for Ears {
    fn wants(&self) -> Events {
        Events { packets: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        if let Event::Packet(row) = event {
            self.on_packet(row);
        }
    }
}

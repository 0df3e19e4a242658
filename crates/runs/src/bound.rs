//! Choice of a latency bound for Law, from the latencies under the present link layer (Law paper, appendix B).

use std::cell::RefCell;
use std::rc::Rc;

use airbound_feasibility::{BoundChoice, Stays};
use airbound_record::{Fate, LatencyHistogram, PacketRow, Resolution};
use airbound_scenario::Overrides;
use airbound_sim::{Event, Events, Observer};
use airbound_units::{Instant, Span};
use serde::Serialize;

use crate::error::RunsError;
use crate::jobs;
use crate::opened::{Named, Opened};
use crate::watch::{Step, Watch};

/// The baselines of the paper's Fig. 24.
const BASELINES: [&str; 3] = ["minstrel-ht", "llra", "thompson"];
/// Flows that an error names.
const FEW: usize = 20;

/// A bound that is to be chosen.
#[derive(Debug, Clone)]
pub struct BoundRequest {
    /// Share of the packets that keeps the bound, 0 to 1 (alpha).
    pub alpha: f64,
    /// The flow whose packets count; `None`: the one that the scenario is about.
    pub flow: Option<String>,
    /// Baselines, by the names of schemes; if empty those of the paper.
    pub schemes: Vec<String>,
    /// Law's limit on each of two PSDUs in hardware.
    pub limit_h: Span,
    /// Number of seeds, counted up from that of the scenario.
    pub seeds: u32,
}

/// A bound that was chosen.
#[derive(Debug, Clone)]
pub struct ChosenBound {
    /// Name of the scenario.
    pub scenario: String,
    /// The flow whose packets count.
    pub flow: String,
    /// The choice, and the baselines from which it comes.
    pub choice: BoundChoice,
    /// Law with the ends of the interval and with the bound.
    pub trials: Vec<BoundTrial>,
}

/// Results of Law with one bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BoundTrial {
    /// The bound, in ms.
    pub bound_ms: f64,
    /// The part of it that is left for the driver's queue, in ms.
    pub limit_q_ms: f64,
    /// Share of the packets that were lost, 0 to 1.
    pub loss_rate: f64,
    /// Latency that 99 % of the packets stay below, in ms; `None` without packets.
    pub p99_ms: Option<f64>,
    /// Latency that 99.9 % of them stay below, in ms.
    pub p999_ms: Option<f64>,
}

impl BoundRequest {
    /// Runs the baselines over a scenario, chooses the bound, and runs Law with it, `threads` runs at a time.
    ///
    /// # Errors
    /// The scenario or a scheme is wrong, the flow is not there, or no bound can be chosen.
    pub fn choose(
        &self,
        name: &str,
        overrides: &Overrides,
        threads: usize,
        watch: &dyn Watch,
    ) -> Result<ChosenBound, RunsError> {
        let opened = Opened::by_name(name, overrides)?;
        opened.refuse_all_but_a_network()?;
        let flow = self.watched(&opened)?;
        let schemes = if self.schemes.is_empty() {
            opened.schemes(&BASELINES)?
        } else {
            opened.schemes(&self.schemes)?
        };
        let measure = |step, of: &[(&Opened, Named)]| {
            let progress = |done, total| watch.on_progress(step, done as u64, total as u64);
            measured(of, self.seeds, flow, threads, &progress)
        };
        let baselines: Vec<(&Opened, Named)> = schemes.into_iter().map(|named| (&opened, named)).collect();
        let stays = measure(Step::Baselines, &baselines)?;
        let choice = BoundChoice::of(stays, self.alpha, self.limit_h)?;

        // Law at both ends of the interval and at the bound itself shows at once what the choice is worth.
        let in_hardware = self.limit_h * 2;
        let mut bounds = vec![choice.lowest, choice.bound, choice.highest];
        bounds.dedup();
        bounds.retain(|bound| *bound > in_hardware);
        let opened_with = bounds
            .iter()
            .map(|bound| self.with_law(name, overrides, *bound - in_hardware))
            .collect::<Result<Vec<_>, _>>()?;
        let laws: Vec<(&Opened, Named)> =
            opened_with.iter().map(|law| Ok((law, law.scheme(None)?))).collect::<Result<_, RunsError>>()?;
        let stays = measure(Step::Law, &laws)?;
        let trials =
            stays.into_iter().zip(&bounds).map(|(stays, bound)| trial(&stays, *bound, *bound - in_hardware));
        let trials = trials.collect();
        let flow = opened.scenario.flows[flow].name.clone();
        Ok(ChosenBound { scenario: opened.name, flow, choice, trials })
    }

    /// Number of the flow whose packets count.
    fn watched(&self, opened: &Opened) -> Result<usize, RunsError> {
        let flows = &opened.scenario.flows;
        let Some(flow) = self.flow.clone().or_else(|| opened.focus()) else {
            return Err(RunsError::Flowless { scenario: opened.name.clone() });
        };
        flows.iter().position(|known| known.name == flow).ok_or_else(|| {
            let known: Vec<&str> = flows.iter().take(FEW).map(|flow| flow.name.as_str()).collect();
            RunsError::NoFlow { flow, known: known.join(", ") }
        })
    }

    /// The scenario with Law over it.
    fn with_law(&self, name: &str, overrides: &Overrides, limit_q: Span) -> Result<Opened, RunsError> {
        let mut overrides = overrides.clone();
        let limit_h = self.limit_h;
        overrides.set(&format!(
            "scheme.queue={{ kind = \"law\", limit-q = \"{limit_q}\", limit-h = \"{limit_h}\" }}"
        ))?;
        overrides.set("scheme.rate=law")?;
        let opened = Opened::by_name(name, &overrides)?;
        opened.refuse_all_but_a_network()?;
        Ok(opened)
    }
}

/// Runs each scheme with each seed, and returns the stays of a flow's packets for each scheme.
fn measured(
    schemes: &[(&Opened, Named)],
    seeds: u32,
    flow: usize,
    threads: usize,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Stays>, RunsError> {
    let mut wanted: Vec<(usize, u64)> = Vec::new();
    for (scheme, (opened, _)) in schemes.iter().enumerate() {
        wanted.extend(opened.seeds(seeds)?.map(|seed| (scheme, seed)));
    }
    let runs = jobs::counted(threads, &wanted, progress, |(scheme, seed)| {
        let (opened, named) = &schemes[*scheme];
        let from = Instant::ZERO + opened.scenario.warm_up;
        let seen: Rc<RefCell<Seen>> = Rc::default();
        let mut run = opened.build(named, *seed)?;
        run.observe(Box::new(LastHop { flow: flow as u32, from, seen: Rc::clone(&seen) }));
        run.finish()?;
        Ok::<_, RunsError>(seen.take())
    })?;
    let mut all: Vec<Stays> = schemes
        .iter()
        .map(|(_, named)| Stays { name: named.label.clone(), latencies: Vec::new(), lost: 0 })
        .collect();
    for ((scheme, _), (latencies, lost)) in wanted.into_iter().zip(runs) {
        all[scheme].latencies.extend(latencies);
        all[scheme].lost += lost;
    }
    Ok(all)
}

fn trial(stays: &Stays, bound: Span, limit_q: Span) -> BoundTrial {
    let mut latency = LatencyHistogram::new(Resolution::Fine);
    stays.latencies.iter().for_each(|span| latency.record(*span));
    let all = stays.latencies.len() as u64 + stays.lost;
    let stats = latency.stats();
    BoundTrial {
        bound_ms: bound.as_millis_f64(),
        limit_q_ms: limit_q.as_millis_f64(),
        loss_rate: if all > 0 { stays.lost as f64 / all as f64 } else { 0.0 },
        p99_ms: stats.p99,
        p999_ms: stats.p999,
    }
}

/// Latencies of the packets that got through, and the number of those that did not.
type Seen = (Vec<Span>, u64);

/// Collects the latencies of a flow's packets on the last hop: from entering the queue to the end of the transmission that got through.
struct LastHop {
    flow: u32,
    from: Instant,
    seen: Rc<RefCell<Seen>>,
}

impl LastHop {
    fn on_packet(&mut self, row: &PacketRow) {
        if row.flow != self.flow || row.sent < self.from {
            return;
        }
        let mut seen = self.seen.borrow_mut();
        match row.fate {
            Fate::Delivered => seen.0.push(row.received.since(row.enqueued)),
            Fate::Dropped(_) => seen.1 += 1,
            Fate::Queued => {}
        }
    }
}

impl Observer for LastHop {
    fn wants(&self) -> Events {
        Events { packets: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        if let Event::Packet(row) = event {
            self.on_packet(row);
        }
    }
}

//! Choice of a latency bound for Law, from the latencies under the present link layer (Law paper, appendix B).

use airbound_record::{Fate, LatencyHistogram, PacketRow, Resolution};
use airbound_scenario::{Access, Client, Flow, Overrides};
use airbound_sim::{Event, Events, Observer};
use airbound_units::{Instant, Span};
use serde::Serialize;

use crate::error::RunsError;
use crate::experiment;
use crate::jobs;
use crate::law_bound::{BoundInterval, BoundLosses, Stays};
use crate::opened::{Named, Opened};
use crate::watch::{Step, Watch};

/// The baselines of the paper's Fig. 24.
const BASELINES: [&str; 3] = ["minstrel-ht", "llra", "thompson"];
/// Bounds that are tried.
const CANDIDATES: u32 = 6;
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
    /// The interval, and the baselines from which it comes.
    pub interval: BoundInterval,
    /// Law with bounds of the interval, ascending.
    pub trials: Vec<BoundTrial>,
    /// The chosen one of these.
    pub chosen: BoundTrial,
    /// The chosen bound with as many seeds that the choice does not know.
    pub fresh: BoundTrial,
}

/// Results of Law with one bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BoundTrial {
    /// The bound, in ms.
    pub bound_ms: f64,
    /// The part of it that is left for the driver's queue, in ms.
    pub limit_q_ms: f64,
    /// Share of the packets that were lost, 0 to 1: the mean over the seeds.
    pub loss_rate: f64,
    /// That mean and twice its standard error.
    pub most_loss_rate: f64,
    /// Latency that 99 % of the packets stay below, in ms; `None` without packets.
    pub p99_ms: Option<f64>,
    /// Latency that 99.9 % of them stay below, in ms.
    pub p999_ms: Option<f64>,
}

impl ChosenBound {
    /// Whether the chosen bound keeps the accepted loss with its margin.
    #[must_use]
    pub fn keeps(&self, accepted: f64) -> bool {
        self.chosen.most_loss_rate <= accepted
    }
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
        let flow = self.watched(&opened)?;
        let schemes = if self.schemes.is_empty() {
            opened.schemes(&BASELINES)?
        } else {
            opened.schemes(&self.schemes)?
        };
        let measure = |step, first: u64, of: &[(&Opened, Named)]| {
            let progress = |done, total| watch.on_progress(step, done as u64, total as u64);
            measured(of, first..first + u64::from(self.seeds), &flow, threads, &progress)
        };
        // As many seeds again judge the choice.
        let first = opened.seeds(self.seeds.saturating_mul(2))?.start;
        let baselines: Vec<(&Opened, Named)> = schemes.into_iter().map(|named| (&opened, named)).collect();
        let of_seeds = measure(Step::Baselines, first, &baselines)?;
        let stays = baselines.iter().zip(of_seeds).map(|((_, named), seeds)| pooled(&named.label, seeds));
        let interval = BoundInterval::of(stays.collect(), self.alpha)?;

        let bounds = interval.candidates(CANDIDATES, self.limit_h)?;
        let opened_with = bounds
            .iter()
            .map(|bound| self.with_law(name, overrides, *bound - self.limit_h * 2))
            .collect::<Result<Vec<_>, _>>()?;
        let laws: Vec<(&Opened, Named)> =
            opened_with.iter().map(|law| Ok((law, law.scheme(None)?))).collect::<Result<_, RunsError>>()?;
        let tried = measure(Step::Law, first, &laws)?;
        let losses: Vec<BoundLosses> =
            bounds.iter().zip(&tried).map(|(bound, seeds)| losses(*bound, seeds)).collect();
        let number = BoundLosses::shortest(&losses, 1.0 - self.alpha).unwrap_or(0);
        let trial = |losses: &BoundLosses, seeds: &[Seen]| trial(losses, seeds, self.limit_h * 2);
        let trials: Vec<BoundTrial> =
            losses.iter().zip(&tried).map(|(losses, seeds)| trial(losses, seeds)).collect();
        let unknown = measure(Step::Law, first + u64::from(self.seeds), &laws[number..=number])?;
        let unknown = unknown.into_iter().next().unwrap_or_default();
        let fresh = trial(&self::losses(bounds[number], &unknown), &unknown);
        Ok(ChosenBound { scenario: opened.name, flow, interval, chosen: trials[number], trials, fresh })
    }

    /// The flow whose packets count: of the scenario, or what a client of its session sends or receives on the air.
    fn watched(&self, opened: &Opened) -> Result<String, RunsError> {
        let clients = opened.scenario.session.iter().flat_map(|session| &session.clients);
        let on_air = clients.filter(|client| matches!(client.access, Access::Station(_)));
        let flows: Vec<Flow> = on_air.flat_map(Client::flows).chain(opened.scenario.flows.clone()).collect();
        let Some(flow) = self.flow.clone().or_else(|| opened.focus()) else {
            return Err(RunsError::Flowless { scenario: opened.name.clone() });
        };
        if flows.iter().any(|known| known.name == flow) {
            return Ok(flow);
        }
        let known: Vec<&str> = flows.iter().take(FEW).map(|flow| flow.name.as_str()).collect();
        Err(RunsError::NoFlow { flow, known: known.join(", ") })
    }

    /// The scenario with Law over it.
    fn with_law(&self, name: &str, overrides: &Overrides, limit_q: Span) -> Result<Opened, RunsError> {
        let mut overrides = overrides.clone();
        let limit_h = self.limit_h;
        overrides.set(&format!(
            "scheme.queue={{ kind = \"law\", limit-q = \"{limit_q}\", limit-h = \"{limit_h}\" }}"
        ))?;
        overrides.set("scheme.rate=law")?;
        Opened::by_name(name, &overrides)
    }
}

/// Runs each scheme with each seed, and returns what a flow's packets met, by scheme and seed.
fn measured(
    schemes: &[(&Opened, Named)],
    seeds: std::ops::Range<u64>,
    flow: &str,
    threads: usize,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Vec<Seen>>, RunsError> {
    let wanted: Vec<(usize, u64)> =
        (0..schemes.len()).flat_map(|scheme| seeds.clone().map(move |seed| (scheme, seed))).collect();
    let runs = jobs::counted(threads, &wanted, progress, |(scheme, seed)| {
        let (opened, named) = &schemes[*scheme];
        let from = Instant::ZERO + opened.scenario.warm_up;
        let run = opened.build(named, *seed)?;
        let number = run.info().flows.iter().position(|known| known == flow).unwrap_or(usize::MAX);
        let last_hop = LastHop { flow: number as u32, from, seen: Seen::default() };
        let (_, last_hop) = experiment::play(run, last_hop)?;
        Ok::<_, RunsError>(last_hop.seen)
    })?;
    let mut all: Vec<Vec<Seen>> = vec![Vec::new(); schemes.len()];
    for ((scheme, _), seen) in wanted.into_iter().zip(runs) {
        all[scheme].push(seen);
    }
    Ok(all)
}

/// The packets of all seeds together.
fn pooled(name: &str, seeds: Vec<Seen>) -> Stays {
    let lost = seeds.iter().map(|(_, lost)| lost).sum();
    Stays {
        name: name.to_owned(),
        latencies: seeds.into_iter().flat_map(|(latencies, _)| latencies).collect(),
        lost,
    }
}

/// The loss of each seed.
fn losses(bound: Span, seeds: &[Seen]) -> BoundLosses {
    let loss = |(latencies, lost): &Seen| *lost as f64 / (latencies.len() as u64 + lost).max(1) as f64;
    BoundLosses { bound, losses: seeds.iter().map(loss).collect() }
}

fn trial(losses: &BoundLosses, seeds: &[Seen], in_hardware: Span) -> BoundTrial {
    let mut latency = LatencyHistogram::new(Resolution::Fine);
    seeds.iter().flat_map(|(latencies, _)| latencies).for_each(|span| latency.record(*span));
    let stats = latency.stats();
    BoundTrial {
        bound_ms: losses.bound.as_millis_f64(),
        limit_q_ms: (losses.bound - in_hardware).as_millis_f64(),
        loss_rate: losses.mean(),
        most_loss_rate: losses.upper(),
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
    seen: Seen,
}

impl LastHop {
    fn on_packet(&mut self, row: &PacketRow) {
        if row.flow != self.flow || row.sent < self.from {
            return;
        }
        match row.fate {
            Fate::Delivered => self.seen.0.push(row.received.since(row.enqueued)),
            Fate::Dropped(_) => self.seen.1 += 1,
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

//! The search for what LAST-PQ is to be asked, by several short runs of each try.

use airbound_scenario::{Datagrams, Flow, Scenario, Traffic};
use airbound_units::{BitRate, ByteCount, Span};

use super::demand::{Demand, PlanError};
use super::evaluate::{Asked, Measured, Times, play};
use super::subject::Subject;

/// Draws of phases, channels and backoffs. Their seeds are the plan's own.
const DRAWS: usize = 8;
const OWN_SEED: u64 = 0x706c_616e;
/// Draws that suffice if they meet all demands with room to spare: at most this ratio of measured to demanded.
const FIRST_DRAWS: usize = 4;
const CLEARLY_MET: f64 = 0.85;
/// Draws of a search, and the ratio of measured to demanded that counts as met in it: LAST-PQ lets a stream wait for nearly as long as
/// it may, so that few frames scatter around what is demanded.
const SEARCH_DRAWS: usize = 2;
const SEARCH_MET: f64 = 1.1;
/// Shortest demand that LAST-PQ is given, and the steps in which the model lowers one, of a doubling each.
const SHORTEST: Span = Span::from_millis(2);
pub(super) const STEPS: f64 = 4.0;
/// Number of packets that a draw may have over one that was made, in deciding that the next ones cannot turn a result.
const MORE_PACKETS: f64 = 1.25;

/// Highest percentile: 100 is evaluated as 99.99.
const HIGHEST_PERCENTILE: f64 = 99.99;
/// Less of what a source offers than this counts as not delivered: a stream over TCP skips frames for which its window has no room.
pub(super) const DELIVERED: f64 = 0.95;

/// Payload of a packet of a call: G.711 with frames of 20 ms, and RTP's header.
const CALL: ByteCount = ByteCount::new(172);
const CALL_RATE: BitRate = BitRate::from_bps(50 * 172 * 8);

/// A prepared scenario.
pub(super) struct Model<'a> {
    scenario: &'a Scenario,
    pub(super) wanted: Vec<Wanted>,
}

/// A flow with a demand.
pub(super) struct Wanted {
    pub(super) subject: Subject,
    /// The demand, from the sender to the acknowledgement.
    pub(super) demand: Demand,
    /// Payload rate of the source.
    pub(super) rate: BitRate,
}

/// The model's estimate for a flow with a demand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Estimate {
    /// Share of time that its exchanges need, were all of it delivered.
    pub(super) load: f64,
    /// Latency at the demanded percentile, seconds; infinite if nothing arrives.
    pub(super) latency: f64,
    /// Delivered over offered payload.
    pub(super) delivered: f64,
    /// Median PHY rate.
    pub(super) phy_rate: BitRate,
}

/// Estimates under one choice of what LAST-PQ is asked to hold.
#[derive(Debug, Clone)]
pub(super) struct Held {
    /// The demand that LAST-PQ is given, for each demand.
    pub(super) targets: Vec<Span>,
    /// Of each half of the draws.
    pub(super) halves: [Vec<Estimate>; 2],
    /// Of all draws.
    pub(super) all: Vec<Estimate>,
    /// The largest of the demands' strains.
    strain: f64,
}

impl Held {
    pub(super) fn is_met(&self) -> bool {
        self.strain <= 1.0
    }
}

impl Wanted {
    /// The demand on a fixed grid of ratios that LAST-PQ is given, at most what the wire leaves and a number of steps shorter; at least
    /// [`SHORTEST`].
    fn target(&self, lowered: u32) -> Span {
        let target = SHORTEST.mul_f64(libm::exp2(f64::from(self.place().saturating_sub(lowered)) / STEPS));
        // As a scenario file or `airbound agent set` can say it.
        Span::from_micros(target.as_micros())
    }

    /// The place on the grid of what the wire leaves.
    fn place(&self) -> u32 {
        let ratio = self.left().as_secs_f64() / SHORTEST.as_secs_f64();
        (STEPS * libm::log2(ratio.max(1.0)) + 1e-9) as u32
    }

    /// The longest delay of the wire, seconds.
    pub(super) fn wire(&self) -> Span {
        self.subject.flow.wire.delay + self.subject.flow.wire.jitter
    }

    /// The part of the demand that the wire leaves to the access point; zero if nothing.
    pub(super) fn left(&self) -> Span {
        self.demand.latency.saturating_sub(self.wire())
    }

    /// Whether an estimate meets the demand.
    pub(super) fn is_met(&self, estimate: &Estimate) -> bool {
        self.strain(estimate) <= 1.0
    }

    /// Expected over demanded latency, or required over delivered share where too little arrives and that is more.
    fn strain(&self, estimate: &Estimate) -> f64 {
        let late = estimate.latency / self.demand.latency.as_secs_f64();
        let short =
            if estimate.delivered < DELIVERED { DELIVERED / estimate.delivered.max(1e-9) } else { 0.0 };
        late.max(short)
    }
}

impl<'a> Model<'a> {
    pub(super) fn new(scenario: &'a Scenario, demands: Vec<(Subject, Demand)>) -> Result<Self, PlanError> {
        let mut wanted = Vec::with_capacity(demands.len());
        for (subject, demand) in demands {
            let rate = rate_of(&subject.flow.traffic).ok_or_else(|| PlanError::Flow {
                flow: subject.flow.name.clone(),
                problem: "its rate has no limit; set one".to_owned(),
            })?;
            wanted.push(Wanted { subject, demand, rate });
        }
        Ok(Self { scenario, wanted })
    }

    /// The best estimate: the first that meets all demands, else the one that misses them least.
    ///
    /// LAST-PQ is asked to hold what the wire leaves, and then less and less, down to where it makes no difference any more. All of it
    /// lies on one grid, so that a longer demand only adds a choice: more slack never gives a worse answer.
    pub(super) fn held(&self) -> Result<Held, PlanError> {
        let scales = vec![1.0; self.wanted.len()];
        let steps = self.wanted.iter().map(Wanted::place).max().unwrap_or(0);
        let mut best: Option<Held> = None;
        let mut before: Vec<Vec<Measured>> = Vec::new();
        for lowered in 0..=steps {
            let targets: Vec<Span> = self.wanted.iter().map(|wanted| wanted.target(lowered)).collect();
            let mut draws = Vec::with_capacity(DRAWS);
            let mut is_told = false;
            while draws.len() < DRAWS && !is_told {
                draws.push(self.draw(self.scenario, &targets, draws.len(), Times::FULL)?);
                if best.as_ref().is_some_and(|best| self.is_worse(&draws, best.strain)) {
                    break;
                }
                is_told = draws.len() == FIRST_DRAWS
                    && self.strain(&self.pooled(draws.iter(), &scales)) <= CLEARLY_MET;
            }
            let is_same = draws == before;
            if (draws.len() == DRAWS || is_told) && !is_same {
                let half = |odd: usize| self.pooled(draws.iter().skip(odd).step_by(2), &scales);
                let all = self.pooled(draws.iter(), &scales);
                let strain = self.strain(&all);
                if best.as_ref().is_none_or(|best| strain < best.strain) {
                    best = Some(Held { targets, halves: [half(0), half(1)], all, strain });
                }
            }
            // Where LAST-PQ has no more to give, a shorter demand changes nothing.
            if is_same || best.as_ref().is_some_and(Held::is_met) {
                break;
            }
            before = draws;
        }
        best.ok_or_else(|| PlanError::Scheme { problem: "no draw of the model".to_owned() })
    }

    /// Whether all draws together will strain a demand by `strain` or more, whatever the draws that are still to come find.
    fn is_worse(&self, draws: &[Vec<Measured>], strain: f64) -> bool {
        let coming = (DRAWS - draws.len()) as f64;
        self.wanted.iter().enumerate().any(|(place, wanted)| {
            let limit = wanted.demand.latency.mul_f64(strain);
            let of = || draws.iter().filter_map(|draw| draw.get(place)).map(|measured| &measured.latencies);
            let late: usize = of().map(|each| each.len() - each.partition_point(|one| *one < limit)).sum();
            let known: usize = of().map(Vec::len).sum();
            let most = of().map(Vec::len).max().unwrap_or(0) as f64;
            let packets = known as f64 + MORE_PACKETS * most * coming;
            let share = wanted.demand.percentile.min(HIGHEST_PERCENTILE) / 100.0;
            late as f64 > (1.0 - share) * packets + 1.0
        })
    }

    /// Whether all demands are met with the flows' rates multiplied by `scales` while LAST-PQ is given `targets`: in few short runs, as a
    /// search has them, or in full.
    pub(super) fn meets(&self, targets: &[Span], scales: &[f64], is_search: bool) -> bool {
        let scenario = self.scaled(scales);
        let (count, times, most) =
            if is_search { (SEARCH_DRAWS, Times::SHORT, SEARCH_MET) } else { (DRAWS, Times::FULL, 1.0) };
        let mut draws = Vec::with_capacity(count);
        for draw in 0..count {
            // What can fail is the scheme, which was built for the scenario itself before.
            let Ok(measured) = self.draw(&scenario, targets, draw, times) else { return false };
            draws.push(measured);
        }
        self.strain(&self.pooled(draws.iter(), scales)) <= most
    }

    /// The largest of the demands' strains.
    fn strain(&self, estimates: &[Estimate]) -> f64 {
        let each = self.wanted.iter().zip(estimates);
        each.map(|(wanted, estimate)| wanted.strain(estimate)).fold(0.0, f64::max)
    }

    fn draw(
        &self,
        scenario: &Scenario,
        targets: &[Span],
        draw: usize,
        times: Times,
    ) -> Result<Vec<Measured>, PlanError> {
        let percentile = |wanted: &Wanted| wanted.demand.percentile.min(HIGHEST_PERCENTILE);
        let each = self.wanted.iter().zip(targets);
        let asked: Vec<Asked<'_>> =
            each.map(|(wanted, target)| (&wanted.subject, *target, percentile(wanted))).collect();
        play(scenario, &asked, OWN_SEED + draw as u64, times).map_err(|problem| PlanError::Scheme { problem })
    }

    /// The estimates from some draws, whose packets count together.
    fn pooled<'m>(&self, draws: impl Iterator<Item = &'m Vec<Measured>>, scales: &[f64]) -> Vec<Estimate> {
        let draws: Vec<&Vec<Measured>> = draws.collect();
        let count = draws.len().max(1) as f64;
        let each = self.wanted.iter().enumerate();
        each.map(|(place, wanted)| {
            let of = || draws.iter().filter_map(|draw| draw.get(place));
            let mut latencies: Vec<Span> =
                of().flat_map(|measured| measured.latencies.iter().copied()).collect();
            let scale = scales.get(place).copied().unwrap_or(1.0);
            let offered = wanted.rate.as_bps() as f64 * scale;
            let goodput: f64 = of().map(|measured| measured.goodput.as_bps() as f64).sum();
            let sent: Option<f64> =
                of().map(|measured| Some(measured.sent?.as_bps() as f64)).sum::<Option<f64>>();
            let sent = sent.map_or(offered, |sent| sent / count);
            let delivered = goodput / count / sent.max(1.0);
            let load = of().map(|measured| measured.load).sum::<f64>() / count;
            let share = wanted.demand.percentile.min(HIGHEST_PERCENTILE) / 100.0;
            let latency = percentile(&mut latencies, share).map_or(f64::INFINITY, Span::as_secs_f64);
            let mut rates: Vec<BitRate> = of().map(|measured| measured.phy_rate).collect();
            rates.sort_unstable();
            let phy_rate = rates.get(rates.len() / 2).copied().unwrap_or(BitRate::ZERO);
            Estimate { load: load / delivered.clamp(1e-3, 1.0), latency, delivered, phy_rate }
        })
        .collect()
    }

    /// The scenario with the rates of the demanding flows multiplied.
    fn scaled(&self, scales: &[f64]) -> Scenario {
        let mut scenario = self.scenario.clone();
        for (wanted, scale) in self.wanted.iter().zip(scales) {
            let is_it = |flow: &&mut Flow| flow.name == wanted.subject.flow.name && *scale != 1.0;
            let Some(flow) = scenario.flows.iter_mut().find(is_it) else { continue };
            match &mut flow.traffic {
                Traffic::Cbr(datagrams) | Traffic::Poisson(datagrams) | Traffic::Paced(datagrams) => {
                    datagrams.rate = datagrams.rate.mul_f64(*scale);
                }
                Traffic::Vr(stream) => stream.rate = stream.rate.mul_f64(*scale),
                Traffic::Rtc(stream) => stream.rate = stream.rate.mul_f64(*scale),
                Traffic::Tcp(bulk) => bulk.limit = bulk.limit.map(|limit| limit.mul_f64(*scale)),
                Traffic::TcpShort(transfers) => transfers.interval = transfers.interval.mul_f64(1.0 / scale),
                Traffic::Replay(_) => {}
                Traffic::Voip => {
                    flow.traffic = Traffic::Cbr(Datagrams { rate: CALL_RATE.mul_f64(*scale), size: CALL });
                }
            }
        }
        scenario
    }
}

/// A percentile by nearest rank; `None` without latencies.
fn percentile(latencies: &mut [Span], share: f64) -> Option<Span> {
    let place = ((latencies.len() as f64 * share).ceil() as usize).saturating_sub(1);
    (place < latencies.len()).then(|| *latencies.select_nth_unstable(place).1)
}

/// Payload rate of a source; `None` without a limit.
fn rate_of(traffic: &Traffic) -> Option<BitRate> {
    Some(match traffic {
        Traffic::Cbr(datagrams) | Traffic::Poisson(datagrams) => datagrams.rate,
        // An allocator decides the rate, so there is no given load.
        Traffic::Paced(_) => return None,
        // Recorded sizes and times are what they are.
        Traffic::Replay(_) => return None,
        Traffic::Voip => CALL_RATE,
        Traffic::Tcp(bulk) => bulk.limit?,
        Traffic::TcpShort(short) => BitRate::of(short.size, short.interval),
        Traffic::Vr(stream) => stream.rate,
        Traffic::Rtc(stream) => stream.rate,
    })
}

//! The model of a scenario: what each flow with a demand gets in several draws of the reduced network.

use airbound_control::ConfigError;
use airbound_scenario::{Datagrams, Flow, Scenario, Traffic};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::demand::{Demand, PlanError};
use crate::latency::percentile;
use crate::network::{Asked, Measured, Network, Times};

/// Draws of phases, channels and backoffs. Their seeds are the plan's own.
const DRAWS: usize = 8;
const OWN_SEED: u64 = 0x706c_616e;
/// Draws after which a search gives up a change, and the ratio of expected to demanded that counts as missed by far.
const FIRST_DRAWS: usize = 2;
const CLEARLY: f64 = 1.5;
/// Time of each draw in which windows, rates and the delay controller settle: HyStart can leave a stream's window at a fraction of a frame,
/// from where CUBIC needs seconds. And the time that is measured.
const SETTLING: Span = Span::from_millis(2_000);
const MEASURED: Span = Span::from_millis(4_000);

/// Shortest demand that LAST-PQ is given, and the steps in which the model lowers one, of a doubling each.
const SHORTEST: Span = Span::from_millis(2);
const STEPS: f64 = 4.0;
/// Number of packets that a draw may have over one that was made, in deciding that the next ones cannot turn a result.
const MORE_PACKETS: f64 = 1.25;

/// Highest percentile: 100 is evaluated as 99.99.
const HIGHEST_PERCENTILE: f64 = 99.99;
/// Less of what a source offers than this counts as not delivered: a stream over TCP skips frames for which its window has no room.
pub const DELIVERED: f64 = 0.95;

/// Payload of a packet of a call: G.711 with frames of 20 ms, and RTP's header.
const CALL: ByteCount = ByteCount::new(172);
const CALL_RATE: BitRate = BitRate::from_bps(50 * 172 * 8);

/// A prepared scenario.
pub(crate) struct Model<'a> {
    scenario: &'a Scenario,
    pub(crate) wanted: Vec<Wanted<'a>>,
}

/// A flow with a demand.
pub(crate) struct Wanted<'a> {
    index: usize,
    pub(crate) flow: &'a Flow,
    /// The demand, from the sender to the acknowledgement.
    pub(crate) demand: Demand,
    /// Payload rate of the source.
    pub(crate) rate: BitRate,
}

/// The model's estimate for a flow with a demand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    /// Share of time that its exchanges need, were all of it delivered.
    pub(crate) load: f64,
    /// Latency at the demanded percentile, seconds; infinite if nothing arrives.
    pub(crate) latency: f64,
    /// Delivered over offered payload.
    pub(crate) delivered: f64,
    /// Median PHY rate.
    pub(crate) phy_rate: BitRate,
}

/// Estimates under one choice of what LAST-PQ is asked to hold.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// The demand that LAST-PQ is given, for each demand.
    pub(crate) targets: Vec<Span>,
    /// Of each half of the draws.
    pub(crate) halves: [Vec<Estimate>; 2],
    /// Of all draws.
    pub(crate) all: Vec<Estimate>,
    /// The largest of the demands' strains.
    strain: f64,
}

impl Held {
    pub(crate) fn is_met(&self) -> bool {
        self.strain <= 1.0
    }
}

impl Wanted<'_> {
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
    pub(crate) fn wire(&self) -> Span {
        self.flow.wire.delay + self.flow.wire.jitter
    }

    /// The part of the demand that the wire leaves to the access point; zero if nothing.
    pub(crate) fn left(&self) -> Span {
        self.demand.latency.saturating_sub(self.wire())
    }

    /// Whether an estimate meets the demand.
    pub(crate) fn is_met(&self, estimate: &Estimate) -> bool {
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
    pub(crate) fn new(scenario: &'a Scenario, demands: Vec<(usize, Demand)>) -> Result<Self, PlanError> {
        let mut wanted = Vec::with_capacity(demands.len());
        for (index, demand) in demands {
            let Some(flow) = scenario.flows.get(index) else { continue };
            let rate = rate_of(&flow.traffic).ok_or_else(|| PlanError::Flow {
                flow: flow.name.clone(),
                problem: "its rate has no limit; set one".to_owned(),
            })?;
            wanted.push(Wanted { index, flow, demand, rate });
        }
        Ok(Self { scenario, wanted })
    }

    /// The best estimate: the first that meets all demands, else the one that misses them least.
    ///
    /// LAST-PQ is asked to hold what the wire leaves, and then less and less, down to where it makes no difference any more. All of it
    /// lies on one grid, so that a longer demand only adds a choice: more slack never gives a worse answer.
    pub(crate) fn held(&self) -> Result<Held, PlanError> {
        let scales = vec![1.0; self.wanted.len()];
        let steps = self.wanted.iter().map(Wanted::place).max().unwrap_or(0);
        let mut best: Option<Held> = None;
        let mut before: Vec<Vec<Measured>> = Vec::new();
        for lowered in 0..=steps {
            let targets: Vec<Span> = self.wanted.iter().map(|wanted| wanted.target(lowered)).collect();
            let mut draws = Vec::with_capacity(DRAWS);
            while draws.len() < DRAWS {
                draws.push(self.draw(self.scenario, &targets, draws.len())?);
                if best.as_ref().is_some_and(|best| self.is_worse(&draws, best.strain)) {
                    break;
                }
            }
            let is_same = draws == before;
            if draws.len() == DRAWS && !is_same {
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
            let limit = strain * wanted.demand.latency.as_secs_f64();
            let of = || draws.iter().filter_map(|draw| draw.get(place)).map(|measured| &measured.latencies);
            let late: usize = of().map(|each| each.iter().filter(|latency| **latency >= limit).count()).sum();
            let known: usize = of().map(Vec::len).sum();
            let most = of().map(Vec::len).max().unwrap_or(0) as f64;
            let packets = known as f64 + MORE_PACKETS * most * coming;
            let share = wanted.demand.percentile.min(HIGHEST_PERCENTILE) / 100.0;
            late as f64 > (1.0 - share) * packets + 1.0
        })
    }

    /// Whether all demands are met with the flows' rates multiplied by `scales` while LAST-PQ is given `targets`. The first draws decide
    /// if they miss by far.
    pub(crate) fn meets(&self, targets: &[Span], scales: &[f64]) -> bool {
        let scenario = self.scaled(scales);
        let mut draws = Vec::with_capacity(DRAWS);
        for draw in 0..DRAWS {
            // What can fail is the scheme, which was built for the scenario itself before.
            let Ok(measured) = self.draw(&scenario, targets, draw) else { return false };
            draws.push(measured);
            if draws.len() == FIRST_DRAWS && self.strain(&self.pooled(draws.iter(), scales)) > CLEARLY {
                return false;
            }
        }
        self.strain(&self.pooled(draws.iter(), scales)) <= 1.0
    }

    /// The largest of the demands' strains.
    fn strain(&self, estimates: &[Estimate]) -> f64 {
        let each = self.wanted.iter().zip(estimates);
        each.map(|(wanted, estimate)| wanted.strain(estimate)).fold(0.0, f64::max)
    }

    fn draw(&self, scenario: &Scenario, targets: &[Span], draw: usize) -> Result<Vec<Measured>, PlanError> {
        let percentile = |wanted: &Wanted<'_>| wanted.demand.percentile.min(HIGHEST_PERCENTILE);
        let each = self.wanted.iter().zip(targets);
        let asked: Vec<Asked> =
            each.map(|(wanted, target)| (wanted.index, *target, percentile(wanted))).collect();
        let network = Network::new(scenario, &asked, OWN_SEED + draw as u64, self.times(draw));
        let wrong = |error: ConfigError| PlanError::Scheme { problem: error.to_string() };
        network.map(Network::run).map_err(wrong)
    }

    /// The time of a draw: spread over the run, so that movement and traces count.
    fn times(&self, draw: usize) -> Times {
        let length = SETTLING + MEASURED;
        let room = self.scenario.end().saturating_sub(length);
        let begin = Instant::ZERO + room.mul_f64((draw as f64 + 0.5) / DRAWS as f64);
        Times { begin, from: begin + SETTLING, end: begin + length }
    }

    /// The estimates from some draws, whose packets count together.
    fn pooled<'m>(&self, draws: impl Iterator<Item = &'m Vec<Measured>>, scales: &[f64]) -> Vec<Estimate> {
        let draws: Vec<&Vec<Measured>> = draws.collect();
        let time = MEASURED.as_secs_f64() * draws.len() as f64;
        let each = self.wanted.iter().enumerate();
        each.map(|(place, wanted)| {
            let of = || draws.iter().filter_map(|draw| draw.get(place));
            let mut latencies: Vec<f64> =
                of().flat_map(|measured| measured.latencies.iter().copied()).collect();
            let scale = scales.get(place).copied().unwrap_or(1.0);
            let offered = wanted.rate.as_bps() as f64 * scale / 8.0 * time;
            let delivered = of().map(|measured| measured.delivered).sum::<f64>() / offered.max(1.0);
            let airtime = of().map(|measured| measured.airtime).sum::<f64>() / time;
            let share = wanted.demand.percentile.min(HIGHEST_PERCENTILE) / 100.0;
            let latency =
                if latencies.is_empty() { f64::INFINITY } else { percentile(&mut latencies, share) };
            let mut rates: Vec<BitRate> = of().flat_map(|measured| measured.rates.iter().copied()).collect();
            rates.sort_unstable();
            let phy_rate = rates.get(rates.len() / 2).copied().unwrap_or(BitRate::ZERO);
            Estimate { load: airtime / delivered.clamp(1e-3, 1.0), latency, delivered, phy_rate }
        })
        .collect()
    }

    /// The scenario with the rates of the demanding flows multiplied.
    fn scaled(&self, scales: &[f64]) -> Scenario {
        let mut scenario = self.scenario.clone();
        for (wanted, scale) in self.wanted.iter().zip(scales) {
            let Some(flow) = scenario.flows.get_mut(wanted.index).filter(|_| *scale != 1.0) else { continue };
            match &mut flow.traffic {
                Traffic::Cbr(datagrams) | Traffic::Poisson(datagrams) | Traffic::Paced(datagrams) => {
                    datagrams.rate = datagrams.rate.mul_f64(*scale);
                }
                Traffic::Vr(stream) => stream.rate = stream.rate.mul_f64(*scale),
                Traffic::Rtc(stream) => stream.rate = stream.rate.mul_f64(*scale),
                Traffic::Tcp(bulk) => bulk.limit = bulk.limit.map(|limit| limit.mul_f64(*scale)),
                Traffic::TcpShort(transfers) => transfers.interval = transfers.interval.mul_f64(1.0 / scale),
                Traffic::Voip => {
                    flow.traffic = Traffic::Cbr(Datagrams { rate: CALL_RATE.mul_f64(*scale), size: CALL });
                }
            }
        }
        scenario
    }
}

/// Payload rate of a source; `None` without a limit.
fn rate_of(traffic: &Traffic) -> Option<BitRate> {
    Some(match traffic {
        Traffic::Cbr(datagrams) | Traffic::Poisson(datagrams) => datagrams.rate,
        // An allocator decides the rate, so there is no given load.
        Traffic::Paced(_) => return None,
        Traffic::Voip => CALL_RATE,
        Traffic::Tcp(bulk) => bulk.limit?,
        Traffic::TcpShort(short) => BitRate::of(short.size, short.interval),
        Traffic::Vr(stream) => stream.rate,
        Traffic::Rtc(stream) => stream.rate,
    })
}

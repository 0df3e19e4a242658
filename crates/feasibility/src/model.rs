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
const MEASURED: Span = Span::from_millis(2_000);

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

impl Wanted<'_> {
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

    /// The estimate for each demand of each half of the draws, and of all.
    pub(crate) fn estimates(&self) -> Result<[Vec<Estimate>; 3], PlanError> {
        let scales = vec![1.0; self.wanted.len()];
        let draws: Vec<Vec<Measured>> =
            (0..DRAWS).map(|draw| self.draw(self.scenario, draw)).collect::<Result<_, _>>()?;
        let half = |odd: usize| self.pooled(draws.iter().skip(odd).step_by(2), &scales);
        Ok([half(0), half(1), self.pooled(draws.iter(), &scales)])
    }

    /// Whether all demands are met with the flows' rates multiplied by `scales`. The first draws decide if they miss by far.
    pub(crate) fn meets(&self, scales: &[f64]) -> bool {
        let scenario = self.scaled(scales);
        let mut draws = Vec::with_capacity(DRAWS);
        for draw in 0..DRAWS {
            // What can fail is the scheme, which was built for the scenario itself before.
            let Ok(measured) = self.draw(&scenario, draw) else { return false };
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

    fn draw(&self, scenario: &Scenario, draw: usize) -> Result<Vec<Measured>, PlanError> {
        let percentile = |wanted: &Wanted<'_>| wanted.demand.percentile.min(HIGHEST_PERCENTILE);
        let asked: Vec<Asked> =
            self.wanted.iter().map(|wanted| (wanted.index, wanted.left(), percentile(wanted))).collect();
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

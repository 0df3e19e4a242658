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
/// Time of each draw in which windows, rates and the delay controller settle: several seconds of LAST-PQ's `delay.hold` are not needed,
/// since it starts at the demand. And the time that is measured.
const SETTLING: Span = Span::from_millis(1_000);
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

    /// What the wire leaves of the demand to the access point; zero if nothing.
    pub(crate) fn left(&self) -> Span {
        self.demand.latency.saturating_sub(self.wire())
    }

    /// Whether an estimate meets the demand.
    pub(crate) fn is_met(&self, estimate: &Estimate) -> bool {
        estimate.latency <= self.demand.latency.as_secs_f64() && estimate.delivered >= DELIVERED
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

    /// The estimate for each demand of each half of the draws, and of all, with the flows' rates multiplied by `scales`.
    pub(crate) fn estimates(&self, scales: &[f64]) -> Result<[Vec<Estimate>; 3], PlanError> {
        let scenario = self.scaled(scales);
        let asked: Vec<Asked> = self
            .wanted
            .iter()
            .map(|wanted| (wanted.index, wanted.left(), wanted.demand.percentile.min(HIGHEST_PERCENTILE)))
            .collect();
        let mut halves = [Vec::new(), Vec::new()];
        for draw in 0..DRAWS {
            let seed = OWN_SEED + draw as u64;
            let network = Network::new(&scenario, &asked, seed, self.times(draw))
                .map_err(|error: ConfigError| PlanError::Scheme { problem: error.to_string() })?;
            halves[draw % 2].push(network.run());
        }
        let [first, second] = &halves;
        let all: Vec<&Vec<Measured>> = first.iter().chain(second).collect();
        let of = |draws: &[&Vec<Measured>]| self.pooled(draws, scales);
        Ok([of(&first.iter().collect::<Vec<_>>()), of(&second.iter().collect::<Vec<_>>()), of(&all)])
    }

    /// The time of a draw: spread over the run, so that movement and traces count.
    fn times(&self, draw: usize) -> Times {
        let length = SETTLING + MEASURED;
        let room = self.scenario.end().saturating_sub(length);
        let begin = Instant::ZERO + room.mul_f64((draw as f64 + 0.5) / DRAWS as f64);
        Times { begin, from: begin + SETTLING, end: begin + length }
    }

    fn pooled(&self, draws: &[&Vec<Measured>], scales: &[f64]) -> Vec<Estimate> {
        let time = MEASURED.as_secs_f64() * draws.len() as f64;
        let each = self.wanted.iter().enumerate();
        each.map(|(place, wanted)| {
            let of = || draws.iter().filter_map(|draw| draw.get(place));
            let mut latencies: Vec<f64> = of().flat_map(|measured| measured.latencies.iter().copied()).collect();
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
                    flow.traffic =
                        Traffic::Cbr(Datagrams { rate: CALL_RATE.mul_f64(*scale), size: CALL });
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

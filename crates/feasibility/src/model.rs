//! The model of a scenario: the service of each flow, and the latencies that follow.

use std::collections::BTreeMap;

use airbound_control::queue::LastPqConfig;
use airbound_scenario::{Direction, Flow, Form, Scenario};
use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::{Category, Legacy, Rate};

use crate::contention::{Contender, wait};
use crate::demand::{Demand, PlanError};
use crate::draws::Draws;
use crate::exchange::{Medium, limits};
use crate::fairness::{Claim, uplink_shares};
use crate::latency::percentile;
use crate::link::{self, Link, LinkSamples};
use crate::timeline::{Backlog, Hardware, Service, Stream, latencies};
use crate::traffic::{self, ArrivalPattern, Background};

/// Seconds of traffic for each draw.
const HORIZON: f64 = 1.0;
/// Seconds after which a queue that has not emptied counts as unstable.
const DEADLINE: f64 = 2.0 * HORIZON;
/// Draws of the streams' phases with constant channels, and of phases and channels with varying ones.
const DRAWS: usize = 8;
const DRAWS_OF_CHANNELS: usize = 24;
/// Limit of the product of streams and draws, above which draws are reduced.
const EFFORT: usize = 128;
/// Permitted queueing latencies to try, as shares of the demand; the first stands for the smallest permitted one.
const PERMITTED: [f64; 3] = [0.0, 0.3, 0.6];
/// Rounds of the search with individual shares, and the largest share.
const ROUNDS: usize = 6;
const MOST_PERMITTED: f64 = 0.9;

/// Limit of the percentile: 100 is evaluated as 99.99.
const HIGHEST_PERCENTILE: f64 = 99.99;

/// A prepared scenario.
pub(crate) struct Model<'a> {
    scenario: &'a Scenario,
    /// LAST-PQ's default configuration.
    scheduler: LastPqConfig,
    medium: Medium,
    limits: AmpduLimits,
    hardware: Hardware,
    /// The samples of the link to each station, for each draw.
    samples: Vec<Vec<LinkSamples>>,
    draws: usize,
    contenders: Vec<Contender>,
    /// The share of time that the demands leave.
    free: f64,
    background: Vec<Background>,
    pub(crate) wanted: Vec<Wanted<'a>>,
}

/// A flow with a demand.
pub(crate) struct Wanted<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) station: usize,
    pub(crate) demand: Demand,
    pub(crate) pattern: ArrivalPattern,
}

/// The model's estimate for a flow with a demand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    /// Share of time of its exchanges and their waits.
    pub(crate) load: f64,
    /// Latency at the demanded percentile, seconds; infinite if its queue never empties.
    pub(crate) latency: f64,
}

impl<'a> Model<'a> {
    pub(crate) fn new(scenario: &'a Scenario, demands: Vec<(usize, Demand)>) -> Result<Self, PlanError> {
        let medium = Medium::of(&scenario.air);
        let path = &scenario.access_point.path;
        let varies = |station: usize| {
            link::samples(scenario, station, 1, 0.0).iter().any(|sampled| !sampled.is_constant())
        };
        let wanted_stations = demands.iter().filter_map(|(index, _)| {
            scenario.flows.get(*index).and_then(|flow| scenario.station_index(&flow.station))
        });
        let most = if wanted_stations.clone().any(varies) { DRAWS_OF_CHANNELS } else { DRAWS };
        let draws = (EFFORT / demands.len().max(1)).clamp(2, most);
        let samples: Vec<Vec<LinkSamples>> = (0..scenario.stations.len())
            .map(|station| link::samples(scenario, station, draws, HORIZON))
            .collect();
        let middles: Vec<Link> = samples.iter().map(|samples| middle(samples)).collect();
        let is_wanted = |index| demands.iter().any(|(other, _)| *other == index);
        let background = traffic::background(scenario, is_wanted);
        let mut wanted = Vec::with_capacity(demands.len());
        for (index, demand) in demands {
            let Some(flow) = scenario.flows.get(index) else { continue };
            let pattern = ArrivalPattern::of(flow, scenario.wire.rate).ok_or_else(|| PlanError::Flow {
                flow: flow.name.clone(),
                problem: "its rate has no limit; set one".to_owned(),
            })?;
            let station = scenario.station_index(&flow.station).unwrap_or(0);
            wanted.push(Wanted { flow, station, demand, pattern });
        }
        let limits = limits(path);
        let claims = claims(scenario, &medium, limits, &middles, &wanted, &background);
        let demanded: f64 = claims.iter().map(|claim| claim.demanded).sum();
        let shares = uplink_shares(&claims);
        let allowed = |station: usize| shares.get(station).copied().unwrap_or(0.0);
        let contenders = traffic::contenders(scenario, &medium, &middles, allowed);
        Ok(Self {
            scenario,
            scheduler: LastPqConfig::default(),
            medium,
            limits,
            hardware: Hardware {
                depth: usize::from(path.hardware_aggregates),
                ahead: path.form == Form::Ahead,
            },
            samples,
            draws,
            contenders,
            free: (1.0 - demanded).max(0.0),
            background,
            wanted,
        })
    }

    /// The median link to a station.
    pub(crate) fn middle(&self, station: usize) -> Link {
        middle(self.samples.get(station).map_or(&[], Vec::as_slice))
    }

    /// The estimate for each demand, with the flows' rates multiplied by `scales`.
    pub(crate) fn estimates(&self, scales: &[f64]) -> Vec<Estimate> {
        let patterns: Vec<ArrivalPattern> =
            self.wanted.iter().zip(scales).map(|(wanted, scale)| wanted.pattern.scaled(*scale)).collect();
        // By stream, draw and time.
        let services: Vec<Vec<Vec<Service>>> =
            self.wanted.iter().map(|wanted| self.services(wanted)).collect();
        let loads: Vec<f64> =
            services.iter().zip(&patterns).map(|(services, pattern)| load(services, pattern)).collect();
        if loads.iter().sum::<f64>() > 1.0 {
            return loads.into_iter().map(|load| Estimate { load, latency: f64::INFINITY }).collect();
        }
        // LAST-PQ adapts the permitted queueing latency. A shorter one is not always better: immediate packets form small aggregates
        // and precede others. So some common shares are tried first; then the share of flows that miss their demand is reduced and
        // that of others increased. The best result counts.
        let ratios = |latencies: &[f64]| -> Vec<f64> {
            let each = self.wanted.iter().zip(latencies);
            each.map(|(wanted, latency)| latency / wanted.demand.latency.as_secs_f64()).collect()
        };
        let most = |latencies: &[f64]| ratios(latencies).into_iter().fold(0.0, f64::max);
        let tried = |shares: Vec<f64>| (self.latencies(&services, &patterns, &shares), shares);
        let uniform = PERMITTED.iter().map(|share| tried(vec![*share; self.wanted.len()]));
        let Some(mut best) = uniform.min_by(|(one, _), (other, _)| most(one).total_cmp(&most(other))) else {
            return Vec::new();
        };
        let (mut latencies, mut shares) = best.clone();
        let rounds = if self.wanted.len() > 1 { ROUNDS } else { 0 };
        for _ in 0..rounds {
            let worst = most(&latencies);
            for (share, ratio) in shares.iter_mut().zip(ratios(&latencies)) {
                *share =
                    if ratio >= 0.9 * worst { *share / 2.0 } else { (*share + 0.15).min(MOST_PERMITTED) };
            }
            (latencies, shares) = tried(shares);
            if most(&latencies) < most(&best.0) {
                best = (latencies.clone(), shares.clone());
            }
        }
        let (best, _) = best;
        loads.into_iter().zip(best).map(|(load, latency)| Estimate { load, latency }).collect()
    }

    /// The latency of each flow with a demand at its percentile, with permitted queueing latencies as shares of the demands.
    fn latencies(
        &self,
        services: &[Vec<Vec<Service>>],
        patterns: &[ArrivalPattern],
        shares: &[f64],
    ) -> Vec<f64> {
        let each = self.wanted.iter().zip(shares);
        let least = self.scheduler.delay.least_permitted.as_secs_f64();
        let permitted: Vec<f64> =
            each.map(|(wanted, share)| (wanted.demand.latency.as_secs_f64() * share).max(least)).collect();
        let strictest = permitted.iter().copied().fold(f64::INFINITY, f64::min);
        let backlogs = self.backlogs(Span::from_secs_f64(strictest));
        let mut all: Vec<Vec<f64>> = vec![Vec::new(); self.wanted.len()];
        for draw in 0..self.draws {
            let streams: Vec<Stream> = services
                .iter()
                .zip(patterns)
                .zip(&permitted)
                .enumerate()
                .map(|(place, ((services, pattern), permitted))| Stream {
                    services: services.get(draw).cloned().unwrap_or_default(),
                    arrivals: pattern.arrivals(phase(place, draw), HORIZON),
                    permitted: *permitted,
                })
                .collect();
            let others = backlogs.get(draw).map_or(&[][..], Vec::as_slice);
            let mut draws = Draws::new(draw as u64);
            let drawn = latencies(&streams, others, self.hardware, DEADLINE, &mut draws);
            all.iter_mut().zip(drawn).for_each(|(all, drawn)| all.extend(drawn));
        }
        let each = self.wanted.iter().zip(&mut all);
        each.map(|(wanted, all)| percentile(all, wanted.demand.percentile.min(HIGHEST_PERCENTILE) / 100.0))
            .collect()
    }

    /// The service of a flow, by draw and time.
    fn services(&self, wanted: &Wanted<'_>) -> Vec<Vec<Service>> {
        let category = wanted.flow.category;
        let txop = self.medium.parameters(category, true).txop_limit;
        let limits = if txop.is_zero() { self.limits } else { self.limits.within(txop) };
        let ArrivalPattern { packet, is_tcp, .. } = wanted.pattern;
        self.services_of(wanted.station, packet, limits, category, is_tcp)
    }

    fn services_of(
        &self,
        station: usize,
        packet: ByteCount,
        limits: AmpduLimits,
        category: Category,
        is_tcp: bool,
    ) -> Vec<Vec<Service>> {
        // The wait depends on the rate but not on losses, so it is computed once for each rate.
        let mut known: BTreeMap<(Rate, Option<BitRate>), Service> = BTreeMap::new();
        let samples = self.samples.get(station).map_or(&[][..], Vec::as_slice);
        let each = samples.iter().map(|sampled| {
            let each = sampled.steps().iter().map(|link| {
                let service = known
                    .entry((link.rate, link.dictated))
                    .or_insert_with(|| self.service(station, *link, packet, limits, category, is_tcp));
                Service { exchange: service.exchange.over(*link), ..*service }
            });
            each.collect()
        });
        each.collect()
    }

    fn service(
        &self,
        station: usize,
        link: Link,
        packet: ByteCount,
        limits: AmpduLimits,
        category: Category,
        is_tcp: bool,
    ) -> Service {
        let exchange = self.medium.exchange(link, packet, limits);
        let own = exchange.duration(exchange.most);
        let parameters = self.medium.parameters(category, true);
        let wait = wait(&self.medium, &parameters, own, &self.contenders, self.free);
        let echo = is_tcp.then(|| {
            traffic::echo(
                self.scenario,
                &self.medium,
                station,
                link,
                &parameters,
                exchange.most,
                &self.contenders,
            )
        });
        let probes = link::is_probed(self.scenario, station);
        let tries = link::tries(self.scenario, station);
        Service { station, exchange, wait, echo: echo.flatten(), probes, tries }
    }

    /// The unprotected traffic by draw and station, in aggregates as short as LAST-PQ makes them.
    fn backlogs(&self, permitted: Span) -> Vec<Vec<Backlog>> {
        let adapted = permitted.mul_f64(self.scheduler.aggregate_share).max(self.scheduler.least_aggregate);
        let limits = self.limits.within(adapted);
        let mut stations: BTreeMap<usize, Background> = BTreeMap::new();
        for flow in &self.background {
            stations.entry(flow.station).and_modify(|known| known.load += flow.load).or_insert(*flow);
        }
        let mut backlogs: Vec<Vec<Backlog>> = vec![Vec::new(); self.draws];
        for Background { station, load, packet, is_tcp } in stations.into_values() {
            let services = self.services_of(station, packet, limits, Category::Be, is_tcp);
            for (backlogs, services) in backlogs.iter_mut().zip(services) {
                backlogs.push(Backlog { services, load });
            }
        }
        backlogs
    }
}

/// The airtime claims of each station.
fn claims(
    scenario: &Scenario,
    medium: &Medium,
    limits: AmpduLimits,
    links: &[Link],
    wanted: &[Wanted<'_>],
    background: &[Background],
) -> Vec<Claim> {
    let mut claims = vec![Claim::default(); scenario.stations.len()];
    // Other packets of the station fill up urgent aggregates.
    let filled = f64::from(LastPqConfig::default().fill);
    for wanted in wanted {
        let (Some(claim), Some(link)) = (claims.get_mut(wanted.station), links.get(wanted.station)) else {
            continue;
        };
        let exchange = medium.exchange(*link, wanted.pattern.packet, limits);
        claim.demanded += wanted.pattern.packets() * exchange.duration(exchange.most) / exchange.fresh();
        let frames = wanted.pattern.frames.map_or(0.0, |frames| frames.fps);
        let aggregates = (wanted.pattern.packets() / exchange.fresh()).max(frames);
        let uplink = medium.exchange(*link, traffic::TCP_PACKET, limits);
        let segment = uplink.duration(uplink.most) / uplink.fresh();
        claim.filled += aggregates * filled * traffic::SEGMENTS_PER_ACK * segment;
    }
    for flow in background.iter().filter(|flow| flow.load.is_infinite()) {
        if let Some(claim) = claims.get_mut(flow.station) {
            claim.downlink_saturated = true;
        }
    }
    let greedy = scenario.flows.iter().filter(|flow| flow.direction == Direction::Up);
    for flow in greedy.filter(|flow| ArrivalPattern::of(flow, None).is_none()) {
        if let Some(claim) = scenario.station_index(&flow.station).and_then(|station| claims.get_mut(station))
        {
            claim.uplink_saturated = true;
        }
    }
    claims
}

/// The share of time that a flow needs with full aggregates, at the mean speed, since its queue absorbs variations.
fn load(services: &[Vec<Service>], pattern: &ArrivalPattern) -> f64 {
    let (mut speeds, mut count) = (0.0, 0.0);
    for service in services.iter().flatten() {
        speeds += service.exchange.fresh() / service.full_cycle();
        count += 1.0;
    }
    pattern.packets() * f64::max(count, 1.0) / f64::max(speeds, 1e-9)
}

fn middle(samples: &[LinkSamples]) -> Link {
    samples.get(samples.len() / 2).map_or(Link::perfect(Rate::legacy(Legacy::Mbps6)), LinkSamples::middle)
}

/// The phase of a stream in its first interval, 0 to 1: evenly spread over the draws, different for each stream (multiples of irrational
/// numbers).
fn phase(stream: usize, draw: usize) -> f64 {
    let step = (2.0 + stream as f64).sqrt() + 0.618_033_988_75 * stream as f64;
    let phase = 0.5 + step * (draw as f64 + 1.0) + 0.37 * stream as f64;
    phase - phase.floor()
}

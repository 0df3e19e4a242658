//! The model of a scenario: who is served how, and what latency that gives.

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
use crate::link::{self, Link, RateCourse};
use crate::timeline::{Backlog, Hardware, Service, Stream, latencies};
use crate::traffic::{self, Background, Rhythm};

/// Seconds of traffic that are looked at, for each draw of phases.
const HORIZON: f64 = 1.0;
/// A queue that is not empty so much later never will be.
const DEADLINE: f64 = 2.0 * HORIZON;
/// Draws: of the phases at which the streams begin, and of the channel where it varies.
const DRAWS: usize = 8;
const DRAWS_OF_CHANNELS: usize = 24;
/// Above this many pairs of streams and draws fewer draws are looked at.
const EFFORT: usize = 128;
/// Shares of the demand that packets may queue; the first is less than what is always permitted.
const PERMITTED: [f64; 3] = [0.0, 0.3, 0.6];
/// Rounds in which flows are then treated differently, and the longest that one may queue.
const ROUNDS: usize = 6;
const MOST_PERMITTED: f64 = 0.9;

/// A demand on every packet is looked at as one on all but one of ten thousand.
const HIGHEST_PERCENTILE: f64 = 99.99;

/// A scenario, prepared.
pub(crate) struct Model<'a> {
    scenario: &'a Scenario,
    /// LAST-PQ's default configuration, by which it treats others.
    scheduler: LastPqConfig,
    medium: Medium,
    limits: AmpduLimits,
    hardware: Hardware,
    /// The link to each station, in each draw.
    courses: Vec<Vec<RateCourse>>,
    draws: usize,
    contenders: Vec<Contender>,
    /// The share of all time that the demands leave.
    free: f64,
    background: Vec<Background>,
    pub(crate) wanted: Vec<Wanted<'a>>,
}

/// A flow with a demand.
pub(crate) struct Wanted<'a> {
    pub(crate) flow: &'a Flow,
    pub(crate) station: usize,
    pub(crate) demand: Demand,
    pub(crate) rhythm: Rhythm,
}

/// Estimate of the model for one flow with a demand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Estimate {
    /// Share of all time that its exchanges and the waits in front of them take.
    pub(crate) load: f64,
    /// Seconds at the demanded percentile; infinite if its queue never empties.
    pub(crate) latency: f64,
}

impl<'a> Model<'a> {
    pub(crate) fn new(scenario: &'a Scenario, demands: Vec<(usize, Demand)>) -> Result<Self, PlanError> {
        let medium = Medium::of(&scenario.air);
        let path = &scenario.access_point.path;
        let varies = |station: usize| {
            link::courses(scenario, station, 1, 0.0).iter().any(|course| !course.is_constant())
        };
        let wanted_stations = demands.iter().filter_map(|(index, _)| {
            scenario.flows.get(*index).and_then(|flow| scenario.station_index(&flow.station))
        });
        let most = if wanted_stations.clone().any(varies) { DRAWS_OF_CHANNELS } else { DRAWS };
        let draws = (EFFORT / demands.len().max(1)).clamp(2, most);
        let courses: Vec<Vec<RateCourse>> = (0..scenario.stations.len())
            .map(|station| link::courses(scenario, station, draws, HORIZON))
            .collect();
        let middles: Vec<Link> = courses.iter().map(|courses| middle(courses)).collect();
        let is_wanted = |index| demands.iter().any(|(other, _)| *other == index);
        let background = traffic::background(scenario, is_wanted);
        let mut wanted = Vec::with_capacity(demands.len());
        for (index, demand) in demands {
            let Some(flow) = scenario.flows.get(index) else { continue };
            let rhythm = Rhythm::of(flow, scenario.wire.rate).ok_or_else(|| PlanError::Flow {
                flow: flow.name.clone(),
                problem: "it takes whatever it gets; give it a limit".to_owned(),
            })?;
            let station = scenario.station_index(&flow.station).unwrap_or(0);
            wanted.push(Wanted { flow, station, demand, rhythm });
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
            courses,
            draws,
            contenders,
            free: (1.0 - demanded).max(0.0),
            background,
            wanted,
        })
    }

    /// The link to a station in the middle of its course.
    pub(crate) fn middle(&self, station: usize) -> Link {
        middle(self.courses.get(station).map_or(&[], Vec::as_slice))
    }

    /// Returns the estimate for each demand when its flow sends at its rate times `scales`.
    pub(crate) fn estimates(&self, scales: &[f64]) -> Vec<Estimate> {
        let rhythms: Vec<Rhythm> =
            self.wanted.iter().zip(scales).map(|(wanted, scale)| wanted.rhythm.scaled(*scale)).collect();
        // For each stream, for each draw, as time goes by.
        let services: Vec<Vec<Vec<Service>>> =
            self.wanted.iter().map(|wanted| self.services(wanted)).collect();
        let loads: Vec<f64> =
            services.iter().zip(&rhythms).map(|(services, rhythm)| load(services, rhythm)).collect();
        if loads.iter().sum::<f64>() > 1.0 {
            return loads.into_iter().map(|load| Estimate { load, latency: f64::INFINITY }).collect();
        }
        // LAST-PQ adapts how long packets may queue. Sooner is not always better: what is sent at once goes in small
        // aggregates, and before others. So some shares of the demands are tried for all; then each flow whose demand is missed
        // gets less, and who has time to spare more. The best is what it can come to.
        let strains = |latencies: &[f64]| -> Vec<f64> {
            let each = self.wanted.iter().zip(latencies);
            each.map(|(wanted, latency)| latency / wanted.demand.latency.as_secs_f64()).collect()
        };
        let most = |latencies: &[f64]| strains(latencies).into_iter().fold(0.0, f64::max);
        let tried = |shares: Vec<f64>| (self.latencies(&services, &rhythms, &shares), shares);
        let uniform = PERMITTED.iter().map(|share| tried(vec![*share; self.wanted.len()]));
        let Some(mut best) = uniform.min_by(|(one, _), (other, _)| most(one).total_cmp(&most(other))) else {
            return Vec::new();
        };
        let (mut latencies, mut shares) = best.clone();
        let rounds = if self.wanted.len() > 1 { ROUNDS } else { 0 };
        for _ in 0..rounds {
            let worst = most(&latencies);
            for (share, strain) in shares.iter_mut().zip(strains(&latencies)) {
                *share =
                    if strain >= 0.9 * worst { *share / 2.0 } else { (*share + 0.15).min(MOST_PERMITTED) };
            }
            (latencies, shares) = tried(shares);
            if most(&latencies) < most(&best.0) {
                best = (latencies.clone(), shares.clone());
            }
        }
        let (best, _) = best;
        loads.into_iter().zip(best).map(|(load, latency)| Estimate { load, latency }).collect()
    }

    /// The latency of each wanted flow at its percentile, when packets may queue for shares of what is demanded.
    fn latencies(&self, services: &[Vec<Vec<Service>>], rhythms: &[Rhythm], shares: &[f64]) -> Vec<f64> {
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
                .zip(rhythms)
                .zip(&permitted)
                .enumerate()
                .map(|(place, ((services, rhythm), permitted))| Stream {
                    services: services.get(draw).cloned().unwrap_or_default(),
                    arrivals: rhythm.arrivals(phase(place, draw), HORIZON),
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

    /// Returns the service of a flow, in each draw as time goes by.
    fn services(&self, wanted: &Wanted<'_>) -> Vec<Vec<Service>> {
        let category = wanted.flow.category;
        let txop = self.medium.parameters(category, true).txop_limit;
        let limits = if txop.is_zero() { self.limits } else { self.limits.within(txop) };
        let Rhythm { packet, is_tcp, .. } = wanted.rhythm;
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
        // The wait depends on the rate, not on what is lost: it is worked out once for each.
        let mut known: BTreeMap<(Rate, Option<BitRate>), Service> = BTreeMap::new();
        let courses = self.courses.get(station).map_or(&[][..], Vec::as_slice);
        let each = courses.iter().map(|course| {
            let each = course.steps().iter().map(|link| {
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

    /// The unprotected traffic in each draw, one entry for each station, in aggregates as short as LAST-PQ makes them.
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

/// Returns the airtime claims of each station.
fn claims(
    scenario: &Scenario,
    medium: &Medium,
    limits: AmpduLimits,
    links: &[Link],
    wanted: &[Wanted<'_>],
    background: &[Background],
) -> Vec<Claim> {
    let mut claims = vec![Claim::default(); scenario.stations.len()];
    // Other packets ride along with an urgent aggregate.
    let rides = f64::from(LastPqConfig::default().fill);
    for wanted in wanted {
        let (Some(claim), Some(link)) = (claims.get_mut(wanted.station), links.get(wanted.station)) else {
            continue;
        };
        let exchange = medium.exchange(*link, wanted.rhythm.packet, limits);
        claim.demanded += wanted.rhythm.packets() * exchange.duration(exchange.most) / exchange.fresh();
        let frames = wanted.rhythm.frames.map_or(0.0, |frames| frames.fps);
        let aggregates = (wanted.rhythm.packets() / exchange.fresh()).max(frames);
        let uplink = medium.exchange(*link, traffic::TCP_PACKET, limits);
        let segment = uplink.duration(uplink.most) / uplink.fresh();
        claim.rides += aggregates * rides * traffic::SEGMENTS_PER_ACK * segment;
    }
    for flow in background.iter().filter(|flow| flow.load.is_infinite()) {
        if let Some(claim) = claims.get_mut(flow.station) {
            claim.takes_more = true;
        }
    }
    let greedy = scenario.flows.iter().filter(|flow| flow.direction == Direction::Up);
    for flow in greedy.filter(|flow| Rhythm::of(flow, None).is_none()) {
        if let Some(claim) = scenario.station_index(&flow.station).and_then(|station| claims.get_mut(station))
        {
            claim.sends_more = true;
        }
    }
    claims
}

/// The share of time that a flow needs in full aggregates: its queue rides out what is bad for a while, so that the mean speed
/// counts.
fn load(services: &[Vec<Service>], rhythm: &Rhythm) -> f64 {
    let (mut speeds, mut count) = (0.0, 0.0);
    for service in services.iter().flatten() {
        speeds += service.exchange.fresh() / service.full_cycle();
        count += 1.0;
    }
    rhythm.packets() * f64::max(count, 1.0) / f64::max(speeds, 1e-9)
}

fn middle(courses: &[RateCourse]) -> Link {
    courses.get(courses.len() / 2).map_or(Link::perfect(Rate::legacy(Legacy::Mbps6)), RateCourse::middle)
}

/// Where in its first interval a stream begins, 0 to 1: evenly spread draws, different for each stream (multiples of
/// irrational numbers).
fn phase(stream: usize, draw: usize) -> f64 {
    let step = (2.0 + stream as f64).sqrt() + 0.618_033_988_75 * stream as f64;
    let phase = 0.5 + step * (draw as f64 + 1.0) + 0.37 * stream as f64;
    phase - phase.floor()
}

//! The model of a scenario: who is served how, and what latency that gives.

use std::collections::BTreeMap;

use airbound_sim::scenario::{Flow, Form, Scenario};
use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::{Category, Legacy, Rate};

use crate::contention::{Contender, wait};
use crate::demand::{Demand, PlanError};
use crate::exchange::{Medium, limits};
use crate::latency::{Part, percentile};
use crate::link::{self, Course, Link};
use crate::timeline::{Backlog, Hardware, Service, Stream, latencies};
use crate::traffic::{self, Background, Rhythm};

/// Seconds of traffic that are looked at, for each draw of phases.
const HORIZON: f64 = 0.4;
/// A queue that is not empty so much later never will be.
const DEADLINE: f64 = 3.0 * HORIZON;
/// Draws: of the phases at which the streams begin, and of the channel where it varies.
const DRAWS: usize = 8;
const DRAWS_OF_CHANNELS: usize = 24;
/// Above this many pairs of streams and draws fewer draws are looked at.
const EFFORT: usize = 128;
/// While a prioritised flow exists, LAST-PQ lets an aggregate of the others last this share of the permitted latency.
const ADAPTED_SHARE: f64 = 0.25;

/// LAST-PQ never permits less, in seconds (`least-permitted` of its delay controller).
const LEAST_PERMITTED: f64 = 0.001;
/// How much of the demand is usually permitted: LAST-PQ lets it grow whenever a window was quick, and the aggregates of others
/// with it.
const USUAL: f64 = 0.5;
/// Shares of the demand that packets may queue; the first is less than what is always permitted.
const PERMITTED: [f64; 3] = [0.0, 0.3, 0.6];

/// A demand on every packet is looked at as one on all but one of ten thousand.
const HIGHEST_PERCENTILE: f64 = 99.99;

/// The share of a demand that LAST-PQ can make use of. Its controller follows windows of 20 ms: it lets the permitted latency
/// grow after each quick one, is late for the next slow one, and a window with few packets says little of a high
/// percentile. The two values were read off the development set of `airbound plan --check --seed 1`.
fn kept(percent: f64) -> f64 {
    let beyond = ((percent - 95.0) / 4.0).clamp(0.0, 1.0);
    0.85 - 0.2 * beyond
}

/// A scenario, prepared.
pub(crate) struct Model<'a> {
    scenario: &'a Scenario,
    medium: Medium,
    limits: AmpduLimits,
    hardware: Hardware,
    /// The link to each station, in each draw.
    courses: Vec<Vec<Course>>,
    draws: usize,
    contenders: Vec<Contender>,
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

/// What the model says of one flow with a demand.
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
        let courses: Vec<Vec<Course>> = (0..scenario.stations.len())
            .map(|station| link::courses(scenario, station, draws, HORIZON))
            .collect();
        let middles: Vec<Link> = courses.iter().map(|courses| middle(courses)).collect();
        let is_wanted = |index| demands.iter().any(|(other, _)| *other == index);
        let background = traffic::background(scenario, is_wanted);
        let contenders = traffic::contenders(scenario, &medium, &middles);
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
        Ok(Self {
            scenario,
            medium,
            limits: limits(path),
            hardware: Hardware {
                depth: usize::from(path.hardware_aggregates),
                ahead: path.form == Form::Ahead,
            },
            courses,
            draws,
            contenders,
            background,
            wanted,
        })
    }

    /// The link to a station in the middle of its course.
    pub(crate) fn middle(&self, station: usize) -> Link {
        middle(self.courses.get(station).map_or(&[], Vec::as_slice))
    }

    /// What comes of each demand when its flow sends at its rate times `scales`.
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
        // aggregates. The best of some shares of the demands is what it can come to.
        let candidates = PERMITTED.iter().map(|share| self.latencies(&services, &rhythms, *share));
        let strain = |latencies: &Vec<f64>| {
            let each = self.wanted.iter().zip(latencies);
            each.map(|(wanted, latency)| latency / wanted.demand.latency.as_secs_f64()).fold(0.0, f64::max)
        };
        let best = candidates.min_by(|one, other| strain(one).total_cmp(&strain(other))).unwrap_or_default();
        loads.into_iter().zip(best).map(|(load, latency)| Estimate { load, latency }).collect()
    }

    /// The latency of each wanted flow at its percentile, when packets may queue for a share of what is demanded.
    fn latencies(&self, services: &[Vec<Vec<Service>>], rhythms: &[Rhythm], share: f64) -> Vec<f64> {
        let permitted = |wanted: &Wanted<'_>| {
            let permitted = wanted.demand.latency.as_secs_f64() * share;
            permitted.max(LEAST_PERMITTED)
        };
        let strictest = self.wanted.iter().map(|wanted| wanted.demand.latency).min().unwrap_or(Span::MAX);
        let backlogs = self.backlogs(strictest.mul_f64(USUAL));
        let mut parts: Vec<Vec<Part>> = vec![Vec::new(); self.wanted.len()];
        for draw in 0..self.draws {
            let streams: Vec<Stream> = services
                .iter()
                .zip(rhythms)
                .zip(&self.wanted)
                .enumerate()
                .map(|(place, ((services, rhythm), wanted))| Stream {
                    services: services.get(draw).cloned().unwrap_or_default(),
                    arrivals: rhythm.arrivals(phase(place, draw), HORIZON),
                    permitted: permitted(wanted),
                })
                .collect();
            let drawn = latencies(&streams, &backlogs, self.hardware, DEADLINE);
            parts.iter_mut().zip(drawn).for_each(|(parts, drawn)| parts.extend(drawn));
        }
        let each = self.wanted.iter().zip(&parts);
        each.map(|(wanted, parts)| {
            let percent = wanted.demand.percentile.min(HIGHEST_PERCENTILE);
            percentile(parts, percent / 100.0) / kept(percent)
        })
        .collect()
    }

    /// How a flow is served, in each draw as time goes by.
    fn services(&self, wanted: &Wanted<'_>) -> Vec<Vec<Service>> {
        let category = wanted.flow.category;
        let txop = self.medium.parameters(category, true).txop_limit;
        let limits = if txop.is_zero() { self.limits } else { self.limits.within(txop) };
        // The wait depends on the rate, not on what is lost: it is worked out once for each.
        let mut known: BTreeMap<(Rate, Option<BitRate>), Service> = BTreeMap::new();
        let courses = self.courses.get(wanted.station).map_or(&[][..], Vec::as_slice);
        courses
            .iter()
            .map(|course| {
                let each = course.steps().iter().map(|link| {
                    let service = known.entry((link.rate, link.dictated)).or_insert_with(|| {
                        let Rhythm { packet, is_tcp, .. } = wanted.rhythm;
                        self.service(wanted.station, *link, packet, limits, category, is_tcp)
                    });
                    Service { exchange: service.exchange.over(*link), ..*service }
                });
                each.collect()
            })
            .collect()
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
        let mut others = self.contenders.clone();
        if is_tcp {
            others.push(traffic::echo(self.scenario, &self.medium, link, exchange.most, own));
        }
        let wait = wait(&self.medium, &self.medium.parameters(category, true), own, &others);
        Service { station, exchange, wait, probes: link::is_probed(self.scenario, station) }
    }

    /// The unprotected traffic, one entry for each station, in aggregates as short as LAST-PQ makes them.
    fn backlogs(&self, permitted: Span) -> Vec<Backlog> {
        let limits = self.limits.within(permitted.mul_f64(ADAPTED_SHARE));
        let mut backlogs: Vec<Backlog> = Vec::new();
        for flow in &self.background {
            if let Some(known) = backlogs.iter_mut().find(|known| known.service.station == flow.station) {
                known.load += flow.load;
                continue;
            }
            let link = self.middle(flow.station);
            let service = self.service(flow.station, link, flow.packet, limits, Category::Be, flow.is_tcp);
            backlogs.push(Backlog { service, load: flow.load });
        }
        backlogs
    }
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

fn middle(courses: &[Course]) -> Link {
    courses.get(courses.len() / 2).map_or(Link::perfect(Rate::legacy(Legacy::Mbps6)), Course::middle)
}

/// Where in its first interval a stream begins, 0 to 1: evenly spread draws, different for each stream (multiples of
/// irrational numbers).
fn phase(stream: usize, draw: usize) -> f64 {
    let step = (2.0 + stream as f64).sqrt() + 0.618_033_988_75 * stream as f64;
    let phase = 0.5 + step * (draw as f64 + 1.0) + 0.37 * stream as f64;
    phase - phase.floor()
}

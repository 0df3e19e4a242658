//! The model of a scenario: who is served how, and what latency that gives.

use airbound_sim::scenario::{Flow, Form, Scenario};
use airbound_units::{ByteCount, Span};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::{Category, Legacy, Rate};

use crate::contention::{Contender, wait};
use crate::demand::{Demand, PlanError};
use crate::exchange::{Medium, limits};
use crate::latency::{Part, percentile};
use crate::link::Link;
use crate::timeline::{Backlog, Hardware, Service, Stream, latencies};
use crate::traffic::{self, Background, Rhythm};

/// Seconds of traffic that are looked at, for each draw of phases.
const HORIZON: f64 = 0.4;
/// A queue that is not empty so much later never will be.
const DEADLINE: f64 = 3.0 * HORIZON;
/// Draws of the phases at which the streams begin, if there are few streams.
const PHASES: usize = 8;
/// Above this many pairs of streams and draws fewer of each are looked at.
const EFFORT: usize = 64;
/// While a prioritised flow exists, LAST-PQ lets an aggregate of the others last this share of the permitted latency.
const ADAPTED_SHARE: f64 = 0.25;

/// A scenario, prepared.
pub(crate) struct Model<'a> {
    scenario: &'a Scenario,
    medium: Medium,
    limits: AmpduLimits,
    hardware: Hardware,
    /// The states of each station.
    states: Vec<Vec<Link>>,
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
        let states = traffic::links(scenario);
        let middles: Vec<Link> = states.iter().map(|states| middle(states)).collect();
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
            states,
            contenders,
            background,
            wanted,
        })
    }

    /// The link to a station in its middle state.
    pub(crate) fn middle(&self, station: usize) -> Link {
        middle(self.states.get(station).map_or(&[], Vec::as_slice))
    }

    /// What comes of each demand when its flow sends at its rate times `scales`.
    pub(crate) fn estimates(&self, scales: &[f64]) -> Vec<Estimate> {
        let rhythms: Vec<Rhythm> =
            self.wanted.iter().zip(scales).map(|(wanted, scale)| wanted.rhythm.scaled(*scale)).collect();
        let loads: Vec<f64> =
            self.wanted.iter().zip(&rhythms).map(|(wanted, rhythm)| self.load(wanted, rhythm)).collect();
        if loads.iter().sum::<f64>() > 1.0 {
            return loads.into_iter().map(|load| Estimate { load, latency: f64::INFINITY }).collect();
        }
        let draws = (EFFORT / self.wanted.len().max(1)).clamp(1, PHASES);
        let backlogs = self.backlogs();
        let middles: Vec<Service> = self
            .wanted
            .iter()
            .zip(&rhythms)
            .map(|(wanted, rhythm)| self.service(wanted, rhythm, self.middle(wanted.station)))
            .collect();
        let varies = |wanted: &Wanted<'_>| self.states.get(wanted.station).is_some_and(|states| states.len() > 1);
        let common = self.parts(&middles, &rhythms, &backlogs, draws);
        let mut estimates = Vec::with_capacity(loads.len());
        for (place, (wanted, load)) in self.wanted.iter().zip(&loads).enumerate() {
            let share = wanted.demand.percentile / 100.0;
            let latency = if varies(wanted) {
                let states = self.states.get(wanted.station).map_or(&[][..], Vec::as_slice);
                let stride = states.len().div_ceil(draws);
                let mut all: Vec<Part> = Vec::new();
                for link in states.iter().skip(stride / 2).step_by(stride.max(1)) {
                    let mut services = middles.clone();
                    for ((service, other), rhythm) in services.iter_mut().zip(&self.wanted).zip(&rhythms) {
                        if other.station == wanted.station {
                            *service = self.service(other, rhythm, *link);
                        }
                    }
                    let parts = self.parts(&services, &rhythms, &backlogs, draws.div_ceil(2));
                    all.extend(parts.into_iter().nth(place).unwrap_or_default());
                }
                percentile(&all, share)
            } else {
                percentile(common.get(place).map_or(&[], Vec::as_slice), share)
            };
            estimates.push(Estimate { load: *load, latency });
        }
        estimates
    }

    /// The latencies of each wanted flow over several draws of the phases.
    fn parts(
        &self,
        services: &[Service],
        rhythms: &[Rhythm],
        backlogs: &[Backlog],
        draws: usize,
    ) -> Vec<Vec<Part>> {
        let mut all: Vec<Vec<Part>> = vec![Vec::new(); services.len()];
        for draw in 0..draws {
            let streams: Vec<Stream> = services
                .iter()
                .zip(rhythms)
                .enumerate()
                .map(|(place, (service, rhythm))| Stream {
                    service: *service,
                    arrivals: rhythm.arrivals(phase(place, draw), HORIZON),
                })
                .collect();
            let parts = latencies(&streams, backlogs, self.hardware, DEADLINE);
            all.iter_mut().zip(parts).for_each(|(all, parts)| all.extend(parts));
        }
        all
    }

    /// The share of time that a flow needs in full aggregates, on average over the states of its station.
    fn load(&self, wanted: &Wanted<'_>, rhythm: &Rhythm) -> f64 {
        let states = self.states.get(wanted.station).map_or(&[][..], Vec::as_slice);
        let needs = states.iter().map(|link| {
            let service = self.service(wanted, rhythm, *link);
            rhythm.packets() / service.exchange.fresh() * service.full_cycle()
        });
        needs.sum::<f64>() / states.len().max(1) as f64
    }

    fn service(&self, wanted: &Wanted<'_>, rhythm: &Rhythm, link: Link) -> Service {
        let category = wanted.flow.category;
        let txop = self.medium.parameters(category, true).txop_limit;
        let limits = if txop.is_zero() { self.limits } else { self.limits.within(txop) };
        self.served(wanted.station, link, rhythm.packet, limits, category, rhythm.is_tcp)
    }

    fn served(
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
            others.push(traffic::echo(self.scenario, &self.medium, link, exchange.fresh(), own));
        }
        let wait = wait(&self.medium, &self.medium.parameters(category, true), own, &others);
        Service { station, exchange, wait }
    }

    /// The unprotected traffic, one entry for each station, in aggregates as short as LAST-PQ makes them.
    fn backlogs(&self) -> Vec<Backlog> {
        let strictest = self.wanted.iter().map(|wanted| wanted.demand.latency).min().unwrap_or(Span::MAX);
        let limits = self.limits.within(strictest.mul_f64(ADAPTED_SHARE));
        let mut backlogs: Vec<Backlog> = Vec::new();
        for flow in &self.background {
            if let Some(known) = backlogs.iter_mut().find(|known| known.service.station == flow.station) {
                known.load += flow.load;
                continue;
            }
            let link = self.middle(flow.station);
            let category = Category::Be;
            let service = self.served(flow.station, link, flow.packet, limits, category, flow.is_tcp);
            backlogs.push(Backlog { service, load: flow.load });
        }
        backlogs
    }
}

fn middle(states: &[Link]) -> Link {
    let fallback = Link::perfect(Rate::legacy(Legacy::Mbps6));
    states.get(states.len() / 2).copied().unwrap_or(fallback)
}

/// Where in its first interval a stream begins, 0 to 1: evenly spread draws, different for each stream (multiples of
/// irrational numbers).
fn phase(stream: usize, draw: usize) -> f64 {
    let step = (2.0 + stream as f64).sqrt() + 0.618_033_988_75 * stream as f64;
    let phase = 0.5 + step * (draw as f64 + 1.0) + 0.37 * stream as f64;
    phase - phase.floor()
}

//! Short runs of a scenario with LAST-PQ, and what its flows with demands got in them.

use std::collections::BTreeMap;

use airbound_control::queue::Demand;
use airbound_record::{Fate, PacketRow, TxopRow};
use airbound_scenario::{
    Absence, ChannelSpec, Direction, Edca, Flow, Position, Scenario, ScenarioError, Scheme, Traffic,
};
use airbound_sim::{Event, Events, Observer, Run};
use airbound_units::{BitRate, Instant, Span};
use airbound_wifi::{Category, EdcaParameters};

use super::subject::Subject;
use crate::experiment;

/// Times of a run of a scenario that does not change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// In which windows, rates and the delay controller settle.
    settling: Span,
    /// That is measured.
    measured: Span,
}

impl Times {
    /// HyStart can leave a stream's window at a fraction of a frame, from where CUBIC needs seconds.
    pub(super) const FULL: Self =
        Self { settling: Span::from_millis(2_000), measured: Span::from_millis(4_000) };
    /// For a search, whose end is tried in full.
    pub(super) const SHORT: Self =
        Self { settling: Span::from_millis(1_000), measured: Span::from_millis(2_000) };
}

/// Period of an absence from which on a few seconds may miss it.
const RARE: Span = Span::from_secs(1);
/// Longest measured time of a scenario that changes with time.
const LONGEST: Span = Span::from_secs(60);

/// A demand that LAST-PQ is given: flow, latency, percentile.
pub(super) type Asked<'a> = (&'a Subject, Span, f64);

/// Latencies, goodput and airtime of a flow with a demand in one run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Measured {
    /// From the sender to the acknowledgement, of each packet that arrived; ascending.
    pub(super) latencies: Vec<Span>,
    /// Payload that arrived, of that rate.
    pub(super) goodput: BitRate,
    /// Payload that a sender which adapts its rate sent; `None` of others, which lose what they do not send.
    pub(super) sent: Option<BitRate>,
    /// Share of time of its exchanges, with AIFS and the mean backoff of an idle channel.
    pub(super) load: f64,
    /// Median PHY rate of its exchanges; zero without any.
    pub(super) phy_rate: BitRate,
}

/// Runs a scenario once with LAST-PQ, which is given `asked`; each gets its result, in their order.
///
/// # Errors
/// The scheme does not build, in a sentence.
pub(super) fn play(
    scenario: &Scenario,
    asked: &[Asked<'_>],
    seed: u64,
    times: Times,
) -> Result<Vec<Measured>, String> {
    let mut scenario = scenario.clone();
    for (subject, latency, percentile) in asked {
        let demand = Demand::new(*latency, *percentile).map_err(|error| error.to_string())?;
        subject.demand(&mut scenario, demand);
    }
    // A demand is to be met while all flows run.
    for flow in &mut scenario.flows {
        (flow.start, flow.stop) = (flow.start.min(times.settling.mul_f64(0.5)), None);
    }
    if !changes(&scenario) {
        (scenario.warm_up, scenario.duration) = (times.settling, times.measured);
    }
    scenario.duration = scenario.duration.min(LONGEST);
    let scheme = with_last_pq(&scenario.scheme).map_err(|error| error.to_string())?;
    for network in &mut scenario.networks {
        // Only the networks of what is asked for have to keep demands.
        let is_asked = |(subject, ..): &Asked<'_>| {
            let home = scenario.stations.iter().find(|station| station.name == subject.flow.station);
            home.is_some_and(|home| home.network.as_ref() == Some(&network.name))
        };
        if let Some(own) = &network.scheme
            && asked.iter().any(is_asked)
        {
            network.scheme = Some(with_last_pq(own).map_err(|error| error.to_string())?);
        }
    }
    let run = Run::new("plan", &scenario, &scheme, seed).map_err(|error| error.to_string())?;
    let (outcome, heard) =
        experiment::play(run, Heard::new(&scenario, asked)).map_err(|error| error.to_string())?;
    let measured = asked.iter().zip(heard.latencies).map(|((subject, ..), mut latencies)| {
        latencies.sort_unstable();
        let summary = outcome.summary.flows.iter().find(|summary| summary.name == subject.flow.name);
        let rate = |mbps: f64| BitRate::from_bps((mbps * 1e6) as u64);
        let goodput = rate(summary.map_or(0.0, |summary| summary.goodput_mbps));
        let adapts = matches!(subject.flow.traffic, Traffic::Rtc(_));
        let sent = summary.filter(|_| adapts).map(|summary| rate(summary.offered_mbps));
        let (load, phy_rate) = heard.air.share(subject.number, scenario.duration);
        Measured { latencies, goodput, sent, load, phy_rate }
    });
    Ok(measured.collect())
}

/// Whether channels of a scenario change with time, or a session looks for its rates, so that a few seconds do not stand for the rest.
fn changes(scenario: &Scenario) -> bool {
    let is_rare = |away: &Absence| away.period > RARE;
    let of_station = scenario.stations.iter().any(|station| {
        let moves = match &station.channel {
            ChannelSpec::Ideal | ChannelSpec::Fixed { .. } => false,
            ChannelSpec::LogDistance(model) => !matches!(model.position, Position::Distance(_)),
            ChannelSpec::Trace(_) => true,
        };
        moves || station.away.as_ref().is_some_and(is_rare)
    });
    of_station || scenario.session.is_some() || scenario.access_point.away.as_ref().is_some_and(is_rare)
}

/// The scheme with LAST-PQ as its queue, with its own parameters if it has them; one of `airbound` stays.
fn with_last_pq(scheme: &Scheme) -> Result<Scheme, ScenarioError> {
    let has_it = matches!(scheme.queue.name(), "last-pq" | "airbound");
    if has_it { Ok(scheme.clone()) } else { scheme.with_name("last-pq") }
}

/// Events of a run, as far as a plan needs them.
#[derive(Default)]
struct Heard {
    from: Instant,
    /// The place of each flow among the demands.
    places: BTreeMap<u32, usize>,
    /// Whether each flow of the scenario goes up.
    goes_up: Vec<bool>,
    /// The station of each transmitter; `None` for an access point.
    stations: Vec<Option<u16>>,
    /// Further delay of an uplink flow, whose wire follows the air.
    wires: Vec<Span>,
    latencies: Vec<Vec<Span>>,
    air: Air,
}

/// Exchanges between the access point and each station in each category and direction, and the bytes of flows in them.
#[derive(Default)]
struct Air {
    pauses: [Span; 4],
    exchanges: BTreeMap<Way, (Span, Vec<BitRate>)>,
    bytes: BTreeMap<Way, u64>,
    of_flow: BTreeMap<u32, (Way, u64)>,
}

/// Station, category, and whether data go up.
type Way = (u16, u8, bool);

impl Air {
    /// The share of time that a flow's exchanges take, by its bytes, and their median PHY rate.
    fn share(&self, flow: u32, time: Span) -> (f64, BitRate) {
        let Some((way, own)) = self.of_flow.get(&flow) else { return (0.0, BitRate::ZERO) };
        let Some((airtime, rates)) = self.exchanges.get(way) else { return (0.0, BitRate::ZERO) };
        let all = self.bytes.get(way).copied().unwrap_or(0).max(1);
        let mut rates = rates.clone();
        rates.sort_unstable();
        let share = airtime.as_secs_f64() / time.as_secs_f64() * *own as f64 / all as f64;
        (share, rates.get(rates.len() / 2).copied().unwrap_or(BitRate::ZERO))
    }
}

impl Heard {
    fn new(scenario: &Scenario, asked: &[Asked<'_>]) -> Self {
        let goes_up = |flow: &Flow| flow.direction == Direction::Up;
        let wire = |(subject, ..): &Asked<'_>| {
            let wire = subject.flow.wire;
            if goes_up(&subject.flow) { wire.delay + wire.jitter } else { Span::ZERO }
        };
        let clients = scenario.session.iter().flat_map(|session| &session.clients);
        // What a client receives, and what it sends.
        let ways = clients.flat_map(|_| [false, true]).chain(scenario.flows.iter().map(goes_up));
        let pauses = Category::ALL.map(|category| {
            let parameters = match scenario.air.edca {
                Edca::Linux => EdcaParameters::linux_access_point(category),
                Edca::Equal => EdcaParameters::linux_station(category),
                Edca::Dcf => EdcaParameters::dcf(),
            };
            let band = scenario.air.band;
            band.aifs(parameters.aifsn) + band.slot().mul_f64(f64::from(parameters.cw_min) / 2.0)
        });
        Self {
            from: Instant::ZERO + scenario.warm_up,
            places: asked.iter().zip(0..).map(|((subject, ..), place)| (subject.number, place)).collect(),
            goes_up: ways.collect(),
            stations: stations_of(scenario),
            wires: asked.iter().map(wire).collect(),
            latencies: vec![Vec::new(); asked.len()],
            air: Air { pauses, ..Air::default() },
        }
    }

    fn on_packet(&mut self, row: &PacketRow) {
        if row.fate != Fate::Delivered || row.completed < self.from {
            return;
        }
        let goes_up = self.goes_up.get(row.flow as usize).copied().unwrap_or(false);
        let way = (row.station, row.category, goes_up);
        let size = row.size.as_u64();
        *self.air.bytes.entry(way).or_default() += size;
        self.air.of_flow.entry(row.flow).or_insert((way, 0)).1 += size;
        if row.sent >= self.from
            && let Some(place) = self.places.get(&row.flow)
        {
            self.latencies[*place].push(row.completed - row.sent + self.wires[*place]);
        }
    }

    fn on_txop(&mut self, row: &TxopRow) {
        if row.start < self.from {
            return;
        }
        let station = |node: u16| self.stations.get(usize::from(node)).copied().flatten();
        let way = match (station(row.receiver), station(row.transmitter)) {
            (Some(receiver), _) => (receiver, row.category, false),
            (None, Some(transmitter)) => (transmitter, row.category, true),
            (None, None) => return,
        };
        let pause = self.air.pauses.get(usize::from(row.category)).copied().unwrap_or(Span::ZERO);
        let (airtime, rates) = self.air.exchanges.entry(way).or_default();
        *airtime += row.end - row.start + pause;
        rates.push(row.rate);
    }
}

/// The station of each transmitter of a run; `None` for access points and neighbours.
fn stations_of(scenario: &Scenario) -> Vec<Option<u16>> {
    let number = |name: String| scenario.station_index(&name).map(|index| index as u16);
    scenario.transmitter_names().into_iter().map(number).collect()
}

impl Observer for Heard {
    fn wants(&self) -> Events {
        Events { packets: true, txops: true, ..Events::NONE }
    }

    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Packet(row) => self.on_packet(row),
            Event::Txop(row) => self.on_txop(row),
            _ => {}
        }
    }
}

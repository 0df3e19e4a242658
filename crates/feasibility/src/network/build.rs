//! The reduced network of a scenario.

use airbound_air::channel::Channel;
use airbound_air::edca::Edcaf;
use airbound_air::propagation::Links;
use airbound_air::reorder::Reorder;
use airbound_control::ConfigError;
use airbound_control::frame::{FlowId, StationId};
use airbound_control::link::{Composed, LinkConfig, LowerQueue};
use airbound_control::queue::{AnyQueue, Demand, Fifo, FifoConfig, LastPqConfig, Limits, QueueConfig};
use airbound_control::rate::{AnyRate, Capabilities, RateConfig};
use airbound_random::{Purpose, Stream, seed_for};
use airbound_scenario::{
    Direction, Edca, ErrorCorrection, Flow, Form, Load, Neighbour, Path, Preset, RtcStream, Scenario,
    SizeLaw, Slot, TcpOptions, Traffic, Transport,
};
use airbound_senders::tcp::TcpConfig;
use airbound_traffic::{Application, FrameLaw, Rhythm, Schedule, Source, UDP_HEADERS};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::timing::ppdu_duration;
use airbound_wifi::{Category, EdcaParameters, Format, Legacy, Rate};

use super::agenda::Agenda;
use super::connection::Connection;
use super::node::{Node, NodeLink};
use super::packet::Packet;
use super::wire::Wire;
use super::{ACCESS_POINT, Beacons, Emitter, Measured, Network, Route, Times};

/// Payload of a TCP segment.
const SEGMENT: ByteCount = ByteCount::new(1_448);
/// A video conference paces its packets at this multiple of its rate (libwebrtc's pacer).
const PACING: f64 = 2.5;

/// A demand on a flow: the flow's number, and what LAST-PQ shall hold at the access point.
pub(crate) type Asked = (usize, Span, f64);

impl Network {
    /// The network of a scenario with LAST-PQ under `demands`, in the draw of a seed.
    ///
    /// # Errors
    /// A value of a queue or a rate control is out of range.
    pub(crate) fn new(
        scenario: &Scenario,
        demands: &[Asked],
        seed: u64,
        times: Times,
    ) -> Result<Self, ConfigError> {
        let stations = scenario.stations.len();
        let building = Building { scenario, seed };
        let mut nodes = vec![building.access_point()?];
        for station in 0..stations {
            nodes.push(building.station(station)?);
        }
        for network in &scenario.neighbours {
            for _ in 0..network.transmitters {
                nodes.push(building.neighbour(network)?);
            }
        }
        if let Some(queue) = nodes[ACCESS_POINT.index()].link.queue_mut().demands_mut() {
            for (flow, latency, percentile) in demands {
                let demand = Demand::new(*latency, *percentile)?;
                queue.set(Instant::ZERO, FlowId(*flow as u32), Some(demand))?;
            }
        }
        let (routes, emitters) = building.traffic(demands, times);
        let path = &scenario.access_point.path;
        let links = scenario.stations.iter().zip(0..);
        let links = links.map(|(station, link)| station.propagation(&scenario.air, path, seed, link));
        let links = Links::new(links, &scenario.interferences, seed);
        let mut channel = Channel::new(scenario.air.phy_config(), scenario.air.eifs);
        for node in 0..nodes.len() {
            let edca = Category::ALL.map(|category| building.edcaf(node, category));
            channel.add(edca, Stream::new(seed, Purpose::Reception, node as u64));
        }
        let pauses = Category::ALL.map(|category| {
            let parameters = building.parameters(0, category);
            let band = scenario.air.band;
            let slots = f64::from(parameters.cw_min) / 2.0;
            band.aifs(parameters.aifsn).as_secs_f64() + slots * band.slot().as_secs_f64()
        });
        let beacons = scenario.air.beacons.map(|interval| Beacons {
            interval,
            duration: ppdu_duration(Rate::legacy(Legacy::Mbps6), scenario.air.beacon_size),
            due: false,
        });
        Ok(Self {
            now: times.begin,
            times,
            channel,
            links,
            recipients: (0..nodes.len() * 8).map(|_| Reorder::default()).collect(),
            nodes,
            stations,
            routes,
            emitters,
            wires: [Wire::new(scenario, seed, 0), Wire::new(scenario, seed, 1)],
            beacons,
            agenda: Agenda::default(),
            measured: vec![Measured::default(); demands.len()],
            pauses,
            dropped: Vec::new(),
            returned: Default::default(),
            winners: Vec::new(),
        })
    }
}

/// A scenario and the seed of a draw.
struct Building<'a> {
    scenario: &'a Scenario,
    seed: u64,
}

impl Building<'_> {
    fn parameters(&self, node: usize, category: Category) -> EdcaParameters {
        match self.scenario.air.edca {
            Edca::Linux if node == 0 => EdcaParameters::linux_access_point(category),
            Edca::Linux | Edca::Equal => EdcaParameters::linux_station(category),
            Edca::Dcf => EdcaParameters::dcf(),
        }
    }

    fn edcaf(&self, node: usize, category: Category) -> Edcaf {
        let draws = Stream::new(self.seed, Purpose::Backoff, (node * 4 + category.index()) as u64);
        let band = self.scenario.air.band;
        let parameters = self.parameters(node, category);
        let countdown = self.scenario.air.countdown;
        Edcaf::new(parameters, band.aifs(parameters.aifsn), band.slot(), draws).counting(countdown)
    }

    fn access_point(&self) -> Result<Node, ConfigError> {
        let scenario = self.scenario;
        let path = &scenario.access_point.path;
        let mut config = match scenario.scheme.queue.config::<QueueConfig>() {
            Ok(QueueConfig::LastPq(config)) => *config,
            _ => LastPqConfig::default(),
        };
        // What the driver and the standard decide (mac80211: `ieee80211_txq_setup_flows`).
        if !path.airtime_queue_limit {
            config.linux.airtime_queue_limit = None;
        }
        config.linux.charge_received = path.charge_received_airtime;
        if matches!(scenario.air.standard, Format::Legacy | Format::Ht) {
            config.linux.memory = ByteCount::new(4 << 20);
        }
        let queue = QueueConfig::LastPq(Box::new(config));
        let peers: Vec<(StationId, Capabilities)> = scenario
            .stations
            .iter()
            .zip(1..)
            .map(|(station, number)| {
                (StationId(number), scenario.capabilities(station, scenario.access_point.streams))
            })
            .collect();
        let default = scenario.access_point_capabilities();
        let link = scenario.link_config(path, scenario.air.standard);
        self.node(ACCESS_POINT, (&queue, &scenario.scheme.rate), path, link, (&default, &peers))
    }

    fn station(&self, index: usize) -> Result<Node, ConfigError> {
        let scenario = self.scenario;
        let station = &scenario.stations[index];
        let queue = scenario.uplink.queue.as_ref().unwrap_or(&scenario.scheme.queue);
        let rate = scenario.uplink.rate.as_ref().unwrap_or(&scenario.scheme.rate);
        let mut queue = queue.config().unwrap_or(QueueConfig::Fifo(FifoConfig::default()));
        let path = &scenario.uplink.path;
        if let QueueConfig::Fifo(fifo) = &mut queue
            && path.driver_queue == Some(0)
        {
            fifo.holds_in_flight |= path.queue_holds_in_flight;
        }
        let own = scenario.capabilities(station, scenario.access_point.streams);
        let link = scenario.link_config(path, station.standard);
        let peers = [(ACCESS_POINT, own.clone())];
        self.node(StationId(index as u16 + 1), (&queue, rate), path, link, (&own, &peers))
    }

    fn node(
        &self,
        node: StationId,
        (queue, rate): (&QueueConfig, &Slot),
        path: &Path,
        config: LinkConfig,
        (default, peers): (&Capabilities, &[(StationId, Capabilities)]),
    ) -> Result<Node, ConfigError> {
        let seed = seed_for(self.seed, Purpose::Queue, (1 << 32) | u64::from(node.0));
        let rate: RateConfig = rate.config().unwrap_or_default();
        let mut rate = rate.build(default, seed)?;
        for (peer, capabilities) in peers {
            rate.set_capabilities(*peer, capabilities)?;
        }
        let queue = queue.build(seed_for(self.seed, Purpose::Queue, u64::from(node.0)))?;
        Ok(over_path(over_driver(queue, rate, path, config)?, path))
    }

    fn neighbour(&self, network: &Neighbour) -> Result<Node, ConfigError> {
        let rate = RateConfig::Fixed(Default::default()).build(&Capabilities::only(network.rate), 0)?;
        let format = network.rate.format();
        let path = Path {
            max_ampdu_mpdus: network.ampdu_mpdus,
            aggregate_voice: true,
            ..Preset::Direct.path(format)
        };
        // The smallest queue that a saturated neighbour never empties.
        let limit = Limits { packets: 2 * usize::from(network.ampdu_mpdus).max(1), ..Limits::default() };
        let queue = AnyQueue::Fifo(Fifo::new(FifoConfig { limit, ..FifoConfig::default() })?);
        let config = self.scenario.link_config(&path, format);
        Ok(over_path(over_driver(queue, rate, &path, config)?, &path))
    }

    /// The flows' ways, and the sources of datagrams.
    fn traffic(&self, demands: &[Asked], times: Times) -> (Vec<Route>, Vec<Emitter>) {
        let scenario = self.scenario;
        let mut emitters = Vec::new();
        let mut routes = Vec::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            let station = StationId(scenario.station_index(&flow.station).unwrap_or(0) as u16 + 1);
            let (from, to) = match flow.direction {
                Direction::Down => (ACCESS_POINT, station),
                Direction::Up => (station, ACCESS_POINT),
            };
            let when = Schedule { seed: self.seed, flow: index as u64, start: times.begin, stop: times.end };
            let demand = demands.iter().position(|(wanted, ..)| *wanted == index);
            let mut route = Route {
                from,
                to,
                category: flow.category,
                answers: Category::Be,
                connection: None,
                before: 0,
                demand,
            };
            match self.sender(flow, &when) {
                Sender::Datagrams(source) => emitters.extend(source.map(|source| Emitter {
                    flow: Some(index),
                    node: from,
                    to,
                    category: flow.category,
                    source,
                })),
                Sender::Connection(options, application) => {
                    route.answers = options.ack_category;
                    route.connection = Connection::new(&self.tcp(options, index), application);
                }
            }
            routes.push(route);
        }
        self.neighbours(&mut emitters, times);
        (routes, emitters)
    }

    fn sender<'f>(&self, flow: &'f Flow, when: &Schedule) -> Sender<'f> {
        match &flow.traffic {
            Traffic::Cbr(datagrams) | Traffic::Paced(datagrams) => {
                Sender::Datagrams(when.constant(datagrams.rate, datagrams.size))
            }
            Traffic::Poisson(datagrams) => {
                Sender::Datagrams(Some(when.poisson(datagrams.rate, datagrams.size)))
            }
            Traffic::Voip => Sender::Datagrams(when.voip()),
            Traffic::Rtc(stream) => Sender::Datagrams(Some(when.bursts(&conference(stream)))),
            Traffic::Vr(stream) if stream.transport == Transport::Udp => {
                Sender::Datagrams(Some(when.bursts(&stream.frames())))
            }
            Traffic::Vr(stream) => {
                Sender::Connection(&stream.tcp, Application::Video(when.video(&stream.frames())))
            }
            Traffic::Tcp(bulk) => match bulk.limit {
                None => {
                    let application = Application::Bulk { next: Some(when.start), stop: when.stop };
                    Sender::Connection(&bulk.tcp, application)
                }
                Some(rate) => {
                    // Chunks of a millisecond, and at least one segment, as iperf3 has them.
                    let chunk = rate.bytes_in(Span::from_millis(1)).max(SEGMENT);
                    let interval = rate.time_for(chunk);
                    let application =
                        Application::Paced { next: when.start, stop: when.stop, interval, chunk };
                    Sender::Connection(&bulk.tcp, application)
                }
            },
            Traffic::TcpShort(transfers) => {
                let mut draws = when.arrivals();
                let application = Application::Transfers {
                    next: when.start + transfers.interval.mul_f64(draws.exponential()),
                    stop: when.stop,
                    size: transfers.size,
                    interval: transfers.interval,
                    draws,
                    open: None,
                };
                Sender::Connection(&transfers.tcp, application)
            }
        }
    }

    fn tcp(&self, options: &TcpOptions, index: usize) -> TcpConfig {
        let slot = options.congestion.as_ref().unwrap_or(&self.scenario.scheme.sender);
        TcpConfig {
            receive_window: options.receive_window,
            seed: seed_for(self.seed, Purpose::Queue, (2 << 32) | index as u64),
            // A server's socket is above a wire; a plan refuses the bound of a station's.
            small_queue: None,
            ..slot.tcp_config().unwrap_or_default()
        }
    }

    fn neighbours(&self, emitters: &mut Vec<Emitter>, times: Times) {
        let first = 1 + self.scenario.stations.len();
        let mut number = 0;
        for network in &self.scenario.neighbours {
            for _ in 0..network.transmitters {
                let node = StationId((first + number) as u16);
                let mut draws = Stream::new(self.seed, Purpose::Arrivals, (1 << 32) | number as u64);
                let rate = match network.load {
                    Load::Offered(rate) => rate,
                    Load::Saturated => network.rate.bit_rate(),
                };
                let mean = rate.time_for(network.size);
                let begin = times.begin + mean.mul_f64(draws.exponential());
                let rhythm = match network.load {
                    Load::Offered(_) => Rhythm::Poisson { mean, draws },
                    Load::Saturated => Source::constant(rate, network.size),
                };
                let mut source = Source::new(network.size + UDP_HEADERS, begin, times.end, rhythm);
                if let Some(spells) = network.spells {
                    let (on, off) = (spells.mean_on, spells.mean_off);
                    source = source.in_spells(airbound_traffic::spells(on, off, self.seed, number as u64));
                }
                emitters.push(Emitter { flow: None, node, to: node, category: network.category, source });
                number += 1;
            }
        }
    }
}

/// The sender of a flow.
enum Sender<'a> {
    Datagrams(Option<Source>),
    Connection(&'a TcpOptions, Application),
}

/// A video conference at its target rate, with error correction.
fn conference(stream: &RtcStream) -> FrameLaw {
    let overhead = if stream.fec == ErrorCorrection::None { 0.0 } else { stream.fec_overhead };
    let sigma = match stream.size_law {
        SizeLaw::Constant => 0.0,
        SizeLaw::Lognormal { sigma } => sigma,
    };
    FrameLaw {
        fps: stream.fps,
        rate: stream.rate.mul_f64(1.0 + overhead),
        sigma,
        burst_rate: stream.rate.mul_f64(PACING),
    }
}

/// Puts a driver's queue below the scheme's, where the path has one.
fn over_driver(
    queue: AnyQueue<Packet>,
    rate: AnyRate,
    path: &Path,
    config: LinkConfig,
) -> Result<NodeLink, ConfigError> {
    let depth = path.lower_depth(queue.counts_airtime());
    let lower = LowerQueue::in_order(path.driver_order, depth)?;
    Ok(Composed::new(queue, lower, rate, config))
}

fn over_path(link: NodeLink, path: &Path) -> Node {
    Node {
        link,
        ahead: (path.form == Form::Ahead).then(|| usize::from(path.hardware_aggregates)),
        total: path.hardware_total.map_or(usize::MAX, usize::from),
        hardware: Default::default(),
        tries: u32::from(path.hardware_tries),
        charges_received: path.charge_received_airtime,
        block_ack: Category::ALL.map(|category| path.has_agreement(category)),
    }
}

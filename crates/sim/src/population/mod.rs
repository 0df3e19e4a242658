//! Sources, connections and meters for the flows of a scenario.

mod allocation;
mod rtp;

use airbound_control::frame::StationId;
use airbound_senders::allocation::{AllocationConfig, FrameSensor, Stamps, UplinkShaper};
use airbound_senders::tcp::{TcpConfig, TcpReceiver};
use airbound_units::{ByteCount, Instant, Span};

use crate::blueprint::Blueprint;
use crate::endpoint::AnyEndpoint;
use crate::endpoint::allocation::{Downlink, Uplink};
use crate::endpoint::in_flight::InFlight;
use crate::endpoint::rtp::{IP_UDP, RTP};
use crate::endpoint::tcp::{Connection, Control, new_sender};
use crate::error::BuildError;
use crate::flow::EndpointId;
use crate::flow::flow_id;
use crate::flow::{Direction, Flow};
use crate::measure::{DemandMeter, FlowMeter};
use crate::packet::Header;
use crate::plugins::Reach;
use crate::site::Site;
use crate::topology::Tree;
use airbound_random::{Purpose, Stream, seed_for};
use airbound_scenario::{self as scenario, Load, RtcStream, Traffic, Transport, WireWay};
use airbound_traffic::{Application, Rhythm, Schedule, Source, UDP_HEADERS};
use airbound_wifi::edca::Category;
use rtp::{Opening, open};

/// Load of a contending network as a share of its PHY rate: it is saturated below.
const SATURATING: f64 = 1.0;

/// All senders of a network.
pub(crate) struct Population {
    pub(crate) tree: Tree,
    pub(crate) flows: Vec<Flow>,
    pub(crate) endpoints: Vec<AnyEndpoint>,
    /// Downlinks with an allocated rate.
    pub(crate) downlinks: Vec<Downlink>,
    /// Uplinks shaped by their stations at an allocated rate.
    pub(crate) uplinks: Vec<Uplink>,
    /// Sources of datagrams, with the node whose queue their packets enter.
    pub(crate) sources: Vec<(StationId, Header, Source)>,
    pub(crate) meters: Vec<FlowMeter>,
}

impl Population {
    pub(crate) fn of(blueprint: &Blueprint<'_>, tree: Tree, end: Instant) -> Result<Self, BuildError> {
        let mut population = Self {
            tree,
            flows: Vec::new(),
            endpoints: Vec::new(),
            downlinks: Vec::new(),
            uplinks: Vec::new(),
            sources: Vec::new(),
            meters: Vec::new(),
        };
        let scenario = blueprint.scenario;
        let thin = blueprint.airbound().map(|queue| queue.thin);
        // The flows of the scenario come first, so that they keep the scenario's numbers.
        for (index, flow) in scenario.flows.iter().enumerate() {
            let station =
                scenario.stations.iter().position(|station| station.name == flow.station).unwrap_or(0);
            let gate = blueprint.plugins.gate(&flow.name);
            population.flows.push(Flow {
                name: flow.name.clone(),
                kind: if gate.is_some() { "application" } else { kind_name(&flow.traffic) },
                id: flow_id(index),
                station: StationId(station as u16 + 1),
                direction: match flow.direction {
                    scenario::Direction::Down => Direction::Down,
                    scenario::Direction::Up => Direction::Up,
                },
                category: match thin {
                    Some(most) if flow.direction == scenario::Direction::Down && flow.is_thin(most) => {
                        Category::Vi
                    }
                    _ => flow.category,
                },
                endpoint: None,
                is_sensed: false,
                is_shaped: false,
                goes_back: false,
                is_local: gate == Some(Reach::AccessPoint),
                // A packet of the caller counts from its IP header on.
                headers: if gate.is_some() { 0 } else { UDP_HEADERS.as_u64() },
                way: flow.wire,
                origin: index as u32,
                is_neighbour: false,
            });
        }
        for (index, flow) in scenario.flows.iter().enumerate() {
            let start = Instant::ZERO + flow.start;
            let stop = flow.stop.map_or(end, |stop| (Instant::ZERO + stop).min(end));
            population.add(
                blueprint,
                index,
                flow,
                &Schedule { seed: blueprint.seed, flow: index as u64, start, stop },
            )?;
        }
        population.add_neighbours(blueprint, end);
        population.meters = population
            .flows
            .iter()
            .map(|flow| {
                let written = scenario.flows.get(flow.id.0 as usize);
                let demand = written.and_then(|flow| flow.demand.clone()).map(DemandMeter::new);
                let meter = match written.map(|flow| &flow.traffic) {
                    Some(Traffic::Vr(stream)) => FlowMeter::new(flow.clone(), true, Some(stream.deadline)),
                    Some(Traffic::Rtc(stream)) => {
                        FlowMeter::new(flow.clone(), false, None).of_video(stream.deadline)
                    }
                    _ => FlowMeter::new(flow.clone(), false, None),
                };
                meter.under_demand(demand)
            })
            .collect();
        Ok(population)
    }

    fn add(
        &mut self,
        blueprint: &Blueprint<'_>,
        index: usize,
        flow: &scenario::Flow,
        when: &Schedule,
    ) -> Result<(), BuildError> {
        if blueprint.plugins.replaces(&flow.name) {
            return Ok(());
        }
        match &flow.traffic {
            Traffic::Cbr(datagrams) => self.source(index, when.constant(datagrams.rate, datagrams.size)),
            Traffic::Paced(datagrams) => match blueprint.allocation()? {
                Some(config) if self.flows[index].direction == Direction::Up => {
                    self.shape(index, datagrams.size, config, when);
                }
                Some(config) => self.allocate(index, datagrams.size, config, when)?,
                None => self.source(index, when.constant(datagrams.rate, datagrams.size)),
            },
            Traffic::Voip => self.source(index, when.voip()),
            Traffic::Poisson(datagrams) => {
                self.source(index, Some(when.poisson(datagrams.rate, datagrams.size)));
            }
            Traffic::Replay(replayed) => {
                self.source(index, Some(when.replay(&replayed.recording, replayed.repeat)));
            }
            Traffic::Vr(stream) if stream.transport == Transport::Udp => {
                self.source(index, Some(when.bursts(&stream.frames())));
            }
            Traffic::Vr(stream) => {
                let video = when.video(&stream.frames());
                self.connect(blueprint, index, &stream.tcp, Application::Video(video))?;
            }
            Traffic::Rtc(stream) => self.open_session(blueprint, index, stream, when)?,
            Traffic::Tcp(bulk) => {
                let application = match bulk.limit {
                    None => Application::Bulk { next: Some(when.start), stop: when.stop },
                    Some(rate) => {
                        // Chunks of a millisecond, and at least one segment, like iperf3's pacing timer.
                        let chunk = rate.bytes_in(Span::from_millis(1)).max(ByteCount::new(1448));
                        Application::Paced {
                            next: when.start,
                            stop: when.stop,
                            interval: rate.time_for(chunk),
                            chunk,
                        }
                    }
                };
                self.connect(blueprint, index, &bulk.tcp, application)?;
            }
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
                self.connect(blueprint, index, &transfers.tcp, application)?;
            }
        }
        Ok(())
    }

    /// Adds a stream with an allocated rate, and the flow of its reports.
    fn allocate(
        &mut self,
        index: usize,
        payload: ByteCount,
        config: AllocationConfig,
        when: &Schedule,
    ) -> Result<(), BuildError> {
        let reports = flow_id(self.flows.len());
        let data = &mut self.flows[index];
        let back = Flow {
            name: format!("{} (reports)", data.name),
            id: reports,
            direction: Direction::Up,
            goes_back: true,
            ..data.clone()
        };
        let sensor = FrameSensor::new(config.sensor(Stamps::Exact))?;
        data.is_sensed = true;
        self.downlinks.push(Downlink::new((data, reports), (when.start, when.stop), sensor));
        self.flows.push(back);
        let rhythm = Source::constant(config.start_rate, payload);
        let size = payload + UDP_HEADERS;
        self.source(index, Some(Source::new(size, when.start, when.stop, rhythm)));
        Ok(())
    }

    /// Adds an uplink shaped by its station, and the flow of its grants.
    fn shape(&mut self, index: usize, payload: ByteCount, config: AllocationConfig, when: &Schedule) {
        let grants = flow_id(self.flows.len());
        let data = &mut self.flows[index];
        let back = Flow {
            name: format!("{} (grants)", data.name),
            id: grants,
            direction: Direction::Down,
            goes_back: true,
            ..data.clone()
        };
        data.is_shaped = true;
        let shaper = UplinkShaper::new(&AllocationConfig { packet: payload, ..config });
        self.uplinks.push(Uplink::new((data, grants), (when.start, when.stop), shaper));
        self.flows.push(back);
        let rhythm = Source::constant(config.start_rate, payload);
        let size = payload + UDP_HEADERS;
        self.source(index, Some(Source::new(size, when.start, when.stop, rhythm)));
    }

    fn source(&mut self, index: usize, source: Option<Source>) {
        let Some(source) = source else { return };
        let flow = &self.flows[index];
        let node = flow.begins_at();
        let to = self.tree.next_hop(node, flow);
        let header = Header { flow: flow.id, to, category: flow.category };
        self.sources.push((node, header, source));
    }

    fn connect(
        &mut self,
        blueprint: &Blueprint<'_>,
        index: usize,
        options: &scenario::TcpOptions,
        application: Application,
    ) -> Result<(), BuildError> {
        let mut config = tcp_config(blueprint, index, options)?;
        if self.flows[index].direction == Direction::Down {
            // A server's socket is above a wire, whose transmissions are not reported.
            config.small_queue = None;
        }
        let control = control_of(blueprint, index, options, config.seed)?;
        let endpoint = EndpointId::new(self.endpoints.len());
        let acknowledgements = flow_id(self.flows.len());
        let data = &mut self.flows[index];
        data.endpoint = Some(endpoint);
        data.headers = crate::endpoint::tcp::SEGMENT_HEADERS;
        let back = Flow {
            name: format!("{} (acks)", data.name),
            id: acknowledgements,
            direction: data.direction.opposite(),
            goes_back: true,
            category: options.ack_category,
            ..data.clone()
        };
        let wrong = |error: airbound_senders::tcp::TcpConfigError| BuildError::Slot {
            slot: "sender",
            reason: error.to_string(),
        };
        self.endpoints.push(AnyEndpoint::Tcp(Box::new(Connection {
            data: data.id,
            acknowledgements,
            sender: new_sender(&config, control.as_ref()).map_err(wrong)?,
            receiver: TcpReceiver::new(&config).map_err(wrong)?,
            base: 0,
            config,
            control,
            application,
            in_flight: InFlight::default(),
            below: InFlight::default(),
            written: 0,
            unwritten: ByteCount::ZERO,
            segments: 0,
            acks: 0,
            timers: [Instant::MAX; 2],
        })));
        self.flows.push(back);
        Ok(())
    }

    /// Adds a session of real-time video, and the flow of its feedback.
    fn open_session(
        &mut self,
        blueprint: &Blueprint<'_>,
        index: usize,
        stream: &RtcStream,
        when: &Schedule,
    ) -> Result<(), BuildError> {
        let endpoint = EndpointId::new(self.endpoints.len());
        let feedback = flow_id(self.flows.len());
        let media = &mut self.flows[index];
        media.endpoint = Some(endpoint);
        media.headers = IP_UDP + RTP;
        let back = Flow {
            name: format!("{} (feedback)", media.name),
            id: feedback,
            direction: media.direction.opposite(),
            goes_back: true,
            category: stream.feedback_category,
            ..media.clone()
        };
        let opening = Opening {
            media: media.id,
            feedback,
            first: when.start + Span::from_secs_f64(1.0 / stream.fps).mul_f64(when.phase()),
            stop: when.stop,
            index,
        };
        self.endpoints.push(AnyEndpoint::Rtp(Box::new(open(blueprint, stream, opening)?)));
        self.flows.push(back);
        Ok(())
    }

    /// Adds contending networks: each transmitter sends to a receiver that is not modelled.
    fn add_neighbours(&mut self, blueprint: &Blueprint<'_>, end: Instant) {
        let mut node = 1 + blueprint.scenario.stations.len();
        for network in &blueprint.scenario.neighbours {
            for _ in 0..network.transmitters {
                let index = self.flows.len();
                let own = StationId(node as u16);
                self.flows.push(Flow {
                    name: network.name.clone(),
                    kind: "neighbour",
                    id: flow_id(index),
                    station: own,
                    direction: Direction::Down,
                    category: network.category,
                    endpoint: None,
                    is_sensed: false,
                    is_shaped: false,
                    goes_back: false,
                    is_local: false,
                    headers: UDP_HEADERS.as_u64(),
                    way: WireWay { delay: Span::ZERO, loss: 0.0, jitter: Span::ZERO },
                    origin: index as u32,
                    is_neighbour: true,
                });
                let rate = match network.load {
                    Load::Offered(rate) => rate,
                    Load::Saturated => network.rate.bit_rate().mul_f64(SATURATING),
                };
                let header = Header { flow: flow_id(index), to: own, category: network.category };
                let mut draws = Stream::new(blueprint.seed, Purpose::Arrivals, index as u64);
                let size = network.size + UDP_HEADERS;
                let mean = rate.time_for(network.size);
                let first = Instant::ZERO + mean.mul_f64(draws.exponential());
                let rhythm = match network.load {
                    Load::Offered(_) => Rhythm::Poisson { mean, draws },
                    Load::Saturated => Source::constant(rate, network.size),
                };
                let mut source = Source::new(size, first, end, rhythm);
                if let Some(spells) = network.spells {
                    let number = (node - 1 - blueprint.scenario.stations.len()) as u64;
                    let (on, off) = (spells.mean_on, spells.mean_off);
                    source = source.in_spells(airbound_traffic::spells(on, off, blueprint.seed, number));
                }
                self.sources.push((own, header, source));
                node += 1;
            }
        }
    }
}

/// The name of a kind of traffic in summaries and scenario files.
fn kind_name(traffic: &Traffic) -> &'static str {
    match traffic {
        Traffic::Cbr(_) => "cbr",
        Traffic::Poisson(_) => "poisson",
        Traffic::Paced(_) => "paced",
        Traffic::Voip => "voip",
        Traffic::Tcp(_) => "tcp",
        Traffic::TcpShort(_) => "tcp-short",
        Traffic::Vr(_) => "vr",
        Traffic::Rtc(_) => "rtc",
        Traffic::Replay(_) => "replay",
    }
}

fn tcp_config(
    blueprint: &Blueprint<'_>,
    index: usize,
    options: &scenario::TcpOptions,
) -> Result<TcpConfig, BuildError> {
    let slot = options.congestion.as_ref().unwrap_or(&blueprint.scheme.sender);
    let mut config = slot.tcp_config().map_err(|reason| BuildError::Slot { slot: "sender", reason })?;
    config.receive_window = options.receive_window;
    config.seed = seed_for(blueprint.seed, Purpose::Queue, (2 << 32) | index as u64);
    Ok(config)
}

/// Returns the custom congestion control of a flow's connections, if there is one.
fn control_of(
    blueprint: &Blueprint<'_>,
    index: usize,
    options: &scenario::TcpOptions,
    seed: u64,
) -> Result<Option<Control>, BuildError> {
    let slot = options.congestion.as_ref().unwrap_or(&blueprint.scheme.sender);
    let Some(make) = blueprint.plugins.sender(slot)? else { return Ok(None) };
    let name = blueprint.scenario.flows.get(index).map_or_else(String::new, |flow| flow.name.clone());
    Ok(Some(Control { make: make.clone(), site: Site { name, number: index as u32, seed } }))
}

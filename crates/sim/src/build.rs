//! Builds a simulation from a scenario.

use std::sync::Arc;

use airbound_control::frame::{FlowId, StationId};
use airbound_control::link::{BesideClassic, Composed, Law, LawConfig, LinkConfig, LowerQueue};
use airbound_control::queue::{
    AnyQueue, CustomQueue, Fact, Fifo, FifoConfig, FqCodelAirtimeConfig, Limits, Queue, QueueConfig,
    WqmConfig,
};
use airbound_control::rate::{AnyRate, Capabilities, CustomRate, RateConfig};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::control_frames;
use airbound_wifi::edca::{Category, EdcaParameters};
use airbound_wifi::mpdu::{DATA_HEADER, FCS};
use airbound_wifi::rate::{Format, Legacy};
use airbound_wifi::timing::ppdu_duration;

use crate::blueprint::{Blueprint, slot_config};
use crate::endpoint::{Allocation, AnyEndpoint, External};
use crate::error::BuildError;
use crate::flow::{ACCESS_POINT, EndpointId, Flow, flow_id};
use crate::ingress::Ingress;
use crate::link::{AnyLink, ComposedLink};
use crate::measure::{FlowMeter, Meters};
use crate::network::{
    Beacons, CollisionDomain, DemandChange, Doors, Dozers, Forming, Medium, Parts, Pipe, Transmitter,
};
use crate::path::{Bottleneck, Shaper, ShaperQueue, Wire, WireWay};
use crate::population::Population;
use crate::site::Site;
use crate::topology::Tree;
use airbound_air::channel::Channel;
use airbound_air::edca::Edcaf;
use airbound_air::hearing::Hearing;
use airbound_air::partial::PartialChannel;
use airbound_air::propagation::Links;
use airbound_air::trace::Capacity;
use airbound_random::{Purpose, Stream, seed_for};
use airbound_scenario::{self as scenario, Edca, Form, MissedBlockAck, Path, Scheme};

impl Blueprint<'_> {
    /// Builds all parts of the simulation.
    fn parts(&self) -> Result<Parts, BuildError> {
        let scenario = self.scenario;
        let measured_from = Instant::ZERO + scenario.warm_up;
        let end = measured_from + scenario.duration;
        let stations = scenario.stations.len();
        let neighbours: usize = scenario.neighbours.iter().map(|network| network.transmitters as usize).sum();
        let nodes = 1 + stations + neighbours;

        let tree = Tree::of(scenario, nodes);
        let Population { tree, mut flows, mut endpoints, downlinks, uplinks, sources, mut meters } =
            Population::of(self, tree, end)?;
        let mut built = vec![self.access_point(&flows)?];
        for station in 1..=stations {
            built.push(self.station(StationId(station as u16), &tree)?);
        }
        for network in &scenario.neighbours {
            for _ in 0..network.transmitters {
                built.push(self.neighbour(network)?);
            }
        }
        built[ACCESS_POINT.index()].absence = scenario.access_point.away;
        for (transmitter, station) in built.iter_mut().skip(1).zip(&scenario.stations) {
            transmitter.absence = station.away;
        }
        for (node, header, source) in sources {
            built[node.index()].ingress.add(header, source);
        }

        let demands = self.demands(&mut built)?;
        let mut shaping = None;
        if let Some(allocator) = self.allocator(&flows, &downlinks, &uplinks)? {
            let id = EndpointId::new(endpoints.len());
            for downlink in &downlinks {
                flows[downlink.flow.0 as usize].endpoint = Some(id);
                flows[downlink.reports.0 as usize].endpoint = Some(id);
            }
            for uplink in &uplinks {
                shaping = Some(id);
                built[uplink.station.index()].shapes = true;
                flows[uplink.grants.0 as usize].endpoint = Some(id);
            }
            let allocation = Allocation::new(allocator, downlinks, uplinks, flows.len(), end);
            endpoints.push(AnyEndpoint::Allocation(Box::new(allocation)));
        }

        self.attach_endpoints(&mut flows, &mut endpoints)?;
        let doors = self.open(&mut flows, &mut endpoints, &mut meters);

        let path = &scenario.access_point.path;
        let links = scenario.stations.iter().zip(0..);
        let links = links.map(|(station, link)| station.propagation(&scenario.air, path, self.seed, link));
        let links = Links::new(links, &scenario.interferences, self.channel.seed);
        let contention = (0..nodes).map(|node| {
            let reception = Stream::new(self.seed, Purpose::Reception, node as u64);
            (Category::ALL.map(|category| self.edcaf(node, category)), reception)
        });
        let beacons = scenario.air.beacons.filter(|_| scenario.pipe().is_none()).map(|interval| Beacons {
            interval,
            offset: interval * self.channel.place / self.channel.networks,
            duration: ppdu_duration(scenario.air.band.legacy(Legacy::Mbps6), scenario.air.beacon_size),
            due: false,
        });
        // A null frame has the header of a data frame and nothing else.
        let null = DATA_HEADER + FCS;
        let (band, rate) = (scenario.air.band, Legacy::Mbps24);
        let null = ppdu_duration(band.legacy(rate), null) + band.sifs() + control_frames::ack(rate, band);
        let saving = scenario.stations.iter().map(|station| station.power_save);
        let dozers = Dozers::new(std::iter::once(None).chain(saving).collect(), null);
        Ok(Parts {
            dozers,
            transmitters: built,
            contention: contention.collect(),
            links,
            tree,
            beacons,
            wire_up: self.wire(&flows, 1),
            meters: Meters::new(measured_from, end, meters, nodes),
            flows,
            endpoints,
            doors,
            shaping,
            demands,
            window: scenario.window,
            requests: self
                .whole
                .radio
                .as_ref()
                .is_some_and(|radio| radio.missed_block_ack == MissedBlockAck::Request),
        })
    }

    /// The collision domain of the network's channel, without networks, and the parts of this one.
    pub(crate) fn domain(&self) -> Result<(CollisionDomain, Parts), BuildError> {
        let parts = self.parts()?;
        let end = Instant::ZERO + self.scenario.warm_up + self.scenario.duration;
        Ok((CollisionDomain::new(self.medium(parts.transmitters.len()), end), parts))
    }

    /// The medium of the network's channel, of at least `nodes` transmitters.
    fn medium(&self, nodes: usize) -> Medium {
        match self.scenario.pipe() {
            Some(link) => Medium::Pipe(Pipe::new(Capacity::new(Arc::clone(&link.trace)))),
            None if self.whole.has_frames(self.channel.number) => {
                Medium::Partial(Box::new(self.channel_of_frames(nodes)))
            }
            None => Medium::Channel(Channel::new(self.scenario.air.phy_config(), self.scenario.air.eifs)),
        }
    }

    /// The channel, on which each frame is on the air by itself, of at least `nodes` transmitters.
    fn channel_of_frames(&self, nodes: usize) -> PartialChannel {
        let scenario = self.whole;
        let number = self.channel.number;
        let hearing = scenario.hearing(number).unwrap_or_else(|| Hearing::complete(nodes));
        let mut channel = PartialChannel::new(scenario.air.phy_config(), scenario.air.eifs, hearing);
        if let Some(radio) = &scenario.radio {
            channel = channel.with_losses(radio.losses()).attentive();
        }
        match scenario.capture(number) {
            Some(capture) => channel.with_capture(capture),
            None => channel,
        }
    }

    /// Attaches the endpoints of plugins to their flows, if the flows are in this network.
    fn attach_endpoints(
        &self,
        flows: &mut [Flow],
        endpoints: &mut Vec<AnyEndpoint>,
    ) -> Result<(), BuildError> {
        for (attachment, number) in self.plugins.endpoints().iter().zip(0..) {
            let place = |name: &String| self.scenario.flows.iter().position(|flow| flow.name == *name);
            let places: Vec<usize> = attachment.flows.iter().filter_map(place).collect();
            if places.is_empty() {
                continue;
            }
            if let Some(flow) = attachment.flows.iter().find(|name| place(name).is_none()) {
                return Err(BuildError::FlowsApart { flow: flow.clone() });
            }
            let id = EndpointId::new(endpoints.len());
            for place in &places {
                flows[*place].endpoint = Some(id);
            }
            let own: Vec<FlowId> = places.into_iter().map(flow_id).collect();
            let seed = seed_for(self.seed, Purpose::Queue, (3 << 32) | number);
            endpoints.push(AnyEndpoint::Custom((attachment.make)(&own, seed)));
        }
        Ok(())
    }

    /// Lets the flows of the caller, and of whoever measures what they carry, take packets from outside: an endpoint for each.
    fn open(&self, flows: &mut [Flow], endpoints: &mut Vec<AnyEndpoint>, meters: &mut [FlowMeter]) -> Doors {
        let mut doors = Doors::default();
        for ((written, flow), meter) in self.scenario.flows.iter().zip(flows).zip(meters) {
            let door = if self.plugins.gate(&written.name).is_some() {
                meter.sleep();
                &mut doors.gate
            } else if self.plugins.carries(&written.name) {
                meter.leave_latency_out();
                &mut doors.carried
            } else {
                continue;
            };
            flow.endpoint = Some(*door.get_or_insert_with(|| {
                endpoints.push(AnyEndpoint::External(External::default()));
                EndpointId::new(endpoints.len() - 1)
            }));
        }
        doors
    }

    /// Sets the initial demands; returns the later ones, already checked.
    fn demands(&self, nodes: &mut [Transmitter]) -> Result<Vec<DemandChange>, BuildError> {
        let mut changes = Vec::new();
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            let station = self.scenario.station_index(&flow.station).unwrap_or(0);
            let node = match flow.direction {
                scenario::Direction::Down => ACCESS_POINT,
                scenario::Direction::Up => StationId(station as u16 + 1),
            };
            let refused = |reason| BuildError::Demand { flow: flow.name.clone(), reason };
            for (time, demand) in flow.demand.iter().flat_map(|schedule| schedule.steps()) {
                let at = Instant::ZERO + *time;
                let change = DemandChange { at, node, flow: flow_id(index), demand: *demand };
                // Each demand is tried once before the run begins; later ones are removed again.
                let link = &mut nodes[node.index()].link;
                link.set_demand(Instant::ZERO, change.flow, change.demand).map_err(refused)?;
                if !time.is_zero() {
                    changes.push(change);
                }
            }
            if let Some(schedule) = &flow.demand {
                let link = &mut nodes[node.index()].link;
                let at_once = schedule.at(Span::ZERO);
                link.set_demand(Instant::ZERO, flow_id(index), None).map_err(refused)?;
                link.set_demand(Instant::ZERO, flow_id(index), at_once).map_err(refused)?;
            }
        }
        Ok(changes)
    }

    /// One direction of the wire: 0 towards the access point, 1 towards the server.
    fn wire(&self, flows: &[Flow], direction: u64) -> Wire {
        let wire = &self.scenario.wire;
        let ways = flows
            .iter()
            .map(|flow| {
                let way = flow.way;
                let draws = Stream::new(self.seed, Purpose::Wire, flow.entity() * 2 + direction);
                if flow.is_local {
                    return WireWay::bypass(draws);
                }
                WireWay::new(way.delay, way.jitter, way.loss, draws)
            })
            .collect();
        Wire::new(Bottleneck::new(wire.rate, wire.queue as usize), ways)
    }

    fn edcaf(&self, node: usize, category: Category) -> Edcaf {
        let draws = Stream::new(self.seed, Purpose::Backoff, (node * 4 + category.index()) as u64);
        let air = &self.scenario.air;
        let parameters = match air.edca {
            Edca::Linux if node == 0 => EdcaParameters::linux_access_point(category),
            Edca::Linux | Edca::Equal => EdcaParameters::linux_station(category),
            Edca::Dcf => EdcaParameters::dcf(),
        };
        Edcaf::new(parameters, air.band.aifs(parameters.aifsn), air.band.slot(), draws)
            .counting(air.countdown)
    }

    fn access_point(&self, flows: &[Flow]) -> Result<Transmitter, BuildError> {
        let scenario = self.scenario;
        let streams = scenario.access_point.streams;
        let default = scenario.access_point_capabilities();
        let peers: Vec<_> = scenario
            .stations
            .iter()
            .zip(1..)
            .map(|(station, number)| (StationId(number), scenario.capabilities(station, streams)))
            .collect();
        let path = &scenario.access_point.path;
        let deciders = (&self.scheme.queue, &self.scheme.rate);
        let link = self.link(ACCESS_POINT, deciders, path, scenario.air.standard, (&default, &peers))?;
        let ingress = Ingress::new(self.wire(flows, 0));
        let ingress = match &scenario.access_point.shaper {
            Some(shaper) => ingress.shaped(self.shaper(shaper)?),
            None => ingress,
        };
        Ok(self.node(link, path, ingress))
    }

    fn shaper(&self, shaper: &scenario::Shaper) -> Result<Shaper, BuildError> {
        let config: QueueConfig = slot_config(&shaper.queue, "access-point.shaper.queue")?;
        let queue = ShaperQueue::new(&config, seed_for(self.seed, Purpose::Queue, 4 << 32))?;
        Ok(Shaper::new(shaper.rate, shaper.burst, queue))
    }

    /// Builds a station, which sends as configured in `[uplink]`; a relay sends as the access point does, which it replaces.
    fn station(&self, node: StationId, tree: &Tree) -> Result<Transmitter, BuildError> {
        let scenario = self.scenario;
        let uplink = &scenario.uplink;
        let (queue, rate, path) = if tree.is_relay(node) {
            (None, None, &scenario.access_point.path)
        } else {
            (uplink.queue.as_ref(), uplink.rate.as_ref(), &uplink.path)
        };
        let station_of = |link: StationId| &scenario.stations[link.index() - 1];
        let capabilities_of = |link| scenario.capabilities(station_of(link), scenario.access_point.streams);
        let own = capabilities_of(node);
        let mut peers = vec![(tree.parent(node), own.clone())];
        peers.extend(tree.children(node).map(|child| (child, capabilities_of(child))));
        let queue = queue.unwrap_or(&self.scheme.queue);
        let rate = match rate {
            Some(rate) => rate,
            None => &self.scheme.rate_beside(queue),
        };
        let link = self.link(node, (queue, rate), path, station_of(node).standard, (&own, &peers))?;
        Ok(self.node(link, path, Ingress::new(Wire::none())))
    }

    /// Builds the link of a queue and a rate control; Law is a link itself. `peers` are those known from the beginning.
    fn link(
        &self,
        node: StationId,
        (queue, rate): (&scenario::Slot, &scenario::Slot),
        path: &Path,
        standard: Format,
        (default, peers): (&Capabilities, &[(StationId, Capabilities)]),
    ) -> Result<AnyLink, BuildError> {
        scenario::check_law(queue, rate).map_err(|reason| BuildError::Slot { slot: "rate", reason })?;
        let path_config = self.scenario.link_config(path, standard);
        if queue.is_law() {
            let wrong = |reason| BuildError::Slot { slot: "queue", reason };
            let config = queue.law_config().map_err(wrong)?;
            let order = self.inner_queue(&config, queue, path, node)?;
            let mut law = Law::new(config, path_config.clone(), order, default)
                .map_err(|error| BuildError::Slot { slot: "queue", reason: error.to_string() })?;
            for (station, capabilities) in peers {
                law.set_capabilities(*station, capabilities)?;
            }
            if law.config().classic.is_nothing() {
                return Ok(AnyLink::Law(Box::new(law)));
            }
            // The parts of a Linux access point; the scheme's own rate control is Law.
            let stock = Scheme::default();
            let beside = law.config().path_beside(path_config);
            let stock = self.composed(node, (&stock.queue, &stock.rate), path, beside, (default, peers))?;
            return Ok(AnyLink::BesideClassic(Box::new(BesideClassic::new(law, stock)?)));
        }
        let link = self.composed(node, (queue, rate), path, path_config, (default, peers))?;
        Ok(AnyLink::Composed(Box::new(link)))
    }

    /// Builds a composed link of a queue and a rate control.
    fn composed(
        &self,
        node: StationId,
        (queue, rate): (&scenario::Slot, &scenario::Slot),
        path: &Path,
        path_config: LinkConfig,
        (default, peers): (&Capabilities, &[(StationId, Capabilities)]),
    ) -> Result<ComposedLink, BuildError> {
        let seed = seed_for(self.seed, Purpose::Queue, (1 << 32) | u64::from(node.0));
        let (config, mut rate) = match self.plugins.rate(rate)? {
            Some(make) => {
                let rate = CustomRate::new(make(self.site(node, seed)), default)?;
                (None, AnyRate::Custom(Box::new(rate)))
            }
            None => {
                let config: RateConfig = slot_config(rate, "rate")?;
                let rate = config.build_with(default, seed, &mut self.tables.borrow_mut())?;
                (Some(config), rate)
            }
        };
        for (station, capabilities) in peers {
            rate.set_capabilities(*station, capabilities)?;
        }
        let (queue, path_config) = self.queue(queue, path, path_config, config.as_ref(), node)?;
        over_path(queue, rate, path, path_config)
    }

    /// Returns the site of `node`, for a custom part made for this transmitter.
    fn site(&self, node: StationId, seed: u64) -> Site {
        let station = node.index().checked_sub(1).and_then(|number| self.scenario.stations.get(number));
        let name = station.map_or_else(|| "access-point".to_owned(), |station| station.name.clone());
        Site { name, number: u32::from(node.0), seed }
    }

    fn neighbour(&self, network: &scenario::Neighbour) -> Result<Transmitter, BuildError> {
        let capabilities = Capabilities::only(network.rate);
        let rate = RateConfig::Fixed(Default::default()).build(&capabilities, 0)?;
        let path = Path {
            max_ampdu_mpdus: network.ampdu_mpdus,
            // The scenario gives the number for the category of the neighbour.
            aggregate_voice: true,
            ..scenario::Preset::Direct.path(network.rate.format())
        };
        // The smallest queue that a saturated neighbour never empties.
        let limit = Limits { packets: 2 * usize::from(network.ampdu_mpdus).max(1), ..Limits::default() };
        let queue = AnyQueue::Fifo(Fifo::new(FifoConfig { limit, ..FifoConfig::default() })?);
        let config = self.scenario.link_config(&path, network.rate.format());
        let link = AnyLink::Composed(Box::new(over_path(queue, rate, &path, config)?));
        Ok(self.node(link, &path, Ingress::new(Wire::none())))
    }

    fn queue(
        &self,
        slot: &scenario::Slot,
        path: &Path,
        link: LinkConfig,
        rate: Option<&RateConfig>,
        node: StationId,
    ) -> Result<(AnyQueue<crate::packet::Packet>, LinkConfig), BuildError> {
        if let Some(make) = self.plugins.queue(slot)? {
            let seed = seed_for(self.seed, Purpose::Queue, u64::from(node.0));
            return Ok((AnyQueue::Custom(Box::new(CustomQueue::new(make(self.site(node, seed))))), link));
        }
        let mut config: QueueConfig = slot_config(slot, "queue")?;
        match &mut config {
            QueueConfig::FqCodelAirtime(airtime) => self.fit_airtime(airtime, Some(slot.parameters()), path),
            QueueConfig::LastPq(last_pq) => {
                let given = slot.parameters().get("linux").and_then(toml::Value::as_table);
                self.fit_airtime(&mut last_pq.linux, given, path);
            }
            QueueConfig::Airbound(airbound) => {
                let table = |table: Option<&toml::Table>, key: &str| {
                    table.and_then(|table| table.get(key)).and_then(toml::Value::as_table).cloned()
                };
                let given = table(Some(slot.parameters()), "last-pq");
                let linux = table(given.as_ref(), "linux");
                self.fit_airtime(&mut airbound.last_pq.linux, linux.as_ref(), path);
                if let Some(size) = &mut airbound.size {
                    let given = table(Some(slot.parameters()), "size").unwrap_or_default();
                    self.fit_wqm(size, &given, path, rate);
                }
            }
            QueueConfig::Zhuge(zhuge) => {
                let given = slot.parameters().get("linux").and_then(toml::Value::as_table);
                self.fit_airtime(&mut zhuge.linux, given, path);
            }
            QueueConfig::Wqm(wqm) => self.fit_wqm(wqm, slot.parameters(), path, rate),
            _ => {}
        }
        if let QueueConfig::Fifo(fifo) = &mut config
            && path.driver_queue == Some(0)
        {
            fifo.holds_in_flight |= path.queue_holds_in_flight;
        }
        let mut queue = config.build(seed_for(self.seed, Purpose::Queue, u64::from(node.0)))?;
        if let QueueConfig::Airbound(airbound) = &config {
            let weight = airbound.session_weight;
            for (station, number) in self.scenario.stations.iter().zip(1..) {
                if self.plugins.is_seated(&station.name) {
                    queue.on(Instant::ZERO, Fact::Weight { station: StationId(number), weight });
                }
            }
        }
        Ok((queue, link.returning_after(config.returns_after())))
    }

    /// Sets mac80211's parameters according to the driver below it and the standard, unless the scenario gives them.
    fn fit_airtime(&self, config: &mut FqCodelAirtimeConfig, given: Option<&toml::Table>, path: &Path) {
        let given = |key: &str| given.is_some_and(|given| given.contains_key(key));
        if !given("airtime-queue-limit") && !path.airtime_queue_limit {
            config.airtime_queue_limit = None;
        }
        if !given("charge-received") {
            config.charge_received = path.charge_received_airtime;
        }
        if !given("slow") && self.scenario.access_point.preset.has_one_codel() {
            config.slow = None;
        }
        // Without VHT mac80211 allows 4 MiB (`ieee80211_txq_setup_flows`).
        if !given("memory") && matches!(self.scenario.air.standard, Format::Legacy | Format::Ht) {
            config.memory = ByteCount::new(4 << 20);
        }
    }

    /// WQM uses the aggregates of its transmit path and the update interval of its rate control.
    fn fit_wqm(&self, config: &mut WqmConfig, given: &toml::Table, path: &Path, rate: Option<&RateConfig>) {
        let given = |key: &str| given.contains_key(key);
        if !given("subframes") {
            let is_pipe = self.scenario.pipe().is_some();
            config.subframes = if is_pipe { 1 } else { path.max_ampdu_mpdus };
        }
        if !given("interval")
            && let Some(RateConfig::MinstrelHt(minstrel)) = rate
        {
            config.interval = minstrel.update_interval;
        }
    }

    /// Builds Law's inner queue; Law limits the packets below it.
    fn inner_queue(
        &self,
        config: &LawConfig,
        slot: &scenario::Slot,
        path: &Path,
        node: StationId,
    ) -> Result<AnyQueue<crate::packet::Packet>, BuildError> {
        let path = Path { airtime_queue_limit: false, ..path.clone() };
        let given = slot.parameters().get("inside").and_then(toml::Value::as_table);
        let mut inner = config.inner_queue.0.clone();
        match &mut inner {
            QueueConfig::FqCodelAirtime(airtime) => self.fit_airtime(airtime, given, &path),
            QueueConfig::LastPq(last_pq) => {
                let given = given.and_then(|given| given.get("linux")).and_then(toml::Value::as_table);
                self.fit_airtime(&mut last_pq.linux, given, &path);
            }
            QueueConfig::Airbound(airbound) => {
                let linux = given.and_then(|given| given.get("last-pq")).and_then(|given| given.get("linux"));
                self.fit_airtime(&mut airbound.last_pq.linux, linux.and_then(toml::Value::as_table), &path);
            }
            _ => {}
        }
        Ok(inner.build(seed_for(self.seed, Purpose::Queue, u64::from(node.0)))?)
    }

    fn node(&self, link: AnyLink, path: &Path, ingress: Ingress) -> Transmitter {
        let is_pipe = self.scenario.pipe().is_some();
        let forming = match (&link, path.form) {
            _ if is_pipe => Forming::AtAccess,
            // Law has its own model of the hardware: it determines the PSDUs waiting there and their tries.
            (AnyLink::Law(_) | AnyLink::BesideClassic(_), _) => Forming::Ahead(usize::MAX),
            (AnyLink::Composed(_), Form::AtAccess) => Forming::AtAccess,
            (AnyLink::Composed(_), Form::Ahead) => Forming::Ahead(usize::from(path.hardware_aggregates)),
        };
        let hardware_tries = match &link {
            AnyLink::Law(_) | AnyLink::BesideClassic(_) => u32::MAX,
            AnyLink::Composed(_) => u32::from(path.hardware_tries),
        };
        Transmitter {
            link,
            ingress,
            forming,
            hardware: Default::default(),
            hardware_tries,
            hardware_total: path.hardware_total.map_or(usize::MAX, usize::from),
            handover: path.handover,
            handing: [0; 4],
            shapes: false,
            block_ack: Category::ALL.map(|category| path.has_agreement(category)),
            charges_received: path.charge_received_airtime,
            own: Span::ZERO,
            channel_load: Default::default(),
            absence: None,
            is_away: false,
            wake: Instant::MAX,
        }
    }
}

/// A queue and a rate control over the layers of a path.
fn over_path(
    queue: AnyQueue<crate::packet::Packet>,
    rate: AnyRate,
    path: &Path,
    config: LinkConfig,
) -> Result<ComposedLink, BuildError> {
    let depth = path.lower_depth(queue.counts_airtime());
    let lower = LowerQueue::in_order(path.driver_order, depth)?;
    Ok(Composed::new(queue, lower, rate, config))
}

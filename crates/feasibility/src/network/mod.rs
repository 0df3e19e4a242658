//! The network of a scenario, reduced to what decides whether demands are met.
//!
//! Contention is that of `airbound_air`, slot by slot, with a function for each category of each transmitter. The access point has
//! LAST-PQ and the rate control of the scenario, the deciders of `airbound_control`, and a hardware queue for each category. Transfers
//! and streams over TCP have the windows of `airbound_senders`, in both directions, since the acknowledgements of one wait behind the data
//! of another. A neighbour is reduced to its transmitter. Relays, recording and all that no demand depends on are left out.

mod agenda;
mod build;
mod connection;
mod exchange;
mod node;
mod packet;
mod wire;

use airbound_air::channel::{AccessId, Channel, TxId};
use airbound_air::propagation::{LinkId, Links};
use airbound_air::reorder::Reorder;
use airbound_control::frame::{Dropped, StationId};
use airbound_control::link::{Link as _, Returned, Room};
use airbound_traffic::Source;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::Category;

use agenda::{Agenda, Event};
use connection::Connection;
use node::{InHardware, Node};
use packet::{Content, Packet};
use wire::Wire;

pub(crate) use build::Asked;

/// The access point among the nodes.
const ACCESS_POINT: StationId = StationId(0);
/// Headers of a TCP segment, and of an acknowledgement.
const SEGMENT_HEADERS: ByteCount = airbound_senders::tcp::SEGMENT_HEADERS;

/// Latencies, goodput and airtime of a flow with a demand in one draw of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Measured {
    /// From the sender to the acknowledgement, of each packet that arrived, seconds.
    pub(crate) latencies: Vec<f64>,
    /// Payload that arrived, in bytes.
    pub(crate) delivered: f64,
    /// Time of its exchanges, with AIFS and the mean backoff of an idle channel, seconds.
    pub(crate) airtime: f64,
    /// PHY rates of its exchanges.
    pub(crate) rates: Vec<BitRate>,
}

/// The time of one draw.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Begin of all flows.
    pub(crate) begin: Instant,
    /// Begin of the measurement.
    pub(crate) from: Instant,
    /// End of both.
    pub(crate) end: Instant,
}

/// A flow of the scenario, as the model sees it.
#[derive(Debug)]
struct Route {
    /// The node at which the flow's data enter the air, and the one that receives them.
    from: StationId,
    to: StationId,
    category: Category,
    /// Category of its acknowledgements.
    answers: Category,
    connection: Option<Connection>,
    /// Bytes delivered when the measurement began.
    before: u64,
    /// Place of its demand.
    demand: Option<usize>,
}

/// Datagrams of a flow, or of a neighbour's transmitter.
#[derive(Debug)]
struct Emitter {
    flow: Option<usize>,
    node: StationId,
    to: StationId,
    category: Category,
    source: Source,
}

#[derive(Debug, Clone, Copy)]
struct Beacons {
    interval: Span,
    duration: Span,
    due: bool,
}

/// A reduced network in the middle of its traffic.
pub(crate) struct Network {
    now: Instant,
    times: Times,
    channel: Channel,
    links: Links,
    nodes: Vec<Node>,
    stations: usize,
    routes: Vec<Route>,
    emitters: Vec<Emitter>,
    /// Towards the access point and towards the servers.
    wires: [Wire; 2],
    beacons: Option<Beacons>,
    agenda: Agenda,
    /// Reordering buffers by node of a station, direction and category.
    recipients: Vec<Reorder<Packet>>,
    measured: Vec<Measured>,
    /// AIFS and mean backoff of an idle channel for each category of the access point, seconds.
    pauses: [f64; 4],
    // Reused buffers.
    dropped: Vec<Dropped<Packet>>,
    returned: Returned<Packet>,
    winners: Vec<AccessId>,
}

impl Network {
    /// Runs to the end, and returns what each demand got.
    pub(crate) fn run(mut self) -> Vec<Measured> {
        self.begin();
        loop {
            let (event, access) = (self.agenda.next(), self.next_access());
            if event.min(access) > self.times.end {
                break;
            }
            if event <= access {
                let Some((at, event)) = self.agenda.pop() else { break };
                self.now = at.max(self.now);
                self.handle(event);
            } else {
                self.now = access;
                self.transmit();
            }
        }
        for route in &self.routes {
            if let (Some(place), Some(connection)) = (route.demand, &route.connection) {
                self.measured[place].delivered = (connection.delivered() - route.before) as f64;
            }
        }
        self.measured
    }

    fn begin(&mut self) {
        self.now = self.times.begin;
        self.report_links();
        for emitter in 0..self.emitters.len() {
            self.await_departure(emitter);
        }
        for flow in 0..self.routes.len() {
            self.await_deadline(flow);
        }
        if let Some(beacons) = self.beacons {
            self.agenda.push(self.now + beacons.interval, Event::Beacon);
        }
        if let Some(at) = self.links.next_jam_change(self.now) {
            self.agenda.push(at, Event::Interference);
        }
        self.agenda.push(self.times.from, Event::Measure);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Depart(emitter) => self.depart(emitter),
            Event::AtAccessPoint(packet) => self.enqueue(ACCESS_POINT, packet),
            Event::AtServer(packet) => self.at_end(packet),
            Event::Deadline(flow) => self.on_deadline(flow),
            Event::ExchangeEnd => self.on_exchange_end(),
            Event::Beacon => {
                if let Some(beacons) = &mut self.beacons {
                    beacons.due = true;
                    self.agenda.push(self.now + beacons.interval, Event::Beacon);
                }
            }
            Event::Interference => self.on_interference(),
            Event::Measure => {
                for route in &mut self.routes {
                    route.before = route.connection.as_ref().map_or(0, Connection::delivered);
                }
            }
        }
    }

    const fn tx(node: StationId) -> TxId {
        TxId(node.0)
    }

    const fn access(node: StationId, category: Category) -> AccessId {
        AccessId { tx: Self::tx(node), category }
    }

    /// The link between a node and its peer, which is that of the station among them.
    fn link(node: StationId, peer: StationId) -> Option<LinkId> {
        (node.0.max(peer.0)).checked_sub(1).map(LinkId)
    }

    // Traffic.

    fn await_departure(&mut self, emitter: usize) {
        if let Some(at) = self.emitters[emitter].source.next_departure() {
            self.agenda.push(at, Event::Depart(emitter));
        }
    }

    fn depart(&mut self, index: usize) {
        let emitter = &mut self.emitters[index];
        let departure = emitter.source.emit();
        let flow = emitter.flow.unwrap_or(usize::MAX);
        let (node, header) = (emitter.node, (emitter.to, emitter.category));
        let id =
            airbound_control::frame::FlowId(emitter.flow.unwrap_or(2 * self.routes.len() + index) as u32);
        let packet = Packet::new((flow, id), header, departure.size, Content::Datagram, self.now);
        self.await_departure(index);
        self.send(node, packet);
    }

    /// Sends a packet from the end at which it begins: a server, whose packets cross the wire, or a station.
    fn send(&mut self, node: StationId, packet: Packet) {
        if node != ACCESS_POINT {
            self.enqueue(node, packet);
        } else if let Some(at) = self.wires[0].transit(packet.flow, self.now, packet.size) {
            self.agenda.push(at, Event::AtAccessPoint(packet));
        }
    }

    /// Sends what a connection may send now, and an acknowledgement if there is one.
    fn drive(&mut self, flow: usize, acknowledgement: Option<u64>) {
        if let Some(number) = acknowledgement {
            self.acknowledge(flow, Content::Acknowledgement(number));
        }
        loop {
            let route = &mut self.routes[flow];
            let Some(segment) = route.connection.as_mut().and_then(|one| one.next_segment(self.now)) else {
                break;
            };
            let content = Content::Segment { offset: segment.seq, length: segment.len };
            let id = airbound_control::frame::FlowId(flow as u32);
            let header = (route.to, route.category);
            let from = route.from;
            self.send(from, Packet::new((flow, id), header, segment.size(), content, self.now));
        }
        self.await_deadline(flow);
    }

    /// Sends an acknowledgement of a flow from the receiver of its data.
    fn acknowledge(&mut self, flow: usize, content: Content) {
        let route = &self.routes[flow];
        let id = airbound_control::frame::FlowId((self.routes.len() + flow) as u32);
        let (node, header) = (route.to, (route.from, route.answers));
        self.send(node, Packet::new((flow, id), header, SEGMENT_HEADERS, content, self.now));
    }

    fn await_deadline(&mut self, flow: usize) {
        let Some(connection) = &mut self.routes[flow].connection else { return };
        let next = connection.next_deadline();
        if next < connection.scheduled {
            connection.scheduled = next;
            self.agenda.push(next.max(self.now), Event::Deadline(flow));
        }
    }

    fn on_deadline(&mut self, flow: usize) {
        let now = self.now;
        let Some(connection) = &mut self.routes[flow].connection else { return };
        if connection.scheduled > now {
            return;
        }
        connection.scheduled = Instant::MAX;
        let acknowledgement = connection.on_deadline(now);
        self.drive(flow, acknowledgement);
    }

    /// A packet left the air at its receiver.
    fn deliver(&mut self, packet: Packet) {
        if packet.to == ACCESS_POINT {
            if packet.content != Content::Datagram
                && let Some(at) = self.wires[1].transit(packet.flow, self.now, packet.size)
            {
                self.agenda.push(at, Event::AtServer(packet));
            }
        } else {
            self.at_end(packet);
        }
    }

    /// A packet reached the end to which it was sent.
    fn at_end(&mut self, packet: Packet) {
        let flow = packet.flow;
        let now = self.now;
        match packet.content {
            Content::Datagram => {}
            Content::Segment { offset, length } => {
                let connection = self.routes[flow].connection.as_mut();
                let answer = connection.and_then(|one| one.on_segment(now, offset, length, packet.sent));
                self.drive(flow, answer);
            }
            Content::Acknowledgement(number) => {
                if let Some(connection) = &mut self.routes[flow].connection {
                    connection.on_acknowledgement(now, number);
                }
                self.drive(flow, None);
            }
        }
    }

    // Queues.

    fn enqueue(&mut self, node: StationId, packet: Packet) {
        let category = packet.category;
        self.nodes[node.index()].link.enqueue(self.now, packet, &mut self.dropped);
        self.dropped.clear();
        self.fill(node, category);
    }

    /// Forms a PPDU of at most `longest`. Returns whether there is one.
    fn form(&mut self, node: StationId, category: Category, longest: Span) -> bool {
        let owner = &mut self.nodes[node.index()];
        let room = Room { category, max_duration: longest };
        let formed = owner.link.next(self.now, room, &mut self.dropped);
        let is_formed = formed.is_some();
        if let Some(descriptor) = formed {
            owner.hardware[category.index()].push_back(InHardware::new(descriptor, self.now));
        }
        self.dropped.clear();
        is_formed
    }

    /// Fills the hardware of a category; it contends if there is something to send.
    fn fill(&mut self, node: StationId, category: Category) {
        let at = Self::access(node, category);
        let has_something = if self.nodes[node.index()].ahead.is_some() {
            let longest = self.channel.longest_ppdu(at);
            while self.nodes[node.index()].room(category) > 0 && self.form(node, category, longest) {}
            !self.nodes[node.index()].hardware[category.index()].is_empty()
        } else {
            let owner = &self.nodes[node.index()];
            self.channel.is_ready(at)
                || !owner.hardware[category.index()].is_empty()
                || owner.link.has_backlog(category)
        };
        if has_something && !self.channel.is_ready(at) {
            self.channel.set_ready(self.now, at);
        }
    }
}

//! The simulation: one thread, one clock, events in order of time.
//!
//! Between two events the channel is either idle or busy. When it is idle, the next transmission is computed from the state of the
//! contention functions, without stepping through slots (`airbound_air::channel`). Packets of datagram sources are drawn in bulk when a
//! queue is next used ([`crate::ingress`]): an idle second costs nothing, and the cost of a busy one is proportional to its
//! transmissions.

mod absence;
mod conservation;
mod delivery;
mod domain;
mod exchange;
mod foretelling;
mod lost_answer;
pub(crate) mod medium;
mod partial;
mod power_save;
mod transmitter;

use airbound_air::channel::{AccessId, TxId};
use airbound_air::edca::Edcaf;
use airbound_air::propagation::{LinkId, LinkQuality, Links};
use airbound_control::frame::{Dropped, FlowId, StationId};
use airbound_control::link::{Link, Returned};
use airbound_control::queue::Demand;
use airbound_control::rate::LinkStats;
use airbound_random::Stream;
use airbound_units::{Decibel, Instant, Span};
use airbound_wifi::edca::Category;

pub use conservation::Imbalance;
use delivery::{AgreementId, BlockAckRecipient};
use domain::Due;
pub(crate) use domain::{CollisionDomain, Shared};
use lost_answer::Unacknowledged;
pub(crate) use medium::{Medium, Pipe};
pub(crate) use power_save::Dozers;
use power_save::Null;
pub(crate) use transmitter::{Forming, Transmitter};

use crate::endpoint::{Answer, AnyEndpoint, Endpoint as _, Passed, Timer};
use crate::flow::{ACCESS_POINT, Direction, EndpointId, Flow};
use crate::measure::{Arrival, Meters};
use crate::packet::Packet;
use crate::path::Wire;
use crate::topology::Tree;

/// The number of the link of a lower end; `None` for the access point.
pub(crate) fn link_id(lower: StationId) -> Option<LinkId> {
    lower.0.checked_sub(1).map(LinkId)
}

/// An event of a network at a point in time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// Packets may have arrived at a node with free hardware.
    Wake(StationId),
    /// A packet is at a relay, or at its destination: there, if that is the server, it has crossed the wire.
    Arrived(Packet),
    /// A timer of an endpoint.
    Timer(EndpointId, Timer),
    /// The access point's beacon is due.
    Beacon,
    /// A burst of interference begins or ends.
    Interference,
    /// The time limit of a category's first PSDU in the hardware may be over.
    TimeLimit(StationId, Category),
    /// A receiver may give up a missing MPDU of an agreement.
    Release(AgreementId),
    /// The driver has reacted to the end of a PPDU of this category.
    HandedOver(StationId, Category),
    /// The demand on a flow changes.
    Demand(usize),
    /// A window of the series ends.
    Window,
    /// A radio leaves the channel or returns.
    Absence(StationId),
    /// A station that saves power may have had no frame for its time.
    Idle(StationId),
    /// A null frame of a station that saves power ends.
    Null(StationId, Null),
}

/// The beacons of the access point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beacons {
    pub(crate) interval: Span,
    /// Time of the first beacon, so that networks on one channel do not send them at the same time.
    pub(crate) offset: Span,
    pub(crate) duration: Span,
    pub(crate) due: bool,
}

/// A demand that is set, changed or removed during the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DemandChange {
    pub(crate) at: Instant,
    /// The transmitter of the flow's data over the air.
    pub(crate) node: StationId,
    pub(crate) flow: FlowId,
    pub(crate) demand: Option<Demand>,
}

/// The endpoints of packets from outside; `None` for those that no flow has.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Doors {
    /// Of flows that carry the packets of a session, or of a [`Live`](crate::Live).
    pub(crate) carried: Option<EndpointId>,
    /// Of flows of the gate.
    pub(crate) gate: Option<EndpointId>,
}

/// The parts of a network.
pub(crate) struct Parts {
    pub(crate) transmitters: Vec<Transmitter>,
    /// Contention functions of each transmitter, and the error streams of its receivers, until they are added to the medium.
    pub(crate) contention: Vec<([Edcaf; 4], Stream)>,
    pub(crate) links: Links,
    pub(crate) tree: Tree,
    pub(crate) beacons: Option<Beacons>,
    pub(crate) dozers: Dozers,
    pub(crate) flows: Vec<Flow>,
    pub(crate) endpoints: Vec<AnyEndpoint>,
    pub(crate) doors: Doors,
    /// The endpoint that shapes uplinks; `None` without any.
    pub(crate) shaping: Option<EndpointId>,
    pub(crate) demands: Vec<DemandChange>,
    /// The wire from the access point to the server.
    pub(crate) wire_up: Wire,
    pub(crate) meters: Meters,
    /// Length of the windows of the series.
    pub(crate) window: Span,
    /// Whether a BlockAckReq follows an A-MPDU without BlockAck.
    pub(crate) requests: bool,
}

/// Effects that the scenario has: those that it has not cost nothing on a packet's way.
#[derive(Debug, Clone, Copy)]
struct Effects {
    /// Stations save power.
    dozing: bool,
    /// Radios leave the channel, or sleep.
    absence: bool,
    /// Endpoints sense PPDUs.
    sensing: bool,
    /// The access point predicts delays of flows.
    foretelling: bool,
}

impl Effects {
    fn of(parts: &Parts) -> Self {
        let dozing = parts.dozers.are_any();
        let absence = dozing || parts.transmitters.iter().any(|node| node.absence.is_some());
        let sensing = parts.flows.iter().any(|flow| flow.is_sensed);
        Self { dozing, absence, sensing, foretelling: false }
    }
}

/// A running network: one access point, its stations and neighbours.
pub(crate) struct Network {
    pub(crate) parts: Parts,
    /// Its number among those on its channel.
    number: u16,
    /// The number of its first node on the medium.
    first_tx: u16,
    /// Total time for which the channel was busy.
    busy: Span,
    txops: u64,
    /// The recipients of all block-ack agreements.
    recipients: Vec<BlockAckRecipient>,
    /// Whether traces dictate PHY rates, which have to be reported to links.
    dictates: bool,
    effects: Effects,
    /// Whether a connection bounds what its transmitter holds of it, so that transmissions have to be reported.
    counts_below: bool,
    unacknowledged: Unacknowledged,
    /// MPDUs of the exchange on the air that their receivers have, or will have when their subframes end.
    settled: usize,
    /// Packets on their way into a relay's queue.
    relaying: usize,
    // Reused buffers.
    dropped: Vec<Dropped<Packet>>,
    returned: Returned<Packet>,
    arrivals: Vec<Arrival>,
    /// Its accesses that have won the channel.
    winners: Vec<AccessId>,
    answers: Vec<Answer>,
    sensed: Vec<Packet>,
}

impl Network {
    /// Creates the network with a number among those on the channel, and adds it to the medium.
    pub(super) fn new(mut parts: Parts, number: u16, shared: &mut Shared) -> Self {
        let mut first_tx = None;
        for (edca, reception) in std::mem::take(&mut parts.contention) {
            let tx = shared.medium.add(edca, reception);
            first_tx.get_or_insert(tx.0);
        }
        shared.medium.watch(TxId(first_tx.unwrap_or(0)));
        let mut network = Self {
            number,
            first_tx: first_tx.unwrap_or(0),
            busy: Span::ZERO,
            txops: 0,
            recipients: delivery::of_links(parts.transmitters.len()),
            dictates: parts.links.dictates(),
            effects: Effects::of(&parts),
            counts_below: parts.endpoints.iter().any(AnyEndpoint::counts_below),
            unacknowledged: Unacknowledged::default(),
            settled: 0,
            relaying: 0,
            dropped: Vec::new(),
            returned: Returned::default(),
            arrivals: Vec::new(),
            winners: Vec::new(),
            answers: Vec::new(),
            sensed: Vec::new(),
            parts,
        };
        network.begin(shared);
        network
    }

    /// Whether a contention function of the medium belongs to this network.
    pub(crate) fn has(&self, at: AccessId) -> bool {
        (at.tx.0.checked_sub(self.first_tx))
            .is_some_and(|node| usize::from(node) < self.parts.transmitters.len())
    }

    /// Schedules the events of the start.
    fn begin(&mut self, shared: &mut Shared) {
        self.begin_foretelling();
        self.report_link_stats(shared);
        for node in 0..self.parts.transmitters.len() {
            self.sleep(shared, StationId(node as u16));
        }
        self.begin_endpoints(shared);
        if let Some(beacons) = self.parts.beacons {
            self.schedule(shared, Instant::ZERO + beacons.interval + beacons.offset, Event::Beacon);
        }
        if let Some(at) = self.parts.links.next_jam_change(Instant::ZERO) {
            self.schedule(shared, at, Event::Interference);
        }
        for change in 0..self.parts.demands.len() {
            self.schedule(shared, self.parts.demands[change].at, Event::Demand(change));
        }
        self.schedule(shared, Instant::ZERO + self.parts.window, Event::Window);
        self.begin_absences(shared);
        self.begin_dozing(shared);
    }

    fn schedule(&self, shared: &mut Shared, at: Instant, event: Event) {
        shared.schedule(at, Due::Event(self.number, event));
    }

    fn schedule_in_row(&self, shared: &mut Shared, at: Instant, event: Event) {
        shared.schedule_in_row(at, Due::Event(self.number, event));
    }

    /// Moves the fates of packets from outside since the last call, in order.
    pub(crate) fn take_fates(&mut self, door: impl Fn(&Doors) -> Option<EndpointId>, into: &mut Vec<Passed>) {
        if let Some(endpoint) = door(&self.parts.doors) {
            self.parts.endpoints[endpoint.index()].take(into);
        }
    }

    /// Notes the flows that the transmitters protect automatically.
    pub(crate) fn note_found(&mut self) {
        let Parts { transmitters, meters, .. } = &mut self.parts;
        meters.note_found(|flow| {
            let sender = match flow.direction {
                Direction::Down => ACCESS_POINT,
                Direction::Up => flow.station,
            };
            transmitters[sender.index()].link.queue().protection(flow.id)?.found
        });
    }

    fn handle(&mut self, shared: &mut Shared, event: Event) {
        match event {
            Event::Wake(node) => self.on_wake(shared, node),
            Event::Arrived(packet) => self.on_arrival(shared, &packet),
            Event::Timer(endpoint, timer) => self.on_timer(shared, endpoint, timer),
            Event::Beacon => self.on_beacon_due(shared),
            Event::Interference => self.on_interference(shared),
            Event::TimeLimit(node, category) => self.on_time_limit(shared, node, category),
            Event::Release(agreement) => self.on_release(shared, agreement),
            Event::HandedOver(node, category) => self.on_handed_over(shared, node, category),
            Event::Demand(change) => {
                let DemandChange { node, flow, demand, .. } = self.parts.demands[change];
                let accepted =
                    self.parts.transmitters[node.index()].link.set_demand(shared.now, flow, demand);
                debug_assert!(accepted.is_ok(), "tried when the run was built: {accepted:?}");
            }
            Event::Window => {
                self.take_in_all(shared);
                self.note_found();
                self.parts.meters.end_window(shared.now);
                self.schedule(shared, shared.now + self.parts.window, Event::Window);
            }
            Event::Absence(node) => self.on_absence(shared, node),
            Event::Idle(node) => self.on_idle(shared, node),
            Event::Null(node, null) => self.on_null(shared, node, null),
        }
    }

    /// Reports the initial state of their links to rate controls.
    fn report_link_stats(&mut self, shared: &mut Shared) {
        for link in (1..self.parts.transmitters.len() as u16).map(StationId) {
            let stats = self.link_stats(shared, link);
            self.report_to_ends(shared.now, link, &stats);
        }
    }

    /// The initial knowledge of both ends of a link.
    fn link_stats(&mut self, shared: &mut Shared, link: StationId) -> LinkStats {
        /// An SNR at which no rate has errors.
        const FLAWLESS: Decibel = Decibel::new(100.0);
        let (snr, rate) = match self.parts.links.quality(link_id(link), shared.now) {
            LinkQuality::Perfect => (FLAWLESS, None),
            LinkQuality::Snr(snr) => (snr, None),
            LinkQuality::Phy(quality) => (FLAWLESS, Some(quality.rate)),
        };
        LinkStats { snr: Some(snr), rate }
    }

    /// Reports observations of a link to both its ends.
    fn report_to_ends(&mut self, now: Instant, link: StationId, stats: &LinkStats) {
        let parent = self.parts.tree.parent(link);
        self.parts.transmitters[parent.index()].link.on_link_stats(now, link, stats);
        self.parts.transmitters[link.index()].link.on_link_stats(now, parent, stats);
    }
}

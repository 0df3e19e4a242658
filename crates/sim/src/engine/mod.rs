//! The simulation: one thread, one clock, events in the order of time.
//!
//! Between two events the channel is either idle or busy. When it is idle, the next transmission follows from the state of
//! the contention functions and is computed, not stepped (`airbound_air::channel`). Packets of datagram sources are drawn in bulk when a
//! queue is next looked at (`intake`): an idle second costs nothing, and the cost of a busy one follows its transmissions.

mod access;
mod agreement;
mod books;
mod domain;
mod endpoints;
mod exchange;
mod hearing;
mod intake;
pub(crate) mod medium;
mod time_limit;

use std::collections::VecDeque;

use airbound_control::frame::TxDescriptor;
use airbound_control::frame::{Dropped, FlowId, StationId};
use airbound_control::link::{Link, Returned};
use airbound_control::queue::Demand;
use airbound_control::rate::LinkStats;
use airbound_record::Moments;
use airbound_units::{Decibel, Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Rate;

use agreement::{Agreement, AgreementId};
pub use books::Imbalance;
pub(crate) use domain::Domains;
pub(crate) use hearing::Hearing;
pub(crate) use medium::{Medium, Pipe};

use crate::agenda::Agenda;
use crate::endpoint::external::Carried;
use crate::endpoint::{Answer, AnyEndpoint, Timer};
use crate::flow::EndpointId;
use crate::flow::feed::Feed;
use crate::flow::{ACCESS_POINT, Direction, Flow};
use crate::link::AnyLink;
use crate::measure::Meters;
use crate::packet::Packet;
use crate::path::Wire;
use crate::topology::Tree;
use airbound_air::channel::AccessId;
use airbound_air::edca::Edcaf;
use airbound_air::exchange::ExchangeTiming;
use airbound_air::propagation::{LinkId, LinkQuality, Links};
use airbound_random::Stream;

/// The number of the link whose lower end is a node; `None` for the access point.
pub(crate) fn link_id(lower: StationId) -> Option<LinkId> {
    lower.0.checked_sub(1).map(LinkId)
}

/// When aggregates are formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forming {
    /// When the channel is won, by a device that looks into its queue then.
    AtAccess,
    /// Ahead: up to so many per category wait in the hardware.
    Ahead(usize),
}

/// A descriptor in the hardware.
#[derive(Debug)]
pub(crate) struct InHardware {
    pub(crate) descriptor: TxDescriptor<Packet>,
    pub(crate) handed: Instant,
    /// When it became the first of its category; `Instant::MAX` until then.
    pub(crate) contending: Instant,
    /// When its first transmission began; `Instant::MAX` until then.
    pub(crate) started: Instant,
    pub(crate) transmissions: u32,
    /// The TXOP of its last transmission.
    pub(crate) txop: u64,
    pub(crate) airtime: Span,
}

/// A transmitter: the access point, a station, which may be a relay, or a neighbour.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) link: AnyLink,
    pub(crate) feed: Feed,
    pub(crate) forming: Forming,
    pub(crate) hardware: [VecDeque<InHardware>; 4],
    /// Most transmissions of one descriptor, whatever the rate chain says.
    pub(crate) hardware_tries: u32,
    /// Most PPDUs in hardware over all categories.
    pub(crate) hardware_total: usize,
    /// From the end of a PPDU until the one that takes its place is in the hardware.
    pub(crate) handover: Span,
    /// Places whose next PPDU is on its way into the hardware, by category.
    pub(crate) handing: [usize; 4],
    /// Whether packets of shaped uplinks arrive here.
    pub(crate) shapes: bool,
    /// Whether receivers put its MPDUs in order, as a block-ack agreement makes them.
    pub(crate) block_ack: bool,
    /// Whether airtime of received frames is charged to the sender.
    pub(crate) charges_received: bool,
    /// Airtime of its transmissions, acknowledgements included.
    pub(crate) own: Span,
    pub(crate) hearing: Hearing,
    /// The pending wake-up for arrivals; `Instant::MAX` for none.
    pub(crate) wake: Instant,
}

impl Node {
    /// How many more PPDUs of a category the hardware takes, of which `depth` may be there.
    fn room(&self, category: Category, depth: usize) -> usize {
        let taken =
            |category: Category| self.hardware[category.index()].len() + self.handing[category.index()];
        let own = depth.saturating_sub(taken(category));
        if self.hardware_total == usize::MAX {
            return own;
        }
        let all: usize = Category::ALL.into_iter().map(taken).sum();
        own.min(self.hardware_total.saturating_sub(all))
    }
}

/// A transmission that has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnAir {
    pub(crate) node: StationId,
    pub(crate) category: Category,
    pub(crate) rate: Rate,
    pub(crate) start: Instant,
    pub(crate) timing: ExchangeTiming,
    pub(crate) acknowledged: AckBitmap,
    /// How many began at the same time, itself included; more than one is a collision.
    pub(crate) transmitters: u16,
    pub(crate) txop: u64,
}

impl OnAir {
    pub(crate) const fn collided(&self) -> bool {
        self.transmitters > 1
    }
}

/// What happens at a point in time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// What is on the air ends.
    ExchangeEnd,
    /// Packets may have arrived at a node whose hardware waits for them.
    Wake(StationId),
    /// A packet has crossed the wire to the server.
    AtServer(Packet),
    /// A timer of an endpoint.
    Timer(EndpointId, Timer),
    /// The access point's beacon is due.
    Beacon,
    /// A burst of interference begins or ends.
    Interference,
    /// The hardware may have worked on the first PSDU of a category for as long as it may.
    TimeLimit(StationId, Category),
    /// A receiver may give up a hole in what came under an agreement.
    Release(AgreementId),
    /// The driver has reacted to the end of a PPDU of this category.
    HandedOver(StationId, Category),
    /// Something else is demanded of a flow from now on.
    Demand(usize),
    /// A window of the series ends.
    Window,
}

/// An MPDU at its receiver, with what is known of its way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) packet: Packet,
    pub(crate) last_transmission: Instant,
    pub(crate) received: Instant,
    pub(crate) completed: Instant,
    pub(crate) tries: u8,
    pub(crate) txop: u64,
}

impl Arrival {
    /// The moments of the hop that brought it, if the reordering buffer lets it go at `released` and it is at its destination, or
    /// the relay's, at `arrived`.
    pub(crate) const fn moments(&self, released: Instant, arrived: Instant) -> Moments {
        Moments {
            sent: self.packet.sent,
            enqueued: self.packet.enqueued,
            contending: self.packet.contending,
            first_tx: self.packet.first_transmission,
            last_tx: self.last_transmission,
            received: self.received,
            delivered: released,
            arrived,
        }
    }
}

/// The beacons of the access point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Beacons {
    pub(crate) interval: Span,
    /// Of the first one, so that networks on one channel do not send them at the same time.
    pub(crate) offset: Span,
    pub(crate) duration: Span,
    pub(crate) due: bool,
}

/// A demand that begins, changes or ends while the run is under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DemandChange {
    pub(crate) at: Instant,
    /// Who sends the data of the flow over the air.
    pub(crate) node: StationId,
    pub(crate) flow: FlowId,
    pub(crate) demand: Option<Demand>,
}

/// What a simulation is made of.
pub(crate) struct Parts {
    pub(crate) end: Instant,
    pub(crate) nodes: Vec<Node>,
    pub(crate) medium: Medium,
    /// Contention functions of each node, and the errors at its receivers, until they are added to the medium.
    pub(crate) transmitters: Vec<([Edcaf; 4], Stream)>,
    pub(crate) links: Links,
    pub(crate) tree: Tree,
    pub(crate) beacons: Option<Beacons>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) endpoints: Vec<AnyEndpoint>,
    /// The endpoint that shapes uplinks; `None` without shaped uplinks.
    pub(crate) shaping: Option<EndpointId>,
    pub(crate) demands: Vec<DemandChange>,
    /// From the access point to the server.
    pub(crate) wire_up: Wire,
    pub(crate) meters: Meters,
    /// Length of the windows of the series.
    pub(crate) window: Span,
}

/// A run under way.
pub(crate) struct Simulation {
    pub(crate) parts: Parts,
    pub(crate) now: Instant,
    /// The number of its first node on the medium.
    first_tx: u16,
    /// Total time for which the channel was busy.
    busy: Span,
    /// Whether no other network is simulated on its channel; otherwise the domain ends what is on the air.
    alone: bool,
    txops: u64,
    /// The receivers' sides of all block-ack agreements.
    agreements: Vec<Agreement>,
    /// Whether traces dictate PHY rates, of which links have to be told.
    dictates: bool,
    events: Agenda<Event>,
    processed: u64,
    // Lists that are filled and emptied again and again.
    dropped: Vec<Dropped<Packet>>,
    returned: Returned<Packet>,
    arrivals: Vec<Arrival>,
    winners: Vec<AccessId>,
    answers: Vec<Answer>,
    sensed: Vec<Packet>,
}

impl Simulation {
    /// A network that has its medium to itself.
    pub(crate) fn new(mut parts: Parts) -> Self {
        let mut first_tx = None;
        for (edca, reception) in std::mem::take(&mut parts.transmitters) {
            let tx = parts.medium.add(edca, reception);
            first_tx.get_or_insert(tx.0);
        }
        let mut simulation = Self {
            now: Instant::ZERO,
            first_tx: first_tx.unwrap_or(0),
            busy: Span::ZERO,
            alone: true,
            txops: 0,
            agreements: agreement::of_links(parts.nodes.len()),
            dictates: parts.links.dictates(),
            events: Agenda::new(),
            processed: 0,
            dropped: Vec::new(),
            returned: Returned::default(),
            arrivals: Vec::new(),
            winners: Vec::new(),
            answers: Vec::new(),
            sensed: Vec::new(),
            parts,
        };
        simulation.begin();
        simulation
    }

    /// A network that shares the medium of another, which it takes over.
    pub(crate) fn sharing(mut parts: Parts, other: &mut Self) -> Self {
        std::mem::swap(&mut parts.medium, &mut other.parts.medium);
        Self::new(parts)
    }

    /// Whether a contention function of the medium is one of this network.
    pub(crate) fn has(&self, at: AccessId) -> bool {
        (at.tx.0.checked_sub(self.first_tx)).is_some_and(|node| usize::from(node) < self.parts.nodes.len())
    }

    /// Schedules what happens without a cause.
    fn begin(&mut self) {
        self.tell_link_stats();
        for node in 0..self.parts.nodes.len() {
            self.sleep(StationId(node as u16));
        }
        self.begin_endpoints();
        if let Some(beacons) = self.parts.beacons {
            self.schedule(Instant::ZERO + beacons.interval + beacons.offset, Event::Beacon);
        }
        if let Some(at) = self.parts.links.next_jam_change(Instant::ZERO) {
            self.schedule(at, Event::Interference);
        }
        for change in 0..self.parts.demands.len() {
            self.schedule(self.parts.demands[change].at, Event::Demand(change));
        }
        self.schedule(Instant::ZERO + self.parts.window, Event::Window);
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        if at <= self.parts.end {
            self.events.push(at.max(self.now), event);
        }
    }

    /// How many events were processed, transmissions included.
    pub(crate) const fn processed(&self) -> u64 {
        self.processed
    }

    /// The instant of the next event, at or after now; [`Instant::MAX`] for never.
    pub(crate) fn next_event(&self) -> Instant {
        self.events.next().min(self.next_access())
    }

    /// Moves the fates of packets of outside since the last call, in order.
    pub(crate) fn take_carried(&mut self, into: &mut Vec<Carried>) {
        for endpoint in &mut self.parts.endpoints {
            if let AnyEndpoint::External(external) = endpoint {
                external.take(into);
            }
        }
    }

    /// Advances until `until` or the end of the run, whichever comes first.
    pub(crate) fn advance(&mut self, until: Instant) {
        let until = until.min(self.parts.end);
        loop {
            let event = self.events.next();
            let access = self.next_access();
            if event.min(access) > until {
                break;
            }
            self.processed += 1;
            if event <= access {
                let Some((at, event)) = self.events.pop() else { break };
                self.now = at;
                self.handle(event);
            } else {
                self.now = access;
                self.transmit();
            }
        }
        self.now = until;
    }

    /// Notes whom the transmitters protect without having been told to.
    pub(crate) fn note_found(&mut self) {
        let Parts { nodes, meters, .. } = &mut self.parts;
        meters.note_found(|flow| {
            let sender = match flow.direction {
                Direction::Down => ACCESS_POINT,
                Direction::Up => flow.station,
            };
            nodes[sender.index()].link.queue().protection(flow.id)?.found
        });
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::ExchangeEnd => self.on_exchange_end(),
            Event::Wake(node) => self.on_wake(node),
            Event::AtServer(packet) => self.on_packet_at_server(packet),
            Event::Timer(endpoint, timer) => self.on_timer(endpoint, timer),
            Event::Beacon => self.on_beacon_due(),
            Event::Interference => self.on_interference(),
            Event::TimeLimit(node, category) => self.on_time_limit(node, category),
            Event::Release(agreement) => self.on_release(agreement),
            Event::HandedOver(node, category) => self.on_handed_over(node, category),
            Event::Demand(change) => {
                let DemandChange { node, flow, demand, .. } = self.parts.demands[change];
                let accepted = self.parts.nodes[node.index()].link.set_demand(self.now, flow, demand);
                debug_assert!(accepted.is_ok(), "tried when the run was built: {accepted:?}");
            }
            Event::Window => {
                self.note_found();
                self.parts.meters.end_window(self.now);
                self.schedule(self.now + self.parts.window, Event::Window);
            }
        }
    }

    /// Lets rate controls know what their links are like before the first frame.
    fn tell_link_stats(&mut self) {
        for link in (1..self.parts.nodes.len() as u16).map(StationId) {
            let stats = self.link_stats(link);
            self.tell_ends(self.now, link, &stats);
        }
    }

    /// The knowledge that both ends have of a link before their first frame.
    fn link_stats(&mut self, link: StationId) -> LinkStats {
        /// A ratio at which every rate is free of errors.
        const FLAWLESS: Decibel = Decibel::new(100.0);
        let (snr, rate) = match self.parts.links.quality(link_id(link), self.now) {
            LinkQuality::Perfect => (FLAWLESS, None),
            LinkQuality::Snr(snr) => (snr, None),
            LinkQuality::Phy(quality) => (FLAWLESS, Some(quality.rate)),
        };
        LinkStats { snr: Some(snr), rate }
    }

    /// Tells both ends of a link about it.
    fn tell_ends(&mut self, now: Instant, link: StationId, stats: &LinkStats) {
        let parent = self.parts.tree.parent(link);
        self.parts.nodes[parent.index()].link.on_link_stats(now, link, stats);
        self.parts.nodes[link.index()].link.on_link_stats(now, parent, stats);
    }
}

//! Endpoints: both ends of one transport, whose packets the network carries.
//!
//! # Contract
//! An endpoint belongs to one or more flows and is called when a packet of such a flow arrives, when one is lost for good, and
//! when one of its timers fires. It answers through an [`Outbox`]: packets to send and timers to set. The network executes these
//! right after each call, in order. Content beyond a packet's length stays with the endpoint, by the number of the packet
//! ([`InFlight`](in_flight::InFlight)), so that a packet stays small.
//!
//! An open-loop source is not an endpoint: its packets are drawn in bulk when a queue is next used.
//!
//! A new transport is one file here, one variant of [`AnyEndpoint`], and one arm where flows are populated; a custom one is an
//! [`Endpoint`] that [`Plugins::attach`](crate::Plugins::attach) puts in place of the traffic of flows.

pub(crate) mod allocation;
pub(crate) mod external;
pub(crate) mod in_flight;
pub(crate) mod rtp;
pub(crate) mod tcp;

use airbound_control::frame::{DropReason, FlowId, Mpdu, StationId};
use airbound_control::queue::Backlog;
use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::measure::Meters;
use crate::packet::{Kind, Packet};
pub(crate) use allocation::Allocation;
pub(crate) use external::External;
pub use external::Passed;
use rtp::RtpSession;
use tcp::Connection;

/// A timer of an endpoint; each endpoint numbers its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer(pub u32);

/// A packet sent by an endpoint, from the end where its flow begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// The flow.
    pub flow: FlowId,
    /// Its number within the flow, ascending by one.
    pub number: u64,
    /// Its role for the endpoint.
    pub kind: Kind,
    /// Number that identifies its content, see [`Kind`].
    pub tag: u64,
    /// Its size from the IP header on.
    pub size: ByteCount,
}

impl Outgoing {
    /// A datagram of a caller.
    pub(crate) const fn datagram(flow: FlowId, number: u64, tag: u64, size: ByteCount) -> Self {
        Self { flow, number, kind: Kind::Datagram, tag, size }
    }
}

/// One answer of an endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Answer {
    Send(Outgoing),
    Wake(Instant, Timer),
    /// Changes the rate of a flow's constant source.
    Rate(FlowId, BitRate),
    /// Puts a held packet in the queue where its flow begins, as of an instant.
    Admit(Instant, Packet),
    /// Sends a report that the access point makes itself.
    Report(Outgoing),
    /// Makes a transmitter determine its next arrival again.
    Settle(StationId),
    /// Takes in the arrivals of a transmitter and answers with its backlog.
    Ask(StationId, Timer),
}

/// The packets of sensed flows received in one PPDU by their station.
#[derive(Debug)]
pub struct Reception<'a> {
    /// The station.
    pub station: StationId,
    /// The end of the PPDU, which is the timestamp of all its packets, as from a card.
    pub ppdu_end: Instant,
    /// Its PHY rate.
    pub rate: BitRate,
    /// The packets, before any reordering buffer.
    pub packets: &'a [Packet],
    /// Number of packets of other flows in the same PPDU.
    pub companions: u32,
}

/// Collects the answers of an endpoint during one call.
pub struct Outbox<'a> {
    answers: &'a mut Vec<Answer>,
    counts: Counts<'a>,
}

/// Counters that only an endpoint can update: packets are counted by the network.
pub struct Counts<'a>(&'a mut Meters);

impl<'a> Outbox<'a> {
    pub(crate) const fn new(answers: &'a mut Vec<Answer>, meters: &'a mut Meters) -> Self {
        Self { answers, counts: Counts(meters) }
    }

    /// Sends a packet now.
    pub fn send(&mut self, packet: Outgoing) {
        self.answers.push(Answer::Send(packet));
    }

    /// Sets a timer. Earlier settings fire as well: an endpoint ignores timers that it no longer waits for.
    pub fn wake_at(&mut self, at: Instant, timer: Timer) {
        self.answers.push(Answer::Wake(at, timer));
    }

    /// Changes the rate of the constant source of a flow from now on.
    pub fn set_rate(&mut self, flow: FlowId, rate: BitRate) {
        self.answers.push(Answer::Rate(flow, rate));
    }

    pub(crate) fn admit(&mut self, at: Instant, packet: Packet) {
        self.answers.push(Answer::Admit(at, packet));
    }

    /// Sends a report from the access point to the server.
    pub(crate) fn report(&mut self, packet: Outgoing) {
        self.answers.push(Answer::Report(packet));
    }

    pub(crate) fn settle(&mut self, station: StationId) {
        self.answers.push(Answer::Settle(station));
    }

    /// Asks for the backlog of a transmitter; [`Endpoint::on_backlog`] follows, with the same `token`.
    pub fn ask(&mut self, station: StationId, token: Timer) {
        self.answers.push(Answer::Ask(station, token));
    }

    /// Returns the counters of the endpoint.
    pub const fn counts(&mut self) -> &mut Counts<'a> {
        &mut self.counts
    }

    pub(crate) const fn meters(&mut self) -> &mut Meters {
        self.counts.meters()
    }
}

impl<'a> Counts<'a> {
    pub(crate) const fn new(meters: &'a mut Meters) -> Self {
        Self(meters)
    }

    /// Counts payload of `flow` delivered to the receiver's application.
    pub fn delivered(&mut self, flow: FlowId, now: Instant, bytes: ByteCount) {
        self.0.on_stream_bytes(flow, now, bytes);
    }

    /// Counts payload offered by the application of `flow`.
    pub fn offered(&mut self, flow: FlowId, now: Instant, bytes: ByteCount) {
        self.0.on_offered(flow, now, bytes);
    }

    pub(crate) const fn meters(&mut self) -> &mut Meters {
        self.0
    }
}

/// Both ends of one transport.
pub trait Endpoint {
    /// Begins the run.
    fn begin(&mut self, out: &mut Outbox<'_>);
    /// Handles an arrived packet of one of its flows.
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>);
    /// Notes a packet that is lost for good. Nothing can be sent here: the network is processing other packets.
    fn on_lost(&mut self, now: Instant, packet: &Packet, reason: DropReason, counts: &mut Counts<'_>);
    /// Handles a timer that has fired.
    fn on_timer(&mut self, now: Instant, timer: Timer, out: &mut Outbox<'_>);
    /// Handles packets received in one PPDU; called for sensed flows.
    fn on_reception(&mut self, _now: Instant, _reception: &Reception<'_>, _out: &mut Outbox<'_>) {}
    /// Handles a backlog that it asked for.
    fn on_backlog(&mut self, _now: Instant, _token: Timer, _backlog: &Backlog, _out: &mut Outbox<'_>) {}
    /// Ends the run: counts the content still in transit.
    fn end(&self, _counts: &mut Counts<'_>) {}

    // What few transports use.

    /// Notes that the transmitter at which its flow begins has no longer a packet: it was acknowledged or given up. Returns a timer that
    /// fires after the present event.
    fn on_left(&mut self, _packet: &Packet) -> Option<Timer> {
        None
    }
    /// Takes a packet of a shaped flow that arrived at its transmitter at `at`: passes it to the queue, or keeps it for later.
    fn admit(&mut self, at: Instant, packet: Packet, out: &mut Outbox<'_>) {
        out.admit(at, packet);
    }
    /// Notes a packet that came to the access point at `at`, which predicts that it will wait there for `delay`.
    fn on_foretold(&mut self, _at: Instant, _packet: &Packet, _delay: Span, _out: &mut Outbox<'_>) {}
    /// Notes what a station with shaped flows has transmitted, and what is left in its queue.
    fn on_transmitted(&mut self, _station: StationId, _mpdus: &[Mpdu<Packet>], _left: &Backlog) {}
    /// Moves the fates of the caller's packets since the last call, in order.
    fn take(&mut self, _into: &mut Vec<Passed>) {}
}

/// The transports, dispatched without a virtual call except for custom ones.
pub(crate) enum AnyEndpoint {
    Tcp(Box<Connection>),
    Rtp(Box<RtpSession>),
    Allocation(Box<Allocation>),
    External(External),
    Custom(Box<dyn Endpoint>),
}

macro_rules! dispatch {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            AnyEndpoint::Tcp($inner) => $call,
            AnyEndpoint::Rtp($inner) => $call,
            AnyEndpoint::Allocation($inner) => $call,
            AnyEndpoint::External($inner) => $call,
            AnyEndpoint::Custom($inner) => $call,
        }
    };
}

impl Endpoint for AnyEndpoint {
    fn begin(&mut self, out: &mut Outbox<'_>) {
        dispatch!(self, inner => inner.begin(out));
    }
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        dispatch!(self, inner => inner.on_packet(now, packet, out));
    }
    fn on_lost(&mut self, now: Instant, packet: &Packet, reason: DropReason, counts: &mut Counts<'_>) {
        dispatch!(self, inner => inner.on_lost(now, packet, reason, counts));
    }
    fn on_timer(&mut self, now: Instant, timer: Timer, out: &mut Outbox<'_>) {
        dispatch!(self, inner => inner.on_timer(now, timer, out));
    }
    fn on_reception(&mut self, now: Instant, reception: &Reception<'_>, out: &mut Outbox<'_>) {
        dispatch!(self, inner => inner.on_reception(now, reception, out));
    }
    fn on_backlog(&mut self, now: Instant, token: Timer, backlog: &Backlog, out: &mut Outbox<'_>) {
        dispatch!(self, inner => inner.on_backlog(now, token, backlog, out));
    }
    fn end(&self, counts: &mut Counts<'_>) {
        dispatch!(self, inner => inner.end(counts));
    }
    fn on_left(&mut self, packet: &Packet) -> Option<Timer> {
        dispatch!(self, inner => inner.on_left(packet))
    }
    fn admit(&mut self, at: Instant, packet: Packet, out: &mut Outbox<'_>) {
        dispatch!(self, inner => inner.admit(at, packet, out));
    }
    fn on_foretold(&mut self, at: Instant, packet: &Packet, delay: Span, out: &mut Outbox<'_>) {
        dispatch!(self, inner => inner.on_foretold(at, packet, delay, out));
    }
    fn on_transmitted(&mut self, station: StationId, mpdus: &[Mpdu<Packet>], left: &Backlog) {
        dispatch!(self, inner => inner.on_transmitted(station, mpdus, left));
    }
    fn take(&mut self, into: &mut Vec<Passed>) {
        dispatch!(self, inner => inner.take(into));
    }
}

impl AnyEndpoint {
    /// Number of packets held back from a queue.
    pub(crate) fn held(&self) -> usize {
        match self {
            Self::Allocation(allocation) => allocation.held(),
            Self::Tcp(_) | Self::Rtp(_) | Self::External(_) | Self::Custom(_) => 0,
        }
    }

    /// Whether the access point makes its reports.
    pub(crate) fn is_foretold(&self) -> bool {
        matches!(self, Self::Rtp(session) if session.foretelling.is_some())
    }

    /// Whether it bounds what its transmitter holds of it, and so has to know what has left.
    pub(crate) fn counts_below(&self) -> bool {
        matches!(self, Self::Tcp(connection) if connection.counts_below())
    }

    /// Order of its transport among endpoints that begin at the same time.
    pub(crate) const fn precedence(&self) -> u8 {
        match self {
            Self::Tcp(_) => 0,
            Self::Rtp(_) => 1,
            Self::Allocation(_) => 2,
            Self::External(_) | Self::Custom(_) => 3,
        }
    }
}

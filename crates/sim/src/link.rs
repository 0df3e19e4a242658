//! The link of a simulated transmitter: any kind in one type.

use airbound_control::classify::Verdict;
use airbound_control::frame::{Dropped, FlowId, StationId};
use airbound_control::frame::{TxDescriptor, TxReport};
use airbound_control::link::{BesideClassic, Composed, Hold, Law, Link, Returned, Room};
use airbound_control::queue::{AnyQueue, Arrivals, Backlog, Deadline, Demand};
use airbound_control::rate::{AnyRate, LinkStats};
use airbound_units::{ConfigError, Instant, Span};
use airbound_wifi::edca::Category;

use crate::packet::Packet;

/// A queue, optionally a driver's queue below it, and a rate control.
pub(crate) type ComposedLink = Composed<Packet, AnyQueue<Packet>, AnyQueue<Packet>, AnyRate>;

/// Law over any queue.
pub(crate) type LawLink = Law<Packet, AnyQueue<Packet>>;

/// Any link. A branch on its kind costs less than a virtual call.
#[derive(Debug)]
pub(crate) enum AnyLink {
    /// See [`Composed`].
    Composed(Box<ComposedLink>),
    /// See [`Law`].
    Law(Box<LawLink>),
    /// See [`BesideClassic`].
    BesideClassic(Box<BesideClassic<Packet, AnyQueue<Packet>, ComposedLink>>),
}

/// Dispatches a call to the link.
macro_rules! each {
    ($any:expr, $link:ident => $call:expr) => {
        match $any {
            AnyLink::Composed($link) => $call,
            AnyLink::Law($link) => $call,
            AnyLink::BesideClassic($link) => $call,
        }
    };
}

impl AnyLink {
    /// The queue of the scheme.
    pub(crate) const fn queue(&self) -> &AnyQueue<Packet> {
        match self {
            Self::Composed(link) => link.queue(),
            Self::Law(law) => law.queue(),
            Self::BesideClassic(both) => both.law().queue(),
        }
    }

    /// The same, to be changed.
    pub(crate) const fn queue_mut(&mut self) -> &mut AnyQueue<Packet> {
        match self {
            Self::Composed(link) => link.queue_mut(),
            Self::Law(law) => law.queue_mut(),
            Self::BesideClassic(both) => both.law_mut().queue_mut(),
        }
    }

    /// Sets the demand of a flow, or removes it; a queue without demands ignores it.
    pub(crate) fn set_demand(
        &mut self,
        now: Instant,
        flow: FlowId,
        demand: Option<Demand>,
    ) -> Result<(), ConfigError> {
        self.queue_mut().demands_mut().map_or(Ok(()), |demands| demands.set(now, flow, demand))
    }

    /// Returns the verdicts on flows, if Law and a classic link share them.
    pub(crate) fn verdicts(&self) -> Vec<(FlowId, Verdict)> {
        match self {
            Self::Composed(_) | Self::Law(_) => Vec::new(),
            Self::BesideClassic(both) => both.verdicts().collect(),
        }
    }

    /// Law, if it serves some of the traffic.
    pub(crate) const fn law(&self) -> Option<&LawLink> {
        match self {
            Self::Composed(_) => None,
            Self::Law(law) => Some(law),
            Self::BesideClassic(both) => Some(both.law()),
        }
    }
}

impl Hold for AnyLink {
    fn hold(&mut self, now: Instant, station: StationId, held: bool) {
        each!(self, link => link.hold(now, station, held));
    }
}

impl Link<Packet> for AnyLink {
    #[inline]
    fn enqueue(&mut self, now: Instant, packet: Packet, dropped: &mut Vec<Dropped<Packet>>) {
        each!(self, link => link.enqueue(now, packet, dropped));
    }

    #[inline]
    fn enqueue_all(
        &mut self,
        arrivals: &mut impl Arrivals<Packet>,
        dropped: &mut Vec<Dropped<Packet>>,
    ) -> Option<Instant> {
        each!(self, link => link.enqueue_all(arrivals, dropped))
    }

    fn next(
        &mut self,
        now: Instant,
        room: Room,
        dropped: &mut Vec<Dropped<Packet>>,
    ) -> Option<TxDescriptor<Packet>> {
        each!(self, link => link.next(now, room, dropped))
    }

    fn on_report(&mut self, now: Instant, report: TxReport<Packet>, returned: &mut Returned<Packet>) {
        each!(self, link => link.on_report(now, report, returned));
    }

    fn on_received(&mut self, now: Instant, station: StationId, category: Category, airtime: Span) {
        each!(self, link => link.on_received(now, station, category, airtime));
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        each!(self, link => link.on_link_stats(now, station, stats));
    }

    fn limits_all_categories(&self) -> bool {
        each!(self, link => link.limits_all_categories())
    }

    fn has_backlog(&self, category: Category) -> bool {
        each!(self, link => link.has_backlog(category))
    }

    fn backlog(&self) -> Backlog {
        each!(self, link => link.backlog())
    }

    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        each!(self, link => link.on_channel(now, busy, own));
    }

    fn deadline(&self) -> Deadline {
        each!(self, link => link.deadline())
    }
}

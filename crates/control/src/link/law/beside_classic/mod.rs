//! Two links on one hardware queue: Law for latency-sensitive traffic, a classic one for all other traffic.

mod flows;
mod sides;
mod turns;

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use self::flows::Flows;
use super::Classic;
use super::{Law, Link, Returned, Room, TxDescriptor, TxReport};
use crate::classify::Verdict;
use crate::error::ConfigError;
use crate::frame::{Dropped, FlowId, Payload, StationId};
use crate::queue::{Backlog, Deadline, Queue};
use crate::rate::LinkStats;

/// Law as a standby module (Law paper, appendix A): latency-sensitive traffic uses Law, other traffic the stock queues. Both share the
/// hardware, whose limit of PSDUs holds for their sum.
///
/// A packet's link is chosen by its access category ([`Classic::Categories`]) or by the behaviour of its flow ([`Classic::Bulk`]). In both
/// cases the links have separate block-ack agreements and reordering buffers at the receiver, so that retransmissions of the classic link
/// delay no sensitive packet: each category has its own, and within a category the classic link uses the second traffic identifier
/// ([`TxDescriptor::alternate`]). Within a category
/// - the bound of Law's packets is unchanged: a classic PSDU, too, is returned after Limit_h and occupies the air no longer than an
///   aggregate of Law that is tried once, and Law counts it among the PSDUs ahead;
/// - the two links share the airtime in proportion to their flows;
/// - a flow that changes links keeps its order.
#[derive(Debug, Clone)]
pub struct BesideClassic<P, Q, C> {
    law: Law<P, Q>,
    classic: C,
    share: Share<P>,
    out: usize,
}

/// Assignment of packets to the two links.
#[derive(Debug, Clone)]
enum Share<P> {
    /// By category: whether the classic link serves it.
    Categories([bool; 4]),
    /// By flow.
    Flows(Box<Flows<P>>),
}

impl<P: Payload, Q: Queue<P>, C: Link<P>> BesideClassic<P, Q, C> {
    /// Creates both links; the configuration of Law selects the classic traffic.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for a value of [`Classic`] out of range.
    pub fn new(law: Law<P, Q>, classic: C) -> Result<Self, ConfigError> {
        let share = match &law.config().classic {
            Classic::Categories(categories) => {
                Share::Categories(Category::ALL.map(|category| categories.contains(&category)))
            }
            Classic::Bulk(config) => Share::Flows(Box::new(Flows::new(*config)?)),
        };
        Ok(Self { law, classic, share, out: 0 })
    }

    /// The link of latency-sensitive traffic.
    pub const fn law(&self) -> &Law<P, Q> {
        &self.law
    }

    /// The link of latency-sensitive traffic, to set demands.
    pub const fn law_mut(&mut self) -> &mut Law<P, Q> {
        &mut self.law
    }

    /// The link of other traffic.
    pub const fn classic(&self) -> &C {
        &self.classic
    }

    /// Verdicts on all known flows, if flows are classified.
    pub fn verdicts(&self) -> impl Iterator<Item = (FlowId, Verdict)> + '_ {
        let flows = match &self.share {
            Share::Categories(_) => None,
            Share::Flows(flows) => Some(flows),
        };
        flows.into_iter().flat_map(|flows| flows.verdicts())
    }

    /// Whether the classic link alone serves a category.
    const fn is_classic(&self, category: Category) -> bool {
        match &self.share {
            Share::Categories(classic) => classic[category.index()],
            Share::Flows(_) => false,
        }
    }
}

impl<P: Payload, Q: Queue<P>, C: Link<P>> Link<P> for BesideClassic<P, Q, C> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        match &mut self.share {
            Share::Flows(flows) => flows.enqueue(now, packet, &mut self.law, &mut self.classic, dropped),
            Share::Categories(classic) if classic[packet.category().index()] => {
                self.classic.enqueue(now, packet, dropped);
            }
            Share::Categories(_) => self.law.enqueue(now, packet, dropped),
        }
    }

    fn next(&mut self, now: Instant, room: Room, dropped: &mut Vec<Dropped<P>>) -> Option<TxDescriptor<P>> {
        if self.out >= usize::from(self.law.config().psdus_in_hardware) {
            return None;
        }
        let descriptor = match &mut self.share {
            Share::Flows(flows) => flows.next(now, room, &mut self.law, &mut self.classic, dropped),
            Share::Categories(classic) if classic[room.category.index()] => {
                self.classic.next(now, room, dropped)
            }
            Share::Categories(_) => self.law.next(now, room, dropped),
        };
        self.out += usize::from(descriptor.is_some());
        descriptor
    }

    fn on_report(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>) {
        match &mut self.share {
            Share::Flows(flows) => flows.on_report(now, report, &mut self.law, &mut self.classic, returned),
            Share::Categories(classic) if classic[report.descriptor.category.index()] => {
                self.classic.on_report(now, report, returned);
            }
            Share::Categories(_) => self.law.on_report(now, report, returned),
        }
        if returned.retry_now.is_none() {
            self.out = self.out.saturating_sub(1);
        }
    }

    fn on_received(&mut self, now: Instant, station: StationId, category: Category, airtime: Span) {
        match &self.share {
            Share::Flows(_) => {
                self.law.on_received(now, station, category, airtime);
                self.classic.on_received(now, station, category, airtime);
            }
            Share::Categories(_) if self.is_classic(category) => {
                self.classic.on_received(now, station, category, airtime);
            }
            Share::Categories(_) => self.law.on_received(now, station, category, airtime),
        }
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        self.law.on_link_stats(now, station, stats);
        self.classic.on_link_stats(now, station, stats);
    }

    fn hold(&mut self, now: Instant, station: StationId, held: bool) {
        self.law.hold(now, station, held);
        self.classic.hold(now, station, held);
    }

    fn window_start(&self, station: StationId, category: Category) -> u64 {
        self.law.window_start(station, category).min(self.classic.window_start(station, category))
    }

    fn limits_all_categories(&self) -> bool {
        true
    }

    fn has_backlog(&self, category: Category) -> bool {
        match &self.share {
            Share::Flows(flows) => {
                self.law.has_backlog(category)
                    || self.classic.has_backlog(category)
                    || flows.held().packets > 0
            }
            Share::Categories(_) if self.is_classic(category) => self.classic.has_backlog(category),
            Share::Categories(_) => self.law.has_backlog(category),
        }
    }

    fn backlog(&self) -> Backlog {
        let held = match &self.share {
            Share::Flows(flows) => flows.held(),
            Share::Categories(_) => Backlog::default(),
        };
        Backlog::sum([self.law.backlog(), self.classic.backlog(), held])
    }

    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.law.on_channel(now, busy, own);
        self.classic.on_channel(now, busy, own);
    }

    fn deadline(&self) -> Deadline {
        self.law.deadline().min(self.classic.deadline())
    }
}

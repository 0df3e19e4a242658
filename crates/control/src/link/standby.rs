//! Two links over one hardware: a strict one for latency-sensitive categories, a classic one for the others.

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use super::{Grant, Link, Returned, Room, TxReport};
use crate::error::ConfigError;
use crate::payload::{Dropped, FlowId, Payload, StationId};
use crate::queue::{Backlog, Demand};
use crate::rate::LinkStats;

/// Law as a standby module (Law paper, appendix A): latency-sensitive traffic goes through it, the rest through the stock queues, and both
/// meet at the hardware, which holds so many PSDUs of both together.
///
/// Whose a packet is follows from its access category: the block-ack sessions and the receiver's reordering buffers of categories
/// are apart, so that a packet that the classic link sends again and again holds up no sensitive one, and the order
/// within a flow stays what it was, since no flow changes sides.
#[derive(Debug, Clone)]
pub struct Standby<S, C> {
    sensitive: S,
    classic: C,
    /// By category: whether the classic link has it.
    is_classic: [bool; 4],
    most_psdus: usize,
    out: usize,
}

impl<S, C> Standby<S, C> {
    /// `classic` for the categories named, `sensitive` for all others, `most_psdus` (at least 1) in the hardware.
    #[must_use]
    pub fn new(sensitive: S, classic: C, categories: &[Category], most_psdus: usize) -> Self {
        let is_classic = Category::ALL.map(|category| categories.contains(&category));
        Self { sensitive, classic, is_classic, most_psdus: most_psdus.max(1), out: 0 }
    }

    /// The link of the latency-sensitive categories.
    pub const fn sensitive(&self) -> &S {
        &self.sensitive
    }

    /// The link of the others.
    pub const fn classic(&self) -> &C {
        &self.classic
    }

    fn has_classic(&self, category: Category) -> bool {
        self.is_classic[category.index()]
    }
}

impl<P: Payload, S: Link<P>, C: Link<P>> Link<P> for Standby<S, C> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        match self.has_classic(packet.category()) {
            true => self.classic.enqueue(now, packet, dropped),
            false => self.sensitive.enqueue(now, packet, dropped),
        }
    }

    fn next(&mut self, now: Instant, room: Room, dropped: &mut Vec<Dropped<P>>) -> Option<Grant<P>> {
        if self.out >= self.most_psdus {
            return None;
        }
        let grant = match self.has_classic(room.category) {
            true => self.classic.next(now, room, dropped),
            false => self.sensitive.next(now, room, dropped),
        };
        self.out += usize::from(grant.is_some());
        grant
    }

    fn on_report(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>) {
        match self.has_classic(report.grant.category) {
            true => self.classic.on_report(now, report, returned),
            false => self.sensitive.on_report(now, report, returned),
        }
        if returned.retry_now.is_none() {
            self.out = self.out.saturating_sub(1);
        }
    }

    fn on_received(&mut self, now: Instant, station: StationId, category: Category, airtime: Span) {
        match self.has_classic(category) {
            true => self.classic.on_received(now, station, category, airtime),
            false => self.sensitive.on_received(now, station, category, airtime),
        }
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        self.sensitive.on_link_stats(now, station, stats);
        self.classic.on_link_stats(now, station, stats);
    }

    fn set_demand(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) -> Result<(), ConfigError> {
        self.sensitive.set_demand(now, flow, demand)
    }

    fn limits_all_categories(&self) -> bool {
        true
    }

    fn has_backlog(&self, category: Category) -> bool {
        match self.has_classic(category) {
            true => self.classic.has_backlog(category),
            false => self.sensitive.has_backlog(category),
        }
    }

    fn backlog(&self) -> Backlog {
        let (one, other) = (self.sensitive.backlog(), self.classic.backlog());
        Backlog { packets: one.packets + other.packets, bytes: one.bytes + other.bytes }
    }

    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.sensitive.on_channel(now, busy, own);
        self.classic.on_channel(now, busy, own);
    }

    fn channel_deadline(&self) -> Option<Instant> {
        self.sensitive.channel_deadline().into_iter().chain(self.classic.channel_deadline()).min()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.sensitive.next_deadline().into_iter().chain(self.classic.next_deadline()).min()
    }
}

//! Separation by flow: in every category bulk transfers use the classic link, all other flows Law.

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use super::sides::{Route, Side, Sides};
use super::turns::Turns;
use crate::classify::{BulkConfig, BulkDetector, Verdict};
use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, FlowId, Payload, StationId};
use crate::frame::{TxDescriptor, TxReport};
use crate::link::{Law, Link, Returned, Room};
use crate::queue::{Backlog, Queue};

/// Classifies flows, directs them to a link, and shares the hardware between the links.
#[derive(Debug, Clone)]
pub(super) struct Flows<P> {
    detector: BulkDetector,
    sides: Sides<P>,
    turns: Turns,
}

/// The sequence number below which a side has settled everything.
fn settled<P: Payload, Q: Queue<P>, C: Link<P>>(
    law: &Law<P, Q>,
    classic: &C,
) -> impl Fn(Side, StationId, Category) -> u64 {
    |side, station, category| match side {
        Side::Sensitive => law.window_start(station, category),
        Side::Classic => classic.window_start(station, category),
    }
}

impl<P: Payload> Flows<P> {
    pub(super) fn new(config: BulkConfig) -> Result<Self, ConfigError> {
        let detector = BulkDetector::new(config)?;
        Ok(Self { detector, sides: Sides::default(), turns: Turns::default() })
    }

    pub(super) fn verdicts(&self) -> impl Iterator<Item = (FlowId, Verdict)> + '_ {
        self.detector.verdicts()
    }

    pub(super) const fn held(&self) -> Backlog {
        self.sides.held()
    }

    pub(super) fn enqueue<Q: Queue<P>, C: Link<P>>(
        &mut self,
        now: Instant,
        packet: P,
        law: &mut Law<P, Q>,
        classic: &mut C,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        let flow = packet.flow();
        self.detector.on_packet(now, flow, packet.size());
        let wanted = match self.detector.verdict(flow) {
            Verdict::Watched => Side::Sensitive,
            Verdict::Tried | Verdict::Bulk => Side::Classic,
        };
        let before = dropped.len();
        match self.sides.enter(packet, wanted, settled(law, classic)) {
            Route::To(Side::Sensitive, packet) => law.enqueue(now, packet, dropped),
            Route::To(Side::Classic, packet) => classic.enqueue(now, packet, dropped),
            Route::Held => {}
            Route::Refused(packet) => {
                self.detector.on_left(now, flow, true);
                dropped.push(Dropped { packet, reason: DropReason::QueueFull });
                return;
            }
        }
        self.note_dropped(now, dropped, before);
        self.release(now, law, classic, dropped);
    }

    pub(super) fn next<Q: Queue<P>, C: Link<P>>(
        &mut self,
        now: Instant,
        room: Room,
        law: &mut Law<P, Q>,
        classic: &mut C,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<TxDescriptor<P>> {
        let category = room.category;
        loop {
            self.release(now, law, classic, dropped);
            let order = self.turns.order(category, |side| match side {
                Side::Sensitive => law.has_backlog(category),
                Side::Classic => classic.has_backlog(category),
            });
            let before = dropped.len();
            let descriptor = order.into_iter().find_map(|side| match side {
                Side::Sensitive => law.next(now, room, dropped),
                Side::Classic => next_classic(now, room, law, classic, dropped),
            });
            self.note_dropped(now, dropped, before);
            if let Some(descriptor) = descriptor {
                self.sides.hand(&descriptor);
                return Some(descriptor);
            }
            // A dropped packet may have been the last one that a moving flow waited for.
            if !self.release(now, law, classic, dropped) {
                return None;
            }
        }
    }

    pub(super) fn on_report<Q: Queue<P>, C: Link<P>>(
        &mut self,
        now: Instant,
        report: TxReport<P>,
        law: &mut Law<P, Q>,
        classic: &mut C,
        returned: &mut Returned<P>,
    ) {
        let TxReport { descriptor, acknowledged, airtime, handed, ended, .. } = &report;
        let (category, side) = (descriptor.category, Side::of(descriptor));
        let airtime = airtime.unwrap_or(*ended - *handed);
        self.turns.charge(category, side, airtime, self.sides.busy(category, side));
        for (_, mpdu) in descriptor.mpdus.iter().enumerate().filter(|(place, _)| acknowledged.get(*place)) {
            self.detector.on_left(now, mpdu.packet.flow(), false);
            self.sides.leave(&mpdu.packet);
        }
        let before = returned.dropped.len();
        match side {
            Side::Sensitive => law.on_report(now, report, returned),
            Side::Classic => {
                law.take_foreign(now, &report.descriptor);
                classic.on_report(now, report, returned);
            }
        }
        for (mpdu, _) in returned.dropped.iter().skip(before) {
            self.detector.on_left(now, mpdu.packet.flow(), true);
            self.sides.leave(&mpdu.packet);
        }
    }

    /// Accounts for packets that a link dropped, starting at index `from`.
    fn note_dropped(&mut self, now: Instant, dropped: &[Dropped<P>], from: usize) {
        for Dropped { packet, .. } in dropped.iter().skip(from) {
            self.detector.on_left(now, packet.flow(), true);
            self.sides.leave(packet);
        }
    }

    /// Moves flows to the classic side once their last packets on the other side are settled. Returns whether there
    /// were any.
    fn release<Q: Queue<P>, C: Link<P>>(
        &mut self,
        now: Instant,
        law: &Law<P, Q>,
        classic: &mut C,
        dropped: &mut Vec<Dropped<P>>,
    ) -> bool {
        let mut some = false;
        while self.sides.is_moving()
            && let Some(packet) = self.sides.release(settled(law, classic))
        {
            let before = dropped.len();
            classic.enqueue(now, packet, dropped);
            self.note_dropped(now, dropped, before);
            some = true;
        }
        some
    }
}

/// The next PSDU of the classic link. It is limited to the hardware time of one of Law's PSDUs, which preserves the
/// bound.
fn next_classic<P: Payload, Q: Queue<P>, C: Link<P>>(
    now: Instant,
    room: Room,
    law: &mut Law<P, Q>,
    classic: &mut C,
    dropped: &mut Vec<Dropped<P>>,
) -> Option<TxDescriptor<P>> {
    let (limit_h, longest) = (law.config().limit_h, law.config().longest_ppdu(1));
    let room = Room { max_duration: room.max_duration.min(longest), ..room };
    let mut descriptor = classic.next(now, room, dropped)?;
    let limit = descriptor.give_up_after.unwrap_or(Span::MAX).min(limit_h);
    descriptor.give_up_after = Some(limit);
    descriptor.alternate = true;
    law.push_foreign(now, &descriptor, limit);
    Some(descriptor)
}

//! Hardware reports: updates of the averages, and the fate of the MPDUs.

use airbound_units::{Instant, Span};

use super::Law;
use super::config::NeverSent;
use super::controller::Transmission;
use super::hardware::{Place, Pushed};
use super::probe::ProbeOutcome;
use crate::frame::{DropReason, Payload};
use crate::frame::{Mpdu, TxReport};
use crate::link::Returned;
use crate::queue::{Direction, Fact, Queue};

impl<P: Payload, Q: Queue<P>> Law<P, Q> {
    pub(super) fn take_back(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>) {
        self.queue.on(now, Fact::Reported(&report));
        let (station, category) = (report.descriptor.station, report.descriptor.category);
        let Some((pushed, first_since)) = self.hardware.take(now, &report.descriptor) else {
            // This link never pushed the descriptor; its packets must not be lost.
            self.give_up_unknown(now, report, returned);
            return;
        };
        let count = report.descriptor.mpdus.len();
        let arrived = usize::from(report.acknowledged.count()).min(count);
        let end = Transmission {
            rate: pushed.rate,
            time: now.since(first_since),
            mpdus: count,
            arrived: arrived as f64 / count.max(1) as f64,
            sent: !report.used.steps().is_empty(),
            first: pushed.retransmissions == 0,
        };
        self.average(&end);
        self.state.originator(station, category).returned(pushed.sequence);
        self.learn(now, &end, &report, &pushed);

        let TxReport { descriptor, acknowledged, airtime, used, handed, .. } = report;
        let spent = pushed.spent + end.time;
        let permitted = self.stations.of(station, &self.config).controller.permitted(&self.config);
        let counts = end.sent || self.config.never_sent == NeverSent::Failure;
        let again = !counts || pushed.retransmissions < permitted;
        let mut lost = false;
        let mut retries = self.state.take_spare();
        let mut mpdus = descriptor.mpdus;
        for (index, mut mpdu) in mpdus.drain(..).enumerate() {
            if acknowledged.get(index) {
                self.stations.of(station, &self.config).controller.on_delivered();
                continue;
            }
            let too_old = self.is_too_old(now, &mpdu.packet);
            if again && !too_old {
                mpdu.on_returned(used.total_tries(), now.since(handed), arrived == 0);
                retries.push(mpdu);
            } else {
                lost = true;
                let reason = if too_old { DropReason::Expired } else { DropReason::RetryLimit };
                self.drop_returned(now, mpdu, reason, end.sent.then_some(end.rate), returned);
            }
        }
        self.state.give_spare(mpdus);
        if !retries.is_empty() {
            lost |= !self.push_again(now, retries, (&pushed, spent, counts), returned);
        }
        if returned.retry_now.is_none()
            && let Some(round) = pushed.probe
        {
            let retransmissions = pushed.retransmissions;
            let outcome = ProbeOutcome { round, lost, retransmissions, time: spent, mpdus: count };
            self.stations.of(station, &self.config).controller.on_probe(outcome, &self.config);
        }
        self.state.report_window(station, category, returned);
        if let Some(airtime) = airtime {
            self.queue.on(now, Fact::Airtime { station, category, airtime, direction: Direction::Sent });
        }
        self.report_rate(now, station);
        self.update_eligibility(now, station, category);
    }

    /// Updates averages, counts and state (algorithm 1 for a packet returned by the hardware).
    fn learn(&mut self, now: Instant, end: &Transmission, report: &TxReport<P>, pushed: &Pushed) {
        let (waiting, len_max) = (self.in_driver(), self.len_max);
        let too_old = now.since(pushed.born) > self.config.limit_q;
        let peer = self.stations.of(report.descriptor.station, &self.config);
        peer.counts.transmissions += 1;
        peer.counts.retransmissions += u64::from(!end.first);
        peer.counts.failed += u64::from(end.arrived <= 0.0);
        peer.counts.never_sent += u64::from(!end.sent);
        peer.controller.on_transmission(end, &self.config);
        if too_old {
            peer.controller.on_too_old(&self.config);
        } else {
            peer.controller.on_passed(waiting, len_max, &self.config);
        }
    }

    /// Pushes lost MPDUs again, ahead of all others. Returns whether that was possible: not if a PSDU waiting behind would miss
    /// its bound.
    fn push_again(
        &mut self,
        now: Instant,
        mut retries: Vec<Mpdu<P>>,
        (before, spent, counts): (&Pushed, Span, bool),
        returned: &mut Returned<P>,
    ) -> bool {
        let (station, category) = (before.station, before.category);
        let controller = &mut self.stations.of(station, &self.config).controller;
        if counts {
            controller.on_retransmission(before.rate, &self.config);
        }
        let attempt = controller.retransmission_attempt(&self.config, before.probe);
        let (chain, dictated) = self.chain(station, attempt);
        let born = retries.iter().map(|mpdu| mpdu.packet.enqueued()).min().unwrap_or(now);
        let psdu = self.psdu_of(&retries, &chain);
        let exchange = self.exchange(&chain, psdu, dictated);
        let limit = self.limit(now, category, Place::Front, born, exchange);
        if limit < exchange.min(self.config.limit_h) {
            for mpdu in retries.drain(..) {
                self.drop_returned(now, mpdu, DropReason::RetryLimit, Some(before.rate), returned);
            }
            self.state.give_spare(retries);
            return false;
        }
        let sequence = retries.first().map_or(0, |mpdu| mpdu.sequence);
        self.state.originator(station, category).handed(sequence);
        let pushed = Pushed {
            sequence,
            born,
            exchange,
            limit,
            rate: attempt.rate,
            retransmissions: before.retransmissions.saturating_add(u8::from(counts)),
            probe: attempt.probe,
            spent,
            ..*before
        };
        self.hardware.push(now, Place::Front, pushed);
        let descriptor = self.descriptor(station, category, retries, chain, limit);
        self.queue.on(now, Fact::Granted(&descriptor));
        returned.retry_now = Some(descriptor);
        true
    }

    /// Drops a returned packet, after a transmission at the index `sent_at` if it was on the air.
    fn drop_returned(
        &mut self,
        now: Instant,
        mpdu: Mpdu<P>,
        reason: DropReason,
        sent_at: Option<usize>,
        returned: &mut Returned<P>,
    ) {
        self.queue.on(now, Fact::Dropped(&mpdu.packet));
        let (station, category) = (mpdu.packet.station(), mpdu.packet.category());
        self.state.originator(station, category).give_up(mpdu.sequence);
        let peer = self.stations.of(station, &self.config);
        peer.controller.on_lost(sent_at, &self.config);
        match reason {
            DropReason::Expired => peer.counts.expired += 1,
            _ => peer.counts.given_up += 1,
        }
        returned.dropped.push((mpdu, reason));
    }

    /// Returns all packets of a descriptor that this link never made.
    fn give_up_unknown(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>) {
        let TxReport { descriptor, acknowledged, .. } = report;
        for (index, mpdu) in descriptor.mpdus.into_iter().enumerate() {
            if !acknowledged.get(index) {
                self.drop_returned(now, mpdu, DropReason::RetryLimit, None, returned);
            }
        }
    }
}

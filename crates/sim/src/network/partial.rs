//! Steps of a channel whose transmitters do not all hear each other.
//!
//! Exchanges overlap: at each step frames end, exchanges are finished, transmitters that find the channel idle for themselves begin, and
//! answers begin (`airbound_air::partial`).

use airbound_air::channel::AccessId;
use airbound_air::partial::{Ended, PartialChannel};
use airbound_air::propagation::LinkQuality;

use airbound_units::Instant;

use super::{Medium, Network, link_id};
use crate::flow::ACCESS_POINT;

/// Attempts of an RTS without CTS after which its frame is given up: dot11ShortRetryLimit. The count begins anew with each CTS
/// (802.11-2020, 10.3.4.4); that of the data is the link's.
const RTS_LIMIT: u32 = 7;

impl Network {
    /// The channel, if its transmitters do not all hear each other.
    pub(super) fn partial(&mut self) -> Option<&mut PartialChannel> {
        match &mut self.parts.medium {
            Medium::Partial(channel) => Some(channel),
            _ => None,
        }
    }

    /// Draws the losses of control frames of an exchange that has just been started. Each has the quality of the link at its own time, or
    /// that of a receiver that is away.
    #[inline]
    pub(super) fn draw_losses(&mut self, at: AccessId, heard: LinkQuality, is_away: bool) {
        if matches!(self.parts.medium, Medium::Partial(_)) {
            self.draw_losses_of_frames(at, heard, is_away);
        }
    }

    fn draw_losses_of_frames(&mut self, at: AccessId, heard: LinkQuality, is_away: bool) {
        let node = self.node_of(at);
        let parts = &mut self.parts;
        let Medium::Partial(channel) = &mut parts.medium else { return };
        let Some(first) = parts.transmitters[node.index()].hardware[at.category.index()].front() else {
            return;
        };
        let (link, _) = parts.tree.link(node, first.descriptor.station);
        let links = &mut parts.links;
        channel.draw_losses(at.tx, |time| if is_away { heard } else { links.quality(link_id(link), time) });
    }

    /// The earliest time at which a due beacon, or a null frame that waits, can be sent.
    pub(super) fn next_call(&self, channel: &PartialChannel) -> Instant {
        let beacon = self.parts.beacons.filter(|beacons| beacons.due).map(|_| ACCESS_POINT);
        let callers = beacon.into_iter().chain(self.parts.dozers.callers());
        let times = callers.map(|node| channel.next_beacon(self.now, self.tx(node)));
        times.min().unwrap_or(Instant::MAX)
    }

    /// Sends the due beacon and the null frames whose senders may send now.
    pub(super) fn send_uncontended(&mut self) {
        let now = self.now;
        let may = |network: &Self, node| network.parts.medium.next_beacon(now, network.tx(node)) <= now;
        if self.parts.beacons.is_some_and(|beacons| beacons.due) && may(self, ACCESS_POINT) {
            self.transmit_beacon();
        }
        let mut place = 0;
        while let Some(node) = self.parts.dozers.caller(place) {
            if may(self, node) {
                self.transmit_null(place);
            } else {
                place += 1;
            }
        }
    }

    /// Executes what is due now on the channel.
    pub(super) fn step_partial(&mut self) {
        let now = self.now;
        let Some(channel) = self.partial() else { return };
        channel.advance(now);
        while let Some(ended) = self.partial().and_then(PartialChannel::take_ended) {
            self.finish_partial(&ended);
        }
        let access_point = self.tx(ACCESS_POINT);
        while let Some((start, end)) = self.partial().and_then(|channel| channel.take_busy(access_point)) {
            self.note_busy(start, end);
        }
        if self.beacon_is_due() {
            self.send_uncontended();
        }
        let mut winners = std::mem::take(&mut self.winners);
        self.parts.medium.contend(now, &mut winners);
        self.winners = winners;
        self.prepare_winners();
        self.parts.medium.occupy(now);
        self.start_exchanges();
        if let Some(channel) = self.partial() {
            channel.answer(now);
        }
    }

    /// Finishes an exchange: only its end shows whether it collided, how long it was on the air, and whether the PPDU was sent at all.
    pub(super) fn finish_partial(&mut self, ended: &Ended) {
        let Ended { exchange, planned } = ended;
        self.parts.meters.on_attempts(exchange.start, 1, exchange.collided());
        let (node, now) = (self.node_of(exchange.at), self.now);
        let hardware = &mut self.parts.transmitters[node.index()].hardware[exchange.at.category.index()];
        if let Some(first) = hardware.front_mut() {
            first.airtime = (first.airtime + (exchange.timing.end - exchange.start)).saturating_sub(*planned);
            let is_unanswered = exchange.timing.end < exchange.timing.ppdu_start && !first.asks;
            first.unanswered = if is_unanswered { first.unanswered + 1 } else { 0 };
            if is_unanswered && first.unanswered < RTS_LIMIT && !first.is_expired(now) {
                first.transmissions = first.transmissions.saturating_sub(1);
            } else if is_unanswered && !first.descriptor.aggregated {
                // The link gives up what has no retry left.
                first.descriptor.mpdus.iter_mut().for_each(|mpdu| mpdu.retries = u8::MAX);
            }
        }
        self.finish(exchange);
    }
}

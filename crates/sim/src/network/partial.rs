//! Steps of a channel whose transmitters do not all hear each other.
//!
//! Exchanges overlap: at each step frames end, exchanges are finished, transmitters that find the channel idle for themselves begin, and
//! answers begin (`airbound_air::partial`).

use airbound_air::channel::AccessId;
use airbound_air::partial::{Ended, PartialChannel};
use airbound_air::propagation::LinkQuality;

use airbound_units::Instant;

use super::{Medium, Network, Shared, link_id};
use crate::flow::ACCESS_POINT;

/// Attempts of an RTS without CTS after which its frame is given up: dot11ShortRetryLimit. The count begins anew with each CTS
/// (802.11-2020, 10.3.4.4); that of the data is the link's.
const RTS_LIMIT: u32 = 7;

impl Network {
    /// Draws the losses of control frames of an exchange that has just been started. Each has the quality of the link at its own time, or
    /// that of a receiver that is away.
    pub(super) fn draw_losses(
        &mut self,
        shared: &mut Shared,
        at: AccessId,
        heard: LinkQuality,
        is_away: bool,
    ) {
        let node = self.node_of(at);
        let parts = &mut self.parts;
        let Medium::Partial(channel) = &mut shared.medium else { return };
        let Some(first) = parts.transmitters[node.index()].hardware[at.category.index()].front() else {
            return;
        };
        let (link, _) = parts.tree.link(node, first.descriptor.station);
        let links = &mut parts.links;
        channel.draw_losses(at.tx, |time| if is_away { heard } else { links.quality(link_id(link), time) });
    }

    /// The earliest time at which a due beacon, or a null frame that waits, can be sent.
    pub(super) fn next_call(&self, shared: &Shared, channel: &PartialChannel) -> Instant {
        let beacon = self.parts.beacons.filter(|beacons| beacons.due).map(|_| ACCESS_POINT);
        let callers = beacon.into_iter().chain(self.parts.dozers.callers());
        let times = callers.map(|node| channel.next_beacon(shared.now, self.tx(node)));
        times.min().unwrap_or(Instant::MAX)
    }

    /// Sends the due beacon and the null frames whose senders may send now.
    pub(super) fn send_uncontended(&mut self, shared: &mut Shared) {
        let now = shared.now;
        let may =
            |network: &Self, shared: &Shared, node| shared.medium.next_beacon(now, network.tx(node)) <= now;
        if self.parts.beacons.is_some_and(|beacons| beacons.due) && may(self, shared, ACCESS_POINT) {
            self.transmit_beacon(shared);
        }
        let mut place = 0;
        while let Some(node) = self.parts.dozers.caller(place) {
            if may(self, shared, node) {
                self.transmit_null(shared, place);
            } else {
                place += 1;
            }
        }
    }

    /// Finishes an exchange: only its end shows whether it collided, how long it was on the air, and whether the PPDU was sent at all.
    pub(super) fn finish_partial(&mut self, shared: &mut Shared, ended: &Ended) {
        let Ended { exchange, planned } = ended;
        self.parts.meters.on_attempts(exchange.start, 1, exchange.collided());
        let (node, now) = (self.node_of(exchange.at), shared.now);
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
        self.finish(shared, exchange);
    }
}

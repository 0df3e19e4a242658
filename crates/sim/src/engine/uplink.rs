//! Uplinks that stations shape: bunches let out, what reports say of them, and grants of rates over the air.

use airbound_control::frame::StationId;
use airbound_control::frame::TxDescriptor;
use airbound_control::link::Link;
use airbound_senders::allocation::{ReceiverId, Report};
use airbound_units::{BitRate, ByteCount, Instant};

use super::Simulation;
use crate::endpoint::Outgoing;
use crate::flow::Flow;
use crate::flow::allocation::{GRANT_PAYLOAD, ShapedUplink};
use crate::packet::{Kind, Packet};

impl Simulation {
    /// A packet of a shaped uplink came at `at`. It goes with the next frame of the downlink, or when it completes a bunch.
    pub(super) fn hold_back(&mut self, number: usize, at: Instant, packet: Packet) {
        let shaper = &mut self.parts.uplinks[number].shaper;
        shaper.push(packet);
        let bunch = shaper.release();
        self.let_out(number, at, bunch);
    }

    /// A frame with packets of an allocated downlink has come to a station: what its shaper holds may go.
    pub(super) fn on_downlink_frame(&mut self, station: StationId) {
        let parts = &self.parts;
        let own = parts.uplinks.iter().position(|one| parts.flows[one.flow.0 as usize].station == station);
        if let Some(number) = own {
            self.take_in(station);
            let bunch = self.parts.uplinks[number].shaper.on_downlink_frame();
            self.let_out(number, self.now, bunch);
            self.sleep(station);
        }
    }

    fn let_out(&mut self, number: usize, at: Instant, bunch: impl IntoIterator<Item = Packet>) {
        let node = self.shaped_by(number);
        for packet in bunch {
            self.admit(node, at, packet);
        }
    }

    /// An uplink has ended: what came last need not fill a bunch.
    pub(super) fn let_out_rest(&mut self, number: usize) {
        self.take_in(self.shaped_by(number));
        let rest = self.parts.uplinks[number].shaper.flush();
        self.let_out(number, self.now, rest);
    }

    pub(super) fn shaped_by(&self, number: usize) -> StationId {
        self.parts.flows[self.parts.uplinks[number].flow.0 as usize].begins_at()
    }

    /// Adds to the report of an allocated downlink how the uplink of the same station does, if that is shaped.
    pub(super) fn complete_report(&mut self, number: usize, report: &mut Report) {
        let station = self.parts.flows[self.parts.allocated[number].flow.0 as usize].station;
        self.take_in(station);
        let queue = self.uplink_queue(station);
        let parts = &mut self.parts;
        let own = parts.uplinks.iter_mut().find(|one| parts.flows[one.flow.0 as usize].station == station);
        if let Some(uplink) = own {
            uplink.shaper.complete(report, queue);
        }
    }

    /// The payload that waits in the link of a node, if uplinks are shaped at all.
    pub(super) fn uplink_queue(&self, node: StationId) -> ByteCount {
        let Some(any) = self.parts.uplinks.first() else { return ByteCount::ZERO };
        let backlog = self.parts.nodes[node.index()].link.backlog();
        let headers = self.parts.flows[any.flow.0 as usize].headers * backlog.packets as u64;
        ByteCount::new(backlog.bytes.as_u64().saturating_sub(headers))
    }

    /// Tells each station that shapes its uplink the rate that was decided for it.
    pub(super) fn grant(&mut self) {
        for number in 0..self.parts.uplinks.len() {
            let uplink = &mut self.parts.uplinks[number];
            let flow = &self.parts.flows[uplink.grants.0 as usize];
            let Some(proxy) = &self.parts.proxy else { return };
            let rate = proxy.allocator.uplink_rate(ReceiverId(flow.station.0));
            if rate.is_zero() {
                continue;
            }
            let (count, id) = (uplink.sent, uplink.grants);
            uplink.sent += 1;
            let size = GRANT_PAYLOAD + ByteCount::new(flow.headers);
            self.send(Outgoing { flow: id, number: count, kind: Kind::Datagram, tag: rate.as_bps(), size });
        }
    }

    /// A grant has reached its station, which shapes accordingly. One that was overtaken is of no use any more.
    pub(super) fn on_grant(&mut self, number: usize, packet: &Packet) {
        if packet.number < self.parts.uplinks[number].next {
            return;
        }
        let node = self.shaped_by(number);
        self.take_in(node);
        let rate = BitRate::from_bps(packet.tag);
        let parts = &mut self.parts;
        let uplink = &mut parts.uplinks[number];
        uplink.next = packet.number + 1;
        uplink.shaper.set_rate(rate);
        let bunch = uplink.shaper.release();
        let feed = &mut parts.nodes[node.index()].feed;
        feed.set_rate(uplink.flow.0 as usize, self.now, rate, &mut parts.meters);
        self.let_out(number, self.now, bunch);
        self.sleep(node);
    }
}

/// A node has transmitted a descriptor of its link: the shapers at the node learn how many packets of theirs it held, and what is
/// left in its queue.
pub(super) fn note_frame(
    uplinks: &mut [ShapedUplink],
    flows: &[Flow],
    (node, left): (StationId, ByteCount),
    descriptor: &TxDescriptor<Packet>,
) {
    for uplink in uplinks.iter_mut().filter(|uplink| flows[uplink.flow.0 as usize].begins_at() == node) {
        let own = descriptor.mpdus.iter().filter(|mpdu| mpdu.packet.flow == uplink.flow);
        uplink.shaper.on_frame(own.count() as u32, left);
    }
}

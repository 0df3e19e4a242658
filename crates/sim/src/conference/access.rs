//! The access links of a conference: packets enter at one end and leave at the other, later or never.

use airbound_control::frame::DropReason;
use airbound_record::Fate as Outcome;
use airbound_units::{ByteCount, Instant};

use super::config::flow_of;
use super::packet::{Packet, PacketId};
use super::{Conference, Event, Link};
use crate::endpoint::{Outgoing, Passed};
use crate::flow::flow_id;
use crate::path::{Turn, Way};

/// In the tags of a session's packets, which are no caller's.
const SESSION: u64 = 1 << 63;

impl Conference {
    /// Puts a packet in the queue of its transmitter; it is lost if the queue is full.
    pub(super) fn offer(&mut self, mut packet: Packet) {
        let client = &mut self.clients[packet.client];
        let (access, place, size) = (client.access, client.place, packet.size());
        let number = &mut client.offered[usize::from(packet.way == Way::Down)];
        packet.number = *number;
        packet.enqueued = self.now;
        *number += 1;
        let id = self.store.put(packet);
        match &mut self.links[access] {
            Link::Pipe(pipe) => {
                if let Some(tables) = &mut self.tables {
                    tables.on_offered(&packet);
                }
                if !pipe.offer(place, packet.way, id, size) {
                    self.note_dropped(&packet, DropReason::QueueFull);
                    self.lose(id, DropReason::QueueFull);
                }
            }
            Link::Air(network) => {
                let flow = flow_id(flow_of(place, packet.way));
                let (tag, size) = (SESSION | u64::from(id.0), ByteCount::new(u64::from(size)));
                self.sent.push((*network, Outgoing::datagram(flow, packet.number, tag, size)));
            }
        }
    }

    /// Begins a transmission on an idle pipe; networks do that themselves.
    pub(super) fn begin_turn(&mut self, access: usize, way: Way) {
        if let Link::Pipe(pipe) = &mut self.links[access]
            && let Some(Turn { channel, end, .. }) = pipe.begin(way, self.now)
        {
            self.schedule(end, Event::Turn(access, channel));
        }
    }

    /// Ends a transmission on a pipe: the next begins, and the packets arrive.
    pub(super) fn on_turn_end(&mut self, access: usize, channel: usize) {
        let mut arrived = Vec::new();
        if let Link::Pipe(pipe) = &mut self.links[access]
            && let Some(turn) = pipe.end(channel, self.now, &mut arrived)
        {
            self.note_turn(&turn, &arrived);
        }
        let way = if self.spec.access[access].is_split() && channel == 1 { Way::Down } else { Way::Up };
        self.begin_turn(access, way);
        arrived.into_iter().for_each(|id| self.hand_on(id));
    }

    /// Handles the fates of packets in networks.
    pub(crate) fn on_passed(&mut self, now: Instant, passed: &mut Vec<Passed>) {
        self.now = now;
        for Passed { tag, lost, .. } in passed.drain(..) {
            match lost {
                Some(reason) => self.lose(PacketId(tag as u32), reason),
                None => self.hand_on(PacketId(tag as u32)),
            }
        }
    }

    /// Removes a lost packet in transit.
    fn lose(&mut self, id: PacketId, reason: DropReason) {
        if let Some(packet) = self.store.take(id) {
            self.count_loss(&packet, reason);
        }
    }

    /// Counts a lost packet, if its data was sent in the measured time.
    pub(super) fn count_loss(&mut self, packet: &Packet, reason: DropReason) {
        let way = if packet.content.sent().is_some() { packet.way } else { packet.way.other() };
        self.clients[packet.client].stream(way).on_lost(&packet.content);
        if packet.content.sent().is_some_and(|sent| self.measured.contains(sent)) {
            self.meters[packet.client].way(packet.way).dropped[usize::from(reason.code())] += 1;
        }
    }

    /// Passes on a packet that has crossed an access link: one for the server has to cross the wire.
    fn hand_on(&mut self, id: PacketId) {
        if self.store.get(id).is_some_and(|packet| packet.way == Way::Up) {
            self.schedule(self.now + self.spec.delay, Event::AtServer(id));
        } else {
            self.on_arrival(id);
        }
    }

    /// Records the packets of a transmission on a pipe.
    fn note_turn(&mut self, turn: &Turn, ids: &[PacketId]) {
        let Some(tables) = &mut self.tables else { return };
        for packet in ids.iter().filter_map(|id| self.store.get(*id)) {
            tables.on_packet(packet, Some(turn), turn.end, Outcome::Delivered);
        }
    }

    /// Records a packet refused by a full queue of a pipe.
    fn note_dropped(&mut self, packet: &Packet, reason: DropReason) {
        if let Some(tables) = &mut self.tables {
            tables.on_packet(packet, None, self.now, Outcome::Dropped(reason.code()));
        }
    }
}

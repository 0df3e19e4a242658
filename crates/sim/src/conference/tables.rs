//! The rows of packets on the pipes of a conference.

use airbound_record::{Fate, PacketRow};
use airbound_units::{ByteCount, Instant};
use airbound_wifi::Category;

use super::packet::Packet;
use crate::measure::{Audience, Event};
use crate::path::{Turn, Way};

/// Writes them.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) audience: Audience,
    /// The flows of each client in the run, up and down.
    pub(super) flows: Vec<[u32; 2]>,
    /// The number of each client among the stations of the run.
    pub(super) stations: Vec<u16>,
    /// The number of flows of the run.
    pub(super) total: u64,
}

impl Tables {
    /// Notes the fate of a packet on a pipe: carried by `turn`, or dropped.
    pub(super) fn on_packet(&self, packet: &Packet, turn: Option<&Turn>, completed: Instant, fate: Fate) {
        let flow = self.flows[packet.client][usize::from(packet.way == Way::Down)];
        let start = turn.map_or(Instant::MAX, |turn| turn.start);
        let end = turn.map_or(Instant::MAX, |turn| turn.end);
        self.audience.notify(Event::Packet(&PacketRow {
            packet: packet.number * self.total + u64::from(flow),
            flow,
            station: self.stations[packet.client],
            category: Category::Be.index() as u8,
            size: ByteCount::new(u64::from(packet.size())),
            sent: packet.enqueued,
            enqueued: packet.enqueued,
            contending: start,
            first_tx: start,
            last_tx: start,
            received: end,
            delivered: end,
            arrived: end,
            completed,
            fate,
            tries: u8::from(turn.is_some()),
            txop: 0,
        }));
    }
}

//! Packet tables of a conference: rows of its pipes, and those of its networks with the numbers of the run.

use airbound_record::{Fate, FrameRow, HopRow, PacketRow, SeriesRow};
use airbound_units::{ByteCount, Instant};
use airbound_wifi::Category;

use super::packet::Packet;
use crate::measure::{Event, Events, Observer};
use crate::networks::Audience;
use crate::path::{Turn, Way};

/// Writes the rows of packets on pipes.
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

/// An observer of one network of a conference, which passes on all events with the numbers of the run.
pub(super) struct Numbered {
    pub(super) audience: Audience,
    /// The number in the run of each flow of the network.
    pub(super) flows: Vec<u32>,
    /// The number of flows of the run.
    pub(super) total: u64,
}

impl Numbered {
    fn flow(&self, number: u32) -> u32 {
        self.flows[number as usize]
    }

    /// Packet numbers interleave flows, in the network as in the run.
    fn packet(&self, packet: u64) -> u64 {
        let own = self.flows.len() as u64;
        packet / own * self.total + u64::from(self.flow((packet % own) as u32))
    }
}

impl Observer for Numbered {
    fn wants(&self) -> Events {
        self.audience.wants()
    }
    fn on_event(&mut self, event: Event<'_>) {
        let audience = &self.audience;
        match event {
            Event::Packet(row) => audience.notify(Event::Packet(&PacketRow {
                packet: self.packet(row.packet),
                flow: self.flow(row.flow),
                ..*row
            })),
            Event::Hop(row) => {
                audience.notify(Event::Hop(&HopRow { packet: self.packet(row.packet), ..*row }));
            }
            Event::Frame(row) => {
                audience.notify(Event::Frame(&FrameRow { flow: self.flow(row.flow), ..*row }));
            }
            Event::Series(row) => {
                audience.notify(Event::Series(&SeriesRow { flow: self.flow(row.flow), ..*row }));
            }
            Event::Txop(_) | Event::Exchange(_) => audience.notify(event),
        }
    }
}

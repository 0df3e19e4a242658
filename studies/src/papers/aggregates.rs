//! The aggregates that an access point sent and was sent, and the packets of one flow that came in them.

use airbound_record::{Fate, PacketRow, TxopKind, TxopRow};
use airbound_sim::{Event, Events, Observer};
use airbound_units::{BitRate, Instant};

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Aggregate {
    pub(crate) at: Instant,
    /// The station that it was sent to or came from, from 1.
    pub(crate) station: u16,
    pub(crate) mpdus: u16,
    pub(crate) rate: BitRate,
}

/// A packet of the watched flow that was delivered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Arrived {
    /// Unique in the run, and rising within the flow.
    pub(crate) packet: u64,
    /// The end of the exchange that brought it: the same for all packets of a PPDU.
    pub(crate) exchanged: Instant,
}

/// Aggregates and packets that the watch saw.
#[derive(Debug, Clone, Default)]
pub(crate) struct Aggregates {
    pub(crate) sent: Vec<Aggregate>,
    pub(crate) uplink: Vec<Aggregate>,
    /// In the order in which they left the reordering buffer.
    pub(crate) arrived: Vec<Arrived>,
}

/// Keeps those that began at `from` or later.
#[derive(Debug, Clone)]
pub(crate) struct AggregateWatch {
    from: Instant,
    /// Flow whose packets are kept too.
    flow: Option<u32>,
    pub(crate) seen: Aggregates,
}

impl AggregateWatch {
    pub(crate) fn new(from: Instant, flow: Option<u32>) -> Self {
        Self { from, flow, seen: Aggregates::default() }
    }
}

impl AggregateWatch {
    fn on_packet(&mut self, row: &PacketRow) {
        let wanted = self.flow == Some(row.flow) && row.fate == Fate::Delivered && row.completed >= self.from;
        if wanted {
            let arrived = Arrived { packet: row.packet, exchanged: row.completed };
            self.seen.arrived.push(arrived);
        }
    }

    fn on_txop(&mut self, row: &TxopRow) {
        if row.kind != TxopKind::Data || row.start < self.from {
            return;
        }
        let aggregate = |station| Aggregate { at: row.start, station, mpdus: row.mpdus, rate: row.rate };
        if row.transmitter == 0 {
            self.seen.sent.push(aggregate(row.receiver));
        } else if row.receiver == 0 {
            self.seen.uplink.push(aggregate(row.transmitter));
        }
    }
}

impl Observer for AggregateWatch {
    fn wants(&self) -> Events {
        Events { packets: self.flow.is_some(), txops: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Packet(row) => self.on_packet(row),
            Event::Txop(row) => self.on_txop(row),
            _ => {}
        }
    }
}

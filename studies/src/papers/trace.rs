//! Everything that a flow does, packet by packet and transmission by transmission: for pictures of short moments.

use airbound_record::{Fate, FrameRow, PacketRow, TxopRow};
use airbound_sim::{Event, Events, Observer};

/// Events of one flow and of its transmitter.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    /// Packets with their fate, in the order in which it was decided.
    pub(crate) packets: Vec<PacketRow>,
    /// Transmissions of the access point.
    pub(crate) txops: Vec<TxopRow>,
    /// Frames of video with their fate.
    pub(crate) frames: Vec<FrameRow>,
}

/// Keeps a [`Trace`].
#[derive(Debug, Clone, Default)]
pub(crate) struct TraceWatch {
    flow: u32,
    pub(crate) seen: Trace,
}

impl TraceWatch {
    /// Of the flow of this number.
    pub(crate) fn new(flow: u32) -> Self {
        Self { flow, seen: Trace::default() }
    }
}

impl TraceWatch {
    fn on_packet(&mut self, row: &PacketRow) {
        if row.flow == self.flow && row.fate != Fate::Queued {
            self.seen.packets.push(*row);
        }
    }

    fn on_txop(&mut self, row: &TxopRow) {
        if row.transmitter == 0 {
            self.seen.txops.push(*row);
        }
    }

    fn on_frame(&mut self, row: &FrameRow) {
        if row.flow == self.flow {
            self.seen.frames.push(*row);
        }
    }
}

impl Observer for TraceWatch {
    fn wants(&self) -> Events {
        Events { packets: true, txops: true, frames: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Packet(row) => self.on_packet(row),
            Event::Txop(row) => self.on_txop(row),
            Event::Frame(row) => self.on_frame(row),
            _ => {}
        }
    }
}

//! A TCP connection between the server and a station.

use airbound_control::payload::FlowId;
use airbound_control::sender::{Ack, Backlog, TcpReceiver, TcpSender};
use airbound_units::{ByteCount, Instant};

use super::application::Application;

/// Bytes of IPv4 and TCP headers with timestamps on each segment.
pub(crate) const SEGMENT_HEADERS: u64 = 20 + 20 + 12;

/// The two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Sender,
    Receiver,
}

/// Acknowledgements that are under way, by the tag of the packet that carries them.
#[derive(Debug, Default)]
pub(crate) struct AckTable {
    places: Vec<Option<Ack>>,
    free: Vec<u32>,
}

impl AckTable {
    pub(crate) fn put(&mut self, ack: Ack) -> u64 {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(ack);
                u64::from(place)
            }
            None => {
                self.places.push(Some(ack));
                self.places.len() as u64 - 1
            }
        }
    }

    pub(crate) fn take(&mut self, tag: u64) -> Option<Ack> {
        let ack = self.places.get_mut(tag as usize)?.take();
        if ack.is_some() {
            self.free.push(tag as u32);
        }
        ack
    }
}

/// A connection with the application that writes to it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) data: FlowId,
    pub(crate) acknowledgements: FlowId,
    pub(crate) sender: TcpSender,
    pub(crate) receiver: TcpReceiver,
    pub(crate) application: Application,
    pub(crate) in_flight: AckTable,
    /// Bytes that the application has handed over in all.
    pub(crate) written: u64,
    /// Of them, what waits for room in the send buffer: the application is blocked.
    pub(crate) unwritten: ByteCount,
    pub(crate) segments: u64,
    pub(crate) acks: u64,
    /// When the pending timer of each side fires; `Instant::MAX` for none.
    pub(crate) timers: [Instant; 2],
}

impl Connection {
    /// Lets the application write as much of what it has as fits in the send buffer.
    pub(crate) fn fill_buffer(&mut self, now: Instant) {
        if self.unwritten > ByteCount::ZERO {
            self.unwritten -= self.sender.write(now, Backlog::Bytes(self.unwritten));
        }
    }
}

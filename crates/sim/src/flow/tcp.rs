//! A TCP connection between the server and a station.

use std::fmt;

use airbound_control::frame::FlowId;
use airbound_senders::congestion::CustomControl;
use airbound_senders::tcp::{Ack, Backlog, TcpConfig, TcpConfigError, TcpReceiver, TcpSender};
use airbound_units::{ByteCount, Instant};

use super::in_flight::InFlight;
use crate::plugins::{Make, Site};
use airbound_traffic::Application;

/// Bytes of IPv4 and TCP headers with timestamps on each segment.
pub(crate) const SEGMENT_HEADERS: u64 = 20 + 20 + 12;

/// Congestion control from outside, of which each connection of a flow gets its own.
#[derive(Clone)]
pub(crate) struct Control {
    pub(crate) make: Make<dyn CustomControl>,
    pub(crate) site: Site,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Control({})", self.site.name)
    }
}

/// The sending end of a new connection.
pub(crate) fn new_sender(config: &TcpConfig, control: Option<&Control>) -> Result<TcpSender, TcpConfigError> {
    match control {
        Some(Control { make, site }) => TcpSender::with_control(config.clone(), make(site.clone())),
        None => TcpSender::new(config.clone()),
    }
}

/// A connection with the application that writes to it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) data: FlowId,
    pub(crate) acknowledgements: FlowId,
    pub(crate) config: TcpConfig,
    /// What decides the window, if that comes from outside.
    pub(crate) control: Option<Control>,
    pub(crate) sender: TcpSender,
    pub(crate) receiver: TcpReceiver,
    /// Where the byte numbers of the present connection begin: what came before belongs to earlier ones of the same flow.
    pub(crate) base: u64,
    pub(crate) application: Application,
    pub(crate) in_flight: InFlight<Ack>,
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
    /// Begins anew, as a transfer in a connection of its own does. Packets of the old connection that are still under way are
    /// ignored when they arrive.
    pub(crate) fn renew(&mut self) {
        // The configuration was checked when the first connection was made.
        if let (Ok(sender), Ok(receiver)) =
            (new_sender(&self.config, self.control.as_ref()), TcpReceiver::new(&self.config))
        {
            self.sender = sender;
            self.receiver = receiver;
            self.base = self.written;
            self.in_flight.clear();
            self.timers = [Instant::MAX; 2];
        }
    }

    /// Bytes of the flow that arrived in order, in all its connections.
    pub(crate) fn delivered(&self) -> u64 {
        self.base + self.receiver.delivered().as_u64()
    }

    /// Lets the application write as much of what it has as fits in the send buffer.
    pub(crate) fn fill_buffer(&mut self, now: Instant) {
        if self.unwritten > ByteCount::ZERO {
            self.unwritten -= self.sender.write(now, Backlog::Bytes(self.unwritten));
        }
    }
}

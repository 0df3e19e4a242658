//! A TCP connection of the model: the congestion window decides when a frame reaches the access point, and how many are skipped.

use std::collections::BTreeMap;

use airbound_senders::tcp::{Ack, Backlog, Segment, TcpConfig, TcpReceiver, TcpSender};
use airbound_traffic::{Application, Write};
use airbound_units::{ByteCount, Instant};

/// A connection, its two ends and the application that writes to it.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: TcpSender,
    receiver: TcpReceiver,
    application: Application,
    /// Bytes that the application wants to write and has written.
    unwritten: ByteCount,
    written: u64,
    /// Acknowledgements under way, by number.
    acknowledgements: BTreeMap<u64, Ack>,
    acknowledged: u64,
    /// Deadlines of the two ends and of the application that are scheduled; `Instant::MAX` for none.
    pub(crate) scheduled: Instant,
}

impl Connection {
    /// `None` if the configuration is out of range.
    pub(crate) fn new(config: &TcpConfig, application: Application) -> Option<Self> {
        Some(Self {
            sender: TcpSender::new(config.clone()).ok()?,
            receiver: TcpReceiver::new(config).ok()?,
            application,
            unwritten: ByteCount::ZERO,
            written: 0,
            acknowledgements: BTreeMap::new(),
            acknowledged: 0,
            scheduled: Instant::MAX,
        })
    }

    /// Bytes that arrived in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.receiver.delivered().as_u64()
    }

    /// The next time at which it has to be called.
    pub(crate) fn next_deadline(&self) -> Instant {
        let ends = [self.sender.next_deadline(), self.receiver.next_deadline(), self.application.next()];
        ends.into_iter().flatten().min().unwrap_or(Instant::MAX)
    }

    /// Handles what is due at both ends. Returns the number of a delayed acknowledgement.
    pub(crate) fn on_deadline(&mut self, now: Instant) -> Option<u64> {
        if self.application.next().is_some_and(|at| at <= now) {
            let unsent = self.sender.unsent() + self.unwritten;
            let (write, _) = self.application.on_time(now, unsent, self.written);
            match write {
                Write::Nothing => {}
                Write::Unlimited => {
                    self.sender.write(now, Backlog::Unlimited);
                }
                // A transfer in a new connection is modelled as one more of the same.
                Write::Bytes(bytes) | Write::Anew(bytes) => {
                    self.written += bytes.as_u64();
                    self.unwritten += bytes;
                    self.fill(now);
                }
                Write::End => self.sender.end_backlog(),
            }
        }
        if self.sender.next_deadline().is_some_and(|at| at <= now) {
            self.sender.on_deadline(now);
        }
        let due = self.receiver.next_deadline().is_some_and(|at| at <= now);
        let ack = if due { self.receiver.on_deadline(now) } else { None };
        ack.map(|ack| self.keep(ack))
    }

    /// The next segment that may be sent.
    pub(crate) fn next_segment(&mut self, now: Instant) -> Option<Segment> {
        self.sender.poll_transmit(now)
    }

    /// Takes a segment at the receiver. Returns the number of the acknowledgement, if it is made at once.
    pub(crate) fn on_segment(
        &mut self,
        now: Instant,
        offset: u64,
        length: u32,
        sent: Instant,
    ) -> Option<u64> {
        let ack = self.receiver.on_segment(now, offset, length, sent)?;
        self.close_transfer();
        Some(self.keep(ack))
    }

    /// Takes an acknowledgement at the sender.
    pub(crate) fn on_acknowledgement(&mut self, now: Instant, number: u64) {
        if let Some(ack) = self.acknowledgements.remove(&number) {
            self.sender.on_ack(now, &ack);
            self.fill(now);
        }
    }

    /// Writes as much of the application's data as fits in the send buffer.
    fn fill(&mut self, now: Instant) {
        if self.unwritten > ByteCount::ZERO {
            self.unwritten -= self.sender.write(now, Backlog::Bytes(self.unwritten));
        }
    }

    fn close_transfer(&mut self) {
        let arrived = self.delivered();
        if let Application::Transfers { open, .. } = &mut self.application
            && open.is_some_and(|transfer| transfer.end <= arrived)
        {
            *open = None;
        }
    }

    fn keep(&mut self, ack: Ack) -> u64 {
        let number = self.acknowledged;
        self.acknowledged += 1;
        self.acknowledgements.insert(number, ack);
        number
    }
}

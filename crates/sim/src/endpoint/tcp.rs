//! TCP: a connection between the server and a station, and the application that writes to it.

use std::fmt;

use airbound_control::frame::{DropReason, FlowId, Payload};
use airbound_record::SenderRow;
use airbound_senders::congestion::CustomControl;
use airbound_senders::tcp::{Ack, Backlog, TcpConfig, TcpConfigError, TcpReceiver, TcpSender};
use airbound_traffic::{Application, Write};
use airbound_units::{ByteCount, Instant};

use super::in_flight::InFlight;
use super::{Counts, Endpoint, Outbox, Outgoing, Timer};
use crate::packet::{Kind, Packet};
use crate::site::{Make, Site};

/// Bytes of IPv4 and TCP headers with timestamps on each segment.
pub(crate) const SEGMENT_HEADERS: u64 = 20 + 20 + 12;

/// Custom congestion control, one instance for each connection of a flow.
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

/// A connection and the application that writes to it.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) data: FlowId,
    pub(crate) acknowledgements: FlowId,
    pub(crate) config: TcpConfig,
    /// Custom congestion control of the window, if there is one.
    pub(crate) control: Option<Control>,
    pub(crate) sender: TcpSender,
    pub(crate) receiver: TcpReceiver,
    /// Start of the present connection's byte numbers: earlier bytes belong to earlier connections of the flow.
    pub(crate) base: u64,
    pub(crate) application: Application,
    pub(crate) in_flight: InFlight<Ack>,
    /// Payload of the segments that the sender's transmitter holds, if they are bounded.
    pub(crate) below: InFlight<u32>,
    /// Total bytes written by the application.
    pub(crate) written: u64,
    /// Bytes waiting for room in the send buffer: the application is blocked.
    pub(crate) unwritten: ByteCount,
    pub(crate) segments: u64,
    pub(crate) acks: u64,
    /// When the pending timer of each side fires; `Instant::MAX` for none.
    pub(crate) timers: [Instant; 2],
}

impl Connection {
    /// Opens a new connection for the next transfer. Packets of the old connection in transit are ignored when they arrive.
    pub(crate) fn renew(&mut self) {
        // The configuration was checked with the first connection.
        if let (Ok(sender), Ok(receiver)) =
            (new_sender(&self.config, self.control.as_ref()), TcpReceiver::new(&self.config))
        {
            self.sender = sender;
            self.receiver = receiver;
            self.base = self.written;
            self.in_flight.clear();
            self.below.clear();
            self.timers = [Instant::MAX; 2];
        }
    }

    /// Bytes of the flow received in order, over all its connections.
    pub(crate) fn delivered(&self) -> u64 {
        self.base + self.receiver.delivered().as_u64()
    }

    /// Writes as much of the application's data as fits in the send buffer.
    pub(crate) fn fill_buffer(&mut self, now: Instant) {
        if self.unwritten > ByteCount::ZERO {
            self.unwritten -= self.sender.write(now, Backlog::Bytes(self.unwritten));
        }
    }
}

const SENDER: Timer = Timer(0);
const RECEIVER: Timer = Timer(1);
const APPLICATION: Timer = Timer(2);
/// Segments have left the sender's transmitter, which may make room for more.
const LEFT: Timer = Timer(3);

impl Endpoint for Connection {
    fn begin(&mut self, out: &mut Outbox<'_>) {
        self.await_application(out);
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        if packet.kind == Kind::Acknowledgement {
            self.on_acknowledgement(now, packet, out);
        } else {
            self.on_segment(now, packet, out);
        }
    }

    fn on_lost(&mut self, _now: Instant, packet: &Packet, _reason: DropReason, _counts: &mut Counts<'_>) {
        if packet.kind == Kind::Acknowledgement {
            self.in_flight.take(packet.number);
        }
    }

    /// The later fate of a segment that its transmitter has transmitted or dropped does not matter.
    fn on_left(&mut self, packet: &Packet) -> Option<Timer> {
        if !self.counts_below() || packet.kind != Kind::Segment {
            return None;
        }
        if let Some(length) = self.below.take(packet.number) {
            self.sender.on_left(length);
        }
        Some(LEFT)
    }

    fn on_timer(&mut self, now: Instant, timer: Timer, out: &mut Outbox<'_>) {
        if timer == APPLICATION {
            return self.on_application(now, out);
        }
        if timer == LEFT {
            return self.drive(now, out);
        }
        let pending = &mut self.timers[timer.0 as usize];
        if *pending > now {
            return;
        }
        *pending = Instant::MAX;
        if timer == SENDER {
            if self.sender.next_deadline().is_some_and(|at| at <= now) {
                self.sender.on_deadline(now);
            }
            self.drive(now, out);
        } else {
            if self.receiver.next_deadline().is_some_and(|at| at <= now)
                && let Some(ack) = self.receiver.on_deadline(now)
            {
                self.send_ack(ack, out);
            }
            self.set_timer(RECEIVER, self.receiver.next_deadline(), out);
        }
    }

    fn end(&self, counts: &mut Counts<'_>) {
        if let Application::Video(video) = &self.application {
            for frame in &video.pending {
                counts.meters().on_frame_unfinished(self.data, frame.frame, frame.created, frame.size);
            }
        }
    }
}

impl Connection {
    fn on_segment(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        let length = packet.size().as_u64().saturating_sub(SEGMENT_HEADERS) as u32;
        // A late segment of an earlier connection of the flow.
        let Some(seq) = packet.tag.checked_sub(self.base) else { return };
        let before = self.delivered();
        let ack = self.receiver.on_segment(now, seq, length, packet.sent);
        let after = self.delivered();
        if after > before {
            self.on_progress(now, before, after, out);
        }
        if let Some(ack) = ack {
            self.send_ack(ack, out);
        }
        self.set_timer(RECEIVER, self.receiver.next_deadline(), out);
    }

    fn on_acknowledgement(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        let Some(ack) = self.in_flight.take(packet.number) else { return };
        self.sender.on_ack(now, &ack);
        if let Some(round_trip) = self.sender.last_rtt() {
            out.meters().on_round_trip(self.data, now, round_trip);
        }
        out.meters().rows.sender(|| self.state(now));
        self.fill_buffer(now);
        self.drive(now, out);
    }

    /// The sender's state as an acknowledgement left it.
    fn state(&self, now: Instant) -> SenderRow {
        let metrics = self.sender.metrics();
        SenderRow {
            flow: self.data.0,
            at: now,
            rtt: metrics.last_rtt,
            smoothed_rtt: metrics.srtt,
            cwnd: Some(metrics.cwnd),
            ssthresh: metrics.ssthresh,
            in_flight: Some(metrics.in_flight),
            rate: metrics.pacing_rate,
        }
    }

    /// Whether it bounds what its transmitter holds of it.
    pub(crate) const fn counts_below(&self) -> bool {
        self.config.small_queue.is_some()
    }

    /// Handles more bytes in order at the receiver.
    fn on_progress(&mut self, now: Instant, before: u64, after: u64, out: &mut Outbox<'_>) {
        out.counts().delivered(self.data, now, ByteCount::new(after - before));
        match &mut self.application {
            Application::Video(video) => {
                for frame in video.completed(after) {
                    let (number, created, size) = (frame.frame, frame.created, frame.size);
                    out.meters().on_frame_delivered(self.data, number, created, size, now);
                }
            }
            Application::Transfers { size, open, .. } => {
                if let Some(transfer) = open.filter(|transfer| transfer.end <= after) {
                    *open = None;
                    // The record lists a transfer like a video frame.
                    let count = transfer.end / size.as_u64().max(1) - 1;
                    out.meters().on_frame_delivered(self.data, count, transfer.began, *size, now);
                    self.await_application(out);
                }
            }
            Application::Bulk { .. } | Application::Paced { .. } => {}
        }
    }

    fn send_ack(&mut self, ack: Ack, out: &mut Outbox<'_>) {
        let number = self.acks;
        self.acks += 1;
        self.in_flight.put(number, ack);
        out.send(Outgoing {
            flow: self.acknowledgements,
            number,
            kind: Kind::Acknowledgement,
            tag: self.base + ack.cumulative,
            size: ByteCount::new(SEGMENT_HEADERS),
        });
    }

    /// Sends all segments that may be sent now, and sets the sender's timer.
    fn drive(&mut self, now: Instant, out: &mut Outbox<'_>) {
        while let Some(segment) = self.sender.poll_transmit(now) {
            out.send(Outgoing {
                flow: self.data,
                number: self.segments,
                kind: Kind::Segment,
                tag: self.base + segment.seq,
                size: ByteCount::new(u64::from(segment.len) + SEGMENT_HEADERS),
            });
            if self.config.small_queue.is_some() {
                self.below.put(self.segments, segment.len);
            }
            self.segments += 1;
        }
        self.set_timer(SENDER, self.sender.next_deadline(), out);
    }

    /// Sets the timer of a side that may have changed.
    fn set_timer(&mut self, timer: Timer, deadline: Option<Instant>, out: &mut Outbox<'_>) {
        let pending = &mut self.timers[timer.0 as usize];
        if let Some(at) = deadline.filter(|at| *at < *pending) {
            *pending = at;
            out.wake_at(at, timer);
        }
    }

    fn await_application(&self, out: &mut Outbox<'_>) {
        if let Some(at) = self.application.next() {
            out.wake_at(at, APPLICATION);
        }
    }

    fn on_application(&mut self, now: Instant, out: &mut Outbox<'_>) {
        let unsent = self.sender.unsent() + self.unwritten;
        let (write, skipped) = self.application.on_time(now, unsent, self.written);
        if let Some(frame) = skipped {
            out.meters().on_frame_skipped(self.data, frame.frame, frame.created);
        }
        match write {
            Write::Nothing => {}
            Write::Unlimited => {
                self.sender.write(now, Backlog::Unlimited);
                self.drive(now, out);
            }
            Write::Bytes(bytes) | Write::Anew(bytes) => {
                if matches!(write, Write::Anew(_)) {
                    self.renew();
                }
                self.written += bytes.as_u64();
                self.unwritten += bytes;
                out.counts().offered(self.data, now, bytes);
                self.fill_buffer(now);
                self.drive(now, out);
            }
            Write::End => self.sender.end_backlog(),
        }
        self.await_application(out);
    }
}

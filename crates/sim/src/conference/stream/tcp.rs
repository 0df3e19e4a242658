//! Frames over one TCP connection.

use std::collections::VecDeque;

use airbound_senders::conference::TackConfig;
use airbound_senders::tcp::{
    Ack, Backlog, DelayedAck, Segment, TcpConfig, TcpConfigError, TcpReceiver, TcpSender,
};
use airbound_units::{BitRate, ByteCount, Instant};

use super::{Frame, Side};

/// Payload of a packet after the application's own header: 1428 of 1448 bytes.
const PAYLOAD: u64 = 1428;
const SEGMENT: u64 = 1448;

/// Both ends of a connection.
#[derive(Debug)]
pub(super) struct Tcp {
    sender: TcpSender,
    receiver: TcpReceiver,
    /// Written frames that have not arrived completely, each with one above its last byte in the stream.
    frames: VecDeque<(Frame, u64)>,
    written: u64,
    /// The receiver's next acknowledgement.
    ack: Option<Ack>,
}

impl Tcp {
    pub(super) fn new(config: TcpConfig) -> Result<Self, TcpConfigError> {
        Ok(Self {
            receiver: TcpReceiver::new(&config)?,
            sender: TcpSender::new(config)?,
            frames: VecDeque::new(),
            written: 0,
            ack: None,
        })
    }

    /// Writes a frame if the send buffer has room for all of it.
    pub(super) fn write(&mut self, now: Instant, frame: Frame) -> bool {
        let size = frame.bytes.div_ceil(PAYLOAD) * (SEGMENT - PAYLOAD) + frame.bytes;
        if self.sender.room() < ByteCount::new(size) {
            return false;
        }
        self.sender.write(now, Backlog::Bytes(ByteCount::new(size)));
        self.written += size;
        self.frames.push_back((frame, self.written));
        true
    }

    pub(super) fn take_arrived(&mut self) -> Option<Frame> {
        let delivered = self.receiver.delivered().as_u64();
        let whole = self.frames.front().is_some_and(|(_, end)| *end <= delivered);
        if whole { self.frames.pop_front().map(|(frame, _)| frame) } else { None }
    }

    pub(super) fn estimate(&self) -> Option<BitRate> {
        self.sender.bandwidth()
    }

    pub(super) fn unsent(&self) -> ByteCount {
        self.sender.unsent()
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Segment> {
        self.sender.poll_transmit(now)
    }

    pub(super) fn on_segment(&mut self, now: Instant, segment: &Segment) {
        self.ack = self.receiver.on_segment(now, segment.seq, segment.len, segment.sent);
    }

    pub(super) fn take_ack(&mut self) -> Option<Ack> {
        self.ack.take()
    }

    pub(super) fn on_ack(&mut self, now: Instant, ack: &Ack) {
        self.sender.on_ack(now, ack);
    }

    pub(super) fn next_deadline(&self, side: Side) -> Option<Instant> {
        match side {
            Side::Sender => self.sender.next_deadline(),
            Side::Receiver => self.receiver.next_deadline(),
        }
    }

    pub(super) fn on_deadline(&mut self, now: Instant, side: Side) {
        match side {
            Side::Sender => {
                if self.sender.next_deadline().is_some_and(|at| at <= now) {
                    self.sender.on_deadline(now);
                }
            }
            Side::Receiver => self.ack = self.receiver.on_deadline(now),
        }
    }

    /// Adapts the acknowledgements to the rate and the smallest round trip of the path.
    pub(super) fn adapt(&mut self, tack: &TackConfig) {
        let metrics = self.sender.metrics();
        if let (Some(rate), Some(min_rtt)) = (metrics.bandwidth, metrics.min_rtt) {
            let (segments, timeout) = tack.policy(rate, TcpConfig::default().mss, min_rtt);
            self.receiver.set_policy(DelayedAck { segments, timeout, ..DelayedAck::default() });
        }
    }
}

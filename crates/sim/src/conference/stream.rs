//! A stream of video frames over one TCP connection, in one direction between a client and the server.

use std::collections::VecDeque;

use airbound_senders::tcp::{Backlog, TcpConfig, TcpConfigError, TcpReceiver, TcpSender};
use airbound_units::{BitRate, ByteCount, Instant};

/// An end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Sender,
    Receiver,
}

/// A written frame that has not arrived completely.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    /// The client of its camera.
    pub(super) source: usize,
    /// Time of capture.
    pub(super) created: Instant,
    /// Payload in bytes.
    pub(super) bytes: u64,
    /// One above its last byte in the stream.
    end: u64,
    /// The sender's estimate of the path bandwidth in bit/s, 0 for none: the message of one float sent with the frame.
    pub(super) estimate: f64,
}

/// Payload of a packet after the application's own header: 1428 of 1448 bytes.
const PAYLOAD: u64 = 1428;
const SEGMENT: u64 = 1448;

/// Both ends of a stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) sender: TcpSender,
    pub(super) receiver: TcpReceiver,
    frames: VecDeque<Frame>,
    written: u64,
    /// When the pending timer of each side fires; `Instant::MAX` for none.
    pub(super) timers: [Instant; 2],
}

impl Stream {
    pub(super) fn new(config: TcpConfig) -> Result<Self, TcpConfigError> {
        Ok(Self {
            receiver: TcpReceiver::new(&config)?,
            sender: TcpSender::new(config)?,
            frames: VecDeque::new(),
            written: 0,
            timers: [Instant::MAX; 2],
        })
    }

    /// Writes a frame of `bytes` payload if the send buffer has room for all of it.
    pub(super) fn write(&mut self, now: Instant, source: usize, created: Instant, bytes: u64) -> bool {
        let size = bytes.div_ceil(PAYLOAD) * (SEGMENT - PAYLOAD) + bytes;
        if self.sender.room() < ByteCount::new(size) {
            return false;
        }
        let estimate = self.estimate().map_or(0.0, |rate| rate.as_bps() as f64);
        self.sender.write(now, Backlog::Bytes(ByteCount::new(size)));
        self.written += size;
        self.frames.push_back(Frame { source, created, bytes, end: self.written, estimate });
        true
    }

    /// The next complete frame at the receiver.
    pub(super) fn take_arrived(&mut self) -> Option<Frame> {
        let delivered = self.receiver.delivered().as_u64();
        let whole = self.frames.front().is_some_and(|frame| frame.end <= delivered);
        if whole { self.frames.pop_front() } else { None }
    }

    /// The estimated rate of the path.
    pub(super) fn estimate(&self) -> Option<BitRate> {
        self.sender.bandwidth()
    }
}

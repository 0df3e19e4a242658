//! What writes to a TCP connection, and when.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::source::FrameSizes;
use crate::random::Stream;

/// What an application wants to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// Without end.
    Unlimited,
    /// So much.
    Bytes(ByteCount),
    /// So much, in a new connection.
    Anew(ByteCount),
    /// Nothing more, if it wrote without end.
    End,
    /// Nothing.
    Nothing,
}

/// A video frame that was written and has not arrived whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PendingFrame {
    pub(crate) frame: u64,
    pub(crate) created: Instant,
    pub(crate) size: ByteCount,
    /// The byte of the connection that ends it.
    pub(crate) end: u64,
}

/// The application that writes to a connection.
#[derive(Debug)]
pub(crate) enum Application {
    /// A transfer without end.
    Bulk { next: Option<Instant>, stop: Instant },
    /// Writes at a rate, as `iperf3 -b` does: a chunk at a time.
    Paced { next: Instant, stop: Instant, interval: Span, chunk: ByteCount },
    /// Transfers of a size, each in a connection of its own. They begin at exponential intervals; one whose time comes while
    /// the last is under way begins when that has arrived.
    Transfers {
        next: Instant,
        stop: Instant,
        size: ByteCount,
        interval: Span,
        draws: Stream,
        open: Option<Transfer>,
    },
    /// Video frames.
    Video(Video),
}

/// A transfer under way.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transfer {
    pub(crate) began: Instant,
    pub(crate) end: u64,
}

/// A stream of video frames over one connection: the server renders a frame, and writes it at its burst rate. A frame whose
/// time comes while the last is not wholly sent is left out.
#[derive(Debug)]
pub(crate) struct Video {
    pub(crate) interval: Span,
    pub(crate) sizes: FrameSizes,
    pub(crate) burst_rate: BitRate,
    pub(crate) stop: Instant,
    pub(crate) frame: u64,
    pub(crate) next_frame: Instant,
    pub(crate) next_chunk: Instant,
    /// Of the frame being written.
    pub(crate) left: ByteCount,
    /// Written to the connection in all.
    pub(crate) written: u64,
    pub(crate) pending: VecDeque<PendingFrame>,
}

/// A frame that was left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SkippedFrame {
    pub(crate) frame: u64,
    pub(crate) created: Instant,
}

/// Video is written in chunks of four segments: fine enough for any burst rate, and few events.
const CHUNK: ByteCount = ByteCount::new(4 * 1448);

impl Application {
    /// When it wants to be asked next; `None` if only an arrival can wake it, or nothing.
    pub(crate) fn next(&self) -> Option<Instant> {
        match self {
            Self::Bulk { next, .. } => *next,
            Self::Paced { next, stop, .. } => (next < stop).then_some(*next),
            Self::Transfers { next, stop, open, .. } => (open.is_none() && next < stop).then_some(*next),
            Self::Video(video) => {
                let frame = (video.next_frame < video.stop).then_some(video.next_frame);
                let chunk = (video.left > ByteCount::ZERO).then_some(video.next_chunk);
                frame.into_iter().chain(chunk).min()
            }
        }
    }

    /// Its time has come: `unsent` is what the connection has not sent yet, `end` where its data ends.
    pub(crate) fn on_time(
        &mut self,
        now: Instant,
        unsent: ByteCount,
        end: u64,
    ) -> (Write, Option<SkippedFrame>) {
        match self {
            Self::Bulk { next, stop } => {
                if next.is_none_or(|at| now < at) {
                    return (Write::Nothing, None);
                }
                *next = (now < *stop).then_some(*stop);
                (if now < *stop { Write::Unlimited } else { Write::End }, None)
            }
            Self::Paced { next, interval, chunk, .. } => {
                if now < *next {
                    return (Write::Nothing, None);
                }
                *next += *interval;
                // iperf3 blocks while its socket buffer is full and does not catch up beyond it: what the connection
                // cannot take within a tenth of a second is not written.
                let bound = *chunk * (Span::from_millis(100).div_floor(*interval)).max(2);
                (if unsent < bound { Write::Bytes(*chunk) } else { Write::Nothing }, None)
            }
            Self::Transfers { next, size, interval, draws, open, .. } => {
                if open.is_some() || now < *next {
                    return (Write::Nothing, None);
                }
                *open = Some(Transfer { began: *next, end: end + size.as_u64() });
                *next += interval.mul_f64(draws.exponential()).max(Span::from_nanos(1));
                (Write::Anew(*size), None)
            }
            Self::Video(video) => video.on_time(now, unsent),
        }
    }
}

impl Video {
    fn on_time(&mut self, now: Instant, unsent: ByteCount) -> (Write, Option<SkippedFrame>) {
        let mut skipped = None;
        if now >= self.next_frame && self.next_frame < self.stop {
            let (frame, created) = (self.frame, self.next_frame);
            self.frame += 1;
            self.next_frame += self.interval;
            let size = self.sizes.next();
            if self.left > ByteCount::ZERO || unsent > ByteCount::ZERO {
                skipped = Some(SkippedFrame { frame, created });
            } else {
                let end = self.written + size.as_u64();
                self.pending.push_back(PendingFrame { frame, created, size, end });
                self.left = size;
                self.next_chunk = now;
            }
        }
        if self.left > ByteCount::ZERO && now >= self.next_chunk {
            let chunk = self.left.min(CHUNK);
            self.left -= chunk;
            self.written += chunk.as_u64();
            self.next_chunk = now + self.burst_rate.time_for(chunk);
            return (Write::Bytes(chunk), skipped);
        }
        (Write::Nothing, skipped)
    }

    /// Frames that are whole now that the receiver has `delivered` bytes in order.
    pub(crate) fn completed(&mut self, delivered: u64) -> impl Iterator<Item = PendingFrame> + '_ {
        std::iter::from_fn(move || {
            let whole = self.pending.front().is_some_and(|frame| frame.end <= delivered);
            if whole { self.pending.pop_front() } else { None }
        })
    }
}

//! Applications that write to TCP connections.

use std::collections::VecDeque;

use airbound_random::Stream;
use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::FrameSizes;

/// The next write of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Write {
    /// Unlimited data.
    Unlimited,
    /// A number of bytes.
    Bytes(ByteCount),
    /// A number of bytes in a new connection.
    Anew(ByteCount),
    /// End of unlimited data.
    End,
    /// No data.
    Nothing,
}

/// A video frame that has been written and has not arrived completely.
#[derive(Debug, Clone, Copy)]
pub struct PendingFrame {
    /// Its number, from 0.
    pub frame: u64,
    /// The time at which it was created.
    pub created: Instant,
    /// Its size.
    pub size: ByteCount,
    /// The byte of the connection after its last one.
    pub end: u64,
}

/// The application that writes to a connection.
#[derive(Debug)]
pub enum Application {
    /// An unlimited transfer.
    Bulk {
        /// Its start, then its end, then `None`.
        next: Option<Instant>,
        /// Its end.
        stop: Instant,
    },
    /// Writes chunks at a rate, as `iperf3 -b`.
    Paced {
        /// The next write.
        next: Instant,
        /// Its end.
        stop: Instant,
        /// Interval of writes.
        interval: Span,
        /// Bytes of a write.
        chunk: ByteCount,
    },
    /// Transfers of a size, each in a new connection, at exponential intervals. A transfer that is due during the previous one starts
    /// when that has arrived.
    Transfers {
        /// The earliest start of the next transfer.
        next: Instant,
        /// No transfer begins from this time on.
        stop: Instant,
        /// Bytes of a transfer.
        size: ByteCount,
        /// Mean interval of starts.
        interval: Span,
        /// Draws of intervals.
        draws: Stream,
        /// The transfer in progress.
        open: Option<Transfer>,
    },
    /// Video frames.
    Video(Video),
}

/// A transfer in progress.
#[derive(Debug, Clone, Copy)]
pub struct Transfer {
    /// The time at which it was due.
    pub began: Instant,
    /// The byte of the connection that ends it.
    pub end: u64,
}

/// A stream of video frames over one connection: the server renders a frame, and writes it at its burst rate. A frame that is due
/// before the previous one is sent, or has arrived, is skipped.
#[derive(Debug)]
pub struct Video {
    /// Interval of frames.
    pub interval: Span,
    /// Sizes of frames.
    pub sizes: FrameSizes,
    /// Rate of writing a frame.
    pub burst_rate: BitRate,
    /// No frame is created from this time on.
    pub stop: Instant,
    /// Whether frames are skipped until the previous one has arrived, and not only until it is sent.
    pub await_delivery: bool,
    /// Frames so far.
    pub frame: u64,
    /// The time of the next frame.
    pub next_frame: Instant,
    /// The time of the next write.
    pub next_chunk: Instant,
    /// Remaining bytes of the frame being written.
    pub left: ByteCount,
    /// Bytes written to the connection so far.
    pub written: u64,
    /// Frames that have not arrived completely.
    pub pending: VecDeque<PendingFrame>,
}

/// A skipped frame.
#[derive(Debug, Clone, Copy)]
pub struct SkippedFrame {
    /// Its number, from 0.
    pub frame: u64,
    /// The time at which it was due.
    pub created: Instant,
}

/// Size of a write of video, four segments: fine enough for any burst rate, with few events.
const CHUNK: ByteCount = ByteCount::new(4 * 1448);

impl Application {
    /// The time of the next call of [`Application::on_time`]; `None` if there is none before an arrival.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
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

    /// Processes its time: `unsent` bytes are in the connection's buffer, whose data ends at byte `end`.
    pub fn on_time(&mut self, now: Instant, unsent: ByteCount, end: u64) -> (Write, Option<SkippedFrame>) {
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
                // iperf3 blocks while its socket buffer is full and does not catch up: data that the connection cannot accept within
                // 0.1 s is not written.
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
    /// Frames of these sizes at intervals of `interval`, the first at `first`, the last before `stop`, each written at `burst_rate`;
    /// skipped while the previous one is unsent.
    #[must_use]
    pub const fn new(
        first: Instant,
        stop: Instant,
        interval: Span,
        sizes: FrameSizes,
        burst_rate: BitRate,
    ) -> Self {
        Self {
            interval,
            sizes,
            burst_rate,
            stop,
            await_delivery: false,
            frame: 0,
            next_frame: first,
            next_chunk: first,
            left: ByteCount::ZERO,
            written: 0,
            pending: VecDeque::new(),
        }
    }

    /// The creation time and size of the next frame, for a writer that skips none.
    pub fn take_frame(&mut self) -> Option<(Instant, ByteCount)> {
        if self.next_frame >= self.stop {
            return None;
        }
        let frame = (self.next_frame, self.sizes.next());
        self.next_frame += self.interval;
        Some(frame)
    }

    fn on_time(&mut self, now: Instant, unsent: ByteCount) -> (Write, Option<SkippedFrame>) {
        let mut skipped = None;
        if now >= self.next_frame && self.next_frame < self.stop {
            let (frame, created) = (self.frame, self.next_frame);
            self.frame += 1;
            self.next_frame += self.interval;
            let size = self.sizes.next();
            let is_unsent = self.left > ByteCount::ZERO || unsent > ByteCount::ZERO;
            if is_unsent || (self.await_delivery && !self.pending.is_empty()) {
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

    /// Frames completed when the receiver has `delivered` bytes in order.
    pub fn completed(&mut self, delivered: u64) -> impl Iterator<Item = PendingFrame> + '_ {
        std::iter::from_fn(move || {
            let whole = self.pending.front().is_some_and(|frame| frame.end <= delivered);
            if whole { self.pending.pop_front() } else { None }
        })
    }
}

#[cfg(test)]
mod tests {
    use airbound_random::Purpose;

    use super::*;

    /// Writes one frame of 1448 B at once, and asks for the next while it has left the server and not arrived.
    fn second_frame(await_delivery: bool, delivered: u64) -> Option<u64> {
        let sizes = FrameSizes::new(ByteCount::new(1448), 0.0, Stream::new(1, Purpose::FrameSizes, 0));
        let (interval, stop) = (Span::from_millis(33), Instant::ZERO + Span::from_secs(1));
        let video = Video::new(Instant::ZERO, stop, interval, sizes, BitRate::from_mbps(200));
        let mut video = Video { await_delivery, ..video };
        video.on_time(Instant::ZERO, ByteCount::ZERO);
        assert_eq!(video.completed(delivered).count() as u64, delivered / 1448);
        video.on_time(Instant::ZERO + interval, ByteCount::ZERO).1.map(|skipped| skipped.frame)
    }

    #[test]
    fn a_frame_waits_for_the_last_to_be_sent_or_to_arrive() {
        assert_eq!(second_frame(false, 0), None);
        assert_eq!(second_frame(true, 0), Some(1));
        assert_eq!(second_frame(true, 1448), None);
    }
}

//! What waits in a radio, by category: a list for each peer and traffic identifier, served in turn.

use std::collections::VecDeque;

use airbound_sim::scenario::DriverOrder;
use airbound_units::{ByteCount, Instant};

use crate::channel::{Frame, HEAD, Step};

/// A frame in the radio.
#[derive(Debug, Clone)]
pub(crate) struct Mpdu {
    pub(crate) cookie: u32,
    pub(crate) aggregates: bool,
    pub(crate) no_ack: bool,
    pub(crate) probe: bool,
    pub(crate) queued: Instant,
    pub(crate) handed: Instant,
    pub(crate) size: ByteCount,
    /// Tries after which it is given up whatever the chain allows.
    pub(crate) most_tries: u8,
    pub(crate) rates: [Step; 4],
    pub(crate) head: Box<[u8; HEAD]>,
    /// Times that it was part of a PPDU that ended.
    pub(crate) grants: u8,
    /// Times that it was on the air.
    pub(crate) tries: u8,
    /// When it was first part of a PPDU that began to contend, and first on the air.
    pub(crate) contending: Instant,
    pub(crate) first_tx: Instant,
}

impl Mpdu {
    pub(crate) fn of(frame: &Frame) -> Self {
        Self {
            cookie: frame.cookie,
            aggregates: frame.aggregates,
            no_ack: frame.no_ack,
            probe: frame.probe,
            queued: frame.queued,
            handed: frame.at,
            size: ByteCount::new(u64::from(frame.length)),
            most_tries: if frame.most_tries == 0 { u8::MAX } else { frame.most_tries },
            rates: frame.rates,
            head: Box::new(frame.head),
            grants: 0,
            tries: 0,
            contending: Instant::MAX,
            first_tx: Instant::MAX,
        }
    }

    /// Who is to receive it (addr1).
    pub(crate) fn peer(&self) -> [u8; 6] {
        let mut peer = [0; 6];
        peer.copy_from_slice(&self.head[4..10]);
        peer
    }

    /// A QoS data frame with content (802.11-2020, 9.2.4.1.3).
    pub(crate) fn is_qos(&self) -> bool {
        self.head[0] & 0x8c == 0x88
    }

    /// Its traffic identifier; 16 for what has none.
    pub(crate) fn tid(&self) -> u8 {
        if self.is_qos() { self.head[24] & 15 } else { 16 }
    }

    /// Its sequence number.
    pub(crate) fn sequence(&self) -> u16 {
        u16::from_le_bytes([self.head[22], self.head[23]]) >> 4
    }

    /// To more than one.
    pub(crate) fn is_group(&self) -> bool {
        self.head[4] & 1 != 0
    }
}

/// The frames for one peer and traffic identifier.
#[derive(Debug)]
struct Line {
    peer: [u8; 6],
    tid: u8,
    frames: VecDeque<Mpdu>,
}

/// What waits in one category of one radio.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    /// The next to be served first.
    lines: VecDeque<Line>,
}

impl Waiting {
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    pub(crate) fn push(&mut self, mpdu: Mpdu) {
        self.line(&mpdu).frames.push_back(mpdu);
    }

    /// Puts back what came unacknowledged, oldest first, in front of what waits for the same peer.
    pub(crate) fn put_back(&mut self, mpdus: Vec<Mpdu>) {
        for mpdu in mpdus.into_iter().rev() {
            self.line(&mpdu).frames.push_front(mpdu);
        }
    }

    fn line(&mut self, mpdu: &Mpdu) -> &mut Line {
        let (peer, tid) = (mpdu.peer(), mpdu.tid());
        let place = self.lines.iter().position(|line| line.peer == peer && line.tid == tid);
        let place = place.unwrap_or_else(|| {
            self.lines.push_back(Line { peer, tid, frames: VecDeque::new() });
            self.lines.len() - 1
        });
        &mut self.lines[place]
    }

    /// Takes the PPDU of the line whose turn it is: its first frame, and more as long as `fits` says so of the frames together
    /// with one more. The line then waits behind the others.
    pub(crate) fn take(
        &mut self,
        order: DriverOrder,
        mut fits: impl FnMut(&[Mpdu], &Mpdu) -> bool,
    ) -> Vec<Mpdu> {
        let turn = match order {
            DriverOrder::RoundRobin => 0,
            DriverOrder::OldestFirst => {
                let oldest = |(_, line): &(usize, &Line)| line.frames.front().map(|mpdu| mpdu.handed);
                self.lines.iter().enumerate().min_by_key(oldest).map_or(0, |(place, _)| place)
            }
        };
        let Some(mut line) = self.lines.remove(turn) else { return Vec::new() };
        let mut taken: Vec<Mpdu> = line.frames.pop_front().into_iter().collect();
        while let Some(next) = line.frames.front() {
            if !fits(&taken, next) {
                break;
            }
            taken.extend(line.frames.pop_front());
        }
        if !line.frames.is_empty() {
            self.lines.push_back(line);
        }
        taken
    }

    /// Everything, in no matter what order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Mpdu> + '_ {
        self.lines.drain(..).flat_map(|line| line.frames)
    }
}

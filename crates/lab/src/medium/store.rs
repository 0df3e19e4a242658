//! The frames that wait in a radio: a list for each category, peer and traffic identifier. Lists of one category are served in turn.
//!
//! [`Store`] has the calls of a `control::link::Link`: frames enter, the medium asks for the next PPDU, and hands back what became of it.

use std::collections::VecDeque;
use std::mem;

use airbound_scenario::{DriverOrder, Path};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::mpdu::subframe_size;
use airbound_wifi::timing::PpduTiming;
use airbound_wifi::{AckBitmap, Band, Category, Format};

use super::chain;
use crate::channel::{Frame, HEAD, Step};
use crate::rates::rate_of;

/// Frames of the window of a block-ack agreement (802.11-2020, 10.25.6).
const WINDOW: u16 = 64;

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
    /// When its last transmission began, and the number of its TXOP.
    pub(crate) last_tx: Instant,
    pub(crate) txop: u64,
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
            last_tx: Instant::MAX,
            txop: 0,
        }
    }

    /// Address of the receiver (addr1).
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

    /// Whether it is addressed to a group.
    pub(crate) fn is_group(&self) -> bool {
        self.head[4] & 1 != 0
    }

    /// The traffic identifier of a BlockAckReq (802.11-2020, 9.3.1.7); `None` of any other frame.
    pub(crate) fn requested_tid(&self) -> Option<u8> {
        (self.head[0] == 0x84).then_some(self.head[17] >> 4)
    }

    /// Whether no receiver acknowledges it.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.no_ack || self.is_group()
    }
}

/// The frames for one peer and traffic identifier.
#[derive(Debug)]
struct Line {
    peer: [u8; 6],
    tid: u8,
    frames: VecDeque<Mpdu>,
}

/// The frames that wait in a radio.
#[derive(Debug)]
pub(crate) struct Store {
    /// Size of aggregates, order, and when an MPDU is given up.
    path: Path,
    band: Band,
    /// By category; the line that is served next stands first.
    lines: [VecDeque<Line>; 4],
}

impl Store {
    pub(crate) fn new(path: Path, band: Band) -> Self {
        Self { path, band, lines: Default::default() }
    }

    /// Whether frames of a category wait.
    pub(crate) fn has_backlog(&self, category: Category) -> bool {
        !self.lines[category.index()].is_empty()
    }

    /// Takes a frame.
    pub(crate) fn enqueue(&mut self, category: Category, mpdu: Mpdu) {
        self.line(category, &mpdu).frames.push_back(mpdu);
    }

    /// Takes out a BlockAckReq in whose place `later` comes: one for the same receiver and traffic identifier that waits. The later one
    /// names a later start of the window.
    pub(crate) fn replaced_by(&mut self, category: Category, later: &Mpdu) -> Option<Mpdu> {
        let tid = later.requested_tid()?;
        let frames = &mut self.line(category, later).frames;
        let place = frames.iter().position(|mpdu| mpdu.requested_tid() == Some(tid))?;
        frames.remove(place)
    }

    fn line(&mut self, category: Category, mpdu: &Mpdu) -> &mut Line {
        let (peer, tid) = (mpdu.peer(), mpdu.tid());
        let lines = &mut self.lines[category.index()];
        let place = lines.iter().position(|line| line.peer == peer && line.tid == tid);
        let place = place.unwrap_or_else(|| {
            lines.push_back(Line { peer, tid, frames: VecDeque::new() });
            lines.len() - 1
        });
        &mut lines[place]
    }

    /// The MPDUs of the next PPDU of a category, which lasts no longer than `longest` unless it is a single frame; none if nothing
    /// waits. The line that they come from is served after the others.
    pub(crate) fn next(&mut self, category: Category, longest: Span) -> Vec<Mpdu> {
        let lines = &mut self.lines[category.index()];
        let turn = match self.path.driver_order {
            DriverOrder::RoundRobin => 0,
            DriverOrder::OldestFirst => {
                let oldest = |(_, line): &(usize, &Line)| line.frames.front().map(|mpdu| mpdu.handed);
                lines.iter().enumerate().min_by_key(oldest).map_or(0, |(place, _)| place)
            }
        };
        let Some(mut line) = lines.remove(turn) else { return Vec::new() };
        let count =
            aggregate_of(&line.frames, &self.path, self.band, longest.min(self.path.max_ppdu_duration));
        let mpdus = line.frames.drain(..count).collect();
        if !line.frames.is_empty() {
            lines.push_back(line);
        }
        mpdus
    }

    /// Takes back the MPDUs of a PPDU. Those that were not acknowledged and may be tried again wait in front of their line; the
    /// others are returned, each with whether it was acknowledged.
    pub(crate) fn on_report(
        &mut self,
        category: Category,
        mpdus: Vec<Mpdu>,
        acknowledged: AckBitmap,
    ) -> Vec<(Mpdu, bool)> {
        let mut again = Vec::new();
        let mut settled = Vec::new();
        for (place, mut mpdu) in mpdus.into_iter().enumerate() {
            mpdu.grants = mpdu.grants.saturating_add(1);
            let arrived = acknowledged.get(place);
            let given_up = mpdu.grants >= self.path.max_grants || mpdu.tries >= mpdu.most_tries;
            if arrived || !mpdu.aggregates || given_up {
                settled.push((mpdu, arrived));
            } else {
                again.push(mpdu);
            }
        }
        for mpdu in again.into_iter().rev() {
            self.line(category, &mpdu).frames.push_front(mpdu);
        }
        settled
    }

    /// Gives up all that waits.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Mpdu> + use<> {
        mem::take(&mut self.lines).into_iter().flatten().flat_map(|line| line.frames)
    }
}

/// The number of frames at the front of a line that share an A-MPDU.
fn aggregate_of(frames: &VecDeque<Mpdu>, path: &Path, band: Band, longest: Span) -> usize {
    // What tries a rate goes alone, as ath9k does it (xmit.c, `ath_tx_form_aggr`).
    let joins = |mpdu: &Mpdu| mpdu.aggregates && !(mpdu.probe && mpdu.grants == 0);
    let Some(first) = frames.front() else { return 0 };
    let rate = rate_of(chain::step_at(&first.rates, 0));
    if !joins(first) || rate.format() == Format::Legacy {
        return 1;
    }
    let timing = PpduTiming::in_band(rate, band);
    let mut bytes = subframe_size(first.size);
    let fits = |mpdu: &&Mpdu| {
        bytes += subframe_size(mpdu.size);
        let distance = mpdu.sequence().wrapping_sub(first.sequence()) & 0x0fff;
        joins(mpdu) && distance < WINDOW && bytes <= path.max_ampdu_bytes && timing.duration(bytes) <= longest
    };
    let most = usize::from(path.max_ampdu_mpdus).saturating_sub(1);
    1 + frames.iter().skip(1).take(most).take_while(fits).count()
}

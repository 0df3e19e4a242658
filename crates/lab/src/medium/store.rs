//! The queued frames of a radio: a queue for each category, peer and traffic identifier. Queues of a category are served in turn.
//!
//! [`Store`] has the calls of a `control::link::Link`: enqueue a frame, take the next PPDU, report its result.

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

/// Size of the block-ack window (802.11-2020, 10.25.6).
const WINDOW: u16 = 64;

/// A frame in a radio.
#[derive(Debug, Clone)]
pub(crate) struct Mpdu {
    pub(crate) cookie: u32,
    pub(crate) aggregates: bool,
    pub(crate) no_ack: bool,
    pub(crate) probe: bool,
    pub(crate) queued: Instant,
    pub(crate) handed: Instant,
    pub(crate) size: ByteCount,
    /// Limit of tries, besides that of the chain.
    pub(crate) most_tries: u8,
    pub(crate) rates: [Step; 4],
    pub(crate) head: Box<[u8; HEAD]>,
    /// Number of ended PPDUs that it was part of.
    pub(crate) ppdus: u8,
    /// Number of transmissions.
    pub(crate) tries: u8,
    /// Start of the contention of its first PPDU, and of its first transmission.
    pub(crate) contending: Instant,
    pub(crate) first_tx: Instant,
    /// Start of its last transmission, and the number of its TXOP.
    pub(crate) last_tx: Instant,
    pub(crate) txop: u64,
    /// End of the subframe in which it is received; [`Instant::MAX`] if it is not.
    pub(crate) received: Instant,
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
            ppdus: 0,
            tries: 0,
            contending: Instant::MAX,
            first_tx: Instant::MAX,
            last_tx: Instant::MAX,
            txop: 0,
            received: Instant::MAX,
        }
    }

    /// Address of the receiver (addr1).
    pub(crate) fn peer(&self) -> [u8; 6] {
        let mut peer = [0; 6];
        peer.copy_from_slice(&self.head[4..10]);
        peer
    }

    /// Whether it is a QoS data frame with payload (802.11-2020, 9.2.4.1.3).
    pub(crate) fn is_qos(&self) -> bool {
        self.head[0] & 0x8c == 0x88
    }

    /// Its traffic identifier; 16 for frames without one.
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

    /// The traffic identifier of a BlockAckReq (802.11-2020, 9.3.1.7); `None` for other frames.
    pub(crate) fn requested_tid(&self) -> Option<u8> {
        (self.head[0] == 0x84).then_some(self.head[17] >> 4)
    }

    /// Whether it is sent without acknowledgement.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.no_ack || self.is_group()
    }
}

/// The queue of a peer and traffic identifier.
#[derive(Debug)]
struct TidQueue {
    peer: [u8; 6],
    tid: u8,
    frames: VecDeque<Mpdu>,
}

/// The queued frames of a radio.
#[derive(Debug)]
pub(crate) struct Store {
    /// Limits of aggregates, the order of service, and the limit of tries.
    path: Path,
    band: Band,
    /// By category; the first is served next.
    queues: [VecDeque<TidQueue>; 4],
}

impl Store {
    pub(crate) fn new(path: Path, band: Band) -> Self {
        Self { path, band, queues: Default::default() }
    }

    /// Whether frames of a category are queued.
    pub(crate) fn has_backlog(&self, category: Category) -> bool {
        !self.queues[category.index()].is_empty()
    }

    /// Enqueues a frame.
    pub(crate) fn enqueue(&mut self, category: Category, mpdu: Mpdu) {
        self.queue(category, &mpdu).frames.push_back(mpdu);
    }

    /// Removes the queued BlockAckReq that `later` supersedes: that for the same receiver and traffic identifier. The later one has a later
    /// start of the window.
    pub(crate) fn replaced_by(&mut self, category: Category, later: &Mpdu) -> Option<Mpdu> {
        let tid = later.requested_tid()?;
        let frames = &mut self.queue(category, later).frames;
        let place = frames.iter().position(|mpdu| mpdu.requested_tid() == Some(tid))?;
        frames.remove(place)
    }

    fn queue(&mut self, category: Category, mpdu: &Mpdu) -> &mut TidQueue {
        let (peer, tid) = (mpdu.peer(), mpdu.tid());
        let queues = &mut self.queues[category.index()];
        let place = queues.iter().position(|queue| queue.peer == peer && queue.tid == tid);
        let place = place.unwrap_or_else(|| {
            queues.push_back(TidQueue { peer, tid, frames: VecDeque::new() });
            queues.len() - 1
        });
        &mut queues[place]
    }

    /// The MPDUs of the next PPDU of a category, of at most `longest` unless it is a single frame; empty without queued frames. Their queue
    /// moves behind the others.
    pub(crate) fn next(&mut self, category: Category, longest: Span) -> Vec<Mpdu> {
        let queues = &mut self.queues[category.index()];
        let turn = match self.path.driver_order {
            DriverOrder::RoundRobin => 0,
            DriverOrder::OldestFirst => {
                let oldest = |(_, queue): &(usize, &TidQueue)| queue.frames.front().map(|mpdu| mpdu.handed);
                queues.iter().enumerate().min_by_key(oldest).map_or(0, |(place, _)| place)
            }
        };
        let Some(mut queue) = queues.remove(turn) else { return Vec::new() };
        let count =
            aggregate_of(&queue.frames, &self.path, self.band, longest.min(self.path.max_ppdu_duration));
        let mpdus = queue.frames.drain(..count).collect();
        if !queue.frames.is_empty() {
            queues.push_back(queue);
        }
        mpdus
    }

    /// Takes the result of a PPDU. MPDUs to be retried return to the front of their queue; the others are returned, each with whether it
    /// was acknowledged.
    pub(crate) fn on_report(
        &mut self,
        category: Category,
        mpdus: Vec<Mpdu>,
        acknowledged: AckBitmap,
    ) -> Vec<(Mpdu, bool)> {
        if let Some(first) = mpdus.first() {
            self.end_turn(category, first);
        }
        let mut again = Vec::new();
        let mut settled = Vec::new();
        for (place, mut mpdu) in mpdus.into_iter().enumerate() {
            mpdu.ppdus = mpdu.ppdus.saturating_add(1);
            let arrived = acknowledged.get(place);
            let given_up = mpdu.ppdus >= self.path.max_grants || mpdu.tries >= mpdu.most_tries;
            if arrived || !mpdu.aggregates || given_up {
                settled.push((mpdu, arrived));
            } else {
                again.push(mpdu);
            }
        }
        for mpdu in again.into_iter().rev() {
            self.queue(category, &mpdu).frames.push_front(mpdu);
        }
        settled
    }

    /// Moves the queue of a frame behind those that were filled while its PPDU was on the air: what is served in turn is the queue whose
    /// last turn ended first.
    fn end_turn(&mut self, category: Category, mpdu: &Mpdu) {
        let queues = &mut self.queues[category.index()];
        let served = |queue: &TidQueue| queue.peer == mpdu.peer() && queue.tid == mpdu.tid();
        if let Some(queue) = queues.iter().position(served).and_then(|place| queues.remove(place)) {
            queues.push_back(queue);
        }
    }

    /// Removes all queued frames.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Mpdu> + use<> {
        mem::take(&mut self.queues).into_iter().flatten().flat_map(|queue| queue.frames)
    }
}

/// The number of frames at the front of a queue that form an A-MPDU.
fn aggregate_of(frames: &VecDeque<Mpdu>, path: &Path, band: Band, longest: Span) -> usize {
    // Rate probes are not aggregated, as in ath9k (xmit.c, `ath_tx_form_aggr`).
    let joins = |mpdu: &Mpdu| mpdu.aggregates && !(mpdu.probe && mpdu.ppdus == 0);
    let Some(first) = frames.front() else { return 0 };
    let rate = rate_of(chain::step_at(&first.rates, 0));
    if !joins(first) || rate.format() == Format::Legacy {
        return 1;
    }
    // A retransmission at any step keeps the aggregate whole, as in ath9k (xmit.c, `ath_lookup_rate`) and the simulator's drivers.
    let steps = chain::steps(&first.rates).map(|step| PpduTiming::in_band(rate_of(*step), band));
    let timings: Vec<PpduTiming> = steps.collect();
    let within = |bytes| timings.iter().all(|timing| timing.duration(bytes) <= longest);
    let mut bytes = subframe_size(first.size);
    let fits = |mpdu: &&Mpdu| {
        bytes += subframe_size(mpdu.size);
        let distance = mpdu.sequence().wrapping_sub(first.sequence()) & 0x0fff;
        joins(mpdu) && distance < WINDOW && bytes <= path.max_ampdu_bytes && within(bytes)
    };
    let most = usize::from(path.max_ampdu_mpdus).saturating_sub(1);
    1 + frames.iter().skip(1).take(most).take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use airbound_scenario::Preset;

    use super::*;

    fn mpdu(peer: u8, sequence: u16) -> Mpdu {
        let mut head = [0; HEAD];
        (head[0], head[9]) = (0x88, peer);
        [head[22], head[23]] = (sequence << 4).to_le_bytes();
        Mpdu::of(&Frame {
            radio: 0,
            queue: 2,
            aggregates: false,
            no_ack: false,
            beacon: false,
            probe: false,
            cookie: 0,
            at: Instant::ZERO,
            queued: Instant::ZERO,
            length: 1500,
            most_tries: 0,
            rates: [Step { index: 0, tries: 1, flags: 0 }; 4],
            head,
        })
    }

    #[test]
    fn a_queue_that_was_filled_during_a_turn_comes_before_the_one_whose_turn_it_was() {
        let mut store = Store::new(Preset::Mac80211.path(Format::Ht), Band::Ghz5);
        let be = Category::Be;
        for sequence in 0..3 {
            store.enqueue(be, mpdu(2, sequence));
        }
        let on_air = store.next(be, Span::from_millis(5));
        store.enqueue(be, mpdu(1, 0));
        store.on_report(be, on_air, AckBitmap::first(1));
        let peers: Vec<u8> = std::iter::from_fn(|| {
            let next = store.next(be, Span::from_millis(5));
            let peer = next.first().map(|mpdu| mpdu.peer()[5]);
            store.on_report(be, next, AckBitmap::first(1));
            peer
        })
        .collect();
        assert_eq!(peers, [1, 2, 2]);
    }
}

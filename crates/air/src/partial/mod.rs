//! The channel of a collision domain whose transmitters do not all hear each other.
//!
//! [`PartialChannel`] has the face of [`Channel`](crate::channel::Channel) and its rules of backoff, with carrier sense of each
//! transmitter for itself: energy of the frames that it hears, reservations (RTS, CTS and the duration of data frames), EIFS after a
//! frame that it could not decode. Every frame of an exchange is on the air of its own: an answer begins SIFS after its frame whether
//! or not its sender hears others. A frame is lost at a listener if another frame that it hears overlaps it, or if it sends itself; of
//! an aggregate the MPDUs under the overlap are lost, and all if its preamble is.
//!
//! Exchanges overlap, so that the time goes on in steps:
//!
//! | step | call |
//! |---|---|
//! | time of the next step | [`PartialChannel::next_step`] |
//! | at that time | [`PartialChannel::advance`]; [`PartialChannel::take_ended`] until it returns `None` |
//! | then accesses, as on the other channel | [`PartialChannel::contend`], [`PartialChannel::occupy`], [`PartialChannel::transmit`] |
//! | then answers | [`PartialChannel::answer`] |
//!
//! A frame whose response does not begin within 802.11's timeout has failed (802.11-2020, 10.3.2.11); the sender's next AIFS begins
//! with the end of the timeout. Noise is drawn when the frame is sent, as on the other channel.

mod carrier;
mod carriers;
mod exchange;
mod frame;
mod interference;
mod judgement;
mod progress;
mod reception;

use std::cell::Cell;
use std::collections::VecDeque;

use airbound_random::Stream;
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::{Band, Category};

use crate::capture::Capture;
use crate::channel::{AccessId, Exchange, SHORTEST_PPDU, Settled, TxId};
use crate::edca::Edcaf;
use crate::exchange::{ExchangeTiming, Phy, PhyConfig, Ppdu};
use crate::hearing::Hearing;
use crate::loss::Losses;
use crate::propagation::LinkQuality;

use carrier::Carrier;
use carriers::Carriers;
use exchange::Ongoing;
use frame::{Frame, Part};
use reception::Receivers;

/// An effect on an exchange at a time that is known before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    /// No response began.
    Timeout,
    /// Interference ends.
    Calm,
    /// A frame begins, SIFS after the last one.
    Begin(Part),
}

#[derive(Debug)]
struct Pending {
    at: Instant,
    /// The transmitter of the exchange.
    exchange: usize,
    due: Due,
}

/// A step within the channel, in the order of steps at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    FrameEnd,
    Timeout,
    Begin,
}

/// An exchange that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// The exchange; `transmitters` counts the frames that destroyed it, and itself.
    pub exchange: Exchange,
    /// Its duration as announced when it began.
    pub planned: Span,
}

/// One transmitter.
#[derive(Debug)]
struct Node {
    edca: [Edcaf; 4],
    reception: Stream,
    ongoing: Option<Ongoing>,
}

/// Busy periods of a transmitter whose channel load is wanted.
#[derive(Debug)]
struct Watch {
    node: usize,
    /// Start of the busy period, and the end of the last one.
    since: Option<Instant>,
    end: Instant,
    periods: VecDeque<(Instant, Instant)>,
}

/// The channel of a collision domain whose transmitters do not all hear each other.
///
/// Calls in any order are safe. Unknown contention functions and receivers are ignored.
#[derive(Debug)]
pub struct PartialChannel {
    phy: Phy,
    hearing: Hearing,
    /// Wait after a reception with an error, beyond AIFS; zero without EIFS.
    eifs: Span,
    nodes: Vec<Node>,
    /// Carrier sense of each transmitter, which each frame changes, apart from what few of them do.
    carriers: Carriers,
    /// The others that hear each transmitter, in order.
    audiences: Vec<Vec<u16>>,
    /// The transmitters whose contention functions can change by frames of others, in order.
    active: Vec<u16>,
    /// The earliest access, if that is known; [`Instant::MAX`] for never.
    soonest: Cell<Option<Instant>>,
    frames: Vec<Frame>,
    /// Number of frames so far.
    sent: u64,
    losses: Losses,
    /// With capture.
    receivers: Option<Receivers>,
    /// Whether a frame from another ends the wait for a response.
    attentive: bool,
    /// Hazards of the MPDUs of a frame that is judged. Kept for its memory.
    hazards: Vec<f64>,
    /// Transmitters whose wait for a response a frame may end. Kept for its memory.
    waiting: Vec<usize>,
    pending: Vec<Pending>,
    ended: VecDeque<Ended>,
    winners: u16,
    losers: Vec<AccessId>,
    jammed_until: Instant,
    watches: Vec<Watch>,
}

impl PartialChannel {
    /// An idle channel without transmitters, which are numbered as in `hearing`. With `eifs`, a transmitter waits for EIFS instead of
    /// DIFS after a frame that it could not decode (802.11-2020, 10.3.2.3.7).
    #[must_use]
    pub fn new(phy: PhyConfig, eifs: bool, hearing: Hearing) -> Self {
        let phy = Phy::new(phy);
        let band = phy.band();
        Self {
            eifs: if eifs { band.eifs() - band.difs() } else { Span::ZERO },
            phy,
            nodes: Vec::new(),
            carriers: Carriers::new(hearing.is_complete()),
            hearing,
            audiences: Vec::new(),
            active: Vec::new(),
            soonest: Cell::new(None),
            frames: Vec::new(),
            sent: 0,
            losses: Losses::default(),
            receivers: None,
            attentive: false,
            hazards: Vec::new(),
            waiting: Vec::new(),
            pending: Vec::new(),
            ended: VecDeque::new(),
            winners: 0,
            losers: Vec::new(),
            jammed_until: Instant::ZERO,
            watches: Vec::new(),
        }
    }

    /// With capture, before transmitters are added.
    #[must_use]
    pub fn with_capture(mut self, capture: Capture) -> Self {
        self.receivers = Some(Receivers::new(capture));
        self
    }

    /// With control frames that are lost on their own.
    #[must_use]
    pub fn with_losses(mut self, losses: Losses) -> Self {
        self.losses = losses;
        self
    }

    /// With senders whose wait for a response ends with the end of a frame that they detect meanwhile (802.11-2020, 10.3.2.11), and
    /// which need not wait for the timeout any longer.
    #[must_use]
    pub const fn attentive(mut self) -> Self {
        self.attentive = true;
        self
    }

    /// Adds a transmitter with its contention functions, in the order of [`Category::ALL`], and the stream of errors at its receivers.
    pub fn add(&mut self, edca: [Edcaf; 4], reception: Stream) -> TxId {
        let tx = TxId(self.nodes.len() as u16);
        if let Some(receivers) = &mut self.receivers {
            receivers.add();
        }
        let hearing = &self.hearing;
        for (audience, sender) in self.audiences.iter_mut().zip((0..).map(TxId)) {
            if hearing.hears(tx, sender) {
                audience.push(tx.0);
            }
        }
        self.audiences.push((0..tx.0).filter(|listener| hearing.hears(TxId(*listener), tx)).collect());
        self.nodes.push(Node { edca, reception, ongoing: None });
        self.carriers.add();
        self.soonest.set(None);
        tx
    }

    /// Notes the busy periods of a transmitter from now on, for [`PartialChannel::take_busy`].
    pub fn watch(&mut self, tx: TxId) {
        let node = usize::from(tx.0);
        if !self.watches.iter().any(|watch| watch.node == node) {
            let periods = VecDeque::new();
            self.watches.push(Watch { node, since: None, end: Instant::ZERO, periods });
        }
    }

    /// The band: slot and SIFS.
    #[must_use]
    pub const fn band(&self) -> Band {
        self.phy.band()
    }

    /// Durations of exchanges.
    pub const fn phy(&mut self) -> &mut Phy {
        &mut self.phy
    }

    fn node(&self, at: TxId) -> Option<&Node> {
        self.nodes.get(usize::from(at.0))
    }

    fn edcaf(&self, at: AccessId) -> Option<&Edcaf> {
        self.node(at.tx).and_then(|node| node.edca.get(at.category.index()))
    }

    /// A contention function for modification, with the start of its idle period.
    fn edcaf_mut(&mut self, at: AccessId) -> Option<(&mut Edcaf, Option<Instant>)> {
        let node = self.nodes.get_mut(usize::from(at.tx.0))?;
        self.soonest.set(None);
        if let Err(place) = self.active.binary_search(&at.tx.0) {
            self.active.insert(place, at.tx.0);
        }
        let idle_since = self.carriers.get(usize::from(at.tx.0)).and_then(Carrier::idle_since);
        node.edca.get_mut(at.category.index()).map(|edcaf| (edcaf, idle_since))
    }

    /// Ends the idle period of a transmitter: freezes its counters, deducting the elapsed slots.
    fn freeze(&mut self, number: usize, now: Instant) {
        self.soonest.set(None);
        let since = self.carriers.get_mut(number).and_then(Carrier::occupy);
        if let Some(since) = since
            && self.active.binary_search(&(number as u16)).is_ok()
            && let Some(node) = self.nodes.get_mut(number)
        {
            node.edca.iter_mut().for_each(|edcaf| edcaf.on_busy(since, now));
        }
    }

    /// The earliest access of a transmitter if nothing else happens.
    fn access_of(&self, number: u16) -> Option<Instant> {
        let number = usize::from(number);
        let since = self.carriers.get(number).and_then(Carrier::idle_since)?;
        self.nodes.get(number)?.edca.iter().filter_map(|edcaf| edcaf.access(since)).min()
    }

    /// Whether a contention function has frames to send.
    #[must_use]
    pub fn is_ready(&self, at: AccessId) -> bool {
        self.edcaf(at).is_some_and(Edcaf::is_ready)
    }

    /// Whether each contention function of a transmitter has frames to send, in the order of [`Category::ALL`].
    #[must_use]
    pub fn ready(&self, tx: TxId) -> [bool; 4] {
        self.node(tx).map_or([false; 4], |node| node.edca.each_ref().map(Edcaf::is_ready))
    }

    /// The time since which a contention function has frames to send.
    #[must_use]
    pub fn ready_since(&self, at: AccessId) -> Option<Instant> {
        self.edcaf(at).and_then(Edcaf::ready_since)
    }

    /// The longest PPDU that a contention function may send at its next access.
    #[must_use]
    pub fn longest_ppdu(&self, at: AccessId) -> Span {
        self.phy.longest_ppdu(self.edcaf(at).map_or(Span::ZERO, Edcaf::txop_limit))
    }

    /// Marks a contention function as having frames since `now`, which may be in the past.
    pub fn set_ready(&mut self, now: Instant, at: AccessId) {
        if let Some((edcaf, idle_since)) = self.edcaf_mut(at) {
            edcaf.set_ready(now, idle_since.filter(|since| *since <= now));
        }
    }

    /// Marks a contention function as having no frames; a backoff continues without a frame.
    pub fn clear_ready(&mut self, at: AccessId) {
        if let Some((edcaf, _)) = self.edcaf_mut(at) {
            edcaf.clear_ready();
        }
    }

    /// Resets the window after a frame was given up during its backoff.
    pub fn reset_window(&mut self, at: AccessId) {
        if let Some((edcaf, _)) = self.edcaf_mut(at) {
            edcaf.on_time_limit();
        }
    }

    /// Changes AIFSN and the smallest window of a contention function; see [`Edcaf::set_access`].
    pub fn set_access(&mut self, at: AccessId, aifsn: u8, cw_min: u16) {
        let aifs = self.band().aifs(aifsn);
        if let Some((edcaf, _)) = self.edcaf_mut(at) {
            edcaf.set_access(aifs, cw_min);
        }
    }

    /// The earliest access if nothing else happens; [`Instant::MAX`] for never.
    fn next_access(&self) -> Instant {
        let access = self.soonest.get().unwrap_or_else(|| {
            let access = self.active.iter().filter_map(|number| self.access_of(*number)).min();
            access.unwrap_or(Instant::MAX)
        });
        self.soonest.set(Some(access));
        access
    }

    /// The time of the next access or of the next step of an exchange; [`Instant::MAX`] for never.
    #[must_use]
    pub fn next_step(&self, now: Instant) -> Instant {
        let frames = self.frames.iter().map(|frame| frame.end);
        let pending = self.pending.iter().map(|pending| pending.at);
        let access = self.next_access();
        let next = frames.chain(pending).min().map_or(access, |step| step.min(access));
        if self.ended.is_empty() { next.max(now) } else { now }
    }

    /// The time at which a transmitter can send a beacon, after PIFS (802.11-2020, 10.3.2.3.4); [`Instant::MAX`] while the channel is
    /// busy for it.
    #[must_use]
    pub fn next_beacon(&self, now: Instant, tx: TxId) -> Instant {
        let band = self.phy.band();
        let idle_since = self.carriers.get(usize::from(tx.0)).and_then(Carrier::idle_since);
        idle_since.map_or(Instant::MAX, |since| now.max(since + band.sifs() + band.slot()))
    }

    /// Ends all frames that end by `now`, and the waits for responses that do not come. Frames that would begin at `now` itself do not
    /// begin yet: accesses at the same instant precede them, as no transmitter senses a frame at the instant of its start.
    pub fn advance(&mut self, now: Instant) {
        self.run(now, Step::Timeout);
    }

    /// Begins the answers, and the PPDUs after a CTS, that are due at `now`.
    pub fn answer(&mut self, now: Instant) {
        self.run(now, Step::Begin);
    }

    /// Determines the contention functions that transmit at `now`, in the order of their numbers. Of several categories of a transmitter
    /// the highest wins; the others behave as after a collision (802.11-2020, 10.23.2.4) once [`PartialChannel::occupy`] is called.
    pub fn contend(&mut self, now: Instant, winners: &mut Vec<AccessId>) {
        winners.clear();
        self.losers.clear();
        self.winners = 0;
        if self.next_access() > now {
            return;
        }
        let nodes = &self.nodes;
        self.active.retain(|number| {
            nodes.get(usize::from(*number)).is_some_and(|node| node.edca.iter().any(Edcaf::is_active))
        });
        for number in self.active.iter().map(|number| usize::from(*number)) {
            let Some((node, since)) =
                nodes.get(number).zip(self.carriers.get(number).and_then(Carrier::idle_since))
            else {
                continue;
            };
            let first = winners.len();
            for category in Category::ALL {
                let is_due = node.edca[category.index()].access(since).is_some_and(|access| access <= now);
                if is_due {
                    winners.push(AccessId { tx: TxId(number as u16), category });
                }
            }
            let last = winners.len().saturating_sub(1).max(first);
            self.losers.extend(winners.drain(first..last));
        }
        self.winners = winners.len() as u16;
    }

    /// Withdraws a winner that has no frame; other categories of its transmitter lost to it nevertheless.
    pub fn withdraw(&mut self, at: AccessId) {
        self.clear_ready(at);
        self.winners = self.winners.saturating_sub(1);
        while let Some(place) = self.losers.iter().position(|loser| loser.tx == at.tx) {
            let loser = self.losers.swap_remove(place);
            self.settle(loser, Settled::Retry);
        }
    }

    /// Draws new backoffs for the losers of internal collisions; the winners transmit next.
    pub fn occupy(&mut self, now: Instant) {
        while let Some(loser) = self.losers.pop() {
            self.freeze(usize::from(loser.tx.0), now);
            self.settle(loser, Settled::Retry);
        }
    }

    /// Number of transmitters of this access.
    #[must_use]
    pub const fn transmitters(&self) -> u16 {
        self.winners
    }

    /// Transmits the PPDU of a winner to a receiver; `sizes` are those of its MPDUs. A receiver that is the transmitter itself stands
    /// for one near it that is no transmitter. Returns the times of the exchange if nothing fails; it does not take place if the
    /// contention function or the receiver is unknown, or the transmitter's last exchange goes on.
    pub fn transmit(
        &mut self,
        now: Instant,
        (at, to): (AccessId, TxId),
        ppdu: &Ppdu,
        sizes: impl Iterator<Item = ByteCount> + Clone,
        quality: LinkQuality,
    ) -> ExchangeTiming {
        let timing = self.phy.timing(now, ppdu, quality);
        let limit = self.edcaf(at).map_or(Span::ZERO, Edcaf::txop_limit);
        if self.start(now, (at, to), (now, now + limit), ppdu, sizes, (quality, timing)) {
            let first = self.first_part(usize::from(at.tx.0));
            self.begin_part(now, usize::from(at.tx.0), first);
        }
        timing
    }

    /// Decides which control frames of a transmitter's exchange, which has just been started, noise destroys; `quality` is that of its
    /// link at the start of each. Without losses of their own nothing is asked or drawn.
    pub fn draw_losses(&mut self, tx: TxId, quality: impl FnMut(Instant) -> LinkQuality) {
        let Some(node) = self.nodes.get_mut(usize::from(tx.0)) else { return };
        if let Some(ongoing) = &mut node.ongoing
            && self.losses != Losses::default()
        {
            ongoing.lost = ongoing.draw_losses(&mut self.phy, &self.losses, quality, &mut node.reception);
        }
    }

    /// Starts an exchange whose first frame follows. Returns whether it can.
    fn start(
        &mut self,
        now: Instant,
        (at, to): (AccessId, TxId),
        (start, txop_end): (Instant, Instant),
        ppdu: &Ppdu,
        sizes: impl Iterator<Item = ByteCount> + Clone,
        (quality, timing): (LinkQuality, ExchangeTiming),
    ) -> bool {
        let (number, to) = (usize::from(at.tx.0), usize::from(to.0));
        let sifs = self.phy.band().sifs();
        let known = to < self.nodes.len();
        let Some(node) = self.nodes.get_mut(number).filter(|node| known && node.ongoing.is_none()) else {
            return false;
        };
        let mut ongoing = Ongoing::new((at, to), (start, txop_end), ppdu, sizes.clone(), timing, sifs);
        let draws = &mut node.reception;
        ongoing.received = match self.losses.answers {
            None => self.phy.outcome(ppdu, sizes, quality, draws),
            Some(_) => self.phy.arrivals(ppdu, sizes, quality, draws),
        };
        if let LinkQuality::Snr(snr) = quality {
            ongoing.noise = 1.0 / snr.linear().max(1e-30);
        }
        node.ongoing = Some(ongoing);
        self.freeze(number, now);
        if let Some(carrier) = self.carriers.get_mut(number) {
            carrier.engaged = true;
        }
        true
    }

    /// The next busy period of a watched transmitter, interference included, that has ended. Each is returned once.
    pub fn take_busy(&mut self, tx: TxId) -> Option<(Instant, Instant)> {
        let watch = self.watches.iter_mut().find(|watch| watch.node == usize::from(tx.0));
        watch.and_then(|watch| watch.periods.pop_front())
    }

    /// Whether a frame is on the air.
    #[must_use]
    pub fn is_transmitting(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Whether an exchange of a contention function goes on.
    #[must_use]
    pub fn is_on_air(&self, at: AccessId) -> bool {
        self.ongoing(usize::from(at.tx.0)).is_some_and(|ongoing| ongoing.at == at)
    }

    /// The next exchange that has ended, in order of their ends. Each is returned once, with its outcome.
    pub fn take_ended(&mut self) -> Option<Ended> {
        self.ended.pop_front()
    }

    /// Reports the outcome of an exchange to its contention function.
    pub fn settle(&mut self, at: AccessId, result: Settled) {
        let Some((edcaf, _)) = self.edcaf_mut(at) else { return };
        match result {
            Settled::Success => edcaf.on_success(),
            Settled::Retry => edcaf.on_failure(),
            Settled::GaveUp => edcaf.on_give_up(),
        }
    }

    /// The start of the next exchange of the TXOP of an exchange that ended at `now`, and its longest PPDU; `None` if the TXOP has no
    /// room for one.
    #[must_use]
    pub fn txop_room(&self, now: Instant, ended: &Exchange) -> Option<(Instant, Span)> {
        let start = now + self.phy.band().sifs();
        if ended.txop_end <= start {
            return None;
        }
        let longest = self.phy.longest_ppdu(ended.txop_end - start);
        (longest >= SHORTEST_PPDU).then_some((start, longest))
    }

    /// Transmits the next PPDU of the category, SIFS after the exchange that ended at `now`, if its whole exchange fits into the TXOP
    /// (802.11-2020, 10.23.2.8). Returns the times of the exchange if nothing fails; `None` if it does not fit.
    pub fn continue_txop(
        &mut self,
        now: Instant,
        (ended, to): (&Exchange, TxId),
        ppdu: &Ppdu,
        sizes: impl Iterator<Item = ByteCount> + Clone,
        quality: LinkQuality,
    ) -> Option<ExchangeTiming> {
        let start = now + self.phy.band().sifs();
        let timing = self.phy.timing(start, ppdu, quality);
        let fits = timing.end <= ended.txop_end;
        if !fits || !self.start(now, (ended.at, to), (start, ended.txop_end), ppdu, sizes, (quality, timing))
        {
            return None;
        }
        let exchange = usize::from(ended.at.tx.0);
        let first = self.first_part(exchange);
        self.follow(now, exchange, first);
        Some(timing)
    }

    /// Sends a frame of `tx` without contention from `now` to `until`, such as a beacon.
    pub fn hold(&mut self, now: Instant, until: Instant, tx: TxId) {
        let from = usize::from(tx.0);
        if from < self.nodes.len() {
            let frame = self.frame(Part::Beacon, (from, from, from), (now, until.max(now)), until);
            self.begin(now, frame);
        }
    }

    /// Keeps the channel busy for all until `until` by interference; exchanges go on.
    pub fn jam(&mut self, now: Instant, until: Instant) {
        if until <= self.jammed_until.max(now) {
            return;
        }
        self.jammed_until = until;
        for number in 0..self.nodes.len() {
            if let Some(since) = self.carriers.get(number).and_then(Carrier::idle_since) {
                self.freeze(number, now);
                // Not before reservations and EIFS permit it, either.
                if let Some(carrier) = self.carriers.get_mut(number) {
                    carrier.resume(since.max(until));
                }
            }
        }
        self.note_busy(now);
        self.pending.push(Pending { at: until, exchange: usize::MAX, due: Due::Calm });
    }
}

//! The channel of a collision domain: contention, transmissions and their outcome.
//!
//! [`Channel`] is sans-I/O: it has no loop, no clock and no seed. The caller asks for the next access, lets the transmitters contend at
//! that time, transmits the winners' PPDUs, and takes the exchanges when they end:
//!
//! | step | call |
//! |---|---|
//! | frames are queued | [`Channel::set_ready`] |
//! | time of the next access | [`Channel::next_access`] |
//! | at that time | [`Channel::contend`]; [`Channel::withdraw`] for a winner without a frame; [`Channel::occupy`] |
//! | each winner | [`Channel::transmit`] |
//! | at [`Channel::busy_until`] | [`Channel::take_ended`] until it returns `None`; [`Channel::settle`] for each exchange |
//! | a TXOP continues | [`Channel::txop_room`], [`Channel::continue_txop`] |
//! | the channel is idle | [`Channel::release`] |
//!
//! Random numbers are drawn in [`Channel::transmit`]; the outcome is settled in [`Channel::take_ended`], since interference may arrive
//! while a PPDU is on the air. All transmitters sense each other: a collision is two or more that begin at the same instant.
//! Those that do not all hear each other have a channel of their own, [`crate::partial`].
//!
//! Calls in any order and with any [`AccessId`] are safe. Unknown contention functions are ignored; a PPDU that has not won an access
//! is transmitted nevertheless.

use std::cell::Cell;
use std::collections::VecDeque;

use airbound_random::Stream;
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::{AckBitmap, Band, Category, Rate};

use crate::edca::Edcaf;
use crate::exchange::{ExchangeTiming, Phy, PhyConfig, Ppdu};
use crate::propagation::LinkQuality;

/// Shortest PPDU limit with which a TXOP is continued.
pub(crate) const SHORTEST_PPDU: Span = Span::from_micros(100);

/// A transmitter of a channel, numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TxId(pub u16);

/// One access category of a transmitter: a contention function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessId {
    /// The transmitter.
    pub tx: TxId,
    /// The access category.
    pub category: Category,
}

impl AccessId {
    const fn index(self) -> usize {
        self.tx.0 as usize * 4 + self.category.index()
    }

    const fn of(index: u32) -> Self {
        Self { tx: TxId((index / 4) as u16), category: Category::ALL[index as usize % 4] }
    }
}

/// An exchange that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// The contention function that sent it.
    pub at: AccessId,
    /// Rate of the PPDU.
    pub rate: Rate,
    /// Start of the first frame, RTS or data.
    pub start: Instant,
    /// The times of its parts; a collided exchange ends with its first frame.
    pub timing: ExchangeTiming,
    /// Number of transmitters that began at the same time, itself included; more than one is a collision.
    pub transmitters: u16,
    /// MPDUs that were received.
    pub received: AckBitmap,
    /// MPDUs whose acknowledgement was received; equals `received`, since acknowledgements are not lost on their own.
    pub acknowledged: AckBitmap,
    /// End of the TXOP that it is part of.
    pub txop_end: Instant,
}

impl Exchange {
    /// Whether it collided.
    #[must_use]
    pub const fn collided(&self) -> bool {
        self.transmitters > 1
    }
}

/// The outcome of an exchange for the contention function (802.11-2020, 10.23.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// Acknowledged, or no acknowledgement was requested.
    Success,
    /// No acknowledgement was received.
    Retry,
    /// The frame was given up after failures.
    GaveUp,
}

/// An exchange on the air.
#[derive(Debug)]
struct OnAir {
    exchange: Exchange,
    /// The medium is busy with it until this time.
    until: Instant,
}

/// The channel of one collision domain.
///
/// ```
/// use airbound_air::channel::{AccessId, Channel, Settled};
/// use airbound_air::edca::Edcaf;
/// use airbound_air::exchange::{Answer, PhyConfig, Ppdu};
/// use airbound_air::propagation::LinkQuality;
/// use airbound_random::{Purpose, Stream};
/// use airbound_units::{ByteCount, Decibel, Instant, Span};
/// use airbound_wifi::error::Decoding;
/// use airbound_wifi::{Band, Basic, Category, ControlTiming, EdcaParameters, Legacy, Rate};
///
/// let band = Band::Ghz5;
/// let control = ControlTiming { band, basic: Basic::MANDATORY, fixed: None };
/// let detection = Decibel::new(0.0);
/// let (rts_threshold, decoding, implementation_loss) = (ByteCount::MAX, Decoding::Hard, Decibel::new(0.0));
/// let mut channel = Channel::new(PhyConfig { control, rts_threshold, detection, decoding, implementation_loss }, true);
/// let edca = Category::ALL.map(|category| {
///     let parameters = EdcaParameters::linux_station(category);
///     let draws = Stream::new(1, Purpose::Backoff, category.index() as u64);
///     Edcaf::new(parameters, band.aifs(parameters.aifsn), band.slot(), draws)
/// });
/// let tx = channel.add(edca, Stream::new(1, Purpose::Reception, 0));
/// let at = AccessId { tx, category: Category::Be };
///
/// // A frame that finds the channel idle for AIFS is sent at once.
/// let now = Instant::ZERO + Span::from_millis(1);
/// channel.set_ready(now, at);
/// assert_eq!(channel.next_access(now), now);
/// let mut winners = Vec::new();
/// channel.contend(now, &mut winners);
/// channel.occupy(now);
/// let rate = Rate::legacy(Legacy::Mbps24);
/// let size = ByteCount::new(1500);
/// let ppdu = Ppdu { rate, psdu: size, mpdus: 1, answer: Answer::Ack, protected: false };
/// channel.transmit(now, winners[0], &ppdu, [size].into_iter(), LinkQuality::Perfect);
///
/// let end = channel.busy_until(tx).expect("the exchange is on the air");
/// let exchange = channel.take_ended(end).expect("it ends now");
/// assert_eq!(exchange.acknowledged.count(), 1);
/// channel.settle(at, Settled::Success);
/// channel.clear_ready(at);
/// channel.release(end);
/// assert_eq!(channel.next_access(end), Instant::MAX);
/// ```
#[derive(Debug)]
pub struct Channel {
    phy: Phy,
    /// Whether all transmitters wait for EIFS instead of DIFS after a collision.
    eifs: bool,
    /// By [`AccessId::index`].
    edca: Vec<Edcaf>,
    /// Errors at the receivers of each transmitter.
    reception: Vec<Stream>,
    /// The contention functions whose state can change, unordered, and whether each is one of them.
    active: Vec<u32>,
    is_active: Vec<bool>,
    /// Start of the idle period; `None` while the channel is busy. In the future if all transmitters have to wait.
    idle_since: Option<Instant>,
    /// The cached earliest access.
    soonest: Cell<Option<Option<Instant>>>,
    /// Transmitters that won the current access and did not withdraw.
    winners: u16,
    /// Contention functions that lost an internal collision.
    losers: Vec<u32>,
    on_air: VecDeque<OnAir>,
    /// End of a beacon or of interference that keeps the channel busy.
    held_until: Instant,
    jammed_until: Instant,
    /// Whether the last exchanges collided.
    collided: bool,
}

impl Channel {
    /// An idle channel without transmitters. With `eifs`, all transmitters wait for EIFS instead of DIFS after a collision
    /// (802.11-2020, 10.3.2.3.7).
    #[must_use]
    pub fn new(phy: PhyConfig, eifs: bool) -> Self {
        Self {
            phy: Phy::new(phy),
            eifs,
            edca: Vec::new(),
            reception: Vec::new(),
            active: Vec::new(),
            is_active: Vec::new(),
            idle_since: Some(Instant::ZERO),
            soonest: Cell::new(None),
            winners: 0,
            losers: Vec::new(),
            on_air: VecDeque::new(),
            held_until: Instant::ZERO,
            jammed_until: Instant::ZERO,
            collided: false,
        }
    }

    /// Adds a transmitter with its contention functions, in the order of [`Category::ALL`], and the stream of errors at its receivers.
    pub fn add(&mut self, edca: [Edcaf; 4], reception: Stream) -> TxId {
        let tx = TxId(self.reception.len() as u16);
        self.edca.extend(edca);
        self.is_active.extend([false; 4]);
        self.reception.push(reception);
        self.soonest.set(None);
        tx
    }

    /// Replaces the contention function of a category without frames.
    pub fn replace(&mut self, at: AccessId, edcaf: Edcaf) {
        if let Some(one) = self.edcaf(at).filter(|one| !one.is_ready()) {
            *one = edcaf;
        }
    }

    /// Changes AIFSN and the smallest window of a contention function; see [`Edcaf::set_access`].
    pub fn set_access(&mut self, at: AccessId, aifsn: u8, cw_min: u16) {
        let aifs = self.band().aifs(aifsn);
        if let Some(edcaf) = self.edcaf(at) {
            edcaf.set_access(aifs, cw_min);
        }
    }

    /// The band: slot and SIFS.
    #[must_use]
    pub const fn band(&self) -> Band {
        self.phy.band()
    }

    /// Durations of exchanges and the outcome of PPDUs.
    pub const fn phy(&mut self) -> &mut Phy {
        &mut self.phy
    }

    /// Whether a contention function has frames to send.
    #[inline]
    #[must_use]
    pub fn is_ready(&self, at: AccessId) -> bool {
        self.edca.get(at.index()).is_some_and(Edcaf::is_ready)
    }

    /// Whether each contention function of a transmitter has frames to send, in the order of [`Category::ALL`].
    #[inline]
    #[must_use]
    pub fn ready(&self, tx: TxId) -> [bool; 4] {
        let first = usize::from(tx.0) * 4;
        let own = self.edca.get(first..first + 4).and_then(|own| <&[Edcaf; 4]>::try_from(own).ok());
        own.map_or([false; 4], |own| own.each_ref().map(Edcaf::is_ready))
    }

    /// The time since which a contention function has frames to send.
    #[must_use]
    pub fn ready_since(&self, at: AccessId) -> Option<Instant> {
        self.edca.get(at.index()).and_then(Edcaf::ready_since)
    }

    /// The TXOP limit of a contention function; zero allows one exchange.
    #[must_use]
    pub fn txop_limit(&self, at: AccessId) -> Span {
        self.edca.get(at.index()).map_or(Span::ZERO, Edcaf::txop_limit)
    }

    /// The longest PPDU that a contention function may send at its next access.
    #[must_use]
    pub fn longest_ppdu(&self, at: AccessId) -> Span {
        self.phy.longest_ppdu(self.txop_limit(at))
    }

    /// Marks a contention function as having frames since `now`, which may be in the past.
    pub fn set_ready(&mut self, now: Instant, at: AccessId) {
        let idle_since = self.idle_since.filter(|since| *since <= now);
        let Some(edcaf) = self.edcaf(at) else { return };
        edcaf.set_ready(now, idle_since);
        self.activate(at.index());
    }

    /// Marks a contention function as having no frames; a backoff continues without a frame.
    pub fn clear_ready(&mut self, at: AccessId) {
        if let Some(edcaf) = self.edcaf(at) {
            edcaf.clear_ready();
        }
    }

    /// Resets the window after a frame was given up during its backoff; the next frame starts with the smallest window.
    pub fn reset_window(&mut self, at: AccessId) {
        if let Some(edcaf) = self.edcaf(at) {
            edcaf.on_time_limit();
        }
    }

    /// The time of the next access without further events; [`Instant::MAX`] while the channel is busy or no frame waits.
    #[must_use]
    pub fn next_access(&self, now: Instant) -> Instant {
        let Some(idle_since) = self.idle_since else { return Instant::MAX };
        let soonest = self.soonest.get().unwrap_or_else(|| {
            let edca = &self.edca;
            let soonest =
                self.active.iter().filter_map(|&index| edca[index as usize].access(idle_since)).min();
            self.soonest.set(Some(soonest));
            soonest
        });
        // A frame that waited for a block-ack window or a queue limit may have become ready at a time in the past.
        soonest.map_or(Instant::MAX, |access| access.max(now))
    }

    /// The time at which a beacon can be sent, after PIFS (802.11-2020, 10.3.2.3.4); [`Instant::MAX`] while the channel is busy.
    #[must_use]
    pub fn next_beacon(&self, now: Instant) -> Instant {
        let band = self.phy.band();
        self.idle_since.map_or(Instant::MAX, |since| now.max(since + band.sifs() + band.slot()))
    }

    /// Determines the contention functions that transmit at `now`, in the order of their numbers. Of several categories of a transmitter
    /// the highest wins; the others behave as after a collision (802.11-2020, 10.23.2.4) once [`Channel::occupy`] is called.
    pub fn contend(&mut self, now: Instant, winners: &mut Vec<AccessId>) {
        winners.clear();
        self.losers.clear();
        self.winners = 0;
        let Some(idle_since) = self.idle_since else { return };
        let edca = &self.edca;
        let is_due =
            |index: &u32| edca[*index as usize].access(idle_since).is_some_and(|access| access <= now);
        winners.extend(self.active.iter().copied().filter(is_due).map(AccessId::of));
        if winners.len() > 1 {
            // The list of active functions is unordered; the result is not.
            winners.sort_unstable_by_key(|at| at.index());
            let mut place = 0;
            while place + 1 < winners.len() {
                if winners[place].tx == winners[place + 1].tx {
                    self.losers.push(winners.remove(place).index() as u32);
                } else {
                    place += 1;
                }
            }
        }
        self.winners = winners.len() as u16;
    }

    /// Withdraws a winner that has no frame.
    pub fn withdraw(&mut self, at: AccessId) {
        self.clear_ready(at);
        self.winners = self.winners.saturating_sub(1);
    }

    /// Starts the winners' transmissions: freezes all counters, then draws new backoffs for the losers of internal collisions.
    pub fn occupy(&mut self, now: Instant) {
        if self.winners > 0 {
            self.freeze(now);
        }
        while let Some(loser) = self.losers.pop() {
            self.soonest.set(None);
            self.edca[loser as usize].on_failure();
        }
    }

    /// Number of transmitters of this access; more than one collide.
    #[must_use]
    pub const fn transmitters(&self) -> u16 {
        self.winners
    }

    /// Transmits the PPDU of a winner; `sizes` are those of its MPDUs. Returns the times of the exchange, which does not take place if
    /// the contention function is unknown.
    #[inline]
    pub fn transmit(
        &mut self,
        now: Instant,
        at: AccessId,
        ppdu: &Ppdu,
        sizes: impl Iterator<Item = ByteCount>,
        quality: LinkQuality,
    ) -> ExchangeTiming {
        let timing = self.phy.timing(now, ppdu, quality);
        if !self.has(at) {
            return timing;
        }
        self.freeze(now);
        let txop_end = now + self.txop_limit(at);
        self.put_on_air((now, txop_end), at, ppdu, sizes, (quality, timing), self.winners.max(1))
    }

    fn put_on_air(
        &mut self,
        (start, txop_end): (Instant, Instant),
        at: AccessId,
        ppdu: &Ppdu,
        sizes: impl Iterator<Item = ByteCount>,
        (quality, mut timing): (LinkQuality, ExchangeTiming),
        transmitters: u16,
    ) -> ExchangeTiming {
        let mut received = AckBitmap::NONE;
        if transmitters > 1 {
            // The frames after the first one are not sent.
            timing.end = start + timing.first_frame;
        } else if let Some(draws) = self.reception.get_mut(usize::from(at.tx.0)) {
            received = self.phy.outcome(ppdu, sizes, quality, draws);
        }
        let exchange = Exchange {
            at,
            rate: ppdu.rate,
            start,
            timing,
            transmitters,
            received,
            acknowledged: received,
            txop_end,
        };
        self.on_air.push_back(OnAir { exchange, until: timing.end });
        // Colliding transmitters do not sense each other: the channel is free after the longest of the first frames.
        if transmitters > 1 {
            let end = self.on_air.iter().map(|one| one.until).max().unwrap_or(timing.end);
            self.on_air.iter_mut().for_each(|one| one.until = end);
        }
        timing
    }

    /// The end of the busy period that a transmitter senses; `None` if the channel is idle for it.
    #[must_use]
    pub fn busy_until(&self, _at: TxId) -> Option<Instant> {
        let exchanges = self.on_air.iter().map(|one| one.until).max();
        exchanges.or_else(|| self.idle_since.is_none().then_some(self.held_until))
    }

    /// Whether an exchange is on the air.
    #[must_use]
    pub fn is_transmitting(&self) -> bool {
        !self.on_air.is_empty()
    }

    /// Whether an exchange of a contention function is on the air.
    #[must_use]
    pub fn is_on_air(&self, at: AccessId) -> bool {
        self.on_air.iter().any(|one| one.exchange.at == at)
    }

    /// The MPDUs of a contention function's exchange on the air that are received; none without one.
    #[must_use]
    pub fn received(&self, at: AccessId) -> AckBitmap {
        let exchange = self.on_air.iter().find(|one| one.exchange.at == at);
        exchange.map(|one| one.exchange.received).unwrap_or_default()
    }

    /// The next exchange that has ended by `now`, in order of start. Each is returned once, with its outcome.
    #[inline]
    pub fn take_ended(&mut self, now: Instant) -> Option<Exchange> {
        let place = self.on_air.iter().position(|one| one.until <= now)?;
        let ended = self.on_air.remove(place)?.exchange;
        self.collided = ended.collided();
        Some(ended)
    }

    /// Reports the outcome of an exchange to its contention function.
    pub fn settle(&mut self, at: AccessId, result: Settled) {
        let Some(edcaf) = self.edcaf(at) else { return };
        match result {
            Settled::Success => edcaf.on_success(),
            Settled::Retry => edcaf.on_failure(),
            Settled::GaveUp => edcaf.on_give_up(),
        }
        self.activate(at.index());
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
    /// (802.11-2020, 10.23.2.8). Returns the times of the exchange; `None` if it does not fit.
    #[inline]
    pub fn continue_txop(
        &mut self,
        now: Instant,
        ended: &Exchange,
        ppdu: &Ppdu,
        sizes: impl Iterator<Item = ByteCount>,
        quality: LinkQuality,
    ) -> Option<ExchangeTiming> {
        let start = now + self.phy.band().sifs();
        let timing = self.phy.timing(start, ppdu, quality);
        if timing.end > ended.txop_end || !self.has(ended.at) {
            return None;
        }
        self.freeze(now);
        Some(self.put_on_air((start, ended.txop_end), ended.at, ppdu, sizes, (quality, timing), 1))
    }

    /// Keeps the channel busy from `now` to `until` with a frame sent without contention, such as a beacon.
    pub fn hold(&mut self, now: Instant, until: Instant) {
        self.freeze(now);
        self.held_until = until;
    }

    /// Keeps the channel busy until `until` by interference; an exchange on the air continues. Returns whether the channel was idle.
    pub fn jam(&mut self, now: Instant, until: Instant) -> bool {
        self.jammed_until = self.jammed_until.max(until);
        let was_idle = self.idle_since.is_some();
        if was_idle {
            self.hold(now, until);
        }
        was_idle
    }

    /// Makes the channel idle, unless a transmission or interference keeps it busy; after a collision EIFS starts at `now`.
    pub fn release(&mut self, now: Instant) {
        if self.is_transmitting() {
            return;
        }
        let collided = std::mem::take(&mut self.collided);
        if self.jammed_until > now {
            self.idle_since = None;
            self.held_until = self.jammed_until;
            return;
        }
        let band = self.phy.band();
        let wait = if collided && self.eifs { band.eifs() - band.difs() } else { Span::ZERO };
        self.idle_since = Some(now + wait);
        self.soonest.set(None);
    }

    fn has(&self, at: AccessId) -> bool {
        at.index() < self.edca.len()
    }

    /// A contention function for modification, which invalidates the cached next access.
    fn edcaf(&mut self, at: AccessId) -> Option<&mut Edcaf> {
        self.soonest.set(None);
        self.edca.get_mut(at.index())
    }

    /// Adds a contention function to the active ones.
    fn activate(&mut self, index: usize) {
        if let Some(is_active) = self.is_active.get_mut(index).filter(|is_active| !**is_active) {
            *is_active = true;
            self.active.push(index as u32);
            self.soonest.set(None);
        }
    }

    /// Makes the channel busy: freezes all backoff counters, deducting the elapsed slots.
    fn freeze(&mut self, now: Instant) {
        let Some(idle_since) = self.idle_since.take() else { return };
        let mut place = 0;
        while let Some(&index) = self.active.get(place) {
            let edcaf = &mut self.edca[index as usize];
            edcaf.on_busy(idle_since, now);
            if edcaf.is_active() {
                place += 1;
            } else {
                self.is_active[index as usize] = false;
                self.active.swap_remove(place);
            }
        }
    }
}

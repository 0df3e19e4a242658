//! The channel of a collision domain: contention, transmissions and their outcome.
//!
//! [`Channel`] is sans-I/O: it has no loop, no clock and no seed. The caller asks for the next access, lets the transmitters contend
//! then, puts the winners on the air, and takes the exchanges when they end:
//!
//! | step | call |
//! |---|---|
//! | frames wait | [`Channel::set_ready`] |
//! | time of the next access | [`Channel::next_access`] |
//! | at that time | [`Channel::contend`]; [`Channel::withdraw`] for a winner that has nothing to send; [`Channel::occupy`] |
//! | each winner | [`Channel::transmit`] |
//! | at [`Channel::busy_until`] | [`Channel::take_ended`] until it returns `None`; [`Channel::settle`] for each exchange |
//! | a TXOP goes on | [`Channel::txop_room`], [`Channel::continue_txop`] |
//! | nothing is on the air | [`Channel::release`] |
//!
//! Random numbers are drawn in [`Channel::transmit`]; the outcome is settled in [`Channel::take_ended`], since interference may arrive
//! while a PPDU is on the air. All transmitters hear each other so far: a collision is two or more that begin at the same instant.
//! Carrier sense is asked for each transmitter, so that hidden nodes change only the inside of this module.
//!
//! Calls in any order and with any [`AccessId`] are safe. Unknown contention functions are ignored; a PPDU that has not won an access is
//! sent all the same.

use std::cell::Cell;
use std::collections::VecDeque;

use airbound_random::Stream;
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::{AckBitmap, Band, Category, Rate};

use crate::edca::Edcaf;
use crate::exchange::{ExchangeTiming, Phy, PhyConfig, Ppdu};
use crate::propagation::LinkQuality;

/// An exchange that could not carry a longer PPDU than this is not worth the rest of a TXOP.
const SHORTEST_PPDU: Span = Span::from_micros(100);

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
    /// The times of its parts; in a collision it ends with its first frame.
    pub timing: ExchangeTiming,
    /// Number of transmitters that began at the same time, itself included; more than one is a collision.
    pub transmitters: u16,
    /// MPDUs that the receiver has.
    pub received: AckBitmap,
    /// MPDUs whose acknowledgement the transmitter has; the same as `received` so far.
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
    /// An acknowledgement came, or none was asked for.
    Success,
    /// No acknowledgement came.
    Retry,
    /// The frame behind the failures was given up.
    GaveUp,
}

/// An exchange on the air.
#[derive(Debug)]
struct OnAir {
    exchange: Exchange,
    /// The medium is busy with it until then.
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
/// use airbound_wifi::{Band, Basic, Category, ControlTiming, EdcaParameters, Legacy, Rate};
///
/// let band = Band::Ghz5;
/// let control = ControlTiming { band, basic: Basic::MANDATORY, fixed: None };
/// let detection = Decibel::new(0.0);
/// let mut channel = Channel::new(PhyConfig { control, rts_threshold: ByteCount::MAX, detection }, true);
/// let edca = Category::ALL.map(|category| {
///     let parameters = EdcaParameters::linux_station(category);
///     let draws = Stream::new(1, Purpose::Backoff, category.index() as u64);
///     Edcaf::new(parameters, band.aifs(parameters.aifsn), band.slot(), draws)
/// });
/// let tx = channel.add(edca, Stream::new(1, Purpose::Reception, 0));
/// let at = AccessId { tx, category: Category::Be };
///
/// // A frame that finds the channel idle for AIFS goes at once.
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
    /// Whether a collision makes every transmitter wait for EIFS in place of DIFS.
    eifs: bool,
    /// By [`AccessId::index`].
    edca: Vec<Edcaf>,
    /// Errors at the receivers of each transmitter.
    reception: Vec<Stream>,
    /// The contention functions whose state can change, in no particular order, and whether each is among them.
    active: Vec<u32>,
    is_active: Vec<bool>,
    /// The channel is idle since then; `None` while it is busy. An instant to come if all have to wait until then.
    idle_since: Option<Instant>,
    /// The soonest access of all, once it has been computed.
    soonest: Cell<Option<Option<Instant>>>,
    /// Transmitters that won the present access and did not withdraw.
    winners: u16,
    /// Contention functions that lost an internal collision.
    losers: Vec<u32>,
    on_air: VecDeque<OnAir>,
    /// A beacon or a jam keeps the channel busy until then.
    held_until: Instant,
    jammed_until: Instant,
    /// Whether the exchanges that ended last had collided.
    collided: bool,
}

impl Channel {
    /// An idle channel without transmitters. With `eifs`, a collision makes every transmitter wait for EIFS in place of DIFS
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

    /// Replaces the contention function of a category that has nothing to send.
    pub fn replace(&mut self, at: AccessId, edcaf: Edcaf) {
        if let Some(one) = self.edcaf(at).filter(|one| !one.is_ready()) {
            *one = edcaf;
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

    /// Whether a contention function has something to send.
    #[inline]
    #[must_use]
    pub fn is_ready(&self, at: AccessId) -> bool {
        self.edca.get(at.index()).is_some_and(Edcaf::is_ready)
    }

    /// Whether each contention function of a transmitter has something to send, in the order of [`Category::ALL`].
    #[inline]
    #[must_use]
    pub fn ready(&self, tx: TxId) -> [bool; 4] {
        let first = usize::from(tx.0) * 4;
        let own = self.edca.get(first..first + 4).and_then(|own| <&[Edcaf; 4]>::try_from(own).ok());
        own.map_or([false; 4], |own| own.each_ref().map(Edcaf::is_ready))
    }

    /// The time since which a contention function has something to send.
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

    /// A contention function has something to send since `now`, which may be in the past.
    pub fn set_ready(&mut self, now: Instant, at: AccessId) {
        let idle_since = self.idle_since.filter(|since| *since <= now);
        let Some(edcaf) = self.edcaf(at) else { return };
        edcaf.set_ready(now, idle_since);
        self.activate(at.index());
    }

    /// A contention function has nothing to send any more; its backoff goes on without a frame.
    pub fn clear_ready(&mut self, at: AccessId) {
        if let Some(edcaf) = self.edcaf(at) {
            edcaf.clear_ready();
        }
    }

    /// The frame behind the failures was given up while its backoff is under way; the next frame begins with the least window.
    pub fn reset_window(&mut self, at: AccessId) {
        if let Some(edcaf) = self.edcaf(at) {
            edcaf.on_time_limit();
        }
    }

    /// The time of the next access if nothing happens before; [`Instant::MAX`] while the channel is busy or nothing waits.
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
        // A frame that waited for a window or a limit to open becomes ready at a time that has passed.
        soonest.map_or(Instant::MAX, |access| access.max(now))
    }

    /// The time at which a beacon can be sent, behind PIFS (802.11-2020, 10.3.2.3.4); [`Instant::MAX`] while the channel is busy.
    #[must_use]
    pub fn next_beacon(&self, now: Instant) -> Instant {
        let band = self.phy.band();
        self.idle_since.map_or(Instant::MAX, |since| now.max(since + band.sifs() + band.slot()))
    }

    /// Finds the contention functions that transmit at `now`, in the order of their numbers. Of several categories of one transmitter
    /// the highest wins; the others behave as after a collision (802.11-2020, 10.23.2.4), once [`Channel::occupy`] is called.
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
            // The list of active functions has no order of its own; the result must have one.
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

    /// A winner has nothing to send after all.
    pub fn withdraw(&mut self, at: AccessId) {
        self.clear_ready(at);
        self.winners = self.winners.saturating_sub(1);
    }

    /// The winners begin to transmit: all counters freeze, then the losers of internal collisions draw.
    pub fn occupy(&mut self, now: Instant) {
        if self.winners > 0 {
            self.freeze(now);
        }
        while let Some(loser) = self.losers.pop() {
            self.soonest.set(None);
            self.edca[loser as usize].on_failure();
        }
    }

    /// Number of transmitters that begin at this access; more than one is a collision.
    #[must_use]
    pub const fn transmitters(&self) -> u16 {
        self.winners
    }

    /// Puts the PPDU of a winner on the air; `sizes` are those of its MPDUs. Returns the times of the exchange, which does not take
    /// place if the contention function is unknown.
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
            // What would have followed the first frame never comes.
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
        // In a collision each hears nothing of the others: the channel is free when the longest of the first frames has ended.
        if transmitters > 1 {
            let end = self.on_air.iter().map(|one| one.until).max().unwrap_or(timing.end);
            self.on_air.iter_mut().for_each(|one| one.until = end);
        }
        timing
    }

    /// The end of what a transmitter senses on the air; `None` if the channel is idle for it.
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

    /// The next exchange that has ended by `now`, in the order in which they began. Each is returned once, with its outcome settled.
    #[inline]
    pub fn take_ended(&mut self, now: Instant) -> Option<Exchange> {
        let place = self.on_air.iter().position(|one| one.until <= now)?;
        let ended = self.on_air.remove(place)?.exchange;
        self.collided = ended.collided();
        Some(ended)
    }

    /// The contention function behind an exchange learns its outcome.
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

    /// Puts the next PPDU of the same category on the air, SIFS behind the exchange that ended at `now`, if all of its exchange fits
    /// into the TXOP (802.11-2020, 10.23.2.8). Returns the times of the exchange; `None` if it does not fit.
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

    /// A frame without contention, such as a beacon, keeps the channel busy from `now` to `until`.
    pub fn hold(&mut self, now: Instant, until: Instant) {
        self.freeze(now);
        self.held_until = until;
    }

    /// Interference keeps the channel busy until `until`; an exchange on the air goes on. Returns whether the channel was idle.
    pub fn jam(&mut self, now: Instant, until: Instant) -> bool {
        self.jammed_until = self.jammed_until.max(until);
        let was_idle = self.idle_since.is_some();
        if was_idle {
            self.hold(now, until);
        }
        was_idle
    }

    /// The channel becomes idle, if nothing is on the air and no jam keeps it busy; EIFS counts from `now` behind a collision.
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

    /// A contention function whose state is about to change, so that another may be the next to transmit.
    fn edcaf(&mut self, at: AccessId) -> Option<&mut Edcaf> {
        self.soonest.set(None);
        self.edca.get_mut(at.index())
    }

    /// Notes that the state of a contention function can change.
    fn activate(&mut self, index: usize) {
        if let Some(is_active) = self.is_active.get_mut(index).filter(|is_active| !**is_active) {
            *is_active = true;
            self.active.push(index as u32);
            self.soonest.set(None);
        }
    }

    /// The channel becomes busy: all counters freeze, less the slots that have passed.
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

//! The medium shared by transmitters: a channel with contention, on which all hear each other or not, or a measured trace that carries
//! packets one after the other.

use std::collections::BTreeMap;

use airbound_air::channel::{AccessId, Channel, Exchange, Settled, TxId};
use airbound_air::edca::Edcaf;
use airbound_air::exchange::{Answer, ExchangeTiming, Ppdu};
use airbound_air::partial::PartialChannel;
use airbound_air::propagation::LinkQuality;
use airbound_air::trace::Capacity;
use airbound_control::frame::{Payload as _, TxDescriptor};
use airbound_random::Stream;
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::Category;
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::control_frames;
use airbound_wifi::rate::Rate;
use airbound_wifi::timing::PPDU_MAX_TIME;

use crate::packet::Packet;

/// The medium of a network.
#[derive(Debug)]
pub(crate) enum Medium {
    Channel(Channel),
    /// Transmitters that do not all hear each other.
    Partial(Box<PartialChannel>),
    Pipe(Pipe),
}

/// A trace in place of PHY and contention: no loss, no collision; ready transmitters take turns.
#[derive(Debug)]
pub(crate) struct Pipe {
    capacity: Capacity,
    transmitters: u16,
    /// Ready accesses, with the time since when.
    ready: BTreeMap<AccessId, Instant>,
    /// `None` while it is busy.
    idle_since: Option<Instant>,
    /// Number of transfers so far.
    turns: usize,
    on_air: Option<Exchange>,
    held_until: Instant,
    jammed_until: Instant,
}

impl Pipe {
    pub(crate) const fn new(capacity: Capacity) -> Self {
        Self {
            capacity,
            transmitters: 0,
            ready: BTreeMap::new(),
            idle_since: Some(Instant::ZERO),
            turns: 0,
            on_air: None,
            held_until: Instant::ZERO,
            jammed_until: Instant::ZERO,
        }
    }

    fn next_access(&self, now: Instant) -> Instant {
        let Some(idle_since) = self.idle_since else { return Instant::MAX };
        let soonest = self.ready.values().min();
        soonest.map_or(Instant::MAX, |ready| (*ready).max(idle_since).max(now))
    }

    /// Selects one of the ready accesses.
    fn contend(&self, now: Instant, winners: &mut Vec<AccessId>) {
        winners.clear();
        if self.idle_since.is_some_and(|since| since <= now) {
            winners.extend(self.ready.iter().filter(|(_, since)| **since <= now).map(|(at, _)| *at));
        }
        if !winners.is_empty() {
            let turn = self.turns % winners.len();
            winners.swap(0, turn);
            winners.truncate(1);
        }
    }

    fn transmit(&mut self, now: Instant, at: AccessId, ppdu: &Ppdu, size: ByteCount) -> ExchangeTiming {
        let timing = ExchangeTiming::in_one_piece(now, self.capacity.finish(now, size));
        let all = AckBitmap::first(ppdu.mpdus);
        self.idle_since = None;
        self.turns += 1;
        self.on_air = Some(Exchange {
            at,
            rate: ppdu.rate,
            start: now,
            timing,
            transmitters: 1,
            received: all,
            acknowledged: all,
            txop_end: now,
        });
        timing
    }

    fn jam(&mut self, until: Instant) -> bool {
        self.jammed_until = self.jammed_until.max(until);
        let was_idle = self.idle_since.take().is_some();
        if was_idle {
            self.held_until = until;
        }
        was_idle
    }

    fn release(&mut self, now: Instant) {
        if self.on_air.is_none() {
            self.held_until = self.jammed_until;
            self.idle_since = (self.jammed_until <= now).then_some(now);
        }
    }
}

/// The PPDU of a descriptor at a rate.
pub(super) fn ppdu_of(descriptor: &TxDescriptor<Packet>, rate: Rate) -> Ppdu {
    Ppdu {
        rate,
        psdu: descriptor.psdu,
        mpdus: descriptor.mpdus.len(),
        answer: if descriptor.aggregated { Answer::BlockAck } else { Answer::Ack },
        protected: false,
    }
}

/// Each method corresponds to that of [`Channel`].
impl Medium {
    pub(crate) fn add(&mut self, edca: [Edcaf; 4], reception: Stream) -> TxId {
        match self {
            Self::Channel(channel) => channel.add(edca, reception),
            Self::Partial(channel) => channel.add(edca, reception),
            Self::Pipe(pipe) => {
                pipe.transmitters += 1;
                TxId(pipe.transmitters - 1)
            }
        }
    }

    #[inline]
    pub(crate) fn is_ready(&self, at: AccessId) -> bool {
        match self {
            Self::Channel(channel) => channel.is_ready(at),
            Self::Partial(channel) => channel.is_ready(at),
            Self::Pipe(pipe) => pipe.ready.contains_key(&at),
        }
    }

    #[inline]
    pub(crate) fn ready(&self, tx: TxId) -> [bool; 4] {
        match self {
            Self::Channel(channel) => channel.ready(tx),
            Self::Partial(channel) => channel.ready(tx),
            Self::Pipe(pipe) => {
                Category::ALL.map(|category| pipe.ready.contains_key(&AccessId { tx, category }))
            }
        }
    }

    pub(crate) fn ready_since(&self, at: AccessId) -> Option<Instant> {
        match self {
            Self::Channel(channel) => channel.ready_since(at),
            Self::Partial(channel) => channel.ready_since(at),
            Self::Pipe(pipe) => pipe.ready.get(&at).copied(),
        }
    }

    pub(crate) fn longest_ppdu(&self, at: AccessId) -> Span {
        match self {
            Self::Channel(channel) => channel.longest_ppdu(at),
            Self::Partial(channel) => channel.longest_ppdu(at),
            Self::Pipe(_) => PPDU_MAX_TIME,
        }
    }

    pub(crate) fn set_ready(&mut self, now: Instant, at: AccessId) {
        match self {
            Self::Channel(channel) => channel.set_ready(now, at),
            Self::Partial(channel) => channel.set_ready(now, at),
            Self::Pipe(pipe) => {
                pipe.ready.entry(at).or_insert(now);
            }
        }
    }

    pub(crate) fn clear_ready(&mut self, at: AccessId) {
        match self {
            Self::Channel(channel) => channel.clear_ready(at),
            Self::Partial(channel) => channel.clear_ready(at),
            Self::Pipe(pipe) => {
                pipe.ready.remove(&at);
            }
        }
    }

    pub(crate) fn reset_window(&mut self, at: AccessId) {
        match self {
            Self::Channel(channel) => channel.reset_window(at),
            Self::Partial(channel) => channel.reset_window(at),
            Self::Pipe(_) => {}
        }
    }

    pub(crate) fn set_access(&mut self, at: AccessId, aifsn: u8, cw_min: u16) {
        match self {
            Self::Channel(channel) => channel.set_access(at, aifsn, cw_min),
            Self::Partial(channel) => channel.set_access(at, aifsn, cw_min),
            Self::Pipe(_) => {}
        }
    }

    pub(crate) fn next_access(&self, now: Instant) -> Instant {
        match self {
            Self::Channel(channel) => channel.next_access(now),
            Self::Partial(channel) => channel.next_step(now),
            Self::Pipe(pipe) => pipe.next_access(now),
        }
    }

    /// The time at which a transmitter can send a beacon, or a null frame.
    pub(crate) fn next_beacon(&self, now: Instant, tx: TxId) -> Instant {
        match self {
            Self::Channel(channel) => channel.next_beacon(now),
            Self::Partial(channel) => channel.next_beacon(now, tx),
            Self::Pipe(_) => Instant::MAX,
        }
    }

    /// Notes the busy periods of a transmitter, where each senses the channel for itself.
    pub(crate) fn watch(&mut self, tx: TxId) {
        if let Self::Partial(channel) = self {
            channel.watch(tx);
        }
    }

    pub(crate) fn contend(&mut self, now: Instant, winners: &mut Vec<AccessId>) {
        match self {
            Self::Channel(channel) => channel.contend(now, winners),
            Self::Partial(channel) => channel.contend(now, winners),
            Self::Pipe(pipe) => pipe.contend(now, winners),
        }
    }

    pub(crate) fn withdraw(&mut self, at: AccessId) {
        match self {
            Self::Channel(channel) => channel.withdraw(at),
            Self::Partial(channel) => channel.withdraw(at),
            Self::Pipe(_) => self.clear_ready(at),
        }
    }

    pub(crate) fn occupy(&mut self, now: Instant) {
        match self {
            Self::Channel(channel) => channel.occupy(now),
            Self::Partial(channel) => channel.occupy(now),
            Self::Pipe(_) => {}
        }
    }

    pub(crate) fn transmitters(&self) -> u16 {
        match self {
            Self::Channel(channel) => channel.transmitters(),
            Self::Partial(channel) => channel.transmitters(),
            Self::Pipe(_) => 1,
        }
    }

    pub(crate) fn transmit(
        &mut self,
        now: Instant,
        (at, to): (AccessId, TxId),
        (descriptor, rate): (&TxDescriptor<Packet>, Rate),
        quality: LinkQuality,
    ) -> ExchangeTiming {
        let ppdu = ppdu_of(descriptor, rate);
        let mpdus = descriptor.mpdus.iter();
        match self {
            Self::Channel(channel) => channel.transmit(now, at, &ppdu, mpdus.map(|mpdu| mpdu.size), quality),
            Self::Partial(channel) => {
                channel.transmit(now, (at, to), &ppdu, mpdus.map(|mpdu| mpdu.size), quality)
            }
            // The bandwidth of a trace is that of an IP path: it counts packets.
            Self::Pipe(pipe) => pipe.transmit(now, at, &ppdu, mpdus.map(|mpdu| mpdu.packet.size()).sum()),
        }
    }

    /// Transmits a BlockAckReq before or after PPDUs at a rate.
    pub(crate) fn request(
        &mut self,
        now: Instant,
        (at, to): (AccessId, TxId),
        rate: Rate,
        quality: LinkQuality,
    ) -> ExchangeTiming {
        let size = control_frames::BLOCK_ACK_REQUEST;
        let sizes = std::iter::once(size);
        let rate = match self {
            Self::Channel(channel) => channel.phy().control_rate(rate),
            Self::Partial(channel) => channel.phy().control_rate(rate),
            Self::Pipe(_) => rate,
        };
        let ppdu = Ppdu { rate, psdu: size, mpdus: 1, answer: Answer::BlockAck, protected: false };
        match self {
            Self::Channel(channel) => channel.transmit(now, at, &ppdu, sizes, quality),
            Self::Partial(channel) => channel.transmit(now, (at, to), &ppdu, sizes, quality),
            Self::Pipe(pipe) => pipe.transmit(now, at, &ppdu, size),
        }
    }

    pub(crate) fn busy_until(&self, at: TxId) -> Option<Instant> {
        match self {
            Self::Channel(channel) => channel.busy_until(at),
            // Its steps follow `next_access`.
            Self::Partial(_) => None,
            Self::Pipe(pipe) => match &pipe.on_air {
                Some(exchange) => Some(exchange.timing.end),
                None => pipe.idle_since.is_none().then_some(pipe.held_until),
            },
        }
    }

    pub(crate) fn is_transmitting(&self) -> bool {
        match self {
            Self::Channel(channel) => channel.is_transmitting(),
            Self::Partial(channel) => channel.is_transmitting(),
            Self::Pipe(pipe) => pipe.on_air.is_some(),
        }
    }

    pub(crate) fn is_on_air(&self, at: AccessId) -> bool {
        match self {
            Self::Channel(channel) => channel.is_on_air(at),
            Self::Partial(channel) => channel.is_on_air(at),
            Self::Pipe(pipe) => pipe.on_air.is_some_and(|exchange| exchange.at == at),
        }
    }

    /// The MPDUs of an exchange on the air that are received, as far as its start settles them.
    #[inline]
    pub(crate) fn received(&self, at: AccessId) -> AckBitmap {
        match self {
            Self::Channel(channel) => channel.received(at),
            Self::Partial(_) => AckBitmap::NONE,
            Self::Pipe(pipe) => pipe.on_air.map(|exchange| exchange.received).unwrap_or_default(),
        }
    }

    #[inline]
    pub(crate) fn take_ended(&mut self, now: Instant) -> Option<Exchange> {
        match self {
            Self::Channel(channel) => channel.take_ended(now),
            Self::Partial(channel) => channel.take_ended().map(|ended| ended.exchange),
            Self::Pipe(pipe) => pipe.on_air.take_if(|exchange| exchange.timing.end <= now),
        }
    }

    pub(crate) fn settle(&mut self, at: AccessId, result: Settled) {
        match self {
            Self::Channel(channel) => channel.settle(at, result),
            Self::Partial(channel) => channel.settle(at, result),
            Self::Pipe(_) => {}
        }
    }

    pub(crate) fn txop_room(&self, now: Instant, ended: &Exchange) -> Option<(Instant, Span)> {
        match self {
            Self::Channel(channel) => channel.txop_room(now, ended),
            Self::Partial(channel) => channel.txop_room(now, ended),
            Self::Pipe(_) => None,
        }
    }

    pub(crate) fn continue_txop(
        &mut self,
        now: Instant,
        (ended, to): (&Exchange, TxId),
        (descriptor, rate): (&TxDescriptor<Packet>, Rate),
        quality: LinkQuality,
    ) -> Option<ExchangeTiming> {
        let sizes = descriptor.mpdus.iter().map(|mpdu| mpdu.size);
        let ppdu = &ppdu_of(descriptor, rate);
        match self {
            Self::Channel(channel) => channel.continue_txop(now, ended, ppdu, sizes, quality),
            Self::Partial(channel) => channel.continue_txop(now, (ended, to), ppdu, sizes, quality),
            Self::Pipe(_) => None,
        }
    }

    pub(crate) fn hold(&mut self, now: Instant, until: Instant, tx: TxId) {
        match self {
            Self::Channel(channel) => channel.hold(now, until),
            Self::Partial(channel) => channel.hold(now, until, tx),
            Self::Pipe(_) => {}
        }
    }

    pub(crate) fn jam(&mut self, now: Instant, until: Instant) -> bool {
        match self {
            Self::Channel(channel) => channel.jam(now, until),
            Self::Partial(channel) => {
                // It notes its busy periods itself.
                channel.jam(now, until);
                false
            }
            Self::Pipe(pipe) => pipe.jam(until),
        }
    }

    pub(crate) fn release(&mut self, now: Instant) {
        match self {
            Self::Channel(channel) => channel.release(now),
            Self::Partial(_) => {}
            Self::Pipe(pipe) => pipe.release(now),
        }
    }
}

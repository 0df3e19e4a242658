//! PSDU assembly: live packets, as many as the time limit of the hardware permits.

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use airbound_wifi::mpdu::{DELIMITER, SUBFRAME_ALIGNMENT};
use airbound_wifi::rate::{Format, Rate};

use super::Law;
use super::controller::Attempt;
use super::hardware::{Place, Pushed};
use crate::frame::RateChain;
use crate::frame::{Dropped, Payload, StationId};
use crate::frame::{Mpdu, TxDescriptor};
use crate::link::Room;
use crate::link::transmit_state::MOST_MPDUS;
use crate::queue::{Fact, Queue, Turn};

/// Time of a frame exchange outside of its PPDU: SIFS and a block ack at 6 Mbit/s take 84 us, RTS and CTS with their SIFS 128 us.
const AROUND_PPDU: Span = Span::from_micros(212);

/// Length of a PSDU after adding an MPDU of `size` behind `padding`.
fn joined(psdu: ByteCount, padding: ByteCount, size: ByteCount) -> ByteCount {
    psdu.padded_to(SUBFRAME_ALIGNMENT) + padding + DELIMITER + size
}

impl<P: Payload, Q: Queue<P>> Law<P, Q> {
    /// Takes the next packet of a station that is within Limit_q, dropping older ones (algorithm 1 for a packet to be pushed).
    fn take_live(
        &mut self,
        now: Instant,
        turn: &Turn,
        fits: impl FnOnce(Option<ByteCount>) -> bool,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        let mut next = self.take(now, turn, fits, dropped);
        loop {
            let packet = next?;
            if self.is_too_old(now, &packet) {
                self.expire(packet, dropped);
                next = self.take(now, turn, |_| true, dropped);
                continue;
            }
            let (waiting, len_max) = (self.in_driver(), self.len_max);
            let controller = &mut self.stations.of(turn.station, &self.config).controller;
            controller.on_passed(waiting, len_max, &self.config);
            return Some(packet);
        }
    }

    /// Makes a numbered MPDU of a packet for the hardware.
    fn number(&mut self, now: Instant, turn: &Turn, mut packet: P) -> Mpdu<P> {
        let &Turn { station, category, counts_airtime, .. } = turn;
        if counts_airtime {
            packet.set_airtime_estimate(self.estimate(station).of(packet.size(), category));
            self.queue.on(now, Fact::Handed(&packet));
        }
        let sequence = self.state.originator(station, category).number();
        let size = packet.size() + self.path.overhead;
        Mpdu::new(packet, size, sequence, now)
    }

    /// Length of a PSDU of `mpdus` MPDUs after adding an MPDU of `size`.
    fn joined(&self, psdu: ByteCount, mpdus: usize, size: ByteCount) -> ByteCount {
        joined(psdu, self.padding_behind(mpdus), size)
    }

    /// Padding that a driver adds behind the last of `mpdus` subframes.
    fn padding_behind(&self, mpdus: usize) -> ByteCount {
        if mpdus == 1 { self.path.first_subframe_padding } else { ByteCount::ZERO }
    }

    /// Number of packets of 1500 B in an aggregate at `rate` in the stable state.
    pub(super) fn full_mpdus(&mut self, rate: Rate, dictated: Option<BitRate>) -> u16 {
        if rate.format() == Format::Legacy {
            return 1;
        }
        let longest = self.config.longest_ppdu(self.config.tries).min(self.path.ampdu.max_duration);
        let bytes = self.state.rates.max_psdu(&RateChain::single(rate, 1), longest, dictated);
        let each = self.joined(ByteCount::ZERO, 0, ByteCount::new(1500) + self.path.overhead);
        let most =
            bytes.min(self.path.ampdu.max_bytes).as_u64() / each.padded_to(SUBFRAME_ALIGNMENT).as_u64();
        let most = most.min(u64::from(self.path.ampdu.max_mpdus)).min(u64::from(self.path.window));
        u16::try_from(most.max(1)).unwrap_or(MOST_MPDUS)
    }

    /// Forms a PSDU for a selected station; `None` if the station has nothing to send.
    pub(super) fn form(
        &mut self,
        now: Instant,
        turn: &Turn,
        room: Room,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<TxDescriptor<P>> {
        let &Turn { station, category, bound, .. } = turn;
        if self.state.originator(station, category).fresh_room(self.path.window) == 0 {
            return None;
        }
        let first = self.take_live(now, turn, |_| true, dropped)?;
        let attempt = self.stations.of(station, &self.config).controller.attempt(&self.config);
        let first = self.number(now, turn, first);
        let (chain, dictated) = self.chain(station, attempt);

        let limits = self.path.ampdu;
        let longest = self.config.longest_ppdu(attempt.tries).min(room.max_duration);
        let longest = longest.min(limits.max_duration).min(bound.duration);
        let max_psdu = self.state.rates.max_psdu(&chain, longest, dictated).min(limits.max_bytes);
        let aggregating = chain.first_rate().format() != Format::Legacy;
        let most = self.path.max_mpdus(category).min(bound.mpdus.into()).min(MOST_MPDUS.into());
        let most = if aggregating { most.max(1) } else { 1 };
        let originator = self.state.originator(station, category);
        let end = originator.window_end(Some(first.sequence), self.path.window);

        let mut psdu = self.joined(ByteCount::ZERO, 0, first.size);
        let mut mpdus = self.state.take_spare();
        mpdus.push(first);
        while mpdus.len() < most as usize && self.state.originator(station, category).next_sequence() < end {
            let (padding, overhead) = (self.padding_behind(mpdus.len()), self.path.overhead);
            // A packet of unknown size is taken only if a small one would fit.
            let fits = |size: Option<ByteCount>| {
                joined(psdu, padding, size.unwrap_or(ByteCount::ZERO) + overhead) <= max_psdu
            };
            let Some(packet) = self.take_live(now, turn, fits, dropped) else { break };
            let longer = self.joined(psdu, mpdus.len(), packet.size() + self.path.overhead);
            if longer > max_psdu {
                self.keep(now, packet);
                break;
            }
            psdu = longer;
            let mpdu = self.number(now, turn, packet);
            mpdus.push(mpdu);
        }
        let born = mpdus.iter().map(|mpdu| mpdu.packet.enqueued()).min()?;
        let place = Place::Back;
        let exchange = self.exchange(&chain, psdu, dictated);
        let limit = self.limit(now, category, place, born, exchange);
        let descriptor = self.descriptor(station, category, mpdus, chain, limit);
        let sequence = descriptor.mpdus.first().map_or(0, |mpdu| mpdu.sequence);
        self.state.originator(station, category).handed(sequence);
        let pushed = Pushed {
            station,
            category,
            foreign: false,
            sequence,
            born,
            exchange,
            limit,
            rate: attempt.rate,
            retransmissions: 0,
            probe: attempt.probe,
            spent: Span::ZERO,
        };
        self.hardware.push(now, place, pushed);
        self.update_eligibility(now, station, category);
        Some(descriptor)
    }

    /// The rate chain of an attempt, and the actual data rate if another layer determines it.
    pub(super) fn chain(&mut self, station: StationId, attempt: Attempt) -> (RateChain, Option<BitRate>) {
        let peer = self.stations.of(station, &self.config);
        let mut chain = RateChain::single(peer.controller.rate_at(attempt.rate), attempt.tries);
        chain.probe = attempt.probe.is_some();
        (chain, self.state.reported_rate(station))
    }

    /// The longest duration of one frame exchange.
    pub(super) fn exchange(&mut self, chain: &RateChain, psdu: ByteCount, dictated: Option<BitRate>) -> Span {
        let timing = self.state.rates.of(chain.first_rate()).timing;
        let ppdu = match dictated {
            Some(rate) => timing.preamble() + rate.time_for(psdu),
            None => timing.duration(psdu),
        };
        ppdu + AROUND_PPDU
    }

    /// Notes that a PSDU of another link is handed to the hardware under the alternate traffic identifier. It delays PSDUs pushed
    /// behind it by at most `limit` and one exchange.
    pub(in crate::link) fn push_foreign(&mut self, now: Instant, descriptor: &TxDescriptor<P>, limit: Span) {
        let slowest =
            descriptor.chain.steps().iter().map(|step| step.rate).min_by_key(|rate| rate.bit_rate());
        let rate = slowest.unwrap_or(descriptor.chain.first_rate());
        let dictated = self.state.reported_rate(descriptor.station);
        let exchange = self.exchange(&RateChain::single(rate, 1), descriptor.psdu, dictated);
        self.hardware.push_foreign(now, descriptor, limit, exchange);
    }

    /// Notes that a PSDU of another link was returned.
    pub(in crate::link) fn take_foreign(&mut self, now: Instant, descriptor: &TxDescriptor<P>) {
        self.hardware.take(now, descriptor);
    }

    /// Time limit of the hardware for a PSDU.
    pub(super) fn limit(
        &self,
        now: Instant,
        category: Category,
        place: Place,
        born: Instant,
        exchange: Span,
    ) -> Span {
        let limits = (self.config.limit_h, self.config.bound());
        self.hardware.limit(now, category, place, (born, exchange), limits)
    }

    /// Length of the PSDU that holds `mpdus`; HT and legacy formats send a single MPDU without a delimiter.
    pub(super) fn psdu_of(&self, mpdus: &[Mpdu<P>], chain: &RateChain) -> ByteCount {
        let bare = mpdus.len() == 1 && matches!(chain.first_rate().format(), Format::Legacy | Format::Ht);
        mpdus.iter().enumerate().fold(ByteCount::ZERO, |psdu, (index, mpdu)| {
            if bare { mpdu.size } else { self.joined(psdu, index, mpdu.size) }
        })
    }

    /// Builds the descriptor of one or more MPDUs.
    pub(super) fn descriptor(
        &self,
        station: StationId,
        category: Category,
        mpdus: Vec<Mpdu<P>>,
        chain: RateChain,
        limit: Span,
    ) -> TxDescriptor<P> {
        let (aggregated, psdu) = (mpdus.len() > 1, self.psdu_of(&mpdus, &chain));
        TxDescriptor {
            station,
            category,
            alternate: false,
            mpdus,
            psdu,
            aggregated,
            chain,
            give_up_after: Some(limit),
            give_up_at: None,
        }
    }
}

//! Channel access, transmission, and the end of exchanges.

use std::collections::BTreeMap;
use std::mem;

use airbound_air::channel::{AccessId, Exchange, Settled, TxId};
use airbound_air::exchange::{Answer, ExchangeTiming, Ppdu, mpdu_ends};
use airbound_air::propagation::LinkQuality;
use airbound_units::{ByteCount, Decibel, Instant, Span};
use airbound_wifi::mpdu::psdu_size;
use airbound_wifi::{AckBitmap, Category, Format, Rate};

use super::chain::{step_at, total_tries, used};
use super::packet::{Packet, acknowledgement_of, packet_of};
use super::store::Mpdu;
use super::{InHardware, Medium};
use crate::channel::Command;
use crate::log::{self, MpduRow, Row, TxopRow};
use crate::rates::{self, rate_of};

/// The SNR reported for group frames.
const FLAWLESS_SNR: f64 = 60.0;

/// The radio with an address.
pub(super) fn radio_of(address: [u8; 6], radios: usize) -> Option<usize> {
    let radio = usize::from(address[4]);
    // Further networks of the access point differ from its own address in the last byte.
    let is_ours = address[..4] == [2, 0, 0, 0] && (radio == 0 || address[5] == 0);
    (is_ours && radio < radios).then_some(radio)
}

/// Whether MPDUs have delimiters. HT sends a single MPDU without one; VHT sends A-MPDUs only (802.11-2020, 10.12.7).
const fn is_aggregated(mpdus: &[Mpdu], rate: Rate) -> bool {
    mpdus.len() > 1 || !matches!(rate.format(), Format::Legacy | Format::Ht)
}

/// The length of a PSDU.
fn psdu_of(mpdus: &[Mpdu], rate: Rate) -> ByteCount {
    match mpdus {
        [one] if !is_aggregated(mpdus, rate) => one.size,
        many => psdu_size(many.iter().map(|mpdu| mpdu.size)),
    }
}

impl InHardware {
    /// The PPDU of the next transmission; `None` without MPDUs, which does not occur.
    fn ppdu(&self) -> Option<Ppdu> {
        let first = self.mpdus.first()?;
        let step = step_at(&first.rates, self.transmissions);
        let rate = rate_of(step);
        let answer = match self.mpdus.len() {
            _ if first.is_unanswered() => Answer::None,
            1 => Answer::Ack,
            _ => Answer::BlockAck,
        };
        let protected = step.flags & rates::RTS != 0;
        Some(Ppdu { rate, psdu: psdu_of(&self.mpdus, rate), mpdus: self.mpdus.len(), answer, protected })
    }
}

impl Medium {
    /// The station of the link between two radios.
    const fn link(from: usize, to: usize) -> usize {
        if from == 0 { to } else { from }
    }

    /// The quality of a frame's link at a time.
    fn quality(&self, from: TxId, mpdu: &Mpdu, at: Instant) -> LinkQuality {
        match radio_of(mpdu.peer(), self.radios.len()) {
            Some(to) if to != usize::from(from.0) && self.share_a_channel(from, to) => {
                self.quality_at(from, to, at)
            }
            // No radio has this address, or it is on another channel.
            Some(to) if to != usize::from(from.0) => LinkQuality::Snr(Decibel::new(f64::MIN)),
            None if !mpdu.is_group() => LinkQuality::Snr(Decibel::new(f64::MIN)),
            _ => LinkQuality::Perfect,
        }
    }

    /// Whether a radio can hear another: one that scans is on another channel for a while.
    fn share_a_channel(&self, from: TxId, to: usize) -> bool {
        let of = |radio: usize| self.radios.get(radio).and_then(|radio| radio.frequency);
        of(usize::from(from.0)).zip(of(to)).is_none_or(|(from, to)| from == to)
    }

    /// The quality at which a radio hears another.
    fn quality_at(&self, from: TxId, to: usize, at: Instant) -> LinkQuality {
        let time = if self.zero == Instant::MAX { Span::ZERO } else { at.since(self.zero) };
        let link = self.links.get(Self::link(usize::from(from.0), to).wrapping_sub(1));
        link.map_or(LinkQuality::Perfect, |link| link.quality(Instant::ZERO + time))
    }

    /// Received power reported for a link quality, dBm.
    fn signal(&self, quality: LinkQuality) -> i8 {
        let snr = if let LinkQuality::Snr(snr) = quality { snr.value() } else { FLAWLESS_SNR };
        (self.noise + snr).clamp(-120.0, -20.0).round() as i8
    }

    /// Transmits a beacon, or the PPDUs of the functions that win access.
    pub(super) fn begin(&mut self) {
        self.busy_since = self.now;
        if let Some(radio) = self.beaconing() {
            self.transmit_beacon(radio);
            return;
        }
        let mut winners = mem::take(&mut self.winners);
        self.channel.contend(self.now, &mut winners);
        winners.retain(|at| {
            let formed = self.form(*at, self.channel.longest_ppdu(*at));
            if !formed {
                self.channel.withdraw(*at);
            }
            formed
        });
        self.channel.occupy(self.now);
        for at in winners.drain(..) {
            self.transmit(at, None);
        }
        self.winners = winners;
    }

    /// Forms a PPDU of at most `longest` for a function, unless it has one. Returns whether it has one. Frames of the store precede PPDUs
    /// of Law that have not been transmitted yet.
    fn form(&mut self, at: AccessId, longest: Span) -> bool {
        let radio = &mut self.radios[usize::from(at.tx.0)];
        let hardware = &mut radio.hardware[at.category.index()];
        if hardware.front().is_none_or(InHardware::may_be_overtaken) {
            let mpdus = radio.store.next(at.category, longest);
            if !mpdus.is_empty() {
                let contending = self.channel.ready_since(at).unwrap_or(self.now);
                hardware.push_front(InHardware::new(mpdus, contending));
            }
        }
        !hardware.is_empty()
    }

    /// Transmits the PPDU of a function, now or within the TXOP of the exchange that has just ended. Returns whether it is on the air.
    fn transmit(&mut self, at: AccessId, behind: Option<&Exchange>) -> bool {
        let start = if behind.is_some() { self.now + self.channel.band().sifs() } else { self.now };
        let Some(one) = self.radios[usize::from(at.tx.0)].hardware[at.category.index()].front() else {
            return false;
        };
        if one.is_expired(start) {
            return false;
        }
        let (Some(ppdu), Some(first)) = (one.ppdu(), one.mpdus.first()) else { return false };
        let quality = self.quality(at.tx, first, start);
        let sizes = one.mpdus.iter().map(|mpdu| mpdu.size);
        let timing = match behind {
            None => Some(self.channel.transmit(self.now, at, &ppdu, sizes, quality)),
            Some(ended) => self.channel.continue_txop(self.now, ended, &ppdu, sizes, quality),
        };
        let Some(timing) = timing else { return false };
        self.txops += 1;
        let Some(one) = self.radios[usize::from(at.tx.0)].hardware[at.category.index()].front_mut() else {
            return false;
        };
        one.transmissions += 1;
        one.txop = self.txops;
        one.airtime += timing.end - start;
        if let Some(of_law) = &mut one.law_descriptor {
            of_law.started.get_or_insert(start);
        }
        for mpdu in &mut one.mpdus {
            mpdu.tries = mpdu.tries.saturating_add(1);
            if mpdu.first_tx == Instant::MAX {
                mpdu.first_tx = start;
                mpdu.contending = one.contending.max(mpdu.handed);
            }
            (mpdu.last_tx, mpdu.txop) = (start, one.txop);
        }
        if ppdu.answer != Answer::None {
            self.note_arrivals(at, &ppdu, &timing, quality);
        }
        true
    }

    /// Notes when each frame of the PPDU on the air is received: as its subframe ends, while the PPDU goes on.
    fn note_arrivals(&mut self, at: AccessId, ppdu: &Ppdu, timing: &ExchangeTiming, quality: LinkQuality) {
        let (radio, signal, radios) = (at.tx.0 as u8, self.signal(quality), self.radios.len());
        let received = self.channel.received(at);
        let Some(one) = self.radios[usize::from(at.tx.0)].hardware[at.category.index()].front_mut() else {
            return;
        };
        let Some(first) = one.mpdus.first() else { return };
        let rate = step_at(&first.rates, one.transmissions.saturating_sub(1));
        let receiver = radio_of(first.peer(), radios);
        let sizes: Vec<ByteCount> = one.mpdus.iter().map(|mpdu| mpdu.size).collect();
        let is_aggregated = is_aggregated(&one.mpdus, ppdu.rate);
        let ends = mpdu_ends(sizes.into_iter(), is_aggregated, ppdu.psdu);
        let ampdu = if is_aggregated {
            self.ampdus = self.ampdus.wrapping_add(1).max(1);
            self.ampdus
        } else {
            0
        };
        let reception = timing.reception();
        for (place, (mpdu, end)) in one.mpdus.iter_mut().zip(ends).enumerate() {
            if !received.get(place) {
                continue;
            }
            mpdu.received = reception.of(end);
            if let Some(receiver) = receiver {
                let (cookie, receivers) = (mpdu.cookie, 1u64 << receiver);
                let deliver = Command::Deliver { radio, cookie, receivers, signal, rate, ampdu };
                self.arrivals.push_back((mpdu.received, deliver));
            }
        }
    }

    fn transmit_beacon(&mut self, radio: usize) {
        let Some(mpdu) = self.radios[radio].beacons.pop_front() else { return };
        let handed = mpdu.handed;
        let mut beacon = InHardware::new(vec![mpdu], handed);
        let Some(ppdu) = beacon.ppdu() else { return };
        let timing = self.channel.phy().timing(self.now, &ppdu, LinkQuality::Perfect);
        self.channel.hold(self.now, timing.end);
        self.txops += 1;
        beacon.txop = self.txops;
        let received = AckBitmap::first(1);
        let exchange = Exchange {
            at: AccessId { tx: TxId(radio as u16), category: Category::Vo },
            rate: ppdu.rate,
            start: self.now,
            timing,
            transmitters: 1,
            received,
            acknowledged: received,
            txop_end: timing.end,
        };
        self.beacon = Some((exchange, beacon));
    }

    /// Ends the exchanges on the air. Afterwards the channel is idle, or the next exchange of a TXOP begins.
    pub(super) fn end(&mut self) {
        self.busy += self.now.since(self.busy_since);
        self.busy_since = self.now;
        if let Some((exchange, beacon)) = self.beacon.take() {
            self.radios[usize::from(exchange.at.tx.0)].own += exchange.timing.end - exchange.start;
            beacon.mpdus.iter().for_each(|mpdu| self.deliver_unanswered(&exchange, mpdu));
            self.note_txop(&exchange, &beacon, 0);
        }
        while let Some(exchange) = self.channel.take_ended(self.now) {
            self.finish(&exchange);
        }
        self.channel.release(self.now);
    }

    fn finish(&mut self, exchange: &Exchange) {
        let at = exchange.at;
        let radio = &mut self.radios[usize::from(at.tx.0)];
        radio.own += exchange.timing.end - exchange.start;
        let hardware_tries = radio.hardware_tries;
        let Some(one) = radio.hardware[at.category.index()].pop_front() else { return };
        let Some(first) = one.mpdus.first() else { return };
        let unanswered = first.is_unanswered();
        let is_of_law = one.law_descriptor.is_some();
        let tries = if is_of_law { u32::MAX } else { hardware_tries };
        let tries = total_tries(&first.rates).min(tries);
        let acked = exchange.acknowledged.count();
        self.note_txop(exchange, &one, acked);
        if acked > 0 || unanswered {
            self.channel.settle(at, Settled::Success);
        } else {
            self.channel.settle(at, Settled::Retry);
            let exhausted = match is_of_law {
                true => one.is_expired(self.now),
                false => one.mpdus.iter().any(|mpdu| mpdu.tries >= mpdu.most_tries),
            };
            if one.transmissions < tries && !exhausted {
                self.radios[usize::from(at.tx.0)].hardware[at.category.index()].push_front(one);
                return;
            }
            self.channel.settle(at, Settled::GaveUp);
        }
        // The next PPDU begins to contend now.
        self.channel.clear_ready(at);
        if unanswered {
            self.finish_unanswered(exchange, &one);
        } else {
            self.report(at, one, Some(exchange));
        }
        if self.radios[usize::from(at.tx.0)].law.is_some() {
            // The time limit of the next PPDU starts at this exchange's end, even if a colliding one lasts longer.
            self.contend(at.category, exchange.timing.end.min(self.now));
            self.refill(self.now);
        }
        let radio = &self.radios[usize::from(at.tx.0)];
        if radio.store.has_backlog(at.category) || !radio.hardware[at.category.index()].is_empty() {
            self.channel.set_ready(self.now, at);
            if acked > 0 && !unanswered {
                self.continue_txop(exchange);
            }
        }
    }

    /// Transmits the next PPDU of the category without contention, if the TXOP has room for it.
    fn continue_txop(&mut self, ended: &Exchange) {
        if let Some((_, longest)) = self.channel.txop_room(self.now, ended)
            && self.form(ended.at, longest)
        {
            self.transmit(ended.at, Some(ended));
        }
    }

    /// Completes frames without acknowledgement: group frames, or those with the policy No Ack.
    fn finish_unanswered(&mut self, exchange: &Exchange, one: &InHardware) {
        let at = exchange.at;
        for (place, mpdu) in one.mpdus.iter().enumerate() {
            if exchange.received.get(place) {
                self.deliver_unanswered(exchange, mpdu);
                self.note_mpdu(at, mpdu, exchange.timing.ppdu_end, exchange.timing.end);
            } else {
                let (radio, rates) = (exchange.at.tx.0 as u8, used(&mpdu.rates, 1));
                self.commands.push(Command::Done { radio, cookie: mpdu.cookie, acked: false, rates });
            }
        }
    }

    /// Delivers a beacon or group frame to all other radios, each of which reports the power of its own link.
    fn deliver_unanswered(&mut self, exchange: &Exchange, mpdu: &Mpdu) {
        let from = exchange.at.tx;
        let (radio, cookie) = (from.0 as u8, mpdu.cookie);
        let (rate, rates) = (step_at(&mpdu.rates, 0), used(&mpdu.rates, 1));
        let mut heard: BTreeMap<i8, u64> = BTreeMap::new();
        let hears = |to: &usize| *to != usize::from(from.0) && self.share_a_channel(from, *to);
        for to in (0..self.radios.len()).filter(hears) {
            *heard.entry(self.signal(self.quality_at(from, to, exchange.start))).or_default() |= 1 << to;
        }
        for (signal, receivers) in heard {
            self.commands.push(Command::Deliver { radio, cookie, receivers, signal, rate, ampdu: 0 });
        }
        self.commands.push(Command::Done { radio, cookie, acked: true, rates });
    }

    /// Reports a PPDU: each MPDU is acknowledged, queued for retransmission, or given up; rate control gets the result. Without an exchange
    /// the PPDU's time limit has expired.
    pub(super) fn report(&mut self, at: AccessId, one: InHardware, exchange: Option<&Exchange>) {
        let Some(first) = one.mpdus.first() else { return };
        let radio = at.tx.0 as u8;
        let (peer, tid, ampdu) = (first.peer(), first.tid() & 15, first.aggregates);
        let (transmissions, airtime) = (one.transmissions, one.airtime);
        let rates = used(&first.rates, transmissions);
        let mpdus = u16::try_from(one.mpdus.len()).unwrap_or(u16::MAX);
        let acknowledged = exchange.map(|exchange| exchange.acknowledged).unwrap_or_default();
        let ended = exchange.map_or(self.now, |exchange| exchange.timing.end);
        for (mpdu, acked) in self.take_back(at, one, acknowledged) {
            self.note_mpdu(at, &mpdu, mpdu.received, ended);
            self.commands.push(Command::Done { radio, cookie: mpdu.cookie, acked, rates });
        }
        if transmissions > 0 {
            let airtime = u32::try_from(airtime.as_micros()).unwrap_or(u32::MAX);
            let acked = acknowledged.count();
            self.commands.push(Command::Ppdu { radio, peer, tid, ampdu, airtime, mpdus, acked, rates });
        }
    }

    /// Returns a PPDU to Law or to the store, whichever formed it. Returns the settled MPDUs, each with whether it was acknowledged.
    fn take_back(&mut self, at: AccessId, one: InHardware, acknowledged: AckBitmap) -> Vec<(Mpdu, bool)> {
        let radio = &mut self.radios[usize::from(at.tx.0)];
        match (&mut radio.law, one.law_descriptor) {
            (Some(law), Some(law_descriptor)) => {
                let hardware = &mut radio.hardware[at.category.index()];
                let now = self.now;
                law.take_back(
                    now,
                    hardware,
                    *law_descriptor,
                    (one.mpdus, one.transmissions, one.airtime),
                    acknowledged,
                )
            }
            _ => radio.store.on_report(at.category, one.mpdus, acknowledged),
        }
    }

    fn note_txop(&mut self, exchange: &Exchange, one: &InHardware, acked: u16) {
        let Some(first) = one.mpdus.first() else { return };
        let peer = radio_of(first.peer(), self.radios.len());
        self.rows.push(Row::Txop(TxopRow {
            txop: one.txop,
            radio: exchange.at.tx.0.into(),
            peer: peer.map_or(log::NONE, |peer| peer as u64),
            category: exchange.at.category.index() as u64,
            data: first.is_qos().into(),
            contending: one.contending,
            start: exchange.start,
            end: exchange.timing.end,
            rate: exchange.rate.bit_rate().as_bps(),
            mpdus: one.mpdus.len() as u64,
            acked: acked.into(),
            size: psdu_of(&one.mpdus, exchange.rate).as_u64(),
            transmitters: exchange.transmitters.into(),
        }));
    }

    pub(super) fn note_mpdu(&mut self, at: AccessId, mpdu: &Mpdu, received: Instant, completed: Instant) {
        if self.connections {
            self.note_connection(at, mpdu, received, completed);
        }
        let row = |packet: Packet| {
            let Packet { flow, number, size, .. } = packet;
            self.mpdu_row(at, mpdu, (received, completed), (flow, number, size))
        };
        let row = packet_of(mpdu)
            .map(|packet| Row::Mpdu(row(packet)))
            .or_else(|| acknowledgement_of(mpdu).map(|packet| Row::Acknowledgement(row(packet))));
        self.rows.extend(row);
    }

    pub(super) fn mpdu_row(
        &self,
        at: AccessId,
        mpdu: &Mpdu,
        (received, completed): (Instant, Instant),
        (flow, number, size): (u64, u64, u64),
    ) -> MpduRow {
        let peer = radio_of(mpdu.peer(), self.radios.len()).unwrap_or(0);
        MpduRow {
            flow,
            number,
            station: Self::link(at.tx.0.into(), peer) as u64,
            category: at.category.index() as u64,
            size,
            queued: mpdu.queued,
            handed: mpdu.handed,
            contending: mpdu.contending,
            first_tx: mpdu.first_tx,
            last_tx: mpdu.last_tx,
            received,
            completed,
            tries: mpdu.tries.into(),
            txop: mpdu.txop,
        }
    }
}

//! Transmissions: who begins, what is in the PPDU, and what its end brings about.

use airbound_air::propagation::LinkQuality;
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::Rate;
use airbound_wifi::control_frames;
use airbound_wifi::mpdu::subframe_size;

use super::phy::{Course, Phy};
use super::queue::Mpdu;
use super::{Medium, OnAir, Ppdu, Radio, WINDOW};
use crate::channel::{Command, Step};
use crate::log::{self, MpduRow, Row, TxopRow};
use crate::plan::FIRST_PORT;
use crate::rates::{self, rate_of};

/// An exchange that could not carry more than this is not worth the rest of an opportunity.
const SHORTEST_PPDU: Span = Span::from_micros(100);
/// A group frame has no rate that could be reported.
const FLAWLESS_SNR: f64 = 60.0;

/// The step of a chain that a transmission uses; the last one that there is if the chain has ended.
fn step_at(rates: &[Step; 4], transmission: u32) -> Step {
    let mut before = 0;
    let mut last = Step { index: 0, tries: 1, flags: 0 };
    for step in rates.iter().take_while(|step| step.index >= 0) {
        last = *step;
        before += u32::from(step.tries.max(1));
        if transmission < before {
            break;
        }
    }
    last
}

/// The tries that a chain allows.
fn tries_of(rates: &[Step; 4]) -> u32 {
    rates
        .iter()
        .take_while(|step| step.index >= 0)
        .map(|step| u32::from(step.tries.max(1)))
        .sum::<u32>()
        .max(1)
}

/// The chain with the tries that `transmissions` made.
fn used(rates: &[Step; 4], transmissions: u32) -> [Step; 4] {
    let mut left = transmissions.max(1);
    rates.map(|step| {
        if step.index < 0 || left == 0 {
            return Step::NONE;
        }
        let tries = left.min(u32::from(step.tries.max(1)));
        left -= tries;
        Step { tries: u8::try_from(tries).unwrap_or(u8::MAX), ..step }
    })
}

/// The radio that an address names.
fn radio_of(address: [u8; 6], radios: usize) -> Option<usize> {
    let radio = usize::from(address[4]);
    (address[..4] == [2, 0, 0, 0] && address[5] == 0 && radio < radios).then_some(radio)
}

impl Medium {
    /// The station at the end of the link between two radios.
    fn link(from: usize, to: usize) -> usize {
        if from == 0 { to } else { from }
    }

    /// The time has come at which somebody transmits.
    pub(super) fn transmit(&mut self) {
        let Some(idle_since) = self.idle_since else { return };
        if let Some(radio) = self.radios.iter().position(|radio| !radio.beacons.is_empty()) {
            self.transmit_beacon(radio, idle_since);
            return;
        }
        let now = self.now;
        let mut winners: Vec<(usize, usize)> = Vec::new();
        let mut losers = Vec::new();
        for (number, radio) in self.radios.iter().enumerate() {
            // Of several categories of one radio the highest wins; the others behave as after a collision (802.11-2020, 10.23.2.4).
            let due = |index: &usize| {
                radio.functions[*index].edcaf.access(idle_since).is_some_and(|access| access <= now)
            };
            let mut due = (0..4).rev().filter(due);
            winners.extend(due.next().map(|index| (number, index)));
            losers.extend(due.map(|index| (number, index)));
        }
        winners.retain(|(radio, index)| self.prepare(*radio, *index));
        if !winners.is_empty() {
            self.become_busy(idle_since);
        }
        for (radio, index) in losers {
            self.radios[radio].functions[index].edcaf.on_failure();
        }
        for (radio, index) in &winners {
            self.start(*radio, *index, winners.len(), None);
        }
        if winners.len() > 1 {
            // Each hears nothing of the others: the channel is free when the longest of the first frames has ended.
            let end = self.on_air.iter().map(|one| one.start + one.course.first_frame).max().unwrap_or(now);
            for one in &mut self.on_air {
                one.end = end;
            }
        }
    }

    fn become_busy(&mut self, idle_since: Instant) {
        self.idle_since = None;
        let now = self.now;
        for function in self.radios.iter_mut().flat_map(|radio| &mut radio.functions) {
            if function.edcaf.is_active() {
                function.edcaf.on_busy(idle_since, now);
            }
        }
    }

    /// Makes sure that a winner has a PPDU.
    fn prepare(&mut self, radio: usize, index: usize) -> bool {
        let limit = self.radios[radio].functions[index].edcaf.txop_limit();
        let longest = self.longest(radio, limit);
        self.form(radio, index, longest)
    }

    /// The longest PPDU of a radio whose exchange fits in `opportunity`; the radio's limit if that is zero (no TXOP limit).
    fn longest(&self, radio: usize, opportunity: Span) -> Span {
        let longest = self.radios[radio].path.max_ppdu_duration;
        if opportunity.is_zero() {
            return longest;
        }
        let answer = control_frames::block_ack(airbound_wifi::Legacy::Mbps24, self.band);
        longest.min(opportunity.saturating_sub(self.band.sifs() + answer))
    }

    fn form(&mut self, radio: usize, index: usize, longest: Span) -> bool {
        let (phy, now) = (&self.phy, self.now);
        let Radio { path, functions, .. } = &mut self.radios[radio];
        let function = &mut functions[index];
        if function.current.is_some() {
            return true;
        }
        let mut bytes = ByteCount::ZERO;
        let mut rate = Rate::legacy(airbound_wifi::Legacy::Mbps6);
        let mpdus = function.waiting.take(path.driver_order, |taken, next| {
            // What tries a rate goes alone, as ath9k does it (xmit.c, `ath_tx_form_aggr`).
            let joins = |mpdu: &Mpdu| mpdu.aggregates && !(mpdu.probe && mpdu.grants == 0);
            let Some(first) = taken.first().filter(|first| joins(first) && joins(next)) else { return false };
            if taken.len() == 1 {
                rate = rate_of(step_at(&first.rates, 0));
                bytes = subframe_size(first.size);
            }
            let distance = next.sequence().wrapping_sub(first.sequence()) & 0x0fff;
            let full = taken.len() >= usize::from(path.max_ampdu_mpdus);
            if rate.as_legacy().is_some() || distance >= WINDOW || full {
                return false;
            }
            let (more, duration) = phy.with_another(rate, bytes, next);
            let fits = more <= path.max_ampdu_bytes && duration <= longest;
            if fits {
                bytes = more;
            }
            fits
        });
        if mpdus.is_empty() {
            function.edcaf.clear_ready();
            return false;
        }
        let contending = function.edcaf.ready_since().unwrap_or(now);
        function.current = Some(Ppdu { mpdus, contending, transmissions: 0, airtime: Span::ZERO });
        true
    }

    /// Puts the PPDU of a function on the air.
    fn start(&mut self, radio: usize, index: usize, transmitters: usize, opportunity_end: Option<Instant>) {
        let now = self.now;
        let radios = self.radios.len();
        let Some(ppdu) = &self.radios[radio].functions[index].current else { return };
        let Some(first) = ppdu.mpdus.first() else { return };
        let (peer, group) = (radio_of(first.peer(), radios), first.is_group());
        let quality = match peer {
            Some(peer) if peer != radio => self.quality(Self::link(radio, peer)),
            _ => LinkQuality::Perfect,
        };
        let one = &mut self.radios[radio];
        let limit = one.functions[index].edcaf.txop_limit();
        let Some(ppdu) = &mut one.functions[index].current else { return };
        let Some(first) = ppdu.mpdus.first() else { return };
        let step = step_at(&first.rates, ppdu.transmissions);
        let rate = rate_of(step);
        let course = self.phy.course(&ppdu.mpdus, rate, step.flags & rates::RTS != 0);
        let acknowledged = if transmitters > 1 || (peer.is_none() && !group) {
            vec![false; ppdu.mpdus.len()]
        } else {
            self.phy.outcome(&ppdu.mpdus, rate, quality, &mut one.reception)
        };
        ppdu.transmissions += 1;
        for mpdu in &mut ppdu.mpdus {
            mpdu.tries = mpdu.tries.saturating_add(1);
            if mpdu.first_tx == Instant::MAX {
                mpdu.first_tx = now;
                mpdu.contending = ppdu.contending.max(mpdu.handed);
            }
        }
        let length = if transmitters > 1 { course.first_frame } else { course.end };
        ppdu.airtime += length;
        self.txops += 1;
        self.on_air.push(OnAir {
            radio,
            function: Some(index),
            start: now,
            end: now + length,
            course,
            rate,
            acknowledged,
            transmitters,
            txop: self.txops,
            opportunity_end: opportunity_end.unwrap_or(now + limit),
        });
    }

    fn transmit_beacon(&mut self, radio: usize, idle_since: Instant) {
        let Some(beacon) = self.radios[radio].beacons.front() else { return };
        let rate = rate_of(step_at(&beacon.rates, 0));
        let course = self.phy.course(std::slice::from_ref(beacon), rate, false);
        self.become_busy(idle_since);
        self.txops += 1;
        self.on_air.push(OnAir {
            radio,
            function: None,
            start: self.now,
            end: self.now + course.end,
            course,
            rate,
            acknowledged: vec![true],
            transmitters: 1,
            txop: self.txops,
            opportunity_end: self.now,
        });
    }

    /// The channel is free, or the next exchange of an opportunity begins.
    pub(super) fn finish(&mut self) {
        let on_air = std::mem::take(&mut self.on_air);
        let collided = on_air.len() > 1;
        if let Some(first) = on_air.first() {
            self.busy += self.now.since(first.start);
        }
        for one in on_air {
            self.radios[one.radio].own += one.end.since(one.start);
            match one.function {
                None => {
                    if let Some(beacon) = self.radios[one.radio].beacons.pop_front() {
                        self.finish_group(&one, &beacon);
                        self.note_beacon(&one, &beacon);
                    }
                }
                Some(index) => self.finish_exchange(&one, index),
            }
        }
        if !self.on_air.is_empty() {
            return;
        }
        let wait = if collided && self.eifs { self.band.eifs() - self.band.difs() } else { Span::ZERO };
        self.idle_since = Some(self.now + wait);
        // A function that found its frames while the channel was busy draws its backoff against the new idle time.
        let idle_since = self.idle_since;
        let now = self.now;
        for function in self.radios.iter_mut().flat_map(|radio| &mut radio.functions) {
            if function.current.is_some() || !function.waiting.is_empty() {
                function.edcaf.set_ready(now, idle_since);
            } else {
                function.edcaf.clear_ready();
            }
        }
    }

    fn finish_group(&mut self, one: &OnAir, mpdu: &Mpdu) {
        let signal = (self.noise + FLAWLESS_SNR) as i8;
        let radio = one.radio as u8;
        let step = step_at(&mpdu.rates, 0);
        let receivers = !(1u64 << one.radio);
        self.commands.push(Command::Deliver { radio, cookie: mpdu.cookie, receivers, signal, rate: step });
        self.commands.push(Command::Done {
            radio,
            cookie: mpdu.cookie,
            acked: true,
            rates: used(&mpdu.rates, 1),
        });
    }

    fn finish_exchange(&mut self, one: &OnAir, index: usize) {
        let function = &mut self.radios[one.radio].functions[index];
        let Some(mut ppdu) = function.current.take() else { return };
        let acked = one.acknowledged.iter().filter(|acked| **acked).count();
        let Some((first_rates, first_group, no_ack)) =
            ppdu.mpdus.first().map(|first| (first.rates, first.is_group(), first.no_ack))
        else {
            return;
        };
        let unanswered = first_group || no_ack;
        if acked > 0 || unanswered {
            function.edcaf.on_success();
        } else {
            function.edcaf.on_failure();
        }
        self.note_txop(one, index, &ppdu, acked);
        let Radio { path, functions, .. } = &mut self.radios[one.radio];
        let function = &mut functions[index];
        let tries = tries_of(&first_rates).min(u32::from(path.hardware_tries));
        let exhausted = ppdu.mpdus.iter().any(|mpdu| mpdu.tries >= mpdu.most_tries);
        if acked == 0 && !unanswered && ppdu.transmissions < tries && !exhausted {
            function.current = Some(ppdu);
            return;
        }
        if acked == 0 && !unanswered {
            function.edcaf.on_give_up();
        }
        // What waits behind it begins to contend now.
        function.edcaf.clear_ready();
        let mpdus = std::mem::take(&mut ppdu.mpdus);
        if unanswered {
            for (mpdu, heard) in mpdus.iter().zip(&one.acknowledged) {
                if *heard {
                    self.finish_group(one, mpdu);
                    self.note_mpdu(one, index, mpdu, true);
                } else {
                    // Nobody hears what collides.
                    let rates = used(&mpdu.rates, 1);
                    let radio = one.radio as u8;
                    self.commands.push(Command::Done { radio, cookie: mpdu.cookie, acked: false, rates });
                }
            }
            return;
        }
        self.settle(one, index, &ppdu, mpdus, first_rates);
        if acked > 0 && one.transmitters == 1 {
            self.continue_opportunity(one, index);
        }
    }

    /// Each MPDU of an acknowledged exchange arrives, goes back to be sent again, or is given up.
    fn settle(&mut self, one: &OnAir, index: usize, ppdu: &Ppdu, mpdus: Vec<Mpdu>, chain: [Step; 4]) {
        let Some(first) = mpdus.first() else { return };
        let radio = one.radio as u8;
        let (peer, tid, ampdu) = (first.peer(), first.tid(), first.aggregates);
        let receiver = radio_of(peer, self.radios.len());
        let signal = match receiver.map(|receiver| self.quality(Self::link(one.radio, receiver))) {
            Some(LinkQuality::Snr(snr)) => (self.noise + snr.value()).clamp(-120.0, -20.0) as i8,
            _ => (self.noise + FLAWLESS_SNR) as i8,
        };
        let rates = used(&chain, ppdu.transmissions);
        let step = step_at(&chain, ppdu.transmissions.saturating_sub(1));
        let count = u16::try_from(mpdus.len()).unwrap_or(u16::MAX);
        let acked = one.acknowledged.iter().filter(|acked| **acked).count();
        let most_grants = self.radios[one.radio].path.max_grants;
        let mut back = Vec::new();
        for (mut mpdu, arrived) in mpdus.into_iter().zip(&one.acknowledged) {
            mpdu.grants = mpdu.grants.saturating_add(1);
            if *arrived {
                if let Some(receiver) = receiver {
                    let receivers = 1u64 << receiver;
                    let cookie = mpdu.cookie;
                    self.commands.push(Command::Deliver { radio, cookie, receivers, signal, rate: step });
                }
            } else if mpdu.aggregates && mpdu.grants < most_grants && mpdu.tries < mpdu.most_tries {
                back.push(mpdu);
                continue;
            }
            self.note_mpdu(one, index, &mpdu, *arrived);
            self.commands.push(Command::Done { radio, cookie: mpdu.cookie, acked: *arrived, rates });
        }
        self.commands.push(Command::Ppdu {
            radio,
            peer,
            tid: tid & 15,
            ampdu,
            airtime: u32::try_from(ppdu.airtime.as_micros()).unwrap_or(u32::MAX),
            mpdus: count,
            acked: u16::try_from(acked).unwrap_or(u16::MAX),
            rates,
        });
        self.radios[one.radio].functions[index].waiting.put_back(back);
    }

    /// Sends the next PPDU of the same category without contending, if the opportunity has room for it.
    fn continue_opportunity(&mut self, one: &OnAir, index: usize) {
        let start = self.now + self.band.sifs();
        let left = one.opportunity_end.since(start);
        let longest = if left.is_zero() { Span::ZERO } else { self.longest(one.radio, left) };
        if longest < SHORTEST_PPDU || self.radios[one.radio].functions[index].waiting.is_empty() {
            return;
        }
        if !self.form(one.radio, index, longest) {
            return;
        }
        let Some(ppdu) = &self.radios[one.radio].functions[index].current else { return };
        let Some(first) = ppdu.mpdus.first() else { return };
        let course: Course = self.phy.course(&ppdu.mpdus, rate_of(step_at(&first.rates, 0)), false);
        if start + course.end > one.opportunity_end {
            return;
        }
        // The pause before it belongs to the opportunity: the channel stays busy.
        self.busy += start.since(self.now);
        self.now = start;
        self.start(one.radio, index, 1, Some(one.opportunity_end));
    }

    fn note_beacon(&mut self, one: &OnAir, beacon: &Mpdu) {
        self.rows.push(Row::Txop(TxopRow {
            txop: one.txop,
            radio: one.radio as u64,
            peer: log::NONE,
            category: 3,
            data: 0,
            contending: beacon.handed,
            start: one.start,
            end: one.end,
            rate: one.rate.bit_rate().as_bps(),
            mpdus: 1,
            acked: 0,
            size: beacon.size.as_u64(),
            transmitters: 1,
        }));
    }

    fn note_txop(&mut self, one: &OnAir, index: usize, ppdu: &Ppdu, acked: usize) {
        let Some(first) = ppdu.mpdus.first() else { return };
        let peer = radio_of(first.peer(), self.radios.len());
        self.rows.push(Row::Txop(TxopRow {
            txop: one.txop,
            radio: one.radio as u64,
            peer: peer.map_or(log::NONE, |peer| peer as u64),
            category: index as u64,
            data: u64::from(first.is_qos()),
            contending: ppdu.contending,
            start: one.start,
            end: one.end,
            rate: one.rate.bit_rate().as_bps(),
            mpdus: ppdu.mpdus.len() as u64,
            acked: acked as u64,
            size: Phy::psdu(&ppdu.mpdus, one.rate).as_u64(),
            transmitters: one.transmitters as u64,
        }));
    }

    fn note_mpdu(&mut self, one: &OnAir, index: usize, mpdu: &Mpdu, arrived: bool) {
        let Some((flow, number, size)) = packet_of(mpdu) else { return };
        let peer = radio_of(mpdu.peer(), self.radios.len()).unwrap_or(0);
        self.rows.push(Row::Mpdu(MpduRow {
            flow,
            number,
            station: Self::link(one.radio, peer) as u64,
            category: index as u64,
            size,
            queued: mpdu.queued,
            handed: mpdu.handed,
            contending: mpdu.contending,
            first_tx: mpdu.first_tx,
            last_tx: one.start,
            received: if arrived { one.start + one.course.ppdu_end } else { Instant::MAX },
            completed: one.end,
            tries: u64::from(mpdu.tries),
            txop: one.txop,
        }));
    }
}

/// Flow, number and size of the IPv4 packet in a QoS data frame that belongs to a flow.
fn packet_of(mpdu: &Mpdu) -> Option<(u64, u64, u64)> {
    const MAC: usize = 26;
    const IP: usize = MAC + 8;
    let head = &mpdu.head;
    let u16_at = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    // EtherType IPv4 behind LLC and SNAP; 20 bytes of header.
    if !mpdu.is_qos() || u16_at(MAC + 6) != 0x0800 || head[IP] != 0x45 {
        return None;
    }
    let flow = u16_at(IP + 22).checked_sub(FIRST_PORT).filter(|flow| *flow < 1000)?;
    let number = match head[IP + 9] {
        17 => {
            let mut number = [0; 8];
            number.copy_from_slice(&head[IP + 28..IP + 36]);
            u64::from_be_bytes(number)
        }
        6 => log::NONE,
        _ => return None,
    };
    Some((u64::from(flow), number, u64::from(u16_at(IP + 2))))
}

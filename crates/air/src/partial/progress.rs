//! Progress of exchanges: frames begin and end, listeners sense them, receivers answer, senders notice failures.

use airbound_units::Instant;
use airbound_wifi::AckBitmap;

use crate::channel::{Exchange, TxId};
use crate::exchange::Answer;

use super::exchange::{Lost, Ongoing};
use super::frame::{Frame, Heard, Part};
use super::{Due, Ended, PartialChannel, Pending, Step};

impl PartialChannel {
    /// Executes all steps before `now`, and those at `now` up to `last`.
    pub(super) fn run(&mut self, now: Instant, last: Step) {
        while let Some((at, step, place)) = self.earliest() {
            if at > now || (at == now && step > last) {
                return;
            }
            match step {
                Step::FrameEnd => {
                    self.settle_receivers(at);
                    let mut frame = self.frames.remove(place);
                    self.judge(&mut frame);
                    self.end_frame(&frame);
                }
                Step::Timeout | Step::Begin => {
                    let Pending { exchange, due, .. } = self.pending.remove(place);
                    match due {
                        Due::Timeout => self.fail(at, exchange, 1),
                        Due::Calm => self.note_busy(at),
                        Due::Begin(part) => self.begin_part(at, exchange, part),
                    }
                }
            }
        }
    }

    /// The earliest step: its time, its kind, and its place in its list.
    fn earliest(&self) -> Option<(Instant, Step, usize)> {
        let frames = self.frames.iter().enumerate().map(|(place, frame)| (frame.end, Step::FrameEnd, place));
        let pending = self.pending.iter().enumerate().map(|(place, pending)| {
            let step = if matches!(pending.due, Due::Begin(_)) { Step::Begin } else { Step::Timeout };
            (pending.at, step, place)
        });
        frames.chain(pending).min()
    }

    /// The first frame of a transmitter's exchange.
    pub(super) fn first_part(&self, exchange: usize) -> Part {
        let ongoing = self.nodes.get(exchange).and_then(|node| node.ongoing.as_ref());
        if ongoing.is_some_and(Ongoing::is_protected) { Part::Rts } else { Part::Data }
    }

    /// Begins a frame of an exchange, unless its sender sends something else meanwhile, which fails the exchange.
    pub(super) fn begin_part(&mut self, now: Instant, exchange: usize, part: Part) {
        let Some(ongoing) = self.nodes.get(exchange).and_then(|node| node.ongoing.as_ref()) else { return };
        let is_answer = matches!(part, Part::Cts | Part::Answer);
        let (from, to) = if is_answer { (ongoing.to, exchange) } else { (exchange, ongoing.to) };
        let (timing, sifs) = (&ongoing.timing, ongoing.sifs);
        let duration = match part {
            Part::Rts => timing.first_frame,
            Part::Cts => ongoing.cts(),
            Part::Answer => ongoing.answer_duration(),
            Part::Data | Part::Beacon => timing.ppdu_end - timing.ppdu_start,
        };
        let end = now + duration;
        let data_end = |start: Instant| start + (timing.ppdu_end - timing.ppdu_start);
        let answered = |end: Instant| end + (timing.end - timing.ppdu_end);
        let reserved = match part {
            Part::Rts => answered(data_end(end + sifs + ongoing.cts() + sifs)),
            Part::Cts => answered(data_end(end + sifs)),
            Part::Data => answered(end),
            Part::Answer | Part::Beacon => end,
        };
        if self.nodes.get(from).is_some_and(|node| node.carrier.is_sending()) {
            if is_answer {
                // The initiator's wait has been replaced by this answer.
                let timeout = self.phy.band().response_timeout().saturating_sub(sifs);
                self.pending.push(Pending { at: now + timeout, exchange, due: Due::Timeout });
            } else {
                self.fail(now, exchange, 1);
            }
            return;
        }
        let frame = self.frame(part, (from, to, exchange), (now, end), reserved);
        self.begin(now, frame);
    }

    pub(super) fn frame(
        &self,
        part: Part,
        (from, to, exchange): (usize, usize, usize),
        (start, end): (Instant, Instant),
        reserved: Instant,
    ) -> Frame {
        let sender = TxId(from as u16);
        let number = self.sent;
        let listeners = (0..self.nodes.len() as u16).map(TxId);
        let at = listeners
            .map(|node| if self.hearing.hears(node, sender) { Heard::Clear } else { Heard::Nothing })
            .collect();
        Frame {
            number,
            part,
            from,
            to,
            exchange,
            start,
            end,
            reserved,
            at,
            overlaps: Vec::new(),
            energy: Vec::new(),
            captured: None,
        }
    }

    /// Puts a frame on the air.
    pub(super) fn begin(&mut self, now: Instant, mut frame: Frame) {
        self.sent += 1;
        self.settle_receivers(now);
        self.note_energy(now, &mut frame);
        let sender = TxId(frame.from as u16);
        for number in 0..self.nodes.len() {
            let listener = TxId(number as u16);
            if number != frame.from && !self.hearing.hears(listener, sender) {
                continue;
            }
            for other in &mut self.frames {
                let senses = number == other.from || self.hearing.hears(listener, TxId(other.from as u16));
                if senses {
                    other.overlap(number, now, frame.end);
                    frame.overlap(number, now, other.end);
                }
            }
            let node = &mut self.nodes[number];
            node.freeze(now);
            if number == frame.from {
                node.carrier.send();
            } else {
                node.carrier.hear(now);
            }
        }
        self.note_busy(now);
        self.frames.push(frame);
    }

    /// Notes the begin or the end of a busy period of the first transmitter; a gap of SIFS belongs to it.
    pub(super) fn note_busy(&mut self, now: Instant) {
        let senses = self.nodes.first().is_some_and(|node| node.carrier.senses()) || self.jammed_until > now;
        match self.busy_since {
            None if senses => {
                let is_gap = now.since(self.busy_end) <= self.phy.band().sifs();
                self.busy_since = Some(if is_gap { self.busy_end } else { now });
            }
            Some(since) if !senses => {
                self.busy_since = None;
                self.busy_end = now;
                self.busy.push_back((since, now));
            }
            _ => {}
        }
    }

    /// Ends a frame: listeners take its reservation, the receiver answers, the initiator goes on.
    fn end_frame(&mut self, frame: &Frame) {
        let now = frame.end;
        self.listen(frame);
        match frame.part {
            Part::Rts => self.end_rts(now, frame),
            Part::Cts if frame.is_intact() && !self.lost(frame).cts => {
                self.follow(now, frame.exchange, Part::Data);
            }
            Part::Data => self.end_data(now, frame),
            Part::Answer if frame.is_intact() && !self.lost(frame).answer => {
                self.succeed(now, frame.exchange);
            }
            Part::Cts | Part::Answer => self.miss(now, frame),
            Part::Beacon => {}
        }
        for number in 0..self.nodes.len() {
            if number == frame.from || frame.heard_by(number) != Heard::Nothing {
                self.stop_waiting(now, number, frame);
                self.rest(now, number);
            }
        }
        self.note_busy(now);
    }

    /// A detected frame from another ends the wait for a response (802.11-2020, 10.3.2.11).
    fn stop_waiting(&mut self, now: Instant, number: usize, frame: &Frame) {
        if !self.attentive || !matches!(frame.heard_by(number), Heard::Clear | Heard::Garbled) {
            return;
        }
        let waits_for = |pending: &&mut Pending| pending.exchange == number && pending.due == Due::Timeout;
        let since = self.ongoing(number).and_then(|ongoing| ongoing.overlapped).map(|(end, _)| end);
        if let (Some(since), Some(wait)) = (since, self.pending.iter_mut().find(waits_for))
            && frame.start >= since
        {
            wait.at = wait.at.min(now);
        }
    }

    /// The listeners of a frame note its end, and the time that it reserves.
    fn listen(&mut self, frame: &Frame) {
        let now = frame.end;
        let band = self.phy.band();
        let cts = self.nodes.get(frame.exchange).and_then(|node| node.ongoing.as_ref()).map(Ongoing::cts);
        // NAVTimeout (802.11-2020, 10.3.2.4).
        let nav_timeout =
            band.sifs() * 2 + cts.unwrap_or_default() + band.phy_start_delay() + band.slot() * 2;
        for (number, node) in self.nodes.iter_mut().enumerate() {
            if number == frame.from {
                node.carrier.send_end();
            }
            match frame.heard_by(number) {
                Heard::Nothing => continue,
                Heard::Clear => {
                    node.carrier.note_reception(true);
                    if number != frame.to && number != frame.exchange {
                        match frame.part {
                            Part::Rts => {
                                node.carrier.reserve_provisionally(now + nav_timeout, frame.reserved);
                            }
                            _ => node.carrier.reserve(frame.reserved),
                        }
                    }
                }
                Heard::Garbled => node.carrier.note_reception(false),
                Heard::Undetected => {}
            }
            node.carrier.hear_end();
        }
    }

    /// The receiver of an RTS answers unless a reservation of others forbids it.
    fn end_rts(&mut self, now: Instant, frame: &Frame) {
        let is_free = self.nodes.get(frame.to).is_some_and(|node| !node.carrier.is_reserved(now));
        if frame.is_intact() && !self.lost(frame).rts && is_free {
            self.follow(now, frame.exchange, Part::Cts);
        } else {
            self.give_up(now, frame);
        }
    }

    /// The receiver of a PPDU acknowledges what arrived.
    fn end_data(&mut self, now: Instant, frame: &Frame) {
        let Some(node) = self.nodes.get_mut(frame.exchange) else { return };
        let Some(ongoing) = &mut node.ongoing else { return };
        if frame.captured.is_none() {
            ongoing.damage(&frame.overlaps);
        }
        let (arrived, answer) = (ongoing.received.count() > 0, ongoing.answer);
        ongoing.arrived = arrived;
        let is_heard = frame.from != frame.to && frame.heard_by(frame.to) != Heard::Undetected;
        if let Some(receiver) = self.nodes.get_mut(frame.to).filter(|_| is_heard) {
            receiver.carrier.note_reception(arrived);
        }
        match (arrived, answer) {
            (true, Answer::None) => self.succeed(now, frame.exchange),
            (true, _) => self.follow(now, frame.exchange, Part::Answer),
            (false, _) => self.give_up(now, frame),
        }
    }

    /// The next frame of an exchange begins after SIFS.
    pub(super) fn follow(&mut self, now: Instant, exchange: usize, part: Part) {
        let at = now + self.phy.band().sifs();
        self.pending.push(Pending { at, exchange, due: Due::Begin(part) });
    }

    /// The control frames that noise destroys in the exchange of a frame.
    fn lost(&self, frame: &Frame) -> Lost {
        self.ongoing(frame.exchange).map(|ongoing| ongoing.lost).unwrap_or_default()
    }

    /// A response comes to its end without having been decoded.
    fn miss(&mut self, now: Instant, frame: &Frame) {
        if let Some(node) = self.nodes.get_mut(frame.exchange).filter(|_| frame.is_intact()) {
            node.carrier.note_reception(false);
        }
        self.fail(now, frame.exchange, 1 + frame.overlaps.len());
    }

    /// No response to a frame will come: its sender notices at the timeout. A collision is known now.
    fn give_up(&mut self, now: Instant, frame: &Frame) {
        let at = now + self.phy.band().response_timeout();
        if let Some(ongoing) = self.nodes.get_mut(frame.exchange).and_then(|node| node.ongoing.as_mut()) {
            ongoing.note_overlaps(frame.overlaps.len(), now);
        }
        self.pending.push(Pending { at, exchange: frame.exchange, due: Due::Timeout });
    }

    /// An exchange ends with its answer.
    fn succeed(&mut self, now: Instant, exchange: usize) {
        let received = self.ongoing(exchange).map_or(AckBitmap::NONE, |ongoing| ongoing.received);
        self.finish(now, exchange, (now, received), 1);
    }

    /// An exchange ends without an answer.
    fn fail(&mut self, now: Instant, exchange: usize, transmitters: usize) {
        let Some(ongoing) = self.ongoing(exchange) else { return };
        let (end, overlaps) = ongoing.overlapped.unwrap_or((now, 0));
        let transmitters = transmitters.max(1 + overlaps);
        self.finish(now, exchange, (end, AckBitmap::NONE), transmitters);
    }

    pub(super) fn ongoing(&self, exchange: usize) -> Option<&Ongoing> {
        self.nodes.get(exchange).and_then(|node| node.ongoing.as_ref())
    }

    fn finish(
        &mut self,
        now: Instant,
        exchange: usize,
        (end, acknowledged): (Instant, AckBitmap),
        transmitters: usize,
    ) {
        let Some(ongoing) = self.nodes.get_mut(exchange).and_then(|node| node.ongoing.take()) else { return };
        let planned = ongoing.timing.end - ongoing.start;
        let mut timing = ongoing.timing;
        timing.end = end;
        let exchange_ended = Exchange {
            at: ongoing.at,
            rate: ongoing.rate,
            start: ongoing.start,
            timing,
            transmitters: u16::try_from(transmitters).unwrap_or(u16::MAX),
            // Without losses of answers, data whose answer is lost counts as lost, as on the other channel.
            received: if ongoing.arrived && self.losses.answers.is_some() {
                ongoing.received
            } else {
                acknowledged
            },
            acknowledged,
            txop_end: ongoing.txop_end,
        };
        self.ended.push_back(Ended { exchange: exchange_ended, planned });
        self.pending.retain(|pending| pending.exchange != exchange);
        if let Some(node) = self.nodes.get_mut(exchange) {
            node.carrier.engaged = false;
        }
        self.rest(now, exchange);
    }

    /// Begins an idle period of a transmitter, if it senses nothing.
    pub(super) fn rest(&mut self, now: Instant, number: usize) {
        if let Some(node) = self.nodes.get_mut(number) {
            node.access.set(None);
            if node.carrier.idle_since().is_none() {
                node.carrier.rest(now, self.eifs, self.jammed_until);
            }
        }
    }
}

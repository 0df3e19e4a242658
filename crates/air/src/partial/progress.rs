//! Progress of exchanges: frames begin and end, listeners sense them, receivers answer, senders notice failures.

use airbound_units::Instant;
use airbound_wifi::AckBitmap;

use crate::channel::Exchange;
use crate::exchange::Answer;

use super::carrier::Carrier;
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
        if self.carriers.get(from).is_some_and(Carrier::is_sending) {
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
        let mut at = Vec::new();
        if !self.carriers.all_hear() {
            at.resize(self.nodes.len(), Heard::Nothing);
            for listener in self.audiences.get(from).into_iter().flatten() {
                at[usize::from(*listener)] = Heard::Clear;
            }
        }
        Frame {
            number: self.sent,
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

    /// The others that hear a transmitter, taken out of their place until [`Self::put_back`].
    pub(super) fn take_audience(&mut self, sender: usize) -> Vec<u16> {
        self.audiences.get_mut(sender).map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn put_back(&mut self, sender: usize, audience: Vec<u16>) {
        if let Some(place) = self.audiences.get_mut(sender) {
            *place = audience;
        }
    }

    /// Puts a frame on the air.
    pub(super) fn begin(&mut self, now: Instant, mut frame: Frame) {
        self.sent += 1;
        self.join_receivers(now);
        if !self.frames.is_empty() {
            self.carriers.scatter();
            let nodes = self.nodes.len();
            self.frames.iter_mut().chain([&mut frame]).for_each(|frame| frame.spread(nodes));
        }
        let audience = self.take_audience(frame.from);
        self.note_energy(now, &mut frame, &audience);
        self.overlap(now, &mut frame, &audience);
        self.soonest.set(None);
        for number in self.active.iter().map(|number| usize::from(*number)) {
            let senses = number == frame.from || frame.heard_by(number) != Heard::Nothing;
            let since = self.carriers.get(number).filter(|_| senses).and_then(Carrier::idle_since);
            if let Some((since, node)) = since.zip(self.nodes.get_mut(number)) {
                node.edca.iter_mut().for_each(|edcaf| edcaf.on_busy(since, now));
            }
        }
        let begin = |carrier: &mut Carrier| {
            carrier.occupy();
            carrier.hear(now);
        };
        if frame.is_plain() {
            self.carriers.for_others(frame.from, |_, carrier| begin(carrier));
        } else {
            let heard = audience.iter().map(|listener| usize::from(*listener));
            heard.for_each(|listener| self.carriers.get_mut(listener).into_iter().for_each(begin));
        }
        if let Some(sender) = self.carriers.get_mut(frame.from) {
            sender.occupy();
            sender.send();
        }
        self.put_back(frame.from, audience);
        self.note_busy(now);
        self.frames.push(frame);
    }

    /// Notes where a frame that begins overlaps those on the air. With capture only the receivers of the frames count it: what others make
    /// of them is decided at the end.
    fn overlap(&mut self, now: Instant, frame: &mut Frame, audience: &[u16]) {
        let captures = self.receivers.is_some();
        for other in &mut self.frames {
            if captures {
                for number in [other.to, frame.to].into_iter().take(if other.to == frame.to { 1 } else { 2 })
                {
                    if number == frame.from || frame.heard_by(number) != Heard::Nothing {
                        overlap_at(number, now, frame, other);
                    }
                }
            } else {
                let listeners = audience.iter().map(|listener| usize::from(*listener));
                listeners.chain([frame.from]).for_each(|number| overlap_at(number, now, frame, other));
            }
        }
    }

    /// Notes the begin or the end of busy periods of watched transmitters; a gap of SIFS belongs to one.
    pub(super) fn note_busy(&mut self, now: Instant) {
        for watch in &mut self.watches {
            let senses =
                self.carriers.get(watch.node).is_some_and(Carrier::senses) || self.jammed_until > now;
            match watch.since {
                None if senses => {
                    let is_gap = now.since(watch.end) <= self.phy.band().sifs();
                    watch.since = Some(if is_gap { watch.end } else { now });
                }
                Some(since) if !senses => {
                    watch.since = None;
                    watch.end = now;
                    watch.periods.push_back((since, now));
                }
                _ => {}
            }
        }
    }

    /// Ends a frame: listeners take its reservation, the receiver answers, the initiator goes on.
    fn end_frame(&mut self, frame: &Frame) {
        let now = frame.end;
        let audience = self.take_audience(frame.from);
        self.listen(frame, &audience);
        self.put_back(frame.from, audience);
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
        for number in [frame.from, frame.to, frame.exchange] {
            if number == frame.from || frame.heard_by(number) != Heard::Nothing {
                self.stop_waiting(now, number, frame);
                self.rest(now, number);
            }
        }
        self.note_busy(now);
        if self.frames.is_empty() {
            self.carriers.gather(now);
        }
    }

    /// A detected frame from another ends the wait for a response (802.11-2020, 10.3.2.11).
    fn stop_waiting(&mut self, now: Instant, number: usize, frame: &Frame) {
        let waits = self.attentive && self.carriers.get(number).is_some_and(|carrier| carrier.engaged);
        if !waits || !matches!(frame.heard_by(number), Heard::Clear | Heard::Garbled) {
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

    /// The listeners of a frame note its end, and the time that it reserves. Those whom the exchange does not concern begin to rest.
    fn listen(&mut self, frame: &Frame, audience: &[u16]) {
        let now = frame.end;
        let band = self.phy.band();
        let cts = self.ongoing(frame.exchange).map(Ongoing::cts);
        // NAVTimeout (802.11-2020, 10.3.2.4).
        let nav_timeout =
            band.sifs() * 2 + cts.unwrap_or_default() + band.phy_start_delay() + band.slot() * 2;
        if let Some(sender) = self.carriers.get_mut(frame.from) {
            sender.send_end();
        }
        self.soonest.set(None);
        let is_concerned = |number: usize| number == frame.to || number == frame.exchange;
        let (eifs, jammed_until) = (self.eifs, self.jammed_until);
        // Returns whether the end of the frame may end the wait for a response.
        let end = |carrier: &mut Carrier, heard: Heard, is_concerned: bool| {
            match heard {
                Heard::Nothing => return false,
                Heard::Clear => {
                    carrier.note_reception(true);
                    if !is_concerned {
                        match frame.part {
                            Part::Rts => carrier.reserve_provisionally(now + nav_timeout, frame.reserved),
                            _ => carrier.reserve(frame.reserved),
                        }
                    }
                }
                Heard::Garbled => carrier.note_reception(false),
                Heard::Undetected => {}
            }
            carrier.hear_end();
            if !is_concerned && !carrier.engaged && carrier.idle_since().is_none() {
                carrier.rest(now, eifs, jammed_until);
            }
            !is_concerned && carrier.engaged
        };
        let mut waiting = std::mem::take(&mut self.waiting);
        if frame.is_plain() {
            // Those whom the exchange concerns do not share the state of the others.
            self.carriers.get_mut(frame.to);
            self.carriers.get_mut(frame.exchange);
            self.carriers.for_others(frame.from, |number, carrier| {
                let waits = end(carrier, Heard::Clear, number.is_some_and(is_concerned));
                waiting.extend(number.filter(|_| waits));
            });
        } else {
            for number in audience.iter().map(|listener| usize::from(*listener)) {
                if let Some(carrier) = self.carriers.get_mut(number)
                    && end(carrier, frame.heard_by(number), is_concerned(number))
                {
                    waiting.push(number);
                }
            }
        }
        waiting.drain(..).for_each(|number| self.stop_waiting(now, number, frame));
        self.waiting = waiting;
    }

    /// The receiver of an RTS answers unless a reservation of others forbids it.
    fn end_rts(&mut self, now: Instant, frame: &Frame) {
        let is_free = self.carriers.get(frame.to).is_some_and(|carrier| !carrier.is_reserved(now));
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
        if let Some(receiver) = self.carriers.get_mut(frame.to).filter(|_| is_heard) {
            receiver.note_reception(arrived);
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
        if let Some(carrier) = self.carriers.get_mut(frame.exchange).filter(|_| frame.is_intact()) {
            carrier.note_reception(false);
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
        if let Some(carrier) = self.carriers.get_mut(exchange) {
            carrier.engaged = false;
        }
        self.rest(now, exchange);
    }

    /// Begins an idle period of a transmitter, if it senses nothing.
    pub(super) fn rest(&mut self, now: Instant, number: usize) {
        self.soonest.set(None);
        if self.carriers.get(number).is_some_and(|carrier| carrier.idle_since().is_none())
            && let Some(carrier) = self.carriers.get_mut(number)
        {
            carrier.rest(now, self.eifs, self.jammed_until);
        }
    }
}

/// Notes that a frame which begins overlaps another at a transmitter that hears or sends it, if that one hears or sends the other.
fn overlap_at(number: usize, now: Instant, frame: &mut Frame, other: &mut Frame) {
    if number == other.from || other.heard_by(number) != Heard::Nothing {
        other.overlap(number, now, frame.end);
        frame.overlap(number, now, other.end);
    }
}

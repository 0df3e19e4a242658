//! Judgement of frames that end, with capture: which receivers decoded them, and which MPDUs arrived.

use airbound_random::Stream;
use airbound_units::Instant;
use airbound_wifi::{AckBitmap, Legacy, Rate};

use super::PartialChannel;
use super::carrier::Carrier;
use super::exchange::Ongoing;
use super::frame::{Energy, Frame, Heard, Part};
use super::interference::{Field, Interference, Period, shared};

/// Training fields, which precede the PHY header: they carry no bits.
const TRAINING_SYMBOLS: u64 = 4;

/// The parts of a frame that carry bits, and their rates.
struct Content {
    header: Period,
    header_rate: Rate,
    mpdus: Vec<Period>,
    rate: Rate,
    /// Ratio of interference to signal up to which neither the header nor an MPDU is lost, without noise.
    harmless: f64,
    /// Linear ratio of noise to signal at its receiver.
    noise: f64,
}

impl PartialChannel {
    /// With capture: ends the searches for preambles that are due.
    pub(super) fn settle_receivers(&mut self, now: Instant) {
        if let Some(receivers) = &mut self.receivers {
            receivers.settle(now, &self.frames);
        }
    }

    /// With capture: the same before another frame begins.
    pub(super) fn join_receivers(&mut self, now: Instant) {
        if let Some(receivers) = &mut self.receivers {
            receivers.join(now, &self.frames);
        }
    }

    /// With capture: a frame that begins is energy at all receivers, and may be locked on.
    pub(super) fn note_energy(&mut self, now: Instant, frame: &mut Frame, audience: &[u16]) {
        let Some(receivers) = &mut self.receivers else { return };
        for other in &mut self.frames {
            let until = frame.end.min(other.end);
            other.energy.push(Energy { sender: frame.from, from: now, until });
            frame.energy.push(Energy { sender: other.from, from: now, until });
        }
        let carriers = &self.carriers;
        let is_sending = |number: usize| carriers.get(number).is_some_and(Carrier::is_sending);
        receivers.begin(frame, &self.frames, audience, is_sending);
    }

    /// With capture: decides which receivers decoded a frame that ends, and removes the MPDUs that its own receiver lost.
    pub(super) fn judge(&mut self, frame: &mut Frame) {
        let Some(mut receivers) = self.receivers.take() else { return };
        let has_receiver = frame.to != frame.from && frame.part != Part::Beacon;
        if receivers.was_alone(frame) {
            // It arrives at all who hear it as noise leaves it.
            self.receivers = Some(receivers);
            frame.captured = has_receiver.then(|| frame.heard_by(frame.to) == Heard::Clear);
            return;
        }
        frame.spread(self.nodes.len());
        let audience = self.take_audience(frame.from);
        // A frame that nothing overlaps arrives as noise leaves it.
        let content = (!frame.energy.is_empty()).then(|| self.content(frame));
        receivers.interference.note(&frame.energy);
        let mut intact = false;
        for number in audience.iter().map(|listener| usize::from(*listener)) {
            if frame.heard_by(number) == Heard::Nothing {
                continue;
            }
            let is_locked = receivers.unlock(number, frame);
            let Some(content) = content.as_ref().filter(|_| is_locked) else {
                frame.at[number] = if is_locked { Heard::Clear } else { Heard::Undetected };
                if number == frame.to {
                    intact = is_locked;
                    if frame.part == Part::Data && !is_locked {
                        self.keep(frame.exchange, AckBitmap::NONE);
                    }
                }
                continue;
            };
            if number != frame.to {
                let is_clear = !receivers.look(number, frame.from, content.harmless)
                    || self.decodes(content, number, &mut receivers.interference);
                frame.at[number] = if is_clear { Heard::Clear } else { Heard::Garbled };
                continue;
            }
            let arrived = if receivers.look(number, frame.from, 0.0) {
                self.decode(frame, content, &mut receivers.interference)
            } else {
                Some(AckBitmap::first(content.mpdus.len()))
            };
            intact = arrived.is_some_and(|arrived| arrived.count() > 0);
            frame.at[number] = if intact { Heard::Clear } else { Heard::Garbled };
            if frame.part == Part::Data {
                self.keep(frame.exchange, arrived.unwrap_or(AckBitmap::NONE));
            }
        }
        self.put_back(frame.from, audience);
        self.receivers = Some(receivers);
        // A receiver near its sender that is no transmitter itself is disturbed by whatever its sender hears.
        if has_receiver {
            frame.captured = Some(intact);
        }
    }

    /// Removes all but these MPDUs from those that noise left.
    fn keep(&mut self, exchange: usize, arrived: AckBitmap) {
        let Some(ongoing) = self.nodes.get_mut(exchange).and_then(|node| node.ongoing.as_mut()) else {
            return;
        };
        let mut both = AckBitmap::NONE;
        for place in (0..256).filter(|place| arrived.get(*place) && ongoing.received.get(*place)) {
            both.set(place);
        }
        ongoing.received = both;
    }

    fn content(&mut self, frame: &Frame) -> Content {
        let band = self.phy.band();
        let slowest = band.legacy(Legacy::Mbps6);
        let ongoing = self.nodes.get(frame.exchange).and_then(|node| node.ongoing.as_ref());
        let data_rate = ongoing.map_or(slowest, |ongoing| ongoing.rate);
        let rate = match frame.part {
            Part::Data => data_rate,
            Part::Beacon => slowest,
            Part::Rts | Part::Cts | Part::Answer => self.phy.control_rate(data_rate),
        };
        let preamble = self.phy.preamble(rate);
        // The legacy preamble ends with one symbol of SIGNAL.
        let training = self.phy.preamble(slowest) * TRAINING_SYMBOLS / (TRAINING_SYMBOLS + 1);
        let psdu = frame.start + preamble;
        let harmless = self.phy.harmless(slowest).min(self.phy.harmless(rate));
        let ongoing = self.ongoing(frame.exchange).filter(|_| frame.part == Part::Data);
        Content {
            header: (frame.start + training, psdu),
            header_rate: slowest,
            mpdus: ongoing.map_or_else(|| vec![(psdu, frame.end)], |ongoing| ongoing.mpdu_spans(psdu)),
            rate,
            harmless,
            noise: ongoing.map_or(0.0, |ongoing: &Ongoing| ongoing.noise),
        }
    }

    /// Whether a locked receiver that the frame is not meant for decodes its PHY header and one of its MPDUs.
    fn decodes(&mut self, content: &Content, receiver: usize, interference: &mut Interference) -> bool {
        let phy = &mut self.phy;
        let mut first = 0;
        let mut hazard = |field: Field, rate: Rate, period: Period| {
            let speed = speed(rate);
            first = interference.begin(first, period.0);
            let mut sum = 0.0;
            for number in first..interference.len() {
                let span = interference.span(number);
                if span.0 >= period.1 {
                    break;
                }
                let of_bit = interference.hazard(number, field, |ratio| {
                    if ratio <= content.harmless { 0.0 } else { phy.hazard(rate, 1.0 / ratio) }
                });
                sum += of_bit * (speed * shared(span, period).as_secs_f64());
            }
            sum
        };
        let mut draws = self.nodes.get_mut(receiver).map(|node| &mut node.reception);
        let header = hazard(Field::Header, content.header_rate, content.header);
        survives(header, draws.as_deref_mut())
            && content
                .mpdus
                .iter()
                .any(|mpdu| survives(hazard(Field::Mpdus, content.rate, *mpdu), draws.as_deref_mut()))
    }

    /// The MPDUs that the locked receiver of a frame decodes under interference; `None` if it loses the PHY header.
    fn decode(
        &mut self,
        frame: &Frame,
        content: &Content,
        interference: &mut Interference,
    ) -> Option<AckBitmap> {
        let noise = content.noise;
        // Noise alone has been drawn when the frame was sent.
        let phy = &mut self.phy;
        let mut hazard = |rate: Rate, ratio: f64| {
            let alone = if noise > 0.0 { phy.hazard(rate, 1.0 / noise) } else { 0.0 };
            (phy.hazard(rate, 1.0 / (ratio + noise)) - alone).max(0.0)
        };
        let (slow, fast) = (speed(content.header_rate), speed(content.rate));
        let mut header = 0.0;
        let mpdus = &mut self.hazards;
        mpdus.clear();
        mpdus.resize(content.mpdus.len(), 0.0);
        for number in 0..interference.len() {
            let (from, until) = interference.span(number);
            let time = shared((from, until), content.header);
            if !time.is_zero() {
                let of_bit =
                    interference.hazard(number, Field::Header, |ratio| hazard(content.header_rate, ratio));
                header += of_bit * (slow * time.as_secs_f64());
            }
            let first = content.mpdus.partition_point(|(_, end)| *end <= from);
            let met = content.mpdus.iter().zip(mpdus.iter_mut()).skip(first);
            let mut met = met.take_while(|((start, _), _)| *start < until).peekable();
            if met.peek().is_some() {
                let of_bit = interference.hazard(number, Field::Mpdus, |ratio| hazard(content.rate, ratio));
                met.for_each(|(span, sum)| {
                    *sum += of_bit * (fast * shared((from, until), *span).as_secs_f64());
                });
            }
        }
        let mut draws = self.nodes.get_mut(frame.from).map(|node| &mut node.reception);
        if !survives(header, draws.as_deref_mut()) {
            return None;
        }
        let mut arrived = AckBitmap::NONE;
        for (place, hazard) in mpdus.iter().enumerate() {
            if survives(*hazard, draws.as_deref_mut()) {
                arrived.set(place);
            }
        }
        Some(arrived)
    }
}

/// Bits that a rate carries in a second.
fn speed(rate: Rate) -> f64 {
    rate.bit_rate().as_bps() as f64
}

/// Whether bits with this sum of hazards arrive. Certain success is not drawn.
fn survives(hazard: f64, draws: Option<&mut Stream>) -> bool {
    hazard == 0.0 || draws.is_some_and(|draws| draws.unit() < libm::exp(-hazard))
}

//! Reception with capture: the frame that a receiver has locked on, and what survives of it.
//!
//! A receiver that has locked on no frame looks for the preamble of the strongest one that began within the last 4 us. It locks on it if
//! its signal exceeds the sum of all others by the margin, and stays locked until its end, or until a later, much stronger frame takes
//! over. The bits of a frame fail by the error curve at the signal-to-interference ratio of their time, the PHY header like BPSK 1/2.

use airbound_units::{Instant, Span};

use crate::capture::Capture;
use crate::channel::TxId;

use super::frame::{DETECTION, Frame, Heard};
use super::interference::Interference;

/// Age up to which a frame can be taken over: its training fields.
const TRAINING: Span = Span::from_micros(16);

/// State of one receiver.
#[derive(Debug, Clone, Copy, Default)]
struct Receiver {
    /// Start of the first preamble since it listens.
    since: Option<Instant>,
    /// The frame that it receives, by number.
    locked: Option<u64>,
}

/// The receivers of all transmitters.
#[derive(Debug)]
pub(super) struct Receivers {
    capture: Capture,
    each: Vec<Receiver>,
    /// Start of the earliest preamble that a receiver listens to; [`Instant::MAX`] for none.
    earliest: Instant,
    /// The frame that has been alone on the air since its start: all who hear it have locked on it, without being asked.
    alone: Option<u64>,
    /// Of the frame that is judged. Kept for its memory.
    pub(super) interference: Interference,
}

impl Receivers {
    pub(super) fn new(capture: Capture) -> Self {
        Self {
            capture,
            each: Vec::new(),
            earliest: Instant::MAX,
            alone: None,
            interference: Interference::default(),
        }
    }

    pub(super) fn add(&mut self) {
        self.each.push(Receiver::default());
    }

    /// Level of a sender at a receiver, in milliwatts.
    pub(super) fn level(&self, receiver: usize, sender: usize) -> f64 {
        self.capture.levels.at(TxId(receiver as u16), TxId(sender as u16))
    }

    /// Ends the searches for a preamble that are due: called before the frames on the air change.
    pub(super) fn settle(&mut self, now: Instant, frames: &[Frame]) {
        if self.earliest == Instant::MAX || self.earliest + DETECTION > now {
            return;
        }
        self.earliest = Instant::MAX;
        for number in 0..self.each.len() {
            match self.each[number].since {
                Some(since) if since + DETECTION <= now => {
                    let locked = self.strongest(number, since, frames);
                    self.each[number] = Receiver { since: None, locked };
                }
                Some(since) => self.earliest = self.earliest.min(since),
                None => {}
            }
        }
    }

    /// The frame whose preamble is detected among those that began at `since` or later.
    fn strongest(&self, receiver: usize, since: Instant, frames: &[Frame]) -> Option<u64> {
        let others = || frames.iter().filter(|frame| frame.from != receiver);
        let level = |frame: &Frame| self.level(receiver, frame.from);
        let begun =
            others().filter(|frame| frame.start >= since && frame.heard_by(receiver) != Heard::Nothing);
        let strongest = begun.max_by(|one, other| level(one).total_cmp(&level(other)))?;
        let rest = others().filter(|frame| frame.number != strongest.number).map(level);
        let interference: f64 = rest.sum();
        (level(strongest) >= self.capture.preamble * interference).then_some(strongest.number)
    }

    /// Ends the time of a frame alone on the air, if there is one: another begins now.
    pub(super) fn join(&mut self, now: Instant, frames: &[Frame]) {
        let alone = self.alone.take();
        if let Some(alone) = alone.and_then(|alone| frames.iter().find(|frame| frame.number == alone)) {
            for (number, receiver) in self.each.iter_mut().enumerate() {
                if alone.heard_by(number) != Heard::Nothing {
                    *receiver = Receiver { since: Some(alone.start), locked: None };
                }
            }
            self.earliest = alone.start;
        }
        self.settle(now, frames);
    }

    /// Whether a frame that ends has been alone on the air.
    pub(super) fn was_alone(&mut self, frame: &Frame) -> bool {
        self.alone.take_if(|alone| *alone == frame.number).is_some()
    }

    /// A frame begins; `is_sending` says which receivers cannot listen.
    pub(super) fn begin(
        &mut self,
        frame: &Frame,
        frames: &[Frame],
        audience: &[u16],
        is_sending: impl Fn(usize) -> bool,
    ) {
        if let Some(sender) = self.each.get_mut(frame.from) {
            *sender = Receiver::default();
        }
        if frames.is_empty() {
            self.alone = Some(frame.number);
            return;
        }
        self.earliest = self.earliest.min(frame.start);
        for number in audience.iter().map(|listener| usize::from(*listener)) {
            if is_sending(number) {
                continue;
            }
            let locked = self.each[number].locked;
            let locked = locked.and_then(|locked| frames.iter().find(|other| other.number == locked));
            match locked {
                Some(locked) if self.takes_over(number, frame, locked) => {
                    self.each[number] = Receiver { since: Some(frame.start), locked: None };
                }
                Some(_) => {}
                None => {
                    self.each[number].since.get_or_insert(frame.start);
                }
            }
        }
    }

    fn takes_over(&self, receiver: usize, frame: &Frame, locked: &Frame) -> bool {
        let (new, old) = (self.level(receiver, frame.from), self.level(receiver, locked.from));
        frame.start <= locked.start + TRAINING
            && self.capture.takeover.is_some_and(|margin| new > margin * old)
    }

    /// Looks at the interference of a frame at a receiver. Returns whether its ratio to the signal exceeds `harmless` at any time.
    pub(super) fn look(&mut self, receiver: usize, sender: usize, harmless: f64) -> bool {
        let (signal, levels) = (self.level(receiver, sender), &self.capture.levels);
        let level = |other: usize| levels.at(TxId(receiver as u16), TxId(other as u16));
        self.interference.look(signal, harmless, level)
    }

    /// Whether a receiver was locked on a frame, which ends.
    pub(super) fn unlock(&mut self, receiver: usize, frame: &Frame) -> bool {
        match self.each.get_mut(receiver) {
            Some(state) if state.locked == Some(frame.number) => {
                state.locked = None;
                true
            }
            _ => false,
        }
    }
}

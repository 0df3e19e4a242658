//! Reception with capture: the frame that a receiver has locked on, and what survives of it.
//!
//! A receiver that has locked on no frame looks for the preamble of the strongest one that began within the last 4 us. It locks on it if
//! its signal exceeds the sum of all others by the margin, and stays locked until its end, or until a later, much stronger frame takes
//! over. The bits of a frame fail by the error curve at the signal-to-interference ratio of their time, the PHY header like BPSK 1/2.

use airbound_units::{Instant, Span};

use crate::capture::Capture;
use crate::channel::TxId;

use super::frame::{DETECTION, Energy, Frame, Heard};

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
}

impl Receivers {
    pub(super) const fn new(capture: Capture) -> Self {
        Self { capture, each: Vec::new() }
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
        for number in 0..self.each.len() {
            let since = self.each[number].since.filter(|since| *since + DETECTION <= now);
            if let Some(since) = since {
                let locked = self.strongest(number, since, frames);
                self.each[number] = Receiver { since: None, locked };
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

    /// A frame begins; `is_sending` says which receivers cannot listen.
    pub(super) fn begin(&mut self, frame: &Frame, frames: &[Frame], is_sending: impl Fn(usize) -> bool) {
        for number in 0..self.each.len() {
            if number == frame.from {
                self.each[number] = Receiver::default();
                continue;
            }
            if frame.heard_by(number) == Heard::Nothing || is_sending(number) {
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

/// The times in which the energy of others at a receiver is constant, with their ratio of interference to signal; those without any are
/// left out.
pub(super) fn interference(energy: &[Energy], receiver: usize, signal: f64) -> Vec<(Instant, Instant, f64)> {
    let own =
        || energy.iter().filter(|one| one.receiver == receiver && one.level > 0.0 && one.from < one.until);
    let mut cuts: Vec<Instant> = own().flat_map(|one| [one.from, one.until]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let spans = cuts.iter().zip(cuts.iter().skip(1)).map(|(from, until)| {
        let covering = own().filter(|one| one.from <= *from && one.until >= *until);
        (*from, *until, covering.map(|one| one.level).sum::<f64>() / signal)
    });
    spans.filter(|(_, _, ratio)| *ratio > 0.0).collect()
}

/// The time that two periods share.
pub(super) fn shared((from, until): (Instant, Instant), (start, end): (Instant, Instant)) -> Span {
    until.min(end).since(from.max(start))
}

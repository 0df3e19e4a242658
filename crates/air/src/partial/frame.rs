//! Frames on the air, and what overlaps them at each listener.

use airbound_units::{Instant, Span};

/// Time from the start of a frame in which its preamble is detected: the short training field of 8 us is detected within half of it.
pub(super) const DETECTION: Span = Span::from_micros(4);

/// The part of an exchange that a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Rts,
    Cts,
    Data,
    Answer,
    /// Sent without contention, to nobody in particular.
    Beacon,
}

/// The reception of a frame at one transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// It does not hear the frame.
    Nothing,
    /// Nothing overlaps the frame so far.
    Clear,
    /// Overlapped after its preamble: the reception ends with an error.
    Garbled,
    /// Its preamble was overlapped: it is energy only.
    Undetected,
}

/// Another frame that is on the air at the same time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Energy {
    /// The transmitter that sends it.
    pub(super) sender: usize,
    pub(super) from: Instant,
    pub(super) until: Instant,
}

/// A frame on the air.
#[derive(Debug)]
pub(super) struct Frame {
    /// Its number among all frames.
    pub(super) number: u64,
    pub(super) part: Part,
    /// Its sender, by number.
    pub(super) from: usize,
    /// Its receiver; the sender itself if the receiver is not modelled.
    pub(super) to: usize,
    /// The transmitter to whose exchange it belongs.
    pub(super) exchange: usize,
    pub(super) start: Instant,
    pub(super) end: Instant,
    /// End of the time that it reserves.
    pub(super) reserved: Instant,
    /// By transmitter; empty while all others hear it and nothing overlaps it.
    pub(super) at: Vec<Heard>,
    /// Overlaps at its receiver.
    pub(super) overlaps: Vec<(Instant, Instant)>,
    /// Others on the air meanwhile; empty without capture.
    pub(super) energy: Vec<Energy>,
    /// Whether its receiver decoded it in spite of overlaps; `None` without capture.
    pub(super) captured: Option<bool>,
}

impl Frame {
    /// Whether its receiver gets it, as far as overlaps decide.
    pub(super) fn is_intact(&self) -> bool {
        self.captured.unwrap_or(self.overlaps.is_empty())
    }

    /// Another signal, which begins at `now`, overlaps it at `node` until `until`.
    pub(super) fn overlap(&mut self, node: usize, now: Instant, until: Instant) {
        if let Some(heard) = self.at.get_mut(node).filter(|heard| **heard == Heard::Clear) {
            *heard = if now < self.start + DETECTION { Heard::Undetected } else { Heard::Garbled };
        }
        if node == self.to {
            self.overlaps.push((now, until.min(self.end)));
        }
    }

    /// The reception at `node`.
    pub(super) fn heard_by(&self, node: usize) -> Heard {
        if self.is_plain() {
            return if node == self.from { Heard::Nothing } else { Heard::Clear };
        }
        self.at.get(node).copied().unwrap_or(Heard::Nothing)
    }

    /// Whether all others hear it and nothing overlaps it.
    pub(super) const fn is_plain(&self) -> bool {
        self.at.is_empty()
    }

    /// Gives a plain frame a reception at each of `nodes` transmitters, which may differ from now on.
    pub(super) fn spread(&mut self, nodes: usize) {
        if self.is_plain() {
            self.at = vec![Heard::Clear; nodes];
            if let Some(own) = self.at.get_mut(self.from) {
                *own = Heard::Nothing;
            }
        }
    }
}

//! Signal-to-noise ratio over time.

use airbound_units::{Decibel, Instant, Span};

use super::steps::Steps;

/// A trace of the signal-to-noise ratio, constant between its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct SnrTrace {
    steps: Steps<Decibel>,
}

impl SnrTrace {
    pub(super) fn new(points: &[(u64, Decibel)], repeat: bool) -> Self {
        Self { steps: Steps::new(points, repeat) }
    }

    /// A reader that is fast at ascending times.
    #[must_use]
    pub const fn cursor(&self) -> SnrCursor<'_> {
        SnrCursor { trace: self, near: 0 }
    }

    /// The ratio at a time.
    #[must_use]
    pub fn at(&self, now: Instant) -> Decibel {
        self.at_near(now, &mut 0)
    }

    /// The ratio at a time; `near` is the index at which the last search ended, kept by the caller.
    #[must_use]
    pub fn at_near(&self, now: Instant, near: &mut usize) -> Decibel {
        *near = self.steps.find(now, *near).index;
        self.steps.value(*near).unwrap_or_default()
    }

    /// The time of the next change of value; `None` if the last value holds for ever.
    #[must_use]
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        self.steps.next_change(self.steps.find(now, 0))
    }

    /// The length of one period, or the time of the last line if the trace does not repeat.
    #[must_use]
    pub fn length(&self) -> Span {
        self.steps.length()
    }
}

/// A reader of a trace of the signal-to-noise ratio that is fast at ascending times.
#[derive(Debug, Clone)]
pub struct SnrCursor<'a> {
    trace: &'a SnrTrace,
    near: usize,
}

impl SnrCursor<'_> {
    /// The ratio at a time.
    pub fn at(&mut self, now: Instant) -> Decibel {
        self.trace.at_near(now, &mut self.near)
    }
}

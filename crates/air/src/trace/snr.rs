//! Signal-to-noise ratio over time.

use airbound_units::{Decibel, Instant, Span};

use super::steps::Steps;

/// A trace of the signal-to-noise ratio: constant between its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct SnrTrace {
    steps: Steps<Decibel>,
}

impl SnrTrace {
    pub(super) fn new(points: &[(u64, Decibel)], repeat: bool) -> Self {
        Self { steps: Steps::new(points, repeat) }
    }

    /// A reader that is fast when asked at rising times.
    #[must_use]
    pub const fn cursor(&self) -> SnrCursor<'_> {
        SnrCursor { trace: self, near: 0 }
    }

    /// The ratio at a time.
    #[must_use]
    pub fn at(&self, now: Instant) -> Decibel {
        self.at_near(now, &mut 0)
    }

    /// The ratio at a time; `near` is where the last search ended, and is kept by the caller.
    #[must_use]
    pub fn at_near(&self, now: Instant, near: &mut usize) -> Decibel {
        *near = self.steps.find(now, *near).index;
        self.steps.value(*near).unwrap_or_default()
    }

    /// When the next line's value begins to hold; `None` if the last one holds for ever.
    #[must_use]
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        self.steps.next_change(self.steps.find(now, 0))
    }

    /// Returns the length of one period, or the time to the last line of a trace that is not repeated.
    #[must_use]
    pub fn length(&self) -> Span {
        self.steps.length()
    }
}

/// Reads a trace of the signal-to-noise ratio, fast when asked at rising times.
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

//! A function of time that is constant between its steps.

use airbound_units::{Instant, Span};

/// Values with their start times.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Steps<T> {
    /// Start times in nanoseconds, ascending, the first at zero.
    starts: Vec<u64>,
    values: Vec<T>,
    /// The period; `None` if the function does not repeat.
    period: Option<u64>,
}

/// The position of a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) index: usize,
    /// Number of completed periods; 0 if the trace does not repeat.
    pub(super) round: u64,
    /// Time since the start of the period, in nanoseconds.
    pub(super) offset: u64,
}

impl<T: Copy> Steps<T> {
    /// A function of steps in ascending time. When repeated, the last value lasts for the median step.
    pub(super) fn new(points: &[(u64, T)], repeat: bool) -> Self {
        let first = points.first().map_or(0, |(time, _)| *time);
        let starts: Vec<u64> = points.iter().map(|(time, _)| time.saturating_sub(first)).collect();
        let mut lengths: Vec<u64> = starts.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        lengths.sort_unstable();
        // A single line is a constant of arbitrary period.
        let last = lengths.get(lengths.len() / 2).copied().unwrap_or(1_000_000_000).max(1);
        let period = repeat.then(|| starts.last().copied().unwrap_or(0) + last);
        Self { starts, values: points.iter().map(|(_, value)| *value).collect(), period }
    }

    pub(super) fn values(&self) -> &[T] {
        &self.values
    }

    pub(super) fn starts(&self) -> &[u64] {
        &self.starts
    }

    pub(super) const fn period(&self) -> Option<u64> {
        self.period
    }

    /// Finds the step of a time; the search starts at `near`, which makes ascending times fast.
    pub(super) fn find(&self, at: Instant, near: usize) -> Found {
        let time = at.as_nanos();
        let (round, offset) = match self.period {
            Some(period) => (time / period, time % period),
            None => (0, time),
        };
        let holds = |index: usize| {
            self.starts.get(index).is_some_and(|start| *start <= offset)
                && self.starts.get(index + 1).is_none_or(|next| offset < *next)
        };
        let index = if holds(near) {
            near
        } else if holds(near + 1) {
            near + 1
        } else {
            self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
        };
        Found { index, round, offset }
    }

    pub(super) fn value(&self, index: usize) -> Option<T> {
        self.values.get(index).copied()
    }

    /// The start of the step after `found`; `None` if the value holds for ever.
    pub(super) fn next_change(&self, found: Found) -> Option<Instant> {
        let within = self.starts.get(found.index + 1).copied();
        match (within, self.period) {
            (Some(start), period) => Some(Instant::from_nanos(
                found.round.saturating_mul(period.unwrap_or(0)).saturating_add(start),
            )),
            (None, Some(period)) if self.starts.len() > 1 => {
                Some(Instant::from_nanos((found.round + 1).saturating_mul(period)))
            }
            (None, _) => None,
        }
    }

    /// Time from the first line to the end of the last value, or to the last line if it does not repeat.
    pub(super) fn length(&self) -> Span {
        Span::from_nanos(self.period.unwrap_or_else(|| self.starts.last().copied().unwrap_or(0)))
    }
}

//! Bandwidth over time.

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::steps::Steps;

/// A trace of bandwidth, constant between its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct BandwidthTrace {
    steps: Steps<BitRate>,
    /// Cumulative data before each step, in bits times 10^9 (bit/s times ns).
    before: Vec<u128>,
    /// Data of one period in the same unit; zero if the trace does not repeat.
    in_period: u128,
    beside: Beside,
}

/// Further columns of a trace of bandwidth, in the order of its lines: properties of the measured connection, queueing included.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// Round trips in ms, 0 to 10^9; empty without such a column.
    pub round_trips: Vec<f64>,
    /// Shares of lost packets, -1 to 1 (Hairpin's estimates are sometimes slightly negative); empty without such a column.
    pub losses: Vec<f64>,
}

const NANOS: u128 = 1_000_000_000;

impl BandwidthTrace {
    /// A trace of ascending times in nanoseconds, and rates.
    pub(super) fn new(points: &[(u64, BitRate)], beside: Beside, repeat: bool) -> Self {
        let steps = Steps::new(points, repeat);
        let mut before = Vec::with_capacity(points.len());
        let mut sum = 0u128;
        let ends = steps.starts().iter().skip(1).copied().chain(steps.period());
        for ((start, rate), end) in
            steps.starts().iter().zip(steps.values()).zip(ends.map(Some).chain(std::iter::repeat(None)))
        {
            before.push(sum);
            if let Some(end) = end {
                sum += u128::from(rate.as_bps()) * u128::from(end.saturating_sub(*start));
            }
        }
        let in_period = if repeat { sum } else { 0 };
        Self { steps, before, in_period, beside }
    }

    /// A reader that is fast at ascending times.
    #[must_use]
    pub const fn cursor(&self) -> BandwidthCursor<'_> {
        BandwidthCursor { trace: self, near: 0 }
    }

    /// The bandwidth at a time.
    #[must_use]
    pub fn at(&self, now: Instant) -> BitRate {
        self.at_near(now, &mut 0)
    }

    /// The bandwidth at a time; `near` is the index at which the last search ended, kept by the caller.
    #[must_use]
    pub fn at_near(&self, now: Instant, near: &mut usize) -> BitRate {
        self.steps.value(self.step_near(now, near)).unwrap_or(BitRate::ZERO)
    }

    /// The index of the line in force at a time; `near` as in [`BandwidthTrace::at_near`].
    #[must_use]
    pub fn step_near(&self, now: Instant, near: &mut usize) -> usize {
        *near = self.steps.find(now, *near).index;
        *near
    }

    /// The time of the next change of value; `None` if the last value holds for ever.
    #[must_use]
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        self.steps.next_change(self.steps.find(now, 0))
    }

    /// The end of a transfer of `bits` that starts at `start` on an idle link, rounded up to a nanosecond; [`Instant::MAX`] if it never
    /// ends. The cost is independent of the duration.
    #[must_use]
    pub fn finish(&self, start: Instant, bits: u64) -> Instant {
        if bits == 0 {
            return start;
        }
        let found = self.steps.find(start, 0);
        let Some(rate) = self.steps.value(found.index) else { return Instant::MAX };
        let step_start = self.steps.starts().get(found.index).copied().unwrap_or(0);
        let done = self.before.get(found.index).copied().unwrap_or(0)
            + u128::from(rate.as_bps()) * u128::from(found.offset - step_start);
        let target = done + u128::from(bits) * NANOS;
        let (rounds, target) = match self.steps.period() {
            // A target at the exact end of a period belongs to that period.
            Some(_) if self.in_period > 0 => {
                ((target - 1) / self.in_period, (target - 1) % self.in_period + 1)
            }
            Some(_) => return Instant::MAX,
            None => (0, target),
        };
        // The last step before which less than the target is transferred: its rate is not zero, or it is the last.
        let index = self.before.partition_point(|sum| *sum < target).saturating_sub(1);
        let rate = self.steps.value(index).unwrap_or(BitRate::ZERO);
        let missing = target - self.before.get(index).copied().unwrap_or(0);
        if rate.is_zero() {
            return Instant::MAX;
        }
        let after_step = missing.div_ceil(u128::from(rate.as_bps()));
        let period = u128::from(self.steps.period().unwrap_or(0));
        let base = (u128::from(found.round) + rounds) * period;
        let offset = u128::from(self.steps.starts().get(index).copied().unwrap_or(0));
        u64::try_from(base + offset + after_step).map_or(Instant::MAX, Instant::from_nanos)
    }

    /// The rates of the lines, in order.
    #[must_use]
    pub fn rates(&self) -> &[BitRate] {
        self.steps.values()
    }

    /// Columns beside the bandwidth.
    #[must_use]
    pub const fn beside(&self) -> &Beside {
        &self.beside
    }

    /// The length of one period, or the time of the last line if the trace does not repeat.
    #[must_use]
    pub fn length(&self) -> Span {
        self.steps.length()
    }

    /// The mean bandwidth over its length.
    #[must_use]
    pub fn mean(&self) -> BitRate {
        let through =
            if self.in_period > 0 { self.in_period } else { self.before.last().copied().unwrap_or(0) };
        let length = u128::from(self.length().as_nanos());
        match through.checked_div(length) {
            Some(rate) => BitRate::from_bps(u64::try_from(rate).unwrap_or(u64::MAX)),
            None => self.rates().first().copied().unwrap_or(BitRate::ZERO),
        }
    }
}

/// A reader of a bandwidth trace that is fast at ascending times.
#[derive(Debug, Clone)]
pub struct BandwidthCursor<'a> {
    trace: &'a BandwidthTrace,
    near: usize,
}

impl BandwidthCursor<'_> {
    /// The bandwidth at a time.
    pub fn at(&mut self, now: Instant) -> BitRate {
        self.trace.at_near(now, &mut self.near)
    }

    /// The end of a transfer of `size` that starts at `start`; see [`BandwidthTrace::finish`].
    #[must_use]
    pub fn finish(&self, start: Instant, size: ByteCount) -> Instant {
        self.trace.finish(start, size.bits())
    }
}

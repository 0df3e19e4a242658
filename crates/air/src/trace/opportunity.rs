//! Delivery opportunities, as recorded by mahimahi.

use airbound_units::{BitRate, ByteCount, Instant, Span};

/// Capacity of one opportunity.
const OPPORTUNITY: ByteCount = ByteCount::new(1500);

/// A trace of times at which 1500 bytes may be delivered.
#[derive(Debug, Clone, PartialEq)]
pub struct OpportunityTrace {
    /// Times in milliseconds, ascending, with repetitions for several opportunities at a time.
    times: Vec<u64>,
    /// The period in milliseconds; `None` if the trace does not repeat.
    period: Option<u64>,
}

const MILLI: u64 = 1_000_000;

impl OpportunityTrace {
    /// A trace of non-descending times in milliseconds, the last above zero, which is the period of a repeated trace, as in mahimahi.
    pub(super) fn new(times: Vec<u64>, repeat: bool) -> Self {
        let period = repeat.then(|| times.last().copied().unwrap_or(1).max(1));
        Self { times, period }
    }

    /// The capacity of one opportunity.
    #[must_use]
    pub const fn capacity(&self) -> ByteCount {
        OPPORTUNITY
    }

    /// The number of the first opportunity at or after `now`, counted from 0 over all periods.
    #[must_use]
    pub fn first_from(&self, now: Instant) -> u64 {
        let millis = now.as_nanos().div_ceil(MILLI);
        let count = self.times.len() as u64;
        let (rounds, offset) = match self.period {
            Some(period) => (millis / period, millis % period),
            None => (0, millis),
        };
        // The last opportunities of a period coincide with the start of the next.
        if rounds > 0 && offset == 0 {
            let period = self.period.unwrap_or(0);
            let at_end = self.times.len() - self.times.partition_point(|time| *time < period);
            return rounds.saturating_mul(count).saturating_sub(at_end as u64);
        }
        rounds.saturating_mul(count).saturating_add(self.times.partition_point(|time| *time < offset) as u64)
    }

    /// The time of opportunity `number`; [`Instant::MAX`] after the end of a trace that does not repeat.
    #[must_use]
    pub fn time_of(&self, number: u64) -> Instant {
        let count = self.times.len() as u64;
        let (round, index) = (number / count.max(1), number % count.max(1));
        let Some(time) = self.times.get(index as usize) else { return Instant::MAX };
        let millis = match self.period {
            Some(period) => round.saturating_mul(period).saturating_add(*time),
            None if round == 0 => *time,
            None => return Instant::MAX,
        };
        Instant::from_nanos(millis.saturating_mul(MILLI))
    }

    /// The end of a transfer of `bits` that starts at `start` on an idle link, where the remainder of an opportunity is lost;
    /// [`Instant::MAX`] if it never ends.
    #[must_use]
    pub fn finish(&self, start: Instant, bits: u64) -> Instant {
        if bits == 0 {
            return start;
        }
        let needed = bits.div_ceil(OPPORTUNITY.bits());
        self.time_of(self.first_from(start).saturating_add(needed - 1))
    }

    /// The length of the trace, which is the time of its last opportunity.
    #[must_use]
    pub fn length(&self) -> Span {
        Span::from_millis(self.times.last().copied().unwrap_or(0))
    }

    /// The mean rate over its length.
    #[must_use]
    pub fn mean(&self) -> BitRate {
        BitRate::of(OPPORTUNITY * self.times.len() as u64, self.length())
    }
}

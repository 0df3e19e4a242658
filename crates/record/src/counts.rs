//! Counts of samples in buckets of bounded relative width.
//!
//! The layout is that of an HDR histogram: times between 2^k and 2^(k+1) steps have `2^bits` buckets of equal width, so that the relative
//! error is bounded over the whole range. The tests compare with `hdrhistogram`, which is not used itself because every packet is
//! recorded: its support of arbitrary ranges and counters costs several times the instructions below, and it allocates the whole range,
//! of which samples mostly use a small part.

use airbound_units::Span;

/// The resolution is at best `2^STEP_BITS` ns.
const STEP_BITS: u32 = 9;

/// Longest time, 2^40 - 1 ns (1100 s); longer times count as this.
const LONGEST: u64 = (1 << 40) - 1;

/// Bits of the mantissa of a float, and the bias of its exponent (IEEE 754, binary64).
const MANTISSA: u32 = 52;
const BIAS: usize = 1023;

/// Number of samples in each bucket of time.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    /// Logarithm of the number of buckets per octave.
    bits: u32,
    /// Difference between the leading bits of a float and the index of its bucket.
    offset: usize,
    /// Counts by bucket, extended by whole octaves up to the longest sample; empty while there are few samples.
    counts: Vec<u32>,
    /// While there are few samples, the buckets that have any, in order, which saves memory for flows of few packets.
    few: Vec<(u32, u32)>,
    total: u64,
}

/// Result of [`Counts::add_all`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Added {
    /// Samples of zero, which are not counted.
    pub(crate) zeros: u64,
    /// The longest sample, those before included.
    pub(crate) longest: Span,
}

/// Upper limit on times in [`Buckets`].
const CHUNK: usize = 64;

/// Result of [`Counts::buckets_of`].
struct Buckets {
    /// The index of each bucket.
    of: [i32; CHUNK],
    /// The least of the times, in steps of `2^STEP_BITS` ns, and the longest.
    first: i32,
    steps: u32,
}

/// Buckets looked at at a time.
const BLOCK: usize = 64;

/// Limit of samples in `few`.
const FEW: u64 = 128;

impl Counts {
    /// An empty histogram of `2^bits` buckets per octave, without allocation.
    pub(crate) const fn new(bits: u32) -> Self {
        // 2^bits has the exponent `bits`, and is the first value of the second 2^bits buckets.
        Self {
            bits,
            offset: ((BIAS + bits as usize) << bits) - (1 << bits),
            counts: Vec::new(),
            few: Vec::new(),
            total: 0,
        }
    }

    /// Counts a time `count` times.
    #[inline]
    pub(crate) fn add(&mut self, nanos: u64, count: u32) {
        let index = self.index(nanos.min(LONGEST));
        self.total += u64::from(count);
        match self.counts.get_mut(index) {
            Some(bucket) => *bucket = bucket.saturating_add(count),
            None => self.add_first(index, count),
        }
    }

    /// Counts all times except zeros if their buckets exist and cannot overflow; else returns `None`. `any` is the bitwise OR of the
    /// times, `longest` the longest one of all before. On success their sum does not overflow either.
    pub(crate) fn add_all(&mut self, spans: &[Span], any: u64, longest: Span) -> Option<Added> {
        /// This many of the longest times sum to less than 2^64.
        const MOST: usize = 1 << 24;
        // The longest time has the leading bit of `any`, and each octave has all its buckets or none.
        let have_buckets = any <= LONGEST && self.index(any) < self.counts.len();
        let total = u32::try_from(self.total).ok().and_then(|total| total.checked_add(spans.len() as u32));
        if !have_buckets || spans.len() > MOST || total.is_none() {
            return None;
        }
        let mut added = Added { zeros: 0, longest };
        for spans in spans.chunks(CHUNK) {
            let Buckets { of, first, steps } = self.buckets_of(spans);
            for index in &of[..spans.len()] {
                if let Some(bucket) = self.counts.get_mut(*index as usize) {
                    *bucket += 1;
                }
            }
            if first == 0 {
                added.zeros += spans.iter().filter(|span| span.is_zero()).count() as u64;
            }
            if u64::from(steps) >= added.longest.as_nanos() >> STEP_BITS {
                added.longest = spans.iter().fold(added.longest, |longest, span| longest.max(*span));
            }
        }
        if let Some(bucket) = self.counts.first_mut() {
            *bucket -= added.zeros as u32;
        }
        self.total += spans.len() as u64 - added.zeros;
        Some(added)
    }

    /// The buckets of up to [`CHUNK`] times up to [`LONGEST`], as [`Counts::index`] finds them one by one: without a branch, and in 32 bits,
    /// so that four times are handled at once.
    #[inline]
    fn buckets_of(&self, spans: &[Span]) -> Buckets {
        /// Bits of the mantissa of a float, and the bias of its exponent (IEEE 754, binary32).
        const MANTISSA: u32 = 23;
        const BIAS: u32 = 127;
        let mut of = [0; CHUNK];
        for (place, span) in of.iter_mut().zip(spans) {
            *place = (span.as_nanos() >> STEP_BITS) as i32;
        }
        let (mut first, mut longest) = (i32::MAX, 0);
        let (shift, linear) = (MANTISSA - self.bits, 1 << self.bits);
        let offset = ((BIAS + self.bits) << self.bits) - (1 << self.bits);
        for place in &mut of[..spans.len()] {
            let steps = *place;
            (first, longest) = (first.min(steps), longest.max(steps));
            // Clears the bit 12 places below the leading one, and thus no rounding of the float reaches the bits of the bucket above it.
            let rounded = (steps & !(steps >> 12)) as f32;
            let index = (rounded.to_bits() >> shift).wrapping_sub(offset) as i32;
            *place = if steps < linear { steps } else { index };
        }
        Buckets { of, first, steps: longest as u32 }
    }

    /// The index of the bucket of a time up to [`LONGEST`].
    #[inline]
    fn index(&self, nanos: u64) -> usize {
        let steps = nanos >> STEP_BITS;
        if steps >> self.bits == 0 {
            steps as usize
        } else {
            // The exponent and the leading mantissa bits of a float are the logarithm in these steps.
            ((steps as i64 as f64).to_bits() >> (MANTISSA - self.bits)) as usize - self.offset
        }
    }

    #[cold]
    fn add_first(&mut self, index: usize, count: u32) {
        let place = self.few.binary_search_by_key(&(index as u32), |(index, _)| *index);
        if self.counts.is_empty() && self.total <= FEW {
            match place {
                Ok(place) => self.few[place].1 = self.few[place].1.saturating_add(count),
                Err(place) => self.few.insert(place, (index as u32, count)),
            }
            return;
        }
        // From here on counts are indexed by bucket.
        let longest = self.few.last().map_or(0, |(index, _)| *index as usize).max(index);
        let doubling = 1 << self.bits;
        let buckets = (longest / doubling + 1) * doubling;
        if self.counts.is_empty() {
            // Memory that the system has cleared already.
            self.counts = vec![0; buckets];
        } else {
            self.counts.resize(buckets, 0);
        }
        for (index, count) in std::mem::take(&mut self.few) {
            self.counts[index as usize] = count;
        }
        self.counts[index] = self.counts[index].saturating_add(count);
    }

    /// Removes all samples and keeps the allocation.
    pub(crate) fn clear(&mut self) {
        if self.total > 0 {
            self.counts.fill(0);
            self.few.clear();
            self.total = 0;
        }
    }

    /// The number of samples counted.
    pub(crate) const fn total(&self) -> u64 {
        self.total
    }

    /// The upper bounds of the buckets that hold the samples of ascending ranks, from 1; `None` beyond the last.
    pub(crate) fn at_ranks<const N: usize>(&self, ranks: [u64; N]) -> [Option<u64>; N] {
        let mut found = [None; N];
        let (mut next, mut before) = (0, 0u64);
        for (index, count) in &self.few {
            before += u64::from(*count);
            while next < N && before >= ranks[next] {
                found[next] = Some(self.bounds(*index as usize).1);
                next += 1;
            }
        }
        for (number, block) in self.counts.chunks(BLOCK).enumerate() {
            if next == N {
                break;
            }
            let within: u64 = block.iter().map(|count| u64::from(*count)).sum();
            if before + within >= ranks[next] {
                let mut sum = before;
                for (place, count) in block.iter().enumerate() {
                    sum += u64::from(*count);
                    while next < N && sum >= ranks[next] {
                        found[next] = Some(self.bounds(number * BLOCK + place).1);
                        next += 1;
                    }
                }
            }
            before += within;
        }
        found
    }

    /// The buckets with samples, shortest times first: lower and upper bound, number of samples.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u64, u64, u32)> + '_ {
        let few = self.few.iter().map(|(index, count)| (*index as usize, *count));
        // Most are empty, and the compiler vectorises the look at a block.
        let blocks = self.counts.chunks(BLOCK).zip((0..).step_by(BLOCK));
        let held = blocks
            .filter(|(block, _)| block.iter().fold(0, |any, count| any | count) > 0)
            .flat_map(|(block, first)| block.iter().copied().zip(first..))
            .filter(|(count, _)| *count > 0)
            .map(|(count, index)| (index, count));
        few.chain(held).map(|(index, count)| {
            let (low, high) = self.bounds(index);
            (low, high, count)
        })
    }

    /// The lower and upper bound of a bucket.
    const fn bounds(&self, index: usize) -> (u64, u64) {
        let index = index as u64;
        let doublings = (index >> self.bits).saturating_sub(1);
        let low = (index - (doublings << self.bits)) << doublings << STEP_BITS;
        (low, low + (1 << (doublings + STEP_BITS as u64)) - 1)
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    use super::*;

    /// Times of all orders of magnitude, up to [`LONGEST`].
    fn times() -> impl Strategy<Value = Vec<(u64, u32)>> {
        let time = (0u32..=40, any::<u64>()).prop_map(|(bits, random)| random & ((1 << bits) - 1));
        proptest::collection::vec((time, 1u32..5), 1..400)
    }

    #[test]
    fn times_out_of_range_count_as_the_longest() {
        let mut counts = Counts::new(7);
        for nanos in [LONGEST, LONGEST + 1, u64::MAX] {
            counts.add(nanos, 1);
        }
        assert_eq!(
            counts.buckets().map(|(_, high, count)| (high, count)).collect::<Vec<_>>(),
            [(LONGEST, 3)]
        );
        assert_eq!(counts.at_ranks([1, 3, 4]), [Some(LONGEST), Some(LONGEST), None]);
    }

    #[test]
    fn buckets_of_many_times_are_those_of_each() {
        for counts in [Counts::new(7), Counts::new(10)] {
            // Both sides of each power of two, where a float may round up, and of each bucket behind it.
            let near = (0..40).flat_map(|bit| (0..12).map(move |back| (1u64 << bit) - (1 << bit >> back)));
            let times: Vec<u64> =
                near.flat_map(|time| [time.saturating_sub(1), time, time + 1, 2 * time]).collect();
            for times in times.chunks(CHUNK) {
                let spans: Vec<Span> =
                    times.iter().map(|time| Span::from_nanos(*time.min(&LONGEST))).collect();
                let Buckets { of, first, steps } = counts.buckets_of(&spans);
                let single = spans.iter().map(|span| counts.index(span.as_nanos()) as i32);
                assert_eq!(of[..spans.len()], single.collect::<Vec<_>>());
                let all = spans.iter().map(|span| span.as_nanos() >> STEP_BITS);
                assert_eq!(u64::from(steps), all.clone().max().unwrap_or(0));
                assert_eq!(Some(first as u64), all.min());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn counts_like_an_hdr_histogram(times in times(), coarse in any::<bool>()) {
            let (bits, digits) = if coarse { (7, 2) } else { (10, 3) };
            let mut ours = Counts::new(bits);
            let mut theirs = Histogram::<u32>::new_with_bounds(1_000, 1_000_000_000_000, digits).unwrap();
            for round in 0..2 {
                for (nanos, count) in &times {
                    ours.add(*nanos, *count);
                    theirs.saturating_record_n(*nanos, *count);
                }
                prop_assert_eq!(ours.total(), theirs.len());
                let recorded: Vec<_> = theirs
                    .iter_recorded()
                    .map(|bucket| {
                        let high = bucket.value_iterated_to();
                        (theirs.lowest_equivalent(high), high, bucket.count_at_value())
                    })
                    .collect();
                prop_assert_eq!(ours.buckets().collect::<Vec<_>>(), recorded);
                let value = |rank: u64| {
                    theirs.value_at_quantile((rank as f64 - 0.5) / theirs.len() as f64)
                };
                for rank in (1..=ours.total()).step_by(7) {
                    // Two of one bucket, neighbours, and one beyond the last.
                    let ranks = [rank, rank, (rank + 1).min(ours.total()), ours.total(), ours.total() + 1];
                    let [all @ .., beyond] = ours.at_ranks(ranks);
                    prop_assert_eq!(all.map(Option::unwrap), [ranks[0], ranks[1], ranks[2], ranks[3]].map(value));
                    prop_assert_eq!(beyond, None);
                }
                if round == 0 {
                    ours.clear();
                    theirs.reset();
                    prop_assert_eq!((ours.total(), ours.buckets().count()), (0, 0));
                }
            }
        }
    }
}

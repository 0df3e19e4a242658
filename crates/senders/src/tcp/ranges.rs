//! A set of bytes as sorted, separate ranges.

/// Half-open ranges `(start, end)`, sorted, each non-empty, with gaps between them.
#[derive(Debug, Clone, Default)]
pub(super) struct RangeSet {
    ranges: Vec<(u64, u64)>,
}

impl RangeSet {
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }

    pub(super) fn first(&self) -> Option<(u64, u64)> {
        self.ranges.first().copied()
    }

    /// Bytes in the set.
    #[cfg(test)]
    pub(super) fn total(&self) -> u64 {
        self.ranges.iter().map(|range| range.1 - range.0).sum()
    }

    /// Whether every byte of `start..end` is in the set.
    pub(super) fn contains(&self, start: u64, end: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.0 <= start);
        after.checked_sub(1).and_then(|index| self.ranges.get(index)).is_some_and(|range| end <= range.1)
    }

    /// Adds `start..end`, calls `gap` for each part that was missing, and returns the range that now holds it.
    pub(super) fn insert(&mut self, start: u64, end: u64, mut gap: impl FnMut(u64, u64)) -> (u64, u64) {
        if start >= end {
            return (start, start);
        }
        let first = self.ranges.partition_point(|range| range.1 < start);
        let mut merged = (start, end);
        let mut cursor = start;
        let mut last = first;
        while let Some(&range) = self.ranges.get(last).filter(|range| range.0 <= end) {
            if cursor < range.0 {
                gap(cursor, range.0);
            }
            cursor = cursor.max(range.1);
            merged = (merged.0.min(range.0), merged.1.max(range.1));
            last += 1;
        }
        if cursor < end {
            gap(cursor, end);
        }
        match self.ranges.get_mut(first).filter(|_| last > first) {
            Some(range) => {
                *range = merged;
                self.ranges.drain(first + 1..last);
            }
            None => self.ranges.insert(first, merged),
        }
        merged
    }

    /// Removes every byte before `cut`.
    pub(super) fn remove_below(&mut self, cut: u64) {
        let gone = self.ranges.partition_point(|range| range.1 <= cut);
        if gone > 0 {
            self.ranges.drain(..gone);
        }
        if let Some(range) = self.ranges.first_mut() {
            range.0 = range.0.max(cut);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_a_set_of_bytes(ops in proptest::collection::vec((0_u64..60, 0_u64..12, any::<bool>()), 0..60)) {
            let mut set = RangeSet::default();
            let mut bytes = std::collections::BTreeSet::new();
            for (start, len, cut) in ops {
                if cut && len > 9 {
                    set.remove_below(start);
                    bytes.retain(|byte| *byte >= start);
                } else {
                    let missing: Vec<u64> = (start..start + len).filter(|byte| !bytes.contains(byte)).collect();
                    let mut gaps = Vec::new();
                    set.insert(start, start + len, |from, to| gaps.extend(from..to));
                    prop_assert_eq!(missing, gaps);
                    bytes.extend(start..start + len);
                }
                prop_assert_eq!(set.total(), bytes.len() as u64);
                for byte in 0..72 {
                    prop_assert_eq!(set.contains(byte, byte + 1), bytes.contains(&byte));
                }
                prop_assert!(set.ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
        }
    }
}

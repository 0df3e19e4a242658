//! Block acknowledgements.

/// Which MPDUs of a grant were acknowledged; holds up to 256, the largest block-ack window of 802.11ax.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckBitmap([u64; 4]);

impl AckBitmap {
    /// None acknowledged.
    pub const NONE: Self = Self([0; 4]);

    /// The first `count` acknowledged.
    #[must_use]
    pub fn first(count: usize) -> Self {
        let mut bitmap = Self::NONE;
        for (word, bits) in bitmap.0.iter_mut().enumerate() {
            let left = count.saturating_sub(word * 64).min(64);
            *bits = if left == 64 { u64::MAX } else { (1u64 << left) - 1 };
        }
        bitmap
    }

    /// Marks the MPDU at `index` as acknowledged; indices from 256 on are ignored.
    pub fn set(&mut self, index: usize) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    /// Whether the MPDU at `index` was acknowledged.
    #[must_use]
    pub fn get(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// How many were acknowledged.
    #[must_use]
    pub fn count(&self) -> u16 {
        self.0.iter().map(|word| word.count_ones() as u16).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bitmap_holds_256() {
        assert_eq!(AckBitmap::first(0), AckBitmap::NONE);
        for count in [1, 63, 64, 65, 128, 255, 256] {
            let bitmap = AckBitmap::first(count);
            assert_eq!(usize::from(bitmap.count()), count);
            assert!(bitmap.get(count - 1) && !bitmap.get(count));
        }
        assert_eq!(AckBitmap::first(1000), AckBitmap::first(256));
        let mut bitmap = AckBitmap::NONE;
        bitmap.set(256);
        bitmap.set(usize::MAX);
        assert_eq!(bitmap, AckBitmap::NONE);
        assert!(!bitmap.get(usize::MAX));
    }

    proptest! {
        #[test]
        fn a_bitmap_is_a_set(indices in proptest::collection::btree_set(0usize..256, 0..80)) {
            let mut bitmap = AckBitmap::NONE;
            for &index in indices.iter().chain(&indices) {
                bitmap.set(index);
            }
            prop_assert_eq!(usize::from(bitmap.count()), indices.len());
            prop_assert!((0..256).all(|index| bitmap.get(index) == indices.contains(&index)));
        }
    }
}

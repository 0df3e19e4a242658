//! The bitmap of a block acknowledgement (802.11-2020, 9.3.1.8).

/// The acknowledged MPDUs of a PPDU, up to 256, the largest block-ack window of 802.11ax.
///
/// ```
/// use airbound_wifi::AckBitmap;
///
/// let mut bitmap = AckBitmap::first(2);
/// bitmap.set(5);
/// assert_eq!((bitmap.count(), bitmap.get(1), bitmap.get(2)), (3, true, false));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckBitmap([u64; 4]);

impl AckBitmap {
    /// None acknowledged.
    pub const NONE: Self = Self([0; 4]);

    /// The first `count` acknowledged.
    #[must_use]
    #[inline]
    pub fn first(count: usize) -> Self {
        let mut bitmap = Self::NONE;
        for (word, bits) in bitmap.0.iter_mut().enumerate() {
            let left = count.saturating_sub(word * 64).min(64);
            *bits = if left == 64 { u64::MAX } else { (1u64 << left) - 1 };
        }
        bitmap
    }

    /// Marks the MPDU at `index` as acknowledged; indices from 256 on are ignored.
    #[inline]
    pub fn set(&mut self, index: usize) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }

    /// Whether the MPDU at `index` was acknowledged.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Number of acknowledged MPDUs.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u16 {
        self.0.iter().map(|word| word.count_ones() as u16).sum()
    }
}

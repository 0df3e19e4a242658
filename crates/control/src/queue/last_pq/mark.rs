//! The mark of a prioritised flow's packets, which carries the permitted queueing latency (Sec. V).

use airbound_units::Span;

/// Content of a socket buffer's `mark` in Linux: 0xb45f in the high 16 bits, the permitted queueing latency in the low 16.
///
/// The paper gives no unit; the unit here is the microsecond, the only one in which 16 bits hold a demand of 20 ms with any
/// resolution. Latencies of 65.535 ms and above have the same mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u32);

impl Mark {
    /// The value of the high 16 bits, distinct from other uses of the field.
    pub const TAG: u16 = 0xb45f;

    /// The mark of a flow whose packets may queue for `permitted`, in whole microseconds rounded down.
    #[must_use]
    pub fn encode(permitted: Span) -> Self {
        let micros = u16::try_from(permitted.as_micros()).unwrap_or(u16::MAX);
        Self(u32::from(Self::TAG) << 16 | u32::from(micros))
    }

    /// The permitted queueing latency in a packet's mark; `None` if the mark has another meaning.
    #[must_use]
    pub fn decode(bits: u32) -> Option<Span> {
        (bits >> 16 == u32::from(Self::TAG)).then(|| Span::from_micros(u64::from(bits & 0xffff)))
    }

    /// The bits in the format of `iptables -j MARK --set-mark`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The permitted queueing latency.
    #[must_use]
    pub fn permitted(self) -> Span {
        Span::from_micros(u64::from(self.0 & 0xffff))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn microseconds_stand_in_the_low_bits() {
        assert_eq!(Mark::encode(Span::from_millis(20)).bits(), 0xb45f_4e20);
        assert_eq!(Mark::encode(Span::from_nanos(1999)).bits(), 0xb45f_0001);
        assert_eq!(Mark::encode(Span::from_secs(1)).bits(), 0xb45f_ffff);
        assert_eq!(Mark::encode(Span::MAX).permitted(), Span::from_micros(65_535));
    }

    #[test]
    fn other_marks_are_none_of_ours() {
        assert_eq!(Mark::decode(0), None);
        assert_eq!(Mark::decode(0x4e20), None);
        assert_eq!(Mark::decode(0xb45e_4e20), None);
        assert_eq!(Mark::decode(0xb45f_0000), Some(Span::ZERO));
    }

    proptest! {
        #[test]
        fn encoded_marks_can_be_decoded(micros in any::<u64>()) {
            let mark = Mark::encode(Span::from_micros(micros));
            let expected = Span::from_micros(micros.min(65_535));
            prop_assert_eq!(Mark::decode(mark.bits()), Some(expected));
            prop_assert_eq!(mark.permitted(), expected);
        }
    }
}

//! Limits on the size and the duration of an aggregate.

use airbound_units::{ByteCount, Span};

use crate::rate::{Format, Rate};
use crate::timing::{PPDU_MAX_TIME, PpduTiming};

/// The limits of one A-MPDU, all of which apply.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct AmpduLimits {
    /// Number of MPDUs, at most the block-ack window.
    pub max_mpdus: u32,
    /// Bytes of the PSDU, with delimiters and padding.
    pub max_bytes: ByteCount,
    /// Duration of the PPDU with its preamble.
    pub max_duration: Span,
}

impl AmpduLimits {
    /// HT: 65 535 bytes (9.4.2.55.3, exponent 3), 64 MPDUs.
    #[must_use]
    pub const fn ht() -> Self {
        Self { max_mpdus: 64, max_bytes: ByteCount::new(65_535), max_duration: PPDU_MAX_TIME }
    }

    /// VHT: 1 048 575 bytes (9.4.2.157.2, exponent 7), 64 MPDUs.
    #[must_use]
    pub const fn vht() -> Self {
        Self { max_mpdus: 64, max_bytes: ByteCount::new(1_048_575), max_duration: PPDU_MAX_TIME }
    }

    /// HE with a block-ack window of `window` MPDUs, at most 256: 6 500 631 bytes (the longest PSDU, 802.11ax table
    /// 27-53; the exponent of 26.6.1 allows up to 2^23 - 1 in the 5 GHz band).
    #[must_use]
    pub fn he(window: u32) -> Self {
        Self { max_mpdus: window.min(256), max_bytes: ByteCount::new(6_500_631), max_duration: PPDU_MAX_TIME }
    }

    /// The limits of a format; for HE with a window of 256. A legacy PPDU carries one MPDU of at most 4095 bytes.
    #[must_use]
    pub fn of(format: Format) -> Self {
        match format {
            Format::Legacy => {
                Self { max_mpdus: 1, max_bytes: ByteCount::new(4_095), max_duration: PPDU_MAX_TIME }
            }
            Format::Ht => Self::ht(),
            Format::Vht => Self::vht(),
            Format::He => Self::he(256),
        }
    }

    /// Linux's ath9k: an HT aggregate of at most 32 subframes, 65 535 bytes and 4 ms (drivers/net/wireless/ath/ath9k
    /// xmit.c: `ath_tx_form_aggr`, `ath_lookup_rate`; ath9k.h: `ATH_AMPDU_LIMIT_MAX`). The 32 are half of the block-ack
    /// window of 64, so that the next aggregate can be prepared while one is on the air; older kernels also name 32 as
    /// a limit of its own. A queue with a TXOP limit below 4 ms takes that instead: see [`AmpduLimits::within`].
    #[must_use]
    pub const fn ath9k() -> Self {
        Self { max_mpdus: 32, max_bytes: ByteCount::new(65_535), max_duration: Span::from_millis(4) }
    }

    /// The smaller limits of both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            max_mpdus: self.max_mpdus.min(other.max_mpdus),
            max_bytes: self.max_bytes.min(other.max_bytes),
            max_duration: self.max_duration.min(other.max_duration),
        }
    }

    /// These limits with a PPDU no longer than `duration`.
    #[must_use]
    pub fn within(self, duration: Span) -> Self {
        Self { max_duration: self.max_duration.min(duration), ..self }
    }

    /// The largest PSDU within the limits of bytes and duration at a rate.
    #[must_use]
    pub fn max_psdu(&self, timing: &PpduTiming) -> ByteCount {
        timing.max_psdu(self.max_duration).min(self.max_bytes)
    }

    /// The most MPDUs of one size that fit at a rate, at least one: a single MPDU is always sent.
    #[must_use]
    pub fn max_mpdus_of(&self, mpdu: ByteCount, rate: Rate) -> u32 {
        let room = self.max_psdu(&PpduTiming::new(rate)).as_u64();
        let subframe = crate::mpdu::subframe_size(mpdu).as_u64();
        let last = (crate::mpdu::DELIMITER + mpdu).as_u64();
        // The last subframe is not padded.
        let by_bytes = room.saturating_sub(last).checked_div(subframe).unwrap_or(0).saturating_add(1);
        u32::try_from(by_bytes).unwrap_or(u32::MAX).min(self.max_mpdus).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpdu::psdu_size;
    use crate::rate::{GuardInterval, Width};

    const MPDU: ByteCount = ByteCount::new(1_538);

    #[test]
    fn slow_rates_do_not_aggregate_on_ath9k() {
        let slowest = Rate::ht(0, Width::Mhz20, GuardInterval::Ns800).unwrap();
        // 6.5 Mbit/s for 4 ms is 3.2 kB, which allows two. The WQM paper observes one, since its cards pad the first.
        assert_eq!(AmpduLimits::ath9k().max_mpdus_of(MPDU, slowest), 2);
        let fast = Rate::ht(15, Width::Mhz20, GuardInterval::Ns400).unwrap();
        assert_eq!(AmpduLimits::ath9k().max_mpdus_of(MPDU, fast), 32);
    }

    #[test]
    fn the_count_agrees_with_the_sizes() {
        for limits in [AmpduLimits::ht(), AmpduLimits::vht(), AmpduLimits::he(256), AmpduLimits::ath9k()] {
            for mpdu in [60, 61, 62, 63, 64, 1_500, 1_501, 1_535, 1_536, 3_000] {
                for rate in Rate::all(Format::Vht, Width::Mhz80, 4, GuardInterval::Ns400) {
                    let mpdu = ByteCount::new(mpdu);
                    let count = limits.max_mpdus_of(mpdu, rate);
                    let room = limits.max_psdu(&PpduTiming::new(rate));
                    let size = |count: u32| psdu_size(std::iter::repeat_n(mpdu, count as usize));
                    assert!(count == 1 || size(count) <= room);
                    assert!(count == limits.max_mpdus || size(count + 1) > room);
                }
            }
        }
    }
}

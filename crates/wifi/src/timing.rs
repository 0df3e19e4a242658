//! Duration of a PPDU, largest PSDU for a duration, and reception time of each byte.
//!
//! Durations follow the TXTIME equations of the standard for the convolutional code: preamble, then whole OFDM symbols
//! for 16 service bits, the PSDU, and six tail bits per encoder (equations 17-29, 19-92, 21-107; 802.11ax equation
//! 27-135). HT and VHT PPDUs with the short guard interval end on a multiple of 4 us.
//!
//! HE durations are computed in the same way, with the tail of one encoder although most HE rates use LDPC, which has none,
//! and without packet extension (nominal packet padding 0 us, which makes the last symbol whole). Both change a duration
//! by at most one symbol. The HE-LTF is 2x for guard intervals of 0.8 and 1.6 us, 4x for 3.2 us.
//!
//! ns-3 (3.37 to 3.44) differs from the standard in three respects: its VHT single-user preamble lacks the 4 us of
//! VHT-SIG-B, every HE-LTF lasts 8 us, and durations with a short guard interval are not rounded up to 4 us.

use airbound_units::{ByteCount, Span};

use crate::band::Band;
use crate::rate::{Format, GuardInterval, Rate, Width};

/// Bits of the SERVICE field before the PSDU.
const SERVICE_BITS: u64 = 16;
/// Tail bits of one convolutional encoder.
const TAIL_BITS: u64 = 6;

/// The longest PPDU: aPPDUMaxTime of HT, VHT and HE (tables 19-25, 21-28; 802.11ax table 27-53).
pub const PPDU_MAX_TIME: Span = Span::from_micros(5_484);

/// Duration of the preamble with the format's signal fields, up to the first data symbol.
#[must_use]
pub fn preamble(rate: Rate) -> Span {
    // Three streams need four training fields for an orthogonal matrix (table 19-13).
    let training = match rate.streams() {
        3 => 4,
        streams => u64::from(streams),
    };
    // At half the clock everything lasts twice as long (table 17-4).
    let legacy = Span::from_micros(if rate.width() == Width::Mhz10 { 40 } else { 8 + 8 + 4 });
    legacy
        + match rate.format() {
            Format::Legacy => Span::ZERO,
            // HT-SIG, HT-STF, HT-LTFs.
            Format::Ht => Span::from_micros(8 + 4 + 4 * training),
            // VHT-SIG-A, VHT-STF, VHT-LTFs, VHT-SIG-B.
            Format::Vht => Span::from_micros(8 + 4 + 4 * training + 4),
            // RL-SIG, HE-SIG-A, HE-STF, HE-LTFs.
            Format::He => Span::from_micros(4 + 8 + 4) + he_training(rate.guard_interval()) * training,
        }
}

fn he_training(guard_interval: GuardInterval) -> Span {
    let useful = match guard_interval {
        GuardInterval::Ns3200 => Span::from_nanos(12_800),
        _ => Span::from_nanos(6_400),
    };
    useful + guard_interval.span()
}

/// Returns the duration of a PPDU at `rate` with a PSDU of `psdu` in the 5 GHz band.
#[must_use]
pub fn ppdu_duration(rate: Rate, psdu: ByteCount) -> Span {
    PpduTiming::new(rate).duration(psdu)
}

/// The precomputed timing of one rate, so that a duration costs one division.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct PpduTiming {
    preamble: Span,
    symbol: Span,
    signal_extension: Span,
    /// At least 1.
    bits_per_symbol: u32,
    /// Service and tail bits.
    overhead_bits: u32,
    /// The data part ends on a multiple of this time in nanoseconds; 0 without such a grid.
    grid_nanos: u64,
}

impl PpduTiming {
    /// The timing of a rate in the 5 GHz band.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        let short = rate.guard_interval() == GuardInterval::Ns400;
        Self {
            preamble: preamble(rate),
            symbol: rate.symbol(),
            signal_extension: Span::ZERO,
            bits_per_symbol: rate.bits_per_symbol().max(1),
            overhead_bits: (SERVICE_BITS + TAIL_BITS * u64::from(rate.encoders())) as u32,
            grid_nanos: if short { 4_000 } else { 0 },
        }
    }

    /// The timing in a band: at 2.4 GHz every OFDM PPDU ends with a signal extension of 6 us without transmission (10.3.8).
    #[must_use]
    pub fn in_band(rate: Rate, band: Band) -> Self {
        let signal_extension = match band {
            Band::Ghz2 => Span::from_micros(6),
            Band::Ghz5 | Band::Ghz59 => Span::ZERO,
        };
        Self { signal_extension, ..Self::new(rate) }
    }

    /// Duration of the preamble, up to the first data symbol.
    #[must_use]
    pub const fn preamble(&self) -> Span {
        self.preamble
    }

    /// Duration of a data symbol with its guard interval.
    #[must_use]
    pub const fn symbol(&self) -> Span {
        self.symbol
    }

    /// Data bits of one symbol (N_DBPS).
    #[must_use]
    pub const fn bits_per_symbol(&self) -> u32 {
        self.bits_per_symbol
    }

    /// The duration of a PPDU with this PSDU. An empty PSDU needs a symbol for the service bits.
    #[must_use]
    pub fn duration(&self, psdu: ByteCount) -> Span {
        let data = self.symbol * self.symbols_for(psdu.bits().saturating_add(u64::from(self.overhead_bits)));
        let data = match self.grid_nanos {
            0 => data,
            grid => Span::from_nanos(data.as_nanos().checked_next_multiple_of(grid).unwrap_or(u64::MAX)),
        };
        self.preamble + data + self.signal_extension
    }

    /// The largest PSDU whose PPDU takes at most `duration`; zero if no byte fits.
    #[must_use]
    pub fn max_psdu(&self, duration: Span) -> ByteCount {
        let data = duration.saturating_sub(self.preamble + self.signal_extension);
        let data = match self.grid_nanos {
            0 => data,
            grid => Span::from_nanos(data.as_nanos() / grid * grid),
        };
        let bits = data.div_floor(self.symbol).saturating_mul(u64::from(self.bits_per_symbol));
        ByteCount::new(bits.saturating_sub(u64::from(self.overhead_bits)) / 8)
    }

    /// The time from the start of the PPDU at which its first `bytes` bytes have been received: the end of the symbol with
    /// their last bit. At most [`PpduTiming::duration`] of a PSDU of this size.
    #[must_use]
    pub fn offset_of(&self, bytes: ByteCount) -> Span {
        self.preamble + self.symbol * self.symbols_for(bytes.bits().saturating_add(SERVICE_BITS))
    }

    /// The number of symbols for a number of bits, rounded up.
    fn symbols_for(&self, bits: u64) -> u64 {
        // A 32-bit division is several times cheaper and suffices for any PSDU.
        match u32::try_from(bits) {
            Ok(bits) => u64::from(bits.div_ceil(self.bits_per_symbol)),
            Err(_) => bits.div_ceil(u64::from(self.bits_per_symbol)),
        }
    }
}

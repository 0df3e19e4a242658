//! PHY rates and their parameters.

use airbound_units::{BitRate, Span};

mod parameters;
mod text;

pub use parameters::{Coding, GuardInterval, Legacy, Modulation, Width};
pub use text::ParseWidthError;

/// The PPDU format of a rate.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    /// OFDM of 802.11a and 802.11g, and at half the clock of 802.11p (clause 17).
    Legacy,
    /// High throughput, 802.11n (clause 19), in its mixed format.
    Ht,
    /// Very high throughput, 802.11ac (clause 21), single user.
    Vht,
    /// High efficiency, 802.11ax (clause 27), single user.
    He,
}

/// Errors of rates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RateError {
    /// The index is above the format's highest.
    #[error("{format} has no MCS {mcs}; allowed are 0 to {highest}")]
    Mcs {
        /// The format.
        format: Format,
        /// The MCS index requested.
        mcs: u8,
        /// The highest index of the format.
        highest: u8,
    },
    /// The number of spatial streams is not supported.
    #[error("{streams} spatial streams are not supported; allowed are 1 to 4")]
    Streams {
        /// The number of spatial streams requested.
        streams: u8,
    },
    /// The format has no such width.
    #[error("{format} has no width of {width}; allowed are {allowed}")]
    Width {
        /// The format.
        format: Format,
        /// The width requested.
        width: Width,
        /// The allowed widths.
        allowed: &'static str,
    },
    /// The format has no such guard interval.
    #[error("{format} has no guard interval of {}; allowed are {allowed}", .guard_interval.span())]
    GuardInterval {
        /// The format.
        format: Format,
        /// The guard interval requested.
        guard_interval: GuardInterval,
        /// The allowed intervals.
        allowed: &'static str,
    },
    /// The standard excludes this combination, since its bits do not divide evenly among the encoders.
    #[error(
        "the standard excludes VHT MCS {mcs} with {streams} spatial streams at {width}; use a neighbouring MCS"
    )]
    Excluded {
        /// The MCS.
        mcs: u8,
        /// The number of streams.
        streams: u8,
        /// The width.
        width: Width,
    },
    /// The text is not a rate.
    #[error(
        "\"{text}\" is not a rate; allowed are for example \"VHT80 MCS9 2SS LGI\", \"HT40 MCS12 2SS SGI\", \"HE80 MCS11 2SS 0.8us\" \"OFDM 54 Mbit/s\" or \"OFDM10 27 Mbit/s\""
    )]
    Text {
        /// The text.
        text: String,
    },
}

/// Modulation and coding of HT MCS modulo 8, VHT MCS and HE MCS (Tables 19-27, 21-29; 802.11ax Table 27-54).
const SCHEMES: [(Modulation, Coding); 12] = [
    (Modulation::Bpsk, Coding::Half),
    (Modulation::Qpsk, Coding::Half),
    (Modulation::Qpsk, Coding::ThreeQuarters),
    (Modulation::Qam16, Coding::Half),
    (Modulation::Qam16, Coding::ThreeQuarters),
    (Modulation::Qam64, Coding::TwoThirds),
    (Modulation::Qam64, Coding::ThreeQuarters),
    (Modulation::Qam64, Coding::FiveSixths),
    (Modulation::Qam256, Coding::ThreeQuarters),
    (Modulation::Qam256, Coding::FiveSixths),
    (Modulation::Qam1024, Coding::ThreeQuarters),
    (Modulation::Qam1024, Coding::FiveSixths),
];

/// One PHY rate of the standard; only valid rates can be constructed.
///
/// The order is that of the fields (format, width, guard interval, streams, MCS), not of speed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rate {
    format: Format,
    width: Width,
    guard_interval: GuardInterval,
    streams: u8,
    /// 0 to 7 for legacy and HT, to 9 for VHT, to 11 for HE.
    step: u8,
}

impl Rate {
    /// A legacy OFDM rate at 20 MHz.
    #[must_use]
    pub const fn legacy(rate: Legacy) -> Self {
        Self {
            format: Format::Legacy,
            width: Width::Mhz20,
            guard_interval: GuardInterval::Ns800,
            streams: 1,
            step: rate as u8,
        }
    }

    /// The same rate at 10 MHz: half the clock, so that every time is doubled and the speed halved (17.1, table 17-4).
    #[must_use]
    pub const fn half_clocked(rate: Legacy) -> Self {
        Self { width: Width::Mhz10, guard_interval: GuardInterval::Ns1600, ..Self::legacy(rate) }
    }

    /// An HT rate with equal modulation: MCS `index` 0 to 31, where the streams are `index / 8 + 1`.
    ///
    /// # Errors
    /// The index is above 31, the width neither 20 nor 40 MHz, or the guard interval above 800 ns.
    pub fn ht(index: u8, width: Width, guard_interval: GuardInterval) -> Result<Self, RateError> {
        let format = Format::Ht;
        if index > 31 {
            return Err(RateError::Mcs { format, mcs: index, highest: 31 });
        }
        if !(Width::Mhz20..=Width::Mhz40).contains(&width) {
            return Err(RateError::Width { format, width, allowed: "20 MHz and 40 MHz" });
        }
        check_guard(format, guard_interval)?;
        Ok(Self { format, width, guard_interval, streams: index / 8 + 1, step: index % 8 })
    }

    /// A VHT rate: MCS 0 to 9, 1 to 4 spatial streams.
    ///
    /// # Errors
    /// An argument is out of range, or the standard excludes the combination (tables 21-30 to 21-61).
    pub fn vht(mcs: u8, streams: u8, width: Width, guard_interval: GuardInterval) -> Result<Self, RateError> {
        let format = Format::Vht;
        if mcs > 9 {
            return Err(RateError::Mcs { format, mcs, highest: 9 });
        }
        check_streams(streams)?;
        check_width(format, width)?;
        check_guard(format, guard_interval)?;
        let excluded = matches!(
            (width, mcs, streams),
            (Width::Mhz20, 9, 1 | 2 | 4) | (Width::Mhz80, 6, 3) | (Width::Mhz160, 9, 3)
        );
        if excluded {
            return Err(RateError::Excluded { mcs, streams, width });
        }
        Ok(Self { format, width, guard_interval, streams, step: mcs })
    }

    /// An HE rate of a single-user PPDU over the whole width, without DCM: MCS 0 to 11, 1 to 4 spatial streams.
    ///
    /// # Errors
    /// An argument is out of range, or the guard interval is 400 ns.
    pub fn he(mcs: u8, streams: u8, width: Width, guard_interval: GuardInterval) -> Result<Self, RateError> {
        let format = Format::He;
        if mcs > 11 {
            return Err(RateError::Mcs { format, mcs, highest: 11 });
        }
        check_streams(streams)?;
        check_width(format, width)?;
        check_guard(format, guard_interval)?;
        Ok(Self { format, width, guard_interval, streams, step: mcs })
    }

    /// All rates of a format at one width and guard interval with 1 to `max_streams` streams (at most 4), ordered by streams,
    /// then by MCS. Empty if the format has no such width or guard interval.
    pub fn all(
        format: Format,
        width: Width,
        max_streams: u8,
        guard_interval: GuardInterval,
    ) -> impl Iterator<Item = Self> {
        (1..=max_streams.min(4)).flat_map(move |streams| {
            (0..12u8).filter_map(move |step| match format {
                Format::Legacy => {
                    let rate = *Legacy::ALL.get(usize::from(step))?;
                    let rate =
                        if width == Width::Mhz10 { Self::half_clocked(rate) } else { Self::legacy(rate) };
                    let fits = rate.width == width && rate.guard_interval == guard_interval && streams == 1;
                    Some(rate).filter(|_| fits)
                }
                Format::Ht if step > 7 => None,
                Format::Ht => Self::ht((streams - 1) * 8 + step, width, guard_interval).ok(),
                Format::Vht => Self::vht(step, streams, width, guard_interval).ok(),
                Format::He => Self::he(step, streams, width, guard_interval).ok(),
            })
        })
    }

    /// The rate that many MCS below it, with as many streams; the lowest of them at most.
    #[must_use]
    pub const fn lowered(self, steps: u8) -> Self {
        let step = self.step.saturating_sub(steps);
        let excluded =
            matches!((self.format, self.width, step, self.streams), (Format::Vht, Width::Mhz80, 6, 3));
        Self { step: if excluded { 5 } else { step }, ..self }
    }

    /// The PPDU format.
    #[must_use]
    pub const fn format(self) -> Format {
        self.format
    }

    /// The MCS index: HT 0 to 31 (streams included), VHT 0 to 9, HE 0 to 11; for legacy 0 (6 Mbit/s at 20 MHz) to 7 (54 Mbit/s).
    #[must_use]
    pub const fn mcs(self) -> u8 {
        match self.format {
            Format::Ht => (self.streams - 1) * 8 + self.step,
            _ => self.step,
        }
    }

    /// The index without the streams: as [`Rate::mcs`], but 0 to 7 for HT.
    #[must_use]
    pub const fn mcs_of_stream(self) -> u8 {
        self.step
    }

    /// Spatial streams, 1 to 4.
    #[must_use]
    pub const fn streams(self) -> u8 {
        self.streams
    }

    /// The channel width.
    #[must_use]
    pub const fn width(self) -> Width {
        self.width
    }

    /// The guard interval.
    #[must_use]
    pub const fn guard_interval(self) -> GuardInterval {
        self.guard_interval
    }

    /// The legacy rate, if it is one.
    #[must_use]
    pub fn as_legacy(self) -> Option<Legacy> {
        match self.format {
            Format::Legacy => Legacy::ALL.get(usize::from(self.step)).copied(),
            _ => None,
        }
    }

    fn scheme(self) -> (Modulation, Coding) {
        match self.as_legacy() {
            Some(legacy) => legacy.scheme(),
            None => SCHEMES.get(usize::from(self.step)).copied().unwrap_or(SCHEMES[0]),
        }
    }

    /// The modulation of every subcarrier.
    #[must_use]
    pub fn modulation(self) -> Modulation {
        self.scheme().0
    }

    /// The code rate.
    #[must_use]
    pub fn coding(self) -> Coding {
        self.scheme().1
    }

    /// Subcarriers that carry data (N_SD).
    #[must_use]
    pub const fn data_subcarriers(self) -> u32 {
        match (self.format, self.width) {
            (Format::Legacy, _) => 48,
            (Format::Ht | Format::Vht, Width::Mhz10 | Width::Mhz20) => 52,
            (Format::Ht | Format::Vht, Width::Mhz40) => 108,
            (Format::Ht | Format::Vht, Width::Mhz80) => 234,
            (Format::Ht | Format::Vht, Width::Mhz160) => 468,
            (Format::He, Width::Mhz10 | Width::Mhz20) => 234,
            (Format::He, Width::Mhz40) => 468,
            (Format::He, Width::Mhz80) => 980,
            (Format::He, Width::Mhz160) => 1960,
        }
    }

    /// Data bits of one OFDM symbol over all streams (N_DBPS), rounded down as the standard does.
    #[must_use]
    pub fn bits_per_symbol(self) -> u32 {
        let (modulation, coding) = self.scheme();
        let (numerator, denominator) = coding.ratio();
        self.data_subcarriers() * modulation.bits() * u32::from(self.streams) * numerator / denominator
    }

    /// The length of one OFDM symbol with its guard interval.
    #[must_use]
    pub fn symbol(self) -> Span {
        let useful = match (self.format, self.width) {
            (Format::He, _) => Span::from_nanos(12_800),
            (_, Width::Mhz10) => Span::from_nanos(6_400),
            _ => Span::from_nanos(3_200),
        };
        useful + self.guard_interval.span()
    }

    /// Convolutional encoders (N_ES), each of which appends six tail bits. HT uses a second one above 300 Mbit/s,
    /// VHT one for each started 2160 data bits of a symbol (600 Mbit/s with the short interval) except where the
    /// bits would not divide evenly (tables 19-27 to 19-41, 21-30 to 21-61). Legacy and HE count as one.
    #[must_use]
    pub fn encoders(self) -> u32 {
        let bits = self.bits_per_symbol();
        match self.format {
            Format::Legacy | Format::He => 1,
            Format::Ht => bits.div_ceil(1_280),
            // Five encoders would leave fractions of bits: table 21-57 takes six.
            Format::Vht => match bits.div_ceil(2_160) {
                5 => 6,
                encoders => encoders,
            },
        }
    }

    /// The speed of the data bits, to the nearest bit per second.
    #[must_use]
    pub fn bit_rate(self) -> BitRate {
        let nanos = self.symbol().as_nanos().max(1);
        BitRate::from_bps((u64::from(self.bits_per_symbol()) * 1_000_000_000 + nanos / 2) / nanos)
    }
}

fn check_streams(streams: u8) -> Result<(), RateError> {
    if (1..=4).contains(&streams) { Ok(()) } else { Err(RateError::Streams { streams }) }
}

fn check_width(format: Format, width: Width) -> Result<(), RateError> {
    let allowed = "20 MHz to 160 MHz";
    if width >= Width::Mhz20 { Ok(()) } else { Err(RateError::Width { format, width, allowed }) }
}

fn check_guard(format: Format, guard_interval: GuardInterval) -> Result<(), RateError> {
    let he = format == Format::He;
    let known = match guard_interval {
        GuardInterval::Ns400 => !he,
        GuardInterval::Ns800 => true,
        GuardInterval::Ns1600 | GuardInterval::Ns3200 => he,
    };
    if known {
        return Ok(());
    }
    let allowed = if he { "800 ns, 1600 ns and 3200 ns" } else { "400 ns and 800 ns" };
    Err(RateError::GuardInterval { format, guard_interval, allowed })
}

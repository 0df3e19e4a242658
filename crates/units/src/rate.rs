//! Bit rates in whole bits per second.

use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

use crate::parse::{self, Kind, ParseQuantityError};
use crate::{ByteCount, Span};

/// A number of bits per second. Range 0 to 2^64 - 1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// A rate in bits per second.
    #[must_use]
    pub const fn from_bps(bits_per_second: u64) -> Self {
        Self(bits_per_second)
    }

    /// A rate in kilobits per second, saturating.
    #[must_use]
    pub const fn from_kbps(kilobits_per_second: u64) -> Self {
        Self(kilobits_per_second.saturating_mul(1_000))
    }

    /// A rate in megabits per second, saturating.
    #[must_use]
    pub const fn from_mbps(megabits_per_second: u64) -> Self {
        Self(megabits_per_second.saturating_mul(1_000_000))
    }

    /// The nearest whole number of bits per second; negative values and NaN give zero.
    #[must_use]
    pub fn from_bps_f64(bits_per_second: f64) -> Self {
        Self(libm::round(bits_per_second) as u64)
    }

    /// The rate of `amount` in `time`; zero if `time` is zero.
    #[must_use]
    pub fn of(amount: ByteCount, time: Span) -> Self {
        if time.is_zero() {
            return Self::ZERO;
        }
        let bps = u128::from(amount.bits()) * 1_000_000_000 / u128::from(time.as_nanos());
        Self(u64::try_from(bps).unwrap_or(u64::MAX))
    }

    /// Bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Megabits per second, for output.
    #[must_use]
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Whether the rate is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The time of `amount` at this rate, rounded up to a nanosecond; the longest span at rate zero.
    #[must_use]
    pub fn time_for(self, amount: ByteCount) -> Span {
        self.time_for_bits(amount.bits())
    }

    /// The time of `bits` at this rate, rounded up to a nanosecond; the longest span at rate zero.
    #[must_use]
    pub fn time_for_bits(self, bits: u64) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        // The common case fits in 64 bits, where division is several times cheaper.
        if let Some(product) = bits.checked_mul(1_000_000_000) {
            return Span::from_nanos(product.div_ceil(self.0));
        }
        let nanos = (u128::from(bits) * 1_000_000_000).div_ceil(u128::from(self.0));
        Span::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The whole bytes in `time` at this rate.
    #[must_use]
    pub fn bytes_in(self, time: Span) -> ByteCount {
        let bytes = u128::from(self.0) * u128::from(time.as_nanos()) / 8_000_000_000;
        ByteCount::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    /// This rate times a non-negative factor, to the nearest bit per second.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self::from_bps_f64(self.0 as f64 * factor)
    }
}

const UNITS: &[(&str, u64)] =
    &[("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000), ("bit/s", 1)];

const KIND: Kind = Kind {
    units: &[
        ("bit/s", 1.0),
        ("kbit/s", 1e3),
        ("Mbit/s", 1e6),
        ("Gbit/s", 1e9),
        ("kb/s", 1e3),
        ("Mb/s", 1e6),
        ("Gb/s", 1e9),
        ("Mbps", 1e6),
    ],
    example: "45 Mbit/s",
    range: "0 to 9000000 Gbit/s",
};

/// Saturates.
impl Add for BitRate {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Saturates at zero.
impl Sub for BitRate {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("0 bit/s") } else { parse::display(self.0, UNITS, f) }
    }
}

impl FromStr for BitRate {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        parse::count(text, &KIND).map(Self)
    }
}

parse::textual!(BitRate, "a bit rate with its unit, such as \"45 Mbit/s\"");

//! Points in time and durations, in whole nanoseconds.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};
use std::str::FromStr;

use crate::parse::{self, Kind, ParseQuantityError};

/// A point in time: nanoseconds since the start of the run.
///
/// Range 0 to 2^64 - 1 ns (584 years). Arithmetic saturates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A duration in nanoseconds, never negative.
///
/// Range 0 to 2^64 - 1 ns. Arithmetic saturates: a difference below zero is zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// The last representable instant; stands for "never" where an instant is compared.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start, for output only.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time from `earlier` to `self`, zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// Zero.
    pub const ZERO: Self = Self(0);
    /// The longest representable span.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of whole nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of whole microseconds, saturating.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// A span of whole milliseconds, saturating.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of whole seconds, saturating.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The nearest whole number of nanoseconds; negative values and NaN give zero.
    #[must_use]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self(libm::round(secs * 1e9) as u64)
    }

    /// Whole nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, rounded down.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whole milliseconds, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds, for output and for controllers that work in floating point.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Milliseconds, for output.
    #[must_use]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Whether the span is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This span times a non-negative factor, to the nearest nanosecond.
    #[must_use]
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(libm::round(self.0 as f64 * factor) as u64)
    }

    /// The whole number of times that `part` fits; zero if `part` is zero.
    #[must_use]
    pub const fn div_floor(self, part: Self) -> u64 {
        match self.0.checked_div(part.0) {
            Some(times) => times,
            None => 0,
        }
    }
}

impl Add<Span> for Instant {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Instant {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Instant {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        self.since(earlier)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Span {
    type Output = Self;
    /// Rounds down; division by zero gives the longest span.
    fn div(self, divisor: u64) -> Self {
        self.0.checked_div(divisor).map_or(Self::MAX, Self)
    }
}

impl Rem for Span {
    type Output = Self;
    fn rem(self, part: Self) -> Self {
        Self(self.0.checked_rem(part.0).unwrap_or(0))
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

const UNITS: &[(&str, u64)] = &[("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

const KIND: Kind = Kind {
    units: &[("s", 1e9), ("ms", 1e6), ("us", 1e3), ("µs", 1e3), ("ns", 1.0), ("min", 60e9), ("h", 3600e9)],
    example: "20 ms",
    range: "a length of time from 0 to 2500 hours",
};

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 { f.write_str("0 ms") } else { parse::display(self.0, UNITS, f) }
    }
}

impl FromStr for Span {
    type Err = ParseQuantityError;
    fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
        parse::count(text, &KIND).map(Self)
    }
}

parse::textual!(Span, "a length of time with its unit, such as \"20 ms\"");

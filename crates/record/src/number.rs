//! Numbers of a summary: six significant digits, so that a run gives the same bytes on all machines.

use serde::de::Deserialize;
use serde::ser::Error;
use serde::{Deserializer, Serializer};

/// Significant decimal digits of fractional numbers.
pub const SIGNIFICANT_DIGITS: usize = 6;

/// The nearest number with [`SIGNIFICANT_DIGITS`] digits; negative zero becomes zero.
///
/// Rounds by way of decimal text, which is exact and independent of the machine.
#[must_use]
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 { 0.0 } else { value };
    }
    format!("{value:.*e}", SIGNIFICANT_DIGITS - 1).parse().unwrap_or(value)
}

/// For `#[serde(with = "number")]`: a finite number, rounded.
pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.is_finite() {
        serializer.serialize_f64(rounded(*value))
    } else {
        Err(S::Error::custom("a number is infinite or undefined"))
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    f64::deserialize(deserializer)
}

/// For `#[serde(with = "number::optional")]`: a finite number, rounded, or null.
pub(crate) mod optional {
    use serde::de::Deserialize;
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
        Option::deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn six_digits_remain() {
        assert_eq!(rounded(1234.5678), 1234.57);
        assert_eq!(rounded(0.000_123_456_789), 0.000_123_457);
        assert_eq!(rounded(-0.0).to_bits(), 0.0_f64.to_bits());
        assert_eq!(rounded(99_999_950.0), 1e8);
        assert!(rounded(f64::NAN).is_nan());
    }
}

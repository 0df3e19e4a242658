//! Parsing of text such as `"45 Mbit/s"`: a decimal number, optional white space, a unit.

/// Errors of parsing a quantity. Messages state the text and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseQuantityError {
    /// No number before the unit.
    #[error("\"{text}\" does not start with a number; write for example \"{example}\"")]
    NoNumber {
        /// The text.
        text: String,
        /// An allowed text.
        example: &'static str,
    },
    /// The unit is missing or unknown.
    #[error("\"{text}\" has {}; allowed are {allowed}, for example \"{example}\"", unit_words(.unit))]
    Unit {
        /// The text.
        text: String,
        /// The unit of the text, possibly empty.
        unit: String,
        /// The allowed units.
        allowed: String,
        /// An allowed text.
        example: &'static str,
    },
    /// The number is negative, not finite, or too large.
    #[error("\"{text}\" is out of range; allowed is {range}")]
    Range {
        /// The text.
        text: String,
        /// The allowed range in words.
        range: &'static str,
    },
}

fn unit_words(unit: &str) -> String {
    if unit.is_empty() { "no unit".to_owned() } else { format!("the unknown unit \"{unit}\"") }
}

/// A kind of quantity: its units with their factors to the base unit.
pub(crate) struct Kind {
    pub(crate) units: &'static [(&'static str, f64)],
    pub(crate) example: &'static str,
    pub(crate) range: &'static str,
}

/// Parses a number with a unit, and returns it in the base unit.
pub(crate) fn number(text: &str, kind: &Kind) -> Result<f64, ParseQuantityError> {
    let trimmed = text.trim();
    // The letter of an exponent is part of the number only if digits follow.
    let mut end = 0;
    let bytes = trimmed.as_bytes();
    while end < bytes.len() {
        let c = bytes[end];
        let exponent = (c == b'e' || c == b'E')
            && end > 0
            && matches!(bytes.get(end + 1), Some(d) if d.is_ascii_digit() || ((*d == b'-' || *d == b'+') && matches!(bytes.get(end + 2), Some(x) if x.is_ascii_digit())));
        if c.is_ascii_digit() || c == b'.' || (end == 0 && (c == b'-' || c == b'+')) {
            end += 1;
        } else if exponent {
            end += 2;
        } else {
            break;
        }
    }
    let value: f64 = trimmed[..end]
        .parse()
        .map_err(|_| ParseQuantityError::NoNumber { text: text.to_owned(), example: kind.example })?;
    let unit = trimmed[end..].trim();
    let factor = kind.units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor);
    let Some(factor) = factor else {
        let allowed = kind.units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        return Err(ParseQuantityError::Unit {
            text: text.to_owned(),
            unit: unit.to_owned(),
            allowed,
            example: kind.example,
        });
    };
    let scaled = value * factor;
    if scaled.is_finite() {
        Ok(scaled)
    } else {
        Err(ParseQuantityError::Range { text: text.to_owned(), range: kind.range })
    }
}

/// Parses a quantity in whole base units, from 0 to 2^53.
pub(crate) fn count(text: &str, kind: &Kind) -> Result<u64, ParseQuantityError> {
    let value = libm::round(number(text, kind)?);
    if (0.0..=9_007_199_254_740_992.0).contains(&value) {
        Ok(value as u64)
    } else {
        Err(ParseQuantityError::Range { text: text.to_owned(), range: kind.range })
    }
}

/// Writes a count with the largest unit in which it is exact with three decimals.
pub(crate) fn display(
    value: u64,
    units: &[(&str, u64)],
    f: &mut std::fmt::Formatter<'_>,
) -> std::fmt::Result {
    for (name, factor) in units {
        if value >= *factor && (value % factor).is_multiple_of((*factor / 1000).max(1)) {
            let whole = value / factor;
            let thousandths = (value % factor) / (*factor / 1000).max(1);
            if *factor < 1000 || thousandths == 0 {
                return write!(f, "{whole} {name}");
            }
            let digits = format!("{thousandths:03}");
            return write!(f, "{whole}.{} {name}", digits.trim_end_matches('0'));
        }
    }
    let (name, _) = units[units.len() - 1];
    write!(f, "{value} {name}")
}

/// Implements `FromStr` and serde as text.
macro_rules! textual {
    ($type:ty, $expecting:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
    };
}
pub(crate) use textual;

//! Continuous quantities of radio: levels, gains, distances, speeds.

use std::fmt;
use std::str::FromStr;

use crate::parse::{self, Kind, ParseQuantityError};

macro_rules! continuous {
    ($(#[$doc:meta])* $name:ident, $unit:literal, $kind:ident, $expecting:literal, $valid:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// A value in the unit of the type; NaN becomes zero.
            #[must_use]
            pub const fn new(value: f64) -> Self {
                Self(if value.is_nan() { 0.0 } else { value })
            }

            /// The value in the unit of the type.
            #[must_use]
            pub const fn value(self) -> f64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!("{} ", $unit), self.0)
            }
        }

        impl FromStr for $name {
            type Err = ParseQuantityError;
            fn from_str(text: &str) -> Result<Self, ParseQuantityError> {
                let value = parse::number(text, &$kind)?;
                let valid: fn(f64) -> bool = $valid;
                if valid(value) {
                    Ok(Self(value))
                } else {
                    Err(ParseQuantityError::Range { text: text.to_owned(), range: $kind.range })
                }
            }
        }

        parse::textual!($name, $expecting);
    };
}

const DECIBEL: Kind = Kind { units: &[("dB", 1.0)], example: "3 dB", range: "-300 dB to 300 dB" };
const DBM: Kind = Kind { units: &[("dBm", 1.0)], example: "-70 dBm", range: "-300 dBm to 100 dBm" };
const METRE: Kind =
    Kind { units: &[("m", 1.0), ("cm", 0.01), ("km", 1000.0)], example: "10 m", range: "0 m to 100 km" };
const SPEED: Kind =
    Kind { units: &[("m/s", 1.0), ("km/h", 1.0 / 3.6)], example: "1 m/s", range: "0 m/s to 1000 m/s" };

continuous!(
    /// A ratio of powers on the logarithmic scale, in decibel.
    Decibel, "dB", DECIBEL, "a ratio with its unit, such as \"3 dB\"", |v| (-300.0..=300.0).contains(&v)
);
continuous!(
    /// A power relative to one milliwatt, in dBm.
    Dbm, "dBm", DBM, "a power level with its unit, such as \"-70 dBm\"", |v| (-300.0..=100.0).contains(&v)
);
continuous!(
    /// A distance in metres, never negative when read from text.
    Metre, "m", METRE, "a distance with its unit, such as \"10 m\"", |v| (0.0..=100_000.0).contains(&v)
);
continuous!(
    /// A speed in metres per second, never negative when read from text.
    MetrePerSecond, "m/s", SPEED, "a speed with its unit, such as \"1 m/s\"", |v| (0.0..=1000.0).contains(&v)
);

impl Decibel {
    /// The linear ratio of powers.
    #[must_use]
    pub fn linear(self) -> f64 {
        libm::pow(10.0, self.0 / 10.0)
    }
}

impl std::ops::Sub for Dbm {
    type Output = Decibel;
    fn sub(self, other: Self) -> Decibel {
        Decibel(self.0 - other.0)
    }
}

impl std::ops::Add<Decibel> for Dbm {
    type Output = Self;
    fn add(self, gain: Decibel) -> Self {
        Self(self.0 + gain.0)
    }
}

impl std::ops::Sub<Decibel> for Dbm {
    type Output = Self;
    fn sub(self, loss: Decibel) -> Self {
        Self(self.0 - loss.0)
    }
}

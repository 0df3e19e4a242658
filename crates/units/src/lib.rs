//! The quantities in Airbound's public interfaces.
//!
//! Time is counted in whole nanoseconds ([`Instant`], [`Span`]), data in whole bytes ([`ByteCount`]), speed in
//! whole bits per second ([`BitRate`]). The types are distinct, their arithmetic saturates instead of wrapping or
//! panicking, and each is read from and written as the text of a scenario file (`"20 ms"`, `"45 Mbit/s"`,
//! `"1500 B"`, `"-70 dBm"`, `"10 m"`).

mod bytes;
mod error;
mod parse;
mod quantities;
mod rate;
mod time;

pub use bytes::ByteCount;
pub use error::ConfigError;
pub use parse::ParseQuantityError;
pub use quantities::{Dbm, Decibel, Metre, MetrePerSecond};
pub use rate::BitRate;
pub use time::{Instant, Span};

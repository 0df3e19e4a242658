//! Hardware addresses.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A 48-bit hardware address of a station or an interface.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// The address in the first six bytes; `None` if there are fewer.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.first_chunk().copied().map(Self)
    }

    /// Whether it is a group address, such as broadcast (802-2014 clause 8.2.2: the I/G bit).
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The error of a text that is not a hardware address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not a hardware address; allowed are six bytes such as 02:00:00:00:01:00")]
pub struct ParseMacAddressError(String);

impl FromStr for MacAddress {
    type Err = ParseMacAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            *byte = parts
                .next()
                .filter(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_hexdigit()))
                .and_then(|part| u8::from_str_radix(part, 16).ok())
                .ok_or_else(|| ParseMacAddressError(text.to_owned()))?;
        }
        if parts.next().is_some() { Err(ParseMacAddressError(text.to_owned())) } else { Ok(Self(bytes)) }
    }
}

impl Serialize for MacAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        let address = MacAddress([2, 0, 0xff, 0, 1, 0x0a]);
        assert_eq!(address.to_string(), "02:00:ff:00:01:0a");
        assert_eq!("02:00:FF:00:01:0a".parse(), Ok(address));
        for wrong in ["", "02:00:ff:00:01", "02:00:ff:00:01:0a:00", "02:00:ff:00:01:+a", "2:0:ff:0:1:a"] {
            assert!(wrong.parse::<MacAddress>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn broadcast_is_a_group() {
        assert!(MacAddress([0xff; 6]).is_group());
        assert!(!MacAddress([2, 0, 0, 0, 0, 1]).is_group());
    }
}

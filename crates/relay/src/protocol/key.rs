//! Keys and tags.
//!
//! Tags are SipHash-2-4, a pseudo-random function made for the authentication of short packets: 128 bits of key, 64 of tag, so that a
//! forgery succeeds once in 2^64 tries. It needs no nonce that could repeat (as GMAC and Poly1305 do) and no instructions of a
//! processor, takes about a cycle and a half a byte, and is the one that [`airbound_senders::stream`] uses. A keyed hash (BLAKE3, HMAC)
//! truncated to the same 64 bits would be forged as rarely, at five to ten times the time a packet. Keys are derived with its variant of
//! 128 bits.

use std::fmt;
use std::hash::Hasher;

use siphasher::sip::SipHasher24;
use siphasher::sip128::{Hasher128, SipHasher24 as SipHasher24Long};

use super::wire::{HEADER, UNTAGGED};

/// Length of a key.
const LENGTH: usize = 16;

/// A secret key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key([u8; LENGTH]);

/// The name of a key in a hello: derived from it, and public.
pub type KeyId = u64;

/// The reason why a text is not a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Too few or too many digits.
    #[error(
        "the key has {0} characters; 32 hexadecimal digits are required (`airbound-relay key` makes one)"
    )]
    Length(usize),
    /// A character that is no digit.
    #[error("the key has a character that is no hexadecimal digit")]
    Digit,
    /// All bytes are the same.
    #[error("the key repeats one byte; `airbound-relay key` makes a random one")]
    Weak,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// A key of these bytes.
    #[must_use]
    pub const fn new(bytes: [u8; LENGTH]) -> Self {
        Self(bytes)
    }

    /// Reads 32 hexadecimal digits.
    ///
    /// # Errors
    /// [`KeyError`] for another number of characters, other characters, or a key that repeats one byte.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let digits = text.as_bytes();
        if digits.len() != 2 * LENGTH {
            return Err(KeyError::Length(text.chars().count()));
        }
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut bytes = [0; LENGTH];
        for (to, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let (high, low) =
                (digit(pair[0]).ok_or(KeyError::Digit)?, digit(pair[1]).ok_or(KeyError::Digit)?);
            *to = high << 4 | low;
        }
        if bytes.iter().all(|byte| *byte == bytes[0]) {
            return Err(KeyError::Weak);
        }
        Ok(Self(bytes))
    }

    /// The key as 32 hexadecimal digits.
    #[must_use]
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Its name in a hello.
    #[must_use]
    pub fn id(&self) -> KeyId {
        let derived = self.derive(b"id", &[]);
        u64::from_be_bytes(super::wire::part(&derived.0, 0))
    }

    /// A key for `purpose`, bound to `context`. Each part of the context has to have a fixed length.
    pub(super) fn derive(&self, purpose: &[u8; 2], context: &[&[u8]]) -> Self {
        let mut hasher = SipHasher24Long::new_with_key(&self.0);
        hasher.write(purpose);
        context.iter().for_each(|part| hasher.write(part));
        let hash = hasher.finish128();
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&hash.h1.to_be_bytes());
        bytes[8..].copy_from_slice(&hash.h2.to_be_bytes());
        Self(bytes)
    }

    /// The tag of a packet: over its header but the tag, its payload, and `more`.
    pub(super) fn tag(&self, packet: &[u8], more: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write(packet.get(..UNTAGGED).unwrap_or_default());
        hasher.write(packet.get(HEADER..).unwrap_or_default());
        hasher.write(more);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_bad_ones_named() {
        let text = "000102030405060708090a0b0c0d0e0f";
        let key = Key::parse(text).expect("a key");
        assert_eq!((key, key.to_hex().as_str()), (Key::new(std::array::from_fn(|at| at as u8)), text));
        assert_eq!(Key::parse("0001"), Err(KeyError::Length(4)));
        assert_eq!(Key::parse(&text.replace('f', "g")), Err(KeyError::Digit));
        assert_eq!(Key::parse(&"ab".repeat(16)), Err(KeyError::Weak));
        assert_eq!(format!("{key:?}"), "Key(..)");
    }

    #[test]
    fn derived_keys_differ_by_purpose_and_context() {
        let key = Key::new([7; 16]);
        let derived =
            [key.derive(b"up", &[&[1]]), key.derive(b"dn", &[&[1]]), key.derive(b"up", &[&[2]]), key];
        for (place, one) in derived.iter().enumerate() {
            assert!(derived[place + 1..].iter().all(|other| other != one));
        }
        assert_ne!(key.id(), Key::new([8; 16]).id());
    }
}

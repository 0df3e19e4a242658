//! Unpredictable bytes from a seed of the caller.

use super::key::Key;

/// A generator of nonces, session numbers and tokens: keys derived from a secret seed and a counter.
#[derive(Debug, Clone)]
pub struct Entropy {
    seed: Key,
    drawn: u64,
}

impl Entropy {
    /// A generator. The seed has to come from the system's source of random bytes; a test may take any.
    #[must_use]
    pub const fn new(seed: [u8; 16]) -> Self {
        Self { seed: Key::new(seed), drawn: 0 }
    }

    /// 16 bytes.
    pub(super) fn bytes(&mut self) -> [u8; 16] {
        self.drawn += 1;
        let (high, low) = (self.word(0), self.word(1));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&high.to_be_bytes());
        bytes[8..].copy_from_slice(&low.to_be_bytes());
        bytes
    }

    /// A number.
    pub(super) fn number(&mut self) -> u64 {
        self.drawn += 1;
        self.word(2)
    }

    fn word(&self, part: u8) -> u64 {
        self.seed.derive(b"rn", &[&self.drawn.to_be_bytes(), &[part]]).id()
    }
}

//! Errors of a stream's two ends. None of them allocates memory.

/// The reason why a call had no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// A value out of range.
    #[error("{0}")]
    Range(&'static str),
    /// The receiver has not joined.
    #[error("the receiver has not joined this sender")]
    Unknown,
    /// There is no place for a further receiver or frame.
    #[error("{0}")]
    Full(&'static str),
    /// Feedback that is not believed. It is counted.
    #[error("{0}")]
    Refused(#[from] Refusal),
}

/// The reason why feedback is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text())]
#[non_exhaustive]
pub enum Refusal {
    /// Too few or too many bytes.
    Length,
    /// An unknown version, or flags unknown in it.
    Version,
    /// It names a receiver that has not joined.
    Receiver,
    /// Its tag does not belong to the key of its receiver.
    Forged,
    /// It is not newer than the last.
    Old,
    /// Values that no receiver measures.
    Impossible,
    /// It tells of more packets than were noted by `sent`.
    Unsent,
}

impl Refusal {
    /// The sentence of the refusal.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Length => "feedback has 64 bytes",
            Self::Version => "the feedback has an unknown version or unknown flags",
            Self::Receiver => "the feedback names a receiver that has not joined this sender",
            Self::Forged => "the feedback was not made with the key of its receiver",
            Self::Old => "the feedback is not newer than the last: delayed or replayed",
            Self::Impossible => "the feedback has impossible values",
            Self::Unsent => "the feedback tells of more packets than were sent",
        }
    }
}

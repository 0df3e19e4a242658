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
#[non_exhaustive]
pub enum Refusal {
    /// Too few or too many bytes.
    #[error("feedback has 58 bytes")]
    Length,
    /// An unknown version, or flags unknown in it.
    #[error("the feedback has an unknown version or unknown flags")]
    Version,
    /// It names a receiver that has not joined.
    #[error("the feedback names a receiver that has not joined this sender")]
    Receiver,
    /// Its tag does not belong to the key of its receiver.
    #[error("the feedback was not made with the key of its receiver")]
    Forged,
    /// It is not newer than the last.
    #[error("the feedback is not newer than the last: delayed or replayed")]
    Old,
    /// Values that no receiver measures.
    #[error("the feedback has impossible values")]
    Impossible,
    /// It tells of more packets than were noted by `sent`.
    #[error("the feedback tells of more packets than were sent")]
    Unsent,
}

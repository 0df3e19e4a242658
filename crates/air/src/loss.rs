//! Control frames that are lost on their own, while the data before or after them arrives.

/// The loss of control frames of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// By the error curve of their rate and size, at the signal-to-noise ratio of the link.
    Signal,
    /// With this probability, 0 to 1, independent of the link and of each other.
    Share(f64),
}

/// Losses of control frames. By default none is lost on its own: a lost response counts as lost data, RTS and CTS always arrive.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Losses {
    /// Of Ack and BlockAck.
    pub answers: Option<Loss>,
    /// Of RTS, and of CTS.
    pub protection: Option<Loss>,
}

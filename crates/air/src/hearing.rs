//! Reception among transmitters: who hears whom.

use crate::channel::TxId;

/// For each transmitter the others that it hears: it senses their frames, decodes them if nothing overlaps them, and cannot receive
/// anything else meanwhile. It need not be symmetric.
///
/// ```
/// use airbound_air::channel::TxId;
/// use airbound_air::hearing::Hearing;
///
/// let mut hearing = Hearing::complete(3);
/// hearing.set(TxId(1), TxId(2), false);
/// assert!(!hearing.hears(TxId(1), TxId(2)) && hearing.hears(TxId(2), TxId(1)));
/// assert!(!hearing.is_complete());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hearing {
    transmitters: usize,
    /// By listener, then by sender.
    heard: Vec<bool>,
}

impl Hearing {
    /// All of `transmitters` hear each other.
    #[must_use]
    pub fn complete(transmitters: usize) -> Self {
        Self { transmitters, heard: vec![true; transmitters * transmitters] }
    }

    fn place(&self, listener: TxId, sender: TxId) -> Option<usize> {
        let (listener, sender) = (usize::from(listener.0), usize::from(sender.0));
        (listener < self.transmitters && sender < self.transmitters)
            .then_some(listener * self.transmitters + sender)
    }

    /// Sets whether `listener` hears `sender`; unknown transmitters are ignored.
    pub fn set(&mut self, listener: TxId, sender: TxId, hears: bool) {
        if let Some(place) = self.place(listener, sender) {
            self.heard[place] = hears;
        }
    }

    /// Whether `listener` hears `sender`. None hears itself; unknown ones hear all others and are heard by them.
    #[must_use]
    pub fn hears(&self, listener: TxId, sender: TxId) -> bool {
        listener != sender && self.place(listener, sender).is_none_or(|place| self.heard[place])
    }

    /// Whether all hear each other.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let all = || (0..self.transmitters as u16).map(TxId);
        all().all(|listener| all().all(|sender| listener == sender || self.hears(listener, sender)))
    }
}

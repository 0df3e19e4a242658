//! Capture: levels of all transmitters at all receivers, and the margins with which a stronger frame survives others.

use crate::channel::TxId;

/// The level of each transmitter at each receiver.
///
/// ```
/// use airbound_air::capture::Levels;
/// use airbound_air::channel::TxId;
/// use airbound_units::Dbm;
///
/// let mut levels = Levels::silent(2);
/// levels.set(TxId(0), TxId(1), Dbm::new(-30.0));
/// assert!((levels.at(TxId(0), TxId(1)) - 1e-3).abs() < 1e-9);
/// assert!(levels.at(TxId(1), TxId(0)) == 0.0 && levels.at(TxId(7), TxId(0)) == 0.0);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Levels {
    transmitters: usize,
    /// In milliwatts, by sender, then by receiver: the receivers of a frame are asked one after the other.
    milliwatts: Vec<f64>,
}

impl Levels {
    /// None of `transmitters` is received by any other.
    #[must_use]
    pub fn silent(transmitters: usize) -> Self {
        Self { transmitters, milliwatts: vec![0.0; transmitters * transmitters] }
    }

    fn place(&self, receiver: TxId, sender: TxId) -> Option<usize> {
        let (receiver, sender) = (usize::from(receiver.0), usize::from(sender.0));
        (receiver < self.transmitters && sender < self.transmitters)
            .then_some(sender * self.transmitters + receiver)
    }

    /// Sets the level of `sender` at `receiver`; unknown transmitters are ignored.
    pub fn set(&mut self, receiver: TxId, sender: TxId, level: airbound_units::Dbm) {
        if let Some(place) = self.place(receiver, sender) {
            self.milliwatts[place] = libm::pow(10.0, level.value() / 10.0);
        }
    }

    /// The level of `sender` at `receiver` in milliwatts; 0 if there is none.
    #[inline]
    #[must_use]
    pub fn at(&self, receiver: TxId, sender: TxId) -> f64 {
        self.place(receiver, sender).map_or(0.0, |place| self.milliwatts[place])
    }
}

/// Rules by which receivers treat overlapping frames.
#[derive(Debug, Clone, PartialEq)]
pub struct Capture {
    /// Levels at the receivers.
    pub levels: Levels,
    /// Ratio, linear, of a preamble to the sum of all other signals above which it is detected.
    pub preamble: f64,
    /// Ratio, linear, above which a later frame takes over the receiver of an earlier one, while that is not older than 16 us; `None` if
    /// it never does.
    pub takeover: Option<f64>,
}

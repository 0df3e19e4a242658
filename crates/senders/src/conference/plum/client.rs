//! The client's end: it follows the server's notices.

use airbound_units::BitRate;

use super::notice::{Notice, newer};
use super::state::RateGate;

/// Bitrate state control of one client.
#[derive(Debug, Clone, Copy, Default)]
pub struct PlumClient {
    gate: RateGate,
    last: u32,
}

impl PlumClient {
    /// Creates a client in the natural state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a notice while the encoder runs at `present`; returns the sequence number to acknowledge. A notice that is not newer
    /// than the last has no effect.
    pub fn on_notice(&mut self, notice: Notice, present: BitRate) -> u32 {
        if newer(notice.sequence, self.last) {
            self.last = notice.sequence;
            self.gate.set((!notice.rate.is_zero()).then_some(notice.rate), present);
        }
        notice.sequence
    }

    /// The rate at which the encoder is held; `None` while it follows its congestion control.
    #[must_use]
    pub const fn limit(&self) -> Option<BitRate> {
        self.gate.limit()
    }

    /// The rate at which to resume, returned once after the client was released.
    pub fn take_restored(&mut self) -> Option<BitRate> {
        self.gate.take_restored()
    }
}

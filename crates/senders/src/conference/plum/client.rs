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
    /// A client in the natural state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A notice arrived while the encoder runs at `present`; returns the sequence number to acknowledge. A notice that is not newer
    /// than the last changes nothing.
    pub fn on_notice(&mut self, notice: Notice, present: BitRate) -> u32 {
        if newer(notice.sequence, self.last) {
            self.last = notice.sequence;
            self.gate.set((!notice.rate.is_zero()).then_some(notice.rate), present);
        }
        notice.sequence
    }

    /// The rate that the encoder is held at; `None` while it follows its congestion control.
    #[must_use]
    pub const fn limit(&self) -> Option<BitRate> {
        self.gate.limit()
    }

    /// The rate to begin at again, once after the client was let go.
    pub fn take_restored(&mut self) -> Option<BitRate> {
        self.gate.take_restored()
    }
}

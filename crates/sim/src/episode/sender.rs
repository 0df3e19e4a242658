//! The sender of an episode: TCP at the decided pacing rate, without a congestion window.

use airbound_senders::congestion::{AckEvent, CongestionControl, Window};
use airbound_units::{BitRate, Instant};

use super::decision::Settings;

/// The congestion control of one connection; the receive window bounds the data in flight.
#[derive(Debug)]
pub(super) struct Paced {
    pub(super) settings: Settings,
    pub(super) index: usize,
}

impl CongestionControl for Paced {
    fn on_ack(&mut self, window: &mut Window, _ack: &AckEvent) {
        window.cwnd = u32::MAX;
    }

    fn on_loss(&mut self, _now: Instant, _window: &Window) -> u32 {
        u32::MAX
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        Some(BitRate::from_bps(self.settings.get(self.index)))
    }
}

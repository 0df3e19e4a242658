//! Google congestion control as a rule for the rate.

use airbound_units::{BitRate, ConfigError, Instant};

use super::{Key, MediaRate, Pacing, PathState, RateBounds};
pub(super) use crate::rtp::gcc::GccConfig as Config;
use crate::rtp::gcc::{Gcc, GccConfig, PacketSent, ProbeCluster, TransportFeedback};

/// The keys of its configuration.
pub(super) const KEYS: &[Key] = &[
    ("pacing-factor", "2.5; 1–10", "over target"),
    ("pacing-burst", "`\"40 ms\"`; 0–1 s", "sent at once, in time at the pacer's rate"),
    ("probing", "true", ""),
    ("alr-probe-interval", "`\"5 s\"`; 1 s–1 min", "of an application-limited source"),
    ("loss-based", "**`model`** `ranges` `off`", "answer to loss (libwebrtc, draft)"),
];

/// Builds it within the rates of a flow or a session.
pub(super) fn build(config: &GccConfig, bounds: &RateBounds) -> Result<Gcc, ConfigError> {
    let RateBounds { start: start_rate, least: min_rate, most: max_rate, .. } = *bounds;
    Gcc::new(GccConfig { start_rate, min_rate, max_rate, ..*config })
}

impl MediaRate for Gcc {
    fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        self.on_sent(now, packet);
    }
    fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) {
        self.on_feedback(now, feedback);
    }
    fn target(&self) -> BitRate {
        self.target_rate()
    }
    fn pacing(&self) -> Pacing {
        self.pacing()
    }
    fn next_probe(&mut self, now: Instant) -> Option<ProbeCluster> {
        self.next_probe(now)
    }
    fn deadline(&self) -> Option<Instant> {
        self.next_deadline()
    }
    fn on_deadline(&mut self, now: Instant) {
        self.on_deadline(now);
    }
    fn path(&self) -> PathState {
        PathState { round_trip: self.round_trip(), loss_fraction: self.loss_fraction(), usage: self.usage() }
    }
}

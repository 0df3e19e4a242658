//! `WiVRn`: a constant bitrate, each frame in one burst.
//!
//! `WiVRn/WiVRn` b52ab171 (8 Aug 2026): the headset sends the bitrate that its user set, 50 Mb/s by default (`client/configuration.h`,
//! `bitrate_bps`), and the server hands it to the encoders (`server/driver/wivrn_session.cpp`, `to_monado::set_bitrate`); nothing adapts it (its
//! issue 540 asks for that), and nothing paces the packets (its issue 626).

use airbound_units::{BitRate, ConfigError, Span};

pub(super) use super::fixed::{Config, KEYS};
use super::{MediaRate, Pacing, RateBounds, UNPACED};

/// A constant rate of coded video.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wivrn(BitRate);

/// Builds it for the highest rate of an encoder.
#[expect(clippy::unnecessary_wraps, reason = "the signature of each rule")]
pub(super) const fn build(_: &Config, bounds: &RateBounds) -> Result<Wivrn, ConfigError> {
    Ok(Wivrn(bounds.media))
}

impl MediaRate for Wivrn {
    fn target(&self) -> BitRate {
        self.0
    }
    fn pacing(&self) -> Pacing {
        UNPACED.max(self.0).into()
    }
    fn report_interval(&self) -> Option<Span> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_steps_nor_paces() {
        let mbps = BitRate::from_mbps;
        let bounds = RateBounds { start: mbps(10), least: mbps(1), most: mbps(75), media: mbps(50) };
        let rule = build(&Config {}, &bounds).expect("valid");
        assert_eq!((rule.target(), rule.report_interval()), (mbps(50), None));
        // A frame of 90 a second in less than a tenth of its interval.
        assert!(rule.pacing().rate > mbps(500));
    }
}

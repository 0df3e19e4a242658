//! A constant rate, without congestion control.

use airbound_units::{BitRate, ConfigError, Span};
use serde::{Deserialize, Serialize};

use super::{Key, MediaRate, RateBounds};

/// The configuration, which has no keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {}

pub(super) const KEYS: &[Key] = &[];

/// A constant rate of coded video.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fixed(BitRate);

/// Builds it for the highest rate of an encoder.
#[expect(clippy::unnecessary_wraps, reason = "the signature of each rule")]
pub(super) const fn build(_: &Config, bounds: &RateBounds) -> Result<Fixed, ConfigError> {
    Ok(Fixed(bounds.media))
}

impl MediaRate for Fixed {
    fn target(&self) -> BitRate {
        self.0
    }
    fn report_interval(&self) -> Option<Span> {
        None
    }
}

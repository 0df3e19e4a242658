//! A constant rate, without congestion control.

use airbound_units::BitRate;
use serde::{Deserialize, Serialize};

use super::MediaRate;

/// The configuration of [`Fixed`], which has no keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedConfig {}

/// A constant rate of coded video.
#[derive(Debug, Clone, Copy)]
pub struct Fixed(BitRate);

impl Fixed {
    /// A rule that sends coded video at `rate`.
    #[must_use]
    pub const fn new(rate: BitRate) -> Self {
        Self(rate)
    }
}

impl MediaRate for Fixed {
    fn target(&self) -> BitRate {
        self.0
    }
    fn takes_reports(&self) -> bool {
        false
    }
}

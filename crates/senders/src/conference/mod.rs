//! Bitrates of a multi-user video session over a forwarding server: Plum and the schemes that it is compared with.
//!
//! Every client sends its video to a server, which forwards it to all others, transcoded to lower rates where capacity is short. The
//! slot `session` of a scheme determines all rates, above the congestion control of each stream.

pub mod camera;
pub mod last_n;
pub mod optimum;
pub mod plum;
pub mod problem;
pub mod qoe;
pub mod room;
pub mod tack;
pub mod utility;

use serde::{Deserialize, Serialize};

pub use camera::Camera;
pub use last_n::{LastN, LastNConfig};
pub use optimum::{Allocation, Certificate};
pub use plum::{ClientId, PlumClient, PlumConfig, PlumServer};
pub use problem::{Problem, ProblemError, Share, User};
pub use qoe::Qoe;
pub use room::{Room, RoomConfig, RoomPolicy};
pub use tack::TackConfig;
pub use utility::Welfare;

use airbound_units::ConfigError;

/// Configuration of the slot `session`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ConferenceConfig {
    /// Independent streams ("Vanilla").
    #[default]
    Plain,
    /// Only the latest speakers are forwarded.
    LastN(LastNConfig),
    /// Fewer acknowledgements.
    Tack(TackConfig),
    /// Coordinated bitrates.
    Plum(PlumConfig),
    /// A room: discrete layers, estimates that may be lower bounds, dwell times.
    Room(RoomConfig),
}

impl ConferenceConfig {
    /// Checks every value.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Plain => Ok(()),
            Self::LastN(config) => config.check(),
            Self::Tack(config) => config.check(),
            Self::Plum(config) => config.check(),
            Self::Room(config) => config.check(),
        }
    }
}

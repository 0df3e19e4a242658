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

/// Makes [`ConferenceConfig`] from the table of policies below.
macro_rules! sessions {
    ($($meaning:literal $name:literal: $kind:ident $(($config:ty))?;)*) => {
        /// Configuration of the slot `session`.
        #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        pub enum ConferenceConfig {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning, ".")]
                #[serde(rename = $name)]
                $kind $(($config))?,
            )*
        }

        impl ConferenceConfig {
            /// All policies: the name in a scenario, and its meaning in a line.
            pub const KINDS: &[(&str, &str)] = &[$(($name, $meaning)),*];

            /// Checks every value.
            ///
            /// # Errors
            /// The first value out of range.
            pub fn check(&self) -> Result<(), ConfigError> {
                match self {
                    $($(Self::$kind(config) => <$config>::check(config),)?)*
                    _ => Ok(()),
                }
            }
        }
    };
}

// A new policy is a line here: its meaning, its name in scenario files, and its variant with its configuration, if it has any.
sessions! {
    "every stream for itself" "plain": Plain;
    "only the latest speakers are forwarded" "last-n": LastN(LastNConfig);
    "fewer acknowledgements" "tack": Tack(TackConfig);
    "coordinated bitrates" "plum": Plum(PlumConfig);
    "scalable layers, estimates that may be lower bounds, dwell times" "room": Room(RoomConfig);
}

#[expect(clippy::derivable_impls, reason = "the table of kinds makes the enum")]
impl Default for ConferenceConfig {
    fn default() -> Self {
        Self::Plain
    }
}

//! The scenarios and traces built into the program.

use super::error::ScenarioError;
use super::{Overrides, Scenario};

/// Prefix of the name of a shipped trace.
pub(super) const PREFIX: &str = "shipped:";

/// A built-in scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Name on the command line.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! scenarios {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
        }),*]
    };
}

/// The scenarios in the order of listing: the demonstration first.
const SCENARIOS: &[Shipped] = scenarios![
    "vr-congested",
    "hello",
    "vr-alone",
    "vr-multi-flow",
    "vr-multi-client",
    "edca-all-in-vi",
    "vr-mixed-demands",
    "trace-vr",
    "trace-pipe",
    "trace-snr",
    "home-evening",
    "evening",
    "my-flat",
    "call-backup",
    "bedroom-tv",
    "two-neighbours",
    "mesh-game",
    "class-of-thirty",
    "phone-scan",
    "mixed-home",
    "walking",
    "office",
    "vr-room",
    "remote-desktop",
    "uplink-video",
    "cloud-gaming",
    "game-stream",
    "dense",
    "twenty-networks",
    "dense-floor",
    "cloudlet",
    "multi-hop",
    "parking-lot",
    "wqm-one-hop",
    "vht-saturated-n1",
    "vht-saturated-n5",
    "vht-saturated-n20",
    "lab-hello",
    "lab-vr",
    "lab-legacy",
    "lab-weak",
];

macro_rules! traces {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../scenarios/traces/", $name)))),*]
    };
}

/// The traces, of which `crates/sim/tests/trace_shipped.rs` has the formulas, and a recording for flows of kind `replay`.
const TRACES: &[(&str, &str)] =
    traces!["crowded-room.log", "swinging-pipe.mahi", "corridor.csv", "browser-camera.csv"];

/// All shipped scenarios, the demonstration first.
#[must_use]
pub const fn shipped() -> &'static [Shipped] {
    SCENARIOS
}

impl Shipped {
    /// The title of the scenario: one line.
    #[must_use]
    pub fn title(&self) -> &'static str {
        // Every shipped scenario begins with its title, which a test checks.
        let line = self.text.lines().find_map(|line| line.strip_prefix("title = \""));
        line.and_then(|line| line.strip_suffix('"')).unwrap_or_default()
    }

    /// Reads the scenario.
    ///
    /// # Errors
    /// An override is wrong.
    pub fn load(&self, overrides: &Overrides) -> Result<Scenario, ScenarioError> {
        Scenario::read(self.text, &format!("{PREFIX}{}", self.name), None, overrides)
    }
}

/// The shipped scenario with this name.
///
/// # Errors
/// There is none.
pub fn find(name: &str) -> Result<&'static Shipped, ScenarioError> {
    let names = || SCENARIOS.iter().map(|scenario| scenario.name);
    SCENARIOS.iter().find(|scenario| scenario.name == name).ok_or_else(|| ScenarioError::NotShipped {
        name: super::node::shortened(name),
        hint: match super::section::nearest(name, names()) {
            Some(near) => format!("did you mean {near}? `airbound list` names all"),
            // What `airbound init -` prints.
            None if name == "-" => {
                "a scenario is not read from standard input; write it to a file and name that".to_owned()
            }
            None => format!("shipped are {}", names().collect::<Vec<_>>().join(", ")),
        },
    })
}

/// The text of the shipped trace with this file name.
pub(super) fn trace(name: &str) -> Option<&'static str> {
    TRACES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

pub(super) fn trace_names() -> impl Iterator<Item = &'static str> {
    TRACES.iter().map(|(name, _)| *name)
}

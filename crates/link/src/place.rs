//! Places with a name.

use airbound_scenario::{ScenarioError, find_shipped, reading::nearest, reading::shortened};

use crate::error::LinkError;

/// A place with a network in it, and the station there whose packets a link carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its name.
    pub name: &'static str,
    /// Its description in one line.
    pub about: &'static str,
    /// The station at the end of the link.
    pub station: &'static str,
    /// Flows of the scenario that the caller's packets replace.
    pub(crate) replaces: &'static [&'static str],
    scenario: Source,
}

/// Whence the scenario of a place comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A shipped scenario.
    Shipped(&'static str),
    /// A text of this crate.
    Own(&'static str),
}

macro_rules! own {
    ($name:literal) => {
        Source::Own(include_str!(concat!("../places/", $name, ".toml")))
    };
}

const PLACES: &[Place] = &[
    Place {
        name: "home-quiet",
        about: "a call beside a film, near an 802.11ac access point, nobody else on the channel",
        station: "laptop",
        replaces: &[],
        scenario: own!("home-quiet"),
    },
    Place {
        name: "home-evening",
        about: "a family's films, game, web and backup, a neighbour and a microwave oven",
        station: "laptop",
        replaces: &["call", "call-back"],
        scenario: Source::Shipped("home-evening"),
    },
    Place {
        name: "my-flat",
        about: "a phone beside a download, a film and a cloud game, a neighbour on the channel",
        station: "phone",
        replaces: &["call", "call-back"],
        scenario: Source::Shipped("my-flat"),
    },
    Place {
        name: "walking",
        about: "a headset that walks from 2 m to 22 m and back in 40 s, beside a download",
        station: "headset",
        replaces: &["vr"],
        scenario: Source::Shipped("walking"),
    },
    Place {
        name: "mesh-hop",
        about: "a console behind a mesh point that sends everything again on the same channel",
        station: "console",
        replaces: &["game"],
        scenario: Source::Shipped("mesh-game"),
    },
    Place {
        name: "phone-asleep",
        about: "a phone that sleeps 200 ms after its last packet and wakes at each third beacon",
        station: "phone",
        replaces: &[],
        scenario: own!("phone-asleep"),
    },
    Place {
        name: "microwave",
        about: "802.11n at 2.4 GHz, where an oven raises the noise by 20 dB half of the time",
        station: "phone",
        replaces: &[],
        scenario: own!("microwave"),
    },
    Place {
        name: "crowded-office",
        about: "ten desks at 20 MHz behind a wall, people who walk about, networks of neighbours",
        station: "desk-1",
        replaces: &[],
        scenario: own!("crowded-office"),
    },
    Place {
        name: "hotel",
        about: "far from the access point, on a line of 30 Mbit/s with a queue of 500 packets",
        station: "laptop",
        replaces: &[],
        scenario: own!("hotel"),
    },
    Place {
        name: "headset-beside-downloads",
        about: "a headset on an 802.11n access point beside three laptops that download",
        station: "headset",
        replaces: &["vr", "poses"],
        scenario: Source::Shipped("vr-congested"),
    },
];

/// All places.
#[must_use]
pub const fn places() -> &'static [Place] {
    PLACES
}

impl Place {
    /// The place with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Self, LinkError> {
        let names = || PLACES.iter().map(|place| place.name);
        PLACES.iter().find(|place| place.name == name).copied().ok_or_else(|| LinkError::UnknownPlace {
            name: shortened(name),
            hint: match nearest(name, names()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("places are {}", names().collect::<Vec<_>>().join(", ")),
            },
        })
    }

    /// The name of its scenario: that of `airbound run`, or its own.
    #[must_use]
    pub const fn scenario(&self) -> &'static str {
        match self.scenario {
            Source::Shipped(name) => name,
            Source::Own(_) => self.name,
        }
    }

    /// The text of its scenario.
    pub(crate) fn text(&self) -> Result<&'static str, ScenarioError> {
        match self.scenario {
            Source::Shipped(name) => find_shipped(name).map(|shipped| shipped.text),
            Source::Own(text) => Ok(text),
        }
    }
}

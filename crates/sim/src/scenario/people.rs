//! `blockage` and `activity` of a channel: people who step into a path, and how much they are about.

use airbound_units::{Decibel, Span};
use serde::Serialize;

use super::error::ScenarioError;
use super::section::Section;

/// When something comes, and how long it stays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Coming {
    /// Mean length, from the first effect to the last.
    pub length: Span,
    /// Standard deviation of the natural logarithm of the length (log-normal); 0: all are alike.
    pub length_spread: f64,
    /// Mean time from one beginning to the next (exponential, whether or not the last has gone).
    pub pause: Span,
    /// How long it takes to come to its full effect, and again to leave.
    pub ramp: Span,
}

/// People who step into the path between two ends that do not move.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Blockage {
    /// When somebody comes, while the room is busy.
    #[serde(flatten)]
    pub coming: Coming,
    /// Mean loss that a body brings.
    pub depth: Decibel,
    /// Standard deviation of that loss between bodies (normal in dB, never below 0).
    pub depth_spread: Decibel,
}

/// Busy and quiet spells of a room.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Activity {
    /// When busy spells come.
    #[serde(flatten)]
    pub coming: Coming,
    /// What is left in between of the shadowing and of the number of people who pass, 0 to 1.
    pub quiet_level: f64,
}

const COMING_KEYS: &[&str] = &["length", "length-spread", "pause", "ramp"];
/// The most kinds of blockage of a channel.
const MOST: usize = 10;
/// The most that may be there at once in the mean, so that an instant is found out quickly.
const CROWD: u64 = 10;

impl Coming {
    fn read(section: &Section<'_>, defaults: Self) -> Result<Self, ScenarioError> {
        let lengths = Span::from_millis(1)..=Span::from_secs(86_400);
        let coming = Self {
            length: section.ranged("length", defaults.length, lengths.clone())?,
            length_spread: section.number("length-spread", defaults.length_spread, 0.0..=1.0)?,
            pause: section.ranged("pause", defaults.pause, lengths)?,
            ramp: section.ranged("ramp", defaults.ramp, Span::ZERO..=Span::from_secs(3600))?,
        };
        if coming.pause * CROWD < coming.length {
            let problem = format!(
                "is {} with a length of {}: more than {CROWD} would be there at once; allowed is a tenth of the length or more",
                coming.pause, coming.length
            );
            return Err(section.wrong("pause", problem));
        }
        Ok(coming)
    }
}

impl Blockage {
    /// Somebody who crosses the path at 1.2 m/s.
    const CROSSING: Coming = Coming {
        length: Span::from_millis(1000),
        length_spread: 0.5,
        pause: Span::from_secs(10),
        ramp: Span::from_millis(300),
    };

    /// All kinds of blockage of a channel.
    pub(super) fn read_all(channel: &Section<'_>) -> Result<Vec<Self>, ScenarioError> {
        let kinds: Vec<Self> =
            channel.tables("blockage")?.iter().map(Self::read).collect::<Result<_, _>>()?;
        if kinds.len() > MOST {
            return Err(channel.wrong("blockage", format!("has {} kinds; allowed are {MOST}", kinds.len())));
        }
        Ok(kinds)
    }

    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        section.allow("a blockage", &[COMING_KEYS, &["depth", "depth-spread"]])?;
        let losses = Decibel::new(0.0)..=Decibel::new(60.0);
        Ok(Self {
            coming: Coming::read(section, Self::CROSSING)?,
            depth: section.ranged("depth", Decibel::new(6.0), losses.clone())?,
            depth_spread: section.ranged("depth-spread", Decibel::new(3.0), losses)?,
        })
    }
}

impl Activity {
    /// Spells of a minute every three.
    const SPELLS: Coming = Coming {
        length: Span::from_secs(60),
        length_spread: 0.5,
        pause: Span::from_secs(180),
        ramp: Span::from_secs(5),
    };

    /// The activity of a channel that has one.
    pub(super) fn read(channel: &Section<'_>) -> Result<Option<Self>, ScenarioError> {
        if !channel.has("activity") {
            return Ok(None);
        }
        let section = channel.table("activity")?;
        section.allow("an activity", &[COMING_KEYS, &["quiet-level"]])?;
        Ok(Some(Self {
            coming: Coming::read(&section, Self::SPELLS)?,
            quiet_level: section.number("quiet-level", 0.25, 0.0..=1.0)?,
        }))
    }
}

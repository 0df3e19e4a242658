//! `blockage` and `activity` of a channel: people who cross a path, and the periods in which they are active.

use airbound_air::propagation::{Activity, Blockage, Coming};
use airbound_units::{Decibel, Span};

use super::error::ScenarioError;
use super::section::{FromSection, Section};

const COMING_KEYS: &[&str] = &["length", "length-spread", "pause", "ramp"];
/// Upper limit on kinds of blockage of a channel.
const MOST: usize = 10;
/// Upper limit on the mean number present at once, so that the state at an instant is found quickly.
const CROWD: u64 = 10;

fn read_coming(section: &Section<'_>, defaults: Coming) -> Result<Coming, ScenarioError> {
    let lengths = Span::from_millis(1)..=Span::from_secs(86_400);
    let coming = Coming {
        length: section.ranged("length", defaults.length, lengths.clone())?,
        length_spread: section.number("length-spread", defaults.length_spread, 0.0..=1.0)?,
        pause: section.ranged("pause", defaults.pause, lengths)?,
        ramp: section.ranged("ramp", defaults.ramp, Span::ZERO..=Span::from_secs(3600))?,
    };
    if coming.pause * CROWD < coming.length {
        let problem = format!(
            "is {} with a length of {}: more than {CROWD} people would be present at once; allowed is a tenth of the length or more",
            coming.pause, coming.length
        );
        return Err(section.wrong("pause", problem));
    }
    Ok(coming)
}

/// A person who crosses the path at 1.2 m/s.
const CROSSING: Coming = Coming {
    length: Span::from_millis(1000),
    length_spread: 0.5,
    pause: Span::from_secs(10),
    ramp: Span::from_millis(300),
};

/// All kinds of blockage of a channel.
pub(super) fn read_blockage(channel: &Section<'_>) -> Result<Vec<Blockage>, ScenarioError> {
    let kinds: Vec<Blockage> =
        channel.tables("blockage")?.iter().map(Blockage::read).collect::<Result<_, _>>()?;
    if kinds.len() > MOST {
        return Err(channel.wrong("blockage", format!("has {} kinds; allowed are {MOST}", kinds.len())));
    }
    Ok(kinds)
}

impl FromSection for Blockage {
    fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        section.allow("a blockage", &[COMING_KEYS, &["depth", "depth-spread"]])?;
        let losses = Decibel::new(0.0)..=Decibel::new(60.0);
        Ok(Self {
            coming: read_coming(section, CROSSING)?,
            depth: section.ranged("depth", Decibel::new(6.0), losses.clone())?,
            depth_spread: section.ranged("depth-spread", Decibel::new(3.0), losses)?,
        })
    }
}

/// Active periods of a minute every three.
const SPELLS: Coming = Coming {
    length: Span::from_secs(60),
    length_spread: 0.5,
    pause: Span::from_secs(180),
    ramp: Span::from_secs(5),
};

/// The activity of a channel, if it has one.
pub(super) fn read_activity(channel: &Section<'_>) -> Result<Option<Activity>, ScenarioError> {
    if !channel.has("activity") {
        return Ok(None);
    }
    let section = channel.table("activity")?;
    section.allow("an activity", &[COMING_KEYS, &["quiet-level"]])?;
    Ok(Some(Activity {
        coming: read_coming(&section, SPELLS)?,
        quiet_level: section.number("quiet-level", 0.25, 0.0..=1.0)?,
    }))
}

//! The channels of the ground, and its runs.

use airbound_runs::experiment::{self, Runs};
use airbound_runs::{Opened, RunsError};
use airbound_scenario::{Overrides, Scenario, find_shipped};
use airbound_sim::Run;
use airbound_units::{Instant, Span};

use super::lines::{Figures, STREAM_TARGET};
use crate::papers::aggregates::AggregateWatch;

/// The shipped scenario.
const NAME: &str = "evening";
/// Between two looks at the level that is asked for.
const LOOK: Span = Span::from_millis(500);
/// Packets of the FIFO that downloads are measured against: all that mac80211 queues (`fq->limit`).
const DEEP: &str = r#"{ kind = "fifo", limit = { packets = 8192 } }"#;
/// Lengths of a quick judgement.
const QUICK: [(&str, &str); 2] = [("duration", "4 s"), ("warm-up", "2 s")];

/// Fading of what is held in a hand.
const HAND: &str = r#"{ kind = "rician", k = "10 dB", speed = "0.2 m/s" }"#;
/// The wearer of the headset walks about the room.
const WALK: &str = r#"{ kind = "log-distance", walk = { from = "2 m", to = "5 m", speed = "0.7 m/s", return = true }, fading = { kind = "rician", k = "10 dB" } }"#;
/// The neighbour of home-evening, with less load: its access point and a station.
const NEIGHBOUR: &str = r#"[{ name = "next-door", transmitters = 2, load = "2 Mbit/s", rate = "HT20 MCS4 1SS LGI", ampdu-mpdus = 8 }]"#;

/// A channel: changes to the shipped scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its meaning, as words.
    pub meaning: &'static str,
    /// Keys of the scenario with their values.
    pub changes: &'static [(&'static str, &'static str)],
}

impl Channel {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self { name: "static", meaning: "nothing moves, nobody else is on the channel", changes: &[] },
        Self {
            name: "walk",
            meaning: "the headset walks from 2 to 5 m and back, what is held in hands fades",
            changes: &[
                ("station.headset.channel", WALK),
                ("station.laptop.channel.fading", HAND),
                ("station.tablet.channel.fading", HAND),
                ("station.phone.channel.fading", HAND),
            ],
        },
        Self {
            name: "neighbour",
            meaning: "two transmitters of a neighbour's older network",
            changes: &[("neighbour", NEIGHBOUR)],
        },
    ];

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|channel| channel.name == name)
    }
}

/// Scheme or reference that plays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Play {
    /// A scheme by its full name.
    Scheme(String),
    /// A FIFO of all packets that mac80211 queues.
    DeepFifo,
    /// The call, with nobody else at home.
    CallAlone,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) channel: Channel,
    pub(super) play: Play,
    pub(super) seed: u64,
}

/// Runs with their figures.
pub(super) type Made = Runs<Key, Figures>;

/// The name of a scheme with its session policy, which is `plain` unless it names one.
///
/// # Errors
/// The name stands for nothing.
pub(super) fn full_name(scheme: &str) -> Result<String, RunsError> {
    let opened = opened(&Channel::ALL[0], false)?;
    let plain = format!("{scheme}+plain");
    // Refused where the scheme has a policy already.
    if opened.scheme(Some(&plain)).is_ok() {
        return Ok(plain);
    }
    opened.schemes(&[scheme]).map(|_| scheme.to_owned())
}

/// The scenario on a channel.
pub(super) fn opened(channel: &Channel, is_quick: bool) -> Result<Opened, RunsError> {
    let text = find_shipped(NAME).map_or("", |shipped| shipped.text);
    read(text, channel, &[], is_quick)
}

fn read(text: &str, channel: &Channel, more: &[(&str, &str)], is_quick: bool) -> Result<Opened, RunsError> {
    let quick: &[(&str, &str)] = if is_quick { &QUICK } else { &[] };
    let pairs: Vec<(&str, &str)> = channel.changes.iter().chain(more).chain(quick).copied().collect();
    Ok(Opened::of(NAME, Scenario::parse(text, NAME, &Overrides::from_pairs(&pairs))?))
}

/// The scenario of which all flows but the call are taken away.
fn call_alone(channel: &Channel, is_quick: bool) -> Result<Opened, RunsError> {
    let text = find_shipped(NAME).map_or("", |shipped| shipped.text);
    let defect = |error: &dyn std::fmt::Display| RunsError::Defect(format!("the shipped {NAME}: {error}"));
    let mut table: toml::Table = text.parse().map_err(|error: toml::de::Error| defect(&error))?;
    for key in ["session", "scheme", "schemes"] {
        table.remove(key);
    }
    table.insert("focus".to_owned(), "call".into());
    if let Some(flows) = table.get_mut("flow").and_then(toml::Value::as_array_mut) {
        flows.retain(|flow| flow.get("name").and_then(toml::Value::as_str) == Some("call"));
    }
    read(&table.to_string(), channel, &[], is_quick)
}

/// Makes a run.
pub(super) fn make(key: &Key, is_quick: bool) -> Result<Figures, RunsError> {
    let (opened, scheme) = match &key.play {
        Play::Scheme(name) => (opened(&key.channel, is_quick)?, Some(name.clone())),
        Play::DeepFifo => {
            let text = find_shipped(NAME).map_or("", |shipped| shipped.text);
            (read(text, &key.channel, &[("scheme.queue", DEEP)], is_quick)?, Some("fifo+plain".to_owned()))
        }
        Play::CallAlone => (call_alone(&key.channel, is_quick)?, None),
    };
    let named = opened.scheme(scheme.as_deref())?;
    let mut run = Run::new(&opened.name, &opened.scenario, &named.scheme, key.seed)?;
    let tablet = run.info().transmitters.iter().position(|name| name == "tablet").unwrap_or_default() as u16;
    let from = Instant::ZERO + opened.scenario.warm_up;
    run.observe(Box::new(AggregateWatch::new(from, None)));
    let (mut asked, mut looks, mut now) = (0.0, 0.0, Instant::ZERO);
    while run.advance(LOOK) {
        now += LOOK;
        if now < from {
            continue;
        }
        let own = run.snapshot().allocations.into_iter().find(|one| one.receiver.0 == tablet);
        asked += own.map_or(STREAM_TARGET, |own| own.target);
        looks += 1.0;
    }
    let (outcome, watch): (_, AggregateWatch) = experiment::end(run)?;
    let levels = watch.seen.sent.iter().filter(|one| one.station == tablet).map(|one| f64::from(one.mpdus));
    let (sum, frames) = levels.fold((0.0, 0.0), |(sum, frames), level| (sum + level, frames + 1.0));
    let level = if frames > 0.0 { sum / frames } else { 0.0 };
    let target = if looks > 0.0 { asked / looks } else { STREAM_TARGET };
    Ok(Figures::of(&outcome.summary, level, target))
}

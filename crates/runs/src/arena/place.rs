//! The places of an arena: one scenario under changes, or scenarios of one's own.

use airbound_scenario::{Overrides, Scenario, Traffic, find_shipped};

use crate::error::RunsError;
use crate::opened::Opened;

/// The scenario whose stream the shipped places carry.
const STREAM: &str = "game-stream";

/// Changes to [`STREAM`].
type Changes = &'static [(&'static str, &'static str)];

/// The shipped places: name, meaning, changes; those of a quick arena first.
const PLACES: &[(&str, &str, Changes)] = &[
    ("calm", "a quiet room, a strong signal", &[]),
    (
        "saturated",
        "a competitor saturates the access point: four downloads throughout",
        &[("flow.download.count", "4"), ("flow.download.start", "1 s"), ("flow.download.stop", "35 s")],
    ),
    (
        "walk",
        "the player walks from 3 to 28 m and back",
        &[(
            "station.player.channel",
            r#"{ kind = "log-distance", exponent = 3.5, walk = { from = "3 m", to = "28 m", speed = "2 m/s", start = "6 s", return = true }, shadowing = "3 dB", shadowing-coherence = "2 s", fading = { kind = "rician", k = "4 dB" } }"#,
        )],
    ),
    (
        "away",
        "the radio leaves for 150 ms every 3 s, as for a scan, and says so too late",
        &[("station.player.away", r#"{ period = "3 s", length = "150 ms", announced = false }"#)],
    ),
    ("office", "people walk about, neighbours download", &[("surroundings", "office")]),
    ("harsh", "behind a wall: a weak signal, loaded neighbours", &[("surroundings", "harsh")]),
    ("hidden", "a network that the access point does not hear", &[("surroundings", "hidden")]),
    (
        "crowded-room",
        "a trace of the PHY rate in a crowded room",
        &[("station.player.channel", r#"{ kind = "trace", file = "shipped:crowded-room.log", as = "phy" }"#)],
    ),
    (
        "corridor",
        "a trace of the SNR down a corridor",
        &[("station.player.channel", r#"{ kind = "trace", file = "shipped:corridor.csv", as = "snr" }"#)],
    ),
];

/// Places of a quick arena: the first ones.
const QUICK: usize = 4;

/// A place with the flow whose rule is tried.
#[derive(Debug, Clone)]
pub struct Place {
    /// Its name in tables.
    pub name: String,
    /// Its meaning, for a scenario of one's own its title.
    pub meaning: String,
    /// The scenario by name: the shipped stream, or a file.
    source: String,
    changes: Vec<(String, String)>,
    /// The flow of kind `rtc` in focus.
    pub(super) flow: String,
    /// Its number in the scenario.
    pub(super) number: u32,
    /// The rate at which it begins, in the shipped places, which rules that take no reports keep; in others they keep that of the flow.
    start_rate: Option<String>,
}

impl Place {
    /// The shipped places, each with its meaning.
    pub fn shipped() -> impl Iterator<Item = (&'static str, &'static str)> {
        PLACES.iter().map(|(name, meaning, _)| (*name, *meaning))
    }

    /// The names of all shipped places, or of those of a quick arena.
    #[must_use]
    pub fn usual(is_quick: bool) -> Vec<String> {
        let most = if is_quick { QUICK } else { PLACES.len() };
        PLACES[..most].iter().map(|(name, ..)| (*name).to_owned()).collect()
    }

    /// The shipped place of that name, or a scenario whose focus is a flow of kind `rtc`.
    ///
    /// # Errors
    /// There is neither, or the scenario has no such flow.
    pub fn open(name: &str) -> Result<Self, RunsError> {
        let known = PLACES.iter().find(|(known, ..)| *known == name);
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let changes: Vec<_> =
            known.map_or_else(Vec::new, |(.., changes)| changes.iter().map(owned).collect());
        let source = if known.is_some() { STREAM } else { name };
        if known.is_none() && !name.contains(['.', '/']) && find_shipped(name).is_err() {
            let names: Vec<&str> = PLACES.iter().map(|(name, ..)| *name).collect();
            return Err(RunsError::Arena(format!(
                "--places {name}: there is no such place; places are {}, or a scenario whose focus is a flow of kind rtc",
                names.join(", ")
            )));
        }
        let mut place = Self {
            name: name.to_owned(),
            meaning: String::new(),
            source: source.to_owned(),
            changes,
            flow: String::new(),
            number: 0,
            start_rate: None,
        };
        let Opened { name: short, scenario } = place.opened(&[])?;
        let (number, flow, stream) = subject(&scenario).ok_or_else(|| {
            let focus = scenario.focus_name().unwrap_or_else(|| "nothing".to_owned());
            RunsError::Arena(format!(
                "--places {name}: its focus is {focus}, and a place needs a flow of kind rtc in focus, whose rule is tried"
            ))
        })?;
        place.flow = flow;
        place.number = number;
        place.start_rate = known.is_some().then_some(stream);
        place.meaning = known.map_or_else(|| scenario.title.clone(), |(_, meaning, _)| (*meaning).to_owned());
        if known.is_none() {
            place.name = short;
        }
        Ok(place)
    }

    /// The scenario with further changes.
    fn opened(&self, more: &[(&str, &str)]) -> Result<Opened, RunsError> {
        let own = self.changes.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let pairs: Vec<(&str, &str)> = own.chain(more.iter().copied()).collect();
        Opened::by_name(&self.source, &Overrides::from_pairs(&pairs))
    }

    /// The scenario with the stream under a rule. Without a rule the stream sends next to nothing.
    pub(super) fn under(&self, rule: Option<&str>, duration: Option<&str>) -> Result<Opened, RunsError> {
        let key = |name: &str| format!("flow.{}.{name}", self.flow);
        let mut changes = vec![(key("congestion"), rule.unwrap_or("fixed").to_owned())];
        if rule.is_none() {
            let quiet = [("rate", "10 kbit/s"), ("fps", "1"), ("fec", "none")];
            changes.extend(quiet.map(|(name, value)| (key(name), value.to_owned())));
        } else if rule.is_some_and(|rule| CONSTANT.contains(&rule)) {
            changes.extend(self.start_rate.clone().map(|rate| (key("rate"), rate)));
        }
        changes.extend(duration.map(|duration| ("duration".to_owned(), duration.to_owned())));
        let pairs: Vec<(&str, &str)> =
            changes.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let opened = self.opened(&pairs)?;
        Ok(Opened { name: self.name.clone(), ..opened })
    }
}

/// Rules that take no reports.
const CONSTANT: [&str; 2] = ["fixed", "wivrn"];

/// Number, name and first rate of the stream in focus.
fn subject(scenario: &Scenario) -> Option<(u32, String, String)> {
    let name = scenario.focus_name()?;
    let number = scenario.flows.iter().position(|flow| flow.name == name)?;
    let Traffic::Rtc(stream) = &scenario.flows[number].traffic else { return None };
    Some((u32::try_from(number).ok()?, name, stream.start_rate.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_a_scenario_under_every_rule() {
        for (name, _) in Place::shipped() {
            let place = Place::open(name).expect(name);
            assert_eq!(place.flow, "game");
            for rule in airbound_scenario::rate_rules().map(|(rule, _)| Some(rule)).chain([None]) {
                place.under(rule, None).unwrap_or_else(|error| panic!("{name} {rule:?}: {error}"));
            }
        }
        let constant: Vec<&str> = airbound_scenario::rate_rules()
            .map(|(rule, _)| rule)
            .filter(|rule| CONSTANT.contains(rule))
            .collect();
        assert_eq!(constant.len(), CONSTANT.len());
    }

    #[test]
    fn a_constant_rule_keeps_the_rate_of_a_scenario_of_ones_own() {
        let rate = |name: &str| {
            let opened = Place::open(name).expect(name).under(Some("wivrn"), None).expect(name);
            let rates = opened.scenario.flows.iter().filter_map(|flow| match &flow.traffic {
                Traffic::Rtc(stream) => Some(stream.rate.as_mbps_f64()),
                _ => None,
            });
            rates.fold(0.0, f64::max)
        };
        // Of the shipped stream, whose highest rate is above that, the others begin with 20.
        assert_eq!((rate("cloud-gaming"), rate("calm")), (10.0, 20.0));
    }

    #[test]
    fn what_is_no_place_is_said_in_a_sentence() {
        for (name, words) in [
            ("garden", "places are calm"),
            ("vr-congested", "a place needs a flow of kind rtc"),
            ("missing.toml", "missing.toml"),
        ] {
            let error = Place::open(name).expect_err(name).to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
    }
}

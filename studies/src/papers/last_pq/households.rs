//! Random households, as `households.toml` says what is drawn.
//!
//! The classifier was developed on the seeds 1 to 20 and is judged on others alone.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use serde::Deserialize;

/// Seeds on which thresholds may be chosen.
#[cfg(test)]
pub(super) const DEVELOPMENT: RangeInclusive<u64> = 1..=20;
/// Seeds whose figures are reported.
pub(super) const JUDGED: RangeInclusive<u64> = 1001..=1030;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mix {
    stations: Draw,
    head: Drawn,
    station: Drawn,
    networks: [Network; 2],
    stream: Drawn,
    others: Vec<Others>,
}

/// A network, and the most that its low-latency streams ask for together.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Network {
    most_streams: u64,
    budget_mbps: u64,
    text: String,
}

/// A text with what is drawn for it.
#[derive(Deserialize)]
struct Drawn {
    draws: Vec<Draw>,
    text: String,
}

/// Flows of a kind.
#[derive(Deserialize)]
struct Others {
    name: String,
    most: u64,
    #[serde(flatten)]
    drawn: Drawn,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Draw {
    /// A whole number.
    Range { from: u64, to: u64 },
    /// A text or a number.
    OneOf(Vec<toml::Value>),
}

static MIX: LazyLock<Mix> = LazyLock::new(|| {
    let text = include_str!("households.toml");
    toml::from_str(text).unwrap_or_else(|error| panic!("households.toml is wrong: {error}"))
});

/// SplitMix64 (Steele, Lea, Flood 2014): enough to draw a scenario.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A whole number of a range.
    fn whole(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.next() % (range.end() - range.start() + 1)
    }

    fn draw(&mut self, draw: &Draw) -> String {
        match draw {
            Draw::Range { from, to } => self.whole(*from..=*to).to_string(),
            Draw::OneOf(choices) => {
                let choice = &choices[(self.next() % choices.len() as u64) as usize];
                choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)
            }
        }
    }

    fn all(&mut self, drawn: &Drawn) -> Vec<String> {
        drawn.draws.iter().map(|draw| self.draw(draw)).collect()
    }

    /// Where a flow goes and when it begins.
    fn flow(&mut self, name: &str, stations: u64, rest: &str) -> String {
        let (station, start) = (self.whole(0..=stations - 1), self.whole(0..=2500));
        format!("[[flow]]\nname = \"{name}\"\nstation = \"s{station}\"\nstart = \"{start} ms\"\n{rest}\n")
    }
}

impl Drawn {
    fn filled(&self, values: &[String]) -> String {
        let places = values.iter().enumerate();
        places.fold(self.text.clone(), |text, (place, value)| text.replace(&format!("{{{place}}}"), value))
    }
}

/// A random mix as a scenario. Low-latency streams are called `stream`, with a number; `demand` is what is demanded of them by
/// name, if anything is.
pub(super) fn scenario(seed: u64, demand: Option<&str>) -> String {
    let Mix { stations, head, station, networks, stream, others } = &*MIX;
    let mut draws = Draws(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
    let network = &networks[(seed % 2) as usize];
    let stations = draws.draw(stations).parse().unwrap_or(1);
    let mut text = head.filled(&draws.all(head)) + &network.text;
    for number in 0..stations {
        let rest = station.filled(&draws.all(station));
        let _ = writeln!(text, "[[station]]\nname = \"s{number}\"\n{rest}");
    }
    let mut left = network.budget_mbps;
    for number in 0..draws.whole(0..=network.most_streams) {
        let mut values = draws.all(stream);
        let rate = values[0].parse().unwrap_or(left).min(left.max(8));
        left = left.saturating_sub(rate);
        values[0] = rate.to_string();
        let demand = demand.map_or(String::new(), |demand| format!("demand = \"{demand}\""));
        text += &draws.flow(&format!("stream-{number}"), stations, &(stream.filled(&values) + &demand));
    }
    for Others { name, most, drawn } in others {
        for number in 0..draws.whole(0..=*most) {
            let rest = drawn.filled(&draws.all(drawn));
            text += &draws.flow(&format!("{name}-{number}"), stations, &rest);
        }
    }
    // A scenario needs a flow, and a household has somebody on the telephone.
    text + &draws.flow("call", stations, "kind = \"voip\"")
}

#[cfg(test)]
mod tests {
    use airbound_scenario::{Overrides, Scenario};

    use super::*;

    #[test]
    fn every_mix_is_a_scenario() {
        let mut streams = 0;
        for seed in DEVELOPMENT.chain(JUDGED) {
            let text = scenario(seed, Some("20 ms"));
            let read = Scenario::parse(&text, "mix", &Overrides::default());
            let read = read.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
            streams += read.flows.iter().filter(|flow| flow.name.starts_with("stream")).count();
        }
        assert!(streams > 50, "{streams}");
    }

    #[test]
    fn what_is_demanded_changes_nothing_else() {
        let [with, without] = [Some("20 ms"), None].map(|demand| scenario(3, demand));
        assert_eq!(with.replace("demand = \"20 ms\"", ""), without);
    }
}

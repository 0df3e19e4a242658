//! Key of a run: a hash of all that its results depend on.

use std::fmt::{self, Debug, Write};
use std::str::FromStr;

use airbound_scenario::{Scenario, Scheme};
use twox_hash::XxHash3_128;

/// Rises when the same scenario gives other results, or results other columns, under the same version of Airbound.
const EDITION: u32 = 1;

/// 128 bits of XXH3 over the program's version, the resolved scenario with its scheme, the content of its traces, and the seed.
/// Not made to withstand somebody who looks for collisions; among 10^9 runs one happens by chance with a probability of 10^-21.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(u128);

impl Key {
    /// Of a text.
    pub(crate) fn of(text: &str) -> Self {
        Self(XxHash3_128::oneshot(text.as_bytes()))
    }

    /// Of all runs of a scenario under a scheme, whatever their seeds.
    pub(crate) fn of_point(scenario: &Scenario, scheme: &Scheme) -> Self {
        // What is only said of the scenario, and whom else one might compare, changes no run.
        let plain = Scenario {
            title: String::new(),
            description: String::new(),
            schemes: Vec::new(),
            seed: 0,
            scheme: scheme.in_full(),
            ..scenario.clone()
        };
        let mut hash = Hashing(XxHash3_128::new());
        let version = env!("CARGO_PKG_VERSION");
        // Writing to a hash cannot fail.
        let _ = write!(hash, "airbound {version} sweep {EDITION}\n{}", plain.to_toml());
        for link in scenario.traces() {
            let _ = write!(hash, "{:?}", link.trace);
        }
        Self(hash.0.finish_128())
    }

    /// Of the run with this seed.
    pub(crate) fn with_seed(self, seed: u64) -> Self {
        let mut bytes = [0; 24];
        bytes[..16].copy_from_slice(&self.0.to_le_bytes());
        bytes[16..].copy_from_slice(&seed.to_le_bytes());
        Self(XxHash3_128::oneshot(&bytes))
    }

    /// 64 of its bits, to seed what is drawn for it.
    pub(crate) const fn bits(self) -> u64 {
        self.0 as u64
    }
}

struct Hashing(XxHash3_128);

impl Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Key {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(());
        }
        u128::from_str_radix(text, 16).map(Self).map_err(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use airbound_scenario::{Overrides, Scenario};

    use super::Key;

    #[test]
    fn only_what_matters_makes_another_key() {
        let open = |sets: &[(&str, &str)]| {
            let scenario = Scenario::open("hello", &Overrides::from_pairs(sets)).expect("a shipped scenario");
            Key::of_point(&scenario, &scenario.scheme)
        };
        let plain = open(&[]);
        assert_eq!(plain, open(&[("title", "another"), ("seed", "9"), ("schemes", "[\"fifo\"]")]));
        assert_ne!(plain, open(&[("duration", "7 s")]));
        assert_ne!(plain, open(&[("scheme.queue", "pie")]));
        assert_ne!(plain.with_seed(1), plain.with_seed(2));
        assert_eq!(plain.to_string().parse(), Ok(plain));
        assert_eq!("nonsense".parse::<Key>(), Err(()));
    }

    #[test]
    fn the_content_of_a_trace_matters() {
        let scenario = |scale: &str| {
            let sets = [("station.0.channel.scale", scale)];
            Scenario::open("trace-vr", &Overrides::from_pairs(&sets)).expect("a shipped scenario")
        };
        let (mut one, other) = (scenario("1.0"), scenario("2.0"));
        let key = |scenario: &Scenario| Key::of_point(scenario, &scenario.scheme);
        assert!(one.traces().count() > 0);
        let before = key(&one);
        // As if the file had been written anew under the same name.
        for (station, changed) in one.stations.iter_mut().zip(other.stations) {
            use airbound_scenario::ChannelSpec::Trace;
            if let (Trace(link), Trace(changed)) = (&mut station.channel, changed.channel) {
                link.trace = changed.trace;
            }
        }
        assert_ne!(before, key(&one));
    }
}

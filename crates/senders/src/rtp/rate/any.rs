//! The rules that a scenario can select.

use airbound_units::ConfigError;
use serde::{Deserialize, Serialize};

use super::{Key, MediaRate, RateBounds};
use crate::rtp::gcc::GccConfig;

/// Makes [`RateRule`] from the table of rules below.
macro_rules! rules {
    ($($meaning:literal $name:literal: $kind:ident, $module:ident;)*) => {
        /// A rule, and its configuration. In a scenario file `kind` names it and the other keys are those of its configuration.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        #[non_exhaustive]
        pub enum RateRule {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning, ".")]
                #[serde(rename = $name)]
                $kind(super::$module::Config),
            )*
        }

        impl RateRule {
            /// All rules: the name in a scenario, and its meaning in a line.
            pub const KINDS: &[(&str, &str)] = &[$(($name, $meaning)),*];
            /// Those that a scheme can name: all but the last, whose name a rate control has as well.
            pub const OF_SCHEMES: &[(&str, &str)] = Self::KINDS.split_at(Self::KINDS.len() - 1).0;
            /// The keys of each rule, in the order of [`RateRule::KINDS`].
            pub const KEYS: &[&[Key]] = &[$(super::$module::KEYS),*];

            /// The name in a scenario.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
                }
            }

            /// Builds the rule for a stream.
            ///
            /// # Errors
            /// [`ConfigError::OutOfRange`] if a value is out of range.
            pub fn build(&self, bounds: &RateBounds) -> Result<Box<dyn MediaRate>, ConfigError> {
                match self {
                    $(Self::$kind(config) => Ok(Box::new(super::$module::build(config, bounds)?)),)*
                }
            }
        }
    };
}

// A new rule is a line here: its meaning, its name in scenario files, its variant, and its module with `Config`, `KEYS` and `build`.
// `fixed` stays last: see `OF_SCHEMES`.
rules! {
    "Google congestion control, for flows of kind rtc" "gcc": Gcc, gcc;
    "steps by the share of lost frames, Moonlight V+" "moonlight": Moonlight, moonlight;
    "steps at the host by the share of lost frames, Foundation Sunshine" "sunshine-abr": SunshineAbr, sunshine_abr;
    "frame size over network latency, ALVR's adaptive mode" "alvr": Alvr, alvr;
    "ladder by frame ratio and round trip, NeSt-VR" "nest-vr": NestVr, nest_vr;
    "Copa, and an encoder share by frame service time, Vidaptive" "vidaptive": Vidaptive, vidaptive;
    "SCReAM v2 without marks: window by delay and loss" "scream2": Scream2, scream2;
    "frames as large as can arrive within 100 ms, Salsify" "salsify": Salsify, salsify;
    "the user's constant rate, each frame in one burst, WiVRn" "wivrn": Wivrn, wivrn;
    "no congestion control: the encoder's highest rate" "fixed": Fixed, fixed;
}

impl Default for RateRule {
    fn default() -> Self {
        Self::Gcc(GccConfig::default())
    }
}

impl RateRule {
    /// Whether its reports are those of RTCP, which an access point can read and make: transport-wide feedback (`gcc`) and RFC 8888
    /// (`scream2`). Others have reports of their programs' own.
    #[must_use]
    pub const fn has_rtcp(&self) -> bool {
        matches!(self, Self::Gcc(_) | Self::Scream2(_))
    }

    /// Checks all values, as [`RateRule::build`] does.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let GccConfig { start_rate: start, min_rate: least, max_rate: most, .. } = GccConfig::default();
        self.build(&RateBounds { start, least, most, media: most }).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::{BitRate, ByteCount, Instant, Span};

    use super::super::FramePart;
    use super::*;
    use crate::rtp::gcc::{PacketResult, PacketSent, TransportFeedback};

    const BOUNDS: RateBounds = RateBounds {
        start: BitRate::from_kbps(400),
        least: BitRate::from_kbps(50),
        most: BitRate::from_mbps(3),
        media: BitRate::from_mbps(2),
    };

    fn rules() -> impl Iterator<Item = (RateRule, &'static [Key])> {
        let read = |name| toml::from_str(&format!("kind = \"{name}\"")).expect("a known kind");
        RateRule::KINDS.iter().map(move |(name, _)| read(name)).zip(RateRule::KEYS.iter().copied())
    }

    #[test]
    fn each_rule_is_read_by_its_name_and_its_keys_are_those_described() {
        for (rule, keys) in rules() {
            assert!(RateRule::KINDS.iter().any(|(name, _)| *name == rule.name()));
            let table = toml::Table::try_from(&rule).expect("writable");
            let mut described: Vec<&str> = keys.iter().map(|(name, ..)| *name).chain(["kind"]).collect();
            described.sort_unstable();
            assert_eq!(table.keys().map(String::as_str).collect::<Vec<_>>(), described);
            let text = toml::to_string(&rule).expect("writable");
            assert_eq!(toml::from_str::<RateRule>(&text).expect("readable"), rule);
            assert!(toml::from_str::<RateRule>(&format!("{text}speed = 1")).is_err());
        }
    }

    /// A path that delivers everything after 20 ms, with a report every 50 ms.
    #[test]
    fn each_rule_keeps_to_its_bounds_and_begins_at_its_first_rate() {
        for (config, _) in rules() {
            let mut rule = config.build(&BOUNDS).expect("valid");
            let first = if rule.report_interval().is_some() { BOUNDS.start } else { BOUNDS.media };
            assert_eq!(rule.target(), first, "{config:?}");
            let mut packets = Vec::new();
            for step in 0..2000_u64 {
                let now = Instant::ZERO + Span::from_millis(step * 5);
                while rule.probes().and_then(|probes| probes.next_probe(now)).is_some() {}
                rule.on_frame_part(now, FramePart { frame: step / 4, packets: 4, coded: now });
                rule.on_sent(now, PacketSent { sequence: step, size: ByteCount::new(1000), probe: None });
                packets.push(PacketResult { sequence: step, arrival: Some(now + Span::from_millis(20)) });
                if step % 10 == 9 {
                    let report = TransportFeedback { packets: std::mem::take(&mut packets) };
                    rule.on_feedback(now + Span::from_millis(40), &report);
                    rule.on_deadline(now + Span::from_millis(40));
                }
                assert!((BOUNDS.least..=BOUNDS.most).contains(&rule.target()), "{rule:?}");
                assert!(rule.pacing().rate >= rule.target());
            }
            assert_eq!(rule.path().loss_fraction, 0.0);
        }
    }
}

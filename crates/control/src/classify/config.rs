//! The configuration of a [`super::FlowClassifier`].

use airbound_units::{BitRate, Span};
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

/// Criteria of a low-latency elephant. `docs/understand/auto-protect.md` gives the reasons and the effect of other values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ClassifierConfig {
    /// Length of the observation window: 2 s. A flow is judged every eighth of it, for the first time after half of it. 500 ms to 5 s.
    pub window: Span,
    /// The gap before a packet that begins a new burst: 2 ms. Longer than the spacing of a frame's packets on a wire, shorter than the gaps
    /// between 150 frames in a second. 100 us to 20 ms.
    pub gap: Span,
    /// The least rate of an elephant: 4 Mbit/s. Calls and game moves are mice and need no protection. 100 kbit/s to 10 Gbit/s.
    pub least_rate: BitRate,
    /// The least frame rate, in frames a second: 20. 5 to 240.
    pub least_frame_rate: f64,
    /// The greatest frame rate, in frames a second: 150. 6 to 250, and above the least one.
    pub most_frame_rate: f64,
    /// The least strength of a rhythm (Z² over two harmonics, see [`super::Pattern::strength`]) with which a flow is found at once: 100.
    /// 10 to 10 000.
    pub found_at: f64,
    /// The least strength of a rhythm that counts if it recurs a window later, in packets not judged before: 60. A clock recurs, chance
    /// hardly ever; and an elephant is judged thousands of times in an hour. 10 to [`ClassifierConfig::found_at`].
    pub suspected_at: f64,
    /// The least share of the bytes that has to arrive in bursts on the beat for a flow to be found. A quarter of the period counts as "on"
    /// the beat, so chance gives a quarter. 0 to 1.
    pub found_on_beat: f64,
    /// Below this strength a found flow has lost its rhythm: 30. Chance rarely reaches it. 0 to [`ClassifierConfig::suspected_at`].
    pub lost_at: f64,
    /// Time without a rhythm, below half of the least rate, or without packets after which a found flow is lost: 5 s. 100 ms to 10 min.
    pub hold: Span,
    /// Upper limit on watched flows: 256, of up to 8 kB each. Beyond it the flow that was silent longest is forgotten, found flows last. 1
    /// to 65 536.
    pub flows: usize,
}

impl Default for ClassifierConfig {
    fn default() -> Self {
        Self {
            window: Span::from_secs(2),
            gap: Span::from_millis(2),
            least_rate: BitRate::from_mbps(4),
            least_frame_rate: 20.0,
            most_frame_rate: 150.0,
            found_at: 100.0,
            suspected_at: 60.0,
            found_on_beat: 0.4,
            lost_at: 30.0,
            hold: Span::from_secs(5),
            flows: 256,
        }
    }
}

impl ClassifierConfig {
    /// Checks the values.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for the first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let check = |valid, key, value: &dyn std::fmt::Display, allowed| {
            ConfigError::check(valid, key, value, allowed)
        };
        let window = (Span::from_millis(500)..=Span::from_secs(5)).contains(&self.window);
        check(window, "classifier.window", &self.window, "500 ms to 5 s")?;
        let gap = (Span::from_micros(100)..=Span::from_millis(20)).contains(&self.gap);
        check(gap, "classifier.gap", &self.gap, "100 us to 20 ms")?;
        let rate = (100_000..=10_000_000_000).contains(&self.least_rate.as_bps());
        check(rate, "classifier.least-rate", &self.least_rate, "100 kbit/s to 10 Gbit/s")?;
        let least = self.least_frame_rate;
        check((5.0..=240.0).contains(&least), "classifier.least-frame-rate", &least, "5 to 240")?;
        let most = self.most_frame_rate;
        check(
            (6.0..=250.0).contains(&most) && most > least,
            "classifier.most-frame-rate",
            &most,
            "6 to 250, more than classifier.least-frame-rate",
        )?;
        let found = self.found_at;
        check((10.0..=10_000.0).contains(&found), "classifier.found-at", &found, "10 to 10000")?;
        let share = self.found_on_beat;
        check((0.0..=1.0).contains(&share), "classifier.found-on-beat", &share, "0 to 1")?;
        let suspected = self.suspected_at;
        check(
            (10.0..=found).contains(&suspected),
            "classifier.suspected-at",
            &suspected,
            "10 to the value of classifier.found-at",
        )?;
        let lost = self.lost_at;
        check(
            (0.0..=suspected).contains(&lost),
            "classifier.lost-at",
            &lost,
            "0 to the value of classifier.suspected-at",
        )?;
        let hold = (Span::from_millis(100)..=Span::from_secs(600)).contains(&self.hold);
        check(hold, "classifier.hold", &self.hold, "100 ms to 10 min")?;
        check((1..=65_536).contains(&self.flows), "classifier.flows", &self.flows, "1 to 65536")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused() {
        let usual = ClassifierConfig::default();
        assert_eq!(usual.check(), Ok(()));
        for wrong in [
            ClassifierConfig { window: Span::from_millis(499), ..usual },
            ClassifierConfig { gap: Span::ZERO, ..usual },
            ClassifierConfig { least_rate: BitRate::ZERO, ..usual },
            ClassifierConfig { least_frame_rate: f64::NAN, ..usual },
            ClassifierConfig { least_frame_rate: 60.0, most_frame_rate: 60.0, ..usual },
            ClassifierConfig { found_at: f64::INFINITY, ..usual },
            ClassifierConfig { found_on_beat: 1.1, ..usual },
            ClassifierConfig { suspected_at: 101.0, ..usual },
            ClassifierConfig { lost_at: 61.0, ..usual },
            ClassifierConfig { hold: Span::ZERO, ..usual },
            ClassifierConfig { flows: 0, ..usual },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
        let sentence = ClassifierConfig { lost_at: 61.0, ..usual }.check().expect_err("too much").to_string();
        assert_eq!(
            sentence,
            "classifier.lost-at is 61; allowed is 0 to the value of classifier.suspected-at"
        );
        assert!(toml::from_str::<ClassifierConfig>("windows = \"1 s\"").is_err());
    }
}

//! Configuration of a room.

use airbound_units::{BitRate, ConfigError, Span};
use serde::{Deserialize, Serialize};

/// The policy of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoomPolicy {
    /// Each link carries what its estimate allows; no sender is held, but for the sound of the others.
    Plain,
    /// Only the [`RoomConfig::active`] latest speakers are forwarded.
    LastN,
    /// Layers that no viewer takes are not sent, which needs no estimate.
    #[default]
    LayerSuspension,
    /// The paper's: capacity detection, optimiser and states I to III of each link that is known (Plum, Sec. III-D). Layers that no viewer takes
    /// are not sent, as its sources send no more than is of use.
    Plum,
}

impl RoomPolicy {
    /// All policies.
    pub const ALL: [Self; 4] = [Self::Plain, Self::LastN, Self::LayerSuspension, Self::Plum];

    /// The name in configurations, on command lines and pages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::LastN => "last-n",
            Self::LayerSuspension => "layer-suspension",
            Self::Plum => "plum",
        }
    }

    /// Whether layers that no viewer takes are switched off.
    pub(super) const fn suspends(self) -> bool {
        matches!(self, Self::LayerSuspension | Self::Plum)
    }
}

/// Configuration of [`super::Room`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RoomConfig {
    /// The policy. Default `layer-suspension`: rates held by `plum` cost more than they brought over most of what was measured
    /// (docs/results/room.md).
    pub policy: RoomPolicy,
    /// Speakers that `last-n` forwards, 1 to 63. Default 3.
    pub active: usize,
    /// Rate of the server's outbound link; none for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<BitRate>,
    /// Largest useful bitrate of one sender (M/V of the paper), 0.1 Mb/s to 10 Gb/s. Default 1.5 Mb/s.
    pub source: BitRate,
    /// Lowest bitrate of an encoder. Default 0.1 Mb/s.
    pub least: BitRate,
    /// Assumed downlink of a member without an estimate. Default 0.3 Mb/s.
    pub start: BitRate,
    /// Share of a downlink estimate that forwarding may fill, above 0 to 1. Default 0.95.
    pub headroom: f64,
    /// Share of the budget that must stay free after an upward step, 0 to 0.5. Default 0.1.
    pub margin: f64,
    /// Interval of decisions, 10 ms to 10 s. Default 200 ms.
    pub period: Span,
    /// Time for which an upward step must fit before it is taken, 0 to 60 s. Default 2 s.
    pub dwell: Span,
    /// Upper limit of the dwell time, which doubles each time a step is taken back soon, up to 300 s. Default 16 s.
    pub longest_dwell: Span,
    /// Age at which an exact estimate counts as a lower bound only, and the capacity of a channel as not known, 100 ms to 1 h. Default 10 s.
    pub fresh: Span,
    /// Weight of fairness in Plum's utility, 0 to 1. Default 0: most bitrate for all together, above a floor for each. (With the
    /// paper's 0.5 the member behind the narrowest link would be served first, and its viewers pay for it.)
    pub rho: f64,
    /// Floor of the downlink of each viewer under Plum, at most what a viewer can use; less where the capacity or the content is scarce
    /// ([`Problem::least_down`](crate::conference::Problem::least_down)). Default 0. [`super::Room::on_floor`] sets that of one viewer.
    pub least_down: BitRate,
    /// Interval of Plum's checks of capacities, 100 ms to 1 h. Default 2 s.
    pub check: Span,
    /// Relative change of a capacity that counts as clear, above 0 to 10. Default 0.2.
    pub change: f64,
    /// Time after which a held link is released to look at its natural rate again, 1 s to 1 h. Default 20 s.
    pub look_every: Span,
    /// Duration of such a look, 100 ms to 60 s. Default 1 s.
    pub look: Span,
    /// Time after which an unanswered notice is sent again, 10 ms to 10 s. Default 200 ms.
    pub repeat: Span,
}

impl Default for RoomConfig {
    fn default() -> Self {
        Self {
            policy: RoomPolicy::LayerSuspension,
            active: 3,
            server: None,
            source: BitRate::from_kbps(1500),
            least: BitRate::from_kbps(100),
            start: BitRate::from_kbps(300),
            headroom: 0.95,
            margin: 0.1,
            period: Span::from_millis(200),
            dwell: Span::from_secs(2),
            longest_dwell: Span::from_secs(16),
            fresh: Span::from_secs(10),
            rho: 0.0,
            least_down: BitRate::ZERO,
            check: Span::from_secs(2),
            change: 0.2,
            look_every: Span::from_secs(20),
            look: Span::from_secs(1),
            repeat: Span::from_millis(200),
        }
    }
}

impl RoomConfig {
    /// Whether rates of links are coordinated.
    pub(super) fn coordinates(&self) -> bool {
        self.policy == RoomPolicy::Plum
    }

    /// Checks every value.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let rates = BitRate::from_kbps(100)..=BitRate::from_mbps(10_000);
        let (ms, s) = (Span::from_millis, Span::from_secs);
        ConfigError::check((1..=63).contains(&self.active), "active", self.active, "1 to 63")?;
        ConfigError::check(rates.contains(&self.source), "source", self.source, "0.1 Mb/s to 10 Gb/s")?;
        ConfigError::check(
            self.least <= self.source,
            "least",
            self.least,
            "at most the largest bitrate of a sender",
        )?;
        let most = BitRate::from_mbps(10_000);
        ConfigError::check(self.least_down <= most, "least-down", self.least_down, "0 to 10 Gb/s")?;
        let headroom = self.headroom;
        ConfigError::check(headroom > 0.0 && headroom <= 1.0, "headroom", headroom, "above 0 to 1")?;
        ConfigError::check((0.0..=0.5).contains(&self.margin), "margin", self.margin, "0 to 0.5")?;
        ConfigError::check((0.0..=1.0).contains(&self.rho), "rho", self.rho, "0 to 1")?;
        ConfigError::check(self.change > 0.0 && self.change <= 10.0, "change", self.change, "above 0 to 10")?;
        let spans = [
            ("period", self.period, ms(10)..=s(10), "10 ms to 10 s"),
            ("dwell", self.dwell, Span::ZERO..=s(60), "0 to 60 s"),
            ("longest-dwell", self.longest_dwell, self.dwell..=s(300), "the dwell time to 300 s"),
            ("fresh", self.fresh, ms(100)..=s(3600), "100 ms to 1 h"),
            ("check", self.check, ms(100)..=s(3600), "100 ms to 1 h"),
            ("look-every", self.look_every, s(1)..=s(3600), "1 s to 1 h"),
            ("look", self.look, ms(100)..=s(60), "100 ms to 60 s"),
            ("repeat", self.repeat, ms(10)..=s(10), "10 ms to 10 s"),
        ];
        for (name, span, range, allowed) in spans {
            ConfigError::check(range.contains(&span), name, span, allowed)?;
        }
        Ok(())
    }
}

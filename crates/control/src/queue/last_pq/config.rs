//! The configuration of a [`super::LastPq`] queue.

use airbound_units::Span;
use serde::{Deserialize, Serialize};

use super::super::FqCodelAirtimeConfig;
use super::auto::{AutoConfig, Protect};
use super::drain::DrainConfig;
use super::gradient::DelayConfig;
use crate::error::ConfigError;

/// Choice among several urgent stations, and among several urgent flows of a station. On a tie the longest wait goes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// The greatest deficit: of airtime among stations, of bytes among flows (Sec. IV).
    #[default]
    Deficit,
    /// The least slack: the permitted latency less the expected one. Not in the paper.
    Slack,
}

/// Configuration of a [`super::LastPq`] queue. Where the paper leaves a value open, the default is given with its reason. Three defaults
/// differ from the paper, whose behaviour is [`LastPqConfig::paper`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LastPqConfig {
    /// Choice of the protected flows.
    pub protect: Protect,
    /// With `protect = "auto"`, the demand on flows without a configured one.
    pub auto: AutoConfig,
    /// The delay controller.
    pub delay: DelayConfig,
    /// The drain estimate of the hardware queue.
    pub drain: DrainConfig,
    /// Order among urgent stations and flows.
    pub choice: Choice,
    /// Number of the station's other packets that may follow the urgent ones in an aggregate with room, in their default order: 4. None
    /// in the paper, which dequeues "from that flow queue". A station whose prioritised flow needs more than the station's fair share
    /// accumulates debt and gets no service in the default order; a few additional packets keep a call, or the acknowledgements of the
    /// same device, alive. 0 to 65 535.
    pub fill: u16,
    /// Longest aggregate of other stations while a prioritised flow is active, as a share of the least permitted latency: 0.25. The
    /// paper reduces the size without a number; with a quarter, an urgent packet waits for little more than that. Above 0, up to 1000.
    pub aggregate_share: f64,
    /// Lower limit of that bound: 1.5 ms, of which an exchange's 0.2 ms of contention, preamble and acknowledgement leave 88 %;
    /// otherwise a demand that cannot be met, which drives the permitted latency to its floor, would cost all stations half of the air.
    /// None in the paper. Up to 10 s; one MPDU is always admitted.
    pub least_aggregate: Span,
    /// Whether the airtime below is bounded while a prioritised flow is active, where a driver's queue lies between this one and the
    /// hardware: the next aggregate is handed down while less than one short aggregate of the category is below, so that two are, as the
    /// paper's driver holds them and as the agent's release window does. True.
    pub bound_below: bool,
    /// Upper limit on the airtime debt of a station with a prioritised flow; `"none"` in a file, and by default, for no limit, as in the
    /// paper: what a flow needs beyond the station's fair share is taken from the station's other flows as far as possible, then from
    /// other stations. With a limit the other stations pay more of it.
    #[serde(with = "super::optional")]
    pub most_debt: Option<Span>,
    /// The default scheduler, used when no flow is urgent.
    pub linux: FqCodelAirtimeConfig,
}

impl Default for LastPqConfig {
    fn default() -> Self {
        Self {
            protect: Protect::default(),
            auto: AutoConfig::default(),
            delay: DelayConfig::default(),
            drain: DrainConfig::default(),
            choice: Choice::default(),
            fill: 4,
            aggregate_share: 0.25,
            least_aggregate: Span::from_micros(1500),
            bound_below: true,
            most_debt: None,
            linux: FqCodelAirtimeConfig::default(),
        }
    }
}

impl LastPqConfig {
    /// The paper's choices, as far as it specifies them: no additional packets, no ceiling over its windows.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            fill: 0,
            least_aggregate: Span::ZERO,
            delay: DelayConfig { hold: None, ..DelayConfig::default() },
            ..Self::default()
        }
    }

    /// Checks the values that the parts do not check.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.drain.check()?;
        self.auto.classifier.check()?;
        self.delay.check_demand(&self.auto.demand()?)?;
        ConfigError::check(
            self.aggregate_share > 0.0 && self.aggregate_share <= 1000.0,
            "aggregate-share",
            self.aggregate_share,
            "more than 0, up to 1000",
        )?;
        ConfigError::check(
            self.least_aggregate <= Span::from_secs(10),
            "least-aggregate",
            self.least_aggregate,
            "0 ms to 10 s",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::mark::Mark;
    use super::*;

    #[test]
    fn the_numbers_are_the_papers() {
        let LastPqConfig { delay, drain, .. } = LastPqConfig::paper();
        // Sec. V: MD, MI, alpha; AI = 5000 without a unit, read as microseconds.
        assert_eq!((delay.decrease, delay.increase, delay.oscillation), (0.3, 0.3, 0.5));
        assert_eq!(delay.additive_increase, Span::from_micros(5000));
        assert_eq!((drain.guard, delay.guard_interval), (Span::from_millis(1), Span::from_millis(1)));
        // Sec. IV: t_w.
        assert_eq!(delay.window, Span::from_millis(20));
        // Sec. V: 0xb45f in the high 16 bits, the permitted latency in the low ones.
        assert_eq!(Mark::encode(Span::from_millis(20)).bits(), 0xb45f_0000 | 20_000);
    }
}

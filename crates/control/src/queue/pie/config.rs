//! Configuration of PIE, and the versions of its algorithm.

use airbound_units::{ByteCount, Span};
use serde::{Deserialize, Serialize};

use super::super::station_lists::Limits;
use crate::error::ConfigError;

/// Version of the algorithm.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PieRevision {
    /// RFC 8033, as Linux since 5.5.
    #[default]
    #[serde(rename = "rfc-8033")]
    Rfc8033,
    /// `net/sched/sch_pie.c` of Linux 3.14 to 4.19 (draft-pan-aqm-pie-00): the delay is the backlog over an average of departure
    /// rates; each packet is drawn alone; three steps of the probability in place of seven; the probability rises by 2 % for each
    /// update that finds more than 250 ms; the burst allowance is used up by the time that is measured.
    #[serde(rename = "linux-3.17")]
    Linux3_17,
}

/// Measurement of the queueing delay (RFC 8033, sections 4.3 and 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelayEstimate {
    /// From the time stamp of the last departing packet; Linux since 5.5.
    Timestamps,
    /// Backlog divided by the departure rate: RFC 8033 averages the time for 16 KiB (appendix A), Linux 3.17 the rate of 10 kB.
    DepartureRate,
}

/// Configuration of a [`super::Pie`] queue; RFC 8033, sections 4 and 5. Defaults depend on the revision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", rename_all = "kebab-case")]
pub struct PieConfig {
    /// Version of the algorithm: RFC 8033.
    #[serde(skip_serializing_if = "is_default")]
    pub revision: PieRevision,
    /// Limits of each category (kernel `sch_pie`: 1000 packets).
    pub limit: Limits,
    /// Acceptable delay (`QDELAY_REF`): 15 ms, 20 ms in Linux 3.17. Above 0.
    pub target: Span,
    /// Time between two updates of the probability (`T_UPDATE`): 15 ms, 30 ms in Linux 3.17. 100 µs to 10 s.
    pub update: Span,
    /// Longest burst that is not dropped (`MAX_BURST`): 150 ms, 100 ms in Linux 3.17.
    pub max_burst: Span,
    /// Weight of the distance from the target (`alpha`): 0.125 per second, 0 to 1000.
    pub alpha: f64,
    /// Weight of the trend (`beta`): 1.25 per second, 0 to 1000.
    pub beta: f64,
    /// Nothing is dropped from a backlog of at most two packets of this size (`MEAN_PKTSIZE`): 1500 B.
    pub mean_packet: ByteCount,
    /// Measurement of the delay: time stamps; Linux 3.17 has the departure rate only.
    pub delay: DelayEstimate,
    /// CPU time between two packets that the layer below takes at one instant, 0 to 1 ms: by so much their departures are apart
    /// where the departure rate is measured. 1 µs: one core forwarded 1 to 2 million packets a second (Brouer, "Network stack
    /// challenges at increasing speeds", linux.conf.au 2015).
    #[serde(skip_serializing_if = "is_usual_dequeue_time")]
    pub dequeue_time: Span,
}

/// The default of [`PieConfig::dequeue_time`].
const DEQUEUE_TIME: Span = Span::from_micros(1);

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_usual_dequeue_time(time: &Span) -> bool {
    *time == DEQUEUE_TIME
}

/// The keys that a scenario gives.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Written {
    revision: PieRevision,
    limit: Option<Limits>,
    target: Option<Span>,
    update: Option<Span>,
    max_burst: Option<Span>,
    alpha: Option<f64>,
    beta: Option<f64>,
    mean_packet: Option<ByteCount>,
    delay: Option<DelayEstimate>,
    dequeue_time: Option<Span>,
}

impl From<Written> for PieConfig {
    fn from(written: Written) -> Self {
        let usual = Self::of(written.revision);
        Self {
            revision: written.revision,
            limit: written.limit.unwrap_or(usual.limit),
            target: written.target.unwrap_or(usual.target),
            update: written.update.unwrap_or(usual.update),
            max_burst: written.max_burst.unwrap_or(usual.max_burst),
            alpha: written.alpha.unwrap_or(usual.alpha),
            beta: written.beta.unwrap_or(usual.beta),
            mean_packet: written.mean_packet.unwrap_or(usual.mean_packet),
            delay: written.delay.unwrap_or(usual.delay),
            dequeue_time: written.dequeue_time.unwrap_or(usual.dequeue_time),
        }
    }
}

impl Default for PieConfig {
    fn default() -> Self {
        Self::of(PieRevision::default())
    }
}

impl PieConfig {
    /// The defaults of a revision; for Linux 3.17 those of `pie_params_init` and `pie_vars_init`.
    #[must_use]
    pub(crate) fn of(revision: PieRevision) -> Self {
        let (target, update, max_burst, delay) = match revision {
            PieRevision::Rfc8033 => (15, 15, 150, DelayEstimate::Timestamps),
            PieRevision::Linux3_17 => (20, 30, 100, DelayEstimate::DepartureRate),
        };
        Self {
            revision,
            limit: Limits::default(),
            target: Span::from_millis(target),
            update: Span::from_millis(update),
            max_burst: Span::from_millis(max_burst),
            alpha: 0.125,
            beta: 1.25,
            mean_packet: ByteCount::new(1500),
            delay,
            dequeue_time: DEQUEUE_TIME,
        }
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let range = Span::from_micros(100)..=Span::from_secs(10);
        ConfigError::check(!self.target.is_zero(), "target", self.target, "more than 0 ms")?;
        ConfigError::check(range.contains(&self.update), "update", self.update, "100 us to 10 s")?;
        for (key, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            ConfigError::check((0.0..=1000.0).contains(&value), key, value, "0 to 1000")?;
        }
        let longest = Span::from_millis(1);
        ConfigError::check(self.dequeue_time <= longest, "dequeue-time", self.dequeue_time, "0 to 1 ms")?;
        let measurable = self.revision == PieRevision::Rfc8033 || self.delay == DelayEstimate::DepartureRate;
        ConfigError::check(measurable, "delay", "timestamps", "departure-rate, as the revision is linux-3.17")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> PieConfig {
        toml::from_str(text).expect("readable")
    }

    #[test]
    fn defaults_follow_the_revision() {
        assert_eq!(read(""), PieConfig::default());
        let old = read("revision = \"linux-3.17\"\nupdate = \"15 ms\"");
        assert_eq!(old.target, Span::from_millis(20));
        assert_eq!(old.update, Span::from_millis(15));
        assert_eq!(old.delay, DelayEstimate::DepartureRate);
        assert_eq!(read(&toml::to_string(&old).expect("writable")), old);
    }

    #[test]
    fn keys_that_hold_their_default_are_not_written() {
        let text = toml::to_string(&PieConfig::default()).expect("writable");
        assert!(!text.contains("revision") && !text.contains("dequeue-time"), "{text}");
    }

    #[test]
    fn bad_values_are_refused() {
        for text in [
            "target = \"0 ms\"",
            "update = \"99 us\"",
            "alpha = -1.0",
            "dequeue-time = \"2 ms\"",
            "revision = \"linux-3.17\"\ndelay = \"timestamps\"",
        ] {
            assert!(read(text).check().is_err(), "{text}");
        }
        assert!(toml::from_str::<PieConfig>("tupdate = \"15 ms\"").is_err());
    }
}

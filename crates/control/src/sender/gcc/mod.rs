//! Google congestion control: how fast a source of real-time media sends.

mod collector;
mod config;
mod feedback;
mod pacer;
mod probe;

use airbound_units::{BitRate, ByteCount, Instant, Span};

pub use collector::{FeedbackCollector, FeedbackConfig};
pub use config::GccConfig;
pub use feedback::{ARRIVAL_STEP, PacketResult, TransportFeedback};
pub use pacer::{LONGEST_QUEUE, Pacer, Priority};
pub use probe::ProbeCluster;

use crate::ConfigError;

/// A packet that has just left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketSent {
    /// Its transport-wide sequence number: rises by one with each packet, whatever it carries.
    pub sequence: u64,
    /// Its size, by the same measure as all rates (usually the IP packet).
    pub size: ByteCount,
    /// The probe cluster that it belongs to.
    pub probe: Option<u32>,
}

/// What the delay of the packets says of the path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Usage {
    /// Delays neither grow nor fall.
    #[default]
    Normal,
    /// Delays grow: a queue builds up.
    Overuse,
    /// Delays fall: a queue drains.
    Underuse,
}

/// What congestion control sees and thinks, for plots.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GccMetrics {
    /// The judgement of the over-use detector.
    pub usage: Usage,
    /// The trendline's slope times its gain and number of groups, in ms: what is compared with the threshold.
    pub trend: f64,
    /// The adaptive threshold, in ms.
    pub threshold: f64,
    /// The delay-based estimate.
    pub delay_based: BitRate,
    /// The loss-based estimate.
    pub loss_based: BitRate,
    /// The rate at which acknowledged packets arrived; `None` before half a second of them.
    pub acknowledged: Option<BitRate>,
    /// Whether the source sends clearly less than the target.
    pub application_limited: bool,
    /// Share of packets lost, see [`Gcc::loss_fraction`].
    pub loss_fraction: f64,
}

/// Google congestion control.
#[derive(Debug, Clone)]
pub struct Gcc {
    config: GccConfig,
    target: BitRate,
    round_trip: Option<Span>,
}

impl Gcc {
    /// Nothing has been sent.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of the configuration is.
    pub fn new(config: GccConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self { config, target: config.start_rate, round_trip: None })
    }

    /// A packet left.
    pub fn on_sent(&mut self, _now: Instant, _packet: PacketSent) {}

    /// A report of the receiver arrived.
    pub fn on_feedback(&mut self, _now: Instant, _feedback: &TransportFeedback) {}

    /// The next cluster that is to be sent, for `Pacer::start_probe`. Call until there is none.
    pub fn next_probe(&mut self, _now: Instant) -> Option<ProbeCluster> {
        None
    }

    /// The rate for all that is sent: media, parity, retransmissions, headers.
    #[must_use]
    pub fn target_rate(&self) -> BitRate {
        self.target
    }

    /// The rate for the pacer.
    #[must_use]
    pub fn pacing_rate(&self) -> BitRate {
        self.target.mul_f64(self.config.pacing_factor)
    }

    /// The smoothed round trip; `None` before the first report.
    #[must_use]
    pub fn round_trip(&self) -> Option<Span> {
        self.round_trip
    }

    /// The share of packets lost in the last window of reports, 0 to 1.
    #[must_use]
    pub fn loss_fraction(&self) -> f64 {
        0.0
    }

    /// When [`Gcc::on_deadline`] is to be called if nothing else happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        None
    }

    /// Time passed without a report. Early calls do nothing.
    pub fn on_deadline(&mut self, _now: Instant) {}

    /// What it sees and thinks.
    #[must_use]
    pub fn metrics(&self) -> GccMetrics {
        GccMetrics { delay_based: self.target, ..GccMetrics::default() }
    }
}

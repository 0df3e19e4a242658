//! Rates and their reasons.

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::absence::Absence;

/// The part of the path that limits a rate now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reason {
    /// Nothing: levels are below the target, and the rate rises.
    #[default]
    Rising,
    /// The air: levels are at the target.
    AirFull,
    /// Levels are above the target: the rate falls until the queue has drained.
    LevelAboveTarget,
    /// The receiver's radio leaves the channel at intervals. No rate helps.
    RadioAway,
    /// The application sends less than it may.
    Application,
    /// No feedback: before the first, or for longer than three intervals.
    NoFeedback,
    /// The wire in front of the access point: less arrives than is sent, in small frames.
    Wire,
    /// The access point sends each packet by itself though the air is full: there are no levels to hold.
    NotAggregating,
    /// The highest rate that was configured.
    Most,
    /// The latency that was asked for: levels are at a target that was lowered for it.
    Latency,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 10] = [
        Self::Rising,
        Self::AirFull,
        Self::LevelAboveTarget,
        Self::RadioAway,
        Self::Application,
        Self::NoFeedback,
        Self::Wire,
        Self::NotAggregating,
        Self::Most,
        Self::Latency,
    ];

    /// A sentence for users.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Rising => "nothing limits the rate, it rises",
            Self::AirFull => "the air is full: frames hold as many packets as they should",
            Self::LevelAboveTarget => "frames hold more packets than they should: a queue drains",
            Self::RadioAway => "the receiver's radio leaves the channel at intervals; no rate helps",
            Self::Application => "the application sends less than it may",
            Self::NoFeedback => "no feedback from the receiver",
            Self::Wire => "the network in front of the access point is the bottleneck",
            Self::NotAggregating => "the access point does not aggregate; latency cannot be seen in frames",
            Self::Most => "the highest configured rate is reached",
            Self::Latency => "packets would come too late at a higher rate",
        }
    }
}

/// Rates and reason for one receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The part of the path that limits the rate.
    pub reason: Reason,
    /// Payload rate allocated to the receiver, forward error correction and headers of the application included.
    pub rate: BitRate,
    /// Rate for the encoder.
    pub encoder: BitRate,
    /// Packets of a frame leave no faster than this.
    pub pacing: BitRate,
    /// Time between two packets of the usual size at that pace.
    pub pacing_interval: Span,
    /// Largest frame that is sent within its interval.
    pub largest_frame: ByteCount,
    /// When to call again if nothing happens before.
    pub next: Instant,
    /// Mean aggregation level of the last feedback with frames, in packets; `None` before the first.
    pub level: Option<f64>,
    /// Level that is held, in packets: the configured one, less for low PHY rates and for a demand on latency.
    pub target: f64,
    /// Share of packets lost in a queue or on the wire, of the last feedback; `None` before the first.
    pub loss: Option<f64>,
    /// Absences of the receiver's radio; `None` if there are none.
    pub absence: Option<Absence>,
    /// Messages taken.
    pub reports: u32,
    /// Messages refused that named this receiver.
    pub refused: u32,
}

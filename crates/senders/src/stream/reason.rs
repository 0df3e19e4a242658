//! Reasons of a rate.

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
}

impl Reason {
    /// All reasons.
    pub const ALL: [Self; 9] = [
        Self::Rising,
        Self::AirFull,
        Self::LevelAboveTarget,
        Self::RadioAway,
        Self::Application,
        Self::NoFeedback,
        Self::Wire,
        Self::NotAggregating,
        Self::Most,
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
        }
    }
}

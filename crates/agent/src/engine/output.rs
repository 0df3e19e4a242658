//! The engine's output: verdicts, and decisions with their reasons.

use airbound_control::frame::DropReason;
use airbound_linux::MacAddress;
use airbound_units::{BitRate, Span};
use airbound_wifi::edca::Category;
use serde::{Serialize, Serializer};

use super::packet::Ticket;

/// The fate of a held packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The kernel sends it on.
    Release,
    /// The kernel drops it.
    Drop(DropReason),
}

/// A packet and its fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// The packet.
    pub ticket: Ticket,
    /// Its fate.
    pub fate: Fate,
}

fn millis<S: Serializer>(span: &Span, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((span.as_millis_f64() * 1e3).round() / 1e3)
}

fn millis_or_null<S: Serializer>(span: &Option<Span>, serializer: S) -> Result<S::Ok, S::Error> {
    match span {
        Some(span) => millis(span, serializer),
        None => serializer.serialize_none(),
    }
}

fn mbps_or_null<S: Serializer>(rate: &Option<BitRate>, serializer: S) -> Result<S::Ok, S::Error> {
    match rate {
        Some(rate) => serializer.serialize_f64(rate.as_mbps_f64()),
        None => serializer.serialize_none(),
    }
}

/// A time as people read it: to a hundredth of a millisecond.
fn brief(span: &Span) -> String {
    format!("{:.2} ms", span.as_millis_f64())
}

/// Something that the engine decided or found. The journal writes it with the time, and with [`Decision::why`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Decision {
    /// A station is served from now on.
    StationJoined {
        /// Its address.
        station: MacAddress,
        /// Its number in the status.
        id: u16,
        /// At which rate data goes to it.
        #[serde(serialize_with = "mbps_or_null", rename = "rate_mbps")]
        rate: Option<BitRate>,
    },
    /// A station left.
    StationLeft {
        /// Its address.
        station: MacAddress,
        /// Held packets that went on to the kernel, which knows what to do with them.
        released: usize,
        /// Packets below whose completions will not come.
        forgotten: usize,
    },
    /// A flow is protected from now on.
    Protected {
        /// The rule that matched.
        rule: String,
        /// To whom the flow goes.
        station: MacAddress,
        /// The number of the flow.
        flow: u32,
        /// The demanded latency.
        #[serde(serialize_with = "millis", rename = "demand_ms")]
        demand: Span,
        /// Of which percentile.
        percentile: f64,
    },
    /// A protected flow has been silent for long.
    Unprotected {
        /// The rule that matched.
        rule: String,
        /// The number of the flow.
        flow: u32,
    },
    /// The permitted queueing latency of a flow changed.
    Permitted {
        /// The rule.
        rule: String,
        /// The flow.
        flow: u32,
        /// Time for which its packets may queue now.
        #[serde(serialize_with = "millis", rename = "permitted_ms")]
        permitted: Span,
        /// The latency of the last window.
        #[serde(serialize_with = "millis_or_null", rename = "latency_ms")]
        latency: Option<Span>,
        /// The demanded latency.
        #[serde(serialize_with = "millis", rename = "demand_ms")]
        demand: Span,
    },
    /// A demand was kept for a second after one in which it was not, or the other way round.
    Demand {
        /// The rule.
        rule: String,
        /// Whether it was kept.
        met: bool,
        /// The percentile of the second.
        #[serde(serialize_with = "millis", rename = "measured_ms")]
        measured: Span,
        /// The demanded latency.
        #[serde(serialize_with = "millis", rename = "demand_ms")]
        demand: Span,
        /// Packets that were acknowledged in the second.
        packets: u64,
    },
    /// The airtime that is released before a completion is waited for.
    Window {
        /// In which category.
        category: Category,
        /// The airtime of what may be below the agent.
        #[serde(serialize_with = "millis", rename = "airtime_ms")]
        airtime: Span,
        /// Whether the demands of protected flows keep it short.
        for_demands: bool,
    },
    /// Nothing to this station completes: others no longer wait for it.
    Stalled {
        /// Its address.
        station: MacAddress,
        /// Estimated airtime of what it has below.
        #[serde(serialize_with = "millis", rename = "outstanding_ms")]
        outstanding: Span,
        /// Time for which nothing completed.
        #[serde(serialize_with = "millis", rename = "silent_ms")]
        silent: Span,
    },
    /// Completions to a stalled station came again.
    Resumed {
        /// Its address.
        station: MacAddress,
    },
    /// Completions that never came were given up.
    CompletionsLost {
        /// To whom the packets went.
        station: MacAddress,
        /// Number of such packets since this was last said of the station.
        packets: u64,
    },
    /// WQM changed the size of a buffer.
    Buffer {
        /// In which category; `None` if it is for all.
        category: Option<Category>,
        /// Most packets that may wait.
        packets: usize,
        /// Most packets that might wait before.
        before: usize,
        /// The rate of what waits.
        #[serde(serialize_with = "mbps_or_null", rename = "rate_mbps")]
        rate: Option<BitRate>,
    },
    /// Too many packets wait for a verdict: some were not taken.
    Overflow {
        /// Packets that were sent on without being held.
        packets: u64,
    },
    /// The clock that the agent reads went back, or leapt.
    ClockJump {
        /// By how much it leapt; zero if it went back.
        #[serde(serialize_with = "millis", rename = "by_ms")]
        by: Span,
    },
}

impl Decision {
    /// The reason, as a sentence.
    #[must_use]
    pub fn why(&self) -> String {
        match self {
            Self::StationJoined { .. } => "it is associated, and a packet for it or its entry in the kernel came".to_owned(),
            Self::StationLeft { .. } => {
                "the kernel says that it is no longer associated; what was held goes on, since the kernel may know better".to_owned()
            }
            Self::Protected { rule, .. } => format!("its first packet matches rule {rule}"),
            Self::Unprotected { .. } => "no packet came for a minute".to_owned(),
            Self::Permitted { latency, permitted, demand, .. } => match latency {
                Some(latency) if latency > demand => {
                    format!("the last window had {}, above the demand of {demand}: packets go ahead after {}", brief(latency), brief(permitted))
                }
                Some(latency) => format!("the last window had {} of {demand}: packets may queue for {}", brief(latency), brief(permitted)),
                None => format!("nothing is measured yet: it starts with the demand, {demand}"),
            },
            Self::Demand { met: true, measured, demand, .. } => {
                format!("its percentile over a second came down to {}, within {demand}", brief(measured))
            }
            Self::Demand { measured, demand, .. } => {
                format!("its percentile over a second is {}, above {demand}: either others hold the air, or the demand is too tight for this link", brief(measured))
            }
            Self::Window { for_demands: true, .. } => {
                "an urgent packet waits for what is below the agent, so that is kept short while protected flows are active".to_owned()
            }
            Self::Window { .. } => "one aggregate on the air and one behind it keep the radio busy".to_owned(),
            Self::Stalled { silent, .. } => {
                format!("nothing completed for {}: it may sleep, or be out of reach; others do not wait for it", brief(silent))
            }
            Self::Resumed { .. } => "a frame to it completed".to_owned(),
            Self::CompletionsLost { .. } => {
                "later frames to the same station completed long ago, or nothing did at all: the kernel dropped them, or the report was lost".to_owned()
            }
            Self::Buffer { packets, before, .. } if packets < before => {
                "what waits took longer than the drain limit, twice in a row".to_owned()
            }
            Self::Buffer { .. } => "what waits drained within the limit, twice in a row, or the rate became known".to_owned(),
            Self::Overflow { .. } => "the agent holds as many packets as it may".to_owned(),
            Self::ClockJump { .. } => "the machine slept, or was stopped; the monotonic clock is what counts".to_owned(),
        }
    }
}

/// Verdicts and decisions, each in the order in which they were made.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// One for each packet that leaves the agent.
    pub verdicts: Vec<Verdict>,
    /// For the journal.
    pub decisions: Vec<Decision>,
}

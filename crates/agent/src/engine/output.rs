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

fn mbps<S: Serializer>(rate: &BitRate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(rate.as_mbps_f64())
}

fn mbps_or_null<S: Serializer>(rate: &Option<BitRate>, serializer: S) -> Result<S::Ok, S::Error> {
    match rate {
        Some(rate) => serializer.serialize_f64(rate.as_mbps_f64()),
        None => serializer.serialize_none(),
    }
}

/// A time rounded to a hundredth of a millisecond, for sentences.
fn brief(span: &Span) -> String {
    format!("{:.2} ms", span.as_millis_f64())
}

/// A decision or an observation of the engine. The journal adds the time and [`Decision::why`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Decision {
    /// A station is known and served.
    StationJoined {
        /// Its address.
        station: MacAddress,
        /// Its number in the status.
        id: u16,
        /// The PHY rate of data to it.
        #[serde(serialize_with = "mbps_or_null", rename = "rate_mbps")]
        rate: Option<BitRate>,
    },
    /// A station left.
    StationLeft {
        /// Its address.
        station: MacAddress,
        /// Held packets that were released to the kernel.
        released: usize,
        /// Packets below that are no longer waited for.
        forgotten: usize,
    },
    /// A flow becomes protected.
    Protected {
        /// The rule that matched.
        rule: String,
        /// The flow's station.
        station: MacAddress,
        /// The number of the flow.
        flow: u32,
        /// The demanded latency.
        #[serde(serialize_with = "millis", rename = "demand_ms")]
        demand: Span,
        /// The percentile that the demand bounds.
        percentile: f64,
    },
    /// A flow is no longer protected.
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
        /// The permitted queueing latency.
        #[serde(serialize_with = "millis", rename = "permitted_ms")]
        permitted: Span,
        /// The latency of the last window.
        #[serde(serialize_with = "millis_or_null", rename = "latency_ms")]
        latency: Option<Span>,
        /// The demanded latency.
        #[serde(serialize_with = "millis", rename = "demand_ms")]
        demand: Span,
    },
    /// A demand was met in a second after one in which it was not, or the reverse.
    Demand {
        /// The rule.
        rule: String,
        /// Whether it was met.
        met: bool,
        /// The percentile of the second.
        #[serde(serialize_with = "millis", rename = "measured_ms")]
        measured: Span,
        /// The demanded latency.
        #[serde(serialize_with = "millis", rename = "demand_ms")]
        demand: Span,
        /// Packets acknowledged in the second.
        packets: u64,
    },
    /// A demand was changed over the control socket. The record of the one before ends.
    DemandChanged {
        /// The rule.
        rule: String,
        /// The new latency.
        #[serde(serialize_with = "millis", rename = "demand_ms")]
        demand: Span,
        /// The new percentile.
        percentile: f64,
        /// The latency demanded before.
        #[serde(serialize_with = "millis", rename = "before_ms")]
        before: Span,
        /// The percentile that it bounded.
        before_percentile: f64,
        /// Seconds in which the demand before was met.
        met_s: u64,
        /// Seconds with acknowledged packets under it.
        of_s: u64,
        /// Its percentile, measured while it was in force.
        #[serde(serialize_with = "millis_or_null", rename = "measured_ms")]
        measured: Option<Span>,
        /// Flows whose demand changed.
        flows: usize,
    },
    /// A rule came to be over its rate, or is within it again.
    Rate {
        /// The rule.
        rule: String,
        /// Whether its packets are not protected now.
        over: bool,
        /// The rate up to which they are.
        #[serde(serialize_with = "mbps", rename = "rate_mbps")]
        rate: BitRate,
    },
    /// More is sent to a station than the agent released.
    UnseenTraffic {
        /// Its address.
        station: MacAddress,
        /// Bytes that are not the agent's, since the last reading of the station's counters.
        bytes: u64,
        /// The airtime that they take at least.
        #[serde(serialize_with = "millis", rename = "airtime_ms")]
        airtime: Span,
        /// Rules with a flow at the station.
        rules: Vec<String>,
    },
    /// A station was sent packets that passed before the agent knew that they go to it.
    UnmeasuredTraffic {
        /// Its address.
        station: MacAddress,
        /// Bytes that waited for its address, since the last reading of the station's counters.
        bytes: u64,
        /// The airtime that they take at least.
        #[serde(serialize_with = "millis", rename = "airtime_ms")]
        airtime: Span,
        /// Rules with a flow at the station.
        rules: Vec<String>,
    },
    /// A station is sent only what the agent released, or little more.
    UnseenTrafficEnded {
        /// Its address.
        station: MacAddress,
    },
    /// The release window changed.
    Window {
        /// The access category.
        category: Category,
        /// The airtime that may be below the agent.
        #[serde(serialize_with = "millis", rename = "airtime_ms")]
        airtime: Span,
        /// Whether demands of protected flows shorten it.
        for_demands: bool,
    },
    /// A station has no completions: its packets no longer fill the window.
    Stalled {
        /// Its address.
        station: MacAddress,
        /// Estimated airtime of its packets below.
        #[serde(serialize_with = "millis", rename = "outstanding_ms")]
        outstanding: Span,
        /// Time without a completion.
        #[serde(serialize_with = "millis", rename = "silent_ms")]
        silent: Span,
    },
    /// A stalled station has completions again.
    Resumed {
        /// Its address.
        station: MacAddress,
    },
    /// Completions did not arrive.
    CompletionsLost {
        /// The packets' station.
        station: MacAddress,
        /// Number of such packets since the station's last report.
        packets: u64,
    },
    /// WQM changed the size of a buffer.
    Buffer {
        /// The access category; `None` if the buffer is shared by all.
        category: Option<Category>,
        /// The new size in packets.
        packets: usize,
        /// The previous size in packets.
        before: usize,
        /// The mean rate of the backlog.
        #[serde(serialize_with = "mbps_or_null", rename = "rate_mbps")]
        rate: Option<BitRate>,
    },
}

impl Decision {
    /// The reason, as a sentence.
    #[must_use]
    pub fn why(&self) -> String {
        match self {
            Self::StationJoined { .. } => "a packet to the station arrived, or nl80211 lists it".to_owned(),
            Self::StationLeft { .. } => {
                "the station is no longer associated; packets held for it are released to the kernel".to_owned()
            }
            Self::Protected { rule, .. } => format!("a packet matches rule {rule}"),
            Self::Unprotected { .. } => "no packet for a minute, or packets match the rule no longer".to_owned(),
            Self::Permitted { latency, permitted, demand, .. } => match latency {
                Some(latency) if latency > demand => {
                    format!("the latency of the last window was {}, above the demand of {demand}: packets are urgent after {}", brief(latency), brief(permitted))
                }
                Some(latency) => format!("the latency of the last window was {}, within the demand of {demand}: packets are urgent after {}", brief(latency), brief(permitted)),
                None => format!("no latency is measured yet: the initial value follows from the demand of {demand}"),
            },
            Self::Demand { met: true, measured, demand, .. } => {
                format!("the percentile over a second is {}, within {demand}", brief(measured))
            }
            Self::Demand { measured, demand, .. } => {
                format!("the percentile over a second is {}, above {demand}: the channel is busy, or the demand is too tight for this link", brief(measured))
            }
            Self::Rate { over: true, rate, .. } => {
                format!("packets of the rule came faster than {rate}: they are released as those without a rule")
            }
            Self::Rate { rate, .. } => format!("packets of the rule come at no more than {rate}: they are protected again"),
            Self::UnseenTraffic { rules, .. } => {
                let known = "the station is sent packets past the agent: flow offload, rules of others, or the access point's own";
                with_doubt(known, rules)
            }
            Self::UnmeasuredTraffic { rules, .. } => {
                let known = "packets passed through the agent before it knew the station's address, and waited in the kernel for it, unmeasured";
                with_doubt(known, rules)
            }
            Self::UnseenTrafficEnded { .. } => "the station's counters show what the agent released".to_owned(),
            Self::DemandChanged { before, .. } => {
                format!("asked for over the control socket; the demand was {before}")
            }
            Self::Window { for_demands: true, .. } => {
                "urgent packets wait for those below the agent, so the window is short while protected flows are active".to_owned()
            }
            Self::Window { .. } => "one aggregate on the air and one behind it keep the radio busy".to_owned(),
            Self::Stalled { silent, .. } => {
                format!("no completion for {}: the station may sleep or be out of range; its packets no longer fill the window", brief(silent))
            }
            Self::Resumed { .. } => "a frame to the station completed, or its packets below were given up".to_owned(),
            Self::CompletionsLost { .. } => {
                "later frames to the station completed, or the completion timeout passed: the kernel dropped the packets, or their reports were lost".to_owned()
            }
            Self::Buffer { packets, before, .. } if packets < before => {
                "the backlog needed longer than the drain limit in two consecutive intervals".to_owned()
            }
            Self::Buffer { .. } => "the backlog drained within the limit in two consecutive intervals, or the rate became known".to_owned(),
        }
    }
}

/// A sentence, and that demands are unknown if rules have a flow at the station.
fn with_doubt(known: &str, rules: &[String]) -> String {
    if rules.is_empty() {
        known.to_owned()
    } else {
        format!("{known}; whether its demands are met is unknown")
    }
}

/// Whether packets go through without a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// They do, until `limit` frames are below that were queued from now on.
    Bypass {
        /// The limit.
        limit: u32,
    },
    /// They go on to do so, with this limit.
    Limit(u32),
    /// They wait for their verdicts.
    Held,
}

/// Verdicts and decisions, each in order.
#[derive(Debug, Clone, Default)]
pub struct Output {
    /// One for each packet that is released or dropped.
    pub verdicts: Vec<Verdict>,
    /// Entries for the journal.
    pub decisions: Vec<Decision>,
    /// A change of the way that packets take.
    pub passage: Option<Passage>,
}

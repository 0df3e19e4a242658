//! Configuration of the agent: a file, overridden by the command line.

mod radios;
mod read;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use airbound_control::link::LawConfig;
use airbound_control::link::law::InnerQueue;
use airbound_control::queue::{Demand, FqCodelAirtimeConfig, LastPqConfig, QueueConfig, WqmConfig};
use airbound_units::{BitRate, ConfigError, Span};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::{Engine, EngineConfig, Protected, WindowConfig};
use crate::error::AgentError;
use crate::expression::Expression;
use crate::room::RoomSettings;

pub use radios::Radio;

/// The treatment of the packets that the agent holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scheme {
    /// Linux's queues for Wi-Fi; flows with a latency demand are served before all others while they are urgent.
    #[default]
    LastPq,
    /// Linux's queues for Wi-Fi: flow queues with CoDel for each station, airtime fairness.
    Linux,
    /// One queue with a time limit, two PSDUs below.
    Law,
    /// A drop-tail buffer of adaptive size.
    Wqm,
    /// Another queue of [`QueueConfig::KINDS`] with its defaults, by its name.
    Queue(&'static str),
}

impl Scheme {
    /// The schemes that the agent sets up by itself.
    const OWN: [(&str, Self); 4] =
        [("last-pq", Self::LastPq), ("linux", Self::Linux), ("law", Self::Law), ("wqm", Self::Wqm)];

    /// All schemes: not `zhuge`, whose feedback the agent does not have in its hands.
    pub fn all() -> impl Iterator<Item = Self> {
        let is_left_out = |name: &str| name == "zhuge" || Self::OWN.iter().any(|(own, _)| *own == name);
        let others = QueueConfig::KINDS.iter().map(|(name, _)| *name).filter(move |name| !is_left_out(name));
        Self::OWN.iter().map(|(_, scheme)| *scheme).chain(others.map(Self::Queue))
    }

    /// The name in configuration files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Queue(name) => name,
            own => Self::OWN.iter().find(|(_, scheme)| *scheme == own).map_or("", |(name, _)| name),
        }
    }
}

impl FromStr for Scheme {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let kind = if name == "fq-codel-airtime" { "linux" } else { name };
        Self::all().find(|scheme| scheme.name() == kind).ok_or_else(|| {
            let known: Vec<&str> = Self::all().map(Self::name).collect();
            format!("scheme {name:?} is unknown; allowed are {}", known.join(", "))
        })
    }
}

impl Serialize for Scheme {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Scheme {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The mechanism that enforces WQM's buffer size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Chosen for the driver: `txq-limit` where mac80211 bounds the driver's queue (airtime queue limit), `hold` elsewhere.
    #[default]
    Auto,
    /// The agent holds packets above a short release window: for drivers with deep queues of their own.
    Hold,
    /// The limit of mac80211's queues (nl80211).
    TxqLimit,
    /// The length of the interface's queue (`txqueuelen`): for drivers below a queueing discipline.
    Txqueuelen,
}

/// The netfilter hook at which packets are intercepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plane {
    /// Bridged if the interface is a port of a bridge, else routed.
    #[default]
    Auto,
    /// IP forwarding (nftables `inet`, hook forward).
    Routed,
    /// Bridge forwarding (nftables `bridge`, hook forward).
    Bridged,
}

/// The source of completions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompletionSource {
    /// eBPF where it is available, else counters.
    #[default]
    Auto,
    /// eBPF in mac80211: each frame.
    Ebpf,
    /// The counters of nl80211, read at an interval.
    Counters,
}

/// The endpoint for metrics and status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metrics {
    /// None.
    Off,
    /// HTTP at this address.
    At(SocketAddr),
}

/// The port of metrics and status.
pub const METRICS_PORT: u16 = 9478;

impl Default for Metrics {
    fn default() -> Self {
        Self::At(SocketAddr::from(([127, 0, 0, 1], METRICS_PORT)))
    }
}

impl FromStr for Metrics {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        let wrong = |_| {
            format!(
                "metrics is {text:?}; allowed are an address such as \"127.0.0.1:{METRICS_PORT}\", and \"off\""
            )
        };
        text.parse().map(Self::At).map_err(wrong)
    }
}

impl Serialize for Metrics {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Off => serializer.serialize_str("off"),
            Self::At(address) => serializer.collect_str(address),
        }
    }
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A rule: a condition on packets, and the demand on those that match.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// The packets that the rule covers.
    pub condition: Expression,
    /// The demand on these packets.
    pub demand: Demand,
    /// The rate up to which they are protected, together; `None`: no limit.
    pub rate: Option<BitRate>,
}

/// Settings of the part of Law that a program above the driver can enforce (docs/understand/law.md describes all of Law).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LawSettings {
    /// Limit_q, the longest wait in the agent; older packets are dropped. 1 ms to 10 s, default 40 ms (Sec. 4.1).
    pub limit_q: Span,
    /// Limit_h, the airtime of one PSDU, contention included: 1 ms to 50 ms, default 3 ms (Sec. 4.1). The agent cannot abort a
    /// transmission; it bounds the estimated airtime of what it releases.
    pub limit_h: Span,
    /// Tries of a transmission, where the driver supports a limit for each station and TID: 1 to 30, default 4 as in the stable state.
    pub tries: u8,
    /// The queue that decides the order. Default `linux`.
    pub inside: InnerQueue,
}

impl Default for LawSettings {
    fn default() -> Self {
        let law = LawConfig::default();
        Self { limit_q: law.limit_q, limit_h: law.limit_h, tries: law.tries, inside: law.inner_queue }
    }
}

impl LawSettings {
    /// Limit_h less the share for contention and acknowledgement (`overhead` of [`LawConfig`]).
    #[must_use]
    pub fn airtime(&self) -> Span {
        self.limit_h - LawConfig::default().overhead
    }

    fn check(&self) -> Result<(), ConfigError> {
        let (limit_q, limit_h, tries) = (self.limit_q, self.limit_h, self.tries);
        let (least, most) = (Span::from_millis(1), Span::from_millis(50));
        ConfigError::check(
            (least..=Span::from_secs(10)).contains(&limit_q),
            "law.limit-q",
            limit_q,
            "1 ms to 10 s",
        )?;
        ConfigError::check((least..=most).contains(&limit_h), "law.limit-h", limit_h, "1 ms to 50 ms")?;
        ConfigError::check((1..=30).contains(&tries), "law.tries", tries, "1 to 30")
    }
}

/// A value that is wrong: its key in the file, and a sentence that begins with it.
#[derive(Debug)]
struct Wrong {
    key: String,
    problem: String,
}

impl From<ConfigError> for Wrong {
    /// Keys of a demand are those of its rule; queues name theirs without their table.
    fn from(error: ConfigError) -> Self {
        let ConfigError::OutOfRange { key, value, allowed } = error else {
            return Self { key: String::new(), problem: error.to_string() };
        };
        let (table, rest) = key.split_once('.').unwrap_or((key, ""));
        let key = match table {
            "demand" => format!("protect.{rest}"),
            "law" | "window" | "protect" | "watchdog" | "hold-packets" | "time-limit" => key.to_owned(),
            _ => format!("queue.{key}"),
        };
        Self { problem: format!("{key} is {value}; allowed is {allowed}"), key }
    }
}

/// The agent's configuration, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Which of several radios of a file; `None`: it is the only one.
    pub radio: Option<Radio>,
    /// The Wi-Fi interfaces, all of one radio; none: all access points of the machine's only radio that has any.
    pub interfaces: Vec<String>,
    /// The scheme.
    pub scheme: Scheme,
    /// The parameters of the scheme's queue; `None` for the defaults.
    pub queue: Option<QueueConfig>,
    /// Settings of scheme `law`.
    pub law: LawSettings,
    /// The mechanism of scheme `wqm`.
    pub mechanism: Mechanism,
    /// The release window.
    pub window: WindowConfig,
    /// The limit of held packets: 1 to 65 536, default 4096.
    pub hold_packets: usize,
    /// The netfilter hook at which packets are intercepted.
    pub plane: Plane,
    /// The number of the packet queue (NFQUEUE). `None`: the first from 77 on that no process has.
    pub queue_number: Option<u16>,
    /// Whether TCP super-packets are held unsegmented, one verdict for up to 44 packets. Default: they are, since the kernel otherwise
    /// segments them at a cost: on a bridge 1.6 in the place of 383 Mb/s, on a router 2.7 us for each packet.
    pub super_packets: bool,
    /// Whether packets go through without being held while none would wait. Default: they do, with completions from eBPF, since asking
    /// costs more than sending a packet that comes alone.
    pub pass_through: bool,
    /// The source of completions.
    pub completions: CompletionSource,
    /// The endpoint for metrics and status. Default loopback.
    pub metrics: Metrics,
    /// The journal's file; `None`: standard error.
    pub journal: Option<PathBuf>,
    /// The longest time without a heartbeat: 200 ms to 10 s, default 700 ms.
    pub watchdog: Span,
    /// The room that is told the sum of each station's channel.
    pub room: Option<RoomSettings>,
    /// The rules, by priority: the first that matches applies.
    pub rules: Vec<Rule>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            radio: None,
            interfaces: Vec::new(),
            scheme: Scheme::default(),
            queue: None,
            law: LawSettings::default(),
            mechanism: Mechanism::default(),
            window: WindowConfig::default(),
            hold_packets: 4096,
            plane: Plane::default(),
            queue_number: None,
            super_packets: true,
            pass_through: true,
            completions: CompletionSource::default(),
            metrics: Metrics::default(),
            journal: None,
            watchdog: Span::from_millis(700),
            room: None,
            rules: Vec::new(),
        }
    }
}

impl Config {
    /// Checks the ranges of all values, and that they are consistent.
    ///
    /// # Errors
    /// A value is out of range, or two values contradict each other.
    pub fn check(&self) -> Result<(), AgentError> {
        self.first_wrong().map_err(|wrong| AgentError::Value(wrong.problem))
    }

    /// The first value that is out of range, or contradicts another.
    fn first_wrong(&self) -> Result<(), Wrong> {
        self.law.check()?;
        let watchdogs = Span::from_millis(200)..=Span::from_secs(10);
        ConfigError::check(watchdogs.contains(&self.watchdog), "watchdog", self.watchdog, "200 ms to 10 s")?;
        if self.mechanism != Mechanism::Auto && self.scheme != Scheme::Wqm {
            let problem =
                format!("mechanism applies to scheme wqm only; the scheme is {}", self.scheme.name());
            return Err(Wrong { key: "mechanism".to_owned(), problem });
        }
        if let Some(problem) = self.room.as_ref().and_then(|room| room.check().err()) {
            return Err(Wrong { key: "room.address".to_owned(), problem });
        }
        for (place, rule) in self.rules.iter().enumerate() {
            if self.rules.iter().take(place).any(|other| other.name == rule.name) {
                let problem = format!("protect.name {:?} occurs twice; names of rules are unique", rule.name);
                return Err(Wrong { key: "protect.name".to_owned(), problem });
            }
        }
        Ok(Engine::new(self.engine(), 0).map(drop)?)
    }

    /// Whether packets may go through: it is not switched off, and eBPF may count what is below.
    pub(crate) fn may_pass_through(&self) -> bool {
        self.pass_through && self.completions != CompletionSource::Counters
    }

    /// Returns the engine's configuration.
    #[must_use]
    pub fn engine(&self) -> EngineConfig {
        let is_law = self.scheme == Scheme::Law;
        let mut window = self.window;
        if is_law {
            window.aggregate = window.aggregate.min(self.law.airtime());
        }
        let rules = self.rules.iter().map(|rule| Protected {
            name: rule.name.clone(),
            demand: rule.demand,
            rate: rule.rate,
        });
        EngineConfig {
            queue: self.engine_queue(),
            time_limit: is_law.then_some(self.law.limit_q),
            window,
            hold_packets: self.hold_packets,
            rules: rules.collect(),
        }
    }

    /// The queue with the agent's defaults: mac80211's airtime queue limit is off, since the release window bounds what is below.
    fn engine_queue(&self) -> QueueConfig {
        let linux = FqCodelAirtimeConfig {
            airtime_queue_limit: None,
            packets: self.hold_packets.clamp(1, 8192),
            ..FqCodelAirtimeConfig::default()
        };
        if self.scheme == Scheme::Law {
            return match &self.law.inside.0 {
                // Default parameters are replaced by the agent's.
                QueueConfig::LastPq(config) if **config == LastPqConfig::default() => {
                    QueueConfig::LastPq(Box::new(LastPqConfig { linux, ..LastPqConfig::default() }))
                }
                other => other.clone(),
            };
        }
        self.queue.clone().unwrap_or_else(|| match self.scheme {
            Scheme::LastPq | Scheme::Law => {
                QueueConfig::LastPq(Box::new(LastPqConfig { linux, ..LastPqConfig::default() }))
            }
            Scheme::Linux => QueueConfig::FqCodelAirtime(linux),
            // B_min is the longest aggregate that the network allows (Sec. IV-B): 32 for the paper's card, `window.packets` here.
            Scheme::Wqm => {
                QueueConfig::Wqm(WqmConfig { subframes: self.window.packets, ..WqmConfig::default() })
            }
            Scheme::Queue(name) => match QueueConfig::named(name).unwrap_or_default() {
                QueueConfig::Airbound(mut airbound) => {
                    airbound.last_pq.linux = linux;
                    QueueConfig::Airbound(airbound)
                }
                other => other,
            },
        })
    }

    /// Whether demands decide the order of service; other schemes only measure them.
    #[must_use]
    pub fn protects(&self) -> bool {
        matches!(self.engine_queue(), QueueConfig::LastPq(_) | QueueConfig::Airbound(_))
    }
}

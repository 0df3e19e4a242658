//! Configuration of the agent: a file, and on top of it the command line.

mod read;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use airbound_control::link::LawConfig;
use airbound_control::link::law::InnerQueue;
use airbound_control::queue::{Demand, FqCodelAirtimeConfig, LastPqConfig, QueueConfig, WqmConfig};
use airbound_units::Span;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::engine::{Engine, EngineConfig, Protected, WindowConfig};
use crate::error::AgentError;
use crate::expression::Expression;

/// The treatment of the packets that the agent holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scheme {
    /// Linux's queues for Wi-Fi, but flows with a latency demand go before all others while they are urgent.
    #[default]
    LastPq,
    /// Linux's queues for Wi-Fi: flow queues with CoDel for each station, airtime fairness.
    #[serde(alias = "fq-codel-airtime")]
    Linux,
    /// One queue with a time limit, two PSDUs below.
    Law,
    /// A drop-tail buffer of a size that adapts.
    Wqm,
    /// First in, first out.
    Fifo,
    /// CoDel over one queue.
    Codel,
    /// PIE over one queue.
    Pie,
    /// Flow queues with CoDel over everything in a category.
    FqCodel,
    /// Stations in turn.
    RoundRobin,
}

impl Scheme {
    /// All of them with their names.
    const NAMES: [(&str, Self); 9] = [
        ("last-pq", Self::LastPq),
        ("linux", Self::Linux),
        ("law", Self::Law),
        ("wqm", Self::Wqm),
        ("fifo", Self::Fifo),
        ("codel", Self::Codel),
        ("pie", Self::Pie),
        ("fq-codel", Self::FqCodel),
        ("round-robin", Self::RoundRobin),
    ];

    /// Its name, as in a file.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, scheme)| *scheme == self).map_or("", |(name, _)| name)
    }
}

impl FromStr for Scheme {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, scheme)| *scheme);
        found.ok_or_else(|| {
            let known: Vec<&str> = Self::NAMES.iter().map(|(name, _)| *name).collect();
            format!("there is no scheme {name:?}; allowed are {}", known.join(", "))
        })
    }
}

/// The mechanism that enforces WQM's buffer size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Chosen for the driver: mac80211's own limit where it bounds what the driver takes (airtime queue limit), the agent's hold
    /// elsewhere.
    #[default]
    Auto,
    /// The agent holds packets, and releases few: for drivers with deep queues of their own.
    Hold,
    /// The limit of mac80211's queues (nl80211).
    TxqLimit,
    /// The length of the interface's queue (`txqueuelen`): for drivers below a queueing discipline.
    Txqueuelen,
}

/// Where packets are taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Plane {
    /// Bridged if the interface is a port of a bridge, else routed.
    #[default]
    Auto,
    /// Where packets are forwarded by address (nftables `inet`, hook forward).
    Routed,
    /// Where frames are forwarded (nftables `bridge`, hook forward).
    Bridged,
}

/// Where metrics and status can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metrics {
    /// Nowhere.
    Off,
    /// At this address, over HTTP.
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

/// A rule: which packets, and what is demanded of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Which packets.
    pub condition: Expression,
    /// The demand on these packets.
    pub demand: Demand,
}

/// Settings of Law, as far as a program above the driver can do it (docs/understand/law.md has the whole).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LawSettings {
    /// Limit_q: what waited longer in the agent is dropped; 1 ms to 10 s. Default 40 ms (Sec. 4.1).
    pub limit_q: Span,
    /// Limit_h: what one PSDU may take, 1 ms to 50 ms. The agent cannot end a transmission, but it forms none that is meant to take longer.
    /// Default 3 ms (Sec. 4.1).
    pub limit_h: Span,
    /// Tries of a transmission, where the driver lets that be set for each station and category; 1 to 30. Default 4, as in the
    /// stable state.
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
    /// Returns Limit_h less the share for contention and acknowledgement (`overhead` of [`LawConfig`]).
    #[must_use]
    pub fn airtime(&self) -> Span {
        self.limit_h - LawConfig::default().overhead
    }

    fn check(&self) -> Result<(), AgentError> {
        let wrong = |key: &str, value: String, allowed: &str| {
            AgentError::Value(format!("law.{key} is {value}; allowed is {allowed}"))
        };
        if !(Span::from_millis(1)..=Span::from_secs(10)).contains(&self.limit_q) {
            return Err(wrong("limit-q", self.limit_q.to_string(), "1 ms to 10 s"));
        }
        if !(Span::from_millis(1)..=Span::from_millis(50)).contains(&self.limit_h) {
            return Err(wrong("limit-h", self.limit_h.to_string(), "1 ms to 50 ms"));
        }
        if !(1..=30).contains(&self.tries) {
            return Err(wrong("tries", self.tries.to_string(), "1 to 30"));
        }
        Ok(())
    }
}

/// The agent's configuration, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The Wi-Fi interface; `None` if the command line has to name it.
    pub interface: Option<String>,
    /// The scheme.
    pub scheme: Scheme,
    /// The parameters of the scheme's queue, where they are not the defaults.
    pub queue: Option<QueueConfig>,
    /// With `scheme = "law"`.
    pub law: LawSettings,
    /// With `scheme = "wqm"`, what enforces the size.
    pub mechanism: Mechanism,
    /// The release window.
    pub window: WindowConfig,
    /// Most packets that are held: 1 to 65 536. Default 4096.
    pub hold_packets: usize,
    /// Where packets are taken.
    pub plane: Plane,
    /// The number of the packet queue (NFQUEUE). Default 77.
    pub queue_number: u16,
    /// Whether TCP super-packets come whole. Default no: single packets can be scheduled, but where the kernel bridges TCP it has to be yes.
    pub super_packets: bool,
    /// Where metrics and status can be had. Default loopback.
    pub metrics: Metrics,
    /// Where the journal is written; `None`: standard error.
    pub journal: Option<PathBuf>,
    /// Longest time without a sign of life of the agent: 200 ms to 10 s. Default 700 ms.
    pub watchdog: Span,
    /// Whom to protect.
    pub rules: Vec<Rule>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            interface: None,
            scheme: Scheme::default(),
            queue: None,
            law: LawSettings::default(),
            mechanism: Mechanism::default(),
            window: WindowConfig::default(),
            hold_packets: 4096,
            plane: Plane::default(),
            queue_number: 77,
            super_packets: false,
            metrics: Metrics::default(),
            journal: None,
            watchdog: Span::from_millis(700),
            rules: Vec::new(),
        }
    }
}

impl Config {
    /// Checks what is not checked by its parts.
    ///
    /// # Errors
    /// A value is out of range, or values do not fit together.
    pub fn check(&self) -> Result<(), AgentError> {
        self.law.check()?;
        if !(Span::from_millis(200)..=Span::from_secs(10)).contains(&self.watchdog) {
            return Err(AgentError::Value(format!(
                "watchdog is {}; allowed is 200 ms to 10 s",
                self.watchdog
            )));
        }
        if self.mechanism != Mechanism::Auto && self.scheme != Scheme::Wqm {
            return Err(AgentError::Value(format!(
                "mechanism is for scheme wqm; the scheme is {}",
                self.scheme.name()
            )));
        }
        for (place, rule) in self.rules.iter().enumerate() {
            if self.rules.iter().take(place).any(|other| other.name == rule.name) {
                return Err(AgentError::Value(format!("two rules are named {:?}", rule.name)));
            }
        }
        Engine::new(self.engine(), 0)?;
        Ok(())
    }

    /// Returns the engine's configuration.
    #[must_use]
    pub fn engine(&self) -> EngineConfig {
        let is_law = self.scheme == Scheme::Law;
        let mut window = self.window;
        if is_law {
            window.aggregate = window.aggregate.min(self.law.airtime());
        }
        let rules = self.rules.iter().map(|rule| Protected { name: rule.name.clone(), demand: rule.demand });
        EngineConfig {
            queue: self.engine_queue(),
            time_limit: is_law.then_some(self.law.limit_q),
            window,
            hold_packets: self.hold_packets,
            rules: rules.collect(),
        }
    }

    /// The queue with the defaults of an agent. What lies below is bounded by the window, so mac80211's airtime queue limit, meant for
    /// that, is off.
    fn engine_queue(&self) -> QueueConfig {
        let linux = FqCodelAirtimeConfig {
            airtime_queue_limit: None,
            packets: self.hold_packets.clamp(1, 8192),
            ..FqCodelAirtimeConfig::default()
        };
        if self.scheme == Scheme::Law {
            return match &self.law.inside.0 {
                // Named without parameters, it gets those of an agent.
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
            // B_min is the longest aggregate that the network allows (Sec. IV-B): the paper's 32 are its card's, here it is what the window
            // takes for one.
            Scheme::Wqm => {
                QueueConfig::Wqm(WqmConfig { subframes: self.window.packets, ..WqmConfig::default() })
            }
            Scheme::Fifo => QueueConfig::Fifo(Default::default()),
            Scheme::Codel => QueueConfig::Codel(Default::default()),
            Scheme::Pie => QueueConfig::Pie(Default::default()),
            Scheme::FqCodel => QueueConfig::FqCodel(Default::default()),
            Scheme::RoundRobin => QueueConfig::RoundRobin(Default::default()),
        })
    }

    /// Whether demands decide who goes first; elsewhere they are measured only.
    #[must_use]
    pub fn protects(&self) -> bool {
        matches!(self.engine_queue(), QueueConfig::LastPq(_))
    }
}

//! The agent's configuration file, and what the command line makes of it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use airbound_control::link::LawConfig;
use airbound_control::link::law::Inside;
use airbound_control::queue::{Demand, FqCodelAirtimeConfig, LastPqConfig, QueueConfig, WqmConfig};
use airbound_units::Span;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Spanned;

use crate::engine::{Engine, EngineConfig, Protected, WindowConfig};
use crate::error::AgentError;
use crate::expression::Expression;

/// What the agent does with the packets that it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scheme {
    /// What Linux does for Wi-Fi, and flows with a latency demand before all others while they are urgent.
    #[default]
    LastPq,
    /// What Linux does: flow queues with CoDel for each station, airtime fairness.
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

/// What enforces WQM's buffer size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// What the driver suggests: mac80211's own limit where it bounds what the driver takes (airtime queue limit), the agent's hold
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

/// A latency demand of the packets that match.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenRule {
    #[serde(default)]
    name: Option<String>,
    r#match: Spanned<String>,
    latency: Spanned<Span>,
    #[serde(default)]
    percentile: Option<Percentile>,
}

/// A percentile that may be written as a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum Percentile {
    Whole(u8),
    Part(#[serde(deserialize_with = "tenths")] u32),
}

/// Thousandths of a percent, so that rules compare as equal.
fn tenths<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let value = f64::deserialize(deserializer)?;
    if value > 0.0 && value <= 100.0 {
        Ok((value * 1000.0).round() as u32)
    } else {
        Err(serde::de::Error::custom(format!("percentile is {value}; allowed is more than 0, up to 100")))
    }
}

impl Percentile {
    fn value(self) -> f64 {
        match self {
            Self::Whole(value) => f64::from(value),
            Self::Part(thousandths) => f64::from(thousandths) / 1000.0,
        }
    }
}

/// A rule: which packets, and what is demanded of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// Which packets.
    pub condition: Expression,
    /// What is demanded.
    pub demand: Demand,
}

/// What of Law a program above the driver can do (docs/law.md has the whole).
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
    pub inside: Inside,
}

impl Default for LawSettings {
    fn default() -> Self {
        let law = LawConfig::default();
        Self { limit_q: law.limit_q, limit_h: law.limit_h, tries: law.tries, inside: law.inside }
    }
}

impl LawSettings {
    /// What contention and acknowledgement take of Limit_h (as `overhead` of [`LawConfig`]).
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

/// The configuration file, key by key.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Written {
    interface: Option<String>,
    scheme: Option<Scheme>,
    queue: Option<QueueConfig>,
    law: LawSettings,
    mechanism: Mechanism,
    window: WindowConfig,
    hold_packets: usize,
    plane: Plane,
    queue_number: u16,
    super_packets: bool,
    metrics: Metrics,
    journal: Option<PathBuf>,
    watchdog: Span,
    protect: Vec<WrittenRule>,
}

impl Default for Written {
    fn default() -> Self {
        let config = Config::default();
        Self {
            interface: None,
            scheme: None,
            queue: None,
            law: config.law,
            mechanism: config.mechanism,
            window: config.window,
            hold_packets: config.hold_packets,
            plane: config.plane,
            queue_number: config.queue_number,
            super_packets: config.super_packets,
            metrics: config.metrics,
            journal: None,
            watchdog: config.watchdog,
            protect: Vec::new(),
        }
    }
}

/// What the agent is told, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The Wi-Fi interface; `None` if the command line has to name it.
    pub interface: Option<String>,
    /// What it does.
    pub scheme: Scheme,
    /// The parameters of the scheme's queue, where they are not the defaults.
    pub queue: Option<QueueConfig>,
    /// With `scheme = "law"`.
    pub law: LawSettings,
    /// With `scheme = "wqm"`, what enforces the size.
    pub mechanism: Mechanism,
    /// How much is released at a time.
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
    /// How long the agent may show no sign of life: 200 ms to 10 s. Default 700 ms.
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

/// The line of a place in a text, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

impl Config {
    /// Reads a configuration file's text; `file` names it in messages.
    ///
    /// # Errors
    /// One sentence with the file and the line.
    pub fn read(file: &str, text: &str) -> Result<Self, AgentError> {
        let at = |place: usize, problem: String| AgentError::Config {
            file: file.to_owned(),
            line: line_of(text, place),
            problem,
        };
        let written: Written = toml::from_str(text).map_err(|error| {
            let problem = error.message().trim().replace('\n', "; ");
            at(error.span().map_or(0, |span| span.start), problem)
        })?;
        let scheme = scheme_of(written.scheme, written.queue.as_ref())
            .map_err(|problem| AgentError::Config { file: file.to_owned(), line: 1, problem })?;
        let mut rules = Vec::new();
        for (number, rule) in written.protect.into_iter().enumerate() {
            let (place, latency_at) = (rule.r#match.span().start, rule.latency.span().start);
            let condition = rule.r#match.get_ref().parse();
            let condition = condition.map_err(|error| at(place, format!("protect.match, {error}")))?;
            let percentile = rule.percentile.map_or(95.0, Percentile::value);
            let demand = Demand::new(rule.latency.into_inner(), percentile);
            let demand = demand.map_err(|error| at(latency_at, format!("protect: {error}")))?;
            let name = rule.name.unwrap_or_else(|| format!("rule-{}", number + 1));
            if name.is_empty() || name.len() > 64 || name.contains(['"', '\\', '\n']) {
                return Err(at(
                    place,
                    "protect.name has to have 1 to 64 characters, without quotes and backslashes".to_owned(),
                ));
            }
            rules.push(Rule { name, condition, demand });
        }
        let config = Self {
            interface: written.interface,
            scheme,
            queue: written.queue,
            law: written.law,
            mechanism: written.mechanism,
            window: written.window,
            hold_packets: written.hold_packets,
            plane: written.plane,
            queue_number: written.queue_number,
            super_packets: written.super_packets,
            metrics: written.metrics,
            journal: written.journal,
            watchdog: written.watchdog,
            rules,
        };
        config.check().map_err(|error| AgentError::Value(format!("{file}: {error}")))?;
        Ok(config)
    }

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

    /// What the engine is told.
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
            // ath9k's aggregates, as in the paper; what the agent releases at once is no longer.
            Scheme::Wqm => QueueConfig::Wqm(WqmConfig { subframes: 32, ..WqmConfig::default() }),
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

/// The scheme that a file means: as named, or by the kind of its queue.
fn scheme_of(scheme: Option<Scheme>, queue: Option<&QueueConfig>) -> Result<Scheme, String> {
    let Some(queue) = queue else { return Ok(scheme.unwrap_or_default()) };
    let kind = match queue.name() {
        "fq-codel-airtime" => "linux",
        name => name,
    };
    match scheme {
        None => kind.parse(),
        Some(Scheme::Law) => Err("queue is not for scheme law; write law.inside".to_owned()),
        Some(scheme) if scheme.name() == kind => Ok(scheme),
        Some(scheme) => {
            Err(format!("queue.kind is {kind}, and scheme is {}; one of them is enough", scheme.name()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Config::read("agent.toml", text).expect_err(text).to_string()
    }

    #[test]
    fn an_empty_file_and_a_full_one() {
        assert_eq!(Config::read("a", "").expect("valid"), Config::default());
        let text = r#"
            interface = "wlan0"
            scheme = "last-pq"
            plane = "bridged"
            hold-packets = 2000
            metrics = "off"
            watchdog = "1 s"
            journal = "/var/log/airbound.jsonl"
            queue = { kind = "last-pq", choice = "slack" }
            [window]
            aggregate = "2 ms"
            [[protect]]
            name = "vr"
            match = "udp dport 9944"
            latency = "20 ms"
            [[protect]]
            match = "dscp ef"
            latency = "10 ms"
            percentile = 99.9
        "#;
        let config = Config::read("a", text).expect("valid");
        assert_eq!(
            (config.scheme, config.plane, config.metrics),
            (Scheme::LastPq, Plane::Bridged, Metrics::Off)
        );
        let rules: Vec<_> =
            config.rules.iter().map(|rule| (rule.name.as_str(), rule.demand.percentile())).collect();
        assert_eq!(rules, [("vr", 95.0), ("rule-2", 99.9)]);
        assert_eq!(config.engine().window.aggregate, Span::from_millis(2));
        assert!(config.protects());
    }

    #[test]
    fn a_queue_names_the_scheme() {
        assert_eq!(Config::read("a", "queue = { kind = \"fifo\" }").expect("valid").scheme, Scheme::Fifo);
        assert_eq!(Config::read("a", "queue = { kind = \"linux\" }").expect("valid").scheme, Scheme::Linux);
        assert!(refusal("scheme = \"pie\"\nqueue = { kind = \"fifo\" }").contains("one of them is enough"));
        assert!(refusal("scheme = \"law\"\nqueue = { kind = \"fifo\" }").contains("write law.inside"));
    }

    #[test]
    fn law_keeps_its_limits() {
        let config =
            Config::read("a", "scheme = \"law\"\nlaw = { limit-q = \"30 ms\", inside = \"last-pq\" }");
        let config = config.expect("valid");
        let engine = config.engine();
        assert_eq!(engine.time_limit, Some(Span::from_millis(30)));
        assert_eq!(engine.window.aggregate, Span::from_micros(2500));
        assert!(config.protects());
        assert!(
            refusal("law = { limit-h = \"1 us\" }").contains("law.limit-h is 1 us; allowed is 1 ms to 50 ms")
        );
    }

    #[test]
    fn mistakes_have_a_place_and_a_sentence() {
        assert_eq!(
            refusal("\n[[protect]]\nmatch = \"udp dport x\"\nlatency = \"20 ms\""),
            "agent.toml:3: protect.match, column 11: \"x\" is not a port, 0 to 65535, or a range such as 5000-5010"
        );
        assert!(
            refusal("\n\nshceme = 3").starts_with("agent.toml:3: unknown field `shceme`, expected one of")
        );
        assert!(refusal("[window]\naggregates = 3").starts_with("agent.toml:2: unknown field `aggregates`"));
        assert!(
            refusal("[[protect]]\nmatch = \"udp\"\nlatency = \"20 s\"")
                .contains("agent.toml:3: protect: demand.latency is 20 s")
        );
        assert!(
            refusal("[[protect]]\nmatch = \"udp\"\nlatency = \"1 ms\"").contains("demand"),
            "too short for LAST-PQ"
        );
        assert!(
            refusal("watchdog = \"1 ms\"")
                .contains("agent.toml: watchdog is 1 ms; allowed is 200 ms to 10 s")
        );
        assert!(refusal("mechanism = \"hold\"").contains("mechanism is for scheme wqm"));
        assert!(refusal("hold-packets = 0").contains("hold-packets is 0; allowed is 1 to 65536 packets"));
        assert!(refusal("metrics = \"here\"").contains("metrics is \"here\"; allowed are an address"));
        assert!(refusal("scheme = ").starts_with("agent.toml:1: "));
        assert!("red".parse::<Scheme>().expect_err("unknown").contains("allowed are last-pq, linux"));
        let twice = "[[protect]]\nname = \"a\"\nmatch = \"udp\"\nlatency = \"9 ms\"\n";
        assert!(refusal(&twice.repeat(2)).contains("two rules are named \"a\""));
        for text in ["percentile = 0", "percentile = 100.1", "percentile = -1"] {
            assert!(
                Config::read("a", &format!("[[protect]]\nmatch = \"udp\"\nlatency = \"9 ms\"\n{text}"))
                    .is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn any_text_is_read_or_refused() {
        let keys = [
            "scheme = \"law\"",
            "queue = { kind = \"wqm\" }",
            "[window]",
            "packets = 3",
            "[[protect]]",
            "match = \"udp\"",
            "latency = \"20 ms\"",
            "percentile = 95",
            "watchdog = 3",
            "[law]",
            "tries = 2",
        ];
        bolero::check!().with_type::<(String, Vec<u8>)>().with_iterations(2000).for_each(|(text, picks)| {
            let _ = Config::read("a", text);
            let lines: Vec<&str> =
                picks.iter().take(20).map(|pick| keys[usize::from(*pick) % keys.len()]).collect();
            let _ = Config::read("a", &lines.join("\n"));
        });
    }
}

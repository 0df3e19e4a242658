//! Reads the configuration file. Errors name file and line.

use std::path::PathBuf;

use airbound_control::queue::{Demand, QueueConfig};
use airbound_units::{BitRate, Span};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{CompletionSource, Config, LawSettings, Mechanism, Metrics, Plane, Rule, Scheme, Wrong};
use crate::engine::WindowConfig;
use crate::error::AgentError;
use crate::room::RoomSettings;

/// A latency demand of the packets that match.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct WrittenRule {
    #[serde(default)]
    name: Option<String>,
    r#match: String,
    latency: Span,
    #[serde(default)]
    percentile: Option<Percentile>,
    #[serde(default)]
    rate: Option<BitRate>,
}

/// A percentile, written as an integer or a fraction.
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

/// Bytes of the longest name of an interface (`IFNAMSIZ` less its end).
const LONGEST_INTERFACE: usize = 15;

/// A name, or several, as they are written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a name, or a list of names")]
enum OneOrSeveral {
    One(String),
    Several(Vec<String>),
}

/// Names of interfaces.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "OneOrSeveral")]
struct Interfaces(Vec<String>);

impl TryFrom<OneOrSeveral> for Interfaces {
    type Error = String;

    fn try_from(written: OneOrSeveral) -> Result<Self, String> {
        let names = match written {
            OneOrSeveral::One(name) => vec![name],
            OneOrSeveral::Several(names) => names,
        };
        let is_wrong = |name: &&String| {
            !(1..=LONGEST_INTERFACE).contains(&name.len())
                || name.contains(|c: char| c == '/' || c.is_whitespace())
        };
        match names.iter().find(is_wrong) {
            None => Ok(Self(names)),
            Some(name) => Err(format!(
                "{name:?} names no interface; allowed are 1 to {LONGEST_INTERFACE} bytes without slashes and spaces"
            )),
        }
    }
}

/// The configuration file, key by key.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Written {
    interface: Option<Interfaces>,
    scheme: Option<Scheme>,
    queue: Option<QueueConfig>,
    law: LawSettings,
    mechanism: Mechanism,
    window: WindowConfig,
    hold_packets: usize,
    plane: Plane,
    queue_number: Option<u16>,
    super_packets: bool,
    pass_through: bool,
    completions: CompletionSource,
    metrics: Metrics,
    journal: Option<PathBuf>,
    watchdog: Span,
    room: Option<RoomSettings>,
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
            pass_through: config.pass_through,
            completions: config.completions,
            metrics: config.metrics,
            journal: None,
            watchdog: config.watchdog,
            room: None,
            protect: Vec::new(),
        }
    }
}

/// The line of a byte offset in a text, counted from 1.
fn line_of(text: &str, at: usize) -> usize {
    1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

/// A file's text, and its name for messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl<'a> Source<'a> {
    /// An error at a byte offset.
    pub(super) fn at(&self, place: usize, problem: String) -> AgentError {
        AgentError::Config { file: self.file.to_owned(), line: line_of(self.text, place), problem }
    }

    fn toml_error(&self, error: &toml::de::Error) -> AgentError {
        let problem = error.message().trim().replace('\n', "; ");
        self.at(error.span().map_or(0, |span| span.start), problem)
    }

    /// The file's keys.
    pub(super) fn keys(&self) -> Result<Spanned<DeTable<'a>>, AgentError> {
        DeTable::parse(self.text).map_err(|error| self.toml_error(&error))
    }

    /// Refuses unknown keys and values of wrong types, whatever replaces them.
    pub(super) fn check(&self, keys: Spanned<DeTable<'_>>) -> Result<(), AgentError> {
        self.written(keys).map(drop)
    }

    fn written(&self, keys: Spanned<DeTable<'_>>) -> Result<Written, AgentError> {
        Written::deserialize(toml::de::Deserializer::from(keys)).map_err(|error| self.toml_error(&error))
    }

    /// The configuration that the keys make, without [`Self::check_values`].
    pub(super) fn config(&self, keys: &Spanned<DeTable<'_>>) -> Result<Config, AgentError> {
        let at = |rule, wrong: Wrong| self.at(place(keys, rule, &wrong.key), wrong.problem);
        let written = self.written(keys.clone())?;
        let scheme = scheme_of(written.scheme, written.queue.as_ref())
            .map_err(|problem| at(None, Wrong { key: "queue".to_owned(), problem }))?;
        let mut rules = Vec::new();
        for (number, rule) in written.protect.into_iter().enumerate() {
            let wrong = |key: &str, problem: String| {
                at(Some(number), Wrong { key: format!("protect.{key}"), problem })
            };
            let condition = rule.r#match.parse();
            let condition = condition.map_err(|error| wrong("match", format!("protect.match, {error}")))?;
            let percentile = rule.percentile.map_or(95.0, Percentile::value);
            let demand = Demand::new(rule.latency, percentile);
            let demand = demand.map_err(|error| at(Some(number), error.into()))?;
            let name = rule.name.unwrap_or_else(|| format!("rule-{}", number + 1));
            if name.is_empty() || name.len() > 64 || name.contains(['"', '\\', '\n']) {
                return Err(wrong(
                    "name",
                    "protect.name is invalid; allowed are 1 to 64 bytes without quotes, backslashes and line feeds".to_owned(),
                ));
            }
            rules.push(Rule { name, condition, demand, rate: rule.rate });
        }
        Ok(Config {
            radio: None,
            interfaces: written.interface.map_or_else(Vec::new, |names| names.0),
            scheme,
            queue: written.queue,
            law: written.law,
            mechanism: written.mechanism,
            window: written.window,
            hold_packets: written.hold_packets,
            plane: written.plane,
            queue_number: written.queue_number,
            super_packets: written.super_packets,
            pass_through: written.pass_through,
            completions: written.completions,
            metrics: written.metrics,
            journal: written.journal,
            watchdog: written.watchdog,
            room: written.room,
            rules,
        })
    }

    /// Checks the ranges of values, and that they are consistent. `before` stands before what is wrong.
    pub(super) fn check_values(
        &self,
        keys: &Spanned<DeTable<'_>>,
        config: &Config,
        before: &str,
    ) -> Result<(), AgentError> {
        let with = |rules: usize| {
            let rules = config.rules[..rules].to_vec();
            Config { rules, ..config.clone() }.first_wrong()
        };
        if config.first_wrong().is_ok() {
            return Ok(());
        }
        // The first rule with which there is an error; none for an error of other keys.
        let counts: Vec<usize> = (0..=config.rules.len()).collect();
        let count = counts.partition_point(|count| with(*count).is_ok());
        with(count).map_err(|wrong| {
            let place = place(keys, count.checked_sub(1), &wrong.key);
            self.at(place, format!("{before}{}", wrong.problem))
        })
    }
}

/// The place of a key's value, else of what is nearest above it. `rule` is the number of the table `protect` that is meant.
fn place(keys: &Spanned<DeTable<'_>>, rule: Option<usize>, key: &str) -> usize {
    let (mut place, mut table) = (keys.span().start, Some(keys.get_ref()));
    for word in key.split('.') {
        let Some(mut value) = table.and_then(|table| table.get(word)) else { break };
        if let (Some(rule), DeValue::Array(rules)) = (rule, value.get_ref()) {
            value = rules.get(rule).unwrap_or(value);
        }
        place = value.span().start;
        table = value.get_ref().as_table();
    }
    place
}

/// The scheme of a file: `scheme`, or the scheme of `queue.kind`.
fn scheme_of(scheme: Option<Scheme>, queue: Option<&QueueConfig>) -> Result<Scheme, String> {
    let Some(queue) = queue else { return Ok(scheme.unwrap_or_default()) };
    let of_queue: Scheme = queue.name().parse()?;
    match scheme {
        None => Ok(of_queue),
        Some(Scheme::Law) => Err("queue does not apply to scheme law; set law.inside instead".to_owned()),
        Some(scheme) if scheme == of_queue => Ok(scheme),
        Some(scheme) => Err(format!(
            "queue.kind is {}, but scheme is {}; set one of them",
            of_queue.name(),
            scheme.name()
        )),
    }
}

#[cfg(test)]
#[path = "../../tests/parsers/config.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, text: &str) -> Result<Config, AgentError> {
        let mut radios = Config::read_all(file, text)?;
        assert_eq!(radios.len(), 1, "{text}");
        Ok(radios.remove(0))
    }

    fn refusal(text: &str) -> String {
        read("agent.toml", text).expect_err(text).to_string()
    }

    #[test]
    fn an_empty_file_and_a_full_one() {
        assert_eq!(read("a", "").expect("valid"), Config::default());
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
            rate = "8 Mbit/s"
        "#;
        let config = read("a", text).expect("valid");
        assert_eq!(
            (config.scheme, config.plane, config.metrics),
            (Scheme::LastPq, Plane::Bridged, Metrics::Off)
        );
        let rules: Vec<_> =
            config.rules.iter().map(|rule| (rule.name.as_str(), rule.demand.percentile())).collect();
        assert_eq!(rules, [("vr", 95.0), ("rule-2", 99.9)]);
        let rates: Vec<_> = config.rules.iter().map(|rule| rule.rate).collect();
        assert_eq!(rates, [None, Some(BitRate::from_mbps(8))]);
        assert_eq!(config.engine().window.aggregate, Span::from_millis(2));
        assert!(config.protects());
    }

    #[test]
    fn an_agent_has_one_interface_or_several() {
        let names = |text: &str| read("a", text).expect("valid").interfaces;
        assert_eq!(names("interface = \"wlan0\""), ["wlan0"]);
        assert_eq!(names("interface = [\"wlan0\", \"guest\"]"), ["wlan0", "guest"]);
        assert!(names("").is_empty());
        assert!(refusal("\ninterface = 3").starts_with("agent.toml:2: expected a name, or a list of names"));
        let long = refusal("\ninterface = [\"wlan0\", \"wlan0123456789abc\"]");
        assert!(
            long.starts_with("agent.toml:2: \"wlan0123456789abc\" names no interface; allowed are"),
            "{long}"
        );
    }

    #[test]
    fn a_queue_names_the_scheme() {
        assert_eq!(read("a", "queue = { kind = \"fifo\" }").expect("valid").scheme, Scheme::Queue("fifo"));
        assert_eq!(read("a", "queue = { kind = \"linux\" }").expect("valid").scheme, Scheme::Linux);
        assert!(refusal("scheme = \"pie\"\nqueue = { kind = \"fifo\" }").contains("set one of them"));
        assert!(refusal("scheme = \"law\"\nqueue = { kind = \"fifo\" }").contains("set law.inside instead"));
    }

    #[test]
    fn law_keeps_its_limits() {
        let config = read("a", "scheme = \"law\"\nlaw = { limit-q = \"30 ms\", inside = \"last-pq\" }");
        let config = config.expect("valid");
        let engine = config.engine();
        assert_eq!(engine.time_limit, Some(Span::from_millis(30)));
        assert_eq!(engine.window.aggregate, Span::from_micros(2500));
        assert!(config.protects());
        assert!(
            refusal("\nlaw = { limit-h = \"1 us\" }")
                .contains("toml:2: law.limit-h is 1 us; allowed is 1 ms to 50 ms")
        );
    }

    #[test]
    fn errors_name_line_and_allowed_values() {
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
                .contains("agent.toml:3: protect.latency is 20 s")
        );
        assert!(
            refusal("[[protect]]\nmatch = \"udp\"\nlatency = \"1 ms\"")
                .starts_with("agent.toml:3: protect.latency is 1 ms"),
            "too short for LAST-PQ"
        );
        assert!(
            refusal("\nwatchdog = \"1 ms\"")
                .contains("agent.toml:2: watchdog is 1 ms; allowed is 200 ms to 10 s")
        );
        assert!(refusal("\nmechanism = \"hold\"").contains("toml:2: mechanism applies to scheme wqm only"));
        assert!(
            refusal("\nhold-packets = 0")
                .contains("toml:2: hold-packets is 0; allowed is 1 to 65536 packets")
        );
        assert_eq!(
            refusal("[window]\n\npackets = 257"),
            "agent.toml:3: window.packets is 257; allowed is 1 to 256 packets"
        );
        assert_eq!(
            refusal("[queue]\nkind = \"codel\"\ntarget = \"0 ms\""),
            "agent.toml:3: queue.target is 0 ms; allowed is more than 0 ms"
        );
        // The target contradicts the default of a key that is not there: the line of its table.
        assert!(
            refusal("\n[queue]\nkind = \"codel\"\ntarget = \"1 s\"")
                .starts_with("agent.toml:2: queue.interval is 100 ms")
        );
        assert!(
            refusal("\nscheme = \"pie\"\nqueue.kind = \"fifo\"")
                .starts_with("agent.toml:3: queue.kind is fifo")
        );
        let room = "[room]\naddress = \"203.0.113.5:80\"\ntoken-file = \"/token\"";
        assert!(refusal(room).starts_with("agent.toml:2: room.address is 203.0.113.5:80; allowed are"));
        assert!(refusal("[room]\naddress = \"127.0.0.1:80\"").contains("missing field `token-file`"));
        assert!(refusal("metrics = \"here\"").contains("metrics is \"here\"; allowed are an address"));
        assert!(refusal("scheme = ").starts_with("agent.toml:1: "));
        assert!(refusal("completions = \"guessed\"").contains("unknown variant `guessed`"));
        let slow = "[[protect]]\nmatch = \"udp\"\nlatency = \"20 ms\"\nrate = \"3 bit/s\"";
        assert!(refusal(slow).contains("toml:4: protect.rate is 3 bit/s; allowed is 1 kbit/s to 100 Gbit/s"));
        let fine = "[[protect]]\nmatch = \"udp\"\nlatency = \"20 ms\"\n";
        assert!(
            refusal(&format!("{fine}{slow}\n{fine}")).starts_with("agent.toml:7: protect.rate is 3 bit/s")
        );
        assert!(
            refusal(&fine.repeat(1001))
                .starts_with("agent.toml:3001: protect is 1001; allowed is at most 1000 rules")
        );
        assert!(refusal(&format!("{fine}name = \"\"")).starts_with("agent.toml:4: protect.name is invalid"));
        assert!("red".parse::<Scheme>().expect_err("unknown").contains("allowed are last-pq, linux"));
        let twice = "[[protect]]\nname = \"a\"\nmatch = \"udp\"\nlatency = \"9 ms\"\n";
        assert!(refusal(&twice.repeat(2)).contains("toml:6: protect.name \"a\" occurs twice"));
        for text in ["percentile = 0", "percentile = 100.1", "percentile = -1"] {
            assert!(
                read("a", &format!("[[protect]]\nmatch = \"udp\"\nlatency = \"9 ms\"\n{text}")).is_err(),
                "{text}"
            );
        }
    }
}

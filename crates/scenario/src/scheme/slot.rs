//! Content of a slot of a scheme: the kinds that may fill it, their names and parameters.

use airbound_control::link::LawConfig;
use airbound_control::queue::{DelayConfig, QueueConfig};
use airbound_control::rate::{Capabilities, RateConfig};
use airbound_senders::allocation::AllocationConfig;
use airbound_senders::conference::ConferenceConfig;
use airbound_senders::congestion::Congestion;
use airbound_senders::rtp::rate::RateRule;
use airbound_senders::tcp::{TcpConfig, TcpSender};
use airbound_units::Span;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::parameter;
use crate::error::ScenarioError;
use crate::node::{self, Value};
use crate::section::Section;
use crate::text;

/// Law controls queue and rates with one state, and so fills two slots.
pub(super) const LAW: &str = "law";

/// Kinds that may fill a slot, each with its meaning, and the check of their parameters.
#[derive(Clone, Copy)]
pub(crate) struct Choices {
    kinds: &'static [(&'static str, &'static str)],
    /// Further names of a kind with a parameter.
    variants: &'static [Variant],
    /// Checks the parameters.
    check: fn(&Slot) -> Result<(), String>,
}

impl Choices {
    /// The names of the kinds.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().map(|(name, _)| *name)
    }

    /// The names in a row, each between `quote`.
    pub(super) fn listed(self, quote: &str) -> String {
        self.names().map(|name| format!("{quote}{name}{quote}")).collect::<Vec<_>>().join(", ")
    }

    /// All words that choose a kind, each with its meaning: a kind is followed by its variants.
    pub(crate) fn words(self) -> Vec<(&'static str, &'static str)> {
        let variants = |kind| self.variants.iter().filter(move |variant| variant.kind == kind);
        let of = |(kind, meaning): &(&'static str, &'static str)| {
            let own = variants(*kind).map(|variant| (variant.name, variant.meaning));
            std::iter::once((*kind, *meaning)).chain(own).collect::<Vec<_>>()
        };
        self.kinds.iter().flat_map(of).collect()
    }
}

/// `kinds` of another crate, and `more`.
const fn with<const N: usize>(
    kinds: &[(&'static str, &'static str)],
    more: &[(&'static str, &'static str)],
) -> [(&'static str, &'static str); N] {
    let mut all = [("", ""); N];
    let mut place = 0;
    while place < N {
        all[place] = if place < kinds.len() { kinds[place] } else { more[place - kinds.len()] };
        place += 1;
    }
    all
}

/// The kinds of queue: those of `control`, and Law.
pub(crate) const QUEUES: Choices = Choices {
    kinds: &with::<{ QueueConfig::KINDS.len() + 1 }>(
        QueueConfig::KINDS,
        &[(LAW, "a time limit, and rate control in one")],
    ),
    variants: VARIANTS,
    check: |slot| {
        if slot.is_law() {
            return slot.law_config().and_then(|config| config.check().map_err(|error| error.to_string()));
        }
        let config: QueueConfig = slot.config()?;
        config.check().map_err(|error| error.to_string())
    },
};
/// The kinds of queue at a shaper.
pub(crate) const SHAPER_QUEUES: Choices =
    Choices { kinds: QueueConfig::WIRED, variants: &[], check: QUEUES.check };
/// The kinds of rate control: those of `control`, and Law.
pub(crate) const RATES: Choices = Choices {
    kinds: &with::<{ RateConfig::KINDS.len() + 1 }>(RateConfig::KINDS, &[(LAW, "with queue = \"law\"")]),
    variants: &[],
    check: |slot| match slot.is_law() {
        true if slot.parameters.is_empty() => Ok(()),
        true => Err("law has its parameters in the queue slot".to_owned()),
        false => {
            let config: RateConfig = slot.config()?;
            config.build(&Capabilities::default(), 0).map(|_| ()).map_err(|error| error.to_string())
        }
    },
};
/// The kinds of sender: those of TCP, rules for the rate of real-time video, and the allocation of the rates of paced flows.
pub(crate) const SENDERS: Choices = Choices {
    kinds: &with::<{ Congestion::KINDS.len() + RateRule::OF_SCHEMES.len() + 1 }>(
        &with::<{ Congestion::KINDS.len() + RateRule::OF_SCHEMES.len() }>(
            Congestion::KINDS,
            RateRule::OF_SCHEMES,
        ),
        &[(ALLOCATING, "rates of flows of kind paced, by their level of aggregation")],
    ),
    variants: &[],
    check: check_sender,
};
/// The kinds of policy for the bitrates of a session.
pub(crate) const SESSIONS: Choices = Choices {
    kinds: ConferenceConfig::KINDS,
    variants: &[],
    check: |slot| match slot.kind {
        "plain" => slot.refuse_parameters(),
        _ => slot.config::<ConferenceConfig>()?.check().map_err(|error| error.to_string()),
    },
};
/// The kinds of sender of TCP.
pub(crate) const TCP_SENDERS: Choices =
    Choices { kinds: Congestion::KINDS, variants: &[], check: check_sender };
/// The kinds of sender of real-time video.
pub(crate) const RTC_SENDERS: Choices =
    Choices { kinds: RateRule::KINDS, variants: &[], check: check_sender };
/// The kinds of sender of a session: those of TCP and of real-time video.
pub(crate) const SESSION_SENDERS: Choices = Choices {
    kinds: &with::<{ Congestion::KINDS.len() + RateRule::KINDS.len() }>(Congestion::KINDS, RateRule::KINDS),
    variants: &[],
    check: check_sender,
};

/// The congestion controls of TCP as an error lists them: "cubic", "reno" or "bbr", each between `quote`.
pub(crate) fn tcp_senders(quote: &str) -> String {
    let listed = TCP_SENDERS.listed(quote);
    match listed.rsplit_once(", ") {
        Some((others, last)) => format!("{others} or {last}"),
        None => listed,
    }
}

/// The sender that allocates the rates of paced flows.
const ALLOCATING: &str = "aggregation";

fn check_sender(slot: &Slot) -> Result<(), String> {
    if let Some(config) = slot.allocation()? {
        return config.check().map_err(|error| error.to_string());
    }
    match slot.media_rate()? {
        Some(rule) => rule.check().map_err(|error| error.to_string()),
        None => TcpSender::new(slot.tcp_config()?).map(|_| ()).map_err(|error| error.to_string()),
    }
}

/// The kind of a plugin. No file can name it.
const CUSTOM: &str = "custom";

/// A kind with one parameter under a name of its own, so that both can be compared.
struct Variant {
    name: &'static str,
    kind: &'static str,
    key: &'static str,
    value: &'static str,
    meaning: &'static str,
}

const VARIANTS: &[Variant] = &[
    Variant {
        name: "last-pq-auto",
        kind: "last-pq",
        key: "protect",
        value: "auto",
        meaning: "last-pq that finds the urgent flows itself",
    },
    Variant {
        name: "law-last-pq",
        kind: LAW,
        key: "inside",
        value: "last-pq",
        meaning: "law with last-pq as the order within its limit",
    },
];

/// Content of a slot: a kind, and its non-default parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    pub(super) kind: &'static str,
    pub(super) parameters: toml::Table,
}

impl Slot {
    /// A kind with its defaults.
    #[must_use]
    pub fn plain(kind: &'static str) -> Self {
        Self { kind, parameters: toml::Table::new() }
    }

    /// Refuses all parameters, for a kind without any.
    fn refuse_parameters(&self) -> Result<(), String> {
        self.parameters
            .keys()
            .next()
            .map_or(Ok(()), |key| Err(format!("unknown key {key}, {} has none", self.kind)))
    }

    /// The kind and, for a variant, its parameter, for a name; `None` if the name is not one of `choices`.
    pub(super) fn find(
        name: &str,
        choices: Choices,
    ) -> Option<(&'static str, Option<(&'static str, &'static str)>)> {
        let variant = choices.variants.iter().find(|variant| variant.name == name);
        let wanted = variant.map_or(name, |variant| variant.kind);
        let set = variant.map(|variant| (variant.key, variant.value));
        choices.names().find(|kind| *kind == wanted).map(|kind| (kind, set))
    }

    pub(super) fn set(&mut self, parameter: Option<(&str, &str)>) {
        if let Some((key, value)) = parameter {
            self.parameters.insert(key.to_owned(), toml::Value::String(value.to_owned()));
        }
    }

    /// Creates a slot for a plugin of the run, with a name of letters, digits, `-` and `_` that no built-in part has.
    pub(super) fn custom(name: &str) -> Result<Self, String> {
        let words = [QUEUES, RATES, SENDERS, SESSIONS, RTC_SENDERS].into_iter().flat_map(Choices::words);
        let taken = words.map(|(name, _)| name).chain([CUSTOM]);
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 60 || !name.chars().all(is_word) {
            return Err(format!(
                "\"{}\" is not a name for a scheme; allowed are 1 to 60 letters, digits, - and _",
                node::shortened(name)
            ));
        }
        if taken.into_iter().any(|taken| taken == name) {
            return Err(format!("\"{name}\" is the name of a part of this program; choose another one"));
        }
        let parameters = [("name".to_owned(), toml::Value::String(name.to_owned()))].into_iter().collect();
        Ok(Self { kind: CUSTOM, parameters })
    }

    /// Whether the slot is filled by a plugin of the run.
    #[must_use]
    pub fn is_custom(&self) -> bool {
        self.kind == CUSTOM
    }

    /// The shortest name: that of the variant, such as "last-pq-auto", of the kind, or of the plugin.
    #[must_use]
    pub fn name(&self) -> &str {
        if self.is_custom()
            && let Some(name) = self.parameters.get("name").and_then(toml::Value::as_str)
        {
            return name;
        }
        let is_it = |variant: &&Variant| {
            let value = self.parameters.get(variant.key).and_then(toml::Value::as_str);
            self.kind == variant.kind && value == Some(variant.value)
        };
        VARIANTS.iter().find(is_it).map_or(self.kind, |variant| variant.name)
    }

    /// The rate allocation of a slot that names one; `None` for any other sender.
    ///
    /// # Errors
    /// A parameter is unknown or of the wrong type.
    pub fn allocation(&self) -> Result<Option<AllocationConfig>, String> {
        if self.kind != ALLOCATING {
            return Ok(None);
        }
        let config = toml::Value::Table(self.parameters.clone()).try_into();
        config.map(Some).map_err(|error| text::of_reader(&error))
    }

    /// The TCP configuration of a sender slot. Beside allocated flows, and under a custom window, TCP is Linux's default.
    ///
    /// # Errors
    /// The kind is not a congestion control, or a parameter is unknown or of the wrong type.
    pub fn tcp_config(&self) -> Result<TcpConfig, String> {
        if self.kind == ALLOCATING || self.is_custom() {
            return Ok(TcpConfig::default());
        }
        if self.is_media_rate() {
            return Err(format!("{} is for flows of kind rtc; TCP needs {}", self.kind, tcp_senders("")));
        }
        // Values set by a flow or the run are not parameters of a scheme.
        if let Some(key) =
            ["congestion", "seed", "receive-window"].iter().find(|key| self.parameters.contains_key(**key))
        {
            return Err(format!("unknown key {key}"));
        }
        let congestion: Congestion =
            toml::Value::String(self.kind.to_owned()).try_into().map_err(|error| text::of_reader(&error))?;
        let config: TcpConfig = toml::Value::Table(self.parameters.clone())
            .try_into()
            .map_err(|error| text::of_reader(&error))?;
        Ok(TcpConfig { congestion, ..config })
    }

    /// Whether Law fills the slot.
    #[must_use]
    pub fn is_law(&self) -> bool {
        self.kind == LAW
    }

    /// Law's configuration, from the queue slot.
    ///
    /// # Errors
    /// A sentence: a parameter is unknown or of the wrong type.
    pub fn law_config(&self) -> Result<LawConfig, String> {
        self.own_parameters()
    }

    /// Whether a sender slot names a rule for the rate of real-time video.
    #[must_use]
    pub fn is_media_rate(&self) -> bool {
        RTC_SENDERS.names().any(|name| name == self.kind)
    }

    /// The rule for the rate of real-time video of a sender slot that names one; `None` for any other sender.
    ///
    /// # Errors
    /// A parameter is unknown or of the wrong type.
    pub fn media_rate(&self) -> Result<Option<RateRule>, String> {
        if !self.is_media_rate() {
            return Ok(None);
        }
        // The flow or the session's encoder sets its rates.
        if let Some(key) =
            ["start-rate", "min-rate", "max-rate"].iter().find(|key| self.parameters.contains_key(**key))
        {
            return Err(format!("unknown key {key}: it belongs to the flow"));
        }
        self.config().map(Some)
    }

    /// The parameters as a configuration without a kind.
    fn own_parameters<T: serde::de::DeserializeOwned>(&self) -> Result<T, String> {
        let read = toml::Value::Table(self.parameters.clone()).try_into();
        read.map_err(|error| text::of_reader(&error))
    }

    /// The kind, such as "fifo" or "minstrel-ht".
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The non-default parameters, as written.
    #[must_use]
    pub fn parameters(&self) -> &toml::Table {
        &self.parameters
    }

    /// The configuration of a core, from kind and parameters.
    ///
    /// # Errors
    /// A sentence: a parameter is unknown or of the wrong type.
    pub fn config<T: serde::de::DeserializeOwned>(&self) -> Result<T, String> {
        let mut table = self.parameters.clone();
        table.insert("kind".to_owned(), toml::Value::String(self.kind.to_owned()));
        let read = toml::Value::Table(table).try_into();
        read.map_err(|error| text::of_reader(&error))
    }

    /// The shortest latency demand that the queue supports; that of LAST-PQ's defaults for queues without demands.
    pub(crate) fn shortest_demand(&self) -> Span {
        match self.config() {
            Ok(QueueConfig::LastPq(config)) => config.delay.shortest_demand(),
            Ok(QueueConfig::Airbound(config)) => config.last_pq.delay.shortest_demand(),
            Err(_) if self.is_law() => match self.law_config().map(|config| config.inner_queue.0) {
                Ok(QueueConfig::LastPq(config)) => config.delay.shortest_demand(),
                _ => DelayConfig::default().shortest_demand(),
            },
            _ => DelayConfig::default().shortest_demand(),
        }
    }

    /// Reads a name, or a table with `kind`.
    pub(crate) fn read(
        section: &Section<'_>,
        key: &str,
        choices: Choices,
    ) -> Result<Option<Self>, ScenarioError> {
        let Some(node) = section.get(key) else { return Ok(None) };
        let find = |name: &str| Self::find(name, choices);
        let allowed = || choices.listed("\"");
        match &node.value {
            Value::Text(name) => {
                match find(name) {
                    Some((kind, variant)) => {
                        let mut slot = Self::plain(kind);
                        slot.set(variant);
                        Ok(Some(slot))
                    }
                    None => Err(section
                        .wrong(key, format!("is {}; allowed are {}", node.value.describe(), allowed()))),
                }
            }
            Value::Table(entries) => {
                let table = section.table(key)?;
                let name = table.required_text("kind", &format!("allowed are {}", allowed()))?;
                let Some((kind, variant)) = find(name) else {
                    return Err(table.wrong("kind", format!("is \"{name}\"; allowed are {}", allowed())));
                };
                let parameters = entries
                    .iter()
                    .filter(|(name, _)| name != "kind")
                    .map(|(name, value)| (name.clone(), node::to_toml(value)))
                    .collect();
                let mut slot = Self { kind, parameters };
                slot.set(variant);
                (choices.check)(&slot).map_err(|problem| {
                    let check = |parameters| (choices.check)(&Self { kind, parameters });
                    parameter::wrong((section, key), &table, &slot.parameters, &problem, check)
                })?;
                Ok(Some(slot))
            }
            other => Err(section.wrong(
                key,
                format!(
                    "is {}; allowed are {} and a table with kind and parameters",
                    other.describe(),
                    allowed()
                ),
            )),
        }
    }
}

impl Serialize for Slot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.parameters.is_empty() {
            return serializer.serialize_str(self.kind);
        }
        let mut map = serializer.serialize_map(Some(self.parameters.len() + 1))?;
        map.serialize_entry("kind", self.kind)?;
        for (key, value) in &self.parameters {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

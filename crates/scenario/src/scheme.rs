//! `[scheme]`: the controllers of a run, and the short names of combinations.

mod parameter;

use std::fmt;

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

use super::error::{Place, ScenarioError};
use super::node::{self, Value};
use super::section::{Section, nearest};
use super::text;

/// Law controls queue and rates with one state, and so fills two slots.
const LAW: &str = "law";

/// Whether a queue and a rate control can work together.
///
/// # Errors
/// A sentence: only one of them is Law.
pub fn check_law(queue: &Slot, rate: &Slot) -> Result<(), String> {
    if queue.is_law() == rate.is_law() {
        return Ok(());
    }
    Err(format!(
        "law controls queue and rate with one state, so queue {} and rate {} cannot be combined; write law for both, or for neither",
        queue.name(),
        rate.name()
    ))
}

/// Kinds that may fill a slot, each with its meaning, and the check of their parameters.
#[derive(Clone, Copy)]
pub(super) struct Choices {
    kinds: &'static [(&'static str, &'static str)],
    /// Checks the parameters.
    check: fn(&Slot) -> Result<(), String>,
}

impl Choices {
    /// The names of the kinds.
    pub(super) fn names(self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().map(|(name, _)| *name)
    }

    /// The names in a row, each between `quote`.
    fn listed(self, quote: &str) -> String {
        self.names().map(|name| format!("{quote}{name}{quote}")).collect::<Vec<_>>().join(", ")
    }

    /// All words that choose a kind, each with its meaning: a kind is followed by its variants.
    pub(super) fn words(self) -> Vec<(&'static str, &'static str)> {
        let variants = |kind| VARIANTS.iter().filter(move |variant| variant.kind == kind);
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
pub(super) const QUEUES: Choices = Choices {
    kinds: &with::<{ QueueConfig::KINDS.len() + 1 }>(
        QueueConfig::KINDS,
        &[(LAW, "a time limit, and rate control in one")],
    ),
    check: |slot| {
        if slot.is_law() {
            return slot.law_config().and_then(|config| config.check().map_err(|error| error.to_string()));
        }
        let config: QueueConfig = slot.config()?;
        config.check().map_err(|error| error.to_string())
    },
};
/// The kinds of queue at a shaper.
pub(super) const SHAPER_QUEUES: Choices = Choices { kinds: QueueConfig::WIRED, check: QUEUES.check };
/// The kinds of rate control: those of `control`, and Law.
pub(super) const RATES: Choices = Choices {
    kinds: &with::<{ RateConfig::KINDS.len() + 1 }>(RateConfig::KINDS, &[(LAW, "with queue = \"law\"")]),
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
pub(super) const SENDERS: Choices = Choices {
    kinds: &with::<{ Congestion::KINDS.len() + RateRule::OF_SCHEMES.len() + 1 }>(
        &with::<{ Congestion::KINDS.len() + RateRule::OF_SCHEMES.len() }>(
            Congestion::KINDS,
            RateRule::OF_SCHEMES,
        ),
        &[(ALLOCATING, "rates of flows of kind paced, by their level of aggregation")],
    ),
    check: check_sender,
};
/// The kinds of policy for the bitrates of a session.
pub(super) const SESSIONS: Choices = Choices {
    kinds: ConferenceConfig::KINDS,
    check: |slot| match slot.kind {
        "plain" => slot.refuse_parameters(),
        _ => slot.config::<ConferenceConfig>()?.check().map_err(|error| error.to_string()),
    },
};
/// The kinds of sender of TCP.
pub(super) const TCP_SENDERS: Choices = Choices { kinds: Congestion::KINDS, check: check_sender };
/// The kinds of sender of real-time video.
pub(super) const RTC_SENDERS: Choices = Choices { kinds: RateRule::KINDS, check: check_sender };
/// The kinds of sender of a session: those of TCP and of real-time video.
pub(super) const SESSION_SENDERS: Choices = Choices {
    kinds: &with::<{ Congestion::KINDS.len() + RateRule::KINDS.len() }>(Congestion::KINDS, RateRule::KINDS),
    check: check_sender,
};

/// The congestion controls of TCP as an error lists them: "cubic", "reno" or "bbr", each between `quote`.
pub(super) fn tcp_senders(quote: &str) -> String {
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
pub(super) struct Variant {
    pub(super) name: &'static str,
    kind: &'static str,
    key: &'static str,
    value: &'static str,
    meaning: &'static str,
}

pub(super) const VARIANTS: &[Variant] = &[
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
    kind: &'static str,
    parameters: toml::Table,
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
    fn find(name: &str, choices: Choices) -> Option<(&'static str, Option<(&'static str, &'static str)>)> {
        let variant = VARIANTS.iter().find(|variant| variant.name == name);
        let wanted = variant.map_or(name, |variant| variant.kind);
        let set = variant.map(|variant| (variant.key, variant.value));
        choices.names().find(|kind| *kind == wanted).map(|kind| (kind, set))
    }

    fn set(&mut self, parameter: Option<(&str, &str)>) {
        if let Some((key, value)) = parameter {
            self.parameters.insert(key.to_owned(), toml::Value::String(value.to_owned()));
        }
    }

    /// Creates a slot for a plugin of the run, with a name of letters, digits, `-` and `_` that no built-in part has.
    fn custom(name: &str) -> Result<Self, String> {
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
    pub(super) fn shortest_demand(&self) -> Span {
        match self.config() {
            Ok(QueueConfig::LastPq(config)) => config.delay.shortest_demand(),
            Err(_) if self.is_law() => match self.law_config().map(|config| config.inner_queue.0) {
                Ok(QueueConfig::LastPq(config)) => config.delay.shortest_demand(),
                _ => DelayConfig::default().shortest_demand(),
            },
            _ => DelayConfig::default().shortest_demand(),
        }
    }

    /// Reads a name, or a table with `kind`.
    pub(super) fn read(
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

/// The slots of a scheme that a plugin can fill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The queue.
    Queue,
    /// Rate control.
    Rate,
    /// Congestion control of TCP.
    Sender,
}

/// The controllers of a run: the queue, the rates, the default sender of TCP flows, and the bitrates of a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Scheme {
    /// Decides which packets are queued, dropped or sent next.
    pub queue: Slot,
    /// Decides the PHY rate and the tries of each transmission.
    pub rate: Slot,
    /// Congestion control of TCP flows that do not set their own, a rule for the rate of real-time video, or the rate
    /// allocation of paced flows.
    pub sender: Slot,
    /// Decides the bitrates of the session; `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Slot>,
}

impl Default for Scheme {
    /// Returns the scheme of an unmodified Linux access point.
    fn default() -> Self {
        Self {
            queue: Slot::plain("linux"),
            rate: Slot::plain("minstrel-ht"),
            sender: Slot::plain("cubic"),
            session: None,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}+{}", self.queue.name(), self.rate.name(), self.sender.name())?;
        self.session.as_ref().map_or(Ok(()), |session| write!(f, "+{}", session.name()))
    }
}

impl Scheme {
    /// Returns the scheme with Law for queue and rates, over one queue in order of arrival. An existing Law keeps its other parameters;
    /// otherwise they are its defaults.
    ///
    /// # Errors
    /// A sentence: the scheme's Law has another inner queue, or invalid parameters.
    pub fn with_law_in_order(&self) -> Result<Self, String> {
        const INSIDE: &str = "inside";
        let mut scheme = self.clone();
        if !self.queue.is_law() {
            scheme.queue = Slot::plain(LAW);
        } else if self.queue.parameters.contains_key(INSIDE) {
            let inside = self.queue.law_config()?.inner_queue.0;
            if !matches!(inside, QueueConfig::Fifo(_)) {
                return Err(format!(
                    "inside Law is {}; only fifo keeps the order of frames that are numbered already",
                    inside.name()
                ));
            }
            return Ok(scheme);
        }
        scheme.queue.set(Some((INSIDE, "fifo")));
        scheme.rate = Slot::plain(LAW);
        Ok(scheme)
    }

    /// Returns the scheme with every parameter of Law written out, if it has Law: each point that the paper leaves open is one. The
    /// inner queue is kept as written, since it also depends on the transmit path.
    #[must_use]
    pub fn in_full(&self) -> Self {
        let mut scheme = self.clone();
        let full = self.queue.law_config().ok().and_then(|config| toml::Table::try_from(config).ok());
        if let Some(full) = full.filter(|_| self.queue.is_law()) {
            let written = &mut scheme.queue.parameters;
            for (key, value) in full {
                if key != "inside" {
                    written.entry(key).or_insert(value);
                }
            }
        }
        scheme
    }

    /// Reads `[scheme]` of a scenario with a session, or of one without.
    pub(super) fn read(section: &Section<'_>, has_session: bool) -> Result<Self, ScenarioError> {
        section.allow("[scheme]", &[&["queue", "rate", "sender", "session"]])?;
        if section.has("session") && !has_session {
            return Err(section.wrong("session", "is not allowed, since the scenario has no [session]"));
        }
        let default = Self::default();
        let queue = Slot::read(section, "queue", QUEUES)?;
        let rate = Slot::read(section, "rate", RATES)?;
        // If one slot is Law, the other may be omitted.
        let law = [&queue, &rate].into_iter().flatten().any(Slot::is_law);
        let rest = |default| if law { Slot::plain(LAW) } else { default };
        let queue = queue.unwrap_or_else(|| rest(default.queue));
        let rate = rate.unwrap_or_else(|| rest(default.rate));
        check_law(&queue, &rate)
            .map_err(|problem| section.wrong("rate", format!("does not fit: {problem}")))?;
        let session = has_session.then(|| Slot::read(section, "session", SESSIONS)).transpose()?;
        Ok(Self {
            queue,
            rate,
            sender: Slot::read(section, "sender", SENDERS)?.unwrap_or(default.sender),
            session: session.map(|slot| slot.unwrap_or_else(|| Slot::plain("plain"))),
        })
    }

    /// Returns the scheme with one slot filled by a plugin of the run with this `name`. If Law fills two slots, it is removed from the
    /// other one too.
    ///
    /// # Errors
    /// A sentence: the name is taken, or has other characters than letters, digits, `-` and `_`.
    pub fn with_custom(&self, part: Part, name: &str) -> Result<Self, String> {
        let slot = Slot::custom(name)?;
        let mut scheme = self.clone();
        match part {
            Part::Queue => scheme.queue = slot,
            Part::Rate => {
                scheme.rate = slot;
                if scheme.queue.is_law() {
                    scheme.queue = Self::default().queue;
                }
            }
            Part::Sender => scheme.sender = slot,
        }
        scheme.rate = scheme.rate_beside(&scheme.queue);
        Ok(scheme)
    }

    /// The rate control of a transmitter with `queue` and none of its own: that of the scheme, if both are Law's or neither is.
    #[must_use]
    pub fn rate_beside(&self, queue: &Slot) -> Slot {
        match (queue.is_law(), self.rate.is_law()) {
            (true, _) => Slot::plain(LAW),
            (false, true) => Self::default().rate,
            (false, false) => self.rate.clone(),
        }
    }

    /// Returns the scheme with the slots of `name` replaced: "pie", or "pie+minstrel-ht+bbr" in any order.
    ///
    /// A slot of the same kind keeps its parameters. The queue "law" fills the slot of the rate control too, unless that is named.
    ///
    /// # Errors
    /// A part is unknown, or a slot is named twice.
    pub fn with_name(&self, name: &str) -> Result<Self, ScenarioError> {
        self.named(name, &Place::Option("--schemes".to_owned()))
    }

    pub(super) fn named(&self, name: &str, place: &Place) -> Result<Self, ScenarioError> {
        let error = |problem: String| ScenarioError::Scheme {
            place: place.clone(),
            scheme: node::shortened(name),
            problem,
        };
        let mut scheme = self.clone();
        let mut filled = [false; 4];
        // Replaces the missing slot of a scenario without a session.
        let mut nowhere = Slot::plain("plain");
        let has_session = scheme.session.is_some();
        for part in name.split('+').map(str::trim) {
            if part.is_empty() {
                return Err(error(
                    "has an empty name; write for example linux, or linux+minstrel-ht+bbr".to_owned(),
                ));
            }
            let slots = [
                ("queue", QUEUES, &mut scheme.queue),
                ("rate control", RATES, &mut scheme.rate),
                ("sender", SENDERS, &mut scheme.sender),
                ("session policy", SESSIONS, scheme.session.as_mut().unwrap_or(&mut nowhere)),
            ];
            let found = slots.into_iter().zip(&mut filled).find_map(|((word, kinds, slot), filled)| {
                let (kind, variant) = Slot::find(part, kinds)?;
                Some((word, kind, variant, slot, filled))
            });
            let Some((word, kind, variant, slot, filled)) = found else {
                let all = [QUEUES, RATES, SENDERS, SESSIONS];
                let all = all.into_iter().flat_map(Choices::names);
                let suggestion = match nearest(part, all) {
                    Some(name) => format!("; did you mean {name}?"),
                    None if part == "all" => "; all stands alone: compare --schemes all".to_owned(),
                    None if part.contains(',') => "; several schemes take compare --schemes A,B".to_owned(),
                    None => String::new(),
                };
                return Err(error(format!(
                    "names \"{}\", which is not a queue ({}), rate control ({}), sender ({}) or policy of a session ({}){suggestion}",
                    node::shortened(part),
                    QUEUES.listed(""),
                    RATES.listed(""),
                    SENDERS.listed(""),
                    SESSIONS.listed(""),
                )));
            };
            if SESSIONS.names().any(|policy| policy == kind) && !has_session {
                return Err(error(format!(
                    "names {part}, a policy of sessions; the scenario has no [session]"
                )));
            }
            if *filled {
                return Err(error(format!("names two kinds of {word}; one is allowed")));
            }
            *filled = true;
            if slot.kind != kind {
                *slot = Slot::plain(kind);
            }
            slot.set(variant);
        }
        let [queue_named, rate_named, ..] = filled;
        if queue_named && !rate_named {
            scheme.rate = scheme.rate_beside(&scheme.queue);
        }
        check_law(&scheme.queue, &scheme.rate)
            .map_err(|problem| error(format!("does not fit: {problem}")))?;
        Ok(scheme)
    }
}

//! `[scheme]`: the controllers of a run, and the short names of combinations.

mod parameter;
mod slot;

use std::fmt;

use airbound_control::queue::QueueConfig;
use serde::Serialize;

use super::error::{Place, ScenarioError};
use super::key::{Key, key};
use super::node;
use super::section::{Section, nearest};
use slot::LAW;
pub use slot::Slot;
pub(super) use slot::{
    Choices, QUEUES, RATES, RTC_SENDERS, SENDERS, SESSION_SENDERS, SESSIONS, SHAPER_QUEUES, TCP_SENDERS,
    tcp_senders,
};

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

pub(super) const KEYS: &[Key] = &[
    key("queue", r#"`"linux"`"#, "[waiting, dropping, order](#kinds-of-queue)"),
    key("rate", r#"`"minstrel-ht"`"#, "[PHY rate, tries](#kinds-of-rate-control)"),
    key("sender", r#"`"cubic"`"#, "[sending rates](#kinds-of-sender)"),
    key("session", r#"`"plain"` with `[session]`"#, "[its bitrates](#kinds-of-session-policy)"),
];

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
        section.allow("[scheme]", &[KEYS])?;
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

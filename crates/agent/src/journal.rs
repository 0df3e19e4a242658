//! The journal: one line of JSON for each decision, with the time and the reason.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use airbound_units::Instant;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::engine::Decision;
use crate::error::AgentError;

/// Something that happened to the agent, and not within its engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The agent holds packets from now on.
    Started {
        /// The Wi-Fi interface.
        interface: String,
        /// The process that holds packets, a child of the one that was started.
        pid: u32,
        /// Name of the scheme.
        scheme: String,
        /// Where packets are taken.
        plane: String,
        /// Where completions come from.
        completions: String,
        /// The parts of the scheme that are in force, and those that are not.
        in_force: Vec<String>,
    },
    /// A setting of the driver was changed.
    Setting {
        /// The setting, in words.
        what: String,
        /// To what.
        value: String,
        /// Whether the driver took it.
        accepted: bool,
        /// Its words, if it did not.
        answer: Option<String>,
    },
    /// Rules were put back that somebody had removed.
    RulesRestored,
    /// The rules are gone and cannot be put back: packets bypass the agent.
    RulesMissing {
        /// Why.
        answer: String,
    },
    /// The interface went up or down.
    Interface {
        /// Whether it is up.
        up: bool,
    },
    /// The kernel had more to tell than was read: everything is read anew.
    Overrun,
    /// The agent ended, and gave everything it held to the kernel.
    Ended {
        /// Packets that were held.
        released: u64,
        /// Why it ended.
        reason: String,
    },
}

impl Event {
    fn why(&self) -> String {
        match self {
            Self::Started { in_force, .. } => in_force.join("; "),
            Self::Setting { accepted: true, .. } => {
                "the scheme asks for it, and the driver has it".to_owned()
            }
            Self::Setting { .. } => "the driver refused; the agent goes on without".to_owned(),
            Self::RulesRestored => "somebody else removed them, as `nft flush ruleset` does".to_owned(),
            Self::RulesMissing { .. } => {
                "without rules packets go straight to the kernel; another try follows".to_owned()
            }
            Self::Interface { up: true } => "the kernel says so; its stations will associate anew".to_owned(),
            Self::Interface { up: false } => "the kernel says so; what was held is gone".to_owned(),
            Self::Overrun => "a socket overflowed".to_owned(),
            Self::Ended { reason, .. } => reason.clone(),
        }
    }
}

/// Where the lines go.
pub struct Journal {
    out: Box<dyn Write + Send>,
    /// Lines that could not be written.
    lost: u64,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl Journal {
    /// Appends to a file; without one writes to standard error.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: Option<&Path>) -> Result<Self, AgentError> {
        let Some(path) = path else { return Ok(Self::to(Box::new(io::stderr()))) };
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|source| AgentError::Io {
            action: "open the journal",
            path: path.to_owned(),
            source,
        })?;
        Ok(Self::to(Box::new(file)))
    }

    /// Writes to anything.
    #[must_use]
    pub fn to(out: Box<dyn Write + Send>) -> Self {
        Self { out, lost: 0 }
    }

    /// A decision of the engine.
    pub fn decision(&mut self, now: Instant, decision: &Decision) {
        self.line(now, decision, decision.why());
    }

    /// Something else.
    pub fn event(&mut self, now: Instant, event: &Event) {
        self.line(now, event, event.why());
    }

    /// Lines that could not be written: a full disk is no reason to stop serving packets.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    fn line(&mut self, now: Instant, what: &impl Serialize, why: String) {
        let mut line = Map::new();
        // Microseconds are enough.
        line.insert("t_s".to_owned(), Value::from((now.as_secs_f64() * 1e6).round() / 1e6));
        if let Ok(Value::Object(entries)) = serde_json::to_value(what) {
            line.extend(entries);
        }
        line.insert("why".to_owned(), Value::from(why));
        let mut text = Value::Object(line).to_string();
        text.push('\n');
        if self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).is_err() {
            self.lost += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use airbound_units::Span;

    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("one thread").extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_has_time_event_numbers_and_reason() {
        let shared = Shared::default();
        let mut journal = Journal::to(Box::new(shared.clone()));
        let decision = Decision::Demand {
            rule: "vr \"1\"".to_owned(),
            met: false,
            measured: Span::from_micros(23_456),
            demand: Span::from_millis(20),
            packets: 120,
        };
        journal.decision(Instant::from_nanos(1_500_000_000), &decision);
        journal.event(Instant::ZERO, &Event::RulesRestored);
        let text = String::from_utf8(shared.0.lock().expect("one thread").clone()).expect("UTF-8");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(
            (&lines[0]["event"], &lines[0]["measured_ms"]),
            (&Value::from("demand"), &Value::from(23.456))
        );
        assert_eq!(lines[0]["t_s"], 1.5);
        assert!(lines[0]["why"].as_str().is_some_and(|why| why.contains("above 20 ms")));
        assert_eq!(lines[1]["event"], "rules-restored");
    }
}

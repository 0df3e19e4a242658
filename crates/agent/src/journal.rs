//! The journal: one line of JSON for each event, with time and reason.

use std::io::Write;
use std::path::Path;

use airbound_linux::service::LineWriter;
use airbound_units::Instant;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::engine::Decision;
use crate::error::AgentError;

/// An event outside the engine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Event {
    /// The agent starts to hold packets.
    Started {
        /// The Wi-Fi interface.
        interface: String,
        /// The process that holds packets, a child of the watchdog.
        pid: u32,
        /// Name of the scheme.
        scheme: String,
        /// The netfilter hooks.
        plane: String,
        /// The source of completions.
        completions: String,
        /// The parts of the scheme that are in force, and those that are not.
        in_force: Vec<String>,
    },
    /// A setting of the driver was changed.
    Setting {
        /// The setting.
        what: String,
        /// The new value.
        value: String,
        /// Whether the driver accepted it.
        accepted: bool,
        /// The error, if not.
        answer: Option<String>,
    },
    /// The nftables rules had been removed and were restored.
    RulesRestored,
    /// The nftables rules are missing and cannot be restored: packets bypass the agent.
    RulesMissing {
        /// The error.
        answer: String,
    },
    /// An interface went up or down, came, or is gone.
    Interface {
        /// Its name.
        interface: String,
        /// Whether it is up.
        up: bool,
    },
    /// An interface came, or joined or left a bridge: packets are held at other netfilter hooks.
    Plane {
        /// The netfilter hooks of each interface.
        plane: String,
    },
    /// The stations cannot be read; those known so far are kept.
    StationsUnknown {
        /// The error.
        answer: String,
    },
    /// Demands cannot be changed while the agent runs.
    NoControl {
        /// The error.
        answer: String,
    },
    /// A room that is told of stations' links answers otherwise than before.
    Room {
        /// Its address.
        address: String,
        /// Why it is not told; `None` while it is.
        answer: Option<String>,
    },
    /// Kernel notifications were lost: all state is read again.
    Overrun,
    /// The agent ended and released all held packets.
    Ended {
        /// Packets that were held.
        released: u64,
        /// The reason of the end.
        reason: String,
    },
}

impl Event {
    fn why(&self) -> String {
        match self {
            Self::Started { in_force, .. } => in_force.join("; "),
            Self::Setting { accepted: true, .. } => "the scheme requires it".to_owned(),
            Self::Setting { .. } => "the driver refused; the agent continues without the setting".to_owned(),
            Self::RulesRestored => "another program removed them, as `nft flush ruleset` does".to_owned(),
            Self::RulesMissing { .. } => {
                "the rules cannot be installed; packets bypass the agent until a retry succeeds".to_owned()
            }
            Self::Interface { up: true, .. } => {
                "the interface is up again; stations have to associate".to_owned()
            }
            Self::Interface { up: false, .. } => {
                "the interface went down; the kernel dropped the packets held for it".to_owned()
            }
            Self::Plane { .. } => "an interface came, or joined or left a bridge".to_owned(),
            Self::StationsUnknown { .. } => "nl80211 did not answer; the list is read again".to_owned(),
            Self::NoControl { .. } => {
                "the control socket cannot be made; demands stay as configured".to_owned()
            }
            Self::Room { answer: Some(_), .. } => {
                "the room decides without the sums of channels; packets are held as before".to_owned()
            }
            Self::Room { .. } => "the room is told the sum of each station's channel".to_owned(),
            Self::Overrun => "a netlink socket overflowed".to_owned(),
            Self::Ended { reason, .. } => reason.clone(),
        }
    }
}

/// A writer of events, by a thread of its own: a slow disk must not hold packets up.
#[derive(Debug)]
pub struct Journal {
    lines: LineWriter,
    /// The radio that each line names.
    radio: Option<String>,
}

impl Journal {
    /// Opens a file for appending; `None` is standard error. Each line names `radio`, if there is one.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: Option<&Path>, radio: Option<&str>) -> Result<Self, AgentError> {
        let lines = LineWriter::open(path).map_err(|source| AgentError::Io {
            action: "open the journal",
            path: path.unwrap_or(Path::new("standard error")).to_owned(),
            source,
        })?;
        Ok(Self { lines, radio: radio.map(str::to_owned) })
    }

    /// A journal to any writer.
    #[must_use]
    pub fn to(out: Box<dyn Write + Send>) -> Self {
        Self { lines: LineWriter::to(out), radio: None }
    }

    /// Writes a decision of the engine.
    pub fn decision(&mut self, now: Instant, decision: &Decision) {
        self.line(now, decision, decision.why());
    }

    /// Writes an event outside the engine.
    pub fn event(&mut self, now: Instant, event: &Event) {
        self.line(now, event, event.why());
    }

    /// Number of lines for which there was no room, or that could not be written whole.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lines.lost()
    }

    fn line(&mut self, now: Instant, what: &impl Serialize, why: String) {
        let mut line = Map::new();
        // Rounded to microseconds.
        line.insert("t_s".to_owned(), Value::from((now.as_secs_f64() * 1e6).round() / 1e6));
        if let Some(radio) = &self.radio {
            line.insert("radio".to_owned(), Value::from(radio.as_str()));
        }
        if let Ok(Value::Object(entries)) = serde_json::to_value(what) {
            line.extend(entries);
        }
        line.insert("why".to_owned(), Value::from(why));
        if self.lines.lost() > 0 {
            line.insert("lost_lines".to_owned(), Value::from(self.lines.lost()));
        }
        let mut text = Value::Object(line).to_string();
        text.push('\n');
        self.lines.write(text);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
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
    fn lines_after_a_full_disk_say_how_many_are_missing() {
        struct FullAtFirst(Shared, bool);
        impl Write for FullAtFirst {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.1, false) {
                    return Err(io::ErrorKind::StorageFull.into());
                }
                self.0.write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let shared = Shared::default();
        let mut journal = Journal::to(Box::new(FullAtFirst(shared.clone(), true)));
        journal.event(Instant::ZERO, &Event::Overrun);
        while journal.lost() == 0 {
            std::thread::yield_now();
        }
        journal.event(Instant::ZERO, &Event::RulesRestored);
        drop(journal);
        let text = String::from_utf8(shared.0.lock().expect("one thread").clone()).expect("text");
        let line: Value = serde_json::from_str(&text).expect("one line");
        assert_eq!((&line["event"], &line["lost_lines"]), (&Value::from("rules-restored"), &Value::from(1)));
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
        drop(journal);
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

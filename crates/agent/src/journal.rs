//! The journal: one line of JSON for each event, with time and reason.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

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
            Self::Overrun => "a netlink socket overflowed".to_owned(),
            Self::Ended { reason, .. } => reason.clone(),
        }
    }
}

/// Lines that wait for the disk. Further ones are lost, and counted: a slow disk must not hold packets up.
const WAITING: usize = 4096;
/// Bytes of a file at which it becomes `FILE.1`, which replaces the one before.
const LARGEST: u64 = 16 << 20;

/// A writer of events. Lines are written by a thread of their own, which starts with the first and ends with the journal.
pub struct Journal {
    writer: Writer,
    /// Lines for which there was no room.
    lost: u64,
}

/// The thread that writes.
enum Writer {
    /// Not started: a thread keeps the capabilities that its process had at its start.
    Idle(Box<dyn Write + Send>),
    Running(SyncSender<String>, JoinHandle<()>),
    Ended,
}

/// Writes lines until the journal ends. Write errors, such as of a full disk, lose a line.
fn write_lines(lines: &Receiver<String>, out: &mut (dyn Write + Send)) {
    for line in lines {
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }
}

/// A file for appending that is replaced at [`LARGEST`].
struct Rotated {
    path: PathBuf,
    file: File,
    bytes: u64,
    largest: u64,
}

impl Rotated {
    fn open(path: &Path, largest: u64) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, bytes, largest })
    }

    /// Renames the file and begins another one.
    fn rotate(&mut self) -> io::Result<()> {
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        fs::rename(&self.path, old)?;
        *self = Self::open(&self.path, self.largest)?;
        Ok(())
    }
}

impl Write for Rotated {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // What is no file, as a pipe, has a length of 0 and is never this long; a file that cannot be renamed grows on.
        if self.bytes >= self.largest && self.file.metadata()?.is_file() {
            let _ = self.rotate();
        }
        let written = self.file.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens a file for appending; `None` is standard error.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: Option<&Path>) -> Result<Self, AgentError> {
        let Some(path) = path else { return Ok(Self::to(Box::new(io::stderr()))) };
        let file = Rotated::open(path, LARGEST).map_err(|source| AgentError::Io {
            action: "open the journal",
            path: path.to_owned(),
            source,
        })?;
        Ok(Self::to(Box::new(file)))
    }

    /// A journal to any writer.
    #[must_use]
    pub fn to(out: Box<dyn Write + Send>) -> Self {
        Self { writer: Writer::Idle(out), lost: 0 }
    }

    /// Writes a decision of the engine.
    pub fn decision(&mut self, now: Instant, decision: &Decision) {
        self.line(now, decision, decision.why());
    }

    /// Writes an event outside the engine.
    pub fn event(&mut self, now: Instant, event: &Event) {
        self.line(now, event, event.why());
    }

    /// Number of lines for which there was no room.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    fn line(&mut self, now: Instant, what: &impl Serialize, why: String) {
        let mut line = Map::new();
        // Rounded to microseconds.
        line.insert("t_s".to_owned(), Value::from((now.as_secs_f64() * 1e6).round() / 1e6));
        if let Ok(Value::Object(entries)) = serde_json::to_value(what) {
            line.extend(entries);
        }
        line.insert("why".to_owned(), Value::from(why));
        let mut text = Value::Object(line).to_string();
        text.push('\n');
        if let Writer::Idle(_) = self.writer {
            self.start();
        }
        match &self.writer {
            Writer::Running(lines, _) if lines.try_send(text).is_ok() => {}
            _ => self.lost += 1,
        }
    }

    fn start(&mut self) {
        let Writer::Idle(mut out) = std::mem::replace(&mut self.writer, Writer::Ended) else { return };
        let (sender, lines) = sync_channel(WAITING);
        let thread = thread::Builder::new().name("journal".to_owned());
        if let Ok(thread) = thread.spawn(move || write_lines(&lines, &mut *out)) {
            self.writer = Writer::Running(sender, thread);
        }
    }
}

impl Drop for Journal {
    /// Waits until all lines are written.
    fn drop(&mut self) {
        if let Writer::Running(lines, thread) = std::mem::replace(&mut self.writer, Writer::Ended) {
            drop(lines);
            let _ = thread.join();
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

    #[test]
    fn a_disk_that_does_not_answer_holds_nobody_up() {
        struct Stuck(Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (answer, stuck) = sync_channel(0);
        let mut journal = Journal::to(Box::new(Stuck(stuck)));
        for _ in 0..WAITING + 100 {
            journal.event(Instant::ZERO, &Event::Overrun);
        }
        assert!((99..=100).contains(&journal.lost()), "{}: one is being written", journal.lost());
        drop(answer);
    }

    #[test]
    fn a_long_file_makes_room_for_another() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("journal");
        let mut file = Rotated::open(&path, 100).expect("a file");
        for number in 0..50 {
            writeln!(file, "line {number:02}").expect("written");
        }
        let read = |name| fs::read_to_string(folder.path().join(name)).expect("a file");
        let (old, new) = (read("journal.1"), read("journal"));
        assert!(old.len() <= 108 && new.len() <= 108, "{} {}", old.len(), new.len());
        assert!(new.ends_with("line 49\n") && old.lines().count() + new.lines().count() >= 13);
    }
}

//! One stream: decisions, the host that carries them out, and the journal.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant as Clock;

use airbound_senders::bitrate::{BitrateController, Change, Feedback, Why};
use airbound_units::{BitRate, Instant, Span};
use serde_json::json;

use super::host::{Host, HostError};

/// Writes a line for each event, as a sentence or as JSON.
pub struct Journal {
    out: Box<dyn Write + Send>,
    json: bool,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("json", &self.json).finish_non_exhaustive()
    }
}

impl Journal {
    /// Writes to `out`.
    #[must_use]
    pub const fn new(out: Box<dyn Write + Send>, json: bool) -> Self {
        Self { out, json }
    }

    fn write(&mut self, sentence: &str, event: &serde_json::Value) {
        let line = if self.json { event.to_string() } else { sentence.to_owned() };
        // A closed standard output leaves nobody to tell.
        let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
    }

    /// Writes that something happened.
    pub fn note(&mut self, event: &str, sentence: &str) {
        self.write(sentence, &json!({"event": event, "why": sentence}));
    }
}

/// A stream's controller, the host if one is set from here, and the journal.
#[derive(Debug)]
pub struct Session {
    controller: BitrateController,
    host: Option<Host>,
    /// Whether the host is of the kind and version that this program knows.
    known: bool,
    journal: Journal,
    begun: Clock,
    /// The sentences about what does not work now.
    trouble: BTreeMap<Source, String>,
}

/// The options of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The host.
    Host,
    /// The relay.
    Relay,
}

impl Session {
    /// A stream that begins at the controller's rate.
    #[must_use]
    pub fn new(controller: BitrateController, host: Option<Host>, journal: Journal) -> Self {
        Self { controller, host, known: false, journal, begun: Clock::now(), trouble: BTreeMap::new() }
    }

    /// The journal.
    pub const fn journal(&mut self) -> &mut Journal {
        &mut self.journal
    }

    /// The rate that the host has.
    #[must_use]
    pub const fn rate(&self) -> BitRate {
        self.controller.rate()
    }

    /// Goes on with another controller, as for other limits.
    pub fn replace(&mut self, controller: BitrateController) {
        self.controller = controller;
    }

    fn now(&self) -> Instant {
        Instant::ZERO + Span::from_nanos(self.begun.elapsed().as_nanos() as u64)
    }

    /// Meets the host and sets the rate of the start.
    ///
    /// # Errors
    /// The host is of another kind. One that is away is tried again with the first change.
    pub fn begin(&mut self) -> Result<(), HostError> {
        if self.host.is_none() {
            return Ok(());
        }
        match self.set(self.rate()) {
            Ok(taken) => {
                let now = self.now();
                self.controller.set(now, taken);
                self.journal.note("host", &format!("the host has {taken}"));
                Ok(())
            }
            Err(error) if error.is_final() => Err(error),
            Err(error) => {
                self.trouble(Source::Host, &error.to_string());
                Ok(())
            }
        }
    }

    /// Sets the host. The first time, asks what it can, and that it leaves the bitrate alone.
    fn set(&mut self, rate: BitRate) -> Result<BitRate, HostError> {
        let Some(host) = &self.host else { return Ok(rate) };
        if !self.known {
            if host.capabilities()?.supported
                && let Err(error) = host.rest()
            {
                self.journal.note("host", &format!("the host's own rule stays on: {error}"));
            }
            self.known = true;
        }
        host.set(rate)
    }

    /// Takes a client's report; returns the new rate and the reason if the rate has changed.
    pub fn on_feedback(&mut self, feedback: &Feedback) -> Option<(BitRate, String)> {
        let change = self.controller.on_feedback(self.now(), feedback)?;
        self.carry_out(&change, None)
    }

    /// Takes the rate that a relay allocates, and what limits it.
    pub fn on_allocated(&mut self, rate: BitRate, limit: &str) -> Option<(BitRate, String)> {
        let change = self.controller.on_allocated(self.now(), rate)?;
        self.carry_out(&change, Some(limit).filter(|limit| !limit.is_empty()))
    }

    /// Sets a rate that a client wants, for this reason.
    ///
    /// # Errors
    /// The host does not take it.
    pub fn set_for_client(&mut self, rate: BitRate, why: &str) -> Result<BitRate, HostError> {
        let taken = self.set(rate)?;
        let (now, before) = (self.now(), self.rate());
        self.controller.set(now, taken);
        if taken != before {
            self.tell(before, taken, why, "client");
        }
        Ok(taken)
    }

    fn carry_out(&mut self, change: &Change, limit: Option<&str>) -> Option<(BitRate, String)> {
        let mut why = change.why.to_string();
        if let Some(limit) = limit {
            why = format!("{why}: {limit}");
        }
        let before = self.rate();
        let taken = match self.set(change.rate) {
            Ok(taken) => taken,
            Err(error) => {
                self.trouble(Source::Host, &error.to_string());
                return None;
            }
        };
        self.works(Source::Host);
        let now = self.now();
        self.controller.set(now, taken);
        if taken != change.rate {
            why = format!("{why}; {} was asked for", change.rate);
        }
        if taken == before {
            // A host at its own limit: nothing has changed.
            return None;
        }
        self.tell(before, taken, &why, kind(&change.why));
        Some((taken, why))
    }

    fn tell(&mut self, from: BitRate, to: BitRate, why: &str, kind: &str) {
        let event = json!({
            "event": "change", "at_ms": self.begun.elapsed().as_millis() as u64,
            "from_kbps": from.as_bps() / 1000, "to_kbps": to.as_bps() / 1000, "reason": kind, "why": why,
        });
        self.journal.write(&format!("{from} to {to}: {why}"), &event);
    }

    /// Says once what does not work.
    pub fn trouble(&mut self, of: Source, sentence: &str) {
        if self.trouble.get(&of).map(String::as_str) != Some(sentence) {
            let kept = format!("{sentence}; the rate stays {}", self.rate());
            self.journal.note("trouble", &kept);
            self.trouble.insert(of, sentence.to_owned());
        }
    }

    /// Says that something works again, if it did not.
    pub fn works(&mut self, of: Source) {
        if self.trouble.remove(&of).is_some() {
            self.journal.note(
                "works",
                &format!("the {} answers again", if of == Source::Host { "host" } else { "relay" }),
            );
        }
    }
}

/// The name of a reason in JSON.
const fn kind(why: &Why) -> &'static str {
    match why {
        Why::Queue { .. } => "queue",
        Why::Loss { .. } => "loss",
        Why::Others => "others",
        Why::Room { .. } => "room",
        Why::Allocated { .. } => "allocated",
        _ => "other",
    }
}

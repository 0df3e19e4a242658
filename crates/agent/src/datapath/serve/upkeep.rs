//! The upkeep of the rules, on a thread of its own: `nft` takes some 25 ms, and its rules lead packets to this process before it ends.
//! In a loop that waits for it these packets would wait, too.

use std::thread::{self, JoinHandle};

use airbound_linux::LinuxError;
use airbound_linux::nftables::{Rules, Table};
use airbound_units::{Instant, Span};

use super::{Server, planes_text};
use crate::journal::Event;

/// Wait after a failed attempt to restore the rules.
const RETRY: Span = Span::from_secs(1);
/// Interval at which the end of the work is looked for.
pub(super) const LOOK: Span = Span::from_millis(2);

/// The result of the work; `None` if there was nothing to do.
type Outcome = Option<Result<(), LinuxError>>;

/// Work that is under way, on a copy of the table, which takes the table's place in the end.
#[derive(Debug)]
pub(super) struct Upkeep {
    thread: JoinHandle<(Table, Outcome)>,
    /// The event of its success.
    done: Event,
    /// Whether more was asked for meanwhile.
    is_asked_again: bool,
}

impl Server<'_> {
    /// Holds packets of the interfaces as they are now at the hooks that they pass. What is held stays held.
    pub(super) fn move_rules(&mut self, time: Instant) {
        // What lets packets through stays as it was installed: an older `nft` may refuse it.
        let through = self.table.rules().through.clone();
        let mut rules = Rules { queue: self.queue.number(), through, ..self.plan.rules_for(&self.ports) };
        // The rules of an interface that is gone harm nothing, and it may come back.
        for (name, planes) in &self.table.rules().ports {
            rules.ports.entry(name.clone()).or_insert_with(|| planes.clone());
        }
        if rules != *self.table.rules() {
            let done = Event::Plane { plane: planes_text(&rules) };
            self.keep(time, done, move |table| Some(table.update(&rules)));
        }
    }

    /// Restores the nftables rules if another program removed them.
    pub(super) fn check_rules(&mut self, time: Instant) {
        self.keep(time, Event::RulesRestored, |table| {
            let is_present = table.is_present().unwrap_or(true);
            let rules = table.rules().clone();
            (!is_present).then(|| table.update(&rules))
        });
    }

    /// Begins work on the rules; what is asked for while some is under way is looked at in its end.
    fn keep(
        &mut self,
        time: Instant,
        done: Event,
        work: impl FnOnce(&mut Table) -> Outcome + Send + 'static,
    ) {
        if let Some(upkeep) = &mut self.upkeep {
            upkeep.is_asked_again = true;
            return;
        }
        let mut table = self.table.clone();
        let work = move || {
            let outcome = work(&mut table);
            (table, outcome)
        };
        match thread::Builder::new().name("rules".to_owned()).spawn(work) {
            Ok(thread) => self.upkeep = Some(Upkeep { thread, done, is_asked_again: false }),
            Err(error) => self.miss_rules(time, error.to_string()),
        }
    }

    /// Takes what the work came to, once it has ended.
    pub(super) fn take_upkeep(&mut self, time: Instant) {
        if self.upkeep.as_ref().is_some_and(|upkeep| upkeep.thread.is_finished()) {
            self.wait_for_upkeep(time);
        }
    }

    /// Waits until no work is under way.
    pub(super) fn wait_for_upkeep(&mut self, time: Instant) {
        let Some(Upkeep { thread, done, is_asked_again }) = self.upkeep.take() else { return };
        if is_asked_again {
            self.due.rules = time;
        }
        match thread.join() {
            Ok((table, outcome)) => {
                self.table = table;
                match outcome {
                    Some(Ok(())) => self.journal.event(time, &done),
                    Some(Err(error)) => self.miss_rules(time, error.to_string()),
                    None => {}
                }
            }
            Err(_) => self.miss_rules(time, "the work on the rules ended early".to_owned()),
        }
    }

    fn miss_rules(&mut self, time: Instant, answer: String) {
        self.due.rules = time + RETRY;
        self.journal.event(time, &Event::RulesMissing { answer });
    }
}

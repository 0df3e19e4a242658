//! Packets that go through without a verdict: the switch of the rules, and the count of what is below.

use airbound_linux::now;
use airbound_units::Instant;

use super::Server;
use crate::engine::Passage;

impl Server<'_> {
    /// Lets packets be held again if as much is below as makes the next one wait.
    pub(super) fn hold_if_filled(&mut self, time: Instant) {
        if !self.engine.is_bypassed() {
            return;
        }
        if let Some(below) = self.completions.filled() {
            self.engine.on_filled(time, below);
            // At once: each packet that goes through meanwhile waits below.
            let passage = self.engine.output().passage.take();
            self.take(passage);
        }
    }

    /// Carries out a change of the way that packets take.
    pub(super) fn take(&mut self, passage: Option<Passage>) {
        match passage {
            None => {}
            Some(Passage::Bypass { limit }) => {
                self.completions.count_below(now());
                self.completions.set_limit(Some(limit));
                if self.switch.set(&self.table, true).is_err() {
                    // The rules are gone, and are put back, with all packets queued.
                    self.completions.set_limit(None);
                    self.engine.on_bypass_refused();
                }
            }
            Some(Passage::Limit(limit)) => self.completions.set_limit(Some(limit)),
            Some(Passage::Held) => {
                self.completions.set_limit(None);
                // Without its table nothing is queued, nor let through.
                let _ = self.switch.set(&self.table, false);
            }
        }
    }
}

//! Completions from eBPF.

use std::os::fd::{AsFd, BorrowedFd};

use airbound_units::{Instant, Span};

use super::programs::{Programs, Settings};
use super::record;
use super::{Completion, CompletionConfig, CompletionCounters};
use crate::LinuxError;
use crate::nl80211::WifiInterface;

/// Reads the records of the programs.
#[derive(Debug)]
pub(super) struct Tracer {
    programs: Programs,
    interval: Span,
    /// When the records were read last.
    drained: Instant,
    quiet: bool,
    malformed: u64,
}

/// Longest time from the reading of the clock by a program until its record is there.
const SLACK: Span = Span::from_micros(250);

impl AsFd for Tracer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.programs.ring.as_fd()
    }
}

impl Tracer {
    pub(super) fn open(interface: &WifiInterface, config: &CompletionConfig) -> Result<Self, LinuxError> {
        let settings = Settings {
            wiphy: interface.wiphy,
            interval: config.interval,
            gathered: config.gathered,
            buffer: config.buffer,
        };
        let programs = Programs::load(settings)
            .map_err(|error| LinuxError::Unavailable { what: "eBPF in mac80211", why: error.to_string() })?;
        let (interval, drained) = (config.interval, Instant::ZERO);
        Ok(Self { programs, interval, drained, quiet: false, malformed: 0 })
    }

    pub(super) fn set_quiet(&mut self, quiet: bool) {
        if self.quiet != quiet {
            self.quiet = quiet;
            self.programs.set_quiet(quiet);
        }
    }

    /// Records that come within the interval after a wake-up cause none, later ones do: the time when the former are all there, or
    /// `now` if some are.
    pub(super) fn next_drain(&self, now: Instant) -> Option<Instant> {
        if self.quiet {
            return None;
        }
        if self.programs.ring.is_pending() {
            return Some(now);
        }
        let silent_until = self.programs.woken() + self.interval + SLACK;
        (self.drained < silent_until).then_some(silent_until)
    }

    pub(super) fn drain(&mut self, now: Instant, mut each: impl FnMut(&Completion)) {
        self.drained = now;
        let mut malformed = 0;
        self.programs.ring.drain(|bytes, length| {
            match record::read(bytes).filter(|_| length == record::SIZE) {
                Some(completion) => each(&completion),
                None => malformed += 1,
            }
        });
        self.malformed += malformed;
    }

    /// The interval at which the last records of a burst are found.
    pub(super) const fn interval(&self) -> Span {
        self.interval
    }

    pub(super) fn counters(&self) -> CompletionCounters {
        let (frames, lost) = self.programs.counted();
        CompletionCounters { frames, lost, malformed: self.malformed, reading: Span::ZERO }
    }
}

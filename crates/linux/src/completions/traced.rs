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
    quiet: bool,
    malformed: u64,
}

/// Longest time from the reading of the clock by a program until its record is there.
const SLACK: Span = Span::from_micros(250);
/// The frames of an aggregate complete one after the other: for this time after a wake-up further ones wake nobody.
const BURST: Span = Span::from_micros(100);

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
            burst: BURST,
            gathered: config.gathered,
            buffer: config.buffer,
        };
        let programs = Programs::load(settings)
            .map_err(|error| LinuxError::Unavailable { what: "eBPF in mac80211", why: error.to_string() })?;
        Ok(Self { programs, interval: config.interval, quiet: false, malformed: 0 })
    }

    pub(super) fn set_quiet(&mut self, quiet: bool) {
        if self.quiet != quiet {
            self.quiet = quiet;
            self.programs.set_quiet(quiet);
        }
    }

    pub(super) fn count_below(&self, since: Instant) {
        self.programs.count_below(since);
    }

    pub(super) fn set_limit(&self, limit: Option<u32>) {
        self.programs.set_limit(limit);
    }

    pub(super) fn below(&self) -> (i64, bool) {
        self.programs.below()
    }

    /// Records that come in the burst after a wake-up cause none, and neither do those behind them until the interval has passed: the time
    /// when they are all there, or `now` if some are. After the burst the next record wakes who has read all others: one that was taken for
    /// a part of the burst is pending by then, since a program reserves its record before it reads the clock.
    pub(super) fn next_drain(&self, now: Instant) -> Option<Instant> {
        if self.quiet {
            return None;
        }
        if self.programs.ring.is_pending() {
            return Some(now);
        }
        let woken = self.programs.woken();
        (now < woken + BURST).then(|| woken + self.interval + SLACK)
    }

    pub(super) fn drain(&mut self, mut each: impl FnMut(&Completion)) {
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

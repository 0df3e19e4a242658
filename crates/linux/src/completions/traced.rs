//! Completions from eBPF.

use std::os::fd::{AsFd, BorrowedFd};

use airbound_units::Span;

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
    malformed: u64,
}

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
        Ok(Self { programs, interval: config.interval, malformed: 0 })
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
        CompletionCounters { frames, lost, malformed: self.malformed }
    }
}

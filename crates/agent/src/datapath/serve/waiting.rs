//! The event loop's sleep: until packets, completions or notifications have come, or something is due.
//!
//! A wake-up costs as much as the decisions on several packets. So completions wake the agent only while packets are held, which they
//! may release.

use std::os::fd::{AsFd, OwnedFd};

use airbound_linux::completions::Completions;
use airbound_linux::monitor::Monitor;
use airbound_linux::nfqueue::Queue;
use airbound_linux::{LinuxError, now};
use airbound_units::{Instant, Span};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::Server;
use crate::datapath::timespec;

/// Longest sleep, so that heartbeats are sent in time.
const LONGEST: Span = Span::from_millis(50);

/// Whether the packet queue and the monitor have something to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readable {
    pub(super) packets: bool,
    pub(super) changes: bool,
}

/// The descriptors that wake the agent, registered once: `poll` would look at each of them before and after every sleep.
#[derive(Debug)]
pub(super) struct Alarms {
    epoll: OwnedFd,
    /// Whether the kernel takes fractions of a millisecond (`epoll_pwait2`, Linux 5.11).
    is_fine: bool,
}

/// The data of an event: the packet queue, completions, or a descriptor of the monitor.
const PACKETS: u64 = 0;
const COMPLETIONS: u64 = 1;
const CHANGES: u64 = 2;

impl Alarms {
    pub(super) fn open(
        queue: &Queue,
        completions: &Completions,
        monitor: &Monitor,
    ) -> Result<Self, LinuxError> {
        let failed = |source: Errno| LinuxError::System { action: "wait for packets", source: source.into() };
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        let monitored = monitor.descriptors().map(|descriptor| (CHANGES, descriptor));
        let completed = completions.descriptor().map(|descriptor| (COMPLETIONS, descriptor));
        for (kind, descriptor) in monitored.chain(completed).chain([(PACKETS, queue.as_fd())]) {
            epoll::add(&epoll, descriptor, EventData::new_u64(kind), EventFlags::IN).map_err(failed)?;
        }
        Ok(Self { epoll, is_fine: true })
    }

    /// Sleeps until one is readable, at most `longest`.
    fn wait(&mut self, longest: Span) -> Readable {
        let mut events = [Event { flags: EventFlags::empty(), data: EventData::new_u64(COMPLETIONS) }; 5];
        let mut waited = Err(Errno::NOSYS);
        if self.is_fine {
            waited = epoll::wait(&self.epoll, &mut events, Some(&timespec(longest)));
            // A filter of system calls refuses what it does not know with EPERM.
            self.is_fine = !matches!(waited, Err(Errno::NOSYS | Errno::PERM));
        }
        if !self.is_fine {
            let whole = Span::from_millis(longest.as_nanos().div_ceil(1_000_000));
            waited = epoll::wait(&self.epoll, &mut events, Some(&timespec(whole)));
        }
        // A failed wait, as by EINTR, reports nothing as readable.
        let events = events.get(..waited.unwrap_or(0)).unwrap_or_default();
        let is_readable = |kind| events.iter().any(|event| event.data.u64() == kind);
        Readable { packets: is_readable(PACKETS), changes: is_readable(CHANGES) }
    }
}

impl Server<'_> {
    pub(super) fn wait_readable(&mut self, tick: Option<Instant>) -> Readable {
        self.completions.set_quiet(self.engine.held() == 0);
        let time = now();
        let mut until = time + LONGEST;
        let due = [self.due.stations, self.due.snapshot, self.due.rules];
        let asked = [tick, self.engine.channel_deadline()];
        for at in due.into_iter().chain(asked.into_iter().flatten()) {
            until = until.min(at);
        }
        // The ring buffer does not signal the last completions of a burst, and counters have no descriptor.
        if let Some(at) = self.completions.next_drain(time).filter(|_| self.has_below()) {
            until = until.min(at);
        }
        self.alarms.wait(until.since(time))
    }

    fn has_below(&self) -> bool {
        airbound_wifi::edca::Category::ALL.into_iter().any(|category| !self.engine.below(category).is_zero())
    }
}

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
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

use super::{Server, upkeep};
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
        // A failed wait, as by EINTR, reports nothing as readable.
        let waited =
            finely(&mut self.is_fine, longest, |limit| epoll::wait(&self.epoll, &mut events, Some(limit)));
        let events = events.get(..waited.unwrap_or(0)).unwrap_or_default();
        let is_readable = |kind| events.iter().any(|event| event.data.u64() == kind);
        Readable { packets: is_readable(PACKETS), changes: is_readable(CHANGES) }
    }
}

/// Waits with a time limit, in whole milliseconds, rounded up, where the kernel refuses fractions: from then on at once.
fn finely(
    is_fine: &mut bool,
    longest: Span,
    mut wait: impl FnMut(&Timespec) -> Result<usize, Errno>,
) -> Result<usize, Errno> {
    if *is_fine {
        let waited = wait(&timespec(longest));
        // A filter of system calls refuses what it does not know with EPERM.
        *is_fine = !matches!(waited, Err(Errno::NOSYS | Errno::PERM));
        if *is_fine {
            return waited;
        }
    }
    wait(&timespec(Span::from_millis(longest.as_nanos().div_ceil(1_000_000))))
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
        if self.upkeep.is_some() {
            until = until.min(time + upkeep::LOOK);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_fractions_gets_whole_milliseconds() {
        for refusal in [Errno::NOSYS, Errno::PERM] {
            let (mut is_fine, mut asked) = (true, Vec::new());
            let mut sleep = |micros| {
                finely(&mut is_fine, Span::from_micros(micros), |limit| {
                    asked.push(limit.tv_nsec / 1000);
                    // Whole milliseconds are another system call.
                    if limit.tv_nsec % 1_000_000 == 0 { Ok(1) } else { Err(refusal) }
                })
            };
            assert_eq!((sleep(7000), sleep(1100), sleep(300)), (Ok(1), Ok(1), Ok(1)));
            assert_eq!(asked, [7000, 1100, 2000, 1000], "{refusal}: fractions are tried once");
        }
    }

    #[test]
    fn another_failure_changes_nothing() {
        let (mut is_fine, mut asked) = (true, 0);
        for _ in 0..2 {
            let waited = finely(&mut is_fine, Span::from_micros(1100), |_| {
                asked += 1;
                Err(Errno::INTR)
            });
            assert_eq!(waited, Err(Errno::INTR));
        }
        assert_eq!((is_fine, asked), (true, 2));
    }
}

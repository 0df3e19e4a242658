//! The event loop's sleep: until packets, completions or notifications have come, or something is due.
//!
//! A wake-up costs as much as the decisions on several packets. So completions wake the agent only while packets are held, which they
//! may release.

use std::os::fd::AsFd;

use airbound_linux::now;
use airbound_units::{Instant, Span};
use rustix::event::{PollFd, PollFlags};

use super::Server;
use crate::datapath::wait;

/// Longest sleep, so that heartbeats are sent in time.
const LONGEST: Span = Span::from_millis(50);

/// Whether the packet queue and the monitor have something to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Readable {
    pub(super) packets: bool,
    pub(super) changes: bool,
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
        // Packets, completions, and at most three descriptors of the monitor; unused entries poll for no event.
        let mut monitored = self.monitor.descriptors();
        let mut fds: [PollFd<'_>; 5] = std::array::from_fn(|place| {
            let descriptor = match place {
                0 => Some(self.queue.as_fd()),
                1 => self.completions.descriptor(),
                _ => monitored.next(),
            };
            match descriptor {
                Some(descriptor) => PollFd::from_borrowed_fd(descriptor, PollFlags::IN),
                None => PollFd::from_borrowed_fd(self.queue.as_fd(), PollFlags::empty()),
            }
        });
        wait(&mut fds, until.since(time));
        let [packets, _, monitored @ ..] = fds.map(|fd| !fd.revents().is_empty());
        Readable { packets, changes: monitored.contains(&true) }
    }

    fn has_below(&self) -> bool {
        airbound_wifi::edca::Category::ALL.into_iter().any(|category| !self.engine.below(category).is_zero())
    }
}

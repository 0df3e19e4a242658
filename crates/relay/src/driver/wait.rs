//! Waiting for sockets until a moment, whose last part is spun: a sleep ends tens of microseconds late.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use airbound_units::{Instant, Span};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::error::RelayError;

/// The part of a wait that is spun. More would keep a core busy where packets are this far apart.
const SPIN: Span = Span::from_micros(10);
/// Longest sleep: after it the flag of a signal is looked at.
const LONGEST: Span = Span::from_millis(250);
/// Sockets of one look.
const READY: usize = 64;

/// Sockets that are waited for, each under a number.
#[derive(Debug)]
pub(super) struct Waiter {
    epoll: OwnedFd,
}

impl Waiter {
    pub(super) fn new() -> Result<Self, RelayError> {
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(io::Error::from);
        Ok(Self { epoll: epoll.map_err(RelayError::io("wait for sockets"))? })
    }

    pub(super) fn add(&self, socket: &impl AsFd, number: u64) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(number), EventFlags::IN)?)
    }

    /// Waits until a socket has something, or until `until`, or somewhat. Writes the numbers of these sockets to `ready`.
    pub(super) fn wait(&self, until: Instant, ready: &mut Vec<u64>) {
        loop {
            ready.clear();
            let mut events = [MaybeUninit::uninit(); READY];
            let none = Timespec { tv_sec: 0, tv_nsec: 0 };
            if let Ok((events, _)) = epoll::wait(&self.epoll, &mut events, Some(&none)) {
                ready.extend(events.iter().map(|event| event.data.u64()));
            }
            let left = until.since(airbound_linux::now());
            if !ready.is_empty() || left.is_zero() {
                return;
            }
            if left > SPIN {
                let sleep = (left - SPIN).min(LONGEST);
                let nanos = i64::try_from(sleep.as_nanos()).unwrap_or(i64::MAX);
                let timeout =
                    Timespec { tv_sec: nanos / 1_000_000_000, tv_nsec: (nanos % 1_000_000_000) as _ };
                // An error is a signal; the caller looks at its flag.
                let woken = poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(&timeout));
                if woken.is_err() || (woken == Ok(0) && sleep == LONGEST) {
                    return;
                }
            }
        }
    }
}

//! The loop of both ends, and what they have in common: datagrams that are received are collected, then sent on in batches.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use airbound_linux::udp::UdpSocket;
use airbound_units::{Instant, Span};
use serde_json::{Value, json};

use super::journal::Journal;
use super::wait::Waiter;
use crate::protocol::Transmit;

/// Distance of two looks at key file, metrics and PHY rate.
const CHORES: Span = Span::from_secs(1);
/// Datagrams sent by one call.
const BATCH: usize = 64;

/// An end of the relay with its sockets.
pub(super) trait End {
    fn journal(&mut self) -> &mut Journal;
    fn waiter(&self) -> &Waiter;
    /// Does what is due once a second.
    fn chores(&mut self, now: Instant);
    /// Sends what is due, and notes what happened.
    fn turn(&mut self);
    /// The time of the next turn if no datagram comes; `None` if nothing is due.
    fn next_deadline(&self) -> Option<Instant>;
    /// Reads the socket of this number.
    fn read(&mut self, number: u64);
    /// Says farewell.
    fn close(&mut self, _now: Instant) {}
}

/// Runs an end until the flag of a signal is set.
pub(super) fn run(end: &mut impl End, stop: &AtomicBool, started: Value) {
    let mut chores = airbound_linux::now();
    end.journal().note(chores, "started", started, "it was asked for");
    let mut ready = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let now = airbound_linux::now();
        if now >= chores {
            chores = now + CHORES;
            end.chores(now);
        }
        end.turn();
        let until = end.next_deadline().map_or(chores, |at| at.min(chores));
        end.waiter().wait(until, &mut ready);
        ready.iter().for_each(|number| end.read(*number));
    }
    let now = airbound_linux::now();
    end.close(now);
    end.turn();
    end.journal().note(now, "ended", json!({}), "a signal asked for it");
}

/// Datagrams to be sent.
#[derive(Debug, Default)]
pub(super) struct Sending(Vec<Transmit>);

impl Sending {
    /// Sends all that `next` takes from an end, and gives the buffers back. Returns how many datagrams the kernel did not take.
    pub(super) fn send_all<E>(
        &mut self,
        end: &mut E,
        socket: &mut UdpSocket,
        next: impl Fn(&mut E) -> Option<Transmit>,
        recycle: impl Fn(&mut E, Vec<u8>),
    ) -> u64 {
        let mut refused = 0;
        loop {
            while self.0.len() < BATCH
                && let Some(transmit) = next(end)
            {
                self.0.push(transmit);
            }
            if self.0.is_empty() {
                return refused;
            }
            let all = self.0.iter().map(|transmit| (Some(transmit.to), &transmit.bytes[..], transmit.leaves));
            refused += socket.send_at(all) as u64;
            self.0.drain(..).for_each(|transmit| recycle(end, transmit.bytes));
        }
    }
}

/// Contents of datagrams to be sent on, each with its receiver.
#[derive(Debug)]
pub(super) struct Collected<T> {
    bytes: Vec<u8>,
    parts: Vec<(T, Range<usize>)>,
}

impl<T> Default for Collected<T> {
    fn default() -> Self {
        Self { bytes: Vec::new(), parts: Vec::new() }
    }
}

impl<T: Copy + PartialEq> Collected<T> {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.parts.clear();
    }

    pub(super) fn push(&mut self, to: T, datagram: &[u8]) {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(datagram);
        self.parts.push((to, begin..self.bytes.len()));
    }

    /// The datagrams in order, successive ones to one receiver together.
    pub(super) fn groups(&self) -> impl Iterator<Item = (T, impl Iterator<Item = &[u8]>)> {
        self.parts.chunk_by(|one, other| one.0 == other.0).filter_map(|group| {
            let (to, _) = group.first()?;
            Some((*to, group.iter().map(|(_, range)| self.bytes.get(range.clone()).unwrap_or_default())))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collected_datagrams_come_out_in_order_by_receiver() {
        let mut collected = Collected::default();
        collected.push(9, b"gone");
        collected.clear();
        for (to, datagram) in [(1, &b"a"[..]), (1, b""), (2, b"bb"), (1, b"c")] {
            collected.push(to, datagram);
        }
        let groups: Vec<(i32, Vec<&[u8]>)> =
            collected.groups().map(|(to, group)| (to, group.collect())).collect();
        assert_eq!(groups, [(1, vec![&b"a"[..], b""]), (2, vec![&b"bb"[..]]), (1, vec![&b"c"[..]])]);
    }
}

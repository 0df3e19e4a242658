//! A client's queue at the edge: packets wait here instead of at the access point. CoDel (RFC 8289) drops at its head, so that a sender
//! behind it, such as CUBIC in a tunnel, fills the air and no queue.

use std::collections::VecDeque;

use airbound_units::{Instant, Span};

/// Queueing delay that is accepted (RFC 8289 section 4.4),
const TARGET: Span = Span::from_millis(5);
/// and time in which it has to be reached once.
const INTERVAL: Span = Span::from_millis(100);
/// Age at which packets are dropped in any case: CoDel alone takes seconds to bound what a sender without congestion control makes.
const OLDEST: Span = Span::from_millis(50);
/// Upper limit on packets.
const MOST_PACKETS: usize = 4096;

/// A packet that waits: room for the header, then the payload.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) at: Instant,
    pub(super) flags: u16,
    pub(super) bytes: Vec<u8>,
}

/// A queue under CoDel.
#[derive(Debug, Default)]
pub(super) struct Queue {
    packets: VecDeque<Waiting>,
    bytes: usize,
    /// Since when the delay is above the target, plus the interval.
    first_above: Option<Instant>,
    dropping: bool,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    /// Packets dropped since the last call of [`Self::take_dropped`]; their buffers are free.
    dropped: Vec<Vec<u8>>,
    drops: u64,
}

impl Queue {
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Length of the next packet.
    pub(super) fn next_length(&self) -> usize {
        self.packets.front().map_or(0, |packet| packet.bytes.len())
    }

    /// Packets dropped so far.
    pub(super) const fn drops(&self) -> u64 {
        self.drops
    }

    /// Buffers of dropped packets.
    pub(super) fn take_dropped(&mut self) -> impl Iterator<Item = Vec<u8>> {
        self.dropped.drain(..)
    }

    pub(super) fn push(&mut self, packet: Waiting) {
        if self.packets.len() >= MOST_PACKETS {
            self.drop_packet(packet);
            return;
        }
        self.bytes += packet.bytes.len();
        self.packets.push_back(packet);
    }

    fn drop_packet(&mut self, packet: Waiting) {
        self.drops += 1;
        self.dropped.push(packet.bytes);
    }

    /// Takes the next packet and returns whether its delay was too long for too long.
    fn take(&mut self, now: Instant, target: Span) -> Option<(Waiting, bool)> {
        let Some(packet) = self.packets.pop_front() else {
            self.first_above = None;
            return None;
        };
        self.bytes -= packet.bytes.len();
        if now.since(packet.at) < target || self.packets.is_empty() {
            self.first_above = None;
            return Some((packet, false));
        }
        let since = *self.first_above.get_or_insert(now + INTERVAL);
        Some((packet, now >= since))
    }

    /// The packet to send now. `packet_time` is the time of one at the rate in force: the target cannot be shorter than some.
    pub(super) fn pop(&mut self, now: Instant, packet_time: Span) -> Option<Waiting> {
        let target = TARGET.max(packet_time * 2);
        while self.packets.len() > 1
            && self.packets.front().is_some_and(|packet| now.since(packet.at) > OLDEST.max(target * 4))
        {
            if let Some((packet, _)) = self.take(now, target) {
                self.drop_packet(packet);
            }
        }
        let (mut packet, mut late) = self.take(now, target)?;
        if self.dropping {
            if !late {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.drop_packet(packet);
                self.count = self.count.saturating_add(1);
                let Some((next, is_late)) = self.take(now, target) else {
                    self.dropping = false;
                    return None;
                };
                (packet, late) = (next, is_late);
                if late {
                    self.drop_next += law(self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if late {
            self.drop_packet(packet);
            let next = self.take(now, target);
            self.dropping = true;
            // Where it was dropping lately, it goes on at the rate found then.
            let more = self.count - self.last_count.min(self.count);
            let lately = now.since(self.drop_next) < INTERVAL * 16;
            self.count = if more > 1 && lately { more } else { 1 };
            self.drop_next = now + law(self.count);
            self.last_count = self.count;
            return next.map(|(packet, _)| packet);
        }
        Some(packet)
    }
}

/// Time to the next drop.
fn law(count: u32) -> Span {
    INTERVAL.mul_f64(1.0 / f64::from(count.max(1)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a queue with `offered` and drains it with `served` packets a millisecond for `millis`; returns the delay of each packet served.
    fn delays(offered: u64, served: u64, millis: u64) -> (Vec<Span>, u64) {
        let mut queue = Queue::default();
        let mut delays = Vec::new();
        for at in 0..millis {
            let now = Instant::ZERO + Span::from_millis(at);
            for _ in 0..offered {
                queue.push(Waiting { at: now, flags: 0, bytes: vec![0; 100] });
            }
            for _ in 0..served {
                delays.extend(queue.pop(now, Span::ZERO).map(|packet| now.since(packet.at)));
            }
        }
        (delays, queue.drops())
    }

    #[test]
    fn a_queue_that_drains_loses_nothing() {
        let (delays, drops) = delays(5, 5, 1000);
        assert_eq!((delays.len(), drops), (5000, 0));
        assert!(delays.iter().all(|delay| *delay == Span::ZERO));
    }

    #[test]
    fn a_standing_queue_is_dropped_from() {
        let (delays, drops) = delays(11, 10, 5000);
        assert!(drops > 100, "{drops}");
        assert!(delays.iter().all(|delay| *delay <= OLDEST), "what is old is not sent");
    }

    #[test]
    fn a_queue_never_holds_more_than_its_limit() {
        let mut queue = Queue::default();
        for _ in 0..MOST_PACKETS + 10 {
            queue.push(Waiting { at: Instant::ZERO, flags: 0, bytes: Vec::new() });
        }
        assert_eq!((queue.len(), queue.drops()), (MOST_PACKETS, 10));
        assert_eq!(queue.take_dropped().count(), 10);
    }
}

//! Groups of packets sent together: measures the change of delay from one group to the next.
//!
//! | constant | source |
//! |---|---|
//! | 5 ms of sending make a group | draft-ietf-rmcat-gcc-02, Sec. 5.2 (burst_time); libwebrtc `kSendTimeGroupLength` |
//! | packets 5 ms apart that caught up belong to a burst, up to 100 ms | Sec. 5.2; libwebrtc `kBurstDeltaThreshold`, `kMaxBurstDuration` |
//! | 3 groups out of order, or a jump of the clock by 3 s: start over | libwebrtc `kReorderedResetThreshold`, `kArrivalTimeOffsetThreshold` |

use airbound_units::{Instant, Span};

const GROUP: Span = Span::from_millis(5);
const BURST_GAP: Span = Span::from_millis(5);
const LONGEST_BURST: Span = Span::from_millis(100);
const REORDERED: u32 = 3;
const CLOCK_JUMP_MS: f64 = 3000.0;

/// `later` - `earlier` in ms, negative if they are in reverse order.
pub(super) fn millis_between(later: Instant, earlier: Instant) -> f64 {
    (later - earlier).as_millis_f64() - (earlier - later).as_millis_f64()
}

/// Differences between two successive groups.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GroupDelta {
    /// Difference of their departures, in ms.
    pub(super) sent: f64,
    /// Difference of their arrivals, in ms.
    pub(super) arrived: f64,
    /// Complete arrival of the later group, by the receiver's clock.
    pub(super) at: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    first_arrival: Instant,
    last_arrival: Instant,
    /// When its last packet was reported to the sender.
    reported: Instant,
}

impl Group {
    fn new(sent: Instant, arrival: Instant, now: Instant) -> Self {
        Self {
            first_sent: sent,
            last_sent: sent,
            first_arrival: arrival,
            last_arrival: arrival,
            reported: now,
        }
    }

    fn takes(&self, sent: Instant, arrival: Instant) -> bool {
        sent - self.first_sent <= GROUP || self.bursts_with(sent, arrival)
    }

    /// Whether the packet was held in the network and released with the previous ones: on Wi-Fi, in one aggregate.
    fn bursts_with(&self, sent: Instant, arrival: Instant) -> bool {
        let apart = millis_between(arrival, self.last_arrival);
        let caught_up = apart < millis_between(sent, self.last_sent);
        sent == self.last_sent
            || caught_up
                && apart <= BURST_GAP.as_millis_f64()
                && millis_between(arrival, self.first_arrival) < LONGEST_BURST.as_millis_f64()
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct PacketGroups {
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
}

impl PacketGroups {
    /// Takes an arrived packet, reported at `now`. If it begins a new group, returns the difference of the two groups before.
    pub(super) fn on_packet(&mut self, now: Instant, sent: Instant, arrival: Instant) -> Option<GroupDelta> {
        let Some(current) = &mut self.current else {
            self.current = Some(Group::new(sent, arrival, now));
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        if current.takes(sent, arrival) {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrival = current.last_arrival.max(arrival);
            current.reported = now;
            return None;
        }
        let (finished, previous) = (*current, self.previous);
        self.previous = Some(finished);
        self.current = Some(Group::new(sent, arrival, now));
        let previous = previous?;
        let arrived = millis_between(finished.last_arrival, previous.last_arrival);
        if arrived - millis_between(finished.reported, previous.reported) >= CLOCK_JUMP_MS {
            *self = Self::default();
            return None;
        }
        if arrived < 0.0 {
            self.reordered += 1;
            if self.reordered >= REORDERED {
                *self = Self::default();
            }
            return None;
        }
        self.reordered = 0;
        let sent = millis_between(finished.last_sent, previous.last_sent);
        Some(GroupDelta { sent, arrived, at: finished.last_arrival })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn groups_of_five_milliseconds_are_compared_by_their_last_packets() {
        let mut groups = PacketGroups::default();
        // Three frames 33 ms apart, each sent over 4 ms; the second group's last packet takes 7 ms longer than the first's.
        let packets = [(0, 20), (4, 24), (33, 60), (37, 64), (66, 90)];
        let deltas: Vec<_> = packets
            .iter()
            .filter_map(|&(sent, arrival)| groups.on_packet(at(arrival), at(sent), at(arrival)))
            .collect();
        assert_eq!(deltas, [GroupDelta { sent: 33.0, arrived: 40.0, at: at(64) }]);
    }

    #[test]
    fn packets_held_back_and_released_together_are_one_group() {
        let mut groups = PacketGroups::default();
        // The packets of 20 ms arrive in one aggregate.
        for (sent, arrival) in [(0, 50), (10, 51), (20, 52)] {
            assert_eq!(groups.on_packet(at(60), at(sent), at(arrival)), None);
        }
        assert_eq!(groups.on_packet(at(100), at(60), at(80)), None);
        let delta = groups.on_packet(at(140), at(100), at(120)).expect("third group");
        assert_eq!((delta.sent, delta.arrived), (40.0, 28.0));
    }

    #[test]
    fn a_clock_that_jumps_starts_over() {
        let mut groups = PacketGroups::default();
        for (sent, arrival) in [(0, 20), (33, 53), (66, 10_000)] {
            groups.on_packet(at(sent), at(sent), at(arrival));
        }
        assert_eq!(groups.on_packet(at(99), at(99), at(10_033)), None);
        assert_eq!(groups.on_packet(at(132), at(132), at(10_066)), None);
    }
}

//! A client as the edge has it: its link, its queue, the rate allocated to it.

use airbound_senders::stream::{Decision, Reason};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::link::Link;
use super::queue::Queue;

/// Time by which a driver may be late without loss of rate,
const LATE: Span = Span::from_millis(1);
/// and packets that it may then send at once: more than the usual target level would be a frame above it.
const BURST: u64 = 32;

/// The state of a client that has joined.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) link: Link,
    pub(super) queue: Queue,
    /// Time of the next packet.
    pub(super) next: Instant,
    /// Time at which the last packet leaves.
    left: Instant,
    /// Time for which it is in the edge's schedule.
    pub(super) scheduled: Option<Instant>,
    pub(super) rate: BitRate,
    /// Whether the application has sent something.
    pub(super) begun: bool,
    pub(super) decision: Option<Decision>,
    /// When the allocation is to be asked again.
    pub(super) ask: Instant,
    /// Reason and time of the last event about its rate.
    pub(super) told: Option<(Reason, Instant)>,
    pub(super) counts: Counts,
}

/// Counters of a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) down_packets: u64,
    pub(super) down_bytes: u64,
    pub(super) up_packets: u64,
    pub(super) up_bytes: u64,
    pub(super) too_large: u64,
    pub(super) refused_reports: u64,
}

/// A client, for metrics.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientRow {
    /// Its name in the list of keys.
    pub name: String,
    /// Rate allocated to it.
    pub rate: BitRate,
    /// Aggregation level of the last report with frames.
    pub level: Option<f64>,
    /// The part of the path that limits its rate.
    pub reason: Reason,
    /// Packets that wait for it.
    pub queued: usize,
    /// Packets dropped from its queue.
    pub dropped: u64,
    /// Datagrams too large for its path.
    pub too_large: u64,
    /// Packets and bytes sent to it, headers included.
    pub down: (u64, u64),
    /// Packets and bytes received from it, headers included.
    pub up: (u64, u64),
    /// Reports taken.
    pub reports: u32,
    /// Reports refused.
    pub refused_reports: u64,
    /// Size of datagrams that its path carries.
    pub mtu: u16,
    /// Epoch of its key.
    pub epoch: u8,
}

impl Lane {
    pub(super) fn new(now: Instant, link: Link, rate: BitRate) -> Self {
        Self {
            link,
            queue: Queue::default(),
            next: now,
            left: now,
            scheduled: None,
            rate,
            begun: false,
            decision: None,
            ask: now,
            told: None,
            counts: Counts::default(),
        }
    }

    /// Time of a packet at the rate in force.
    pub(super) fn time_of(&self, length: usize) -> Span {
        self.rate.time_for(ByteCount::new(length as u64))
    }

    /// Time of a packet of the usual length at the rate in force.
    pub(super) fn usual_distance(&self) -> Span {
        let length = self.counts.down_bytes.checked_div(self.counts.down_packets).unwrap_or(0);
        self.rate.time_for(ByteCount::new(length))
    }

    /// The earliest time of a packet of this length at the rate in force.
    pub(super) fn earliest(&self, now: Instant, length: usize) -> Instant {
        now.max(self.left) + self.time_of(length)
    }

    /// Notes a packet that leaves at `now`. A driver that came late catches up, but at most so much.
    pub(super) fn on_sent(&mut self, now: Instant, length: usize) {
        let time = self.time_of(length);
        let owed = LATE.min(time * BURST);
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(owed.as_nanos()));
        self.next = self.next.max(earliest) + time;
        self.left = now;
    }

    pub(super) fn row(&self, name: &str) -> ClientRow {
        let decision = self.decision.as_ref();
        ClientRow {
            name: name.to_owned(),
            rate: self.rate,
            level: decision.and_then(|decision| decision.level),
            reason: decision.map(|decision| decision.reason).unwrap_or(Reason::NoFeedback),
            queued: self.queue.len(),
            dropped: self.queue.drops(),
            too_large: self.counts.too_large,
            down: (self.counts.down_packets, self.counts.down_bytes),
            up: (self.counts.up_packets, self.counts.up_bytes),
            reports: decision.map_or(0, |decision| decision.reports),
            refused_reports: self.counts.refused_reports,
            mtu: self.link.mtu(),
            epoch: self.link.session().epoch,
        }
    }
}

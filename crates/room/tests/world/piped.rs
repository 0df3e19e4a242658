//! A half-duplex link at the speed of a trace, whose two ends take turns, as the simulator's pipe (`crates/sim/src/path/pipe.rs`): an access
//! point and a station with equal chances, a turn as long as an aggregate, a queue at each end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use airbound_air::trace::{Capacity, Trace};
use airbound_units::{ByteCount, Span};

use super::{Datagram, Way};

/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u64 = 28;
/// Bytes that wait at one end at most.
const QUEUE: u64 = 256 << 10;
/// Length of a turn, of at least one packet.
const TURN: Span = Span::from_millis(2);

#[derive(Default)]
struct End {
    waiting: VecDeque<Vec<u8>>,
    bytes: u64,
}

/// The link of one participant.
pub(crate) struct Piped {
    trace: Arc<Trace>,
    capacity: Capacity,
    /// The step of the trace that was looked at last.
    near: usize,
    /// When the trace begins.
    start: Instant,
    /// The access point and the participant.
    ends: [End; 2],
    /// The end of the last turn.
    last: usize,
    /// When the present turn ends.
    until: Option<airbound_units::Instant>,
    sending: Vec<Datagram>,
}

fn size(bytes: &[u8]) -> u64 {
    bytes.len() as u64 + HEADERS
}

impl Piped {
    /// Makes an idle link.
    #[allow(dead_code, reason = "one example alone has traces")]
    pub(crate) fn new(trace: Arc<Trace>, start: Instant) -> Self {
        let capacity = Capacity::new(Arc::clone(&trace));
        let (ends, sending) = (<[End; 2]>::default(), Vec::new());
        Self { trace, capacity, near: 0, start, ends, last: 0, until: None, sending }
    }

    fn time(&self, at: Instant) -> airbound_units::Instant {
        airbound_units::Instant::from_nanos(at.saturating_duration_since(self.start).as_nanos() as u64)
    }

    /// Begins the turn of the end that did not have the last one, or has nothing to compete with.
    fn begin(&mut self, now: Instant) {
        if self.until.is_some() {
            return;
        }
        let ready = |end: &usize| !self.ends[*end].waiting.is_empty();
        let Some(who) = [1 - self.last, self.last].into_iter().find(ready) else { return };
        self.last = who;
        let now = self.time(now);
        let room = match &*self.trace {
            Trace::Bandwidth(trace) => trace.at_near(now, &mut self.near).bytes_in(TURN).as_u64(),
            Trace::Opportunities(_) | Trace::Snr(_) => 0,
        };
        let (mut carried, end) = (0, &mut self.ends[who]);
        // The first packet goes whatever the room.
        let fits = |bytes: &Vec<u8>, carried: u64| carried == 0 || carried + size(bytes) <= room;
        while end.waiting.front().is_some_and(|bytes| fits(bytes, carried))
            && let Some(bytes) = end.waiting.pop_front()
        {
            carried += size(&bytes);
            self.sending.push((who == 1, bytes));
        }
        end.bytes -= carried;
        self.until = Some(self.capacity.finish(now, ByteCount::new(carried)));
    }
}

impl Way for Piped {
    /// A full queue drops it.
    fn offer(&mut self, now: Instant, (to_room, bytes): Datagram) {
        let end = &mut self.ends[usize::from(to_room)];
        if end.bytes + size(&bytes) <= QUEUE {
            end.bytes += size(&bytes);
            end.waiting.push_back(bytes);
        }
        self.begin(now);
    }

    fn due(&self) -> Option<Instant> {
        Some(self.start + Duration::from_nanos(self.until?.as_nanos()))
    }

    fn advance(&mut self, now: Instant) -> Vec<Datagram> {
        if self.due().is_none_or(|due| due > now) {
            return Vec::new();
        }
        self.until = None;
        let arrived = std::mem::take(&mut self.sending);
        self.begin(now);
        arrived
    }
}

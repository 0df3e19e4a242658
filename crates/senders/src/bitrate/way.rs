//! The queue on a client's way, from its round trips.

use airbound_units::{Instant, Span};

/// Time after which the least round trip is forgotten, in halves: a client that walks to another access point has another one.
const HALF: Span = Span::from_secs(120);

/// Follows the least round trip.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Way {
    /// Of this half of the window, and of the one before; `None` before the first report.
    least: [Option<Span>; 2],
    since: Instant,
    /// The queue of the last report, and when that came.
    last: Option<(Instant, Span)>,
}

/// The queue as a round trip shows it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Queue {
    /// Time that a packet waits: the round trip less the least one.
    pub(super) wait: Span,
    /// Growth of that time in s/s: the share of what is sent that the air does not carry. 0 to 1.
    pub(super) growth: f64,
}

impl Way {
    /// Takes the round trip of a report.
    pub(super) fn on_round_trip(&mut self, now: Instant, round_trip: Span) -> Queue {
        if now.since(self.since) >= HALF {
            self.least = [None, self.least[0]];
            self.since = now;
        }
        let of_half = self.least[0].map_or(round_trip, |least| least.min(round_trip));
        self.least[0] = Some(of_half);
        let least = self.least[1].map_or(of_half, |before| before.min(of_half));
        let wait = round_trip.saturating_sub(least);
        let growth = self.last.filter(|(at, _)| now > *at).map_or(0.0, |(at, before)| {
            wait.saturating_sub(before).as_secs_f64() / now.since(at).as_secs_f64()
        });
        self.last = Some((now, wait));
        Queue { wait, growth: growth.min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_what_a_round_trip_is_above_the_least_of_minutes() {
        let mut way = Way::default();
        let mut at = |second, millis| {
            way.on_round_trip(Instant::ZERO + Span::from_secs(second), Span::from_millis(millis))
        };
        assert_eq!(at(1, 10), Queue::default());
        assert_eq!(at(2, 60), Queue { wait: Span::from_millis(50), growth: 0.05 });
        assert_eq!(at(3, 30), Queue { wait: Span::from_millis(20), growth: 0.0 });
        // Another way, whose least round trip counts once that of the old one is forgotten.
        assert_eq!(at(130, 40).wait, Span::from_millis(30));
        assert_eq!(at(260, 40).wait, Span::ZERO);
    }
}

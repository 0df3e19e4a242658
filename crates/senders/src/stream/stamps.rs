//! Receive stamps on a steady clock.
//!
//! A kernel stamps packets by its wall clock, which is set now and then. The distance of both clocks is kept as long as it is about
//! right: one read anew for each batch would differ by how long the two readings of clocks were apart.

use airbound_units::Instant;

/// Change of the distance from which on a clock was set; less is the time between two readings.
const SET: i128 = 10_000_000;
/// Longest time from a stamp to the call that brings it, in ns.
const OLDEST: i128 = 1_000_000_000;

/// Converts stamps.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StampClock {
    /// The stamps' clock less the steady one, in ns; `None` before the first batch.
    ahead: Option<i128>,
}

impl StampClock {
    /// Takes the clocks of a batch: the steady one, the stamps' at the same moment if the caller knows it, and the batch's last stamp.
    pub(super) fn follow(&mut self, now: Instant, stamp_now: Option<Instant>, last: Instant) {
        let now = i128::from(now.as_nanos());
        let last = i128::from(last.as_nanos());
        let seen = stamp_now.map_or(0, |stamp_now| i128::from(stamp_now.as_nanos()) - now);
        let kept = self.ahead.filter(|ahead| stamp_now.is_none() || (seen - ahead).abs() <= SET);
        let ahead = kept.unwrap_or(seen);
        let age = now - (last - ahead);
        // A clock was set between the stamps and now: the last stamp is taken for now.
        self.ahead = Some(if (-SET..=OLDEST).contains(&age) { ahead } else { last - now });
    }

    /// The steady time of a stamp, not after `now`.
    pub(super) fn steady(&self, now: Instant, stamp: Instant) -> Instant {
        let steady = i128::from(stamp.as_nanos()) - self.ahead.unwrap_or(0);
        let limit = i128::from(now.as_nanos());
        let oldest = (limit - OLDEST).max(0);
        Instant::from_nanos(u64::try_from(steady.clamp(oldest, limit)).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::Span;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_pair_of_clocks_places_stamps_and_small_differences_do_not_move_them() {
        let mut clock = StampClock::default();
        clock.follow(at(100), Some(at(1_000_100)), at(1_000_099));
        assert_eq!(clock.steady(at(100), at(1_000_099)), at(99));
        clock.follow(at(200), Some(at(1_000_203)), at(1_000_198));
        assert_eq!(clock.steady(at(200), at(1_000_198)), at(198));
    }

    #[test]
    fn a_clock_that_is_set_is_followed() {
        let mut clock = StampClock::default();
        clock.follow(at(100), Some(at(1_000_100)), at(1_000_099));
        // Set forward by an hour before the next batch.
        clock.follow(at(200), Some(at(4_600_200)), at(4_600_198));
        assert_eq!(clock.steady(at(200), at(4_600_198)), at(198));
        // Set back between the stamps and the reading.
        clock.follow(at(300), Some(at(1_000_300)), at(4_600_299));
        assert_eq!(clock.steady(at(300), at(4_600_299)), at(300));
        assert_eq!(clock.steady(at(300), at(4_600_298)), at(299));
    }

    #[test]
    fn stamps_of_an_unknown_clock_are_placed_by_the_calls() {
        let mut clock = StampClock::default();
        clock.follow(at(50), None, at(9_999_999));
        assert_eq!(clock.steady(at(50), at(9_999_999)), at(50));
        assert_eq!(clock.steady(at(51), at(10_000_000)), at(51));
        let mut steady = StampClock::default();
        steady.follow(at(50), None, at(48));
        assert_eq!(steady.steady(at(50), at(48)), at(48));
    }
}

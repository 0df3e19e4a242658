//! Packets that wait on the way to a participant, by the round-trip time above its least of the last seconds.

use std::time::{Duration, Instant};

/// Time for which a least round-trip time counts, half of it at the least: what waits for longer is the link's own, as behind a full upload.
const WINDOW: Duration = Duration::from_secs(10);

/// The time that packets wait.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waiting {
    /// Since when the present half of the window lasts.
    since: Option<Instant>,
    /// Least times of the half before and of the present one.
    least: [Option<Duration>; 2],
    latest: Duration,
}

impl Waiting {
    /// Takes a round-trip time.
    pub(crate) fn take(&mut self, now: Instant, round_trip: Duration) {
        if now.saturating_duration_since(*self.since.get_or_insert(now)) >= WINDOW / 2 {
            (self.since, self.least) = (Some(now), [self.least[1], None]);
        }
        self.least[1] = Some(self.least[1].map_or(round_trip, |least| least.min(round_trip)));
        self.latest = round_trip;
    }

    /// The time that the latest packet waited.
    pub(crate) fn time(&self) -> Duration {
        let least = self.least.iter().flatten().min();
        least.map_or(Duration::ZERO, |least| self.latest.saturating_sub(*least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_long_is_of_the_link() {
        let (mut waiting, start, ms) = (Waiting::default(), Instant::now(), Duration::from_millis);
        let mut take = |at, round_trip| {
            waiting.take(start + ms(at), ms(round_trip));
            waiting.time()
        };
        assert_eq!((take(0, 20), take(200, 15), take(400, 700)), (ms(0), ms(0), ms(685)));
        // Half a window later the least of before still counts, and in the next half no longer.
        assert_eq!((take(6000, 800), take(12_000, 700), take(12_200, 750)), (ms(785), ms(0), ms(50)));
        assert_eq!(take(12_400, 30), ms(0));
    }
}

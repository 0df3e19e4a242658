//! Update times of the buffer sizes: at regular intervals, or more often while the buffer is bloated.

use airbound_units::{ByteCount, Instant, Span};

use super::buffer_size::{BufferSize, Observation};
use super::config::LookAround;

/// The measurement intervals.
#[derive(Debug, Clone)]
pub(in crate::queue) struct Clock {
    interval: Span,
    look_around: Option<LookAround>,
    due: Option<Instant>,
}

impl Clock {
    pub(in crate::queue) fn new(interval: Span, look_around: Option<LookAround>) -> Self {
        let interval = match look_around {
            Some(LookAround { shortest, longest }) => interval.max(shortest).min(longest),
            None => interval,
        };
        Self { interval, look_around, due: None }
    }

    /// Starts the clock at the first packet.
    pub(in crate::queue) fn begin(&mut self, now: Instant) {
        let interval = self.interval;
        self.due.get_or_insert(now + interval);
    }

    /// End of the present interval; `None` before the first packet.
    pub(in crate::queue) const fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(in crate::queue) const fn interval(&self) -> Span {
        self.interval
    }

    /// Notes that the interval that ended by `now` was evaluated; later ones that have also ended are skipped.
    pub(in crate::queue) fn pass(&mut self, now: Instant, bloated: bool) {
        self.adapt(bloated);
        self.skip_past(now);
    }

    fn adapt(&mut self, bloated: bool) {
        if let Some(LookAround { shortest, longest }) = self.look_around {
            self.interval =
                if bloated { (self.interval / 2).max(shortest) } else { (self.interval * 2).min(longest) };
        }
    }

    /// Moves the end of the interval beyond `now`, by whole intervals.
    fn skip_past(&mut self, now: Instant) {
        if let Some(due) = &mut self.due {
            let missed = now.since(*due).div_floor(self.interval);
            *due += self.interval * missed.saturating_add(1);
        }
    }

    /// Makes all updates of an empty buffer up to `now`. Once nothing changes, the remaining ones are only counted.
    pub(in crate::queue) fn pass_idle(&mut self, now: Instant, sizes: &mut [BufferSize]) {
        let empty = Observation { backlog: ByteCount::ZERO, ..Observation::default() };
        while let Some(due) = self.due.filter(|due| *due <= now) {
            let changed = sizes.iter_mut().fold(false, |any, size| any | size.on_interval(&empty).changed);
            let before = self.interval;
            self.adapt(false);
            if !changed && self.interval == before {
                self.skip_past(now);
                return;
            }
            self.due = Some(due + self.interval);
            if due == Instant::MAX {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::WqmConfig;
    use super::*;
    use airbound_units::BitRate;

    const MS: fn(u64) -> Instant = |millis| Instant::ZERO + Span::from_millis(millis);

    fn sizes() -> [BufferSize; 1] {
        let config = WqmConfig { subframes: 32, ..WqmConfig::default() };
        let mut size = BufferSize::new(config).expect("valid");
        size.begin(BitRate::from_mbps(65), None);
        [size]
    }

    #[test]
    fn idle_intervals_count_as_if_each_had_been_looked_at() {
        let mut clock = Clock::new(Span::from_millis(100), None);
        clock.begin(MS(50));
        let mut sizes = sizes();
        clock.pass_idle(MS(149), &mut sizes);
        assert_eq!((sizes[0].packets(), clock.due()), (36, Some(MS(150))));
        // The updates at 150, 250 and 350 ms: the alarm, then two steps.
        clock.pass_idle(MS(420), &mut sizes);
        assert_eq!((sizes[0].packets(), clock.due()), (38, Some(MS(450))));
        // An hour later it has its maximum size, after few steps.
        clock.pass_idle(MS(3_600_000), &mut sizes);
        assert_eq!((sizes[0].packets(), clock.due()), (95, Some(MS(3_600_050))));
    }

    #[test]
    fn missed_intervals_are_left_out() {
        let mut clock = Clock::new(Span::from_millis(100), None);
        clock.begin(MS(0));
        clock.pass(MS(100), true);
        assert_eq!(clock.due(), Some(MS(200)));
        clock.pass(MS(555), true);
        assert_eq!(clock.due(), Some(MS(600)));
    }

    #[test]
    fn an_adaptive_interval_shortens_while_bloated() {
        let mut clock = Clock::new(Span::from_millis(100), Some(LookAround::default()));
        clock.begin(MS(0));
        let mut intervals = Vec::new();
        for bloated in [true, true, true, false, false, false, false, false] {
            clock.pass(clock.due().expect("begun"), bloated);
            intervals.push(clock.interval().as_millis());
        }
        assert_eq!(intervals, [50, 25, 25, 50, 100, 200, 400, 400]);
        assert_eq!(clock.due(), Some(MS(100 + 50 + 25 + 25 + 50 + 100 + 200 + 400 + 400)));
    }

    #[test]
    fn the_end_of_time_is_no_trap() {
        let mut clock = Clock::new(Span::from_millis(100), Some(LookAround::default()));
        clock.begin(Instant::MAX);
        clock.pass_idle(Instant::MAX, &mut sizes());
        clock.pass(Instant::MAX, false);
        assert_eq!(clock.due(), Some(Instant::MAX));
    }
}

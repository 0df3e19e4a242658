//! Rest of the emulator's thread: Linux stops a real-time thread for 50 ms where others waited for a second (`sched_rt_runtime_us`, since
//! 6.12 the server of the fair class). Many short sleeps prevent that.

use airbound_units::{Instant, Span};

/// Length of a window.
const WINDOW: Span = Span::from_millis(50);
/// Longest time without a sleep.
const AWAKE: Span = Span::from_millis(1);
/// The sleep that is due then.
pub const NAP: Span = Span::from_micros(100);
/// One part in so many of a window has to be spent asleep.
const PART: u64 = 5;

/// Decides whether there is enough rest to wait busily.
#[derive(Debug, Clone, Copy)]
pub struct Rest {
    begun: Instant,
    slept: Span,
    is_enough: bool,
    woken: Instant,
}

impl Rest {
    /// From `now` on.
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self { begun: now, slept: Span::ZERO, is_enough: true, woken: now }
    }

    /// Notes a sleep of some length, which ended at `now`.
    pub fn on_sleep(&mut self, now: Instant, length: Span) {
        self.slept += length;
        self.woken = now;
    }

    /// Whether a [`NAP`] is due at `now`.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        now.since(self.woken) >= AWAKE
    }

    /// Whether the last window had enough rest to wait busily at `now`.
    pub fn is_enough(&mut self, now: Instant) -> bool {
        let length = now.since(self.begun);
        if length >= WINDOW {
            self.is_enough = self.slept * PART >= length;
            (self.begun, self.slept) = (now, Span::ZERO);
        }
        self.is_enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_window_forbids_busy_waiting_in_the_next() {
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let mut rest = Rest::new(at(0));
        assert!(rest.is_enough(at(49)));
        rest.on_sleep(at(49), Span::from_millis(9));
        assert!(!rest.is_due(at(49)) && rest.is_due(at(50)));
        assert!(!rest.is_enough(at(50)), "9 of 50 ms");
        rest.on_sleep(at(70), Span::from_millis(10));
        assert!(!rest.is_enough(at(99)), "the window is not over");
        assert!(rest.is_enough(at(100)), "10 of 50 ms");
    }
}

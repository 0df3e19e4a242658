//! The largest datagram that a path carries, by padded probes (datagram PLPMTUD, RFC 8899). Routers' messages are not used: anyone may
//! forge them. A size that was carried is confirmed each second, since a path may change to one that drops it (a black hole).

use airbound_units::{Instant, Span};

/// The datagram that every path has to carry (BASE_PLPMTU, RFC 8899 section 5.1.2).
pub const SMALLEST_DATAGRAM: u16 = 1200;
/// The largest datagram that is tried unless configured otherwise: an Ethernet frame's, over IPv4.
pub const LARGEST_DATAGRAM: u16 = 1472;
/// Probes of a size before it counts as too large (MAX_PROBES).
const PROBES: u8 = 3;
/// Time in which a probe has to be echoed (PROBE_TIMER). RFC 8899 has 15 s, for paths of unknown delay.
const TIMER: Span = Span::from_millis(300);
/// Distance of two sizes that ends the search.
const CLOSE: u16 = 8;
/// Time between confirmations (CONFIRMATION_TIMER).
const CONFIRM: Span = Span::from_secs(1);
/// Time after which larger sizes are tried again (PMTU_RAISE_TIMER).
const RAISE: Span = Span::from_secs(600);

/// A probe on its way.
#[derive(Debug, Clone, Copy)]
struct Probe {
    size: u16,
    token: u64,
    tries: u8,
    sent: Instant,
}

/// The search.
#[derive(Debug, Clone)]
pub(super) struct MtuSearch {
    largest: u16,
    /// The largest size that was carried.
    carried: u16,
    /// The smallest size that was not, or one above the largest.
    too_large: u16,
    probe: Option<Probe>,
    next: Instant,
    raise: Instant,
    heard: Instant,
}

impl MtuSearch {
    pub(super) fn new(now: Instant, largest: u16) -> Self {
        let largest = largest.max(SMALLEST_DATAGRAM);
        Self {
            largest,
            carried: SMALLEST_DATAGRAM,
            too_large: largest.saturating_add(1),
            probe: None,
            next: now,
            raise: now + RAISE,
            heard: now,
        }
    }

    /// The size in force.
    pub(super) const fn size(&self) -> u16 {
        self.carried
    }

    /// Notes a packet from the peer: only a peer that is heard can be said not to have echoed.
    pub(super) fn on_heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// The size and the token of a probe that is due.
    pub(super) fn poll(&mut self, now: Instant, token: impl FnOnce() -> u64) -> Option<(u16, u64)> {
        if now < self.next {
            return None;
        }
        if now >= self.raise {
            (self.too_large, self.raise) = (self.largest.saturating_add(1), now + RAISE);
        }
        if let Some(probe) = self.probe
            && self.heard > probe.sent
            && probe.tries >= PROBES
        {
            self.probe = None;
            self.on_not_carried(now, probe.size);
        }
        let (size, tries) = match self.probe {
            Some(probe) => (probe.size, probe.tries + u8::from(self.heard > probe.sent)),
            None => (self.wanted(), 1),
        };
        let token = token();
        self.probe = Some(Probe { size, token, tries, sent: now });
        self.next = now + TIMER;
        Some((size, token))
    }

    /// The size to probe: the largest first, then halves of the interval, then that in force.
    fn wanted(&self) -> u16 {
        if self.too_large > self.largest {
            self.largest
        } else if self.too_large - self.carried > CLOSE {
            self.carried + (self.too_large - self.carried) / 2
        } else {
            self.carried
        }
    }

    fn on_not_carried(&mut self, now: Instant, size: u16) {
        if size <= self.carried {
            self.carried = SMALLEST_DATAGRAM;
            self.raise = now + RAISE;
        }
        self.too_large = size.max(SMALLEST_DATAGRAM + 1);
    }

    /// Takes an echo. Returns whether the size in force has changed.
    pub(super) fn on_echo(&mut self, now: Instant, token: u64) -> bool {
        let Some(probe) = self.probe.filter(|probe| probe.token == token) else { return false };
        self.probe = None;
        let changed = probe.size > self.carried;
        self.carried = self.carried.max(probe.size);
        if self.too_large > self.largest && self.carried == self.largest {
            // Nothing above is left to try.
            self.next = now + CONFIRM;
        } else {
            self.next = if self.too_large - self.carried > CLOSE { now } else { now + CONFIRM };
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the search for so long over a path that carries `carries(ms)`; returns the size in force.
    fn run(search: &mut MtuSearch, from: u64, to: u64, carries: impl Fn(u64) -> u16) -> u16 {
        for millis in from..to {
            let now = Instant::ZERO + Span::from_millis(millis);
            search.on_heard(now);
            if let Some((size, token)) = search.poll(now, || millis + 1)
                && size <= carries(millis)
            {
                search.on_echo(now, token);
            }
        }
        search.size()
    }

    #[test]
    fn any_size_is_found() {
        for carries in [1200, 1280, 1372, 1400, 1420, 1452, 1472, 1500] {
            let mut search = MtuSearch::new(Instant::ZERO, LARGEST_DATAGRAM);
            let found = run(&mut search, 0, 10_000, |_| carries);
            let want = carries.min(LARGEST_DATAGRAM);
            assert!(found <= want && want - found <= CLOSE, "{found} of {carries}");
        }
    }

    #[test]
    fn a_black_hole_is_left_within_three_seconds_and_the_larger_size_found_again() {
        let mut search = MtuSearch::new(Instant::ZERO, LARGEST_DATAGRAM);
        assert_eq!(run(&mut search, 0, 5000, |_| 1472), 1472);
        let mut left = None;
        for millis in 5000..20_000 {
            run(&mut search, millis, millis + 1, |_| 1300);
            if search.size() <= 1300 && left.is_none() {
                left = Some(millis - 5000);
            }
        }
        assert!(left.is_some_and(|left| left <= 3000), "{left:?}");
        assert!((1292..=1300).contains(&search.size()), "{}", search.size());
        assert_eq!(run(&mut search, 20_000, 640_000, |_| 1472), 1472);
    }

    #[test]
    fn a_peer_that_is_silent_proves_nothing() {
        let mut search = MtuSearch::new(Instant::ZERO, LARGEST_DATAGRAM);
        run(&mut search, 0, 5000, |_| 1472);
        for millis in 5001..60_000 {
            search.poll(Instant::ZERO + Span::from_millis(millis), || millis);
        }
        assert_eq!(search.size(), 1472);
    }
}

//! Sound first: where a link loses sound although no picture is forwarded to it, its own pictures give way.
//!
//! Both directions of a Wi-Fi link share the air, and sound does not yield: what a member's congestion control finds for its pictures may be
//! what the sound of the others needs. They are held lower and lower until nothing is lost, and released after a while.

use airbound_units::{BitRate, Instant, Span};

/// Lowest rate of an encoder for pictures, that of browsers.
const LEAST: BitRate = BitRate::from_kbps(30);
/// Share of what a member sends at which it is held next.
const STEP: f64 = 0.7;
/// Time until a hold shows in the losses, which are counted over a second.
const SHOWS: Span = Span::from_millis(1500);
/// First time without a loss after which a hold ends; it doubles where a loss follows.
const FIRST: Span = Span::from_secs(10);
/// Longest such time.
const LONGEST: Span = Span::from_secs(160);

/// Losses of sound on the way to one member, and the hold of its own pictures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sound {
    lost: Option<Instant>,
    limit: Option<BitRate>,
    due: Instant,
    lasts: Span,
    released: Option<Instant>,
}

impl Default for Sound {
    fn default() -> Self {
        Self { lost: None, limit: None, due: Instant::ZERO, lasts: FIRST, released: None }
    }
}

impl Sound {
    /// Takes that sound was lost.
    pub(super) fn on_lost(&mut self, now: Instant) {
        self.lost = Some(now);
    }

    /// The rate at which its own pictures are held.
    pub(super) const fn limit(&self) -> Option<BitRate> {
        self.limit
    }

    /// Sound was lost lately: nothing is tried that could lose more.
    pub(super) fn suffers(&self, now: Instant) -> bool {
        self.limit.is_some() || self.lost.is_some_and(|at| now.since(at) < FIRST)
    }

    /// Decides, with what the member sends of pictures and what it gets.
    pub(super) fn look(&mut self, now: Instant, sent: BitRate, forwarded: u64) {
        let Some(lost) = self.lost else { return };
        if self.limit.is_some() && now.since(lost) >= self.lasts {
            (self.limit, self.released) = (None, Some(now));
            return;
        }
        // A loss before the latest step says nothing of it.
        let again = now >= self.due && lost + SHOWS > now && lost >= self.due;
        if !again || forwarded > 0 || sent <= LEAST {
            return;
        }
        if self.limit.is_none() {
            let soon = self.released.is_some_and(|at| now.since(at) < self.lasts);
            self.lasts = if soon { (self.lasts * 2).min(LONGEST) } else { FIRST };
        }
        let present = self.limit.map_or(sent, |limit| limit.min(sent));
        self.limit = Some(present.mul_f64(STEP).max(LEAST));
        self.due = now + SHOWS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks each 200 ms for some seconds at a member that sends 400 kb/s or what it is held at; returns each change of its hold, in ms and kb/s.
    fn holds(seconds: u64, forwarded: u64, loses: impl Fn(u64, u64) -> bool) -> Vec<(u64, u64)> {
        let (mut sound, mut changes, mut latest) = (Sound::default(), Vec::new(), None);
        for ms in (1..=seconds * 5).map(|step| step * 200) {
            let now = Instant::ZERO + Span::from_millis(ms);
            let sent = sound.limit().unwrap_or(BitRate::from_kbps(400));
            if loses(ms, sent.as_bps() / 1000) {
                sound.on_lost(now);
            }
            sound.look(now, sent, forwarded);
            if sound.limit() != latest {
                latest = sound.limit();
                changes.push((ms, latest.map_or(0, |limit| limit.as_bps() / 1000)));
            }
        }
        changes
    }

    #[test]
    fn own_pictures_are_held_until_no_sound_is_lost_and_longer_each_time() {
        let seen = holds(60, 0, |_, sent| sent > 200);
        let expected = [
            (200, 280),
            (1800, 196),
            (11_800, 0),
            (12_000, 280),
            (13_600, 196),
            (33_600, 0),
            (33_800, 280),
            (35_400, 196),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_hold_never_goes_below_the_least_rate() {
        assert_eq!(holds(30, 0, |_, _| true).last(), Some(&(11_400, 30)));
    }

    #[test]
    fn pictures_that_are_forwarded_go_before_own_ones() {
        assert_eq!(holds(30, 1, |_, _| true), []);
        assert_eq!(holds(30, 0, |_, _| false), []);
    }
}

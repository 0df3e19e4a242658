//! EDCA: the backoff of one category of one transmitter, computed instead of stepped.

use airbound_random::Stream;
use airbound_units::{Instant, Span};
use airbound_wifi::edca::EdcaParameters;

/// The contention function (EDCAF) of one category.
#[derive(Debug, Clone)]
pub struct Edcaf {
    parameters: EdcaParameters,
    aifs: Span,
    slot: Span,
    /// Slot boundaries left since the channel last became idle; `None` when the last backoff has run out and no frame was
    /// waiting for it.
    backoff: Option<u32>,
    failures: u32,
    /// Since when there is something to send.
    ready: Option<Instant>,
    draws: Stream,
}

impl Edcaf {
    /// A function that has nothing to send; `aifs` from the end of a transmission, `slot` long steps, `draws` for its backoffs.
    #[must_use]
    pub fn new(parameters: EdcaParameters, aifs: Span, slot: Span, draws: Stream) -> Self {
        Self { parameters, aifs, slot, backoff: None, failures: 0, ready: None, draws }
    }

    /// Length of a won opportunity; zero allows one exchange.
    #[must_use]
    pub const fn txop_limit(&self) -> Span {
        self.parameters.txop_limit
    }

    /// Whether it has something to send.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Since when it has something to send, if it has.
    #[must_use]
    pub const fn ready_since(&self) -> Option<Instant> {
        self.ready
    }

    /// Whether the state can still change while others use the channel.
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.ready.is_some() || self.backoff.is_some()
    }

    /// There is something to send since `now`. A frame that finds the channel busy, or idle for less than AIFS, has to
    /// back off (802.11-2020, 10.23.2.2).
    pub fn set_ready(&mut self, now: Instant, idle_since: Option<Instant>) {
        if self.ready.is_some() {
            return;
        }
        self.ready = Some(now);
        let free = idle_since.is_some_and(|since| now >= since + self.aifs);
        if self.backoff.is_none() && !free {
            self.draw();
        }
    }

    /// There is nothing to send any more; a backoff goes on without a frame.
    pub const fn clear_ready(&mut self) {
        self.ready = None;
    }

    /// The time at which it transmits if the channel, idle since `idle_since`, stays so.
    #[must_use]
    pub fn access(&self, idle_since: Instant) -> Option<Instant> {
        let ready = self.ready?;
        Some(ready.max(idle_since + self.aifs + self.slot * u64::from(self.backoff.unwrap_or(0))))
    }

    /// A transmission, perhaps its own, began at `busy` on a channel that was idle since `idle_since`.
    ///
    /// A backoff loses a slot at each boundary from AIFS on, the one at which the other transmission begins included: a busy
    /// period counts as one slot (802.11-2020, 10.23.2.4; also Bianchi's model). DCF, and ns-3 throughout, count only slots that
    /// were idle to their end.
    pub fn on_busy(&mut self, idle_since: Instant, busy: Instant) {
        let first = idle_since + self.aifs;
        let Some(backoff) = self.backoff.filter(|_| busy >= first) else { return };
        let slots = u32::try_from((busy - first).div_floor(self.slot)).unwrap_or(u32::MAX);
        let ran_out = backoff <= slots && self.ready.is_none();
        self.backoff = if ran_out { None } else { Some(backoff.saturating_sub(slots.saturating_add(1))) };
    }

    /// Its transmission succeeded, or its frame was given up: the window shrinks to its least.
    pub fn on_success(&mut self) {
        self.failures = 0;
        self.draw();
    }

    /// Its transmission was not answered, or a higher category of the same transmitter went first.
    pub fn on_failure(&mut self) {
        self.failures = self.failures.saturating_add(1);
        self.draw();
    }

    /// The frame behind the failures was given up.
    pub fn on_give_up(&mut self) {
        self.failures = 0;
        self.draw();
    }

    /// The same while a backoff is under way, which goes on.
    pub const fn on_time_limit(&mut self) {
        self.failures = 0;
    }

    fn draw(&mut self) {
        self.backoff = Some(self.draws.window(self.parameters.window(self.failures)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airbound_random::Purpose;

    const US: fn(u64) -> Span = Span::from_micros;

    fn edcaf() -> Edcaf {
        Edcaf::new(EdcaParameters::dcf(), US(34), US(9), Stream::new(1, Purpose::Backoff, 0))
    }

    #[test]
    fn a_frame_that_finds_the_channel_free_goes_at_once() {
        let mut one = edcaf();
        let arrival = Instant::ZERO + US(100);
        one.set_ready(arrival, Some(Instant::ZERO));
        assert_eq!(one.access(Instant::ZERO), Some(arrival));
    }

    #[test]
    fn a_frame_that_finds_the_channel_busy_backs_off() {
        let mut one = edcaf();
        one.set_ready(Instant::ZERO + US(100), None);
        let idle = Instant::ZERO + US(200);
        let access = one.access(idle).unwrap();
        assert_eq!(access, idle + US(34) + US(9) * u64::from(one.backoff.unwrap()));
    }

    #[test]
    fn a_busy_period_counts_as_a_slot() {
        let mut one = edcaf();
        one.backoff = Some(5);
        // Two slots passed idle; the third boundary is the one at which the other begins.
        one.on_busy(Instant::ZERO, Instant::ZERO + US(34 + 18));
        assert_eq!(one.backoff, Some(2));
    }

    #[test]
    fn a_backoff_that_ran_out_unused_does_not_hold_the_next_frame() {
        let mut one = edcaf();
        one.backoff = Some(2);
        let (idle, busy) = (Instant::ZERO, Instant::ZERO + US(34 + 18));
        one.on_busy(idle, busy);
        assert_eq!(one.backoff, None);
        // A backoff that was drawn as zero and not yet waited for is another thing: it is not drawn again.
        one.backoff = Some(0);
        one.set_ready(busy, None);
        assert_eq!(one.access(busy + US(100)), Some(busy + US(100) + US(34)));
    }

    #[test]
    fn nothing_counts_down_before_aifs() {
        let mut one = edcaf();
        one.backoff = Some(5);
        one.on_busy(Instant::ZERO, Instant::ZERO + US(20));
        assert_eq!(one.backoff, Some(5));
    }

    #[test]
    fn the_window_doubles_to_its_limit() {
        let mut one = edcaf();
        let mut largest = 0;
        for _ in 0..2000 {
            one.on_failure();
            largest = largest.max(one.backoff.unwrap());
        }
        assert!(largest > 512 && largest <= 1023);
        one.on_success();
        assert!(one.backoff.unwrap() <= 15);
    }
}

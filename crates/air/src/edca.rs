//! EDCA: the backoff of one category of one transmitter, computed without stepping through slots.

use airbound_random::Stream;
use airbound_units::{Instant, Span};
use airbound_wifi::edca::EdcaParameters;

/// The rule by which a counter is reduced when another transmission begins before it has run out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Countdown {
    /// One at each slot boundary from AIFS on, the one at which the other transmission begins included: a busy period counts as a slot
    /// (802.11-2020, 10.23.2.4; also Bianchi's model).
    #[default]
    Boundaries,
    /// One for each slot that was idle to its end: DCF (802.11-2020, 10.3.4.3), and ns-3 with EDCA as well.
    IdleSlots,
}

/// The contention function (EDCAF) of one category.
#[derive(Debug, Clone)]
pub struct Edcaf {
    parameters: EdcaParameters,
    countdown: Countdown,
    aifs: Span,
    slot: Span,
    /// Slot boundaries left at the start of the idle period; `None` if the last backoff expired without a frame.
    backoff: Option<u32>,
    failures: u32,
    /// The time since which there is a frame to send.
    ready: Option<Instant>,
    draws: Stream,
}

impl Edcaf {
    /// A function without frames; `draws` is the stream of its backoffs.
    #[must_use]
    pub fn new(parameters: EdcaParameters, aifs: Span, slot: Span, draws: Stream) -> Self {
        let countdown = Countdown::default();
        Self { parameters, countdown, aifs, slot, backoff: None, failures: 0, ready: None, draws }
    }

    /// The same with another rule of counting down.
    #[must_use]
    pub fn counting(self, countdown: Countdown) -> Self {
        Self { countdown, ..self }
    }

    /// The TXOP limit; zero allows one exchange.
    #[must_use]
    pub const fn txop_limit(&self) -> Span {
        self.parameters.txop_limit
    }

    /// Changes AIFS and the smallest window, as a beacon with other parameters does. The backoff that runs keeps the slots it has left.
    pub const fn set_access(&mut self, aifs: Span, cw_min: u16) {
        self.aifs = aifs;
        self.parameters.cw_min = cw_min;
    }

    /// Whether it has a frame to send.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// The time since which it has a frame to send, if it has one.
    #[must_use]
    pub const fn ready_since(&self) -> Option<Instant> {
        self.ready
    }

    /// Whether its state can change by transmissions of others.
    #[inline]
    #[must_use]
    pub const fn is_active(&self) -> bool {
        self.ready.is_some() || self.backoff.is_some()
    }

    /// A frame is to be sent since `now`. If the channel is busy, or idle for less than AIFS, a backoff is needed (802.11-2020,
    /// 10.23.2.2).
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

    /// No frame is to be sent any more; a backoff continues without a frame.
    pub const fn clear_ready(&mut self) {
        self.ready = None;
    }

    /// The time of its access if the channel, idle since `idle_since`, remains idle.
    #[inline]
    #[must_use]
    pub fn access(&self, idle_since: Instant) -> Option<Instant> {
        let ready = self.ready?;
        Some(ready.max(idle_since + self.aifs + self.slot * u64::from(self.backoff.unwrap_or(0))))
    }

    /// A transmission, possibly its own, began at `busy` on a channel that was idle since `idle_since`. The backoff is decremented as
    /// [`Countdown`] says.
    pub fn on_busy(&mut self, idle_since: Instant, busy: Instant) {
        let first = idle_since + self.aifs;
        let Some(backoff) = self.backoff.filter(|_| busy >= first) else { return };
        let slots = u32::try_from((busy - first).div_floor(self.slot)).unwrap_or(u32::MAX);
        let ran_out = backoff <= slots && self.ready.is_none();
        let counted = match self.countdown {
            Countdown::Boundaries => slots.saturating_add(1),
            Countdown::IdleSlots => slots,
        };
        self.backoff = if ran_out { None } else { Some(backoff.saturating_sub(counted)) };
    }

    /// Its transmission succeeded, or its frame was given up: the window is reset to the smallest one.
    pub fn on_success(&mut self) {
        self.failures = 0;
        self.draw();
    }

    /// Its transmission was not acknowledged, or it lost an internal collision.
    pub fn on_failure(&mut self) {
        self.failures = self.failures.saturating_add(1);
        self.draw();
    }

    /// The frame was given up after failures.
    pub fn on_give_up(&mut self) {
        self.failures = 0;
        self.draw();
    }

    /// The frame was given up during a backoff, which continues.
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
    fn a_frame_on_an_idle_channel_is_sent_at_once() {
        let mut one = edcaf();
        let arrival = Instant::ZERO + US(100);
        one.set_ready(arrival, Some(Instant::ZERO));
        assert_eq!(one.access(Instant::ZERO), Some(arrival));
    }

    #[test]
    fn a_frame_on_a_busy_channel_backs_off() {
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
        // Two slots elapsed idle; the other transmission begins at the third boundary.
        one.on_busy(Instant::ZERO, Instant::ZERO + US(34 + 18));
        assert_eq!(one.backoff, Some(2));
    }

    #[test]
    fn only_slots_idle_to_their_end_count_if_so_wanted() {
        let mut one = edcaf().counting(Countdown::IdleSlots);
        one.backoff = Some(5);
        // Two slots elapsed idle; the other transmission begins at the third boundary, or within the third slot.
        one.on_busy(Instant::ZERO, Instant::ZERO + US(34 + 18));
        assert_eq!(one.backoff, Some(3));
        one.on_busy(Instant::ZERO, Instant::ZERO + US(34 + 9 + 8));
        assert_eq!(one.backoff, Some(2));
        // A busy period that begins with AIFS takes nothing away.
        one.on_busy(Instant::ZERO, Instant::ZERO + US(34));
        assert_eq!(one.backoff, Some(2));
    }

    #[test]
    fn an_expired_backoff_does_not_delay_the_next_frame() {
        let mut one = edcaf();
        one.backoff = Some(2);
        let (idle, busy) = (Instant::ZERO, Instant::ZERO + US(34 + 18));
        one.on_busy(idle, busy);
        assert_eq!(one.backoff, None);
        // A pending backoff of zero slots is different: it is not drawn again.
        one.backoff = Some(0);
        one.set_ready(busy, None);
        assert_eq!(one.access(busy + US(100)), Some(busy + US(100) + US(34)));
    }

    #[test]
    fn no_slot_is_counted_before_aifs() {
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

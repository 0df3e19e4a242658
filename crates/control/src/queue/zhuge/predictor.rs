//! The fortune teller: the delay that an arriving packet will have at the access point.
//!
//! It is the sum of three times (Meng et al., SIGCOMM 2022, the fortune teller; `UpdateTxRate` and `CalculateTotalDelayMs` of the public
//! code): the backlog over the rate of departures, the time for which the packet at the head has waited there, and the mean time between
//! slots with departures, since a wireless link sends in bursts.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::config::{SLOT, ZhugeConfig};

/// The use of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// Bytes departed.
    Sent(ByteCount),
    /// Packets waited, and none departed.
    Busy,
    /// Nothing was there to be sent.
    Idle,
}

/// The predictor of one flow, which a fair queue serves at a rate of its own.
#[derive(Debug, Clone)]
pub struct Predictor {
    /// Slots of the window.
    most: usize,
    least_rate: BitRate,
    aggregate: Span,
    slots: VecDeque<Slot>,
    /// Bytes sent, and busy and idle slots, in the window.
    sent: ByteCount,
    busy: usize,
    idle: usize,
    /// Number of the present slot, and the bytes that departed in it.
    slot: u64,
    departed: ByteCount,
    /// Bytes at the access point, those in the hardware included.
    waiting: ByteCount,
    /// When the packet at the head became the first.
    head_since: Instant,
    rate: BitRate,
    burst: Span,
    /// Bytes at the last prediction.
    last: ByteCount,
}

impl Predictor {
    /// A predictor of a flow that has sent nothing.
    #[must_use]
    pub fn new(config: &ZhugeConfig) -> Self {
        Self {
            most: config.slots().max(1),
            least_rate: config.least_rate,
            aggregate: config.aggregate,
            slots: VecDeque::new(),
            sent: ByteCount::ZERO,
            busy: 0,
            idle: 0,
            slot: 0,
            departed: ByteCount::ZERO,
            waiting: ByteCount::ZERO,
            head_since: Instant::ZERO,
            rate: config.least_rate,
            burst: Span::ZERO,
            last: ByteCount::ZERO,
        }
    }

    /// Notes a packet of `size` that entered the queue.
    pub fn on_arrived(&mut self, now: Instant, size: ByteCount) {
        self.advance(now);
        if self.waiting == ByteCount::ZERO {
            self.head_since = now;
        }
        self.waiting += size;
    }

    /// Notes a packet that left the access point: received, or dropped.
    pub fn on_departed(&mut self, now: Instant, size: ByteCount) {
        self.advance(now);
        self.waiting -= size;
        self.departed += size;
        self.head_since = now;
    }

    /// Whether nothing waits, and nothing did at the last prediction.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting == ByteCount::ZERO && self.last == ByteCount::ZERO
    }

    /// The delay at the access point of a packet that arrives now, of which it has not been told.
    pub fn predict(&mut self, now: Instant) -> Span {
        self.advance(now);
        let fits = self.waiting <= self.rate.bytes_in(self.aggregate) && self.waiting >= self.last;
        let queued = if fits { Span::ZERO } else { self.rate.time_for(self.waiting) };
        let head = if self.waiting > ByteCount::ZERO { now.since(self.head_since) } else { Span::ZERO };
        self.last = self.waiting;
        queued + head + self.burst
    }

    /// Ends the slots that are over.
    fn advance(&mut self, now: Instant) {
        let number = now.since(Instant::ZERO).div_floor(SLOT);
        let over = number.saturating_sub(self.slot);
        if over == 0 {
            return;
        }
        self.slot = number;
        let rest = if self.waiting > ByteCount::ZERO { Slot::Busy } else { Slot::Idle };
        let departed = std::mem::take(&mut self.departed);
        self.end(if departed > ByteCount::ZERO { Slot::Sent(departed) } else { rest });
        // Further equal slots change nothing.
        for _ in 1..over.min(self.most as u64 + 1) {
            self.end(rest);
        }
    }

    /// Takes a slot that is over into the window, and measures anew.
    fn end(&mut self, slot: Slot) {
        self.slots.push_back(slot);
        match slot {
            Slot::Sent(bytes) => self.sent += bytes,
            Slot::Busy => self.busy += 1,
            Slot::Idle => self.idle += 1,
        }
        if self.slots.len() > self.most {
            match self.slots.pop_front() {
                Some(Slot::Sent(bytes)) => self.sent -= bytes,
                Some(Slot::Busy) => self.busy -= 1,
                Some(Slot::Idle) => self.idle -= 1,
                None => {}
            }
        }
        let active = (self.slots.len() - self.idle) as u64;
        if active == 0 {
            // The last figures stay.
            return;
        }
        self.rate = BitRate::of(self.sent, SLOT * active).max(self.least_rate);
        let sending = active - self.busy as u64;
        self.burst = if sending > 0 { SLOT * active / sending } else { SLOT * self.most as u64 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    const PACKET: ByteCount = ByteCount::new(1250);

    fn predictor() -> Predictor {
        Predictor::new(&ZhugeConfig::default())
    }

    #[test]
    fn nothing_is_predicted_for_the_first_packet() {
        let mut one = predictor();
        assert!(one.is_idle());
        assert_eq!(one.predict(at(500)), Span::ZERO);
    }

    #[test]
    fn the_three_times_add_up() {
        let mut one = predictor();
        // Twenty packets arrive at once; one departs in the middle of every second slot: 10 of 20 slots by 20 ms.
        (0..20).for_each(|_| one.on_arrived(at(0), PACKET));
        for departure in 0..10 {
            one.on_departed(at(500 + 2000 * departure), PACKET);
        }
        // 10 packets of 10 kbit in 20 slots are 5 Mb/s; 10 wait, which is 20 ms; the last departure was at 18.5 ms; a slot in two sends.
        assert_eq!(one.predict(at(20_000)), Span::from_micros(20_000 + 1500 + 2000));
    }

    #[test]
    fn idle_slots_are_left_out_of_the_rate() {
        let mut one = predictor();
        for slot in [0, 50] {
            one.on_arrived(at(slot * 1000 + 100), PACKET);
            one.on_departed(at(slot * 1000 + 200), PACKET);
        }
        // Two slots of 10 kbit each, whatever lies between: 10 Mb/s, of which 5 ms are 6250 bytes.
        (0..5).for_each(|_| one.on_arrived(at(51_000), PACKET));
        assert_eq!(one.predict(at(51_000)), Span::from_millis(1), "they may leave in one aggregate");
        one.on_arrived(at(51_000), PACKET);
        assert_eq!(one.predict(at(51_000)), Span::from_millis(6 + 1));
        // A backlog that shrinks is not one aggregate.
        one.on_departed(at(51_000), PACKET);
        assert_eq!(one.predict(at(51_000)), Span::from_millis(5 + 1));
    }

    #[test]
    fn a_link_that_stalls_adds_its_time_and_slows_the_rate() {
        let mut one = predictor();
        (0..30).for_each(|_| one.on_arrived(at(0), PACKET));
        (0..10).for_each(|slot| one.on_departed(at(slot * 1000 + 900), PACKET));
        // 10 packets in 10 slots; 20 wait: 20 ms; the head since 9.9 ms; each slot sends.
        assert_eq!(one.predict(at(10_000)), Span::from_micros(20_000 + 100 + 1000));
        // Ten slots without a departure: 5 Mb/s, 40 ms, the head for 10.1 ms, every second slot.
        assert_eq!(one.predict(at(20_000)), Span::from_micros(40_000 + 10_100 + 2000));
    }

    #[test]
    fn the_window_forgets_and_the_last_figures_stay_over_a_pause() {
        let mut one = predictor();
        one.on_arrived(at(100), PACKET);
        one.on_departed(at(200), PACKET);
        assert_eq!(one.predict(at(300_000)), Span::from_millis(1));
        // Without any departure in the window, the least rate and the whole window: 512 kb/s for 10 kbit.
        one.on_arrived(at(300_000), PACKET);
        let waited = Span::from_secs(1);
        let expected = BitRate::from_kbps(512).time_for(PACKET) + waited + Span::from_millis(200);
        assert_eq!(one.predict(at(1_300_000)), expected);
    }

    #[test]
    fn no_order_of_calls_panics() {
        let mut one = predictor();
        one.on_departed(at(9000), PACKET);
        one.on_arrived(at(10), PACKET);
        assert!(one.predict(Instant::MAX) > Span::ZERO);
        one.on_departed(at(0), PACKET);
    }
}

//! Demand on latency: the target that is held is lowered as long as packets come too late.
//!
//! A level of 32 keeps the queue of a lone access point short. Beside other stations' downloads the same level takes several of their
//! turns, and under a rate control that falls a frame of 32 packets lasts long. A receiver tells of one packet in each message: the one
//! after the slot's longest pause, which has waited the longest. The sender knows when that was sent, and when its frame was handed in. The
//! target follows the share of messages that tell of a late packet (stochastic approximation of a quantile, Robbins and Monro 1951, in the
//! logarithm): each late one lowers it by [`STEP`], each timely one raises it by as much as keeps it where [`LATE`] of them are late.

use std::collections::VecDeque;

use airbound_units::{Instant, Span};

/// Share of messages that may tell of a late packet.
const LATE: f64 = 0.05;
/// Factor of the target after a late packet.
const STEP: f64 = 0.8;
/// Lower limit of the factor: from 256 packets to the least target.
const LEAST: f64 = 1.0 / 128.0;
/// Time that one note of sent packets covers, and number of notes: a second at least.
const GRAIN: Span = Span::from_millis(1);
const NOTES: usize = 1024;
/// Time after which the least delay is forgotten, in halves: clocks drift apart by 1 ms in 20 s at most.
const HALF: Span = Span::from_secs(10);
/// Unit of stamps in messages.
const TICK: Span = Span::from_micros(100);

/// A packet of which a message tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// Low 32 bits of its sequence number.
    pub sequence: u32,
    /// Its arrival on the receiver's clock in units of 0.1 ms, modulo 2^16.
    pub stamp: u16,
}

impl Sample {
    pub(super) fn new(sequence: u64, at: Instant) -> Self {
        Self { sequence: sequence as u32, stamp: ticks(at) }
    }
}

/// Time modulo 6.5536 s.
fn ticks(at: Instant) -> u16 {
    (at.as_nanos() / TICK.as_nanos()) as u16
}

/// Packets that were sent together.
#[derive(Debug, Clone, Copy)]
struct Note {
    /// Number of packets sent up to and with these.
    total: u64,
    at: Instant,
    /// When their frame was handed in, and from then until its last packet is sent.
    frame: Instant,
    paced: Span,
}

/// Follows the latency of one receiver's packets.
#[derive(Debug, Clone)]
pub(super) struct Demand {
    /// From a frame to the arrival of its packets, beyond the least delay of the path.
    latency: Span,
    notes: VecDeque<Note>,
    total: u64,
    /// Least difference of stamp and time of sending, of this half of the window and of the one before; `None` before the first.
    least: [Option<u16>; 2],
    since: Instant,
    /// Of the last message: it tells of the same packet again where none has arrived since.
    told: Option<Sample>,
    factor: f64,
}

impl Demand {
    /// All of its memory is allocated here.
    pub(super) fn new(latency: Span) -> Self {
        Self {
            latency,
            notes: VecDeque::with_capacity(NOTES),
            total: 0,
            least: [None; 2],
            since: Instant::ZERO,
            told: None,
            factor: 1.0,
        }
    }

    /// The same memory, as it was at first.
    pub(super) fn cleared(mut self) -> Self {
        self.notes.clear();
        Self { total: 0, least: [None; 2], since: Instant::ZERO, told: None, factor: 1.0, ..self }
    }

    /// Factor of the target, at most 1.
    pub(super) const fn factor(&self) -> f64 {
        self.factor
    }

    /// Notes packets sent at `now`, of a frame handed in at `frame`, whose last packet is due at `ends`.
    pub(super) fn on_sent(&mut self, now: Instant, packets: u32, frame: Instant, ends: Instant) {
        let paced = ends.max(now).since(frame);
        self.total = self.total.saturating_add(u64::from(packets));
        if let Some(last) =
            self.notes.back_mut().filter(|last| last.frame == frame && now.since(last.at) < GRAIN)
        {
            last.total = self.total;
            return;
        }
        if self.notes.len() == NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(Note { total: self.total, at: now, frame, paced });
    }

    /// Takes a packet of which a message tells.
    pub(super) fn on_sample(&mut self, now: Instant, sample: Sample) {
        if self.told.replace(sample) == Some(sample) {
            return;
        }
        let Some(latency) = self.latency_of(now, sample) else { return };
        let late = latency > self.latency;
        let factor = if late { STEP } else { libm::pow(STEP, -LATE / (1.0 - LATE)) };
        self.factor = (self.factor * factor).clamp(LEAST, 1.0);
    }

    /// The latency of a packet, beyond the least delay of the path; `None` if nothing is known of it.
    fn latency_of(&mut self, now: Instant, sample: Sample) -> Option<Span> {
        // The last packet with these low bits that was sent.
        let newest = self.total.checked_sub(1)?;
        let behind = (newest as u32).wrapping_sub(sample.sequence);
        let sequence = newest.checked_sub(u64::from(behind))?;
        let place = self.notes.partition_point(|note| note.total <= sequence);
        let note = *self.notes.get(place)?;
        if place == 0 && self.notes.len() == NOTES {
            // Older than all notes: sent a second ago or more.
            return Some(Span::MAX);
        }
        let delay = sample.stamp.wrapping_sub(ticks(note.at));
        let above = self.above_least(now, delay);
        Some(note.paced + Span::from_nanos(TICK.as_nanos() * u64::from(above)))
    }

    /// A difference of stamps less the least of the last 10 to 20 s, which it may be itself.
    fn above_least(&mut self, now: Instant, delay: u16) -> u16 {
        if now.since(self.since) >= HALF {
            self.least = [None, self.least[0]];
            self.since = now;
        }
        // Stamps wrap around: the smaller one is less than half of the circle behind.
        let smaller = |a: u16, b: u16| if (a.wrapping_sub(b) as i16) < 0 { a } else { b };
        let of_half = self.least[0].map_or(delay, |least| smaller(delay, least));
        self.least[0] = Some(of_half);
        let least = self.least[1].map_or(of_half, |before| smaller(of_half, before));
        delay.wrapping_sub(least)
    }

    /// Forgets all times when the caller's clock was set.
    pub(super) fn set_back(&mut self, to: Instant) {
        self.notes.clear();
        self.least = [None; 2];
        self.since = to;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LATENCY: Span = Span::from_millis(30);

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    /// Sends a packet each 10 ms, of which each tenth is told of; `delay` of each, on a clock that is `ahead`.
    fn run(demand: &mut Demand, messages: u64, ahead: Span, mut delay: impl FnMut(u64, f64) -> Span) {
        for message in 0..messages {
            for packet in 10 * message..10 * message + 10 {
                demand.on_sent(at(10 * packet), 1, at(10 * packet), at(10 * packet));
            }
            let (sequence, sent) = (10 * message, at(100 * message));
            let arrival = sent + ahead + delay(message, demand.factor());
            demand.on_sample(at(100 * message + 99), Sample::new(sequence, arrival));
        }
    }

    #[test]
    fn timely_packets_leave_the_target() {
        let mut demand = Demand::new(LATENCY);
        run(&mut demand, 1000, Span::from_secs(3_000_000), |_, _| Span::from_millis(20));
        assert!((demand.factor() - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn one_message_in_twenty_tells_of_a_late_packet() {
        let mut demand = Demand::new(LATENCY);
        let (mut late, mut sum) = (0, 0.0);
        run(&mut demand, 4000, Span::from_millis(70), |message, factor| {
            // Three in ten are late at the whole target, and in proportion fewer below it.
            let is_late = (message as f64 * 0.618_034).fract() < 0.3 * factor;
            late += u32::from(is_late && message >= 1000);
            sum += if message >= 1000 { factor } else { 0.0 };
            Span::from_millis(if is_late { 60 } else { 5 })
        });
        assert!((120..180).contains(&late), "{late} of 3000");
        let mean = sum / 3000.0;
        assert!((0.12..0.22).contains(&mean), "{mean}");
    }

    #[test]
    fn a_frame_that_waited_for_its_pace_is_late() {
        let mut demand = Demand::new(LATENCY);
        for number in 0..3 {
            demand.on_sent(at(100 * number), 1, at(100 * number), at(100 * number + 40));
            demand.on_sample(at(100 * number + 60), Sample::new(number, at(100 * number + 5)));
        }
        assert!((demand.factor() - STEP * STEP * STEP).abs() < 1e-12);
    }

    #[test]
    fn a_packet_that_was_never_sent_and_one_told_of_again_say_nothing() {
        let mut demand = Demand::new(LATENCY);
        demand.on_sent(at(0), 1, at(0), at(0));
        demand.on_sample(at(5), Sample::new(0, at(4)));
        demand.on_sent(at(10), 1, at(10), at(10));
        demand.on_sample(at(60), Sample::new(1, at(59)));
        assert!((demand.factor() - STEP).abs() < f64::EPSILON);
        demand.on_sample(at(61), Sample::new(1, at(59)));
        demand.on_sample(at(62), Sample::new(2, at(200)));
        assert!((demand.factor() - STEP).abs() < f64::EPSILON);
    }

    #[test]
    fn the_least_delay_is_forgotten_after_twenty_seconds() {
        let mut demand = Demand::new(LATENCY);
        run(&mut demand, 600, Span::ZERO, |message, _| Span::from_millis(if message < 10 { 5 } else { 50 }));
        // 201 late ones at most, and then enough timely ones for a rise.
        assert!(demand.factor() > LEAST);
        assert_eq!(demand.above_least(at(60_000), ticks(at(50))), 0);
    }

    proptest! {
        #[test]
        fn any_samples_leave_a_factor_within_its_limits(
            calls in prop::collection::vec((0_u64..5000, 1_u32..2000, any::<u32>(), any::<u16>(), any::<bool>()), 0..300),
        ) {
            let mut demand = Demand::new(LATENCY);
            for (millis, packets, sequence, stamp, is_sent) in calls {
                if is_sent {
                    demand.on_sent(at(millis), packets, at(millis / 2), at(millis / 3));
                } else {
                    demand.on_sample(at(millis), Sample { sequence: sequence % 10_000, stamp });
                }
                prop_assert!((LEAST..=1.0).contains(&demand.factor()));
                prop_assert!(demand.notes.len() <= NOTES);
            }
        }
    }
}

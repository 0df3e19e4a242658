//! The delay-based estimate: additive or multiplicative increase, multiplicative decrease.
//!
//! ```text
//!              normal                 over-use
//!    Hold ───────────────▶ Increase ───────────▶ Decrease: 0.85 x throughput, then Hold
//!      ▲                      │
//!      └──────────────────────┘ under-use: the queue drains
//! ```
//!
//! | constant | source |
//! |---|---|
//! | decrease to 0.85 of the throughput, less 5 kbit/s | draft Sec. 5.5 (beta); libwebrtc `kDefaultBackoffFactor`, `ChangeBitrate` |
//! | increase by 8 % a second, at least 1 kbit/s | draft Sec. 5.5 (1.08^min(t, 1 s)); libwebrtc |
//! | near the capacity: one packet in a response time | draft Sec. 5.5 (half a packet in it); libwebrtc doubles the response time instead |
//! | response time: twice (round trip + 100 ms); packets of up to 1200 B at 30 frames a second; at least 4 kbit/s a second | draft Sec. 5.5, libwebrtc |
//! | never beyond 1.5 x throughput + 10 kbit/s | draft Sec. 5.5 (1.5 x); libwebrtc |
//! | immediate reaction to over-use | draft Sec. 5.5 |
//! | a further decrease after a round trip, 10 to 200 ms, or if half arrives | libwebrtc `TimeToReduceFurther`; there the pause counts from the last change, so an over-use shorter than a round trip after an increase is ignored, and a slowly growing queue has no effect |
//! | initial round trip of 200 ms | libwebrtc `kDefaultRtt` |

use airbound_units::{BitRate, Instant, Span};

use super::link_capacity::LinkCapacity;
use super::{GccConfig, Usage};

const BETA: f64 = 0.85;
const BELOW_ARRIVALS: BitRate = BitRate::from_kbps(5);
const GROWTH: f64 = 1.08;
const LEAST_GROWTH: f64 = 1000.0;
const LEAST_ADDED: f64 = 4000.0;
const FRAMES: f64 = 30.0;
const PACKET_BITS: f64 = 9600.0;
const UNKNOWN_ROUND_TRIP: Span = Span::from_millis(200);
const DETECTION: Span = Span::from_millis(100);
const SHORTEST_PAUSE: Span = Span::from_millis(10);
const LONGEST_PAUSE: Span = Span::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
}

#[derive(Debug, Clone)]
pub(super) struct Aimd {
    state: State,
    rate: BitRate,
    bounds: (BitRate, BitRate),
    capacity: LinkCapacity,
    round_trip: Span,
    changed: Option<Instant>,
    decreased: Option<Instant>,
}

impl Aimd {
    pub(super) fn new(config: &GccConfig) -> Self {
        Self {
            state: State::Hold,
            rate: config.start_rate,
            bounds: (config.min_rate, config.max_rate),
            capacity: LinkCapacity::default(),
            round_trip: UNKNOWN_ROUND_TRIP,
            changed: None,
            decreased: None,
        }
    }

    pub(super) fn rate(&self) -> BitRate {
        self.rate
    }

    pub(super) fn on_round_trip(&mut self, round_trip: Span) {
        self.round_trip = round_trip;
    }

    /// Sets the rate measured by a probe.
    pub(super) fn set(&mut self, now: Instant, rate: BitRate) {
        self.rate = rate.clamp(self.bounds.0, self.bounds.1);
        self.changed = Some(now);
    }

    /// Takes a report; `throughput` is the rate of arrivals.
    pub(super) fn update(&mut self, now: Instant, usage: Usage, throughput: Option<BitRate>) {
        match usage {
            Usage::Overuse => self.on_overuse(now, throughput),
            Usage::Underuse => self.state = State::Hold,
            Usage::Normal => {
                if self.state == State::Hold {
                    self.state = State::Increase;
                    self.changed = Some(now);
                }
                self.increase(now, throughput.unwrap_or(self.rate));
            }
        }
    }

    fn on_overuse(&mut self, now: Instant, throughput: Option<BitRate>) {
        let pause = self.round_trip.clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        let rested = self.decreased.is_none_or(|decreased| now - decreased >= pause);
        match throughput {
            Some(throughput) if rested || throughput < self.rate.mul_f64(0.5) => {
                self.decrease(now, throughput)
            }
            // Unknown throughput: halve the rate, at most once in a pause.
            None if rested => {
                self.decreased = Some(now);
                self.set(now, self.rate.mul_f64(0.5));
            }
            _ => {}
        }
    }

    fn decrease(&mut self, now: Instant, throughput: BitRate) {
        let mut lower = throughput.mul_f64(BETA);
        if lower > BELOW_ARRIVALS {
            lower = BitRate::from_bps(lower.as_bps() - BELOW_ARRIVALS.as_bps());
        }
        if lower > self.rate {
            // The throughput exceeds the estimate (a probe, or an old measurement): the last capacity estimate decides.
            lower = self.capacity.estimate().map_or(lower, |capacity| capacity.mul_f64(BETA));
        }
        if self.capacity.is_above(throughput) {
            self.capacity.forget();
        }
        self.capacity.on_overuse(throughput);
        // Hold until the queue has drained.
        self.state = State::Hold;
        self.decreased = Some(now);
        self.set(now, lower.min(self.rate));
    }

    fn increase(&mut self, now: Instant, throughput: BitRate) {
        if self.capacity.is_below(throughput) {
            self.capacity.forget();
        }
        let limit = throughput.mul_f64(1.5).as_bps().saturating_add(10_000);
        let elapsed = self.changed.map_or(Span::ZERO, |changed| now - changed).as_secs_f64();
        if self.rate.as_bps() < limit {
            let rate = self.rate.as_bps() as f64;
            let added = if self.capacity.estimate().is_some() {
                self.added_each_second() * elapsed
            } else {
                (rate * (libm::pow(GROWTH, elapsed.min(1.0)) - 1.0)).max(LEAST_GROWTH)
            };
            self.set(now, BitRate::from_bps_f64(rate + added).min(BitRate::from_bps(limit)));
        }
        self.changed = Some(now);
    }

    /// Additive increase in bit/s for each second.
    fn added_each_second(&self) -> f64 {
        let frame = self.rate.as_bps() as f64 / FRAMES;
        let packet = frame / libm::ceil(frame / PACKET_BITS).max(1.0);
        let response = (self.round_trip + DETECTION) * 2;
        (packet / response.as_secs_f64()).max(LEAST_ADDED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn at_1_mbps() -> Aimd {
        let config = GccConfig { start_rate: BitRate::from_mbps(1), ..GccConfig::default() };
        Aimd::new(&config)
    }

    #[test]
    fn grows_by_eight_percent_a_second_where_the_capacity_is_unknown() {
        let mut aimd = at_1_mbps();
        for step in 0..=20 {
            aimd.update(at(step * 50), Usage::Normal, Some(BitRate::from_mbps(1)));
        }
        // The first step adds the least increment.
        assert!((aimd.rate().as_mbps_f64() - 1.08).abs() < 0.002, "{}", aimd.rate());
    }

    #[test]
    fn falls_to_what_arrives_and_then_adds_a_packet_in_a_response_time() {
        let mut aimd = at_1_mbps();
        aimd.on_round_trip(Span::from_millis(50));
        aimd.update(at(0), Usage::Overuse, Some(BitRate::from_kbps(800)));
        assert_eq!(aimd.rate(), BitRate::from_kbps(675));
        // No second decrease within a round trip, although over-use continues.
        aimd.update(at(40), Usage::Overuse, Some(BitRate::from_kbps(790)));
        assert_eq!(aimd.rate(), BitRate::from_kbps(675));
        for step in 2..=22 {
            aimd.update(at(step * 50), Usage::Normal, Some(BitRate::from_kbps(780)));
        }
        // Frames of 22.5 kbit in three packets: 7.5 kbit in 300 ms are 25.0 kbit/s more after a second.
        let added = aimd.rate().as_bps() - 675_000;
        assert!((24_000..27_000).contains(&added), "{added}");
    }

    #[test]
    fn does_not_grow_while_the_queue_drains_nor_beyond_what_arrives() {
        let mut aimd = at_1_mbps();
        aimd.update(at(0), Usage::Underuse, Some(BitRate::from_mbps(1)));
        aimd.update(at(500), Usage::Underuse, Some(BitRate::from_mbps(1)));
        assert_eq!(aimd.rate(), BitRate::from_mbps(1));
        for step in 0..1000 {
            aimd.update(at(1000 + step * 100), Usage::Normal, Some(BitRate::from_kbps(800)));
        }
        assert_eq!(aimd.rate(), BitRate::from_kbps(1210));
    }
}

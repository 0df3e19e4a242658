//! Proportional integral controller enhanced (PIE, RFC 8033): drops arriving packets with a probability computed from
//! the delay and its trend.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::run::Dequeue;
use super::station_lists::{ArrivalOrder, Limits, StationLists};
use super::{Backlogs, Fact, Queue, Sink, Turn};
use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, Payload, StationId};

/// Measurement of the queueing delay (RFC 8033, section 4.3 and 5.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelayEstimate {
    /// From the time stamp of the last departing packet; Linux since 5.5.
    #[default]
    Timestamps,
    /// Backlog divided by the measured departure rate; Linux before 5.5, and today with `dq_rate_estimator`.
    DepartureRate,
}

/// Configuration of a [`Pie`] queue; RFC 8033, sections 4 and 5.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PieConfig {
    /// Limits of each category (kernel `sch_pie`: 1000 packets).
    pub limit: Limits,
    /// Acceptable delay (`QDELAY_REF`): 15 ms. Above 0.
    pub target: Span,
    /// Time between two updates of the probability (`T_UPDATE`): 15 ms. 100 µs to 10 s.
    pub update: Span,
    /// Longest burst that is not dropped (`MAX_BURST`): 150 ms.
    pub max_burst: Span,
    /// Weight of the distance from the target (`alpha`): 0.125 per second, 0 to 1000.
    pub alpha: f64,
    /// Weight of the trend (`beta`): 1.25 per second, 0 to 1000.
    pub beta: f64,
    /// Nothing is dropped from a backlog of at most two packets of this size (`MEAN_PKTSIZE`): 1500 B.
    pub mean_packet: ByteCount,
    /// Measurement of the delay.
    pub delay: DelayEstimate,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            limit: Limits::default(),
            target: Span::from_millis(15),
            update: Span::from_millis(15),
            max_burst: Span::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            mean_packet: ByteCount::new(1500),
            delay: DelayEstimate::Timestamps,
        }
    }
}

impl PieConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let range = Span::from_micros(100)..=Span::from_secs(10);
        ConfigError::check(!self.target.is_zero(), "target", self.target, "more than 0 ms")?;
        ConfigError::check(range.contains(&self.update), "update", self.update, "100 us to 10 s")?;
        for (key, value) in [("alpha", self.alpha), ("beta", self.beta)] {
            ConfigError::check((0.0..=1000.0).contains(&value), key, value, "0 to 1000")?;
        }
        Ok(())
    }
}

/// After this many updates of an idle queue the probability has decayed to nothing: 0.98^1024 < 1e-8.
const MOST_UPDATES_AT_ONCE: u64 = 1024;

/// Bytes over which the departure rate is measured (`DQ_THRESHOLD`, section 5.2: 2^14).
const DEPARTURE_THRESHOLD: ByteCount = ByteCount::new(1 << 14);

/// The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014), whose state
/// is a counter: the given seed determines every draw.
#[derive(Debug, Clone, Copy)]
struct SplitMix64(u64);

impl SplitMix64 {
    /// A number in [0, 1).
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A measurement of the departure rate in progress.
#[derive(Debug, Clone, Copy)]
struct Measurement {
    began: Instant,
    left: ByteCount,
}

/// The controller of one category.
#[derive(Debug, Clone)]
struct PieState {
    drop_probability: f64,
    /// Sum of the probabilities since the last drop (section 5.4).
    accumulated: f64,
    burst_allowance: Span,
    /// Delay of the last departing packet.
    last_sojourn: Span,
    /// Delay at the last update and at the one before.
    delay: Span,
    old_delay: Span,
    /// Average time for one byte to leave, in nanoseconds; a new measurement weighs 2^14 / 2^16 (section 5.2).
    byte_time: Option<f64>,
    measurement: Option<Measurement>,
    next_update: Option<Instant>,
    random: SplitMix64,
}

impl PieState {
    fn new(config: &PieConfig, seed: u64) -> Self {
        Self {
            drop_probability: 0.0,
            accumulated: 0.0,
            burst_allowance: config.max_burst,
            last_sojourn: Span::ZERO,
            delay: Span::ZERO,
            old_delay: Span::ZERO,
            byte_time: None,
            measurement: None,
            next_update: None,
            random: SplitMix64(seed),
        }
    }

    /// Makes all updates due until `now`. The queue was not used in between, so its backlog was constant.
    fn catch_up(&mut self, config: &PieConfig, now: Instant, backlog: ByteCount) {
        let due = *self.next_update.get_or_insert(now + config.update);
        if now < due {
            return;
        }
        let periods = now.since(due).div_floor(config.update).saturating_add(1);
        for _ in 0..periods.min(MOST_UPDATES_AT_ONCE) {
            self.update(config, backlog);
        }
        self.next_update = Some(due + config.update * periods);
    }

    fn current_delay(&self, config: &PieConfig, backlog: ByteCount) -> Span {
        if backlog == ByteCount::ZERO {
            return Span::ZERO;
        }
        match config.delay {
            DelayEstimate::Timestamps => self.last_sojourn,
            DelayEstimate::DepartureRate => self.byte_time.map_or(Span::ZERO, |byte_time| {
                Span::from_nanos((backlog.as_u64() as f64 * byte_time) as u64)
            }),
        }
    }

    /// One update of the probability (section 4.2, with the cap of section 5.5).
    fn update(&mut self, config: &PieConfig, backlog: ByteCount) {
        self.old_delay = self.delay;
        self.delay = self.current_delay(config, backlog);
        let (delay, old) = (self.delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let mut step = config.alpha * (delay - config.target.as_secs_f64()) + config.beta * (delay - old);
        step /= match self.drop_probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.drop_probability >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        let mut probability = self.drop_probability + step;
        if self.delay.is_zero() && self.old_delay.is_zero() {
            probability *= 0.98;
        }
        self.drop_probability = probability.clamp(0.0, 1.0);
        self.burst_allowance -= config.update;
        // The congestion is over: the next burst is permitted again (section 4.4).
        let low = config.target / 2;
        if self.drop_probability == 0.0 && self.delay < low && self.old_delay < low {
            self.burst_allowance = config.max_burst;
        }
    }

    /// Whether an arriving packet is dropped (sections 4.1 and 5.4).
    fn drops_early(&mut self, config: &PieConfig, backlog: ByteCount) -> bool {
        if !self.burst_allowance.is_zero()
            || (self.delay < config.target / 2 && self.drop_probability < 0.2)
            || backlog <= config.mean_packet * 2
        {
            return false;
        }
        if self.drop_probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.drop_probability;
        // Drops are neither clustered nor too rare.
        if self.accumulated < 0.85 {
            return false;
        }
        if self.accumulated >= 8.5 || self.random.unit() < self.drop_probability {
            self.accumulated = 0.0;
            return true;
        }
        false
    }

    /// Notes a departing packet (section 5.2, or its time stamp).
    fn on_departure(&mut self, now: Instant, sojourn: Span, size: ByteCount, left: ByteCount) {
        self.last_sojourn = sojourn;
        if self.measurement.is_none() && left + size >= DEPARTURE_THRESHOLD {
            self.measurement = Some(Measurement { began: now, left: ByteCount::ZERO });
        }
        let Some(measurement) = &mut self.measurement else { return };
        measurement.left += size;
        if measurement.left >= DEPARTURE_THRESHOLD {
            let took = now.since(measurement.began).as_nanos() as f64 / measurement.left.as_u64() as f64;
            // Packets of one aggregate leave at one instant; the measurement continues until time has passed.
            if took > 0.0 {
                self.byte_time = Some(self.byte_time.map_or(took, |average| average * 0.75 + took * 0.25));
                self.measurement = (left >= DEPARTURE_THRESHOLD)
                    .then_some(Measurement { began: now, left: ByteCount::ZERO });
            }
        }
    }
}

/// A first-in-first-out queue for each category with one PIE controller in front (kernel: `net/sched/sch_pie.c`).
///
/// Not implemented of RFC 8033: ECN, the activation of section 5.3 and byte mode, all optional there.
#[derive(Debug, Clone)]
pub struct Pie<P> {
    config: PieConfig,
    lists: StationLists<P>,
    order: ArrivalOrder,
    states: [PieState; 4],
    /// Latest time observed.
    now: Instant,
}

impl<P: Payload> Pie<P> {
    /// Creates an empty queue; `seed` determines its random drops.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: PieConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        config.limit.check()?;
        // Four streams: seeds of splitmix64 need only differ.
        let states = [0, 1, 2, 3].map(|category| PieState::new(&config, seed ^ (category << 61)));
        Ok(Self {
            config,
            lists: StationLists::default(),
            order: ArrivalOrder::default(),
            states,
            now: Instant::ZERO,
        })
    }

    /// The drop probability of a packet arriving in `category`, 0 to 1.
    pub const fn drop_probability(&self, category: Category) -> f64 {
        self.states[category.index()].drop_probability
    }

    fn catch_up(&mut self, now: Instant, category: Category) -> Instant {
        self.now = self.now.max(now);
        let backlog = self.lists.waiting(category).bytes;
        self.states[category.index()].catch_up(&self.config, self.now, backlog);
        self.now
    }
}

impl<P: Payload> Pie<P> {
    /// The station to be served next.
    fn next_station(&mut self, _now: Instant, category: Category) -> Option<StationId> {
        self.order.select(&mut self.lists, category)
    }
}

impl<P: Payload> Dequeue<P> for Pie<P> {
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        _dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        let now = self.catch_up(now, category);
        let packet = self.lists.pop(station, category)?;
        let left = self.lists.waiting(category).bytes;
        // Packets of one station may overtake those of others: the delay is that of the oldest packet of all.
        let oldest = self.order.oldest(&mut self.lists, category).unwrap_or(Instant::MAX);
        let sojourn = now.since(oldest.min(packet.enqueued()));
        self.states[category.index()].on_departure(now, sojourn, packet.size(), left);
        Some(packet)
    }

    #[inline]
    fn next_size(&mut self, station: StationId, category: Category) -> Option<ByteCount> {
        self.lists.first_size(station, category)
    }
}

impl<P: Payload> Queue<P> for Pie<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let (station, category) = (packet.station(), packet.category());
        self.catch_up(now, category);
        let waiting = self.lists.waiting(category);
        // A full queue drops regardless of the probability.
        if self.config.limit.refuses(waiting, packet.size()).is_none()
            && self.states[category.index()].drops_early(&self.config, waiting.bytes)
        {
            dropped.push(Dropped { packet, reason: DropReason::Congestion });
        } else if self.lists.push(now, packet, self.config.limit, dropped) {
            self.order.update(&mut self.lists, station, category);
        }
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        self.next_station(now, category).map(|station| Turn::new(station, category))
    }

    #[inline]
    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        self.hand_out(now, turn, sink, dropped);
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        self.lists.flush(station, out);
    }

    fn backlog(&self) -> &Backlogs {
        self.lists.backlog()
    }

    fn on(&mut self, _now: Instant, fact: Fact<'_, P>) {
        if let Fact::Eligibility { station, category, eligibility } = fact {
            self.lists.set_eligibility(station, category, eligibility);
            self.order.update(&mut self.lists, station, category);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_packet::{at_micros, packet};
    use super::*;

    const BACKLOG: ByteCount = ByteCount::new(100_000);

    fn state(delay: Span) -> PieState {
        let mut state = PieState::new(&PieConfig::default(), 3);
        state.last_sojourn = delay;
        state
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= expected.abs() * 1e-9, "{found} instead of {expected}");
    }

    #[test]
    fn small_probabilities_move_in_small_steps() {
        let config = PieConfig::default();
        let mut state = state(Span::from_millis(30));
        // 0.125 * (0.030 - 0.015) + 1.25 * (0.030 - 0), over 2048 as the probability is below 1e-6.
        state.update(&config, BACKLOG);
        assert_close(state.drop_probability, 0.039_375 / 2048.0);
        // No trend; over 128 as the probability is between 1e-5 and 1e-4.
        state.update(&config, BACKLOG);
        assert_close(state.drop_probability, 0.039_375 / 2048.0 + 0.001_875 / 128.0);
        for (probability, divisor) in [(5e-6, 512.0), (5e-4, 32.0), (5e-3, 8.0), (5e-2, 2.0), (0.5, 1.0)] {
            state.drop_probability = probability;
            state.update(&config, BACKLOG);
            assert_close(state.drop_probability, probability + 0.001_875 / divisor);
        }
    }

    #[test]
    fn large_probabilities_grow_by_two_percent_at_most() {
        let mut state = state(Span::from_millis(500));
        state.drop_probability = 0.2;
        state.update(&PieConfig::default(), BACKLOG);
        assert_close(state.drop_probability, 0.22);
    }

    #[test]
    fn an_idle_queue_forgets() {
        let config = PieConfig::default();
        let mut state = state(Span::from_millis(30));
        state.drop_probability = 0.5;
        state.update(&config, ByteCount::ZERO);
        assert_close(state.drop_probability, (0.5 - 0.001_875) * 0.98);
        // An hour without calls takes a bounded number of steps.
        state.catch_up(&config, at_micros(0), ByteCount::ZERO);
        state.catch_up(&config, at_micros(3_600_000_000), ByteCount::ZERO);
        assert_eq!(state.drop_probability, 0.0);
        assert_eq!(state.burst_allowance, config.max_burst);
        assert_eq!(state.next_update, Some(at_micros(3_600_015_000)));
    }

    #[test]
    fn late_calls_make_up_for_missed_updates() {
        let config = PieConfig::default();
        let (mut punctual, mut late) = (state(Span::from_millis(40)), state(Span::from_millis(40)));
        for millis in 0..=100 {
            punctual.catch_up(&config, at_micros(millis * 1000), BACKLOG);
        }
        late.catch_up(&config, at_micros(0), BACKLOG);
        late.catch_up(&config, at_micros(100_000), BACKLOG);
        assert_eq!(punctual.drop_probability, late.drop_probability);
        assert_eq!(late.burst_allowance, Span::from_millis(150 - 6 * 15));
        assert!(late.drop_probability > 0.0);
    }

    #[test]
    fn drops_are_neither_clustered_nor_late() {
        let config = PieConfig::default();
        let mut state = state(Span::from_millis(30));
        state.update(&config, BACKLOG);
        state.burst_allowance = Span::ZERO;
        state.drop_probability = 0.05;
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..100_000 {
            gap += 1;
            if state.drops_early(&config, BACKLOG) {
                gaps.push(gap);
                gap = 0;
            }
        }
        // The sum of the probabilities between two drops lies between 0.85 and 8.5 (section 5.4).
        assert_eq!(gaps.iter().min(), Some(&17));
        assert!(gaps.iter().all(|&gap| gap <= 170));
        // 16 packets pass, then each is dropped with 5 %: every 36th on average.
        let mean = 100_000.0 / gaps.len() as f64;
        assert!((34.0..38.0).contains(&mean), "{mean}");
    }

    #[test]
    fn a_burst_and_a_short_queue_are_spared() {
        let config = PieConfig::default();
        let mut state = state(Span::from_millis(30));
        state.update(&config, BACKLOG);
        state.drop_probability = 1.0;
        state.accumulated = 10.0;
        assert!(!state.drops_early(&config, BACKLOG), "burst allowance is left");
        state.burst_allowance = Span::ZERO;
        assert!(!state.drops_early(&config, ByteCount::new(3000)), "two packets wait");
        assert!(state.drops_early(&config, ByteCount::new(3001)));
        state.delay = Span::from_millis(7);
        state.drop_probability = 0.19;
        state.accumulated = 10.0;
        assert!(!state.drops_early(&config, BACKLOG), "short delay and low probability");
    }

    #[test]
    fn the_departure_rate_gives_the_delay() {
        let config = PieConfig { delay: DelayEstimate::DepartureRate, ..PieConfig::default() };
        let mut state = state(Span::ZERO);
        for millis in 0..100 {
            state.on_departure(at_micros(millis * 1000), Span::ZERO, ByteCount::new(1500), BACKLOG);
        }
        // 1500 B in 1 ms: 100 kB take 66.7 ms. Each measurement is of 11 packets over 10 or 11 ms.
        let delay = state.current_delay(&config, BACKLOG).as_millis_f64();
        assert!((60.0..=67.0).contains(&delay), "{delay}");
        assert_eq!(state.current_delay(&config, ByteCount::ZERO), Span::ZERO);
    }

    /// The mean delay of the second minute under twice the load that can leave, from unresponsive senders.
    fn delay_under_overload(delay: DelayEstimate) -> f64 {
        let config = PieConfig { delay, ..PieConfig::default() };
        let mut queue = Pie::new(config, 11).expect("valid");
        let mut dropped = Vec::new();
        let (mut sum, mut count) = (0.0, 0.0);
        for millis in 0..120_000 {
            for half in 0..2 {
                let now = at_micros(millis * 1000 + half * 500);
                queue.enqueue(now, packet(0, 0), &mut dropped);
            }
            let now = at_micros(millis * 1000 + 700);
            if let Some(station) = queue.next_station(now, Category::Be)
                && let Some(packet) = queue.dequeue(now, station, Category::Be, &mut dropped)
                && millis >= 60_000
            {
                sum += now.since(packet.enqueued()).as_millis_f64();
                count += 1.0;
            }
            dropped.clear();
        }
        assert!(count > 59_000.0, "the link idles: {count}");
        sum / count
    }

    #[test]
    fn the_delay_settles_at_the_target() {
        for estimate in [DelayEstimate::Timestamps, DelayEstimate::DepartureRate] {
            let delay = delay_under_overload(estimate);
            assert!((12.0..18.0).contains(&delay), "{estimate:?}: {delay} ms");
        }
    }
}

//! The controller of one category: delay, drop probability, and the decision for each arriving packet.

use airbound_units::{ByteCount, Instant, Span};

use super::super::draws::SplitMix64;
use super::config::{DelayEstimate, PieConfig, PieRevision};
use super::departures::Departures;

/// After this many updates of an idle queue the probability has decayed to nothing: 0.98^1024 < 1e-8.
const MOST_UPDATES_AT_ONCE: u64 = 1024;

/// Linux 3.17 raises the probability by 2 % more for each update that finds a longer delay.
const HIGH_DELAY: Span = Span::from_millis(250);

/// The controller of one category.
#[derive(Debug, Clone)]
pub(super) struct Controller {
    pub(super) drop_probability: f64,
    /// Sum of the probabilities since the last drop (section 5.4).
    accumulated: f64,
    burst_allowance: Span,
    /// Delay of the last departing packet.
    last_sojourn: Span,
    /// Delay at the last update and at the one before.
    delay: Span,
    old_delay: Span,
    departures: Departures,
    next_update: Option<Instant>,
    random: SplitMix64,
}

impl Controller {
    pub(super) fn new(config: &PieConfig, seed: u64) -> Self {
        Self {
            drop_probability: 0.0,
            accumulated: 0.0,
            burst_allowance: config.max_burst,
            last_sojourn: Span::ZERO,
            delay: Span::ZERO,
            old_delay: Span::ZERO,
            departures: Departures::default(),
            next_update: None,
            random: SplitMix64(seed),
        }
    }

    /// Makes all updates due until `now`. The queue was not used in between, so its backlog was constant.
    pub(super) fn catch_up(&mut self, config: &PieConfig, now: Instant, backlog: ByteCount) {
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
        match config.delay {
            _ if backlog == ByteCount::ZERO => Span::ZERO,
            DelayEstimate::Timestamps => self.last_sojourn,
            DelayEstimate::DepartureRate => self.departures.drain_time(backlog),
        }
    }

    /// One update of the probability (section 4.2, with the cap of section 5.5; kernel: `calculate_probability`).
    fn update(&mut self, config: &PieConfig, backlog: ByteCount) {
        self.old_delay = self.delay;
        self.delay = self.current_delay(config, backlog);
        let (delay, old) = (self.delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let mut step = config.alpha * (delay - config.target.as_secs_f64()) + config.beta * (delay - old);
        step /= divisor(config.revision, self.drop_probability);
        if self.drop_probability >= 0.1 && step > 0.02 {
            step = 0.02;
        }
        if config.revision == PieRevision::Linux3_17 && self.delay > HIGH_DELAY {
            step += 0.02;
        }
        let mut probability = self.drop_probability + step;
        // In Linux 3.17 a delay of 0 before a backlog means that no rate is known yet.
        let known = config.revision == PieRevision::Rfc8033 || backlog == ByteCount::ZERO;
        if self.delay.is_zero() && self.old_delay.is_zero() && known {
            probability *= 0.98;
        }
        self.drop_probability = probability.clamp(0.0, 1.0);
        let low = config.target / 2;
        // The congestion is over: the next burst is permitted again (section 4.4).
        let over = self.drop_probability == 0.0 && self.delay < low && self.old_delay < low;
        match config.revision {
            PieRevision::Rfc8033 => {
                self.burst_allowance -= config.update;
                if over {
                    self.burst_allowance = config.max_burst;
                }
            }
            PieRevision::Linux3_17 => {
                if over && self.departures.measured() {
                    self.departures.forget();
                    self.burst_allowance = config.max_burst;
                }
            }
        }
    }

    /// Whether an arriving packet is dropped (sections 4.1 and 5.4; kernel: `drop_early`).
    pub(super) fn drops_early(&mut self, config: &PieConfig, backlog: ByteCount) -> bool {
        if !self.burst_allowance.is_zero()
            || (self.delay < config.target / 2 && self.drop_probability < 0.2)
            || backlog <= config.mean_packet * 2
        {
            return false;
        }
        if config.revision == PieRevision::Linux3_17 {
            return self.random.unit() < self.drop_probability;
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

    /// Notes a departing packet that leaves a backlog of `left` (section 5.2, or its time stamp; kernel: `pie_process_dequeue`).
    pub(super) fn on_departure(
        &mut self,
        config: &PieConfig,
        now: Instant,
        sojourn: Span,
        size: ByteCount,
        left: ByteCount,
    ) {
        self.last_sojourn = sojourn;
        if config.delay == DelayEstimate::DepartureRate
            && let Some(measured) = self.departures.note(config, now, size, left)
            && config.revision == PieRevision::Linux3_17
        {
            self.burst_allowance -= measured;
        }
    }
}

/// The number by which the steps of a probability are divided.
const fn divisor(revision: PieRevision, probability: f64) -> f64 {
    match (revision, probability) {
        (PieRevision::Linux3_17, p) if p < 0.01 => 8.0,
        (PieRevision::Rfc8033, p) if p < 0.000_001 => 2048.0,
        (PieRevision::Rfc8033, p) if p < 0.000_01 => 512.0,
        (PieRevision::Rfc8033, p) if p < 0.000_1 => 128.0,
        (PieRevision::Rfc8033, p) if p < 0.001 => 32.0,
        (PieRevision::Rfc8033, p) if p < 0.01 => 8.0,
        (_, p) if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::test_packet::at_micros;
    use super::*;

    const BACKLOG: ByteCount = ByteCount::new(100_000);

    fn state(delay: Span) -> Controller {
        let mut state = Controller::new(&PieConfig::default(), 3);
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
    fn linux_3_17_has_three_steps_and_rises_above_a_quarter_of_a_second() {
        let config = PieConfig::of(PieRevision::Linux3_17);
        for (probability, divisor) in [(5e-7, 8.0), (5e-3, 8.0), (5e-2, 2.0), (0.5, 1.0)] {
            let mut state = Controller::new(&config, 3);
            // 100 kB at 1500 B in 0.45 ms: 30 ms, of which the trend is as much as the delay.
            drain(&mut state, &config, 450);
            state.drop_probability = probability;
            state.update(&config, BACKLOG);
            let step = 0.125 * 0.010 + 1.25 * 0.030;
            let step = if probability >= 0.1 { 0.02 } else { step / divisor };
            assert!((state.drop_probability - probability - step).abs() < 1e-3, "{state:?}");
        }
        let mut state = Controller::new(&config, 3);
        // 300 ms: the trend is 0.375 / 8, the distance 0.035 / 8, and 0.02 more.
        drain(&mut state, &config, 4500);
        state.update(&config, BACKLOG);
        assert!((state.drop_probability - 0.071_25).abs() < 1e-3, "{state:?}");
    }

    #[test]
    fn linux_3_17_draws_each_packet_and_begins_anew_after_congestion() {
        let config = PieConfig::of(PieRevision::Linux3_17);
        let mut state = Controller::new(&config, 3);
        drain(&mut state, &config, 450);
        state.update(&config, BACKLOG);
        // 222 packets of 0.45 ms have used up 100 ms.
        assert!(state.burst_allowance.is_zero());
        state.drop_probability = 0.05;
        let dropped = (0..100_000).filter(|_| state.drops_early(&config, BACKLOG)).count();
        assert!((4700..5300).contains(&dropped), "{dropped}");
        state.drop_probability = 0.0;
        (0..2).for_each(|_| state.update(&config, ByteCount::new(1000)));
        assert!(!state.departures.measured());
        assert_eq!(state.burst_allowance, config.max_burst);
    }

    /// Notes 1000 packets of 1500 B, one in each `gap` (in us).
    fn drain(state: &mut Controller, config: &PieConfig, gap: u64) {
        for number in 0..1000 {
            let size = ByteCount::new(1500);
            state.on_departure(config, at_micros(number * gap), Span::ZERO, size, BACKLOG);
        }
    }
}

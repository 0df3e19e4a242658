//! Proportional integral controller enhanced (PIE, RFC 8033): drops arriving packets with a probability that follows
//! the delay and its trend.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::station_lists::{ArrivalOrder, Limits, StationLists};
use super::{Backlog, Queue, Readiness};
use crate::error::ConfigError;
use crate::payload::{DropReason, Dropped, Payload, StationId};

/// How the delay of the queue is found (RFC 8033, section 4.3 and 5.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DelayEstimate {
    /// From the time stamp of the packet that left last; Linux does so since 5.5.
    #[default]
    Timestamps,
    /// Backlog divided by the measured departure rate; Linux before 5.5, and today with `dq_rate_estimator`.
    DepartureRate,
}

/// Configuration of a [`Pie`] queue; RFC 8033, sections 4 and 5.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PieConfig {
    /// How much each category may hold (kernel `sch_pie`: 1000 packets).
    pub limit: Limits,
    /// Acceptable delay (`QDELAY_REF`): 15 ms. Above 0.
    pub target: Span,
    /// Time between two updates of the probability (`T_UPDATE`): 15 ms. 100 µs to 10 s.
    pub update: Span,
    /// How long a burst may be that is let through (`MAX_BURST`): 150 ms.
    pub max_burst: Span,
    /// Weight of the distance from the target (`alpha`): 0.125 per second, 0 to 1000.
    pub alpha: f64,
    /// Weight of the trend (`beta`): 1.25 per second, 0 to 1000.
    pub beta: f64,
    /// Nothing is dropped from a backlog of at most two packets of this size (`MEAN_PKTSIZE`): 1500 B.
    pub mean_packet: ByteCount,
    /// How the delay is found.
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

/// After so many updates of an idle queue nothing is left to decay: 0.98^1024 < 1e-8.
const MOST_UPDATES_AT_ONCE: u64 = 1024;

/// Bytes over which the departure rate is measured (`DQ_THRESHOLD`, section 5.2: 2^14).
const DEPARTURE_THRESHOLD: ByteCount = ByteCount::new(1 << 14);

/// The generator of Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (OOPSLA 2014), whose state
/// only counts: the seed that was handed in decides every draw.
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

/// A measurement of the departure rate under way.
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
    /// Delay that the packet that left last had.
    last_sojourn: Span,
    /// Delay now and at the update before, as of the last update.
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

    /// Makes the updates that were due until `now`. Between them the queue was not touched, so its backlog was the
    /// same.
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
            DelayEstimate::DepartureRate => self
                .byte_time
                .map_or(Span::ZERO, |byte_time| Span::from_nanos((backlog.as_u64() as f64 * byte_time) as u64)),
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
        // The congestion is over: the next burst is let through again (section 4.4).
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
        // Drops come neither in clusters nor too late.
        if self.accumulated < 0.85 {
            return false;
        }
        if self.accumulated >= 8.5 || self.random.unit() < self.drop_probability {
            self.accumulated = 0.0;
            return true;
        }
        false
    }

    /// A packet left (section 5.2, or its time stamp).
    fn on_departure(&mut self, now: Instant, sojourn: Span, size: ByteCount, left: ByteCount) {
        self.last_sojourn = sojourn;
        if self.measurement.is_none() && left + size >= DEPARTURE_THRESHOLD {
            self.measurement = Some(Measurement { began: now, left: ByteCount::ZERO });
        }
        let Some(measurement) = &mut self.measurement else { return };
        measurement.left += size;
        if measurement.left >= DEPARTURE_THRESHOLD {
            let took = now.since(measurement.began).as_nanos() as f64 / measurement.left.as_u64() as f64;
            // Packets that leave in one aggregate leave at one instant; the measurement goes on until time passed.
            if took > 0.0 {
                self.byte_time = Some(self.byte_time.map_or(took, |average| average * 0.75 + took * 0.25));
                self.measurement = (left >= DEPARTURE_THRESHOLD)
                    .then_some(Measurement { began: now, left: ByteCount::ZERO });
            }
        }
    }
}

/// A first-in-first-out queue for each category, with one PIE before it (kernel: `net/sched/sch_pie.c`).
///
/// Left out of RFC 8033: ECN, the switching on and off of section 5.3 and byte mode, all optional there.
#[derive(Debug, Clone)]
pub struct Pie<P> {
    config: PieConfig,
    lists: StationLists<P>,
    order: ArrivalOrder,
    states: [PieState; 4],
    /// The latest time that was seen.
    now: Instant,
}

impl<P: Payload> Pie<P> {
    /// An empty queue whose random drops are decided by `seed`.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: PieConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        config.limit.check()?;
        // Four streams: the seeds of splitmix64 need only differ.
        let states = [0, 1, 2, 3].map(|category| PieState::new(&config, seed ^ (category << 61)));
        Ok(Self {
            config,
            lists: StationLists::default(),
            order: ArrivalOrder::default(),
            states,
            now: Instant::ZERO,
        })
    }

    /// The probability with which a packet that arrives in `category` is dropped, 0 to 1.
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

impl<P: Payload> Queue<P> for Pie<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let (station, category) = (packet.station(), packet.category());
        self.catch_up(now, category);
        let waiting = self.lists.waiting(category);
        // A full queue drops whatever the dice say.
        if self.config.limit.refuses(waiting, packet.size()).is_none()
            && self.states[category.index()].drops_early(&self.config, waiting.bytes)
        {
            dropped.push(Dropped { packet, reason: DropReason::Congestion });
        } else if self.lists.push(now, packet, self.config.limit, dropped) {
            self.order.update(&mut self.lists, station, category);
        }
    }

    fn select(&mut self, _now: Instant, category: Category) -> Option<StationId> {
        self.order.select(&mut self.lists, category)
    }

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
        let sojourn = now.since(packet.enqueued());
        self.states[category.index()].on_departure(now, sojourn, packet.size(), left);
        Some(packet)
    }

    fn has_backlog(&self, category: Category) -> bool {
        self.lists.waiting(category).packets > 0
    }

    fn backlog(&self) -> Backlog {
        self.lists.backlog()
    }

    fn set_readiness(
        &mut self,
        _now: Instant,
        station: StationId,
        category: Category,
        readiness: Readiness,
    ) {
        self.lists.set_readiness(station, category, readiness);
        self.order.update(&mut self.lists, station, category);
    }
}

//! WQM, wireless queue management (Showail and Shihada, "Battling Latency in Modern Wireless Networks", 2018): a drop-tail queue whose
//! size follows rate, load and contention.
//!
//! ```text
//!   rate control ─ rate, longest aggregate ─▶ ┌──────────────────────┐
//!   channel ────── busy and own share ──────▶ │ T_drain = BL / R / F │ ─▶ two alarms ─▶ B
//!   queue ──────── backlog ─────────────────▶ └──────────────────────┘               │
//!   packets ──────────────────────▶ drop-tail queue of at most B packets ◀───────────┘
//! ```
//!
//! The *controller* ([`BufferSize`]) computes a number; the *mechanism* ([`Wqm`]) enforces it. Each access category has a buffer and a size
//! of its own, as Linux has a queueing discipline for each hardware queue; rates and channel load are common.

mod buffer_size;
mod clock;
mod config;
pub mod equations;

pub use buffer_size::{BufferSize, Observation, Update};
pub use config::{DropRule, Floor, FreeShare, LookAround, StepRule, WqmConfig};

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

pub(super) use self::clock::Clock;
use super::run::Dequeue;
use super::station_lists::{ArrivalOrder, Limits, StationLists};
use super::{Backlogs, Deadline, Fact, Queue, Sink, Turn};
use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, Payload, StationId};

/// The rate to a station, and the number of full-size MPDUs in an aggregate at it.
type StationRate = (BitRate, u16);

/// A first-in-first-out queue for each category, of the size set by [`BufferSize`].
///
/// The initial size follows from the rate of the first packet's station. A size below the backlog drops no waiting packet: arriving packets
/// are refused until there is room, as when Linux changes `txqueuelen`. An empty queue needs no updates: those of the elapsed intervals are
/// made when a packet arrives.
///
/// If the environment cannot supply a value: without rates the size does not change (B_max at the start); without busy time F keeps its
/// last value, 1 at the start; without own airtime F is the literal 1 - busy. Without [`Fact::ChannelLoad`], updates are made in the other
/// calls.
#[derive(Debug, Clone)]
pub struct Wqm<P> {
    config: WqmConfig,
    lists: StationLists<P>,
    order: ArrivalOrder,
    /// Frames that wait in each category: a super-packet counts as all of its own.
    frames: [usize; 4],
    sizes: [BufferSize; 4],
    /// Indexed by station.
    rates: Vec<Option<StationRate>>,
    free: Option<f64>,
    /// Whether the channel load is reported.
    load_reported: bool,
    clock: Clock,
}

impl<P: Payload> Wqm<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: WqmConfig) -> Result<Self, ConfigError> {
        let size = BufferSize::new(config)?;
        Ok(Self {
            config,
            lists: StationLists::default(),
            order: ArrivalOrder::default(),
            frames: [0; 4],
            sizes: std::array::from_fn(|_| size.clone()),
            rates: Vec::new(),
            free: None,
            load_reported: false,
            clock: Clock::new(config.interval, config.look_around),
        })
    }

    /// The controller of a category.
    #[must_use]
    pub const fn buffer_size(&self, category: Category) -> &BufferSize {
        &self.sizes[category.index()]
    }

    /// Whether another packet is too many. An empty buffer takes one of any size.
    fn is_full(&self, packet: &P) -> bool {
        let category = packet.category().index();
        let waiting = self.frames[category];
        waiting > 0 && waiting + frames_of(packet) > self.sizes[category].packets()
    }

    /// Takes note of a packet that left.
    fn forget(&mut self, packet: &P) {
        let waiting = &mut self.frames[packet.category().index()];
        *waiting = waiting.saturating_sub(frames_of(packet));
    }

    fn is_empty(&self) -> bool {
        self.lists.backlog().total().packets == 0
    }

    /// Makes the updates that are due by `now`.
    fn catch_up(&mut self, now: Instant) {
        let Some(due) = self.clock.due() else { return };
        if now < due {
            return;
        }
        if self.is_empty() {
            self.clock.pass_idle(now, &mut self.sizes);
        } else if !self.load_reported || now >= due + self.clock.interval() {
            self.update(now);
        }
    }

    /// Ends a measurement interval.
    fn update(&mut self, now: Instant) {
        let mut bloated = false;
        for (category, size) in Category::ALL.into_iter().zip(0..) {
            let seen = self.observe(category);
            let size: &mut BufferSize = &mut self.sizes[size];
            bloated |= size.on_interval(&seen).bloated;
        }
        self.clock.pass(now, bloated);
    }

    fn observe(&self, category: Category) -> Observation {
        let (mut known, mut time, mut subframes) = (ByteCount::ZERO, Span::ZERO, None);
        for (station, waiting) in self.lists.stations_waiting(category) {
            if let Some((rate, mpdus)) = self.rate_of(station) {
                known += waiting.bytes;
                time += rate.time_for(waiting.bytes);
                subframes = subframes.max(Some(mpdus));
            }
        }
        // The harmonic mean weighted by backlog: the total backlog over the sum of its transmission times.
        let rate = (known > ByteCount::ZERO).then(|| BitRate::of(known, time));
        Observation { backlog: self.lists.waiting(category).bytes, rate, free: self.free, subframes }
    }

    fn rate_of(&self, station: StationId) -> Option<StationRate> {
        self.rates.get(station.index()).copied().flatten()
    }

    fn free_share(&self, busy: Option<f64>, own: Option<f64>) -> Option<f64> {
        let share = |value: f64| (!value.is_nan()).then(|| value.clamp(0.0, 1.0));
        let (busy, own) = (busy.and_then(share)?, own.and_then(share).unwrap_or(0.0));
        Some(match self.config.free_share {
            FreeShare::Others => 1.0 - (busy - own).max(0.0),
            FreeShare::Literal => 1.0 - busy,
        })
    }
}

impl<P: Payload> Wqm<P> {
    /// The station to be served next.
    fn next_station(&mut self, now: Instant, category: Category) -> Option<StationId> {
        self.catch_up(now);
        self.order.select(&mut self.lists, category)
    }

    /// Notes a changed rate to a station.
    fn on_rate(&mut self, station: StationId, rate: BitRate, mpdus: u16) {
        let index = station.index();
        if index >= self.rates.len() {
            self.rates.resize(index + 1, None);
        }
        self.rates[index] = Some((rate, mpdus));
    }

    /// Notes the measured channel load.
    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.load_reported = true;
        self.free = self.free_share(busy, own).or(self.free);
        match self.clock.due() {
            Some(due) if now >= due && !self.is_empty() => self.update(now),
            _ => self.catch_up(now),
        }
    }
}

impl<P: Payload> Dequeue<P> for Wqm<P> {
    fn dequeue(
        &mut self,
        _now: Instant,
        station: StationId,
        category: Category,
        _dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        let packet = self.lists.pop(station, category)?;
        self.forget(&packet);
        Some(packet)
    }

    #[inline]
    fn next_size(&mut self, station: StationId, category: Category) -> Option<ByteCount> {
        self.lists.first_size(station, category)
    }
}

impl<P: Payload> Queue<P> for Wqm<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.catch_up(now);
        let (station, category) = (packet.station(), packet.category());
        self.clock.begin(now);
        if let Some((rate, subframes)) = self.rate_of(station) {
            self.sizes[category.index()].begin(rate, Some(subframes));
        }
        if self.is_full(&packet) {
            let selective = self.config.drop == DropRule::Selective;
            let other = selective.then(|| self.lists.take_from_longest_flow(category)).flatten();
            let reason = DropReason::QueueFull;
            let Some(other) = other else { return dropped.push(Dropped { packet, reason }) };
            self.forget(&other);
            dropped.push(Dropped { packet: other, reason });
        }
        let frames = frames_of(&packet);
        let (before, limits) = (dropped.len(), Limits { packets: usize::MAX, bytes: None });
        let is_first = self.lists.push(now, packet, limits, dropped);
        if dropped.len() == before {
            self.frames[category.index()] += frames;
        }
        if is_first {
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
        let before = out.len();
        self.lists.flush(station, out);
        for packet in &out[before..] {
            self.forget(packet);
        }
    }

    fn backlog(&self) -> &Backlogs {
        self.lists.backlog()
    }

    fn on(&mut self, now: Instant, fact: Fact<'_, P>) {
        match fact {
            Fact::Eligibility { station, category, eligibility } => {
                self.lists.set_eligibility(station, category, eligibility);
                self.order.update(&mut self.lists, station, category);
            }
            Fact::Rate { station, rate, mpdus } => self.on_rate(station, rate, mpdus),
            Fact::ChannelLoad { busy, own } => self.on_channel(now, busy, own),
            _ => {}
        }
    }

    fn deadline(&self) -> Deadline {
        let channel_load = self.clock.due().filter(|_| !self.is_empty());
        let patience = if self.load_reported { self.clock.interval() } else { Span::ZERO };
        Deadline { select: channel_load.map(|due| due + patience), channel_load }
    }
}

/// The frames that a packet is sent in.
fn frames_of<P: Payload>(packet: &P) -> usize {
    usize::from(packet.frames().max(1))
}

#[cfg(test)]
mod tests;

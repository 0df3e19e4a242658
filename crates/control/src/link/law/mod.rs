//! Law: one driver queue with a time limit, and rate and retries decided anew for each transmission
//! (Shen and Meng, *Law: Towards Consistent Low Latency in 802.11 Home Networks*, NSDI 2026).
//!
//! ```text
//!            ┌── driver queue: everything, at most Limit_q old ──┐      ┌ hardware: 2 PSDUs ┐
//!  enqueue ─▶│ order of the inner queue                          │─────▶│ Limit_h each       │──▶ air
//!            └───────────────────────────────────────────────────┘ plan └─────────┬──────────┘
//!                  too long: clean-up      rate, tries ▲                          │ report
//!                                                      └── averages, state ◀──────┤
//!                                       dropped ◀── too old, or no retry left ◀───┤
//!                                                        pushed again at once ◀───┘
//! ```
//!
//! The inner queue determines only the order. The PSDUs in the hardware, T_n, S_n, Len_max and the queue length are global; each
//! station has its own state, rate, counts, T_i and S_i, which only its own packets change.
//! **The bound.** No packet is delivered later than Limit_q + 2 Limit_h and one frame exchange after it entered the queue: a packet is
//! at most Limit_q old when it is pushed; the PSDU ahead of it is returned after Limit_h, and pushed again only while it is at most
//! Limit_q old; a PSDU on the air when its time is over is finished first. [`LawConfig::bound`] returns it. If the inner queue makes an
//! old packet wait behind a young one, the young one's retransmission has less time, or none.

mod assembly;
mod averages;
mod beside_classic;
mod classic;
mod config;
mod controller;
mod equations;
mod hardware;
mod inner_queue;
mod probe;
mod rate_set;
mod stations;
#[cfg(test)]
mod tests;
mod tx_status;
mod view;

pub use beside_classic::BesideClassic;
pub use classic::Classic;
pub use config::{
    CleanUpRate, Equality, FailedTime, FirstRate, LawConfig, LawRates, NeverSent, ProbeRetransmission,
    RateMin,
};
pub use controller::LawState;
pub use inner_queue::InnerQueue;
pub use view::{LawCounts, LawView};

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use self::averages::Averages;
use self::controller::{Controller, Transmission};
use self::hardware::Hardware;
use self::stations::{Station, Stations};
use super::airtime::AirtimeEstimate;
use super::transmit_state::{MOST_MPDUS, TransmitState};
use super::{Link, LinkConfig, Returned, Room};
use crate::error::ConfigError;
use crate::frame::{DropReason, Dropped, Payload, StationId};
use crate::frame::{TxDescriptor, TxReport};
use crate::queue::{Backlog, Deadline, Direction, Eligibility, Fact, Queue, Sink, Turn, Turns};
use crate::rate::{Capabilities, LinkStats};

/// Law as a link, over an inner queue that determines the order.
#[derive(Debug, Clone)]
pub struct Law<P, Q> {
    config: LawConfig,
    path: LinkConfig,
    queue: Q,
    stations: Stations<P>,
    state: TransmitState<P>,
    hardware: Hardware,
    /// T_n and S_n.
    all: Averages,
    /// Len_max (equation 1), computed from T_n and S_n.
    len_max: Option<f64>,
}

impl<P: Payload, Q: Queue<P>> Law<P, Q> {
    /// Creates Law over `queue` for stations with `capabilities`. `path` supplies the limits of aggregates, the overhead of a packet
    /// and the block-ack window (clamped to 1 to 256); retries and time limits are Law's own.
    ///
    /// # Errors
    /// A value of `config` or `capabilities` is out of range.
    pub fn new(
        config: LawConfig,
        mut path: LinkConfig,
        queue: Q,
        capabilities: &Capabilities,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        path.window = path.window.clamp(1, MOST_MPDUS);
        Ok(Self {
            stations: Stations::new(rate_set::rates(config.rate_set, capabilities)?),
            state: TransmitState::default(),
            len_max: config.first_len_max.map(f64::from),
            config,
            path,
            queue,
            hardware: Hardware::default(),
            all: Averages::default(),
        })
    }

    /// Sets the capabilities of `station` and resets what was learned about it.
    ///
    /// # Errors
    /// A value of `capabilities` is out of range.
    pub fn set_capabilities(
        &mut self,
        station: StationId,
        capabilities: &Capabilities,
    ) -> Result<(), ConfigError> {
        let rates = rate_set::rates(self.config.rate_set, capabilities)?;
        let controller = Controller::new(rates, &self.config);
        self.stations.of(station, &self.config).controller = controller;
        Ok(())
    }

    /// The configuration in force.
    pub const fn config(&self) -> &LawConfig {
        &self.config
    }

    /// The inner queue.
    pub const fn queue(&self) -> &Q {
        &self.queue
    }

    /// The inner queue, to set demands. Packets enter and leave through the link.
    pub const fn queue_mut(&mut self) -> &mut Q {
        &mut self.queue
    }

    /// View of a station; `None` if it is unknown.
    #[must_use]
    pub fn view(&self, station: StationId) -> Option<LawView> {
        let Station { controller, counts, .. } = self.stations.get(station)?;
        let place = controller.rate();
        let averages = controller.current_averages();
        Some(LawView {
            station,
            state: controller.state(),
            rate: controller.current_rate(),
            rate_index: u32::try_from(place)
                .unwrap_or(u32::MAX)
                .saturating_add(self.config.first_rate_index.into()),
            successes: controller.successes(),
            retransmissions: controller.retransmissions(),
            failed_probes: controller.failed_probes(),
            threshold: controller.threshold(&self.config),
            losses: controller.losses(),
            tx_time: averages.time(),
            success: averages.success(),
            len_max: self.len_max,
            in_driver: self.in_driver(),
            in_hardware: self.hardware.len(),
            counts: *counts,
        })
    }

    /// Views of all known stations, by number.
    pub fn views(&self) -> impl Iterator<Item = LawView> + '_ {
        (0..self.stations.len()).filter_map(|index| self.view(StationId(u16::try_from(index).ok()?)))
    }

    /// Adds a software transmission of any station to T_n and S_n.
    fn average(&mut self, end: &Transmission) {
        self.all.add(end.counted_time(&self.config), end.arrived, end.mpdus, self.config.weight_all);
        self.len_max = equations::len_max(self.config.limit_q, &self.all).or(self.len_max);
    }

    /// Packets in the driver.
    fn in_driver(&self) -> usize {
        self.backlog().packets
    }

    fn is_too_old(&self, now: Instant, packet: &P) -> bool {
        now.since(packet.enqueued()) > self.config.limit_q
    }

    /// Accounts for packets that the queue dropped, starting at index `from`.
    fn note_losses(&mut self, dropped: &[Dropped<P>], from: usize) {
        for Dropped { packet, .. } in dropped.iter().skip(from) {
            self.stations.of(packet.station(), &self.config).controller.on_lost(None, &self.config);
        }
    }

    /// Drops a packet in the driver that exceeds Limit_q (algorithm 1, lines 4 to 7).
    fn expire(&mut self, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let station = self.stations.of(packet.station(), &self.config);
        station.controller.on_too_old(&self.config);
        station.controller.on_lost(None, &self.config);
        station.counts.expired += 1;
        dropped.push(Dropped { packet, reason: DropReason::Expired });
    }

    /// Drops expired packets at the head of a category, if the queue knows the age of its next packet.
    fn expire_waiting(&mut self, now: Instant, category: Category, dropped: &mut Vec<Dropped<P>>) {
        while let Some(oldest) = self.queue.oldest(category)
            && now.since(oldest) > self.config.limit_q
            && let Some(turn) = self.queue.select(now, category)
        {
            match self.take(now, &turn, |_| true, dropped) {
                Some(packet) if self.is_too_old(now, &packet) => self.expire(packet, dropped),
                Some(packet) => {
                    // The queue did not return the packet that it had announced; this one goes first next time.
                    self.keep(now, packet);
                    break;
                }
                None => break,
            }
        }
    }

    /// The next packet of a station, of whatever age.
    fn take(
        &mut self,
        now: Instant,
        turn: &Turn,
        fits: impl FnOnce(Option<ByteCount>) -> bool,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        let &Turn { station, category, .. } = turn;
        if let Some(packet) = self.stations.of(station, &self.config).kept[category.index()].take() {
            self.state.kept.of_mut(category).remove(packet.size());
            self.update_eligibility(now, station, category);
            return Some(packet);
        }
        let before = dropped.len();
        let mut one = One { fits: Some(fits), packet: None };
        self.queue.dequeue_into(now, turn, &mut one, dropped);
        let packet = one.packet;
        self.note_losses(dropped, before);
        packet
    }

    /// Keeps a packet just returned by [`Law::take`] as the next of its station and category.
    fn keep(&mut self, now: Instant, packet: P) {
        let (station, category) = (packet.station(), packet.category());
        self.state.kept.of_mut(category).add(packet.size());
        self.stations.of(station, &self.config).kept[category.index()] = Some(packet);
        self.update_eligibility(now, station, category);
    }

    /// Reports the eligibility of a station to the queue.
    fn update_eligibility(&mut self, now: Instant, station: StationId, category: Category) {
        let window = self.path.window;
        let originator = self.state.originator(station, category);
        let eligibility = if originator.held || originator.fresh_room(window) == 0 {
            Eligibility::Blocked
        } else if let Some(kept) = &self.stations.of(station, &self.config).kept[category.index()] {
            Eligibility::Retries { since: kept.enqueued() }
        } else {
            Eligibility::Fresh
        };
        if let Some(fact) = self.state.changed_eligibility(station, category, eligibility) {
            self.queue.on(now, fact);
        }
    }

    /// Airtime estimates for a station.
    fn estimate(&mut self, station: StationId) -> AirtimeEstimate {
        self.state.estimate(station, || self.stations.of(station, &self.config).controller.current_rate())
    }

    /// Reports the expected rate and throughput of a station to the inner queue.
    fn report_rate(&mut self, now: Instant, station: StationId) {
        let current = self.stations.of(station, &self.config).controller.current_rate();
        let throughput = self.state.throughput(station, current);
        self.queue.on(now, Fact::Throughput { station, throughput });
        if let Some(rate) = self.state.changed_rate(station, current) {
            let mpdus = self.full_mpdus(current, self.state.reported_rate(station));
            self.queue.on(now, Fact::Rate { station, rate, mpdus });
        }
    }
}

/// Takes one packet from the inner queue without accounting, since it may yet prove expired or too large.
struct One<P, F> {
    /// Decides whether a packet of the given size, if known, may be taken.
    fits: Option<F>,
    packet: Option<P>,
}

impl<P, F: FnOnce(Option<ByteCount>) -> bool> Sink<P> for One<P, F> {
    fn has_room(&mut self, size: impl FnOnce() -> Option<ByteCount>) -> bool {
        self.fits.take().is_some_and(|fits| fits(size()))
    }

    fn put(&mut self, packet: P) -> Result<Option<Span>, P> {
        self.packet = Some(packet);
        Ok(None)
    }
}

impl<P: Payload, Q: Queue<P>> Link<P> for Law<P, Q> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let (station, category) = (packet.station(), packet.category());
        self.stations.of(station, &self.config);
        if self.config.check_when_enqueued {
            self.expire_waiting(now, category, dropped);
        }
        let before = dropped.len();
        self.queue.enqueue(now, packet, dropped);
        self.note_losses(dropped, before);
        let (waiting, len_max) = (self.in_driver(), self.len_max);
        self.stations.of(station, &self.config).controller.on_enqueued(waiting, len_max, &self.config);
    }

    fn next(&mut self, now: Instant, room: Room, dropped: &mut Vec<Dropped<P>>) -> Option<TxDescriptor<P>> {
        if self.hardware.len() >= usize::from(self.config.psdus_in_hardware) {
            return None;
        }
        // A single queue for all traffic: the station with the oldest packet goes first, if the queue knows it.
        if let Some(own) = self.queue.oldest(room.category)
            && Category::ALL.into_iter().any(|other| self.queue.oldest(other).is_some_and(|at| at < own))
        {
            return None;
        }
        let mut turns = Turns::among(self.stations.len());
        while let Some(turn) = turns.next(|| self.queue.select(now, room.category)) {
            let before = dropped.len();
            if let Some(descriptor) = self.form(now, &turn, room, dropped) {
                self.queue.on(now, Fact::Granted(&descriptor));
                return Some(descriptor);
            }
            turns.on_turn(dropped.len() > before);
        }
        None
    }

    fn on_report(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>) {
        self.take_back(now, report, returned);
    }

    fn on_received(&mut self, now: Instant, station: StationId, category: Category, airtime: Span) {
        self.queue.on(now, Fact::Airtime { station, category, airtime, direction: Direction::Received });
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        if let Some(rate) = stats.rate {
            let current = self.stations.of(station, &self.config).controller.current_rate();
            self.state.on_rate(station, current, rate);
        }
        if stats.rate.is_some() || !self.state.has_reported_rate(station) {
            self.report_rate(now, station);
        }
    }

    fn has_backlog(&self, category: Category) -> bool {
        self.state.kept.has(category) || self.queue.backlog().has(category)
    }

    fn backlog(&self) -> Backlog {
        Backlog::sum([self.queue.backlog().total(), self.state.kept.total()])
    }

    fn hold(&mut self, now: Instant, station: StationId, held: bool) {
        for category in Category::ALL {
            self.state.originator(station, category).held = held;
            self.update_eligibility(now, station, category);
        }
    }

    fn window_start(&self, station: StationId, category: Category) -> u64 {
        self.state.window_start(station, category)
    }

    fn limits_all_categories(&self) -> bool {
        true
    }

    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.queue.on(now, Fact::ChannelLoad { busy, own });
    }

    fn deadline(&self) -> Deadline {
        self.queue.deadline()
    }
}

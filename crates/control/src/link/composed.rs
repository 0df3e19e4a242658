//! A link composed of a queue and a rate control, like mac80211 and its drivers.

mod forming;

use std::ops::ControlFlow;

use airbound_units::{ByteCount, ConfigError, Instant, Span};
use airbound_wifi::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Format;
use serde::Serialize;

use super::airtime::AirtimeEstimate;
use super::config::{LinkConfig, TimeLimits};
use super::transmit_state::{MOST_MPDUS, TransmitState};
use super::{Hold, Link, Returned, Room};
use crate::frame::RateChain;
use crate::frame::{DropReason, Dropped, Payload, StationId};
use crate::frame::{Mpdu, TxDescriptor, TxReport};
use crate::queue::{
    AnyQueue, Arrivals, Backlog, Deadline, Direction, Eligibility, Fact, Fifo, FifoConfig, Limits, Portion,
    Queue, RoundRobin, RoundRobinConfig, Sink, Turns, take_all,
};
use crate::rate::{LinkStats, RateControl, RateReport};

/// A queue below the scheme's own, in a driver or firmware, whose order the scheme cannot change.
#[derive(Debug, Clone)]
pub struct LowerQueue<L> {
    /// The queue and its order of stations. It should not change the time stamps of packets ([`crate::queue::Fifo::below`]): they
    /// belong to the scheme's queue.
    pub queue: L,
    /// Upper limit on packets in each category, including those in the hardware and those to be retransmitted.
    pub depth: usize,
}

/// The order in which a driver's queue serves stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverOrder {
    /// First come, first served.
    OldestFirst,
    /// One aggregate for each station in turn.
    RoundRobin,
}

impl<P: Payload> LowerQueue<AnyQueue<P>> {
    /// A driver's queue; `None` for a depth of 0.
    ///
    /// # Errors
    /// [`ConfigError`] if a queue refuses the limit, which none does.
    pub fn in_order(order: DriverOrder, depth: usize) -> Result<Option<Self>, ConfigError> {
        // The depth limits it.
        let limit = Limits { packets: 1_000_000, bytes: None };
        let queue = match order {
            _ if depth == 0 => return Ok(None),
            DriverOrder::OldestFirst => {
                AnyQueue::Fifo(Fifo::new(FifoConfig { limit, ..FifoConfig::default() })?.below())
            }
            DriverOrder::RoundRobin => {
                AnyQueue::RoundRobin(RoundRobin::new(RoundRobinConfig { limit })?.below())
            }
        };
        Ok(Some(Self { queue, depth }))
    }
}

/// A queue, optionally with a driver's queue below it, and a rate control.
#[derive(Debug, Clone)]
pub struct Composed<P, Q, L, R> {
    upper: Q,
    lower: Option<LowerQueue<L>>,
    /// Packets below the scheme's queue, by category: in the lower queue, in the hardware, or kept.
    lowered: [usize; 4],
    rate: R,
    config: LinkConfig,
    state: TransmitState<P>,
    /// When the host will have completed the frames reported; `None` from then on.
    completed: Option<Instant>,
    dropped_below: Vec<Dropped<P>>,
}

/// Packets of one turn that move from the scheme's queue to the driver's.
struct Lowered<'a, P, L> {
    now: Instant,
    limits: TimeLimits,
    /// Airtime estimate, if the queue accounts for packets below it.
    estimate: Option<AirtimeEstimate>,
    lower: &'a mut L,
    dropped: &'a mut Vec<Dropped<P>>,
    /// Packets moved, and the most that may be.
    moved: usize,
    most: usize,
    /// Bytes and airtime of further packets.
    bytes: ByteCount,
    airtime: Span,
}

impl<P: Payload, L: Queue<P>> Sink<P> for Lowered<'_, P, L> {
    fn has_room(&mut self, _size: impl FnOnce() -> Option<ByteCount>) -> bool {
        self.moved == 0 || self.moved < self.most && self.bytes > ByteCount::ZERO && self.airtime > Span::ZERO
    }

    fn put(&mut self, mut packet: P) -> Result<Option<Span>, P> {
        if self.limits.outlived_in_queue(self.now, packet.enqueued()) {
            return Err(packet);
        }
        let estimate = self.estimate.map(|estimate| estimate.of(packet.size(), packet.category()));
        if let Some(estimate) = estimate {
            packet.set_airtime_estimate(estimate);
            self.airtime -= estimate;
        }
        self.moved += 1;
        self.bytes -= packet.size();
        self.lower.enqueue(self.now, packet, self.dropped);
        Ok(estimate)
    }
}

/// Packets that arrive, whose stations are added to those known.
struct Known<'a, P, A> {
    arrivals: &'a mut A,
    state: &'a mut TransmitState<P>,
}

impl<P: Payload, A: Arrivals<P>> Arrivals<P> for Known<'_, P, A> {
    #[inline(always)]
    fn hand_over(&mut self, mut take: impl FnMut(Instant, P) -> ControlFlow<()>) {
        let Self { arrivals, state } = self;
        arrivals.hand_over(|now, packet| {
            state.add(packet.station());
            take(now, packet)
        });
    }

    #[inline(always)]
    fn next_equal(&self) -> Option<P> {
        self.arrivals.next_equal()
    }

    #[inline(always)]
    fn hand_over_equal(
        &mut self,
        most: usize,
        taker: &mut impl Extend<(Instant, P)>,
    ) -> Option<(usize, Instant)> {
        if let Some(packet) = self.next_equal() {
            self.state.add(packet.station());
        }
        self.arrivals.hand_over_equal(most, taker)
    }
}

impl<P: Payload, Q: Queue<P>, L: Queue<P>, R: RateControl> Composed<P, Q, L, R> {
    /// Creates a link from its parts. A window outside of 1 to 256 is clamped.
    #[must_use]
    pub fn new(mut upper: Q, lower: Option<LowerQueue<L>>, rate: R, mut config: LinkConfig) -> Self {
        if lower.is_some() {
            upper.on(Instant::ZERO, Fact::LowerQueue { bounded: false });
        }
        config.window = config.window.clamp(1, MOST_MPDUS);
        if !config.forms_ppdus {
            config.max_grants = 1;
        }
        Self {
            upper,
            lower,
            lowered: [0; 4],
            rate,
            config,
            state: TransmitState::default(),
            completed: None,
            dropped_below: Vec::new(),
        }
    }

    /// The scheme's queue.
    pub const fn queue(&self) -> &Q {
        &self.upper
    }

    /// The scheme's queue, to set demands. Packets enter and leave through the link.
    pub const fn queue_mut(&mut self) -> &mut Q {
        &mut self.upper
    }

    /// The rate control.
    pub const fn rate_control(&self) -> &R {
        &self.rate
    }

    /// The rate control, to report facts that no transmit report contains.
    pub const fn rate_control_mut(&mut self) -> &mut R {
        &mut self.rate
    }

    /// Returns an empty list for the descriptor of a report; reuses an emptied one if there is one.
    pub fn take_spare(&mut self) -> Vec<Mpdu<P>> {
        self.state.take_spare()
    }

    /// Takes back the emptied list of a descriptor for reuse.
    pub fn give_spare(&mut self, mpdus: Vec<Mpdu<P>>) {
        self.state.give_spare(mpdus);
    }

    /// Estimates of airtime to a station.
    pub fn estimate(&mut self, station: StationId) -> AirtimeEstimate {
        self.state.estimate(station, || self.rate.expected_rate(station))
    }

    /// Moves packets down while the driver accepts them, as a driver does on `wake_tx_queue`.
    #[inline]
    fn refill(&mut self, now: Instant, category: Category, dropped: &mut Vec<Dropped<P>>) {
        // Whether or not there is room: a deadline that has passed must not be named again.
        self.completed = self.completed.filter(|at| now < *at);
        if let (Some(lower), None) = (&self.lower, self.completed) {
            self.refill_to(lower.depth, now, category, dropped);
        }
    }

    fn refill_to(&mut self, depth: usize, now: Instant, category: Category, dropped: &mut Vec<Dropped<P>>) {
        if self.lowered[category.index()] >= depth {
            return;
        }
        self.upper.on(now, Fact::Round(category));
        let mut turns = Turns::among(self.state.len());
        while self.lowered[category.index()] < depth
            && let Some(turn) = turns.next(|| self.upper.select(now, category))
        {
            let before = dropped.len();
            let estimate = turn.counts_airtime.then(|| self.estimate(turn.station));
            let Some(lower) = &mut self.lower else { return };
            let limits = &self.config.ampdu;
            let (bytes, airtime) = (limits.max_bytes, limits.max_duration.min(turn.bound.duration));
            let mpdus = self.config.max_mpdus(category).min(u32::from(turn.bound.mpdus));
            let (most, bytes, airtime) = match turn.portion {
                Portion::Packet => (1, bytes, airtime),
                Portion::Aggregate => (mpdus as usize, bytes, airtime),
                Portion::All => (usize::MAX, ByteCount::MAX, Span::MAX),
            };
            let mut sink = Lowered {
                now,
                limits: self.config.limits,
                estimate,
                lower: &mut lower.queue,
                dropped: &mut self.dropped_below,
                moved: 0,
                most: most.min(depth - self.lowered[category.index()]),
                bytes,
                airtime,
            };
            self.upper.dequeue_into(now, &turn, &mut sink, dropped);
            let moved = sink.moved;
            if moved == 0 {
                turns.on_turn(dropped.len() > before);
                continue;
            }
            self.lowered[category.index()] += moved;
            self.settle_dropped_below(now, dropped);
        }
    }

    /// A driver's queue refuses nothing below its depth; a scheme used as one may drop packets, which are settled here.
    fn settle_dropped_below(&mut self, now: Instant, dropped: &mut Vec<Dropped<P>>) {
        if self.dropped_below.is_empty() {
            return;
        }
        let mut below = std::mem::take(&mut self.dropped_below);
        for Dropped { packet, .. } in &below {
            self.settle(now, packet);
        }
        dropped.append(&mut below);
        self.dropped_below = below;
    }

    /// Reports the eligibility of a station to the queue that serves the hardware.
    fn update_eligibility(&mut self, now: Instant, station: StationId, category: Category) {
        let window = self.config.reach(category);
        let originator = self.state.originator(station, category);
        let eligibility = if originator.held {
            Eligibility::Blocked
        } else if let Some(first) = originator.first_retry() {
            Eligibility::Retries { since: first.packet.enqueued() }
        } else if originator.fresh_room(window) == 0 {
            Eligibility::Blocked
        } else {
            Eligibility::Fresh
        };
        let changed = self.state.changed_eligibility(station, category, eligibility);
        if let Some(fact) = changed {
            Self::tell_serving(&mut self.upper, self.lower.as_mut(), now, fact);
        }
    }

    /// Passes a fact to the queue that serves the hardware.
    fn tell_serving(upper: &mut Q, lower: Option<&mut LowerQueue<L>>, now: Instant, fact: Fact<'_, P>) {
        match lower {
            Some(lower) => lower.queue.on(now, fact),
            None => upper.on(now, fact),
        }
    }

    /// Settles a packet that left the layers below the scheme's queue for good.
    #[inline]
    fn settle(&mut self, now: Instant, packet: &P) {
        let lowered = &mut self.lowered[packet.category().index()];
        *lowered = lowered.saturating_sub(1);
        self.upper.on(now, Fact::Dropped(packet));
    }

    /// Reports the expected throughput of a station to the queue: that of the rate control, or the one that follows from airtime
    /// estimates. Repeated for every change, since the queue may compare stations.
    fn report_throughput(&mut self, now: Instant, station: StationId) {
        let expected = self.rate.expected_rate(station);
        let reported = self.state.reported_rate(station);
        let throughput = match self.rate.expected_throughput(station).filter(|_| reported.is_none()) {
            Some(throughput) => throughput,
            None => self.state.throughput(station, expected),
        };
        self.upper.on(now, Fact::Throughput { station, throughput });
        if let Some(rate) = self.state.changed_rate(station, expected) {
            let chain = RateChain::single(expected, 1);
            let longest = self.state.rates.max_psdu(&chain, self.config.ampdu.max_duration, reported);
            let mpdus = self.config.most_full_mpdus(longest);
            let mpdus = if expected.format() == Format::Legacy { 1 } else { mpdus };
            self.upper.on(now, Fact::Rate { station, rate, mpdus });
        }
    }

    /// The reason to give up a returned MPDU; `None` if it is retransmitted.
    fn gives_up(&self, now: Instant, mpdu: &Mpdu<P>) -> Option<DropReason> {
        let config = &self.config;
        let tries_are_up = config.max_tries.is_some_and(|most| mpdu.transmissions >= most);
        if mpdu.retries >= config.max_grants || tries_are_up {
            return Some(DropReason::RetryLimit);
        }
        let enqueued = mpdu.packet.enqueued();
        let is_late = config.limits.outlived_below(now, mpdu, enqueued) || self.outlives(now, &mpdu.packet);
        is_late.then_some(DropReason::Expired)
    }

    /// Whether a packet is older than the queue lets it become.
    fn outlives(&self, now: Instant, packet: &P) -> bool {
        self.upper.lifetime(packet).is_some_and(|lifetime| now - packet.enqueued() > lifetime)
    }
}

impl<P: Payload, Q: Queue<P>, L: Queue<P>, R: RateControl> Hold for Composed<P, Q, L, R> {
    fn hold(&mut self, now: Instant, station: StationId, held: bool) {
        for category in Category::ALL {
            self.state.originator(station, category).held = held;
            self.update_eligibility(now, station, category);
            if self.lower.is_some() {
                // The queue below holds what it has; nothing follows it there.
                let eligibility = if held { Eligibility::Blocked } else { Eligibility::Fresh };
                self.upper.on(now, Fact::Eligibility { station, category, eligibility });
            }
        }
    }
}

impl<P: Payload, Q: Queue<P>, L: Queue<P>, R: RateControl> Link<P> for Composed<P, Q, L, R> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let category = packet.category();
        self.state.add(packet.station());
        self.upper.enqueue(now, packet, dropped);
        self.refill(now, category, dropped);
    }

    #[inline]
    fn enqueue_all(
        &mut self,
        arrivals: &mut impl Arrivals<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Instant> {
        if self.lower.is_some() {
            return take_all(arrivals, dropped, |now, packet, dropped| self.enqueue(now, packet, dropped));
        }
        self.upper.enqueue_all(&mut Known { arrivals, state: &mut self.state }, dropped)
    }

    fn next(&mut self, now: Instant, room: Room, dropped: &mut Vec<Dropped<P>>) -> Option<TxDescriptor<P>> {
        self.refill(now, room.category, dropped);
        let mut turns = Turns::among(self.state.len());
        while let Some(turn) = turns.next(|| match &mut self.lower {
            Some(lower) => lower.queue.select(now, room.category),
            None => self.upper.select(now, room.category),
        }) {
            let before = dropped.len();
            if let Some(descriptor) = self.form(now, &turn, room, dropped) {
                self.upper.on(now, Fact::Granted(&descriptor));
                self.refill(now, room.category, dropped);
                return Some(descriptor);
            }
            turns.on_turn(dropped.len() > before);
        }
        None
    }

    fn on_report(&mut self, now: Instant, report: TxReport<P>, returned: &mut Returned<P>) {
        self.upper.on(now, Fact::Reported(&report));
        let TxReport { descriptor, used, acknowledged, airtime, handed, ended, .. } = report;
        let (station, category) = (descriptor.station, descriptor.category);
        if !self.config.forms_ahead {
            let fact = Fact::TurnEnded { station, category };
            Self::tell_serving(&mut self.upper, self.lower.as_mut(), now, fact);
        }
        if self.lower.is_some() && !self.config.completion.is_zero() {
            let begins = self.completed.map_or(now, |at| at.max(now));
            self.completed = Some(begins + self.config.completion * descriptor.mpdus.len() as u64);
        }
        let mut mpdus = descriptor.mpdus;
        let count = u16::try_from(mpdus.len()).unwrap_or(u16::MAX);
        // A descriptor that never reached the air says nothing about a rate.
        if !used.steps().is_empty() {
            let acknowledged = acknowledged.count().min(count);
            self.rate.on_report(now, station, &RateReport { used, mpdus: count, acknowledged });
        }
        if let Some(first) = mpdus.first().filter(|_| self.config.forms_ppdus) {
            self.state.originator(station, category).returned(first.sequence);
        }
        let (mut place, handed_back) = (0.., mpdus.len());
        if acknowledged == AckBitmap::first(handed_back) {
            mpdus.clear();
        } else {
            mpdus.retain(|_| place.next().is_some_and(|place| !acknowledged.get(place)));
        }
        let arrived = handed_back - mpdus.len();
        for mut mpdu in mpdus.drain(..) {
            mpdu.on_returned(used.total_tries(), ended - handed, arrived == 0);
            if let Some(reason) = self.gives_up(now, &mpdu) {
                self.settle(now, &mpdu.packet);
                self.state.originator(station, category).give_up(mpdu.sequence);
                returned.dropped.push((mpdu, reason));
            } else {
                self.state.kept.of_mut(category).add(mpdu.packet.size());
                self.state.originator(station, category).keep(mpdu);
            }
        }
        self.lowered[category.index()] = self.lowered[category.index()].saturating_sub(arrived);
        self.state.give_spare(mpdus);
        if let Some(airtime) = airtime {
            self.upper.on(now, Fact::Airtime { station, category, airtime, direction: Direction::Sent });
        }
        if self.config.forms_ppdus {
            self.state.report_window(station, category, returned);
            self.report_throughput(now, station);
            self.update_eligibility(now, station, category);
        }
    }

    fn on_received(&mut self, now: Instant, station: StationId, category: Category, airtime: Span) {
        self.upper.on(now, Fact::Airtime { station, category, airtime, direction: Direction::Received });
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        self.rate.on_link_stats(now, station, stats);
        if let Some(rate) = stats.rate {
            self.state.on_rate(station, self.rate.expected_rate(station), rate);
        }
        if stats.rate.is_some() || !self.state.has_reported_rate(station) {
            self.report_throughput(now, station);
        }
    }

    fn window_start(&self, station: StationId, category: Category) -> u64 {
        self.state.window_start(station, category)
    }

    fn has_backlog(&self, category: Category) -> bool {
        self.state.kept.has(category)
            || self.lower.as_ref().is_some_and(|lower| lower.queue.backlog().has(category))
            || self.upper.backlog().has(category)
    }

    fn backlog(&self) -> Backlog {
        let lower = self.lower.as_ref().map(|lower| lower.queue.backlog().total());
        Backlog::sum(lower.into_iter().chain([self.upper.backlog().total(), self.state.kept.total()]))
    }

    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.upper.on(now, Fact::ChannelLoad { busy, own });
    }

    fn deadline(&self) -> Deadline {
        let lower = self.lower.as_ref().and_then(|lower| lower.queue.deadline().select);
        let below = lower.into_iter().chain(self.completed).chain(self.rate.next_deadline()).min();
        self.upper.deadline().min(Deadline { select: below, channel_load: None })
    }
}

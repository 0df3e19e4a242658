//! The scheduler: two-level priority queueing on top of [`FqCodelAirtime`] (Sec. IV, "Two-level Priority Queueing" and
//! "Latency-aware Scheduler").

use std::collections::BTreeMap;

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::super::fq_codel::FlowQueue;
use super::super::run::Dequeue;
use super::super::{
    AggregateBound, Backlog, Backlogs, Demands, Fact, FqCodelAirtime, Portion, Protection, Queue, Sink, Turn,
};
use super::auto::{AutoProtection, Protect};
use super::config::LastPqConfig;
use super::controller::DelayController;
use super::demand::Demand;
use super::drain::{Drain, RecentRates};
use super::prioritised::Prioritised;
use crate::error::ConfigError;
use crate::frame::{Dropped, FlowId, Payload, StationId};
use crate::frame::{TxDescriptor, TxReport};
use crate::queue::Eligibility;

/// Counts of a flow with a demand.
#[derive(Debug, Clone, Default)]
struct Served {
    /// Packets that left the queue.
    packets: u64,
    urgent: u64,
    /// Flow queues of the flow, normally one.
    queues: Vec<FlowQueue>,
}

/// LAST-PQ: prioritised flows keep their place in the order of [`FqCodelAirtime`], and precede it while they are urgent.
///
/// A flow is prioritised while it has a demand ([`Demands::set`]); without any demand the queue is equivalent to [`FqCodelAirtime`]. When a
/// station is selected, each prioritised flow queue of the category is judged: it is urgent if the waiting time of its oldest packet plus
/// the expected time until the hardware sends a frame handed down now exceeds the permitted latency. A packet waiting for retransmission
/// counts as waiting. [`super::Choice`] picks one of the urgent stations, then one of its urgent flows; the tag holds for the whole
/// aggregate, which contains only urgent packets unless [`LastPqConfig::fill`] permits others.
///
/// Urgent packets are charged like all others, to the flow's deficit and to the station's: a flow that uses more than a fair share
/// accumulates debt, and gets no service in the default order until the others have caught up ([`LastPqConfig::most_debt`] bounds the debt
/// of a station). Beyond the queue's limits prioritised flows lose packets last. Removing a demand clears the flow's deficit; otherwise the flow would starve as long as it had been protected. CoDel
/// applies to prioritised flows as to all others. A blocked station, or one over its airtime queue limit, is never urgent.
///
/// While a prioritised flow is active, aggregates of other stations are kept short in every category, since all share the air: see
/// [`LastPqConfig::aggregate_share`]. A station whose waiting packets all belong to prioritised flows is exempt. Above another queue, less
/// than one such aggregate may lie there when the next is handed down ([`LastPqConfig::bound_below`]).
#[derive(Debug, Clone)]
pub struct LastPq<P> {
    config: LastPqConfig,
    default: FqCodelAirtime<P>,
    controller: DelayController,
    /// `None` if only flows with a configured demand are protected.
    auto: Option<AutoProtection>,
    /// The priority lists by category, in the order of joining.
    lists: [Vec<Prioritised>; 4],
    drains: [Drain; 4],
    rates: RecentRates,
    /// Whether another queue lies between this one and the hardware, whether this queue bounds what that one holds, and the airtime
    /// handed down and not yet returned.
    has_lower: bool,
    bounds_lower: bool,
    below: [Span; 4],
    /// The station selected for its urgent flows, if any, by category.
    turns: [Option<StationId>; 4],
    /// Further packets that its aggregate may still include.
    fill_left: [u16; 4],
    served: BTreeMap<FlowId, Served>,
    /// Latest time observed.
    now: Instant,
}

impl<P: Payload> LastPq<P> {
    /// Creates an empty queue without demands.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: LastPqConfig) -> Result<Self, ConfigError> {
        config.check()?;
        let drain = Drain::new(config.drain);
        Ok(Self {
            default: FqCodelAirtime::new(config.linux)?,
            controller: DelayController::new(config.delay)?,
            auto: match config.protect {
                Protect::Named => None,
                Protect::Auto => Some(AutoProtection::new(config.auto)?),
            },
            lists: Default::default(),
            drains: [drain.clone(), drain.clone(), drain.clone(), drain],
            rates: RecentRates::default(),
            has_lower: false,
            bounds_lower: false,
            below: [Span::ZERO; 4],
            turns: [None; 4],
            fill_left: [0; 4],
            served: BTreeMap::new(),
            now: Instant::ZERO,
            config,
        })
    }

    /// The backlog of a station's flows without a demand.
    pub(in crate::queue) fn classic_of(&self, station: StationId, category: Category) -> Backlog {
        let all = self.default.backlog_of(station, category);
        let queues = self.lists[category.index()].iter().map(|known| &known.queue);
        let own = queues.filter(|queue| queue.station == station);
        own.fold(all, |all, queue| self.default.backlog_without(all, queue))
    }

    /// Drops from the longest flows without a demand of a station until `most` packets of such flows are left.
    pub(in crate::queue) fn shed(
        &mut self,
        station: StationId,
        category: Category,
        most: usize,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        if self.default.backlog_of(station, category).packets <= most {
            return;
        }
        let left = self.classic_of(station, category).packets;
        let controller = &self.controller;
        let spared = |packet: &P| controller.demand(packet.flow()).is_some();
        for _ in most..left {
            self.default.drop_from(station, category, spared, dropped);
        }
    }

    /// Makes the controller close the windows that have ended.
    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        let (lists, default) = (&self.lists, &self.default);
        self.controller.advance(self.now, |flow| {
            let queues = lists.iter().flatten().filter(|prioritised| prioritised.queue.flow == flow);
            queues
                .filter_map(|prioritised| {
                    let returned = Some(prioritised.returned_since).filter(|_| prioritised.returned > 0);
                    default.oldest_of(&prioritised.queue).into_iter().chain(returned).min()
                })
                .min()
        });
    }

    /// Passes a packet to the classifier, and updates automatic demands accordingly.
    fn classify(&mut self, now: Instant, packet: &P) {
        let Some(auto) = &mut self.auto else { return };
        let demand = auto.demand();
        let flow = packet.flow();
        let silent = auto.next_silent(now);
        let is_named = self.controller.demand(flow).is_some();
        let change = auto.on_packet(now, flow, packet.size(), is_named);
        let changes = [silent.map(|flow| (flow, None)), change.map(|set| (flow, set.then_some(demand)))];
        for (flow, demand) in changes.into_iter().flatten() {
            let accepted = self.change_demand(now, flow, demand);
            debug_assert!(accepted.is_ok(), "checked with the configuration: {accepted:?}");
        }
    }

    /// Judges the prioritised flows of a category; returns the station to be served first if one is urgent.
    fn most_urgent(&mut self, category: Category) -> Option<StationId> {
        let (now, choice, default) = (self.now, self.config.choice, &self.default);
        let below = self.has_lower.then_some(self.below[category.index()]);
        let below = self.drains[category.index()].expected(below);
        let list = &mut self.lists[category.index()];
        list.retain_mut(|prioritised| {
            let eligibility = default.servable(prioritised.queue.station, category);
            if !matches!(eligibility, Some(Eligibility::Retries { .. })) {
                // All returned packets have been given up since.
                prioritised.forget_returned();
            }
            prioritised.judge(now, default.oldest_of(&prioritised.queue), below)
        });
        list.iter()
            .filter(|prioritised| prioritised.is_urgent())
            .filter(|prioritised| default.servable(prioritised.queue.station, category).is_some())
            .min_by_key(|prioritised| {
                prioritised.rank(choice, default.airtime_deficit(prioritised.queue.station, category))
            })
            .map(|prioritised| prioritised.queue.station)
    }

    /// Takes the next packet of a station's urgent flows.
    fn dequeue_urgent(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        let (choice, default) = (self.config.choice, &mut self.default);
        loop {
            let first = self.lists[category.index()]
                .iter_mut()
                .filter(|prioritised| prioritised.queue.station == station && prioritised.is_urgent())
                .filter(|prioritised| default.packets_of(&prioritised.queue) > 0)
                .min_by_key(|prioritised| prioritised.rank(choice, default.byte_deficit(&prioritised.queue)));
            let first = first?;
            if let Some(packet) = default.dequeue_of(now, &first.queue, dropped) {
                return Some(packet);
            }
            // CoDel dropped all its packets, or the limit admits none.
            first.untag();
        }
    }

    /// Sets, changes or removes a demand, configured or automatic.
    fn change_demand(
        &mut self,
        now: Instant,
        flow: FlowId,
        demand: Option<Demand>,
    ) -> Result<(), ConfigError> {
        self.advance(now);
        self.controller.set_demand(now, flow, demand)?;
        if demand.is_some() {
            self.served.entry(flow).or_default();
        } else {
            for list in &mut self.lists {
                list.retain(|prioritised| prioritised.queue.flow != flow);
            }
            for queue in self.served.remove(&flow).unwrap_or_default().queues {
                self.default.forgive_flow(&queue);
                let others = self.served.values().flat_map(|served| &served.queues);
                let same =
                    |other: &FlowQueue| (other.station, other.category) == (queue.station, queue.category);
                if !others.into_iter().any(same) {
                    self.default.forgive_station(queue.station, queue.category, Span::ZERO);
                }
            }
        }
        Ok(())
    }

    /// The entry of a flow queue in the priority list, created with `mark` if there is none.
    fn prioritise(&mut self, queue: FlowQueue, mark: super::Mark) -> &mut Prioritised {
        let list = &mut self.lists[queue.category.index()];
        let place = list.iter().position(|known| known.queue == queue).unwrap_or_else(|| {
            list.push(Prioritised::new(queue, mark));
            let queues = &mut self.served.entry(queue.flow).or_default().queues;
            if !queues.contains(&queue) {
                queues.push(queue);
            }
            list.len() - 1
        });
        &mut list[place]
    }
}

impl<P: Payload> LastPq<P> {
    /// The station to be served next.
    fn next_station(&mut self, now: Instant, category: Category) -> Option<StationId> {
        self.turns[category.index()] = None;
        if !self.lists[category.index()].is_empty() {
            self.advance(now);
            let station = self.most_urgent(category);
            if station.is_some() {
                self.turns[category.index()] = station;
                self.fill_left[category.index()] = self.config.fill;
                return station;
            }
        }
        self.default.next_station(now, category)
    }

    /// The bound on the next aggregate of a station, as set in its [`Turn`].
    pub fn aggregate_bound(&self, now: Instant, station: StationId, category: Category) -> AggregateBound {
        let Some(permitted) = self.controller.tightest(self.now.max(now)) else {
            return AggregateBound::NONE;
        };
        let list = &self.lists[category.index()];
        let mut own =
            list.iter().map(|known| &known.queue).filter(|queue| queue.station == station).peekable();
        let is_urgent = self.turns[category.index()] == Some(station);
        if is_urgent || (own.peek().is_some() && self.default.holds_only(station, category, own)) {
            return AggregateBound::NONE;
        }
        self.short_aggregate(permitted)
    }

    /// The bound on aggregates of other stations while a protected flow may queue for `permitted`.
    fn short_aggregate(&self, permitted: Span) -> AggregateBound {
        let duration = permitted.mul_f64(self.config.aggregate_share).max(self.config.least_aggregate);
        AggregateBound { duration, ..AggregateBound::NONE }
    }

    /// Whether airtime below the queue is accounted for.
    pub(in crate::queue) const fn counts_below(&self) -> bool {
        self.has_lower || self.default.counts_below()
    }

    fn on_granted(&mut self, descriptor: &TxDescriptor<P>) {
        let category = descriptor.category.index();
        let rate = self.rates.of(descriptor.station).unwrap_or(descriptor.chain.first_rate());
        self.drains[category].on_granted(descriptor, rate);
        if self.lists[category].is_empty() {
            return;
        }
        for mpdu in descriptor.mpdus.iter().filter(|mpdu| mpdu.retries > 0) {
            let queue = FlowQueue::of(&mpdu.packet);
            if let Some(known) = self.lists[category].iter_mut().find(|known| known.queue == queue) {
                known.on_sent_again();
            }
        }
    }

    fn on_report(&mut self, now: Instant, report: &TxReport<P>) {
        let descriptor = &report.descriptor;
        self.rates.on_report(report);
        self.drains[descriptor.category.index()].on_report(report);
        if self.counts_below() {
            for mpdu in report.arrived() {
                self.below[descriptor.category.index()] -= mpdu.packet.airtime_estimate();
            }
        }
        if self.controller.is_empty() {
            return;
        }
        self.advance(now);
        for (place, mpdu) in descriptor.mpdus.iter().enumerate() {
            let (flow, enqueued) = (mpdu.packet.flow(), mpdu.packet.enqueued());
            if report.acknowledged.get(place) {
                self.controller.on_completion(now, flow, report.ended.since(enqueued));
            } else if !self.has_lower
                && let Some(permitted) = self.controller.permitted(flow)
            {
                // Below another queue this one has no influence on it.
                let mark = super::Mark::encode(permitted);
                self.prioritise(FlowQueue::of(&mpdu.packet), mark).on_returned(enqueued);
            }
        }
    }

    /// Limits the debt of a station with prioritised flows.
    fn limit_debt(&mut self, station: StationId, category: Category) {
        if let Some(most) = self.config.most_debt
            && self.lists[category.index()].iter().any(|known| known.queue.station == station)
        {
            self.default.forgive_station(station, category, most);
        }
    }
}

impl<P: Payload> Dequeue<P> for LastPq<P> {
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        let is_urgent = self.turns[category.index()] == Some(station);
        if is_urgent && let Some(packet) = self.dequeue_urgent(now, station, category, dropped) {
            if let Some(served) = self.served.get_mut(&packet.flow()) {
                served.packets += 1;
                served.urgent += 1;
            }
            return Some(packet);
        }
        if is_urgent {
            let room = &mut self.fill_left[category.index()];
            *room = room.checked_sub(1)?;
        }
        let packet = self.default.dequeue(now, station, category, dropped)?;
        if let Some(served) = self.served.get_mut(&packet.flow()) {
            served.packets += 1;
        }
        Some(packet)
    }

    fn next_size(&mut self, station: StationId, category: Category) -> Option<ByteCount> {
        self.default.next_size(station, category)
    }

    fn on_handed(&mut self, now: Instant, station: StationId, category: Category, estimated: Span) {
        self.below[category.index()] += estimated;
        self.default.on_handed(now, station, category, estimated);
    }
}

impl<P: Payload> Demands for LastPq<P> {
    fn check(&self, demand: &Demand) -> Result<(), ConfigError> {
        self.config.delay.check_demand(demand)
    }

    fn set(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) -> Result<(), ConfigError> {
        self.change_demand(now, flow, demand)?;
        let Some(auto) = &mut self.auto else { return Ok(()) };
        let found = auto.on_named(now, flow, demand.is_some()).then(|| auto.demand());
        if found.is_some() { self.change_demand(now, flow, found) } else { Ok(()) }
    }

    fn protection(&self, flow: FlowId) -> Option<Protection> {
        let (packets, urgent) =
            self.served.get(&flow).map_or((0, 0), |served| (served.packets, served.urgent));
        Some(Protection {
            demand: self.controller.demand(flow)?,
            permitted: self.controller.permitted(flow)?,
            latency: self.controller.latency(flow),
            packets,
            urgent,
            found: self.auto.as_ref().and_then(|auto| auto.reason(flow)),
        })
    }

    fn tightest(&self, now: Instant) -> AggregateBound {
        let permitted = self.controller.tightest(self.now.max(now));
        permitted.map_or(AggregateBound::NONE, |permitted| self.short_aggregate(permitted))
    }
}

impl<P: Payload> Queue<P> for LastPq<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.classify(now, &packet);
        if !self.controller.is_empty() {
            self.advance(now);
            if let Some(mark) = self.controller.mark(now, packet.flow()) {
                self.prioritise(FlowQueue::of(&packet), mark).mark = mark;
            }
        }
        let controller = &self.controller;
        let has_demand = |packet: &P| controller.demand(packet.flow()).is_some();
        self.default.enqueue_sparing(now, packet, has_demand, dropped);
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        let most_below = if self.bounds_lower { self.tightest(now).duration } else { Span::MAX };
        let below = self.below[category.index()];
        if below >= most_below && !below.is_zero() {
            return None;
        }
        let station = self.next_station(now, category)?;
        let bound = self.aggregate_bound(now, station, category);
        let portion = match most_below {
            Span::MAX if self.controller.is_empty() => Portion::All,
            Span::MAX => Portion::Packet,
            _ => Portion::Aggregate,
        };
        Some(Turn { station, category, bound, counts_airtime: self.counts_below(), portion })
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
        self.default.flush(station, out);
    }

    fn backlog(&self) -> &Backlogs {
        self.default.backlog()
    }

    fn on(&mut self, now: Instant, fact: Fact<'_, P>) {
        match fact {
            Fact::LowerQueue { bounded } => {
                self.has_lower = true;
                self.bounds_lower = self.config.bound_below && !bounded;
            }
            Fact::Handed(packet) if self.counts_below() => {
                self.below[packet.category().index()] += packet.airtime_estimate();
                self.default.on(now, fact);
            }
            Fact::Dropped(packet) if self.counts_below() => {
                self.below[packet.category().index()] -= packet.airtime_estimate();
                self.default.on(now, fact);
            }
            Fact::Granted(descriptor) => {
                // Of packets below another queue only the airtime is known.
                if !self.has_lower {
                    self.on_granted(descriptor);
                }
                self.default.on(now, fact);
            }
            Fact::Reported(report) => {
                self.on_report(now, report);
                self.default.on(now, fact);
            }
            Fact::Airtime { station, category, .. } => {
                self.default.on(now, fact);
                self.limit_debt(station, category);
            }
            _ => self.default.on(now, fact),
        }
    }
}

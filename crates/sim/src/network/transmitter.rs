//! A transmitter: packets enter its queue, PPDUs its hardware, and its link gets reports of the channel load.
//!
//! The time limit of the hardware on a PSDU starts when the PSDU is the first of its category, and so contends for the channel: it
//! includes backoff and waiting for a busy channel. A PSDU on the air at the end of its time is finished first.
//!
//! All transmitters hear each other, so there is one busy time. Times are counted at the end of an exchange; a report to a link is the
//! difference between two instants. Only links that ask get reports ([`Link::deadline`]).

use std::collections::VecDeque;

use airbound_air::absence::Absence;
use airbound_air::channel::AccessId;
use airbound_control::frame::{StationId, TxDescriptor};
use airbound_control::link::{Link, Room};
use airbound_control::rate::LinkStats;
use airbound_units::{Decibel, Instant, Span};
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Rate;

use super::{Event, Network, Shared};
use crate::endpoint::Endpoint as _;
use crate::flow::ACCESS_POINT;
use crate::ingress::{Categories, Ingress};
use crate::link::AnyLink;
use crate::packet::Packet;

/// Time of forming aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forming {
    /// When the channel is won, in devices that read their queue then.
    AtAccess,
    /// In advance: up to this number for each category wait in the hardware.
    Ahead(usize),
}

/// A descriptor in the hardware.
#[derive(Debug)]
pub(crate) struct InHardware {
    pub(crate) descriptor: TxDescriptor<Packet>,
    pub(crate) handed: Instant,
    /// When it became the first of its category; `Instant::MAX` until then.
    pub(crate) contending: Instant,
    /// When its first transmission began; `Instant::MAX` until then.
    pub(crate) started: Instant,
    /// The SNR of its last transmission at the receiver, where its link has one.
    pub(crate) snr: Option<Decibel>,
    pub(crate) transmissions: u32,
    /// RTS in a row that no CTS followed; where all hear each other they count as transmissions.
    pub(crate) unanswered: u32,
    /// Whether a BlockAckReq is sent next, and how many were.
    pub(crate) asks: bool,
    pub(crate) requests: u32,
    /// The TXOP of its last transmission.
    pub(crate) txop: u64,
    pub(crate) airtime: Span,
}

/// A transmitter: the access point, a station, which may be a relay, or a neighbour.
#[derive(Debug)]
pub(crate) struct Transmitter {
    pub(crate) link: AnyLink,
    pub(crate) ingress: Ingress,
    pub(crate) forming: Forming,
    pub(crate) hardware: [VecDeque<InHardware>; 4],
    /// Upper limit on transmissions of one descriptor, for any rate chain.
    pub(crate) hardware_tries: u32,
    /// Upper limit on PPDUs in the hardware over all categories.
    pub(crate) hardware_total: usize,
    /// Time from the end of a PPDU until its successor is in the hardware.
    pub(crate) handover: Span,
    /// Number of places whose next PPDU is being handed over, by category.
    pub(crate) handing: [usize; 4],
    /// Whether it shapes uplinks.
    pub(crate) shapes: bool,
    /// Whether its receivers reorder MPDUs, under a block-ack agreement, by category.
    pub(crate) block_ack: [bool; 4],
    /// Whether airtime of received frames is charged to the sender.
    pub(crate) charges_received: bool,
    /// Airtime of its own transmissions, acknowledgements included.
    pub(crate) own: Span,
    pub(crate) channel_load: ChannelLoad,
    /// When its radio leaves the channel; `None` if it never does.
    pub(crate) absence: Option<Absence>,
    /// Whether its radio is away.
    pub(crate) is_away: bool,
    /// The pending wake-up for arrivals; `Instant::MAX` for none.
    pub(crate) wake: Instant,
}

impl Transmitter {
    /// Free places for PPDUs of a category in the hardware, which has `depth` of them.
    fn room(&self, category: Category, depth: usize) -> usize {
        let taken =
            |category: Category| self.hardware[category.index()].len() + self.handing[category.index()];
        let own = depth.saturating_sub(taken(category));
        if self.hardware_total == usize::MAX {
            return own;
        }
        let all: usize = Category::ALL.into_iter().map(taken).sum();
        own.min(self.hardware_total.saturating_sub(all))
    }
}

/// Start of a channel load measurement, and the busy times up to then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ChannelLoad {
    /// End of the measurement.
    until: Option<Instant>,
    since: Instant,
    busy: Span,
    own: Span,
}

impl InHardware {
    /// Creates the record of a descriptor handed to the hardware at `now`.
    pub(super) const fn new(descriptor: TxDescriptor<Packet>, now: Instant) -> Self {
        Self {
            descriptor,
            handed: now,
            contending: Instant::MAX,
            started: Instant::MAX,
            snr: None,
            transmissions: 0,
            unanswered: 0,
            asks: false,
            requests: 0,
            txop: 0,
            airtime: Span::ZERO,
        }
    }

    /// The rate of the next transmission. A device with more tries than the chain repeats the last step.
    pub(super) fn next_rate(&self) -> Rate {
        let chain = self.descriptor.chain;
        let last = chain.steps().last().map_or(chain.first_rate(), |step| step.rate);
        chain.rate_of(self.transmissions).unwrap_or(last)
    }

    /// Whether its time limit is over.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.descriptor
            .give_up_after
            .is_some_and(|limit| now >= self.contending && now - self.contending >= limit)
    }
}

impl Network {
    /// Enqueues all packets that have arrived at a node by now.
    pub(super) fn take_in(&mut self, shared: &mut Shared, node: StationId) {
        if self.parts.transmitters[node.index()].ingress.is_quiet(shared.now) {
            return;
        }
        loop {
            let queued = self.only_queued(shared, node);
            let parts = &mut self.parts;
            let Transmitter { ingress, link, .. } = &mut parts.transmitters[node.index()];
            if let Some(queued) = queued
                && let Some(mut arrivals) = ingress.arrivals(shared.now, queued, &mut parts.meters)
            {
                let last = link.enqueue_all(&mut arrivals, &mut self.dropped);
                if let Some(at) = last
                    && !self.dropped.is_empty()
                {
                    self.note_drops(shared, at);
                    continue;
                }
            }
            // The next packet, if any, has further effects.
            let Some((at, packet)) = ingress.arrive(shared.now, &mut parts.meters) else { break };
            if self.parts.flows[packet.flow.0 as usize].is_shaped {
                self.hold_back(shared, at, packet);
            } else {
                self.admit(shared, node, at, packet);
            }
        }
        // Those of a shaper in front of the queue.
        while let Some((at, lost)) = self.parts.transmitters[node.index()].ingress.take_dropped() {
            self.forget(shared, &lost.packet, lost.reason);
            self.parts.meters.on_dropped(at, &lost.packet, lost.reason);
        }
    }

    /// Enqueues all packets that have arrived at any node by now. A queue that is not used has not yet received what its sources sent:
    /// counters are read only after this.
    pub(crate) fn take_in_all(&mut self, shared: &mut Shared) {
        for node in 0..self.parts.transmitters.len() {
            self.take_in(shared, StationId(node as u16));
        }
    }

    /// The categories of a node whose packets are only enqueued, if any: a category that already contends and forms aggregates when
    /// the channel is won has nothing to do before.
    fn only_queued(&self, shared: &Shared, node: StationId) -> Option<Categories> {
        let parts = &self.parts;
        let owner = &parts.transmitters[node.index()];
        if owner.forming != Forming::AtAccess || owner.shapes || self.effects.dozing {
            return None;
        }
        let ready = Categories::of(shared.medium.ready(self.tx(node)));
        ready.are_any().then_some(ready)
    }

    /// Passes a packet of a shaped uplink to its station's shaper.
    fn hold_back(&mut self, shared: &mut Shared, at: Instant, packet: Packet) {
        if let Some(id) = self.parts.shaping {
            self.call(shared, id, |endpoint, out| endpoint.admit(at, packet, out));
        }
    }

    /// Enqueues a packet made by a station itself.
    pub(super) fn originate(&mut self, shared: &mut Shared, node: StationId, packet: Packet) {
        self.take_in(shared, node);
        self.parts.meters.on_sent(&packet);
        self.admit(shared, node, shared.now, packet);
    }

    /// Enqueues a packet that arrived at `at`, and fills the hardware if it has room.
    #[inline]
    pub(super) fn admit(&mut self, shared: &mut Shared, node: StationId, at: Instant, packet: Packet) {
        let category = airbound_control::frame::Payload::category(&packet);
        if self.effects.dozing && node == ACCESS_POINT {
            self.parts.dozers.note_buffered(packet.to);
        }
        let predicts = self.effects.foretelling && node == ACCESS_POINT;
        let foretold = if predicts { self.foretell(at, &packet) } else { None };
        self.parts.transmitters[node.index()].link.enqueue(at, packet, &mut self.dropped);
        if let Some(delay) = foretold {
            self.tell(shared, at, &packet, delay);
        }
        if !self.dropped.is_empty() {
            self.note_drops(shared, at);
        }
        self.fill(shared, node, category, at);
    }

    /// Prepares the PPDU of a winner. Returns whether there is one.
    pub(super) fn prepare(&mut self, shared: &mut Shared, at: AccessId) -> bool {
        let (node, category) = (self.node_of(at), at.category);
        if self.parts.transmitters[node.index()].hardware[category.index()].is_empty() {
            self.take_in(shared, node);
            self.form(shared, node, category, shared.now);
            let since = shared.medium.ready_since(at);
            let first = self.parts.transmitters[node.index()].hardware[category.index()].front_mut();
            if let (Some(first), Some(since)) = (first, since) {
                // An aggregate formed at access contended before it was formed.
                first.contending = since;
            }
        }
        if self.parts.transmitters[node.index()].hardware[category.index()].is_empty() {
            // The waiting packets were dropped, or may not be sent now.
            shared.medium.withdraw(at);
            self.sleep(shared, node);
            return false;
        }
        true
    }

    /// Takes a PPDU from the link and puts it in the hardware. Returns whether there was one.
    pub(super) fn form(
        &mut self,
        shared: &mut Shared,
        node: StationId,
        category: Category,
        now: Instant,
    ) -> bool {
        let longest = shared.medium.longest_ppdu(self.access(node, category));
        self.form_within(shared, node, category, now, longest)
    }

    /// The same, with a limit on the PPDU.
    pub(super) fn form_within(
        &mut self,
        shared: &mut Shared,
        node: StationId,
        category: Category,
        now: Instant,
        longest: Span,
    ) -> bool {
        if self.dictates {
            while let Some((link, rate)) = self.parts.links.changed(now) {
                let stats = LinkStats { rate: Some(rate), ..LinkStats::default() };
                self.report_to_ends(now, StationId(link.0 + 1), &stats);
            }
        }
        let owner = &mut self.parts.transmitters[node.index()];
        let descriptor = owner.link.next(now, Room { category, max_duration: longest }, &mut self.dropped);
        let queue = &mut owner.hardware[category.index()];
        let formed = descriptor.is_some();
        if let Some(descriptor) = descriptor {
            queue.push_back(InHardware::new(descriptor, now));
        }
        if formed {
            self.contend(shared, node, category, now);
        }
        self.note_drops(shared, now);
        formed
    }

    /// Fills the hardware of a category, and starts contention if it is ready since `at`.
    pub(super) fn fill(&mut self, shared: &mut Shared, node: StationId, category: Category, at: Instant) {
        let owner = &self.parts.transmitters[node.index()];
        let has_something = match owner.forming {
            Forming::Ahead(depth) => {
                let room = owner.room(category, depth);
                let formed = (0..room).take_while(|_| self.form(shared, node, category, at)).count();
                formed > 0 || !self.parts.transmitters[node.index()].hardware[category.index()].is_empty()
            }
            Forming::AtAccess => {
                self.is_ready(shared, node, category)
                    || !owner.hardware[category.index()].is_empty()
                    || owner.link.has_backlog(category)
            }
        };
        let is_away = self.parts.transmitters[node.index()].is_away;
        if has_something && !is_away && !self.is_ready(shared, node, category) {
            shared.medium.set_ready(at, self.access(node, category));
        }
    }

    /// Fills a free place in the hardware, now or after the driver's reaction.
    pub(super) fn refill(&mut self, shared: &mut Shared, node: StationId, category: Category) {
        let handover = self.parts.transmitters[node.index()].handover;
        if handover.is_zero() {
            self.fill_freed(shared, node, category);
        } else {
            self.parts.transmitters[node.index()].handing[category.index()] += 1;
            self.schedule(shared, shared.now + handover, Event::HandedOver(node, category));
            self.fill(shared, node, category, shared.now);
        }
    }

    /// Handles the driver's reaction to the end of a PPDU: the next one takes its place.
    pub(super) fn on_handed_over(&mut self, shared: &mut Shared, node: StationId, category: Category) {
        self.take_in(shared, node);
        let handing = &mut self.parts.transmitters[node.index()].handing[category.index()];
        *handing = handing.saturating_sub(1);
        self.fill_freed(shared, node, category);
        self.sleep(shared, node);
    }

    /// If categories share the places of the hardware, any of them may take a free one; the highest goes first.
    fn fill_freed(&mut self, shared: &mut Shared, node: StationId, category: Category) {
        let owner = &self.parts.transmitters[node.index()];
        if owner.hardware_total == usize::MAX && !owner.link.limits_all_categories() {
            self.fill(shared, node, category, shared.now);
            return;
        }
        // The link may select one category after the other.
        loop {
            let held = |owner: &Transmitter| owner.hardware.iter().map(VecDeque::len).sum::<usize>();
            let before = held(&self.parts.transmitters[node.index()]);
            for category in Category::ALL.into_iter().rev() {
                self.fill(shared, node, category, shared.now);
            }
            if held(&self.parts.transmitters[node.index()]) == before {
                break;
            }
        }
    }

    /// Starts the contention of a category's first descriptor as of `at`, if it does not contend yet.
    pub(super) fn contend(&mut self, shared: &mut Shared, node: StationId, category: Category, at: Instant) {
        let first = self.parts.transmitters[node.index()].hardware[category.index()].front_mut();
        if let Some(first) = first.filter(|first| first.contending == Instant::MAX) {
            first.contending = at;
            if let Some(limit) = first.descriptor.give_up_after {
                self.schedule(shared, at + limit, Event::TimeLimit(node, category));
            }
        }
    }

    /// Handles the possible end of a descriptor's time limit; the event of a finished descriptor has no effect on its successor, which
    /// has its own.
    pub(super) fn on_time_limit(&mut self, shared: &mut Shared, node: StationId, category: Category) {
        let on_air = shared.medium.is_on_air(self.access(node, category));
        let is_over = |network: &Self| {
            let first = network.parts.transmitters[node.index()].hardware[category.index()].front();
            first.is_some_and(|first| first.is_expired(shared.now))
        };
        if on_air || !is_over(self) {
            return;
        }
        // Before the next one becomes the first for arriving packets.
        self.take_in(shared, node);
        let Some(done) = self.parts.transmitters[node.index()].hardware[category.index()].pop_front() else {
            return;
        };
        // In a collision longer than this frame, the time ended before.
        let over = done.contending + done.descriptor.give_up_after.unwrap_or(Span::ZERO);
        let tried = done.transmissions > 0;
        self.report(shared, node, category, done, None);
        self.contend(shared, node, category, over.min(shared.now));
        let at = self.access(node, category);
        if tried {
            // The next frame starts with the least window after this backoff.
            shared.medium.reset_window(at);
        }
        self.refill(shared, node, category);
        if self.parts.transmitters[node.index()].hardware[category.index()].is_empty() {
            shared.medium.clear_ready(at);
        }
        self.sleep(shared, node);
    }

    /// Schedules the wake-up of a node with an idle category for its next possible arrival.
    pub(super) fn sleep(&mut self, shared: &mut Shared, node: StationId) {
        self.sleep_after(shared, node, None);
    }

    /// The same for a link that was `asked` just now: an earlier deadline, which it could not use, has no new information. Custom
    /// parts may return any time.
    fn sleep_after(&mut self, shared: &mut Shared, node: StationId, asked: Option<Instant>) {
        let owner = &self.parts.transmitters[node.index()];
        let ready = shared.medium.ready(self.tx(node));
        // What is predicted at an arrival is told at once.
        let predicts = self.effects.foretelling && node == ACCESS_POINT;
        let idle = Categories::of(ready.map(|is_ready| predicts || !is_ready));
        let arrival = owner.ingress.next_arrival(idle);
        // A link may also demand a call, or a report of the channel load, at a time of its own.
        let deadline = owner.link.deadline();
        let deadlines = [deadline.select, deadline.channel_load]
            .into_iter()
            .flatten()
            .filter(|at| asked.is_none_or(|asked| *at > asked));
        let next = arrival.into_iter().chain(deadlines).min();
        self.measure_channel_load(shared, node, deadline.channel_load);
        if let Some(at) = next {
            self.wake_at(shared, node, at.max(shared.now));
        }
    }

    /// Wakes a node at `at` or before.
    pub(super) fn wake_at(&mut self, shared: &mut Shared, node: StationId, at: Instant) {
        let wake = &mut self.parts.transmitters[node.index()].wake;
        if at < *wake {
            *wake = at;
            self.schedule(shared, at, Event::Wake(node));
        }
    }

    pub(super) fn on_wake(&mut self, shared: &mut Shared, node: StationId) {
        if self.parts.transmitters[node.index()].wake > shared.now {
            // An earlier wake-up covers it.
            return;
        }
        self.parts.transmitters[node.index()].wake = Instant::MAX;
        self.take_in(shared, node);
        self.report_channel_load(shared, node);
        for category in Category::ALL {
            self.fill(shared, node, category, shared.now);
        }
        self.sleep_after(shared, node, Some(shared.now));
    }

    /// Notes that the channel was busy from `start` to `end`.
    pub(super) fn note_busy(&mut self, start: Instant, end: Instant) {
        self.parts.meters.on_busy(start, end);
        self.busy += end.since(start);
    }

    /// Starts a measurement of the channel load for a link that asks for it, `until` a time.
    fn measure_channel_load(&mut self, shared: &mut Shared, node: StationId, until: Option<Instant>) {
        let owner = &mut self.parts.transmitters[node.index()];
        if until.is_some() && until != owner.channel_load.until {
            owner.channel_load = ChannelLoad { until, since: shared.now, busy: self.busy, own: owner.own };
        }
    }

    /// Reports the channel load to a link, if it is due.
    pub(super) fn report_channel_load(&mut self, shared: &mut Shared, node: StationId) {
        let owner = &mut self.parts.transmitters[node.index()];
        if owner.link.deadline().channel_load.is_none_or(|due| due > shared.now) {
            return;
        }
        let heard = owner.channel_load;
        let elapsed = shared.now.since(heard.since);
        // Transmissions that ended in this time may have begun before.
        let share =
            |span: Span| (!elapsed.is_zero()).then(|| (span.as_secs_f64() / elapsed.as_secs_f64()).min(1.0));
        let (busy, own) = (share(self.busy - heard.busy), share(owner.own - heard.own));
        owner.link.on_channel(shared.now, busy, own);
        let until = owner.link.deadline().channel_load;
        self.measure_channel_load(shared, node, until);
    }

    /// Accounts for packets dropped by the link.
    #[inline]
    pub(super) fn note_drops(&mut self, shared: &mut Shared, now: Instant) {
        if !self.dropped.is_empty() {
            self.count_drops(shared, now);
        }
    }

    fn count_drops(&mut self, shared: &mut Shared, now: Instant) {
        let mut dropped = std::mem::take(&mut self.dropped);
        for lost in dropped.drain(..) {
            if self.effects.dozing {
                self.parts.dozers.note_gone(lost.packet.to, 1);
            }
            self.lose(shared, now, &lost.packet, lost.reason);
        }
        self.dropped = dropped;
    }
}

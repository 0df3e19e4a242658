//! Law in the access point's driver: it has the queue, the rates, the retries and both time limits; mac80211 hands it all frames at once.
//!
//! Law sees the frames that a block-ack agreement numbers; group, management and control frames, and those of stations without an
//! agreement, stay in the [`super::store::Store`] and go first. As in the simulator, Law's PPDUs wait in the hardware, and the time of one
//! counts from when it is Law's first of its category.
//!
//! mac80211 has numbered a frame before Law sees it. Law's queue keeps that order, and a frame that Law gives up is reported
//! only when no earlier one is in the hardware: the BlockAckReq that mac80211 sends then tells the receiver to wait for none before it.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use airbound_air::channel::AccessId;
use airbound_control::frame::{Dropped, FlowId, Payload, PlainPacket, StationId, TxDescriptor, TxReport};
use airbound_control::link::{Law, Link, Returned, Room};
use airbound_control::queue::AnyQueue;
use airbound_random::{Purpose, seed_for};
use airbound_scenario::Scenario;
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::{AckBitmap, Category};

use super::exchange::{packet_of, radio_of};
use super::store::Mpdu;
use super::{ACCESS_POINT, InHardware, Medium, Radio, done};
use crate::LabError;
use crate::channel::Step;
use crate::rates::step_of;

/// A descriptor of Law in the hardware.
#[derive(Debug)]
pub(super) struct Order {
    descriptor: TxDescriptor<PlainPacket>,
    handed: Instant,
    /// When its first transmission began.
    pub(super) started: Option<Instant>,
}

impl InHardware {
    /// Whether frames that Law does not see may go before it: it is Law's, and has not been on the air.
    pub(super) fn may_be_passed(&self) -> bool {
        self.order.is_some() && self.transmissions == 0
    }

    /// The end of its time; `None` if it has none, or does not contend yet.
    fn end_of_time(&self) -> Option<Instant> {
        let limit = self.order.as_ref()?.descriptor.give_up_after?;
        (self.contending != Instant::MAX).then(|| self.contending + limit)
    }

    /// Whether its time is over.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.end_of_time().is_some_and(|end| now >= end)
    }
}

/// The station for whom Law has a frame; `None` if it is none of Law's.
pub(super) fn receiver(mpdu: &Mpdu, radios: usize) -> Option<StationId> {
    let is_numbered = mpdu.aggregates && mpdu.is_qos() && !mpdu.is_unanswered();
    let station = radio_of(mpdu.peer(), radios).filter(|station| is_numbered && *station > 0)?;
    u16::try_from(station).ok().map(StationId)
}

/// Law, and the frames whose packets it has.
#[derive(Debug)]
pub(super) struct LawDriver {
    law: Law<PlainPacket, AnyQueue<PlainPacket>>,
    /// Bytes of an MPDU beside its packet.
    overhead: ByteCount,
    /// Frames that wait, by the number of their packet, in the order in which they came.
    waiting: BTreeMap<usize, Mpdu>,
    next_number: usize,
    /// Frames that Law gave up and that were not reported yet.
    given_up: BTreeMap<usize, (StationId, Category, Mpdu)>,
}

impl LawDriver {
    /// Law as the scheme of a scenario has it.
    ///
    /// # Errors
    /// Its parameters are out of range.
    pub(super) fn new(scenario: &Scenario, seed: u64) -> Result<Self, LabError> {
        let wrong = |error: &dyn ToString| LabError::Scenario(error.to_string());
        let config = scenario.scheme.queue.law_config().map_err(|error| wrong(&error))?;
        let seed = seed_for(seed, Purpose::Queue, 0);
        let queue = config.inner_queue.0.build(seed).map_err(|error| wrong(&error))?;
        let access_point = &scenario.access_point;
        let path = scenario.link_config(&access_point.path, scenario.air.standard);
        let default = scenario.access_point_capabilities();
        let overhead = path.overhead;
        let mut law = Law::new(config, path, queue, &default).map_err(|error| wrong(&error))?;
        for (station, number) in scenario.stations.iter().zip(1..) {
            let capabilities = scenario.capabilities(station, access_point.streams);
            law.set_capabilities(StationId(number), &capabilities).map_err(|error| wrong(&error))?;
        }
        let (waiting, given_up) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { law, overhead, waiting, next_number: 0, given_up })
    }

    /// Takes a frame from mac80211.
    pub(super) fn enqueue(&mut self, now: Instant, category: Category, station: StationId, mpdu: Mpdu) {
        let number = self.next_number;
        self.next_number += 1;
        let flow = packet_of(&mpdu).and_then(|(flow, ..)| u32::try_from(flow).ok());
        let size = ByteCount::new(mpdu.size.as_u64().saturating_sub(self.overhead.as_u64()));
        let flow = FlowId(flow.map_or(0, |flow| flow + 1));
        let packet = PlainPacket { number, category, size, ..PlainPacket::new(station, flow) };
        self.waiting.insert(number, mpdu);
        let mut dropped = Vec::new();
        self.law.enqueue(now, packet, &mut dropped);
        self.give_up(dropped);
    }

    /// The next PPDU of a category; `None` if nothing waits, or the hardware has as many as Law allows.
    fn next(&mut self, now: Instant, room: Room) -> Option<InHardware> {
        let mut dropped = Vec::new();
        let descriptor = self.law.next(now, room, &mut dropped);
        self.give_up(dropped);
        descriptor.map(|descriptor| self.hand_down(now, descriptor))
    }

    /// The frames of a descriptor, on their way to the hardware.
    fn hand_down(&mut self, now: Instant, descriptor: TxDescriptor<PlainPacket>) -> InHardware {
        let mut rates = [Step::NONE; 4];
        for (place, attempt) in rates.iter_mut().zip(descriptor.chain.steps()) {
            *place = step_of(attempt.rate).map_or(Step::NONE, |step| Step { tries: attempt.tries, ..step });
        }
        let waiting = &mut self.waiting;
        let numbers = descriptor.mpdus.iter().map(|mpdu| mpdu.packet.number);
        let mpdus = numbers.filter_map(|number| waiting.remove(&number)).map(|mpdu| Mpdu { rates, ..mpdu });
        let mpdus = mpdus.collect();
        let order = Some(Box::new(Order { descriptor, handed: now, started: None }));
        InHardware { order, ..InHardware::new(mpdus, Instant::MAX) }
    }

    fn give_up(&mut self, dropped: Vec<Dropped<PlainPacket>>) {
        for Dropped { packet, .. } in dropped {
            if let Some(mpdu) = self.waiting.remove(&packet.number) {
                self.given_up.insert(packet.number, (packet.station(), packet.category(), mpdu));
            }
        }
    }

    /// Gives a PPDU that has left `hardware`, the one of its category, back to Law. What Law wants to be sent again at once goes before all
    /// that it ordered. Returns the frames that arrived.
    pub(super) fn take_back(
        &mut self,
        now: Instant,
        hardware: &mut VecDeque<InHardware>,
        order: Order,
        (mpdus, transmissions, airtime): (Vec<Mpdu>, u32, Span),
        acknowledged: AckBitmap,
    ) -> Vec<(Mpdu, bool)> {
        let Order { descriptor, handed, started } = order;
        let mut arrived = Vec::new();
        for (place, mpdu) in mpdus.into_iter().enumerate() {
            match descriptor.mpdus.get(place) {
                Some(packet) if !acknowledged.get(place) => {
                    self.waiting.insert(packet.packet.number, mpdu);
                }
                _ => arrived.push((mpdu, true)),
            }
        }
        let report = TxReport {
            used: descriptor.chain.used(transmissions),
            handed,
            started,
            ended: now,
            airtime: Some(airtime),
            acknowledged,
            boundaries_known: true,
            descriptor,
        };
        let mut returned = Returned::default();
        self.law.on_report(now, report, &mut returned);
        let dropped = returned.dropped.into_iter();
        self.give_up(dropped.map(|(mpdu, reason)| Dropped { packet: mpdu.packet, reason }).collect());
        if let Some(again) = returned.retry_now {
            let place = hardware.iter().take_while(|one| one.order.is_none()).count();
            hardware.insert(place, self.hand_down(now, again));
        }
        arrived
    }

    /// Takes out the frames that were given up and before which no frame of the same station and category waits or is in the hardware.
    fn reportable(&mut self, hardware: &[VecDeque<InHardware>; 4]) -> Vec<(Category, Mpdu)> {
        let mut out = Vec::new();
        for (number, (station, category, mpdu)) in mem::take(&mut self.given_up) {
            let orders = hardware[category.index()].iter().filter_map(|one| one.order.as_deref());
            let mut handed = orders.filter(|order| order.descriptor.station == station);
            let is_earlier =
                |order: &Order| order.descriptor.mpdus.iter().any(|mpdu| mpdu.packet.number < number);
            let mut waiting = self.waiting.range(..number);
            if handed.any(is_earlier)
                || waiting.any(|(_, other)| other.peer() == mpdu.peer() && other.tid() == mpdu.tid())
            {
                self.given_up.insert(number, (station, category, mpdu));
            } else {
                out.push((category, mpdu));
            }
        }
        out
    }

    /// Gives up all that is not in the hardware.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Mpdu> + use<> {
        let given_up = mem::take(&mut self.given_up).into_values().map(|(.., mpdu)| mpdu);
        given_up.chain(mem::take(&mut self.waiting).into_values())
    }
}

/// The first PPDU of Law of a category, if it does not contend yet, contends since `since`.
fn begin_to_contend(hardware: &mut VecDeque<InHardware>, since: Instant) {
    let first = hardware.iter_mut().find(|one| one.order.is_some());
    if let Some(first) = first.filter(|first| first.contending == Instant::MAX) {
        first.contending = since;
    }
}

impl Medium {
    /// The soonest end of the time of a PPDU of Law that is not on the air.
    pub(super) fn next_time_limit(&self) -> Option<(Instant, Category)> {
        let radio = self.radios.first().filter(|radio| radio.law.is_some())?;
        let limit = |category: Category| {
            let on_air = self.channel.is_on_air(AccessId { tx: ACCESS_POINT, category });
            let mut waiting = radio.hardware[category.index()].iter().skip(usize::from(on_air));
            let end = waiting.find(|one| one.order.is_some())?.end_of_time()?;
            Some((end, category))
        };
        Category::ALL.into_iter().filter_map(limit).min_by_key(|(end, _)| *end)
    }

    /// The time of the first PPDU of Law of a category is over; it is not on the air.
    pub(super) fn on_time_limit(&mut self, category: Category) {
        let at = AccessId { tx: ACCESS_POINT, category };
        let Some(radio) = self.radios.first_mut() else { return };
        let hardware = &mut radio.hardware[category.index()];
        let skip = usize::from(self.channel.is_on_air(at));
        let place = hardware.iter().skip(skip).position(|one| one.order.is_some());
        let Some(one) = place.and_then(|place| hardware.remove(skip + place)) else { return };
        let over = one.end_of_time().unwrap_or(self.now);
        let tried = one.transmissions > 0;
        self.report(at, one, None);
        self.contend(category, over.min(self.now));
        if tried {
            // The next frame starts with the least window once this backoff is over.
            self.channel.reset_window(at);
        }
        self.refill(self.now);
        let radio = &self.radios[0];
        if radio.hardware[category.index()].is_empty() && !radio.store.has_backlog(category) {
            self.channel.clear_ready(at);
        }
    }

    /// The first PPDU of Law of a category, if it does not contend yet, contends since `since`.
    pub(super) fn contend(&mut self, category: Category, since: Instant) {
        if let Some(radio) = self.radios.first_mut() {
            begin_to_contend(&mut radio.hardware[category.index()], since);
        }
    }

    /// Lets Law fill the hardware, and reports what it gave up.
    pub(super) fn refill(&mut self, now: Instant) {
        // Law may name one category after the other.
        while self.fill(now) {}
        let Some(Radio { law: Some(law), hardware, .. }) = self.radios.first_mut() else { return };
        for (category, mpdu) in law.reportable(hardware) {
            self.commands.push(done(0, mpdu.cookie, false));
            self.note_mpdu(AccessId { tx: ACCESS_POINT, category }, &mpdu, Instant::MAX, now);
        }
    }

    /// Asks Law for what each category can send, the highest first. Returns whether there was anything.
    fn fill(&mut self, now: Instant) -> bool {
        let Some(Radio { law: Some(law), hardware, .. }) = self.radios.first_mut() else { return false };
        let mut filled = false;
        for category in Category::ALL.into_iter().rev() {
            let at = AccessId { tx: ACCESS_POINT, category };
            let ordered = &mut hardware[category.index()];
            let room = Room { category, max_duration: self.channel.longest_ppdu(at) };
            while let Some(one) = law.next(now, room) {
                ordered.push_back(one);
                filled = true;
            }
            begin_to_contend(ordered, now);
            if !ordered.is_empty() && !self.channel.is_ready(at) {
                self.channel.set_ready(now, at);
            }
        }
        filled
    }
}

//! Law in the access point's driver: it decides queueing, rates, retries and both time limits; mac80211 passes all frames to it at once.
//!
//! Law handles frames under a block-ack agreement. Group, management and control frames, and those of stations without an agreement, are
//! in the [`super::store::Store`] and are sent first. As in the simulator, Law's PPDUs wait in the hardware, and the time limit of a PPDU
//! starts when it becomes Law's first of its category.
//!
//! mac80211 assigns sequence numbers before Law. Law's queue keeps their order, and a frame that Law gives up is reported only when no
//! earlier one is in the hardware: the BlockAckReq that mac80211 then sends moves the receiver's window past all earlier frames.

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

use super::exchange::radio_of;
use super::packet::packet_of;
use super::store::Mpdu;
use super::{ACCESS_POINT, InHardware, Medium, Radio, done};
use crate::LabError;
use crate::channel::Step;
use crate::rates::step_of;

/// The descriptor of a PPDU of Law in the hardware.
#[derive(Debug)]
pub(super) struct LawDescriptor {
    descriptor: TxDescriptor<PlainPacket>,
    handed: Instant,
    /// Start of its first transmission.
    pub(super) started: Option<Instant>,
}

impl InHardware {
    /// Whether frames of the store may be sent before it: it is Law's, and has not been transmitted.
    pub(super) fn may_be_overtaken(&self) -> bool {
        self.law_descriptor.is_some() && self.transmissions == 0
    }

    /// The end of its time limit; `None` if it has none, or does not contend yet.
    fn expiry(&self) -> Option<Instant> {
        let limit = self.law_descriptor.as_ref()?.descriptor.give_up_after?;
        (self.contending != Instant::MAX).then(|| self.contending + limit)
    }

    /// Whether its time limit has expired.
    pub(super) fn is_expired(&self, now: Instant) -> bool {
        self.expiry().is_some_and(|end| now >= end)
    }
}

/// The receiving station of a frame that Law handles; `None` for other frames.
pub(super) fn receiver(mpdu: &Mpdu, radios: usize) -> Option<StationId> {
    let is_numbered = mpdu.aggregates && mpdu.is_qos() && !mpdu.is_unanswered();
    let station = radio_of(mpdu.peer(), radios).filter(|station| is_numbered && *station > 0)?;
    u16::try_from(station).ok().map(StationId)
}

/// Law, and the frames of the packets in its queue.
#[derive(Debug)]
pub(super) struct LawDriver {
    law: Law<PlainPacket, AnyQueue<PlainPacket>>,
    /// Bytes of an MPDU besides its packet.
    overhead: ByteCount,
    /// Queued frames by packet number, in order of arrival.
    waiting: BTreeMap<usize, Mpdu>,
    next_number: usize,
    /// Frames given up and not reported yet.
    given_up: BTreeMap<usize, (StationId, Category, Mpdu)>,
}

impl LawDriver {
    /// Law with the parameters of the scenario's scheme.
    ///
    /// # Errors
    /// A parameter is out of range.
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

    /// Enqueues a frame of mac80211.
    pub(super) fn enqueue(&mut self, now: Instant, category: Category, station: StationId, mpdu: Mpdu) {
        let number = self.next_number;
        self.next_number += 1;
        let flow = packet_of(&mpdu).and_then(|packet| u32::try_from(packet.flow).ok());
        let size = ByteCount::new(mpdu.size.as_u64().saturating_sub(self.overhead.as_u64()));
        let flow = FlowId(flow.map_or(0, |flow| flow + 1));
        let packet = PlainPacket { number, category, size, ..PlainPacket::new(station, flow) };
        self.waiting.insert(number, mpdu);
        let mut dropped = Vec::new();
        self.law.enqueue(now, packet, &mut dropped);
        self.give_up(dropped);
    }

    /// The next PPDU of a category; `None` if no frame is queued, or the hardware has as many PPDUs as Law allows.
    fn next(&mut self, now: Instant, room: Room) -> Option<InHardware> {
        let mut dropped = Vec::new();
        let descriptor = self.law.next(now, room, &mut dropped);
        self.give_up(dropped);
        descriptor.map(|descriptor| self.ppdu_of(now, descriptor))
    }

    /// The PPDU of a descriptor, with its frames.
    fn ppdu_of(&mut self, now: Instant, descriptor: TxDescriptor<PlainPacket>) -> InHardware {
        let mut rates = [Step::NONE; 4];
        for (place, attempt) in rates.iter_mut().zip(descriptor.chain.steps()) {
            *place = step_of(attempt.rate).map_or(Step::NONE, |step| Step { tries: attempt.tries, ..step });
        }
        let waiting = &mut self.waiting;
        let numbers = descriptor.mpdus.iter().map(|mpdu| mpdu.packet.number);
        let mpdus = numbers.filter_map(|number| waiting.remove(&number)).map(|mpdu| Mpdu { rates, ..mpdu });
        let mpdus = mpdus.collect();
        let law_descriptor = Some(Box::new(LawDescriptor { descriptor, handed: now, started: None }));
        InHardware { law_descriptor, ..InHardware::new(mpdus, Instant::MAX) }
    }

    fn give_up(&mut self, dropped: Vec<Dropped<PlainPacket>>) {
        for Dropped { packet, .. } in dropped {
            if let Some(mpdu) = self.waiting.remove(&packet.number) {
                self.given_up.insert(packet.number, (packet.station(), packet.category(), mpdu));
            }
        }
    }

    /// Returns a PPDU removed from `hardware` of its category to Law. An immediate retry precedes Law's other PPDUs. Returns the
    /// acknowledged frames.
    pub(super) fn take_back(
        &mut self,
        now: Instant,
        hardware: &mut VecDeque<InHardware>,
        law_descriptor: LawDescriptor,
        (mpdus, transmissions, airtime): (Vec<Mpdu>, u32, Span),
        acknowledged: AckBitmap,
    ) -> Vec<(Mpdu, bool)> {
        let LawDescriptor { descriptor, handed, started } = law_descriptor;
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
            let place = hardware.iter().take_while(|one| one.law_descriptor.is_none()).count();
            hardware.insert(place, self.ppdu_of(now, again));
        }
        arrived
    }

    /// Removes the frames that were given up and have no earlier frame of their station and category in queue or hardware.
    fn reportable(&mut self, hardware: &[VecDeque<InHardware>; 4]) -> Vec<(Category, Mpdu)> {
        let mut out = Vec::new();
        for (number, (station, category, mpdu)) in mem::take(&mut self.given_up) {
            let descriptors =
                hardware[category.index()].iter().filter_map(|one| one.law_descriptor.as_deref());
            let mut handed = descriptors.filter(|one| one.descriptor.station == station);
            let is_earlier =
                |one: &LawDescriptor| one.descriptor.mpdus.iter().any(|mpdu| mpdu.packet.number < number);
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

    /// Removes all frames that are not in the hardware.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Mpdu> + use<> {
        let given_up = mem::take(&mut self.given_up).into_values().map(|(.., mpdu)| mpdu);
        given_up.chain(mem::take(&mut self.waiting).into_values())
    }
}

/// Starts the contention of Law's first PPDU at `since`, if it does not contend yet.
fn begin_to_contend(hardware: &mut VecDeque<InHardware>, since: Instant) {
    let first = hardware.iter_mut().find(|one| one.law_descriptor.is_some());
    if let Some(first) = first.filter(|first| first.contending == Instant::MAX) {
        first.contending = since;
    }
}

impl Medium {
    /// The earliest end of a time limit of Law's PPDUs that are not on the air.
    pub(super) fn next_time_limit(&self) -> Option<(Instant, Category)> {
        let radio = self.radios.first().filter(|radio| radio.law.is_some())?;
        let limit = |category: Category| {
            let on_air = self.channel.is_on_air(AccessId { tx: ACCESS_POINT, category });
            let mut waiting = radio.hardware[category.index()].iter().skip(usize::from(on_air));
            let end = waiting.find(|one| one.law_descriptor.is_some())?.expiry()?;
            Some((end, category))
        };
        Category::ALL.into_iter().filter_map(limit).min_by_key(|(end, _)| *end)
    }

    /// The time limit of Law's first PPDU of a category expired; it is not on the air.
    pub(super) fn on_time_limit(&mut self, category: Category) {
        let at = AccessId { tx: ACCESS_POINT, category };
        let Some(radio) = self.radios.first_mut() else { return };
        let hardware = &mut radio.hardware[category.index()];
        let skip = usize::from(self.channel.is_on_air(at));
        let place = hardware.iter().skip(skip).position(|one| one.law_descriptor.is_some());
        let Some(one) = place.and_then(|place| hardware.remove(skip + place)) else { return };
        let over = one.expiry().unwrap_or(self.now);
        let tried = one.transmissions > 0;
        self.report(at, one, None);
        self.contend(category, over.min(self.now));
        if tried {
            // The next PPDU starts with the smallest window after this backoff.
            self.channel.reset_window(at);
        }
        self.refill(self.now);
        let radio = &self.radios[0];
        if radio.hardware[category.index()].is_empty() && !radio.store.has_backlog(category) {
            self.channel.clear_ready(at);
        }
    }

    /// Starts the contention of Law's first PPDU of a category at `since`, if it does not contend yet.
    pub(super) fn contend(&mut self, category: Category, since: Instant) {
        if let Some(radio) = self.radios.first_mut() {
            begin_to_contend(&mut radio.hardware[category.index()], since);
        }
    }

    /// Lets Law fill the hardware, and reports the frames that it gave up.
    pub(super) fn refill(&mut self, now: Instant) {
        // A category may become eligible only after another has been filled.
        while self.fill(now) {}
        let Some(Radio { law: Some(law), hardware, .. }) = self.radios.first_mut() else { return };
        for (category, mpdu) in law.reportable(hardware) {
            self.commands.push(done(0, mpdu.cookie, false));
            self.note_mpdu(AccessId { tx: ACCESS_POINT, category }, &mpdu, Instant::MAX, now);
        }
    }

    /// Moves Law's PPDUs of all categories to the hardware, the highest first. Returns whether there were any.
    fn fill(&mut self, now: Instant) -> bool {
        let Some(Radio { law: Some(law), hardware, .. }) = self.radios.first_mut() else { return false };
        let mut filled = false;
        for category in Category::ALL.into_iter().rev() {
            let at = AccessId { tx: ACCESS_POINT, category };
            let ppdus = &mut hardware[category.index()];
            let room = Room { category, max_duration: self.channel.longest_ppdu(at) };
            while let Some(one) = law.next(now, room) {
                ppdus.push_back(one);
                filled = true;
            }
            begin_to_contend(ppdus, now);
            if !ppdus.is_empty() && !self.channel.is_ready(at) {
                self.channel.set_ready(now, at);
            }
        }
        filled
    }
}

//! Stations that save power: the access point holds their packets until a beacon or one of their own frames wakes them.
//!
//! A station that sleeps transmits whenever it has something to send. Null frames follow a beacon or an idle channel by PIFS, are
//! never lost, and take their airtime at 24 Mb/s. Where each transmitter senses the channel for itself, a null frame waits for its own
//! station, and is on the air together with its acknowledgement.

use std::collections::VecDeque;

use airbound_air::power_save::{PowerSave, Wake};
use airbound_control::frame::StationId;
use airbound_control::link::{Hold as _, Link as _};
use airbound_units::{Instant, Span};

use super::{Event, Medium, Network, Shared};
use crate::flow::ACCESS_POINT;

/// The state of a station that saves power.
#[derive(Debug, Clone, Copy)]
struct Dozer {
    config: PowerSave,
    /// Whether its radio sleeps between its own frames.
    is_asleep: bool,
    /// Packets for it in the access point.
    waiting: usize,
    /// End of the last frame from it or to it.
    active: Instant,
    /// Beacons until the next one that it listens to.
    until_beacon: u16,
    /// Whether a null frame of it waits for the channel.
    is_calling: bool,
}

/// A null frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Null {
    /// The station listens, or asks for a service period.
    Awake,
    /// The station falls asleep.
    Asleep,
}

/// All stations that save power.
#[derive(Debug)]
pub(crate) struct Dozers {
    /// By node; empty if no station saves power.
    of: Vec<Option<Dozer>>,
    /// Null frames that wait for the channel.
    nulls: VecDeque<(StationId, Null)>,
    /// Airtime of a null frame and its acknowledgement.
    airtime: Span,
}

impl Dozers {
    /// The stations with a configuration, by node. All are awake.
    pub(crate) fn new(configs: Vec<Option<PowerSave>>, airtime: Span) -> Self {
        let dozer = |config: PowerSave| Dozer {
            config,
            is_asleep: false,
            waiting: 0,
            active: Instant::ZERO,
            until_beacon: config.listen_interval,
            is_calling: false,
        };
        let any = configs.iter().any(Option::is_some);
        let of = if any { configs.into_iter().map(|config| config.map(dozer)).collect() } else { Vec::new() };
        Self { of, nulls: VecDeque::new(), airtime }
    }

    /// Whether any station saves power.
    pub(super) const fn are_any(&self) -> bool {
        !self.of.is_empty()
    }

    /// Whether a null frame waits for the channel.
    pub(super) fn has_null(&self) -> bool {
        !self.nulls.is_empty()
    }

    /// The stations with a null frame that waits for the channel, in order.
    pub(super) fn callers(&self) -> impl Iterator<Item = StationId> + '_ {
        self.nulls.iter().map(|(node, _)| *node)
    }

    /// The one at a place among them.
    pub(super) fn caller(&self, place: usize) -> Option<StationId> {
        self.nulls.get(place).map(|(node, _)| *node)
    }

    #[inline]
    fn of(&mut self, node: StationId) -> Option<&mut Dozer> {
        self.of.get_mut(node.index())?.as_mut()
    }

    /// Whether the radio of a node sleeps now.
    #[inline]
    pub(super) fn is_asleep(&self, node: StationId) -> bool {
        self.of.get(node.index()).is_some_and(|dozer| dozer.is_some_and(|dozer| dozer.is_asleep))
    }

    /// Notes a packet that entered the access point for a station.
    #[inline]
    pub(super) fn note_buffered(&mut self, station: StationId) {
        if let Some(dozer) = self.of(station) {
            dozer.waiting += 1;
        }
    }

    /// Notes packets for a station that left the access point for good.
    #[inline]
    pub(super) fn note_gone(&mut self, station: StationId, packets: usize) {
        if let Some(dozer) = self.of(station) {
            dozer.waiting = dozer.waiting.saturating_sub(packets);
        }
    }

    /// The stations in a service period for which nothing waits.
    fn served(&self) -> Vec<StationId> {
        let is_served =
            |dozer: &Dozer| dozer.config.wake == Wake::UApsd && !dozer.is_asleep && dozer.waiting == 0;
        let served = self.of.iter().zip(0..).filter(|(dozer, _)| dozer.as_ref().is_some_and(is_served));
        served.map(|(_, node)| StationId(node)).collect()
    }

    /// The stations that a beacon wakes now: those that sleep, listen to it and have frames.
    fn announced(&mut self) -> Vec<StationId> {
        let mut woken = Vec::new();
        for (dozer, node) in self.of.iter_mut().zip(0..) {
            let Some(dozer) = dozer.as_mut().filter(|dozer| dozer.is_asleep) else { continue };
            dozer.until_beacon = dozer.until_beacon.saturating_sub(1);
            if dozer.until_beacon > 0 {
                continue;
            }
            dozer.until_beacon = dozer.config.listen_interval;
            if dozer.waiting > 0 && !dozer.is_calling {
                dozer.is_calling = true;
                woken.push(StationId(node));
            }
        }
        woken
    }
}

impl Network {
    /// Schedules the first sleep of each station that saves power.
    pub(super) fn begin_dozing(&mut self, shared: &mut Shared) {
        for node in (0..self.parts.dozers.of.len() as u16).map(StationId) {
            match self.parts.dozers.of(node).map(|dozer| dozer.config.timeout) {
                Some(None) => self.fall_asleep(shared, node),
                Some(Some(timeout)) => self.schedule(shared, shared.now + timeout, Event::Idle(node)),
                None => {}
            }
        }
    }

    /// The beacon that begins now announces the frames of sleeping stations; those that listen answer after it.
    pub(super) fn announce(&mut self, shared: &mut Shared) {
        if self.parts.dozers.are_any() {
            self.take_in(shared, ACCESS_POINT);
            let woken = self.parts.dozers.announced();
            // The last packets of a service period may have been dropped in the queue.
            let mut done = self.parts.dozers.served();
            while let Some(node) = done.pop() {
                self.fall_asleep(shared, node);
            }
            self.parts.dozers.nulls.extend(woken.into_iter().map(|node| (node, Null::Awake)));
        }
    }

    /// Transmits the null frame at a place among those that wait.
    pub(super) fn transmit_null(&mut self, shared: &mut Shared, place: usize) {
        let Some((node, null)) = self.parts.dozers.nulls.remove(place) else { return };
        let end = shared.now + self.parts.dozers.airtime;
        shared.medium.hold(shared.now, end, self.tx(node));
        if !matches!(shared.medium, Medium::Partial(_)) {
            self.note_busy(shared.now, end);
        }
        self.schedule(shared, end, Event::Null(node, null));
    }

    /// Handles the end of a null frame.
    pub(super) fn on_null(&mut self, shared: &mut Shared, node: StationId, null: Null) {
        let now = shared.now;
        if let Some(dozer) = self.parts.dozers.of(node) {
            dozer.is_calling = false;
            dozer.active = dozer.active.max(now);
        }
        match null {
            Null::Awake => self.wake_up(shared, node),
            Null::Asleep => self.fall_asleep(shared, node),
        }
    }

    /// Handles the end of a station's time without frames.
    pub(super) fn on_idle(&mut self, shared: &mut Shared, node: StationId) {
        let now = shared.now;
        let transmitter = &self.parts.transmitters[node.index()];
        let is_busy = transmitter.link.backlog().packets > 0
            || transmitter.hardware.iter().any(|category| !category.is_empty());
        let Some(dozer) = self.parts.dozers.of(node) else { return };
        let Some(timeout) = dozer.config.timeout.filter(|_| !dozer.is_asleep && !dozer.is_calling) else {
            return;
        };
        let due = if is_busy { now + timeout } else { dozer.active + timeout };
        if due > now {
            self.schedule(shared, due, Event::Idle(node));
        } else {
            dozer.is_calling = true;
            self.parts.dozers.nulls.push_back((node, Null::Asleep));
        }
    }

    /// Handles the end of an exchange that its sender will not repeat.
    pub(super) fn on_exchanged(
        &mut self,
        shared: &mut Shared,
        sender: StationId,
        receiver: StationId,
        success: bool,
    ) {
        let now = shared.now;
        if let Some(dozer) = self.parts.dozers.of(sender).filter(|_| success) {
            dozer.active = now;
            // A frame of its own wakes it; with U-APSD only if something waits.
            if dozer.is_asleep && (dozer.config.wake == Wake::NullFrame || dozer.waiting > 0) {
                self.wake_up(shared, sender);
            }
        }
        if let Some(dozer) = self.parts.dozers.of(receiver) {
            dozer.active = if success { now } else { dozer.active };
            // The last frame ends a service period.
            if dozer.config.wake == Wake::UApsd && dozer.waiting == 0 && !dozer.is_asleep {
                self.fall_asleep(shared, receiver);
            }
        }
    }

    /// The access point sends what it holds for a station.
    fn wake_up(&mut self, shared: &mut Shared, node: StationId) {
        let Some(dozer) = self.parts.dozers.of(node).filter(|dozer| dozer.is_asleep) else { return };
        let (wake, is_empty) = (dozer.config.wake, dozer.waiting == 0);
        if wake == Wake::UApsd && is_empty {
            // All was dropped meanwhile: the service period ends at once.
            return;
        }
        dozer.is_asleep = false;
        if let Some(timeout) = dozer.config.timeout {
            self.schedule(shared, shared.now + timeout, Event::Idle(node));
        }
        self.parts.transmitters[ACCESS_POINT.index()].link.hold(shared.now, node, false);
        self.resume(shared, ACCESS_POINT);
    }

    /// The access point holds what comes for a station.
    fn fall_asleep(&mut self, shared: &mut Shared, node: StationId) {
        let Some(dozer) = self.parts.dozers.of(node) else { return };
        dozer.is_asleep = true;
        dozer.until_beacon = dozer.config.listen_interval;
        self.parts.transmitters[ACCESS_POINT.index()].link.hold(shared.now, node, true);
    }
}

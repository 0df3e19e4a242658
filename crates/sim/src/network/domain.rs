//! A collision domain: the networks on one channel share its medium.
//!
//! Each network is a [`Network`] of its own, with its own access point, stations, queues and random numbers. What a channel's networks
//! share is lent to the one that acts; the numbers of a network's transmitters on the medium are contiguous.

use airbound_air::channel::{AccessId, TxId};
use airbound_air::partial::PartialChannel;
use airbound_units::{Instant, Span};

use super::{Event, Medium, Network, Parts};
use crate::agenda::Agenda;
use crate::endpoint::Passed;
use crate::flow::ACCESS_POINT;

/// State shared by the networks on a channel.
pub(crate) struct Shared {
    pub(super) medium: Medium,
    pub(crate) now: Instant,
    /// End of the run.
    pub(crate) end: Instant,
    agenda: Agenda<Due>,
    /// Number of events so far, transmissions included.
    pub(crate) processed: u64,
}

/// An event of a domain.
pub(super) enum Due {
    /// An event of the network with this number.
    Event(u16, Event),
    /// The end of the exchanges, the beacon or the interference on the air.
    End,
}

impl Shared {
    /// Schedules what is due before the end of the run.
    #[inline]
    pub(super) fn schedule(&mut self, at: Instant, due: Due) {
        if at <= self.end {
            self.agenda.push(at.max(self.now), due);
        }
    }

    /// Schedules what is due after others of its kind.
    #[inline]
    pub(super) fn schedule_in_row(&mut self, at: Instant, due: Due) {
        if at <= self.end {
            self.agenda.push_in_row(at.max(self.now), due);
        }
    }

    /// Schedules the end of what is on the air.
    pub(super) fn schedule_end(&mut self) {
        if let Some(end) = self.medium.busy_until(TxId(0)) {
            self.schedule(end, Due::End);
        }
    }

    /// Whether transmitters contend for the medium; on a trace they take turns.
    pub(crate) const fn has_contention(&self) -> bool {
        !matches!(self.medium, Medium::Pipe(_))
    }

    /// The channel, if its transmitters do not all hear each other.
    fn partial(&mut self) -> Option<&mut PartialChannel> {
        match &mut self.medium {
            Medium::Partial(channel) => Some(channel),
            _ => None,
        }
    }
}

/// The networks on one channel.
pub(crate) struct CollisionDomain {
    pub(crate) shared: Shared,
    pub(crate) networks: Vec<Network>,
    winners: Vec<AccessId>,
}

impl CollisionDomain {
    /// An empty domain, which ends with the run.
    pub(crate) const fn new(medium: Medium, end: Instant) -> Self {
        let shared = Shared { medium, now: Instant::ZERO, end, agenda: Agenda::new(), processed: 0 };
        Self { shared, networks: Vec::new(), winners: Vec::new() }
    }

    /// The domain with one more network.
    pub(crate) fn with(mut self, parts: Parts) -> Self {
        let network = Network::new(parts, self.networks.len() as u16, &mut self.shared);
        self.networks.push(network);
        self
    }

    /// The time of the next access; a beacon precedes all data.
    fn next_access(&self) -> Instant {
        let due = self.networks.iter().filter(|network| network.beacon_is_due());
        let due = due.map(|network| network.next_uncontended(&self.shared)).min();
        due.unwrap_or_else(|| self.shared.medium.next_access(self.shared.now))
    }

    /// The instant of the next event, at or after now; [`Instant::MAX`] for never.
    pub(crate) fn next_event(&self) -> Instant {
        self.shared.agenda.next().min(self.next_access())
    }

    /// Executes all events until `until`, included. At the same instant events precede accesses. With a session it stops earlier: behind an
    /// event that decides the fates of packets of the session, which it adds to `passed`.
    pub(crate) fn advance(&mut self, until: Instant, mut passed: Option<&mut Vec<Passed>>) {
        loop {
            let (event, access) = (self.shared.agenda.next(), self.next_access());
            if event.min(access) > until {
                break;
            }
            self.shared.processed += 1;
            if event <= access {
                let Some((at, due)) = self.shared.agenda.pop() else { break };
                self.shared.now = at;
                match due {
                    Due::Event(network, event) => {
                        self.act_alone(usize::from(network), |network, shared| network.handle(shared, event));
                    }
                    Due::End => self.end_exchanges(),
                }
            } else {
                self.shared.now = access;
                self.transmit();
            }
            if let Some(passed) = &mut passed {
                for network in &mut self.networks {
                    network.take_fates(|doors| doors.carried, passed);
                }
                if !passed.is_empty() {
                    return;
                }
            }
        }
        self.shared.now = until;
    }

    /// Lets a network act. What it puts on an idle channel by itself, a beacon or interference, the others hear as well.
    #[inline]
    fn act_alone(&mut self, number: usize, act: impl FnOnce(&mut Network, &mut Shared)) {
        let Self { shared, networks, .. } = self;
        let is_shared = networks.len() > 1;
        let was_busy = is_shared && shared.medium.busy_until(TxId(0)).is_some();
        act(&mut networks[number], shared);
        if is_shared
            && !was_busy
            && let Some(end) = shared.medium.busy_until(TxId(0))
        {
            for (_, network) in networks.iter_mut().enumerate().filter(|(other, _)| *other != number) {
                network.note_busy(shared.now, end);
            }
        }
    }

    /// Notes a busy channel for all networks.
    fn note_busy(&mut self, start: Instant, end: Instant) {
        for network in &mut self.networks {
            network.note_busy(start, end);
        }
    }

    /// Transmits at the time of the next access: a beacon, or a PPDU of each winner, which are a collision if there are several, even
    /// across networks.
    fn transmit(&mut self) {
        if self.shared.partial().is_some() {
            self.step_partial();
            return;
        }
        match self.networks.iter().position(Network::beacon_is_due) {
            Some(sender) => self.act_alone(sender, Network::transmit_beacon),
            None => {
                self.contend();
                for network in &mut self.networks {
                    network.start_winners(&mut self.shared);
                }
            }
        }
        self.shared.schedule_end();
    }

    /// Lets the winners of the channel prepare their PPDUs, whose transmissions follow.
    fn contend(&mut self) {
        let Self { shared, networks, winners } = self;
        shared.medium.contend(shared.now, winners);
        for network in networks {
            network.prepare_winners(shared, winners);
        }
        shared.medium.occupy(shared.now);
    }

    /// Executes what is due now on a channel on which each frame is on the air by itself: frames end, exchanges are finished,
    /// transmitters that find the channel idle for themselves begin, and answers begin.
    fn step_partial(&mut self) {
        let Self { shared, networks, .. } = self;
        let now = shared.now;
        if let Some(channel) = shared.partial() {
            channel.advance(now);
        }
        while let Some(ended) = shared.partial().and_then(PartialChannel::take_ended) {
            if let Some(network) = networks.iter_mut().find(|network| network.has(ended.exchange.at)) {
                network.finish_partial(shared, &ended);
            }
        }
        for network in networks {
            let access_point = network.tx(ACCESS_POINT);
            while let Some((start, end)) =
                shared.partial().and_then(|channel| channel.take_busy(access_point))
            {
                network.note_busy(start, end);
            }
            if network.beacon_is_due() {
                network.send_uncontended(shared);
            }
        }
        self.contend();
        for network in &mut self.networks {
            network.start_exchanges(&mut self.shared);
        }
        if let Some(channel) = self.shared.partial() {
            channel.answer(now);
        }
    }

    /// Ends the exchanges on the air: the channel is free, or the next exchange of a TXOP begins.
    fn end_exchanges(&mut self) {
        let now = self.shared.now;
        let mut is_first = true;
        while let Some(exchange) = self.shared.medium.take_ended(now) {
            if std::mem::take(&mut is_first) {
                self.note_busy(exchange.start, now);
            }
            if let Some(network) = self.networks.iter_mut().find(|network| network.has(exchange.at)) {
                network.finish(&mut self.shared, &exchange);
            }
        }
        self.shared.medium.release(now);
        if let Some(until) = self.shared.medium.busy_until(TxId(0))
            && !self.shared.medium.is_transmitting()
        {
            // Interference.
            self.note_busy(now, until);
        }
        self.shared.schedule_end();
    }

    /// Makes now the end of the run; returns the measured time.
    pub(crate) fn end_now(&mut self) -> Span {
        let now = self.shared.now;
        self.shared.end = now;
        self.networks.iter_mut().map(|network| network.parts.meters.end_at(now)).max().unwrap_or(Span::ZERO)
    }
}

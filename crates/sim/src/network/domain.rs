//! Several networks in one run: those on one channel form a collision domain, those on different channels do not hear each other.
//!
//! Each network is a [`Network`] of its own, with its own access point, stations, queues and random numbers. The networks of a domain
//! share one medium, which is lent to the acting network; the numbers of a network's transmitters on it are contiguous. All networks
//! have the same clock.

use airbound_air::channel::{AccessId, TxId};
use airbound_air::partial::PartialChannel;
use airbound_units::Instant;

use super::{Medium, Network};
use crate::flow::ACCESS_POINT;

/// The networks on one channel, which all hear each other.
pub(crate) struct CollisionDomain {
    networks: Vec<Network>,
    /// The network that holds the medium; the others have an empty one.
    holder: usize,
    now: Instant,
    winners: Vec<AccessId>,
}

/// The next step of a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// An event of one network alone, by number.
    Event(usize),
    /// The end of the present exchange.
    End,
    /// A transmission.
    Access,
}

impl CollisionDomain {
    /// Takes the medium of the last network, on which all were built.
    fn new(mut networks: Vec<Network>) -> Self {
        for network in &mut networks {
            network.alone = false;
        }
        let holder = networks.len().saturating_sub(1);
        Self { networks, holder, now: Instant::ZERO, winners: Vec::new() }
    }

    /// Lends the medium to the network with this number and returns it.
    fn acting(&mut self, number: usize) -> &mut Network {
        if number != self.holder
            && let Ok([holder, network]) = self.networks.get_disjoint_mut([self.holder, number])
        {
            std::mem::swap(&mut holder.parts.medium, &mut network.parts.medium);
            self.holder = number;
        }
        &mut self.networks[number]
    }

    fn busy_until(&self) -> Option<Instant> {
        self.networks[self.holder].parts.medium.busy_until(TxId(0))
    }

    /// The time of the next access; a beacon precedes all data.
    fn next_access(&self) -> Instant {
        let medium = &self.networks[self.holder].parts.medium;
        let due = self.networks.iter().filter(|network| network.beacon_is_due());
        let due = due.map(|network| network.next_uncontended(medium)).min();
        due.unwrap_or_else(|| medium.next_access(self.now))
    }

    /// The next step and its time; [`Instant::MAX`] for never. At the same instant events precede accesses, in the order of the
    /// networks.
    fn next(&self) -> (Instant, Next) {
        let mut next = (Instant::MAX, Next::Access);
        for (number, network) in self.networks.iter().enumerate() {
            let event = network.events.next();
            if event < next.0 {
                next = (event, Next::Event(number));
            }
        }
        let (at, other) = match self.busy_until() {
            Some(until) => (until, Next::End),
            None => (self.next_access(), Next::Access),
        };
        if at < next.0 { (at, other) } else { next }
    }

    /// Executes a step.
    fn step(&mut self, (now, next): (Instant, Next)) {
        self.now = now;
        match next {
            Next::Event(number) => self.handle(number, now),
            Next::End => self.end(now),
            Next::Access => self.transmit(now),
        }
    }

    fn set_clocks(&mut self, now: Instant) {
        self.now = now;
        for network in &mut self.networks {
            network.now = now;
        }
    }

    fn handle(&mut self, number: usize, now: Instant) {
        let was_busy = self.busy_until().is_some();
        let network = self.acting(number);
        let Some((_, event)) = network.events.pop() else { return };
        network.processed += 1;
        network.now = now;
        network.handle(event);
        // The start of interference: common to all networks on the channel.
        if let (false, Some(end)) = (was_busy, self.busy_until()) {
            self.note_busy(now, end, Some(number));
        }
    }

    /// Notes a busy channel for all networks but one.
    fn note_busy(&mut self, start: Instant, end: Instant, but: Option<usize>) {
        for (number, network) in self.networks.iter_mut().enumerate() {
            if Some(number) != but {
                network.note_busy(start, end);
            }
        }
    }

    /// Starts the transmission of one transmitter, or of several at the same instant, which is a collision even across networks.
    fn transmit(&mut self, now: Instant) {
        self.set_clocks(now);
        if matches!(self.networks[self.holder].parts.medium, Medium::Partial(_)) {
            self.step_partial(now);
            return;
        }
        if let Some(sender) = self.networks.iter().position(Network::beacon_is_due) {
            let network = self.acting(sender);
            network.processed += 1;
            network.transmit_beacon();
            if let Some(end) = self.busy_until() {
                self.note_busy(now, end, Some(sender));
            }
            return;
        }
        self.contend(now);
        for number in 0..self.networks.len() {
            if !self.networks[number].winners.is_empty() {
                self.acting(number).start_winners();
            }
        }
    }

    /// Gives each network its winners, whose transmissions follow.
    fn contend(&mut self, now: Instant) {
        let mut winners = std::mem::take(&mut self.winners);
        self.networks[self.holder].parts.medium.contend(now, &mut winners);
        for number in 0..self.networks.len() {
            let network = &mut self.networks[number];
            let mut own = std::mem::take(&mut network.winners);
            own.extend(winners.iter().copied().filter(|at| network.has(*at)));
            network.winners = own;
            if !network.winners.is_empty() {
                let network = self.acting(number);
                network.processed += 1;
                network.prepare_winners();
            }
        }
        self.winners = winners;
        self.networks[self.holder].parts.medium.occupy(now);
    }

    /// The medium's holder, which acts for the channel itself.
    fn holder(&mut self) -> &mut Network {
        &mut self.networks[self.holder]
    }

    /// Executes what is due now on a channel on which each frame is on the air by itself.
    fn step_partial(&mut self, now: Instant) {
        if let Some(channel) = self.holder().partial() {
            channel.advance(now);
        }
        while let Some(ended) = self.holder().partial().and_then(PartialChannel::take_ended) {
            let at = ended.exchange.at;
            let Some(number) = self.networks.iter().position(|network| network.has(at)) else { break };
            let network = self.acting(number);
            network.processed += 1;
            network.finish_partial(&ended);
        }
        for number in 0..self.networks.len() {
            let access_point = self.networks[number].tx(ACCESS_POINT);
            let busy = |domain: &mut Self| {
                domain.holder().partial().and_then(|channel| channel.take_busy(access_point))
            };
            while let Some((start, end)) = busy(self) {
                self.networks[number].note_busy(start, end);
            }
            if self.networks[number].beacon_is_due() {
                let network = self.acting(number);
                network.processed += 1;
                network.send_uncontended();
            }
        }
        self.contend(now);
        for number in 0..self.networks.len() {
            if !self.networks[number].winners.is_empty() {
                self.acting(number).start_exchanges();
            }
        }
        if let Some(channel) = self.holder().partial() {
            channel.answer(now);
        }
    }

    /// Frees the channel, or starts the next exchange of a TXOP.
    fn end(&mut self, now: Instant) {
        self.set_clocks(now);
        let mut last = None;
        while let Some(exchange) = self.networks[self.holder].parts.medium.take_ended(now) {
            let Some(number) = self.networks.iter().position(|network| network.has(exchange.at)) else {
                break;
            };
            if last.is_none() {
                self.note_busy(exchange.start, now, None);
            }
            let network = self.acting(number);
            if last != Some(number) {
                network.processed += 1;
                last = Some(number);
            }
            network.finish(&exchange);
        }
        let medium = &mut self.networks[self.holder].parts.medium;
        medium.release(now);
        if !medium.is_transmitting()
            && let Some(until) = medium.busy_until(TxId(0))
        {
            // Interference.
            self.note_busy(now, until, None);
        }
    }
}

/// All networks of a run.
pub(crate) struct Domains {
    /// One for each channel.
    domains: Vec<CollisionDomain>,
    /// The next step of each domain, and its time.
    next: Vec<(Instant, Next)>,
}

impl Domains {
    /// Creates the domains of networks grouped by channel; a single network is a domain of its own.
    pub(crate) fn new(channels: Vec<Vec<Network>>) -> Self {
        let mut domains: Vec<CollisionDomain> =
            channels.into_iter().filter(|networks| !networks.is_empty()).map(CollisionDomain::new).collect();
        if let [CollisionDomain { networks, .. }] = domains.as_mut_slice()
            && let [only] = networks.as_mut_slice()
        {
            only.alone = true;
        }
        let next = domains.iter().map(CollisionDomain::next).collect();
        Self { domains, next }
    }

    /// The only network of a run, if there is one only.
    fn only(&mut self) -> Option<&mut Network> {
        match self.domains.as_mut_slice() {
            [CollisionDomain { networks, .. }] if networks.len() == 1 => networks.first_mut(),
            _ => None,
        }
    }

    /// Advances until `until` or the end of the run, whichever comes first. Events of the networks are in order of time, independent
    /// of the steps in which a run advances.
    pub(crate) fn advance(&mut self, until: Instant) {
        if let Some(only) = self.only() {
            only.advance(until);
            return;
        }
        let until = until.min(self.end());
        loop {
            let mut first = 0;
            for (number, next) in self.next.iter().enumerate() {
                if next.0 < self.next[first].0 {
                    first = number;
                }
            }
            let Some(&next) = self.next.get(first) else { break };
            if next.0 > until || next.0 == Instant::MAX {
                break;
            }
            self.domains[first].step(next);
            self.next[first] = self.domains[first].next();
        }
        for domain in &mut self.domains {
            domain.set_clocks(until);
        }
    }

    /// The instant of the next event, at or after now; [`Instant::MAX`] for never.
    pub(crate) fn next_event(&mut self) -> Instant {
        match self.only() {
            Some(only) => only.next_event(),
            None => self.next.iter().map(|next| next.0).min().unwrap_or(Instant::MAX),
        }
    }

    /// Lets the network with this number, in the order of [`Self::networks`], act between two events.
    pub(crate) fn act<T>(&mut self, number: usize, act: impl FnOnce(&mut Network) -> T) -> Option<T> {
        let mut first = 0;
        for (domain, next) in self.domains.iter_mut().zip(&mut self.next) {
            let count = domain.networks.len();
            if number < first + count {
                let result = act(domain.acting(number - first));
                *next = domain.next();
                return Some(result);
            }
            first += count;
        }
        None
    }

    /// Enqueues all packets that have arrived anywhere by now.
    pub(crate) fn take_in_all(&mut self) {
        for number in 0..self.networks().count() {
            self.act(number, Network::take_in_all);
        }
    }

    /// The networks, channel by channel.
    pub(crate) fn networks(&self) -> impl Iterator<Item = &Network> {
        self.domains.iter().flat_map(|domain| &domain.networks)
    }

    /// The networks, mutable.
    pub(crate) fn networks_mut(&mut self) -> impl Iterator<Item = &mut Network> {
        self.domains.iter_mut().flat_map(|domain| &mut domain.networks)
    }

    /// Returns the networks, channel by channel.
    pub(crate) fn into_networks(self) -> impl Iterator<Item = Network> {
        self.domains.into_iter().flat_map(|domain| domain.networks)
    }

    /// Returns the present simulated time.
    pub(crate) fn now(&self) -> Instant {
        self.networks().next().map_or(Instant::MAX, |network| network.now)
    }

    /// End of the run.
    pub(crate) fn end(&self) -> Instant {
        self.networks().next().map_or(Instant::ZERO, |network| network.parts.end)
    }
}

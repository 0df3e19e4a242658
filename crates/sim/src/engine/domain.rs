//! Several networks in one run: those on one channel are one collision domain, those on different channels do not hear each other.
//!
//! Each network is a [`Simulation`] of its own, with its own access point, stations, queues and random numbers. What it shares with
//! the others on its channel is when the channel is idle, who transmits at the same instant, and when that ends: this file sees to
//! that. All clocks are one.

use airbound_units::Instant;

use super::Simulation;

/// The networks on one channel, which all hear each other.
pub(crate) struct Domain {
    networks: Vec<Simulation>,
    /// Until when the channel is busy; [`Instant::MAX`] while it is idle.
    until: Instant,
    /// Since when, if exchanges keep it busy; who takes no part in them has yet to note that.
    since: Option<Instant>,
}

/// What happens next on a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// Something of the network of that number alone.
    Event(usize),
    /// What is on the air ends.
    End,
    /// Somebody transmits.
    Access,
}

impl Domain {
    fn new(mut networks: Vec<Simulation>) -> Self {
        for network in &mut networks {
            network.alone = false;
        }
        Self { networks, until: Instant::MAX, since: None }
    }

    /// What happens next, and when; [`Instant::MAX`] for never. At the same instant events go first, in the order of the networks.
    fn next(&self) -> (Instant, Next) {
        let mut next = (Instant::MAX, Next::Access);
        let mut access = Instant::MAX;
        for (number, network) in self.networks.iter().enumerate() {
            let event = network.events.next();
            if event < next.0 {
                next = (event, Next::Event(number));
            }
            if self.until == Instant::MAX {
                access = access.min(network.next_access().unwrap_or(Instant::MAX));
            }
        }
        if self.until < next.0 {
            next = (self.until, Next::End);
        } else if access < next.0 {
            next = (access, Next::Access);
        }
        next
    }

    /// Lets it happen.
    fn step(&mut self, (now, next): (Instant, Next)) {
        match next {
            Next::Event(number) => self.handle(number, now),
            Next::End => self.end(now),
            Next::Access => self.access(now),
        }
    }

    fn set_clocks(&mut self, now: Instant) {
        for network in &mut self.networks {
            network.now = now;
        }
    }

    fn handle(&mut self, number: usize, now: Instant) {
        let network = &mut self.networks[number];
        let Some((_, event)) = network.events.pop() else { return };
        network.processed += 1;
        network.now = now;
        network.handle(event);
        // A jam that begins: all networks on the channel meet the same ones.
        if let Some(end) = network.until.take() {
            self.until = if self.until == Instant::MAX { end } else { self.until.max(end) };
        }
    }

    /// Somebody transmits: one, or several at the same instant, which is a collision wherever they belong.
    fn access(&mut self, now: Instant) {
        self.set_clocks(now);
        let due = |network: &Simulation| network.next_access().is_some_and(|at| at <= now);
        let beacon = self.networks.iter().position(|network| network.beacon_is_due() && due(network));
        if let Some(sender) = beacon {
            self.send_beacon(sender, now);
            return;
        }
        let mut transmitters = 0;
        for network in &mut self.networks {
            if let (true, Some(idle_since)) = (due(network), network.idle_since) {
                network.processed += 1;
                network.elect(idle_since);
                transmitters += network.winners.len() as u16;
            }
        }
        if transmitters > 0 {
            self.become_busy();
        }
        let mut end = now;
        for network in &mut self.networks {
            network.punish_losers();
            if !network.winners.is_empty() {
                end = end.max(network.start_all(transmitters));
            }
        }
        if transmitters > 0 {
            self.since = Some(now);
            self.until = end;
        }
    }

    fn send_beacon(&mut self, sender: usize, now: Instant) {
        self.networks[sender].processed += 1;
        self.networks[sender].transmit_beacon();
        let end = self.networks[sender].until.take().unwrap_or(now);
        self.become_busy();
        for (number, network) in self.networks.iter_mut().enumerate() {
            if number != sender {
                network.note_busy(now, end);
            }
        }
        self.until = end;
    }

    fn become_busy(&mut self) {
        for network in &mut self.networks {
            if let Some(idle_since) = network.idle_since {
                network.become_busy(idle_since);
            }
        }
    }

    /// The channel is free, or the next exchange of a TXOP begins.
    fn end(&mut self, now: Instant) {
        self.set_clocks(now);
        self.until = Instant::MAX;
        let since = self.since.take();
        let collided = self.networks.iter().any(Simulation::has_collided);
        for network in &mut self.networks {
            if network.on_air.is_empty() {
                if let Some(since) = since {
                    network.note_busy(since, now);
                }
            } else {
                network.processed += 1;
                if network.finish_all() {
                    self.since = network.on_air.first().map(|one| one.start);
                    self.until = network.until.take().unwrap_or(now);
                }
            }
        }
        if self.since.is_some() {
            return;
        }
        for network in &mut self.networks {
            network.leave_air(collided);
            if let Some(jam) = network.until.take() {
                self.until = jam;
            }
        }
    }
}

/// All networks of a run.
pub(crate) struct Domains {
    /// One for each channel.
    domains: Vec<Domain>,
    /// What happens next on each.
    next: Vec<(Instant, Next)>,
}

impl Domains {
    /// The networks, grouped by channel; one network is a domain of its own.
    pub(crate) fn new(channels: Vec<Vec<Simulation>>) -> Self {
        let mut domains: Vec<Domain> =
            channels.into_iter().filter(|networks| !networks.is_empty()).map(Domain::new).collect();
        if let [Domain { networks, .. }] = domains.as_mut_slice()
            && let [only] = networks.as_mut_slice()
        {
            only.alone = true;
        }
        let next = domains.iter().map(Domain::next).collect();
        Self { domains, next }
    }

    /// The one network of a run that has no other.
    fn only(&mut self) -> Option<&mut Simulation> {
        match self.domains.as_mut_slice() {
            [Domain { networks, .. }] if networks.len() == 1 => networks.first_mut(),
            _ => None,
        }
    }

    /// Advances until `until` or the end of the run, whichever comes first. What the networks tell comes in the order of time,
    /// however long the pieces are in which a run advances.
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

    /// The networks, channel by channel.
    pub(crate) fn networks(&self) -> impl Iterator<Item = &Simulation> {
        self.domains.iter().flat_map(|domain| &domain.networks)
    }

    /// The same, to be changed.
    pub(crate) fn networks_mut(&mut self) -> impl Iterator<Item = &mut Simulation> {
        self.domains.iter_mut().flat_map(|domain| &mut domain.networks)
    }

    /// Gives them up, channel by channel.
    pub(crate) fn into_networks(self) -> impl Iterator<Item = Simulation> {
        self.domains.into_iter().flat_map(|domain| domain.networks)
    }

    /// How far the run has come.
    pub(crate) fn now(&self) -> Instant {
        self.networks().next().map_or(Instant::MAX, |network| network.now)
    }

    /// When it ends.
    pub(crate) fn end(&self) -> Instant {
        self.networks().next().map_or(Instant::ZERO, |network| network.parts.end)
    }
}

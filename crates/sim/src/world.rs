//! Everything that plays packets in simulated time: the one loop that chooses the next event.
//!
//! A world has networks, in collision domains by channel, and perhaps a session whose packets they carry. Whoever drives it from
//! outside pushes packets into flows, advances, and takes the fates of packets back.

use airbound_record::RunInfo;
use airbound_units::{Instant, Span};

use crate::conference::Conference;
use crate::endpoint::{Outgoing, Passed};
use crate::flow::flow_id;
use crate::measure::{Audience, Figures};
use crate::member::Member;
use crate::network::{CollisionDomain, Imbalance, Network, Shared};

/// The simulated part of a run.
pub(crate) struct World {
    /// One for each channel.
    domains: Vec<CollisionDomain>,
    /// The time of the next event of each domain.
    next: Vec<Instant>,
    /// The networks of the scenario, in the order of the domains.
    members: Vec<Member>,
    session: Option<Box<Conference>>,
    /// Reused buffer.
    passed: Vec<Passed>,
    now: Instant,
    end: Instant,
}

impl World {
    /// A world of networks.
    pub(crate) fn new(domains: Vec<CollisionDomain>, members: Vec<Member>) -> Self {
        let end = domains.first().map_or(Instant::ZERO, |domain| domain.shared.end);
        let next = domains.iter().map(CollisionDomain::next_event).collect();
        Self { domains, next, members, session: None, passed: Vec::new(), now: Instant::ZERO, end }
    }

    /// The world with the networks of another.
    pub(crate) fn beside(mut self, other: Self) -> Self {
        self.domains.extend(other.domains);
        self.next.extend(other.next);
        self.members.extend(other.members);
        self
    }

    /// The world with a session, whose clients' packets its networks carry.
    pub(crate) fn with_session(self, session: Conference) -> Self {
        Self { end: session.end(), session: Some(Box::new(session)), ..self }
    }

    /// The present simulated time.
    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    /// End of the run.
    pub(crate) const fn end(&self) -> Instant {
        self.end
    }

    /// The instant of the next event, at or after now; [`Instant::MAX`] for never.
    pub(crate) fn next_event(&self) -> Instant {
        let session = self.session.iter().map(|session| session.next_event());
        self.next.iter().copied().chain(session).min().unwrap_or(Instant::MAX)
    }

    /// Whether the transmitters of all networks contend for their channels.
    pub(crate) fn has_contention(&self) -> bool {
        self.domains.iter().all(|domain| domain.shared.has_contention())
    }

    /// Number of events so far, transmissions included.
    pub(crate) fn processed(&self) -> u64 {
        let session = self.session.as_ref().map_or(0, |session| session.processed());
        self.domains.iter().map(|domain| domain.shared.processed).sum::<u64>() + session
    }

    /// Advances until `until` or the end of the run, whichever comes first. Events are in order of time, and among equals in that of the
    /// domains, the session last, independent of the steps in which a run advances.
    pub(crate) fn advance(&mut self, until: Instant) {
        let until = until.min(self.end);
        loop {
            let session = self.session.as_ref().map_or(Instant::MAX, |session| session.next_event());
            let first = (0..self.next.len()).min_by_key(|domain| self.next[*domain]);
            match first.map(|first| (first, self.next[first])) {
                Some((first, at)) if at <= session && at <= until => {
                    let limit = self.until_others(first).min(session).min(until);
                    let domain = &mut self.domains[first];
                    domain.advance(limit, self.session.is_some().then_some(&mut self.passed));
                    self.next[first] = domain.next_event();
                    if let Some(session) = self.session.as_mut().filter(|_| !self.passed.is_empty()) {
                        session.on_passed(domain.shared.now, &mut self.passed);
                    }
                }
                _ if session <= until => {
                    if let Some(session) = &mut self.session {
                        session.step();
                    }
                }
                _ => break,
            }
            self.carry();
        }
        for domain in &mut self.domains {
            domain.shared.now = until;
        }
        self.now = until;
    }

    /// The time up to which a domain, whose next event is the first, may advance alone.
    fn until_others(&self, first: usize) -> Instant {
        let others = self.next.iter().enumerate().filter(|(domain, _)| *domain != first);
        let before = |(domain, next): (usize, &Instant)| {
            if domain < first { *next - Span::from_nanos(1) } else { *next }
        };
        others.map(before).min().unwrap_or(Instant::MAX)
    }

    /// Puts what the session sends on its way.
    fn carry(&mut self) {
        let Some(session) = &mut self.session else { return };
        let now = session.now();
        for (network, outgoing) in session.take_sent() {
            let mut first = 0;
            for (domain, next) in self.domains.iter_mut().zip(&mut self.next) {
                if let Some(network) = domain.networks.get_mut(network - first) {
                    domain.shared.now = now;
                    network.send(&mut domain.shared, outgoing);
                    *next = domain.next_event();
                    break;
                }
                first += domain.networks.len();
            }
        }
    }

    /// Sends a packet of the caller now, into the flow with this number in the scenario.
    pub(crate) fn push(&mut self, flow: usize, packet: Outgoing) {
        self.in_network(flow, |network, shared, own| {
            network.send(shared, Outgoing { flow: flow_id(own), ..packet });
        });
    }

    /// Moves the fates of the caller's packets since the last call to `into`, network by network, each in order.
    pub(crate) fn take(&mut self, into: &mut Vec<Passed>) {
        let has_session = self.session.is_some();
        for network in self.networks_mut() {
            network.take_fates(|doors| doors.gate, into);
            if !has_session {
                network.take_fates(|doors| doors.carried, into);
            }
        }
    }

    /// Calls `act` with the network of a flow of the scenario, and the flow's number there; `None` if there is no such flow.
    pub(crate) fn in_network<T>(
        &mut self,
        flow: usize,
        act: impl FnOnce(&mut Network, &mut Shared, usize) -> T,
    ) -> Option<T> {
        let number = self.members.iter().position(|member| member.flows.contains(&flow))?;
        let own = flow - self.members[number].flows.start;
        self.act(number, |network, shared| act(network, shared, own))
    }

    /// Lets a network act between two events; `None` if there is none of this number.
    pub(crate) fn act<T>(
        &mut self,
        mut number: usize,
        act: impl FnOnce(&mut Network, &mut Shared) -> T,
    ) -> Option<T> {
        for (domain, next) in self.domains.iter_mut().zip(&mut self.next) {
            if let Some(network) = domain.networks.get_mut(number) {
                domain.shared.now = self.now;
                let result = act(network, &mut domain.shared);
                *next = domain.next_event();
                return Some(result);
            }
            number -= domain.networks.len();
        }
        None
    }

    /// Makes now the end of the run; returns the measured time.
    pub(crate) fn end_now(&mut self) -> Span {
        self.end = self.now;
        self.domains.iter_mut().map(CollisionDomain::end_now).max().unwrap_or(Span::ZERO)
    }

    /// Runs to the end, and checks conservation in each network.
    ///
    /// # Errors
    /// [`Imbalance`] if a packet was lost or counted twice, which is a defect of the simulator.
    pub(crate) fn run_out(&mut self) -> Result<(), Imbalance> {
        self.advance(Instant::MAX);
        for domain in &mut self.domains {
            for network in &mut domain.networks {
                // Counters are read only when all that has arrived is in the queues.
                network.take_in_all(&mut domain.shared);
                network.check_conservation()?;
                network.note_found();
                network.end_frames();
            }
        }
        Ok(())
    }

    /// Gives the observer's audience to all parts, before the first event.
    pub(crate) fn observe(&mut self, audience: &Audience) {
        self.networks_mut().for_each(|network| network.parts.meters.rows.audience = audience.clone());
    }

    /// Networks with their places in the scenario, channel by channel.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&Member, &Network)> {
        self.members.iter().zip(self.networks())
    }

    /// The figures of each network at the end; `info` names its stations.
    pub(crate) fn figures(&mut self, info: &RunInfo) -> Vec<(Member, Figures)> {
        let networks = self.domains.iter_mut().flat_map(|domain| &mut domain.networks);
        let figures = |(member, network): (&Member, &mut Network)| {
            (member.clone(), network.parts.meters.figures(member.stations(info)))
        };
        self.members.iter().zip(networks).map(figures).collect()
    }

    /// The networks, channel by channel.
    pub(crate) fn networks(&self) -> impl Iterator<Item = &Network> {
        self.domains.iter().flat_map(|domain| &domain.networks)
    }

    /// The networks, mutable.
    pub(crate) fn networks_mut(&mut self) -> impl Iterator<Item = &mut Network> {
        self.domains.iter_mut().flat_map(|domain| &mut domain.networks)
    }

    /// The session, if there is one.
    pub(crate) fn session(&mut self) -> Option<&mut Conference> {
        self.session.as_deref_mut()
    }
}

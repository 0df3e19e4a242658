//! The server's end: it collects all capacities, decides for all clients, and notifies them.

use std::collections::BTreeMap;

use airbound_units::{BitRate, ConfigError, Instant};

use super::capacity::{BadEstimate, Capacity, believable};
use super::config::PlumConfig;
use super::notice::{Notice, Outbox};
use super::state::{RateGate, State};
use crate::conference::optimum::Allocation;
use crate::conference::problem::{Problem, ProblemError, Share, User};

/// A participant of a session, numbered by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u16);

/// The server's state of one client.
#[derive(Debug, Clone, Copy)]
struct Member {
    weight: f64,
    capacity: Capacity,
    state: State,
    gate: RateGate,
    outbox: Outbox,
    target: Option<Share>,
}

impl Member {
    /// The rate that an uplink whose downlink gives way does not reach yet.
    fn unreached(&self) -> Option<BitRate> {
        let (target, natural) = (self.target?, self.capacity.natural()?);
        let yields = matches!(self.state, State::ServerConstrained { .. });
        (yields && natural.up < target.up.mul_f64(State::REACHED)).then_some(target.up)
    }
}

/// The server of a session under Plum.
///
/// Pass it estimates with [`PlumServer::on_estimates`] and acknowledgements; call [`PlumServer::on_deadline`] at
/// [`PlumServer::next_deadline`], then [`PlumServer::poll_notice`] until it returns `None`; limit forwarding to a client to
/// [`PlumServer::limit`].
#[derive(Debug, Clone)]
pub struct PlumServer {
    config: PlumConfig,
    least_up: BitRate,
    members: BTreeMap<ClientId, Member>,
    now: Instant,
    next_check: Instant,
    /// A client joined, left, changed its weight or has no estimates yet: a new allocation is needed even if no capacity changes.
    stale: bool,
    last: Option<Allocation>,
    error: Option<ProblemError>,
    computed: u64,
    /// Uplinks to be probed, and up to which rates.
    probes: Vec<(ClientId, BitRate)>,
}

impl PlumServer {
    /// Creates a session without participants. `least_up` is the lowest bitrate of an encoder.
    ///
    /// # Errors
    /// The first value of `config` out of range.
    pub fn new(config: PlumConfig, least_up: BitRate) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            least_up,
            members: BTreeMap::new(),
            now: Instant::ZERO,
            next_check: Instant::ZERO + config.period,
            stale: false,
            last: None,
            error: None,
            computed: 0,
            probes: Vec::new(),
        })
    }

    /// Adds a client in the natural state; for a known client only its weight changes. A weight that is not above 0 and finite counts as 1.
    pub fn join(&mut self, client: ClientId, weight: f64) {
        let weight = if weight.is_finite() && weight > 0.0 { weight } else { 1.0 };
        let member = self.members.entry(client).or_insert(Member {
            weight,
            capacity: Capacity::default(),
            state: State::Natural,
            gate: RateGate::default(),
            outbox: Outbox::default(),
            target: None,
        });
        member.weight = weight;
        self.stale = true;
    }

    /// Removes a client.
    pub fn leave(&mut self, client: ClientId) {
        self.stale |= self.members.remove(&client).is_some();
    }

    /// Takes the estimates of the congestion controls of a client's two directions, in bit/s: the client's own estimate of its uplink
    /// arrives in a message of one float, which may have any value.
    ///
    /// # Errors
    /// An estimate is implausible. Both are then ignored, and the allocation in force remains.
    pub fn on_estimates(&mut self, client: ClientId, up: f64, down: f64) -> Result<(), BadEstimate> {
        let up = believable(client.0, "uplink", up)?;
        let down = believable(client.0, "downlink", down)?;
        if let Some(member) = self.members.get_mut(&client) {
            member.capacity.on_up(up);
            member.capacity.on_down(down);
        }
        Ok(())
    }

    /// Notes that the client acknowledged a notice.
    pub fn on_acknowledged(&mut self, client: ClientId, sequence: u32) {
        if let Some(member) = self.members.get_mut(&client) {
            member.outbox.on_acknowledged(sequence);
        }
    }

    /// When [`Self::on_deadline`] or [`Self::poll_notice`] has to be called at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let repeats = self.members.values().filter_map(|member| member.outbox.due());
        repeats.fold(self.next_check, Instant::min)
    }

    /// Checks capacities if it is due.
    pub fn on_deadline(&mut self, now: Instant) {
        self.now = self.now.max(now);
        if self.now < self.next_check {
            return;
        }
        self.next_check = self.now + self.config.period;
        for member in self.members.values_mut() {
            member.capacity.check(self.config.reading);
        }
        let changed = |member: &Member| member.capacity.changed(member.state, self.config.change);
        if self.stale || self.members.values().any(changed) {
            self.reallocate();
        }
        if self.config.probe {
            self.probes =
                self.members.iter().filter_map(|(id, member)| Some((*id, member.unreached()?))).collect();
        }
    }

    /// Computes new targets, and the states that lead there. Clients without estimates stay natural and are left out.
    fn reallocate(&mut self) {
        let heard: Vec<(ClientId, User, Share)> = self
            .members
            .iter()
            .filter_map(|(id, member)| {
                let now = member.capacity.in_use(member.state)?;
                Some((
                    *id,
                    User { capacity: now.up + now.down, weight: member.weight, least_down: BitRate::ZERO },
                    now,
                ))
            })
            .collect();
        let problem = Problem {
            users: heard.iter().map(|(_, user, _)| *user).collect(),
            qoe: self.config.qoe,
            rho: self.config.rho,
            max_bitrate: self.config.max_bitrate,
            source_cap: self.config.source_cap(heard.len()),
            least_up: self.least_up,
            least_down: self.config.least_down,
        };
        self.computed += 1;
        let allocation = match problem.solve() {
            Ok(allocation) => allocation,
            // The previous decision stays in force.
            Err(error) => {
                self.error = Some(error);
                return;
            }
        };
        self.error = problem.validate(&allocation.shares).err();
        let valid = self.error.is_none();
        for ((id, _, in_use), share) in heard.iter().zip(&allocation.shares) {
            let Some(member) = self.members.get_mut(id) else { continue };
            // The measured capacity belongs to the old state: it is noted before the state changes.
            member.capacity.act(member.state);
            let natural = member.capacity.natural().unwrap_or(*in_use);
            member.target = valid.then_some(*share);
            member.state = if valid { State::towards(*share, natural) } else { State::Natural };
            member.gate.set(member.state.server_limit(), in_use.down);
            member.outbox.put(self.now, member.state.client_rate());
        }
        self.stale = heard.len() < self.members.len();
        if valid {
            self.last = Some(allocation);
        }
    }

    /// Returns the next notice to send, and its client; call until `None`.
    pub fn poll_notice(&mut self, now: Instant) -> Option<(ClientId, Notice)> {
        self.now = self.now.max(now);
        let (now, repeat) = (self.now, self.config.repeat);
        self.members
            .iter_mut()
            .find_map(|(id, member)| member.outbox.poll(now, repeat).map(|notice| (*id, notice)))
    }

    /// A client whose uplink is to be probed, and up to which rate; call until `None`.
    pub fn take_probe(&mut self) -> Option<(ClientId, BitRate)> {
        self.probes.pop()
    }

    /// Returns the rate at which the server may forward to a client; `None` while the server is natural towards it.
    #[must_use]
    pub fn limit(&self, client: ClientId) -> Option<BitRate> {
        self.members.get(&client)?.gate.limit()
    }

    /// The rate at which forwarding to a client resumes, returned once after it was released.
    pub fn take_restored(&mut self, client: ClientId) -> Option<BitRate> {
        self.members.get_mut(&client)?.gate.take_restored()
    }

    /// The state of a client.
    #[must_use]
    pub fn state(&self, client: ClientId) -> Option<State> {
        self.members.get(&client).map(|member| member.state)
    }

    /// The target of a client, once there is one.
    #[must_use]
    pub fn target(&self, client: ClientId) -> Option<Share> {
        self.members.get(&client)?.target
    }

    /// The present capacity of a client.
    #[must_use]
    pub fn capacity(&self, client: ClientId) -> Option<BitRate> {
        self.members.get(&client).and_then(|member| member.capacity.sum(member.state))
    }

    /// The allocation in force.
    #[must_use]
    pub const fn allocation(&self) -> Option<&Allocation> {
        self.last.as_ref()
    }

    /// The error of the last computation, if it failed.
    #[must_use]
    pub const fn error(&self) -> Option<&ProblemError> {
        self.error.as_ref()
    }

    /// Returns the number of computations of targets, failed ones included.
    #[must_use]
    pub const fn computed(&self) -> u64 {
        self.computed
    }
}

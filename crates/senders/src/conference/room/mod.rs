//! A room: members with simulcast layers around a forwarding server, decided as one.
//!
//! ```text
//!  layers of senders ──────────────┐
//!  estimates (rate, kind, age) ──► coordination (Plum) ──► holds of senders, of forwarding
//!                                  │                             │
//!  views (source, size) ──────────►└──────► choice of layers ◄───┘──► forward, probe, reasons
//! ```
//! The driver owns the network: it measures layers and estimates, carries out [`Action`]s, and calls [`Room::on_deadline`] at
//! [`Room::next_deadline`]. Each decision has a [`Reason`] that names the constraint that binds it: without that constraint the same
//! decision would be higher.
//!
//! ```
//! use airbound_senders::conference::ClientId;
//! use airbound_senders::conference::room::{Action, Estimate, EstimateKind, Room, RoomConfig, Viewing};
//! use airbound_units::{BitRate, Instant, Span};
//!
//! let mut room = Room::new(RoomConfig::default())?;
//! let (ann, ben, now) = (ClientId(1), ClientId(2), Instant::ZERO + Span::from_secs(1));
//! room.join(now, ann, 1.0);
//! room.join(now, ben, 1.0);
//! room.on_layers(now, ann, &[BitRate::from_kbps(120), BitRate::from_kbps(1000)]);
//! room.on_views(now, ben, &[Viewing { source: ann, largest: 1, priority: 0 }]);
//! room.on_downlink(now, ben, Estimate { rate: BitRate::from_kbps(600), kind: EstimateKind::Exact, at: now });
//! room.on_deadline(now);
//! assert_eq!(room.poll_action(now), Some(Action::Forward { viewer: ben, source: ann, layer: Some(0) }));
//! let reason = room.explain(ben, ann).expect("decided");
//! assert_eq!(reason.to_string(), "layer 2 needs 880 kb/s more; 120 kb/s of 570 kb/s are in use on your downlink");
//! # Ok::<(), airbound_units::ConfigError>(())
//! ```

mod choice;
mod config;
mod coordinate;
mod estimate;
mod member;
mod reason;
mod recovery;
mod sound;
mod unused;

use std::collections::{BTreeMap, VecDeque};

use airbound_units::{BitRate, ConfigError, Instant};

pub use choice::MOST_LAYERS;
use choice::{Demand, choose};
pub use config::{RoomConfig, RoomPolicy};
pub use coordinate::Channel;
use coordinate::Coordinator;
pub use estimate::{Estimate, EstimateKind, Gauge};
pub use member::{MOST_VIEWS, Viewing};
use member::{Member, Step, Watched};
pub use reason::{Constraint, Reason, SenderReason};
use reason::{Decided, binding_of};
use recovery::Found;

use super::plum::{ClientId, Notice, State};
use super::problem::{Problem, Share};

/// A task of the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send a notice to a member: the rate at which it encodes, 0 for its natural one.
    Hold {
        /// The member.
        member: ClientId,
        /// The notice.
        notice: Notice,
        /// The number of its layers in use, from the smallest, if the others are to be switched off.
        layers: Option<u8>,
    },
    /// Forward a layer of a source to a viewer, from its next key frame on if it is a higher one.
    Forward {
        /// The viewer.
        viewer: ClientId,
        /// The source.
        source: ClientId,
        /// The layer; none to stop.
        layer: Option<u8>,
    },
    /// Fill the downlink of a member up to a rate, with padding if need be, to learn whether it carries more; none to stop.
    Probe {
        /// The member.
        member: ClientId,
        /// The rate.
        rate: Option<BitRate>,
    },
    /// Let a member fill its uplink up to a rate for a moment, with padding if need be: its downlink gave way, and a congestion control that was
    /// limited does not look for more by itself.
    ProbeUplink {
        /// The member.
        member: ClientId,
        /// The rate.
        rate: BitRate,
    },
    /// Estimate the downlink of a member anew, from a rate on: what its congestion control has learnt of losses is of a fault that is over.
    Begin {
        /// The member.
        member: ClientId,
        /// The estimate, at least 100 kbit/s.
        rate: BitRate,
    },
}

/// Counts of a room's decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoomCounters {
    /// Decisions on layers.
    pub decisions: u64,
    /// Upward steps.
    pub raised: u64,
    /// Downward steps.
    pub lowered: u64,
    /// Solved allocations of both directions.
    pub solved: u64,
    /// Allocations that had no solution.
    pub failed: u64,
}

/// The state of a room.
#[derive(Debug, Clone)]
pub struct Room {
    config: RoomConfig,
    members: BTreeMap<ClientId, Member>,
    coordinator: Coordinator,
    now: Instant,
    next: Instant,
    urgent: bool,
    actions: VecDeque<Action>,
    decided: Decided,
    counters: RoomCounters,
}

impl Room {
    /// Creates an empty room.
    ///
    /// # Errors
    /// The first value of `config` out of range.
    pub fn new(config: RoomConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            config,
            members: BTreeMap::new(),
            coordinator: Coordinator::default(),
            now: Instant::ZERO,
            next: Instant::ZERO,
            urgent: false,
            actions: VecDeque::new(),
            decided: Decided::default(),
            counters: RoomCounters::default(),
        })
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &RoomConfig {
        &self.config
    }

    /// Changes the configuration. A change of the policy ends the holds of the previous one.
    ///
    /// # Errors
    /// The first value of `config` out of range; the previous configuration stays.
    pub fn set_config(&mut self, now: Instant, config: RoomConfig) -> Result<(), ConfigError> {
        config.check()?;
        self.at(now);
        if config.coordinates() != self.config.coordinates() {
            self.coordinator.in_force = None;
            self.coordinator.stale = true;
            self.members.values_mut().for_each(|member| member.link.release());
        }
        self.config = config;
        self.urgent = true;
        Ok(())
    }

    /// Adds a member; for a known one only its weight changes. A weight that is not above 0 and finite counts as 1.
    pub fn join(&mut self, now: Instant, member: ClientId, weight: f64) {
        self.at(now);
        let weight = if weight.is_finite() && weight > 0.0 { weight } else { 1.0 };
        self.members.entry(member).or_insert_with(|| Member::new(weight)).link.weight = weight;
        self.coordinator.stale = true;
    }

    /// Removes a member; what others saw of it ends with the next decision.
    pub fn leave(&mut self, now: Instant, member: ClientId) {
        self.at(now);
        if self.members.remove(&member).is_some() {
            self.coordinator.stale = true;
            self.urgent = true;
        }
    }

    /// Takes the measured rates of a source's layers, the smallest first; 0 for a layer that is not sent. Layers that have grown beyond what
    /// a link may carry make a decision due at once.
    pub fn on_layers(&mut self, now: Instant, source: ClientId, rates: &[BitRate]) {
        self.take_layers(now, source, rates, false);
    }

    /// Takes the rates of a source's scalable layers, each with those below it, the smallest first: layers of VP9 or AV1, of which the sender sends
    /// the largest. Elsewise as [`Self::on_layers`].
    pub fn on_scalable_layers(&mut self, now: Instant, source: ClientId, rates: &[BitRate]) {
        self.take_layers(now, source, rates, true);
    }

    fn take_layers(&mut self, now: Instant, source: ClientId, rates: &[BitRate], scalable: bool) {
        self.at(now);
        let Some(member) = self.members.get_mut(&source) else { return };
        let (before, now) = (member.offered, self.now);
        member.unused.scalable = scalable;
        member.set_layers(now, rates);
        let grown = before.iter().zip(&member.offered).any(|(before, after)| after > before);
        self.urgent |= grown && self.is_exceeded_by(source);
    }

    /// Takes the sources that a viewer asks for, which replace earlier ones.
    pub fn on_views(&mut self, now: Instant, viewer: ClientId, views: &[Viewing]) {
        self.at(now);
        if let Some(member) = self.members.get_mut(&viewer) {
            member.set_views(viewer, views);
            self.urgent = true;
        }
    }

    /// Takes an estimate of a member's uplink.
    pub fn on_uplink(&mut self, now: Instant, member: ClientId, estimate: Estimate) {
        self.at(now);
        if let Some(member) = self.members.get_mut(&member) {
            self.coordinator.stale |= member.link.up.is_none();
            member.link.up = Some(estimate);
        }
    }

    /// Takes an estimate of a member's downlink. One below what is forwarded makes a decision due at once.
    pub fn on_downlink(&mut self, now: Instant, member: ClientId, estimate: Estimate) {
        self.at(now);
        let Some(own) = self.members.get_mut(&member) else { return };
        self.coordinator.stale |= own.link.down.is_none();
        own.link.down = Some(estimate);
        self.urgent |= self.exceeds(member);
    }

    /// Takes the channel that both directions of a member share, or that there is none any more. Without one, a link counts as shared once both of its
    /// estimates are exact.
    pub fn on_channel(&mut self, now: Instant, member: ClientId, channel: Option<Channel>) {
        self.at(now);
        if let Some(member) = self.members.get_mut(&member) {
            self.coordinator.stale |= member.link.channel.is_some() != channel.is_some();
            member.link.channel = channel;
        }
    }

    /// Sets the floor of a viewer's downlink under Plum; none for [`RoomConfig::least_down`].
    pub fn on_floor(&mut self, now: Instant, member: ClientId, floor: Option<BitRate>) {
        self.at(now);
        if let Some(member) = self.members.get_mut(&member) {
            self.coordinator.stale |= member.link.floor != floor;
            member.link.floor = floor;
        }
    }

    /// Takes whether packets are lost or wait on a member's link now, in either direction. A member of whom this is told is told back when its
    /// downlink has to be estimated anew ([`Action::Begin`]): after a fault, once nothing was lost and nothing waited for a second.
    pub fn on_path(&mut self, now: Instant, member: ClientId, trouble: bool) {
        self.at(now);
        let now = self.now;
        if let Some(member) = self.members.get_mut(&member) {
            member.recovery.on_path(now, trouble);
        }
    }

    /// Takes that sound is lost on its way to a member now. If no picture is forwarded to it, its own pictures are held for it, under any policy.
    pub fn on_sound_lost(&mut self, now: Instant, member: ClientId) {
        self.at(now);
        let now = self.now;
        if let Some(member) = self.members.get_mut(&member) {
            member.sound.on_lost(now);
        }
    }

    /// Notes that a member speaks.
    pub fn on_speech(&mut self, now: Instant, member: ClientId) {
        self.at(now);
        let now = self.now;
        if let Some(member) = self.members.get_mut(&member) {
            member.spoke = now;
        }
    }

    /// Notes that a member acknowledged a notice.
    pub fn on_acknowledged(&mut self, member: ClientId, sequence: u32) {
        if let Some(member) = self.members.get_mut(&member) {
            member.outbox.on_acknowledged(sequence);
        }
    }

    /// When [`Self::on_deadline`] has to be called at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        if self.urgent {
            return self.now;
        }
        let repeats = self.members.values().filter_map(|member| member.outbox.due());
        let coordination = if self.config.coordinates() {
            self.coordinator.next_deadline(self.members.values().map(|member| &member.link))
        } else {
            Instant::MAX
        };
        repeats.fold(self.next.min(coordination), Instant::min)
    }

    /// Decides what is due; then call [`Self::poll_action`] until it returns `None`.
    pub fn on_deadline(&mut self, now: Instant) {
        self.at(now);
        let now = self.now;
        if self.config.coordinates() {
            let mut links: Vec<_> =
                self.members.iter_mut().map(|(id, member)| (*id, &mut member.link)).collect();
            let solved = self.coordinator.solved;
            self.coordinator.advance(now, &mut links, &self.config);
            let probes = self.coordinator.probes.drain(..);
            self.actions.extend(probes.map(|(member, rate)| Action::ProbeUplink { member, rate }));
            // A new hold is kept at once.
            self.urgent |= self.coordinator.solved != solved;
        }
        if self.urgent || now >= self.next {
            self.urgent = false;
            self.next = now + self.config.period;
            self.decide();
        }
        for member in self.members.values_mut() {
            let rate = member.held();
            member.outbox.put(now, rate);
        }
    }

    /// Returns the next action; call until `None`.
    pub fn poll_action(&mut self, now: Instant) -> Option<Action> {
        self.at(now);
        if let Some(action) = self.actions.pop_front() {
            return Some(action);
        }
        let (now, repeat) = (self.now, self.config.repeat);
        self.members.iter_mut().find_map(|(id, member)| {
            let notice = member.outbox.poll(now, repeat)?;
            Some(Action::Hold { member: *id, notice, layers: member.layers() })
        })
    }

    /// The layers forwarded to a viewer, with their rates.
    pub fn forwarded_to(&self, viewer: ClientId) -> impl Iterator<Item = (ClientId, u8, BitRate)> {
        self.members.get(&viewer).into_iter().flat_map(|member| &member.watched).filter_map(|watched| {
            let (source, layer) = (watched.view.source, watched.current?);
            let rates = self.members.get(&source)?.offered;
            let rate = rates.get(usize::from(layer)).copied().unwrap_or(0);
            Some((source, layer, BitRate::from_bps(rate)))
        })
    }

    /// Rates of a source's layers, the smallest first, with those that its layers had which are held back now; 0 for one that is not sent.
    #[must_use]
    pub fn layers_of(&self, source: ClientId) -> [BitRate; MOST_LAYERS] {
        self.members.get(&source).map_or([0; MOST_LAYERS], |member| member.offered).map(BitRate::from_bps)
    }

    /// The reason for what a viewer gets of a source, as of the latest decision.
    #[must_use]
    pub fn explain(&self, viewer: ClientId, source: ClientId) -> Option<Reason> {
        self.decided.reason(viewer, source, self.config.margin)
    }

    /// The reason for the rate of a sender. Solves the allocation several times: not for each packet.
    #[must_use]
    pub fn explain_sender(&self, member: ClientId) -> Option<SenderReason> {
        let known = self.members.get(&member)?;
        let link = &known.link;
        let natural = link.up.map_or(0, |estimate| estimate.rate.as_bps());
        let holds = [(known.sound.limit(), Constraint::Sound), (known.unused.limit(), Constraint::Viewers)];
        if let Some((limit, constraint)) = holds.into_iter().find(|(limit, _)| *limit == Some(known.held())) {
            let held = limit.map(BitRate::as_bps);
            return Some(SenderReason { held, natural, binding: vec![constraint], gain: 0 });
        }
        let State::ClientConstrained { rate } = link.state else {
            return Some(SenderReason { held: None, natural, binding: Vec::new(), gain: 0 });
        };
        let present = link.down.map_or(0, |estimate| estimate.rate.as_bps());
        let gain = link.target.map_or(0, |target| target.down.as_bps()).saturating_sub(present);
        let binding = self.coordinator.in_force.as_ref().and_then(|force| {
            let index = force.members.iter().position(|id| *id == member)?;
            Some(binding_of(&force.problem, index, rate))
        });
        let held = Some(rate.as_bps());
        Some(SenderReason { held, natural, binding: binding.unwrap_or_default(), gain })
    }

    /// The state of a member's link.
    #[must_use]
    pub fn state(&self, member: ClientId) -> Option<State> {
        self.members.get(&member).map(|member| member.link.state)
    }

    /// The channel that both directions of a member share, while it is known.
    #[must_use]
    pub fn channel(&self, member: ClientId) -> Option<Channel> {
        let channel = self.members.get(&member)?.link.channel;
        channel.filter(|channel| self.now.since(channel.at) <= self.config.fresh)
    }

    /// The target of a member under Plum, once there is one.
    #[must_use]
    pub fn target(&self, member: ClientId) -> Option<Share> {
        self.members.get(&member)?.link.target
    }

    /// The problem whose solution is in force, with its members in order.
    #[must_use]
    pub fn problem(&self) -> Option<(&[ClientId], &Problem)> {
        self.coordinator.in_force.as_ref().map(|force| (force.members.as_slice(), &force.problem))
    }

    /// The members.
    pub fn members(&self) -> impl Iterator<Item = ClientId> {
        self.members.keys().copied()
    }

    /// The counts so far.
    #[must_use]
    pub const fn counters(&self) -> RoomCounters {
        RoomCounters { solved: self.coordinator.solved, failed: self.coordinator.failed, ..self.counters }
    }

    fn at(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    fn outbound(&self, viewer: ClientId) -> u64 {
        self.forwarded_to(viewer).map(|(.., rate)| rate.as_bps()).fold(0, u64::saturating_add)
    }

    /// More is forwarded to a viewer than its link may carry.
    fn exceeds(&self, viewer: ClientId) -> bool {
        self.members.get(&viewer).is_some_and(|own| {
            let hold = own.link.forwarding_limit().map_or(u64::MAX, BitRate::as_bps);
            self.outbound(viewer) > own.downlink(&self.config).min(hold)
        })
    }

    /// More of a source is forwarded than the link of a viewer, or the server's, may carry.
    fn is_exceeded_by(&self, source: ClientId) -> bool {
        let gets = |member: &Member| {
            member.watched.iter().any(|watched| watched.view.source == source && watched.current.is_some())
        };
        let mut viewers = self.members.iter().filter(|(_, member)| gets(member)).map(|(id, _)| *id);
        if viewers.any(|viewer| self.exceeds(viewer)) {
            return true;
        }
        let outbound =
            || self.members.keys().map(|viewer| self.outbound(*viewer)).fold(0, u64::saturating_add);
        self.config.server.is_some_and(|server| outbound() > server.as_bps())
    }

    /// The members whose streams the policy does not forward.
    fn paused(&self) -> Vec<ClientId> {
        if self.config.policy != RoomPolicy::LastN {
            return Vec::new();
        }
        let mut speakers: Vec<_> = self.members.iter().map(|(id, member)| (member.spoke, *id)).collect();
        speakers.sort_by_key(|(spoke, id)| (std::cmp::Reverse(*spoke), *id));
        speakers.into_iter().skip(self.config.active).map(|(_, id)| id).collect()
    }

    fn demands(&self) -> Vec<Demand> {
        let paused = self.paused();
        let rates = |source| self.members.get(&source).map_or([0; MOST_LAYERS], |member| member.offered);
        self.members
            .values()
            .map(|member| Demand {
                capacity: member.downlink(&self.config),
                measured: member.link.down.is_some(),
                hold: member.link.forwarding_limit().map(BitRate::as_bps),
                trial: !member.sound.suffers(self.now)
                    && member.link.down.is_none_or(|down| {
                        down.kind_at(self.now, self.config.fresh) == EstimateKind::AtLeast
                    }),
                wishes: member
                    .watched
                    .iter()
                    .map(|watched| {
                        let source = watched.view.source;
                        watched.wish(rates(source), paused.contains(&source))
                    })
                    .collect(),
            })
            .collect()
    }

    /// Holds back what no viewer takes, where the policy does so.
    fn hold_unused(&mut self, chosen: &choice::Choice) {
        let now = self.now;
        if !self.config.policy.suspends() {
            self.members.values_mut().for_each(|member| member.unused.release());
            return;
        }
        let count = |layer: Option<u8>| layer.map_or(0, |layer| usize::from(layer) + 1);
        // For each source, the layers that are taken, and those that fit.
        let mut most: BTreeMap<ClientId, [usize; 2]> = BTreeMap::new();
        for (member, targets) in self.members.values().zip(chosen) {
            for (watched, target) in member.watched.iter().zip(targets) {
                let [taken, fit] = most.entry(watched.view.source).or_default();
                *taken = (*taken).max(count(watched.current));
                *fit = (*fit).max(count(*target));
            }
        }
        for (id, member) in &mut self.members {
            let [taken, fit] = most.get(id).copied().unwrap_or_default();
            member.unused.look(now, taken, fit);
        }
    }

    fn decide(&mut self) {
        let (now, config) = (self.now, self.config);
        self.counters.decisions += 1;
        let forwarded: Vec<u64> = self.members.keys().map(|viewer| self.outbound(*viewer)).collect();
        for (member, forwarded) in self.members.values_mut().zip(forwarded) {
            member.sound.look(now, BitRate::from_bps(member.sent()), forwarded);
        }
        let mut demands = self.demands();
        let server = config.server.map(BitRate::as_bps);
        let chosen = choose(&demands, server, config.margin);
        for (((viewer, member), demand), targets) in self.members.iter_mut().zip(&mut demands).zip(&chosen) {
            for ((watched, wish), target) in member.watched.iter_mut().zip(&mut demand.wishes).zip(targets) {
                let Some(step) = watched.follow(*target, now, &config) else { continue };
                wish.current = watched.current;
                match step {
                    Step::Raised => self.counters.raised += 1,
                    Step::Lowered => self.counters.lowered += 1,
                }
                let (source, layer) = (wish.source, wish.current);
                self.actions.push_back(Action::Forward { viewer: *viewer, source, layer });
            }
            let sent = member.sent();
            if let Some(down) = member.link.down {
                let up = member.link.up.map_or(0, |up| up.rate.min(config.source).as_bps());
                let estimated = [down.rate.as_bps(), up].map(|rate| rate as f64);
                let carried = [demand.used(), sent].map(|rate| rate as f64);
                let gives_way = member.link.gives_way();
                match member.recovery.look(now, estimated, carried, gives_way) {
                    Found::Nothing => {}
                    Found::Begin => {
                        let rate = member.recovery.first_rate(down.rate);
                        self.actions.push_back(Action::Begin { member: *viewer, rate });
                    }
                    Found::Over => member.watched.iter_mut().for_each(Watched::forgive),
                }
            }
            // Padding would be lost together with sound.
            let wanted = probe_of(&member.link, demand, now, &config).filter(|_| !member.sound.suffers(now));
            if differs(member.probe, wanted) {
                member.probe = wanted;
                self.actions.push_back(Action::Probe { member: *viewer, rate: wanted });
            }
        }
        self.hold_unused(&chosen);
        self.decided = Decided { viewers: self.members.keys().copied().collect(), demands, server };
    }
}

/// The rate at which a downlink has to be filled to show that the next layer fits. Only a link of which no more than a lower bound is known,
/// and of which no direction is held, is probed: padding takes from the other direction.
fn probe_of(link: &coordinate::Link, demand: &Demand, now: Instant, config: &RoomConfig) -> Option<BitRate> {
    let estimate = link.down?;
    if link.is_held() || estimate.kind_at(now, config.fresh) == EstimateKind::Exact {
        return None;
    }
    let next = |wish: &choice::Wish| {
        let next = wish.above(wish.current).filter(|next| *next <= wish.largest && !wish.paused)?;
        Some(wish.rate(Some(next)) - wish.rate(wish.current))
    };
    let step = demand.wishes.iter().filter_map(next).min()?;
    let needed = demand.used().saturating_add(step);
    let fits = (demand.budget() as f64 * (1.0 - config.margin)) as u64;
    let paced = needed as f64 / (config.headroom * (1.0 - config.margin));
    (needed > fits).then(|| BitRate::from_bps_f64(paced))
}

/// Change of a probe's rate below which the running probe goes on.
const PROBE_CHANGE: f64 = 0.1;

fn differs(running: Option<BitRate>, wanted: Option<BitRate>) -> bool {
    match (running, wanted) {
        (None, None) => false,
        (Some(running), Some(wanted)) => {
            let (running, wanted) = (running.as_bps(), wanted.as_bps());
            running.abs_diff(wanted) as f64 > PROBE_CHANGE * running as f64
        }
        _ => true,
    }
}

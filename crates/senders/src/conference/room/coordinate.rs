//! Coordination of the two directions of each measured link (Plum, Sec. III-D), for links whose estimates may be lower bounds.
//!
//! A link is held once its capacity is known: both of its estimates are exact, or somebody beside the congestion controls tells the sum of both
//! directions ([`Channel`]). Before, it counts with what is known to fit.
//! While a direction is held its natural estimate freezes. It ages, so the hold is released briefly to look again.

use airbound_units::{BitRate, Instant};

use super::config::RoomConfig;
use super::estimate::{Estimate, EstimateKind};
use crate::conference::plum::{Capacity, ClientId, Reading, State};
use crate::conference::problem::{Problem, Share, User};
use crate::conference::qoe::Qoe;

/// A channel that both directions of a member share, as its station or access point knows it: PHY rate times free airtime. It needs no traffic that
/// fills it, where the sum of two estimates does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Channel {
    /// B: the rate that both directions have together.
    pub sum: BitRate,
    /// When it was measured. It counts for [`RoomConfig::fresh`].
    pub at: Instant,
}

/// One member's link under coordination.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Link {
    pub(super) up: Option<Estimate>,
    pub(super) down: Option<Estimate>,
    pub(super) weight: f64,
    pub(super) channel: Option<Channel>,
    /// Floor of its downlink, instead of the configuration's.
    pub(super) floor: Option<BitRate>,
    /// The sum of its channel that was last acted upon.
    acted: Option<BitRate>,
    /// The capacity is known: both estimates were exact, or there is a channel.
    measured: bool,
    capacity: Capacity,
    pub(super) state: State,
    pub(super) target: Option<Share>,
    /// When the hold is released for a look, or the look ends.
    turn: Option<Instant>,
    looking: bool,
}

/// The problem in force, with the members that take part.
#[derive(Debug, Clone)]
pub(super) struct InForce {
    pub(super) members: Vec<ClientId>,
    pub(super) problem: Problem,
}

/// Decides for all links.
#[derive(Debug, Clone, Default)]
pub(super) struct Coordinator {
    pub(super) next: Instant,
    pub(super) stale: bool,
    pub(super) in_force: Option<InForce>,
    pub(super) solved: u64,
    pub(super) failed: u64,
    /// Uplinks to be probed, and up to which rates.
    pub(super) probes: Vec<(ClientId, BitRate)>,
}

impl Link {
    pub(super) fn new(weight: f64) -> Self {
        Self { weight, ..Self::default() }
    }

    pub(super) fn is_held(&self) -> bool {
        self.state != State::Natural
    }

    /// One of its directions gives way to the other, but for a look.
    pub(super) const fn gives_way(&self) -> bool {
        self.looking || !matches!(self.state, State::Natural)
    }

    /// Releases the link, as another policy needs none of it.
    pub(super) fn release(&mut self) {
        let Self { up, down, channel, floor, weight, .. } = *self;
        *self = Self { up, down, channel, floor, ..Self::new(weight) };
    }

    /// The rate at which forwarding to this member is held.
    pub(super) fn forwarding_limit(&self) -> Option<BitRate> {
        self.state.server_limit()
    }

    /// Takes the present estimates. A held direction tells nothing about its link unless it exceeds what was known.
    fn read(&mut self, now: Instant, config: &RoomConfig) {
        let (Some(up), Some(down)) = (self.up, self.down) else { return };
        let exact = |estimate: Estimate| estimate.kind_at(now, config.fresh) == EstimateKind::Exact;
        let (up_held, down_held) = (
            matches!(self.state, State::ClientConstrained { .. }),
            matches!(self.state, State::ServerConstrained { .. }),
        );
        self.channel = self.channel.filter(|channel| now.since(channel.at) <= config.fresh);
        if self.channel.is_some() {
            self.measured = true;
        } else if self.acted.is_some() || !self.is_held() && !self.looking {
            // A hold by a channel that is not known any more ends, unless the estimates show the link.
            self.measured = exact(up) && exact(down);
        }
        if !self.measured {
            return;
        }
        let known = self.capacity.natural();
        if !up_held || known.is_none_or(|known| up.rate > known.up) {
            self.capacity.on_up(up.rate);
        }
        if !down_held || known.is_none_or(|known| down.rate > known.down) {
            self.capacity.on_down(down.rate);
        }
        self.capacity.check(Reading::Latest);
    }

    /// Whether the known capacity differs clearly from the one acted upon.
    fn changed(&self, threshold: f64) -> bool {
        match (self.channel, self.acted) {
            (Some(channel), Some(acted)) => {
                let (sum, acted) = (channel.sum.as_bps(), acted.as_bps());
                sum.abs_diff(acted) as f64 > threshold * acted as f64
            }
            (Some(_), None) | (None, Some(_)) => true,
            (None, None) => self.capacity.changed(self.state, threshold),
        }
    }

    /// The capacity that counts: of a link that is not known, what is known to fit.
    fn user(&self, config: &RoomConfig) -> Option<User> {
        let (up, down) = (self.up?, self.down?);
        let capacity = match (self.channel, self.capacity.sum(self.state)) {
            (Some(channel), _) => channel.sum,
            (None, Some(sum)) if self.measured => sum,
            _ => up.rate + down.rate,
        };
        Some(User { capacity, weight: self.weight, least_down: self.floor.unwrap_or(config.least_down) })
    }

    /// Follows a new target. Forwarding is never held below the least bitrate of each of `viewers` other members.
    fn follow(&mut self, target: Share, now: Instant, config: &RoomConfig, viewers: u64) {
        self.target = Some(target);
        if !self.measured || self.looking {
            self.state = State::Natural;
            return;
        }
        self.capacity.act(self.state);
        self.acted = self.channel.map(|channel| channel.sum);
        let Some(natural) = self.capacity.natural() else { return };
        // What an application cannot use is not given up.
        let most = BitRate::from_bps(config.source.as_bps().saturating_mul(viewers));
        let natural = Share { up: natural.up.min(config.source), down: natural.down.min(most) };
        let floor = BitRate::from_bps(config.least.as_bps().saturating_mul(viewers)).min(natural.down);
        let state = State::towards(Share { down: target.down.max(floor), ..target }, natural);
        if state != State::Natural && self.turn.is_none() {
            self.turn = Some(now + config.look_every);
        } else if state == State::Natural {
            self.turn = None;
        }
        self.state = state;
    }

    /// The rate that an uplink whose downlink gives way does not reach yet.
    fn unreached(&self) -> Option<BitRate> {
        let (target, up) = (self.target?, self.up?);
        let yields = matches!(self.state, State::ServerConstrained { .. });
        (yields && up.rate < target.up.mul_f64(State::REACHED)).then_some(target.up)
    }
}

impl Coordinator {
    /// When [`Self::advance`] has to be called.
    pub(super) fn next_deadline<'a>(&self, links: impl Iterator<Item = &'a Link>) -> Instant {
        links.filter_map(|link| link.turn).fold(self.next, Instant::min)
    }

    /// Reads estimates, looks again where it is time, and computes new targets if a capacity changed clearly.
    pub(super) fn advance(&mut self, now: Instant, links: &mut [(ClientId, &mut Link)], config: &RoomConfig) {
        for (_, link) in links.iter_mut() {
            if link.turn.is_some_and(|at| at <= now) {
                if link.looking {
                    // A link that was not filled during the look is no bottleneck.
                    (link.looking, link.turn) = (false, None);
                    self.stale = true;
                } else {
                    (link.looking, link.turn) = (true, Some(now + config.look));
                    link.state = State::Natural;
                }
            }
        }
        if now < self.next && !self.stale {
            return;
        }
        if now >= self.next {
            self.next = now + config.check;
            let unreached = links.iter().filter_map(|(id, link)| Some((*id, link.unreached()?)));
            self.probes.extend(unreached);
        }
        let mut changed = self.stale;
        for (_, link) in links.iter_mut() {
            let before = link.measured;
            link.read(now, config);
            changed |=
                before != link.measured || link.measured && !link.looking && link.changed(config.change);
        }
        if changed {
            self.solve(now, links, config);
        }
    }

    fn solve(&mut self, now: Instant, links: &mut [(ClientId, &mut Link)], config: &RoomConfig) {
        let viewers = links.len().saturating_sub(1).max(1) as u64;
        let most = BitRate::from_bps(config.source.as_bps().saturating_mul(viewers));
        let heard: Vec<(ClientId, User)> =
            links.iter().filter_map(|(id, link)| Some((*id, link.user(config)?))).collect();
        self.stale = false;
        if heard.len() < 2 {
            self.in_force = None;
            links.iter_mut().for_each(|(_, link)| link.release());
            return;
        }
        let problem = Problem {
            users: heard.iter().map(|(_, user)| *user).collect(),
            qoe: Qoe::Linear,
            rho: config.rho,
            max_bitrate: most,
            source_cap: config.source,
            least_up: config.least,
            least_down: BitRate::ZERO,
        };
        self.solved += 1;
        let shares = match problem.solve() {
            Ok(found) if problem.validate(&found.shares).is_ok() => found.shares,
            // An allocation in force stays.
            _ => {
                self.failed += 1;
                return;
            }
        };
        let members: Vec<ClientId> = heard.iter().map(|(id, _)| *id).collect();
        for (id, link) in links.iter_mut() {
            if let Some(at) = members.iter().position(|member| member == id) {
                link.follow(shares[at], now, config, viewers);
            }
        }
        self.in_force = Some(InForce { members, problem });
    }
}

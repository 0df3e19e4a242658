//! Coordination of the two directions of each measured link (Plum, Sec. III-D), for links whose estimates may be lower bounds.
//!
//! A link takes part as a bottleneck once one of its estimates is exact: what fills a half-duplex link leaves nothing free, so that its
//! capacity is the exact rate and what is sent the other way. (Layers that fit into an estimate never fill it; whoever waits for both to be
//! exact waits forever.) Before, its capacity is at least what the application can use.
//!
//! While a direction is held its natural estimate freezes. It ages, so the hold is released briefly to look again. A hold under which the
//! other direction gains nothing shows a link whose directions are apart: it is let be for a while.

use airbound_units::{BitRate, Instant};

use super::config::RoomConfig;
use super::estimate::{Estimate, EstimateKind};
use crate::conference::plum::{Capacity, ClientId, Reading, State};
use crate::conference::problem::{Problem, Share, User};
use crate::conference::qoe::Qoe;

/// One member's link under coordination.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Link {
    pub(super) up: Option<Estimate>,
    pub(super) down: Option<Estimate>,
    /// Rates that are sent now.
    pub(super) in_use: Share,
    pub(super) weight: f64,
    /// One of both estimates was exact.
    measured: bool,
    /// Which directions the link limited, up and down.
    limited: [bool; 2],
    capacity: Capacity,
    pub(super) state: State,
    pub(super) target: Option<Share>,
    /// When the hold is released for a look, or the look ends.
    turn: Option<Instant>,
    looking: bool,
    /// When the present hold has to have shown that the other direction gains, what was sent before it, and the estimates of then.
    trial: Option<(Instant, [Share; 2])>,
    /// Until when the directions count as apart.
    apart: Option<Instant>,
}

/// Part of what a held direction gives up that the other one has to gain for the link to count as half-duplex.
const LEAST_GAIN: f64 = 0.2;
/// Change of a rate that is large enough to be judged, relative to the link's capacity.
const CLEAR: f64 = 0.05;
/// Checks after which a hold is judged.
const TRIAL_CHECKS: u64 = 8;
/// Looks for which a link whose directions are apart is let be.
const APART_LOOKS: u64 = 6;

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
}

impl Link {
    pub(super) fn new(weight: f64) -> Self {
        Self { weight, ..Self::default() }
    }

    pub(super) fn is_held(&self) -> bool {
        self.state != State::Natural
    }

    /// Releases the link, as another policy needs none of it.
    pub(super) fn release(&mut self) {
        *self = Self { up: self.up, down: self.down, in_use: self.in_use, ..Self::new(self.weight) };
    }

    /// Whether a hold is to be released for a look now, or a look ends.
    pub(super) fn turns(&self, now: Instant) -> bool {
        self.turn.is_some_and(|at| at <= now)
    }

    /// The rate at which forwarding to this member is held.
    pub(super) fn forwarding_limit(&self) -> Option<BitRate> {
        self.state.server_limit()
    }

    /// Takes the present estimates. While a direction is held, one that is not exact tells nothing unless it exceeds what was known.
    fn read(&mut self, now: Instant, config: &RoomConfig, most: BitRate) {
        let (Some(up), Some(down)) = (self.up, self.down) else { return };
        let exact = |estimate: Estimate| estimate.kind_at(now, config.fresh) == EstimateKind::Exact;
        let (up_held, down_held) = (
            matches!(self.state, State::ClientConstrained { .. }),
            matches!(self.state, State::ServerConstrained { .. }),
        );
        let settled = !self.is_held() && !self.looking;
        if settled {
            // What exceeds the application's own limit is no bottleneck. An uplink whose next layer does not fit waits for it without filling
            // its estimate: it is limited as well where the downlink fills the link.
            let wants = [up.rate < config.source, down.rate < most];
            self.limited = [wants[0] && (exact(up) || exact(down)), wants[1] && exact(down)];
            self.measured = self.limited.contains(&true) && self.apart.is_none();
        }
        if !self.measured {
            return;
        }
        let known = self.capacity.natural();
        let seen = |estimate: Estimate, in_use: BitRate, held: bool, known: Option<BitRate>| {
            let rate = if exact(estimate) { estimate.rate } else { estimate.rate.min(in_use) };
            let tells = settled || exact(estimate) && !held;
            (tells || known.is_none_or(|known| rate > known)).then_some(rate)
        };
        if let Some(rate) = seen(up, self.in_use.up, up_held, known.map(|known| known.up)) {
            self.capacity.on_up(rate);
        }
        if let Some(rate) = seen(down, self.in_use.down, down_held, known.map(|known| known.down)) {
            self.capacity.on_down(rate);
        }
        self.capacity.check(Reading::Latest);
    }

    fn estimates(&self) -> Share {
        let rate = |estimate: Option<Estimate>| estimate.map_or(BitRate::ZERO, |estimate| estimate.rate);
        Share { up: rate(self.up), down: rate(self.down) }
    }

    /// Judges a hold: where one direction has given something up and the other has gained nothing, they are apart.
    fn judge(&mut self, now: Instant, config: &RoomConfig) -> bool {
        if self.apart.is_some_and(|until| until <= now) {
            self.apart = None;
        }
        let Some((at, [before, estimated])) = self.trial.filter(|(at, _)| *at <= now) else { return false };
        let (Share { up, down }, natural) = (self.in_use, self.estimates());
        let rose = |before: BitRate, after: BitRate| after.as_bps() as f64 - before.as_bps() as f64;
        // A sender that waits for its next layer sends no more yet, but its estimate shows what the link gives.
        let (given, gained) = match self.state {
            State::ClientConstrained { .. } => {
                (-rose(before.up, up), rose(before.down, down).max(rose(estimated.down, natural.down)))
            }
            State::ServerConstrained { .. } => {
                (-rose(before.down, down), rose(before.up, up).max(rose(estimated.up, natural.up)))
            }
            State::Natural => return false,
        };
        // The other direction may need more time than this: it is judged again at the next check, once something was given up.
        let clear = CLEAR * (before.up + before.down).as_bps() as f64;
        if given < clear {
            return false;
        }
        self.trial = None;
        if gained >= given * LEAST_GAIN {
            return false;
        }
        self.release();
        self.apart = Some(at + config.look_every * APART_LOOKS);
        true
    }

    /// The capacity that counts: a link that was not measured has all that the application can use.
    fn user(&self, most: BitRate) -> Option<User> {
        let (up, down) = (self.up?, self.down?);
        let capacity = match self.capacity.sum(self.state) {
            Some(sum) if self.measured => sum,
            _ => most.max(up.rate + down.rate),
        };
        Some(User { capacity, weight: self.weight })
    }

    /// Follows a new target. Forwarding is never held below the least bitrate of each of `viewers` other members.
    fn follow(&mut self, target: Share, now: Instant, config: &RoomConfig, viewers: u64) {
        self.target = Some(target);
        if !self.measured || self.looking {
            self.state = State::Natural;
            return;
        }
        self.capacity.act(self.state);
        let Some(natural) = self.capacity.natural() else { return };
        // What an application cannot use is not given up.
        let most = BitRate::from_bps(config.source.as_bps().saturating_mul(viewers));
        let natural = Share { up: natural.up.min(config.source), down: natural.down.min(most) };
        let floor = BitRate::from_bps(config.least.as_bps().saturating_mul(viewers)).min(natural.down);
        let state = State::towards(Share { down: target.down.max(floor), ..target }, natural);
        // A direction is held for another one that the link limits, not for one that has all it can use.
        let state = match (state, self.limited) {
            (State::ServerConstrained { .. }, [false, _]) | (State::ClientConstrained { .. }, [_, false]) => {
                State::Natural
            }
            _ => state,
        };
        if state == State::Natural {
            (self.turn, self.trial) = (None, None);
        } else if self.turn.is_none() {
            self.turn = Some(now + config.look_every);
            self.trial = Some((now + config.check * TRIAL_CHECKS, [self.in_use, self.estimates()]));
        }
        self.state = state;
    }
}

/// The number of members that see each one.
fn viewers_of(links: &[(ClientId, &mut Link)]) -> u64 {
    links.len().saturating_sub(1).max(1) as u64
}

impl Coordinator {
    /// When [`Self::advance`] has to be called.
    pub(super) fn next_deadline<'a>(&self, links: impl Iterator<Item = &'a Link>) -> Instant {
        links.filter_map(|link| link.turn).fold(self.next, Instant::min)
    }

    /// Whether [`Self::advance`] reads estimates at `now`.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.stale || now >= self.next
    }

    /// Reads estimates, looks again where it is time, and computes new targets if a capacity changed clearly.
    pub(super) fn advance(&mut self, now: Instant, links: &mut [(ClientId, &mut Link)], config: &RoomConfig) {
        for (_, link) in links.iter_mut() {
            if link.turns(now) {
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
        if !self.is_due(now) {
            return;
        }
        if now >= self.next {
            self.next = now + config.check;
        }
        let mut changed = self.stale;
        let most = BitRate::from_bps(config.source.as_bps().saturating_mul(viewers_of(links)));
        for (_, link) in links.iter_mut() {
            let before = link.measured;
            changed |= link.judge(now, config);
            link.read(now, config, most);
            changed |= before != link.measured
                || link.measured && !link.looking && link.capacity.changed(link.state, config.change);
        }
        if changed {
            self.solve(now, links, config);
        }
    }

    fn solve(&mut self, now: Instant, links: &mut [(ClientId, &mut Link)], config: &RoomConfig) {
        let viewers = viewers_of(links);
        let most = BitRate::from_bps(config.source.as_bps().saturating_mul(viewers));
        let ample = most + config.source;
        let heard: Vec<(ClientId, User)> =
            links.iter().filter_map(|(id, link)| Some((*id, link.user(ample)?))).collect();
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

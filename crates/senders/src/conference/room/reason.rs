//! Reasons: the constraint that binds a decision, found by taking constraints away and deciding again.

use std::fmt;

use airbound_units::BitRate;
use serde::Serialize;

use super::choice::{Demand, Wish, choose};
use crate::conference::plum::ClientId;
use crate::conference::problem::Problem;

/// A constraint of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Constraint {
    /// The sender sends no more.
    Source,
    /// The viewer asked for no more.
    Request,
    /// The policy forwards the latest speakers only.
    LastN,
    /// More fits, but has not fitted for long enough.
    Dwell,
    /// More fits, but would leave too little free.
    Margin,
    /// The policy holds forwarding to this viewer, so that its uplink gets more.
    Hold,
    /// The capacity of the viewer's link, or of the held client's link.
    Capacity,
    /// The capacity of the server's outbound link.
    Server,
    /// The lowest bitrate of an encoder.
    Floor,
    /// The weight of fairness in the policy's utility.
    Fairness,
    /// The coordination of both directions itself.
    Coordination,
    /// Sound on its way to the held client, which is lost otherwise.
    Sound,
    /// No viewer takes more of the held client.
    Viewers,
}

/// The reason for the layer that a viewer gets of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Reason {
    /// The forwarded layer; none for nothing.
    pub layer: Option<u8>,
    /// The next layer above it that is sent.
    pub next: Option<u8>,
    /// The smallest set of constraints without which the layer would be higher.
    pub binding: Vec<Constraint>,
    /// The viewer's layers together, bit/s.
    pub used: u64,
    /// The viewer's budget, bit/s.
    pub budget: u64,
    /// The viewer's link has an estimate; else the budget is what a room assumes.
    pub measured: bool,
    /// Rate of the next layer beyond this one, bit/s.
    pub needs: u64,
}

/// The reason for the rate of a sender.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct SenderReason {
    /// Rate at which the policy holds the sender, bit/s; none in the natural state.
    pub held: Option<u64>,
    /// Its natural rate, bit/s.
    pub natural: u64,
    /// The constraints without which the sender would be given more; empty in the natural state.
    pub binding: Vec<Constraint>,
    /// Gain of its own downlink by the hold, bit/s.
    pub gain: u64,
}

/// The demands at the latest decision, with the layers decided.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) viewers: Vec<ClientId>,
    pub(super) demands: Vec<Demand>,
    pub(super) server: Option<u64>,
}

/// Sets of constraints that may bind together, the smallest first.
const SETS: [&[Constraint]; 11] = {
    use Constraint::{Capacity, Hold, Margin, Server};
    [
        &[Margin],
        &[Hold],
        &[Capacity],
        &[Server],
        &[Hold, Capacity],
        &[Hold, Server],
        &[Capacity, Server],
        &[Margin, Hold],
        &[Margin, Capacity],
        &[Margin, Server],
        &[Hold, Capacity, Server],
    ]
};

impl Decided {
    /// The layer of a wish if some constraints are taken away.
    fn without(&self, viewer: usize, wish: usize, taken: &[Constraint], margin: f64) -> Option<u8> {
        let takes = |constraint| taken.contains(&constraint);
        let mut own = self.demands[viewer].clone();
        if takes(Constraint::Hold) {
            own.hold = None;
        }
        if takes(Constraint::Capacity) {
            own.capacity = u64::MAX;
        }
        let margin = if takes(Constraint::Margin) { 0.0 } else { margin };
        let server = if takes(Constraint::Server) { None } else { self.server };
        // Viewers meet at the outbound link only.
        if server.is_none() {
            return choose(std::slice::from_ref(&own), None, margin)[0][wish];
        }
        let mut demands = self.demands.clone();
        demands[viewer] = own;
        choose(&demands, server, margin)[viewer][wish]
    }

    /// The reason for one wish of one viewer.
    pub(super) fn reason(&self, viewer: ClientId, source: ClientId, margin: f64) -> Option<Reason> {
        let at = self.viewers.iter().position(|known| *known == viewer)?;
        let demand = &self.demands[at];
        let place = demand.wishes.iter().position(|wish| wish.source == source)?;
        let wish: &Wish = &demand.wishes[place];
        let (layer, next) = (wish.current, wish.above(wish.current));
        let binding = match next {
            _ if wish.paused => vec![Constraint::LastN],
            None => vec![Constraint::Source],
            Some(next) if next > wish.largest => vec![Constraint::Request],
            Some(_) if self.without(at, place, &[], margin) > layer => vec![Constraint::Dwell],
            Some(_) => {
                let binds = |set: &&&[Constraint]| self.without(at, place, set, margin) > layer;
                SETS.iter().find(binds).map(|set| set.to_vec()).unwrap_or_default()
            }
        };
        let needs = next.map_or(0, |next| wish.rate(Some(next)) - wish.rate(layer));
        let (used, budget, measured) = (demand.used(), demand.budget(), demand.measured);
        Some(Reason { layer, next, binding, used, budget, measured, needs })
    }
}

/// Rise of a rate that counts as a rise, relative.
const RISE: f64 = 0.02;

/// The constraints without which user `index` of a problem would be given a higher uplink than `given`.
pub(super) fn binding_of(problem: &Problem, index: usize, given: BitRate) -> Vec<Constraint> {
    let rises = |other: &Problem| {
        other.solve().is_ok_and(|found| {
            let up = found.shares[index].up;
            up.as_bps() as f64 > given.as_bps() as f64 * (1.0 + RISE)
        })
    };
    let floor = problem.least_up.min(BitRate::from_bps(problem.users[index].capacity.as_bps() / 4));
    if given <= floor {
        let mut raised = problem.clone();
        raised.least_up = BitRate::from_bps(problem.least_up.as_bps().saturating_mul(2));
        if rises(&raised) {
            return vec![Constraint::Floor];
        }
    }
    let mut ample = problem.clone();
    ample.users[index].capacity = problem.max_bitrate + problem.source_cap;
    if rises(&ample) {
        return vec![Constraint::Capacity];
    }
    let mut wide = problem.clone();
    wide.source_cap = BitRate::from_bps(problem.source_cap.as_bps().saturating_mul(2));
    if rises(&wide) {
        return vec![Constraint::Source];
    }
    let mut unfair = problem.clone();
    unfair.rho = 0.0;
    if rises(&unfair) {
        return vec![Constraint::Fairness];
    }
    vec![Constraint::Coordination]
}

/// A rate in kb/s or Mb/s.
fn rate(bps: u64) -> String {
    if bps >= 1_000_000 { format!("{:.2} Mb/s", bps as f64 / 1e6) } else { format!("{} kb/s", bps / 1000) }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has = |constraint| self.binding.contains(&constraint);
        let next = self.next.map_or(0, |next| next + 1);
        let step = format!("layer {next} needs {} more", rate(self.needs));
        let room = format!("{} of {} are in use", rate(self.used), rate(self.budget));
        if has(Constraint::Source) && self.layer.is_none() {
            write!(f, "the sender sends nothing now")
        } else if has(Constraint::Source) {
            write!(f, "the best that the sender sends")
        } else if has(Constraint::Request) && self.layer.is_none() {
            write!(f, "the sender sends nothing as small as asked for now")
        } else if has(Constraint::Request) {
            write!(f, "as large as asked for")
        } else if has(Constraint::LastN) {
            write!(f, "paused: only the latest speakers are forwarded")
        } else if has(Constraint::Dwell) {
            write!(f, "layer {next} fits and follows after its dwell time")
        } else if has(Constraint::Hold) && has(Constraint::Capacity) {
            write!(f, "{step}; {room}: both your link and the hold for your uplink bind")
        } else if has(Constraint::Hold) {
            write!(f, "{step}; {room}: your downlink is held so that your uplink gets more")
        } else if has(Constraint::Capacity) && has(Constraint::Server) {
            write!(f, "{step}; {room}: both your downlink and the server's outbound link bind")
        } else if has(Constraint::Capacity) && !self.measured {
            let (used, budget) = (rate(self.used), rate(self.budget));
            write!(
                f,
                "{step}; {used} are in use, and {budget} are assumed for your downlink, which is not measured"
            )
        } else if has(Constraint::Capacity) {
            write!(f, "{step}; {room} on your downlink")
        } else if has(Constraint::Server) {
            write!(f, "{step}: the server's outbound link is full")
        } else if has(Constraint::Margin) {
            write!(f, "{step}; {room}: it would fit, but leave too little free")
        } else {
            write!(f, "no decision yet")
        }
    }
}

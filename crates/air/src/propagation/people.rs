//! Blockage of links between stationary ends by people, and busy periods of the room.

use airbound_random::Key;
use airbound_units::{Decibel, Instant};

use super::config::{Activity, Blockage};
use super::passes::Passes;

/// One kind of people.
#[derive(Debug, Clone)]
pub(super) struct Blocker {
    /// Loss of each pass; 0 if it was suppressed in a quiet period.
    passes: Passes<f64>,
    depth: f64,
    spread: f64,
}

impl Blocker {
    pub(super) fn new(blockage: &Blockage, key: Key) -> Self {
        Self {
            passes: Passes::new(&blockage.coming, key),
            depth: blockage.depth.value(),
            spread: blockage.depth_spread.value(),
        }
    }

    /// Loss by the bodies in the path at a time, in dB.
    ///
    /// The losses of several bodies add up (as in 3GPP TR 38.901, 7.6.4). A pass begins with the probability of the activity level.
    pub(super) fn loss(&self, now: Instant, room: &RoomActivity) -> f64 {
        let depth = |key: Key, begin| {
            if key.with(2).uniform() >= room.level(begin) {
                return 0.0;
            }
            (self.depth + self.spread * key.with(3).normal()).max(0.0)
        };
        let mut loss = 0.0;
        self.passes.at(now, depth, |depth, presence| loss += presence * depth);
        loss
    }
}

/// Activity of the room, one process for all links of a run.
#[derive(Debug, Clone)]
pub(super) enum RoomActivity {
    /// Constant.
    Steady,
    /// Busy and quiet periods.
    Spells { passes: Passes<()>, quiet_level: f64 },
}

impl RoomActivity {
    pub(super) fn new(activity: Option<&Activity>, seed: u64) -> Self {
        match activity {
            None => Self::Steady,
            Some(activity) => Self::Spells {
                passes: Passes::new(&activity.coming, Key::of_seed(seed).with(0x000f_f1ce)),
                quiet_level: activity.quiet_level,
            },
        }
    }

    /// The activity level, from the quiet level to 1.
    pub(super) fn level(&self, now: Instant) -> f64 {
        match self {
            Self::Steady => 1.0,
            Self::Spells { passes, quiet_level } => {
                let mut presence = 0.0;
                passes.at(now, |_, _| (), |(), of_one| presence = f64::max(presence, of_one));
                quiet_level + (1.0 - quiet_level) * presence
            }
        }
    }
}

/// Gain of the link by people, without shadowing.
pub(super) fn gain(blockers: &[Blocker], room: &RoomActivity, now: Instant) -> Decibel {
    Decibel::new(-blockers.iter().map(|blocker| blocker.loss(now, room)).sum::<f64>())
}

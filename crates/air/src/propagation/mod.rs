//! Propagation over the links of a collision domain, a function of seed, link and time.
//!
//! Lookups change no state except caches. So all schemes have the same channel, with the same fades and bursts, independent of the times
//! of their transmissions.

mod config;
mod fading;
mod floor;
mod links;
mod passes;
mod people;
mod position;
mod shadowing;

use std::collections::BTreeMap;
use std::sync::Arc;

use airbound_random::Key;
use airbound_units::{Dbm, Decibel, Instant, Metre};

use crate::trace::{PhyQuality, Saturation, Trace};
pub use config::{
    Activity, BY_DISTANCE, Blockage, ChannelSpec, Coming, Effect, Fading, Independence, Interference,
    LogDistance, Motion, Position, Shape, TraceLink, TraceUse, Walk,
};
use fading::Fader;
pub use floor::{Floor, Place, Wall};
pub use links::{LinkId, Links};
use people::{Blocker, RoomActivity};
use shadowing::Shadowing;

/// The quality of a link at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LinkQuality {
    /// No errors.
    Perfect,
    /// A signal-to-noise ratio over the station's channel width, which decides the error rates.
    Snr(Decibel),
    /// A PHY rate from a trace, which replaces the chosen rate.
    Phy(PhyQuality),
}

/// Parameters of transmitter and receiver that decide a link's signal-to-noise ratio and rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkBudget {
    /// Transmit power.
    pub tx_power: Dbm,
    /// Noise over the width of the station's channel.
    pub noise_floor: Dbm,
    /// Carrier frequency, for the Doppler spectrum.
    pub carrier_hertz: f64,
    /// Overhead of a saturated transmitter, for traces of bandwidth.
    pub saturation: Saturation,
}

/// Propagation over a link, the same in both directions.
#[derive(Debug, Clone)]
pub struct Propagation {
    law: Law,
}

#[derive(Debug, Clone)]
#[expect(
    clippy::large_enum_variant,
    reason = "few channels, used for every transmission: size costs less than an indirection"
)]
enum Law {
    Ideal,
    Fixed(Decibel),
    LogDistance {
        position: Position,
        exponent: f64,
        /// Signal-to-noise ratio at 1 m, without shadowing and fading.
        at_one_metre: Decibel,
        /// Precomputed distance term of a fixed position.
        constant: Option<f64>,
        shadowing: Shadowing,
        fader: Fader,
        blockers: Vec<Blocker>,
        room: RoomActivity,
    },
    Snr(Arc<Trace>),
    /// The quality of each step of a bandwidth trace.
    Phy {
        trace: Arc<Trace>,
        steps: Vec<PhyQuality>,
    },
}

impl Propagation {
    /// Propagation to the station of number `link`, under a seed.
    #[must_use]
    pub fn new(spec: &ChannelSpec, budget: &LinkBudget, seed: u64, link: u64) -> Self {
        let law = match spec {
            ChannelSpec::Ideal => Law::Ideal,
            ChannelSpec::Fixed { snr } => Law::Fixed(*snr),
            ChannelSpec::LogDistance(model) => {
                let key = Key::of_seed(seed).with(0xc4a2).with(link);
                let at_one_metre = Decibel::new(
                    (budget.tx_power - budget.noise_floor).value() - model.reference_loss.value(),
                );
                let constant = match &model.position {
                    Position::Distance(distance) => Some(distance_loss(model.exponent, *distance)),
                    _ => None,
                };
                Law::LogDistance {
                    position: model.position.clone(),
                    exponent: model.exponent,
                    at_one_metre,
                    constant,
                    shadowing: Shadowing::new(model.shadowing, model.shadowing_coherence, key.with(1)),
                    fader: Fader::new(model.fading, key.with(2), budget.carrier_hertz),
                    blockers: (3u64..)
                        .zip(&model.blockage)
                        .map(|(kind, blockage)| Blocker::new(blockage, key.with(kind)))
                        .collect(),
                    room: RoomActivity::new(model.activity.as_ref(), seed),
                }
            }
            ChannelSpec::Trace(link) => match (&*link.trace, link.used_as) {
                (Trace::Snr(_), _) => Law::Snr(Arc::clone(&link.trace)),
                (Trace::Bandwidth(bandwidth), TraceUse::Phy) => {
                    // A trace has few distinct values; each is inverted once.
                    let mut known = BTreeMap::new();
                    let steps = bandwidth.rates().iter().map(|rate| {
                        *known.entry(*rate).or_insert_with(|| budget.saturation.quality_for(*rate))
                    });
                    Law::Phy { steps: steps.collect(), trace: Arc::clone(&link.trace) }
                }
                // A pipe has no errors.
                _ => Law::Ideal,
            },
        };
        Self { law }
    }

    /// The quality of the link at a time.
    #[must_use]
    pub fn quality(&self, now: Instant) -> LinkQuality {
        self.quality_near(now, &mut 0)
    }

    /// The quality of the link at a time; `near` is the index at which the last search in a trace ended, kept by the caller.
    #[must_use]
    pub fn quality_near(&self, now: Instant, near: &mut usize) -> LinkQuality {
        match &self.law {
            Law::Ideal => LinkQuality::Perfect,
            Law::Fixed(snr) => LinkQuality::Snr(*snr),
            Law::LogDistance {
                position,
                exponent,
                at_one_metre,
                constant,
                shadowing,
                fader,
                blockers,
                room,
            } => {
                let distance = position.distance(now);
                let loss = constant.unwrap_or_else(|| distance_loss(*exponent, distance));
                let mut gain = fader.gain(now, distance.value()).value();
                if !shadowing.is_none() {
                    gain += room.level(now) * shadowing.gain(now).value();
                }
                if !blockers.is_empty() {
                    gain += people::gain(blockers, room, now).value();
                }
                LinkQuality::Snr(Decibel::new(at_one_metre.value() - loss + gain))
            }
            Law::Snr(trace) => match &**trace {
                Trace::Snr(trace) => LinkQuality::Snr(trace.at_near(now, near)),
                _ => LinkQuality::Perfect,
            },
            Law::Phy { trace, steps } => match &**trace {
                Trace::Bandwidth(trace) => steps
                    .get(trace.step_near(now, near))
                    .copied()
                    .map_or(LinkQuality::Perfect, LinkQuality::Phy),
                _ => LinkQuality::Perfect,
            },
        }
    }

    /// The signal-to-noise ratio over the station's channel width at a time, if the channel has one.
    #[must_use]
    pub fn snr(&self, now: Instant) -> Option<Decibel> {
        match self.quality(now) {
            LinkQuality::Snr(snr) => Some(snr),
            LinkQuality::Perfect | LinkQuality::Phy(_) => None,
        }
    }

    /// Whether [`Propagation::quality`] is the same at all times.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        match &self.law {
            Law::Ideal | Law::Fixed(_) => true,
            Law::LogDistance { constant, shadowing, fader, blockers, .. } => {
                constant.is_some()
                    && shadowing.is_none()
                    && matches!(fader, Fader::None)
                    && blockers.is_empty()
            }
            Law::Snr(_) | Law::Phy { .. } => false,
        }
    }

    /// The distance at a time, if the channel has one.
    #[must_use]
    pub fn distance(&self, now: Instant) -> Option<Metre> {
        match &self.law {
            Law::LogDistance { position, .. } => Some(position.distance(now)),
            _ => None,
        }
    }
}

/// Loss relative to that at 1 m, in dB; 0 below 1 m (ns-3's `LogDistancePropagationLossModel`).
fn distance_loss(exponent: f64, distance: Metre) -> f64 {
    10.0 * exponent * libm::log10(distance.value().max(1.0))
}

//! How well two ends of a link hear each other: a function of seed, link and time.
//!
//! Nothing here has a state that a question changes. Whatever a scheme sends and whenever it asks, it meets exactly the channel
//! that every other scheme meets: same fades, same bursts.

mod fading;
mod hash;
mod interference;
mod position;
mod shadowing;

use std::sync::Arc;

use airbound_units::{Decibel, Instant, Metre};
use airbound_wifi::error::noise_floor;

use crate::scenario::{Air, ChannelSpec, Position, Station, TraceUse};
use crate::trace::Trace;
use fading::Fader;
pub use hash::Key;
pub use interference::{BurstState, Bursts};
use shadowing::Shadowing;

/// The channel between the access point and one station, the same in both directions.
#[derive(Debug, Clone)]
pub struct Channel {
    law: Law,
}

#[derive(Debug, Clone)]
enum Law {
    Ideal,
    Fixed(Decibel),
    LogDistance {
        position: Position,
        exponent: f64,
        /// Signal-to-noise ratio at 1 m, without shadowing and fading.
        at_one_metre: Decibel,
        /// Distance term at a fixed position, worked out once.
        constant: Option<f64>,
        shadowing: Shadowing,
        fader: Fader,
    },
    Trace(Arc<Trace>),
}

impl Channel {
    /// The channel to the station of number `link`, under a seed.
    #[must_use]
    pub fn new(station: &Station, air: &Air, seed: u64, link: u64) -> Self {
        let law = match &station.channel {
            ChannelSpec::Ideal => Law::Ideal,
            ChannelSpec::Fixed { snr } => Law::Fixed(*snr),
            ChannelSpec::LogDistance(model) => {
                let key = Key::of_seed(seed).with(0xc4a2).with(link);
                let at_one_metre = Decibel::new(
                    (air.tx_power - noise_floor(station.width, air.noise_figure)).value()
                        - model.reference_loss.value(),
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
                    fader: Fader::new(model.fading, key.with(2), air.carrier_hertz()),
                }
            }
            // A link whose speed is a trace loses nothing of its own.
            ChannelSpec::Trace(link) if link.used_as == TraceUse::Snr => Law::Trace(Arc::clone(&link.trace)),
            ChannelSpec::Trace(_) => Law::Ideal,
        };
        Self { law }
    }

    /// The signal-to-noise ratio over the station's channel width at a time; `None` where nothing is ever lost.
    #[must_use]
    pub fn snr(&self, now: Instant) -> Option<Decibel> {
        match &self.law {
            Law::Ideal => None,
            Law::Fixed(snr) => Some(*snr),
            Law::LogDistance { position, exponent, at_one_metre, constant, shadowing, fader } => {
                let distance = position.distance(now);
                let loss = constant.unwrap_or_else(|| distance_loss(*exponent, distance));
                let gain = shadowing.gain(now).value() + fader.gain(now, distance.value()).value();
                Some(Decibel::new(at_one_metre.value() - loss + gain))
            }
            Law::Trace(trace) => match &**trace {
                Trace::Snr(trace) => Some(trace.at(now)),
                _ => None,
            },
        }
    }

    /// Whether [`Channel::snr`] is the same at all times.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        match &self.law {
            Law::Ideal | Law::Fixed(_) => true,
            Law::LogDistance { constant, shadowing, fader, .. } => {
                constant.is_some() && shadowing.is_none() && matches!(fader, Fader::None)
            }
            Law::Trace(_) => false,
        }
    }

    /// The distance at a time, where the channel has one.
    #[must_use]
    pub fn distance(&self, now: Instant) -> Option<Metre> {
        match &self.law {
            Law::LogDistance { position, .. } => Some(position.distance(now)),
            _ => None,
        }
    }
}

/// Loss beyond that at 1 m, in dB (ns-3's `LogDistancePropagationLossModel`: none closer than that).
fn distance_loss(exponent: f64, distance: Metre) -> f64 {
    10.0 * exponent * libm::log10(distance.value().max(1.0))
}

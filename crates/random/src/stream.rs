//! Streams of random numbers, one for each entity that draws.
//!
//! Fading, shadowing and interference are not drawn from a stream but are functions of a [`Key`], so that all schemes have the same
//! channel.

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use crate::Key;

/// The purpose of a stream; streams of different purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Backoffs of a contention function.
    Backoff,
    /// Errors at a receiver.
    Reception,
    /// Departures of sources.
    Arrivals,
    /// Sizes of video frames.
    FrameSizes,
    /// Loss and jitter of the wire.
    Wire,
    /// Draws of queues and senders.
    Queue,
    /// Talk spurts in a conference.
    Session,
    /// All draws of one of several networks.
    Network,
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Stream(Pcg64Mcg);

/// The seed of an entity with a generator of its own.
#[must_use]
pub const fn seed_for(seed: u64, purpose: Purpose, entity: u64) -> u64 {
    key_for(seed, purpose, entity).bits()
}

const fn key_for(seed: u64, purpose: Purpose, entity: u64) -> Key {
    Key::of_seed(seed).with(purpose as u64).with(entity)
}

impl Stream {
    /// The stream of an entity.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, entity: u64) -> Self {
        let key = key_for(seed, purpose, entity);
        Self(Pcg64Mcg::new(u128::from(key.with(1).bits()) << 64 | u128::from(key.bits())))
    }

    /// Uniform in 0 to `max`, where `max` is a power of two less one, as in contention windows.
    #[inline]
    pub fn window(&mut self, max: u16) -> u32 {
        let bits = (self.0.next_u64() >> 32) as u32;
        if max & max.wrapping_add(1) == 0 {
            bits & u32::from(max)
        } else {
            ((u64::from(bits) * (u64::from(max) + 1)) >> 32) as u32
        }
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with mean 1.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Normal with mean 0 and variance 1 (Box-Muller).
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }
}

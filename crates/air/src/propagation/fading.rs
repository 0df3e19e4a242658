//! Small-scale fading as a function of time.

use airbound_random::Key;
use airbound_units::{Decibel, Instant};

use super::config::{Fading, Independence, Motion, Shape};

const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// Number of scattered paths of the sum of sinusoids. With 16, the variance of the power is 15/16 of that of an exponential
/// distribution, and the frequency of fades below -20 dB differs from it by at most a tenth.
const PATHS: usize = 16;

/// The fading of one link.
#[derive(Debug, Clone)]
pub(super) enum Fader {
    None,
    /// Sinusoids, and the direct path.
    Doppler {
        paths: Box<[Sinusoid; PATHS]>,
        direct: Direct,
    },
    /// Gaussian in-phase and quadrature components drawn for each instant, with the ratio K of direct to scattered power.
    Drawn {
        key: Key,
        ratio: f64,
    },
    Nakagami {
        key: Key,
        shape: Shape,
    },
}

/// A scattered path: its Doppler shift in turns per nanosecond, and its phase in turns.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sinusoid {
    turns_per_nano: f64,
    phase: f64,
}

/// The direct path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Direct {
    ratio: f64,
    sinusoid: Sinusoid,
}

/// The angle of arrival of the direct path of a Rician channel, relative to the motion: 45 degrees.
const DIRECT_COSINE: f64 = std::f64::consts::FRAC_1_SQRT_2;

impl Fader {
    pub(super) fn new(fading: Fading, key: Key, carrier_hertz: f64) -> Self {
        match fading {
            Fading::None => Self::None,
            Fading::Rayleigh { motion } => Self::scattered(motion, 0.0, key, carrier_hertz),
            Fading::Rician { k, motion } => Self::scattered(motion, k.linear(), key, carrier_hertz),
            Fading::Nakagami { m } => Self::Nakagami { key, shape: m },
        }
    }

    fn scattered(motion: Motion, ratio: f64, key: Key, carrier_hertz: f64) -> Self {
        if motion.independence == Independence::PerPpdu {
            return Self::Drawn { key, ratio };
        }
        // Clarke 1968: paths arrive from all directions, with the Doppler shift of their angle. One random angle in each
        // sixteenth of the circle gives a similar spectrum for every key (Xiao, Zheng and Beaulieu 2006).
        let shift = motion.speed.value() * carrier_hertz / SPEED_OF_LIGHT / 1e9;
        let mut paths = Box::new([Sinusoid::default(); PATHS]);
        for (index, path) in (0u64..).zip(paths.iter_mut()) {
            let angle = (index as f64 + key.with(index * 2).uniform()) / PATHS as f64;
            path.turns_per_nano = shift * libm::cos(std::f64::consts::TAU * angle);
            path.phase = key.with(index * 2 + 1).uniform();
        }
        let sinusoid = Sinusoid { turns_per_nano: shift * DIRECT_COSINE, phase: key.with(1000).uniform() };
        Self::Doppler { paths, direct: Direct { ratio, sinusoid } }
    }

    /// The power gain at a time, relative to the mean; `metres` is the distance.
    pub(super) fn gain(&self, now: Instant, metres: f64) -> Decibel {
        let power = match self {
            Self::None => return Decibel::new(0.0),
            Self::Doppler { paths, direct } => scattered_power(paths, direct, now.as_nanos() as f64),
            Self::Drawn { key, ratio } => {
                let key = key.with(now.as_nanos());
                // Each component has half of the scattered power.
                let scale = (0.5 / (1.0 + ratio)).sqrt();
                let in_phase = key.with(1).normal() * scale + (ratio / (1.0 + ratio)).sqrt();
                let quadrature = key.with(2).normal() * scale;
                in_phase * in_phase + quadrature * quadrature
            }
            Self::Nakagami { key, shape } => {
                let m = match shape {
                    Shape::Fixed(m) => *m,
                    // ns-3's NakagamiPropagationLossModel: m0 below Distance1, m1 and m2 beyond.
                    Shape::ByDistance if metres < 80.0 => 1.5,
                    Shape::ByDistance => 0.75,
                };
                key.with(now.as_nanos()).gamma(m)
            }
        };
        Decibel::new(10.0 * libm::log10(power.max(1e-12)))
    }
}

fn scattered_power(paths: &[Sinusoid; PATHS], direct: &Direct, nanos: f64) -> f64 {
    let (mut in_phase, mut quadrature) = (0.0, 0.0);
    for path in paths {
        let (sine, cosine) = sine_cosine(path.turns_per_nano * nanos + path.phase);
        in_phase += cosine;
        quadrature += sine;
    }
    if direct.ratio > 0.0 {
        // The mean scattered power is PATHS in these units.
        let amplitude = (direct.ratio * PATHS as f64).sqrt();
        let (sine, cosine) = sine_cosine(direct.sinusoid.turns_per_nano * nanos + direct.sinusoid.phase);
        in_phase += amplitude * cosine;
        quadrature += amplitude * sine;
    }
    (in_phase * in_phase + quadrature * quadrature) / (PATHS as f64 * (1.0 + direct.ratio))
}

/// Sine and cosine of an angle in turns, to about 1e-9.
///
/// Uses only additions and multiplications, so that all machines agree, at a fifth of the cost of libm, whose range reduction
/// is not needed for angles in turns.
fn sine_cosine(turns: f64) -> (f64, f64) {
    // The nearest quarter turn, and the remainder of at most an eighth of a turn.
    let scaled = turns * 4.0;
    let shifted = scaled + 0.5;
    // The floor; `f64::floor` is a function call on targets without an instruction for it.
    let truncated = shifted as i64;
    let quarters = truncated - i64::from(truncated as f64 > shifted);
    let x = (scaled - quarters as f64) * std::f64::consts::FRAC_PI_2;
    let y = x * x;
    let sine = x * (1.0 + y * (-1.0 / 6.0 + y * (1.0 / 120.0 + y * (-1.0 / 5040.0 + y / 362_880.0))));
    let cosine =
        1.0 + y * (-0.5 + y * (1.0 / 24.0 + y * (-1.0 / 720.0 + y * (1.0 / 40_320.0 - y / 3_628_800.0))));
    match quarters & 3 {
        0 => (sine, cosine),
        1 => (cosine, -sine),
        2 => (-sine, -cosine),
        _ => (-cosine, sine),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_sine_agrees_with_libm() {
        for step in -5000..5000 {
            let turns = f64::from(step) * 0.013_37;
            let (sine, cosine) = sine_cosine(turns);
            let angle = turns * std::f64::consts::TAU;
            assert!((sine - libm::sin(angle)).abs() < 5e-9, "{turns}");
            assert!((cosine - libm::cos(angle)).abs() < 5e-9, "{turns}");
        }
    }
}

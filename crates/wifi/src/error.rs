//! Error rates: the probability that an MPDU is received at a signal-to-noise ratio.
//!
//! The model is that of Pei and Henderson, "Validation of OFDM error rate model in ns-3" (2010), known as the NIST
//! model: the bit error rate of the modulation in white Gaussian noise, then a union bound on the first-error events
//! of the Viterbi decoder of the K = 7 code (generators 133 and 171), punctured to the code rate. It behaves as ns-3's
//! `NistErrorRateModel`:
//! - the SNR is that of the whole channel width (received power over noise power in the width), and is used as the SNR of
//!   each subcarrier;
//! - the number of spatial streams has no influence: a split of power among streams, or a gain of additional antennas, has
//!   to be included in the SNR;
//! - the bound is limited to 1, and all bits of an MPDU fail independently.
//!
//! Fading, interference and implementation loss are part of the SNR, not of these curves.

use airbound_units::{ByteCount, Dbm, Decibel};

use crate::rate::{Coding, Modulation, Rate, Width};
use crate::soft::SoftCurve;

/// Boltzmann's constant in joule per kelvin (exact since 2019).
const BOLTZMANN: f64 = 1.380_649e-23;
/// The reference temperature of noise figures, in kelvin.
const TEMPERATURE: f64 = 290.0;

/// The thermal noise power in a channel at a receiver with this noise figure: k T B at 290 K, -173.98 dBm in 1 Hz,
/// -100.97 dBm in 20 MHz without the figure.
#[must_use]
pub fn noise_floor(width: Width, noise_figure: Decibel) -> Dbm {
    let watts = BOLTZMANN * TEMPERATURE * f64::from(width.megahertz()) * 1e6;
    Dbm::new(10.0 * libm::log10(watts * 1e3)) + noise_figure
}

/// The uncoded bit error probability at a linear SNR (Gray mapping; nearest neighbours only).
#[must_use]
pub fn uncoded_bit_error(modulation: Modulation, snr: f64) -> f64 {
    let snr = snr.max(0.0);
    match modulation {
        Modulation::Bpsk => 0.5 * libm::erfc(snr.sqrt()),
        Modulation::Qpsk => 0.5 * libm::erfc((snr / 2.0).sqrt()),
        _ => {
            // Square QAM of M = 2^bits points is two amplitude modulations of L = sqrt(M) levels each.
            let bits_per_axis = modulation.bits() / 2;
            let levels = f64::from(1u32 << bits_per_axis);
            let argument = (snr * 1.5 / (levels * levels - 1.0)).sqrt();
            (levels - 1.0) / (levels * f64::from(bits_per_axis)) * libm::erfc(argument)
        }
    }
}

/// The information weight spectrum: the number of wrong data bits over all error events of each distance.
struct Spectrum {
    /// Free distance of the punctured code.
    free_distance: u32,
    /// Difference of distance between consecutive weights.
    step: u32,
    weights: &'static [f64],
    /// Twice the data bits in one period of puncturing.
    scale: f64,
}

/// Ten terms of each spectrum: rate 1/2 from Frenger, Orten and Ottosson (1999), 2/3 and 3/4 from the same, 5/6 from
/// Haccoun and Begin (1989).
const fn spectrum(coding: Coding) -> Spectrum {
    match coding {
        Coding::Half => Spectrum {
            free_distance: 10,
            step: 2,
            weights: &[
                36.0,
                211.0,
                1_404.0,
                11_633.0,
                77_433.0,
                502_690.0,
                3_322_763.0,
                21_292_910.0,
                134_365_911.0,
            ],
            scale: 2.0,
        },
        Coding::TwoThirds => Spectrum {
            free_distance: 6,
            step: 1,
            weights: &[
                3.0,
                70.0,
                285.0,
                1_276.0,
                6_160.0,
                27_128.0,
                117_019.0,
                498_860.0,
                2_103_891.0,
                8_784_123.0,
            ],
            scale: 4.0,
        },
        Coding::ThreeQuarters => Spectrum {
            free_distance: 5,
            step: 1,
            weights: &[
                42.0,
                201.0,
                1_492.0,
                10_469.0,
                62_935.0,
                379_644.0,
                2_253_373.0,
                13_073_811.0,
                75_152_755.0,
                428_005_675.0,
            ],
            scale: 6.0,
        },
        Coding::FiveSixths => Spectrum {
            free_distance: 4,
            step: 1,
            weights: &[
                92.0,
                528.0,
                8_694.0,
                79_453.0,
                792_114.0,
                7_375_573.0,
                67_884_974.0,
                610_875_423.0,
                5_427_275_376.0,
                47_664_215_639.0,
            ],
            scale: 10.0,
        },
    }
}

/// The probability that a decoded bit starts an error event, at a linear SNR; at most 1.
#[must_use]
pub fn coded_bit_error(modulation: Modulation, coding: Coding, snr: f64) -> f64 {
    let bit = uncoded_bit_error(modulation, snr);
    // Bhattacharyya parameter of a hard decision.
    let d = (4.0 * bit * (1.0 - bit)).max(0.0).sqrt();
    let spectrum = spectrum(coding);
    let mut stride = d;
    for _ in 1..spectrum.step {
        stride *= d;
    }
    let mut power = 1.0;
    for _ in 0..spectrum.free_distance {
        power *= d;
    }
    let mut sum = 0.0;
    for weight in spectrum.weights {
        sum += weight * power;
        power *= stride;
    }
    (sum / spectrum.scale).min(1.0)
}

/// The probability that an MPDU of `size` at `rate` is received at an SNR. Exact but slow (about 130 ns); simulations use
/// an [`ErrorTable`].
#[must_use]
pub fn mpdu_success(rate: Rate, snr: Decibel, size: ByteCount) -> f64 {
    success(hazard(rate.modulation(), rate.coding(), snr), size)
}

/// A model of decoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decoding {
    /// Hard decisions: the NIST model.
    #[default]
    Hard,
    /// Soft decisions: the union bound of bit-interleaved coded modulation, about 2 dB better. It stands close to simulations of whole
    /// receivers, such as the tables of ns-3's default error model.
    Soft,
}

/// -ln(1 - P) of one bit; the hazards of bits are additive.
fn hazard(modulation: Modulation, coding: Coding, snr: Decibel) -> f64 {
    hazard_of(coded_bit_error(modulation, coding, snr.linear()))
}

fn hazard_of(error: f64) -> f64 {
    if error >= 1.0 { CERTAIN } else { (-libm::log1p(-error)).min(CERTAIN) }
}

/// The hazard of certain loss, at which a byte is received with a probability below 10^-130.
const CERTAIN: f64 = 40.0;
/// The hazard that counts as zero, at which an aggregate of the largest size fails with a probability below 10^-8.
const NEGLIGIBLE: f64 = 1e-16;

fn success(hazard: f64, size: ByteCount) -> f64 {
    libm::exp(-hazard * size.bits() as f64)
}

/// Grid points for each decibel.
const STEPS_PER_DB: i32 = 64;
/// The range of the grids, in dB.
const GRID_DB: (i32, i32) = (-20, 60);

/// A curve of the hazard of a bit over the SNR, with the signal that a receiver needs beyond it.
#[derive(Clone, Debug, PartialEq)]
struct Curve {
    modulation: Modulation,
    coding: Coding,
    /// Of soft decisions; `None` for hard ones.
    soft: Option<SoftCurve>,
    loss: Decibel,
}

impl Curve {
    /// The hazard at a step of the grid.
    fn at(&self, step: i32) -> f64 {
        let snr = f64::from(step) / f64::from(STEPS_PER_DB) - self.loss.value();
        let linear = Decibel::new(snr).linear();
        hazard_of(match &self.soft {
            Some(soft) => soft.bit_error(linear),
            None => coded_bit_error(self.modulation, self.coding, linear),
        })
    }

    /// The first step from `first` on whose hazard satisfies a condition that all later ones satisfy, too; at most `last`.
    fn first(&self, (mut first, mut last): (i32, i32), is_met: impl Fn(f64) -> bool) -> i32 {
        while first < last {
            let middle = first + (last - first) / 2;
            if is_met(self.at(middle)) {
                last = middle;
            } else {
                first = middle + 1;
            }
        }
        first
    }
}

/// The tabulated error curve of one modulation and coding.
///
/// The table has the hazard of a bit (-ln of its success) on a grid of 1/64 dB, where it is neither certain nor
/// negligible (about 8 dB, about 8 kB), and interpolates linearly: its success is within 2 x 10^-4 of [`mpdu_success`].
/// Entries are computed when they are first needed: a link meets a part of them. It uses basic arithmetic and libm only, so
/// that every machine gives the same bits.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorTable {
    curve: Curve,
    /// Grid step of the first entry, counted from 0 dB.
    first: i32,
    /// Never empty; the last is zero.
    hazards: Box<[Option<f64>]>,
}

impl ErrorTable {
    /// The curve of a rate; rates of one modulation and code rate have the same curve.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        Self::of(rate.modulation(), rate.coding())
    }

    /// The curve of a modulation and code rate with hard decisions.
    #[must_use]
    pub fn of(modulation: Modulation, coding: Coding) -> Self {
        Self::decoded(Decoding::Hard, Decibel::new(0.0), modulation, coding)
    }

    /// The curve of a modulation and code rate with a model of decoding, for a receiver that needs `loss` more signal than the model:
    /// its implementation loss (802.11-2020, 17.3.10.2 assumes 5 dB).
    #[must_use]
    pub fn decoded(decoding: Decoding, loss: Decibel, modulation: Modulation, coding: Coding) -> Self {
        let soft = (decoding == Decoding::Soft).then(|| SoftCurve::of(modulation, coding));
        let curve = Curve { modulation, coding, soft, loss };
        let (start, end) = (GRID_DB.0 * STEPS_PER_DB, GRID_DB.1 * STEPS_PER_DB);
        // The last step of certain loss, or the start.
        let uncertain = curve.first((start + 1, end + 1), |hazard| hazard < CERTAIN);
        let first = (uncertain - 1).min(end);
        let behind = curve.first((first, end), |hazard| hazard <= NEGLIGIBLE);
        let mut hazards = vec![None; (behind - first) as usize];
        hazards.push(Some(0.0));
        Self { curve, first, hazards: hazards.into_boxed_slice() }
    }

    /// Its modulation.
    #[must_use]
    pub const fn modulation(&self) -> Modulation {
        self.curve.modulation
    }

    /// Its code rate.
    #[must_use]
    pub const fn coding(&self) -> Coding {
        self.curve.coding
    }

    /// An entry; that beyond the last one is zero, too.
    #[inline]
    fn entry(&mut self, index: usize) -> f64 {
        let Self { curve, first, hazards } = self;
        let Some(hazard) = hazards.get_mut(index) else { return 0.0 };
        *hazard.get_or_insert_with(|| curve.at(*first + index as i32))
    }

    /// The probability that an MPDU of `size` is received.
    #[must_use]
    pub fn mpdu_success(&mut self, snr: Decibel, size: ByteCount) -> f64 {
        let hazard = self.hazard(snr);
        if hazard == 0.0 { 1.0 } else { success(hazard, size) }
    }

    /// -ln of the probability that one bit is received, 0 to 40. That of a frame is the sum over its bits, so that with a
    /// constant SNR one lookup serves all MPDUs of one size.
    #[must_use]
    pub fn hazard(&mut self, snr: Decibel) -> f64 {
        let position = snr.value() * f64::from(STEPS_PER_DB) - f64::from(self.first);
        if position <= 0.0 {
            return self.entry(0);
        }
        // Truncation equals the floor here; a value that is too large saturates and is beyond the end.
        let index = position as usize;
        if index >= self.hazards.len() - 1 {
            return 0.0;
        }
        let (low, high) = (self.entry(index), self.entry(index + 1));
        low + (high - low) * (position - index as f64)
    }

    /// The SNR at and above which the hazard is zero.
    #[must_use]
    pub fn harmless(&self) -> Decibel {
        Decibel::new(f64::from(self.first + self.hazards.len() as i32 - 1) / f64::from(STEPS_PER_DB))
    }

    /// The lowest SNR at which an MPDU of `size` is received with at least this probability, to 1/64 dB; `None` if it is above
    /// 60 dB.
    #[must_use]
    pub fn required_snr(&self, size: ByteCount, probability: f64) -> Option<Decibel> {
        let enough = |hazard: f64| success(hazard, size) >= probability;
        let last = self.first + self.hazards.len() as i32 - 1;
        let step = self.curve.first((self.first, last), enough);
        (step < last || enough(0.0)).then(|| Decibel::new(f64::from(step) / f64::from(STEPS_PER_DB)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thermal_noise_is_that_of_the_textbook() {
        let floor = |width| noise_floor(width, Decibel::new(0.0)).value();
        assert!((floor(Width::Mhz20) - -100.965).abs() < 1e-3);
        assert!((floor(Width::Mhz20) - floor(Width::Mhz10) - 3.0103).abs() < 1e-4);
        assert!((floor(Width::Mhz160) - floor(Width::Mhz80) - 3.0103).abs() < 1e-4);
        assert!((noise_floor(Width::Mhz20, Decibel::new(7.0)).value() - -93.965).abs() < 1e-3);
    }

    #[test]
    fn uncoded_errors_match_printed_q_functions() {
        // Q(sqrt 2) and Q(1) from tables of the normal distribution.
        assert!((uncoded_bit_error(Modulation::Bpsk, 1.0) - 0.078_649_6).abs() < 1e-7);
        assert!((uncoded_bit_error(Modulation::Qpsk, 1.0) - 0.158_655_3).abs() < 1e-7);
        // 3/4 Q(1), 7/12 Q(1), 15/32 Q(1), 31/80 Q(1) where the argument is one standard deviation.
        let q1 = 0.158_655_254;
        for (modulation, snr, factor) in [
            (Modulation::Qam16, 5.0, 0.75),
            (Modulation::Qam64, 21.0, 7.0 / 12.0),
            (Modulation::Qam256, 85.0, 15.0 / 32.0),
            (Modulation::Qam1024, 341.0, 31.0 / 80.0),
        ] {
            assert!((uncoded_bit_error(modulation, snr) - factor * q1).abs() < 1e-8, "{modulation:?}");
        }
    }

    #[test]
    fn no_signal_loses_everything() {
        for coding in [Coding::Half, Coding::TwoThirds, Coding::ThreeQuarters, Coding::FiveSixths] {
            assert_eq!(coded_bit_error(Modulation::Qpsk, coding, 0.0).to_bits(), 1.0f64.to_bits());
            assert!(coded_bit_error(Modulation::Qpsk, coding, 1e6) < 1e-300);
        }
    }

    #[test]
    fn a_table_covers_all_of_its_curve() {
        let mut table = ErrorTable::of(Modulation::Bpsk, Coding::Half);
        assert!(table.first > GRID_DB.0 * STEPS_PER_DB);
        assert!((table.entry(0) - CERTAIN).abs() < f64::EPSILON);
        assert!(table.hazards.len() < 1_500, "{}", table.hazards.len());
        let widest = ErrorTable::of(Modulation::Qam1024, Coding::FiveSixths);
        assert!(widest.first + (widest.hazards.len() as i32) < GRID_DB.1 * STEPS_PER_DB);
    }

    #[test]
    fn a_table_begins_at_the_last_certain_loss() {
        use {Coding::*, Modulation::*};
        for modulation in [Bpsk, Qpsk, Qam16, Qam64, Qam256, Qam1024] {
            for coding in [Half, TwoThirds, ThreeQuarters, FiveSixths] {
                let first = ErrorTable::of(modulation, coding).first;
                let certain = |step: i32| {
                    hazard(modulation, coding, Decibel::new(f64::from(step) / f64::from(STEPS_PER_DB)))
                        >= CERTAIN
                };
                let one_by_one = (GRID_DB.0 * STEPS_PER_DB..).find(|step| !certain(step + 1));
                assert_eq!(Some(first), one_by_one, "{modulation:?} {coding:?}");
            }
        }
    }

    #[test]
    fn extreme_values_have_a_result() {
        let mut table = ErrorTable::of(Modulation::Qam64, Coding::FiveSixths);
        let size = ByteCount::new(1_500);
        assert!(table.mpdu_success(Decibel::new(f64::INFINITY), size) > 0.999_999);
        assert!(table.mpdu_success(Decibel::new(f64::NEG_INFINITY), size) < 1e-9);
        assert!((table.mpdu_success(Decibel::new(-300.0), ByteCount::ZERO) - 1.0).abs() < 1e-12);
        assert!(table.required_snr(size, 1.1).is_none());
    }
}

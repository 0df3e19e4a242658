//! Error rates of a receiver with soft decisions.
//!
//! The union bound over the first-error events of the K = 7 code (generators 133 and 171) behind bit-interleaved modulation in white
//! Gaussian noise (Caire, Taricco, Biglieri, "Bit-Interleaved Coded Modulation", 1998, Sec. IV): the bits of an error event lie on
//! independent positions of the constellation, each with the distance to the nearest point of the other bit value, Gray mapping. The
//! numbers of events by distance are those of the punctured trellis, averaged over the period of puncturing; they agree with Frenger,
//! Orten and Ottosson (1999). Channel estimation and frequency offsets cost a real receiver some tenths of a decibel more.

use crate::rate::{Coding, Modulation};

/// Error events of each distance.
struct Events {
    /// Free distance of the punctured code.
    free_distance: u32,
    /// Difference of distance between consecutive counts.
    step: u32,
    /// Events that begin within one period of puncturing.
    counts: &'static [f64],
    /// Data bits in one period.
    period: f64,
}

const fn events(coding: Coding) -> Events {
    match coding {
        Coding::Half => Events {
            free_distance: 10,
            step: 2,
            counts: &[11.0, 38.0, 193.0, 1_331.0, 7_275.0, 40_406.0, 234_969.0, 1_337_714.0, 7_594_819.0],
            period: 1.0,
        },
        Coding::TwoThirds => Events {
            free_distance: 6,
            step: 1,
            counts: &[1.0, 16.0, 48.0, 158.0, 642.0, 2_435.0, 9_174.0, 34_701.0, 131_533.0, 499_312.0],
            period: 2.0,
        },
        Coding::ThreeQuarters => Events {
            free_distance: 5,
            step: 1,
            counts: &[
                8.0,
                31.0,
                160.0,
                892.0,
                4_512.0,
                23_297.0,
                120_976.0,
                624_304.0,
                3_229_885.0,
                16_721_329.0,
            ],
            period: 3.0,
        },
        Coding::FiveSixths => Events {
            free_distance: 4,
            step: 1,
            counts: &[
                14.0,
                69.0,
                654.0,
                4_996.0,
                39_677.0,
                314_973.0,
                2_503_576.0,
                19_875_546.0,
                157_824_160.0,
                1_253_169_928.0,
            ],
            period: 5.0,
        },
    }
}

/// Levels of one axis of a constellation, and the bits that select one.
const fn axis(modulation: Modulation) -> (u32, u32) {
    match modulation {
        Modulation::Bpsk | Modulation::Qpsk => (2, 1),
        _ => {
            let bits = modulation.bits() / 2;
            (1 << bits, bits)
        }
    }
}

/// For each distance from a level to the nearest one of the other bit value, in steps of the axis from 1 on: the share of bits that have
/// it.
fn shares(modulation: Modulation) -> Vec<f64> {
    let (levels, bits) = axis(modulation);
    let gray = |level: u32| level ^ (level >> 1);
    let mut shares = vec![0.0; levels as usize];
    for bit in 0..bits {
        for level in 0..levels {
            let differs = |other: &u32| (gray(level) ^ gray(*other)) >> bit & 1 == 1;
            let nearest = (0..levels).filter(differs).map(|other| level.abs_diff(other)).min();
            if let Some(share) = nearest.and_then(|distance| shares.get_mut(distance as usize)) {
                *share += 1.0 / f64::from(bits * levels);
            }
        }
    }
    shares
}

/// Largest squared distance that is counted, in free distances: farther events are rarer by orders of magnitude.
const FARTHEST: usize = 4;

/// The curve of one modulation and code rate.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SoftCurve {
    /// Events for each data bit, by squared distance in squared half steps of the axis.
    events: Vec<f64>,
    /// Half a step of the axis, squared, over the noise power of the axis, at an SNR of 1.
    step: f64,
}

impl SoftCurve {
    pub(crate) fn of(modulation: Modulation, coding: Coding) -> Self {
        let Events { free_distance, step, counts, period } = events(coding);
        let shares = shares(modulation);
        let most = FARTHEST * free_distance as usize;
        let mut total = vec![0.0; most + 1];
        // The distribution of the squared distance of events with as many bits as the round.
        let mut squares = vec![0.0; most + 1];
        squares[0] = 1.0;
        let last = free_distance + step * (counts.len() as u32).saturating_sub(1);
        for weight in 1..=last {
            let mut next = vec![0.0; most + 1];
            for (square, probability) in squares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
                for (distance, share) in shares.iter().enumerate() {
                    if let Some(sum) = next.get_mut(square + distance * distance) {
                        *sum += probability * share;
                    }
                }
            }
            squares = next;
            let count = weight.checked_sub(free_distance).filter(|beyond| beyond.is_multiple_of(step));
            if let Some(count) = count.and_then(|beyond| counts.get((beyond / step) as usize)) {
                for (sum, probability) in total.iter_mut().zip(&squares) {
                    *sum += count / period * probability;
                }
            }
        }
        let (levels, _) = axis(modulation);
        let levels = f64::from(levels);
        // The mean power of an axis with levels at odd multiples of half a step is (L^2 - 1) / 3 half steps squared; the noise of an axis
        // is half of the noise power. BPSK has all of its power on one axis.
        let axes = if modulation == Modulation::Bpsk { 1.0 } else { 2.0 };
        Self { events: total, step: 2.0 / axes * 3.0 / (levels * levels - 1.0) }
    }

    /// The probability that a decoded bit begins an error event, at a linear SNR; at most 1.
    pub(crate) fn bit_error(&self, snr: f64) -> f64 {
        let mut sum = 0.0;
        for (square, events) in self.events.iter().enumerate().filter(|(_, events)| **events > 0.0) {
            sum += events * 0.5 * libm::erfc((square as f64 * self.step * snr.max(0.0) / 2.0).sqrt());
        }
        sum.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_sixteen_qam_are_those_of_its_gray_map() {
        // Levels 00 01 11 10: the first bit is 1, 2 steps from the other half; the second always 1 step.
        let shares = shares(Modulation::Qam16);
        assert!((shares[1] - 0.75).abs() < 1e-12 && (shares[2] - 0.25).abs() < 1e-12, "{shares:?}");
    }

    #[test]
    fn bpsk_is_the_union_bound_of_the_textbook() {
        // 11 Q(sqrt 20) + 38 Q(sqrt 24) + 193 Q(sqrt 28) + 1331 Q(sqrt 32) + 7275 Q(6) and more at 0 dB, Q from tables.
        let first =
            11.0 * 3.872e-6 + 38.0 * 4.817e-7 + 193.0 * 6.063e-8 + 1331.0 * 7.687e-9 + 7275.0 * 9.866e-10;
        let ours = SoftCurve::of(Modulation::Bpsk, Coding::Half).bit_error(1.0);
        assert!(ours > first && ours < 1.25 * first, "{ours} {first}");
    }

    #[test]
    fn soft_decisions_gain_two_decibels() {
        for (modulation, coding) in
            [(Modulation::Qpsk, Coding::Half), (Modulation::Qam64, Coding::ThreeQuarters)]
        {
            let needs = |error: &dyn Fn(f64) -> f64| {
                let steps = (0..4000).map(|step| f64::from(step) / 100.0);
                steps.into_iter().find(|snr| error(libm::pow(10.0, snr / 10.0)) < 1e-5)
            };
            let curve = SoftCurve::of(modulation, coding);
            let soft = needs(&|snr| curve.bit_error(snr));
            let hard = needs(&|snr| crate::error::coded_bit_error(modulation, coding, snr));
            let gain = hard.zip(soft).map(|(hard, soft)| hard - soft);
            assert!(gain.is_some_and(|gain| (1.5..4.5).contains(&gain)), "{modulation:?}: {gain:?}");
        }
    }
}

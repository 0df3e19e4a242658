//! Search for the beat of a flow's bursts.
//!
//! The method is that of pulsar astronomy: to test whether a few events, many of them missing or out of place, follow a clock of
//! unknown period, fold them with every possible period and measure how well the phases agree. Z² adds the power of the first
//! harmonics (Buccheri et al., Astronomy and Astrophysics 128, 1983), which also tells a beat from its multiples and its fractions: at
//! half the true rate the first harmonic vanishes.
//!
//! Phases are 32-bit fractions of a turn and cosines come from a table: folding costs a few integer operations, and the results are
//! the same on every machine.

use airbound_units::Instant;

use super::history::Burst;

/// A cosine of 1 in the table.
const ONE: f64 = 16_384.0;

/// Scan steps within the frequency resolution of a window: the scan misses the peak of the second harmonic by an eighth at most, which
/// costs 5 % of its power.
const STEPS: f64 = 4.0;

/// Finer steps on either side of the best rate.
const FINE: i32 = 8;

/// Multiples of a perfect beat fit as well as the beat itself: a fraction of the best rate is preferred if its strength is lower by no
/// more than this factor.
const AS_GOOD: f64 = 1.05;

/// Fractions that are tried: up to a sixth, from 150 to 25 beats a second.
const FRACTIONS: u32 = 6;

/// A beat and how well the bursts fit it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rhythm {
    /// Beats a second.
    pub(super) rate: f64,
    /// Z².
    pub(super) strength: f64,
    /// Shares of bursts, bytes and beats that agree, each 0 to 1.
    pub(super) bursts_on_beat: f64,
    pub(super) bytes_on_beat: f64,
    pub(super) beats_met: f64,
}

/// Finds beats. Holds the buffers for folding, so that a search allocates nothing.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    /// Cosines of the 256 parts of a turn.
    cosines: Vec<i32>,
    /// Phase of each burst at the present rate, and its increment to the next rate.
    phases: Vec<(u32, u32)>,
}

/// The sums of the harmonics at one rate.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    cosines: [i64; 2],
    sines: [i64; 2],
}

impl Sums {
    /// Z² for the given number of events.
    fn strength(&self, events: usize) -> f64 {
        let squares =
            self.cosines.iter().chain(&self.sines).map(|sum| (*sum as f64 / ONE) * (*sum as f64 / ONE));
        2.0 * squares.sum::<f64>() / events.max(1) as f64
    }
}

impl Folder {
    pub(super) fn new() -> Self {
        let cosine = |part: u32| {
            let turn = f64::from(part) / 256.0 * std::f64::consts::TAU;
            libm::round(ONE * libm::cos(turn)) as i32
        };
        Self { cosines: (0..256).map(cosine).collect(), phases: Vec::new() }
    }

    fn cosine(&self, phase: u32) -> i64 {
        i64::from(self.cosines[(phase >> 24) as usize])
    }

    fn sine(&self, phase: u32) -> i64 {
        // sin x = cos (x - a quarter of a turn)
        self.cosine(phase.wrapping_sub(1 << 30))
    }

    /// Sets all phases for `rate`, and their increments for `step`, both in beats a second.
    fn set(&mut self, bursts: impl Iterator<Item = Burst>, origin: Instant, rate: f64, step: f64) {
        self.phases.clear();
        self.phases.extend(bursts.map(|burst| {
            let at = burst.start.since(origin);
            (turns(at.as_nanos(), rate), turns(at.as_nanos(), step))
        }));
    }

    /// Folds at the present rate, then advances to the next.
    fn fold(&mut self) -> Sums {
        let mut sums = Sums::default();
        let mut phases = std::mem::take(&mut self.phases);
        for (phase, step) in &mut phases {
            let double = phase.wrapping_mul(2);
            sums.cosines[0] += self.cosine(*phase);
            sums.sines[0] += self.sine(*phase);
            sums.cosines[1] += self.cosine(double);
            sums.sines[1] += self.sine(double);
            *phase = phase.wrapping_add(*step);
        }
        self.phases = phases;
        sums
    }

    /// Returns the best of `count` rates from `rate` on.
    fn scan(
        &mut self,
        bursts: impl Iterator<Item = Burst>,
        origin: Instant,
        [rate, step]: [f64; 2],
        count: u32,
    ) -> (f64, Sums) {
        self.set(bursts, origin, rate, step);
        let events = self.phases.len();
        let mut best = (rate, Sums::default());
        let mut most = 0.0;
        for number in 0..count {
            let sums = self.fold();
            let strength = sums.strength(events);
            if strength > most {
                most = strength;
                best = (rate + step * f64::from(number), sums);
            }
        }
        best
    }

    /// Returns the beat between `least` and `most` (a second) that fits the bursts, in order of time, best. `None` if there are fewer
    /// than three, or all at the same time.
    pub(super) fn find(
        &mut self,
        bursts: impl Iterator<Item = Burst> + Clone,
        least: f64,
        most: f64,
    ) -> Option<Rhythm> {
        let origin = bursts.clone().next()?.start;
        let last = bursts.clone().last()?.start;
        let span = last.since(origin).as_secs_f64();
        let events = bursts.clone().count();
        if events < 3 || span <= 0.0 || most <= least {
            return None;
        }
        let step = 1.0 / (STEPS * span);
        let count = ((most - least) / step).clamp(1.0, 1e5) as u32 + 1;
        let (near, _) = self.scan(bursts.clone(), origin, [least, step], count);
        // The scan may have missed a peak by some distance: refine each candidate before comparing it.
        let mut climb = |near: f64| {
            let fine = step / f64::from(FINE);
            let from = (near - step).max(fine);
            self.scan(bursts.clone(), origin, [from, fine], 2 * FINE as u32 + 1)
        };
        let (mut rate, mut sums) = climb(near);
        let enough = sums.strength(events) / AS_GOOD;
        for fraction in
            (2..=FRACTIONS).map(|part| near / f64::from(part)).filter(|fraction| *fraction >= least)
        {
            let (slower, of_slower) = climb(fraction);
            if of_slower.strength(events) >= enough {
                (rate, sums) = (slower, of_slower);
            }
        }
        Some(self.describe(bursts, origin, rate, &sums, (span * rate).max(1.0)))
    }

    /// Determines the bursts on the beat.
    fn describe(
        &self,
        bursts: impl Iterator<Item = Burst>,
        origin: Instant,
        rate: f64,
        sums: &Sums,
        beats: f64,
    ) -> Rhythm {
        let [mean_cosine, mean_sine] = [sums.cosines[0] as f64, sums.sines[0] as f64];
        // Within an eighth of a turn of the mean phase: the cosine of the difference is at least that of 45 degrees.
        let length = (mean_cosine * mean_cosine + mean_sine * mean_sine).sqrt() * ONE;
        let (mut all, mut on_beat) = ((0_u64, 0_u64), (0_u64, 0_u64));
        let mut met = 0_u64;
        let mut previous: Option<Instant> = None;
        for burst in bursts {
            all = (all.0 + 1, all.1.saturating_add(burst.bytes));
            let phase = turns(burst.start.since(origin).as_nanos(), rate);
            let along = self.cosine(phase) as f64 * mean_cosine + self.sine(phase) as f64 * mean_sine;
            if along < length * std::f64::consts::FRAC_1_SQRT_2 || length == 0.0 {
                continue;
            }
            on_beat = (on_beat.0 + 1, on_beat.1.saturating_add(burst.bytes));
            // Bursts of one beat are less than half a period apart.
            if previous.is_none_or(|at| burst.start.since(at).as_secs_f64() * rate > 0.5) {
                met += 1;
                previous = Some(burst.start);
            }
        }
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        Rhythm {
            rate,
            strength: sums.strength(all.0 as usize),
            bursts_on_beat: share(on_beat.0, all.0),
            bytes_on_beat: share(on_beat.1, all.1),
            // A span of n periods has n + 1 beats.
            beats_met: (met as f64 / (beats + 1.0).floor()).min(1.0),
        }
    }
}

/// Phase after `nanos` at `rate` turns a second, in units of 2^-32 turn, modulo one turn.
fn turns(nanos: u64, rate: f64) -> u32 {
    // Microhertz are exact enough: after 5 s the error is a hundred-thousandth of a turn.
    let micro = libm::round(rate * 1e6).clamp(0.0, 1e12) as u128;
    let turns = ((u128::from(nanos) * micro) << 32) / 1_000_000_000_000_000;
    turns as u32
}

#[cfg(test)]
mod tests {
    use airbound_units::Span;

    use super::*;

    /// A multiplicative generator, sufficient to scatter times.
    fn unit(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn found(millis: &[f64]) -> Rhythm {
        let mut sorted = millis.to_vec();
        sorted.sort_by(f64::total_cmp);
        let bursts = sorted.into_iter().map(|at| Burst {
            start: Instant::ZERO + Span::from_millis(1000).mul_f64(at / 1000.0),
            bytes: 1000,
        });
        Folder::new().find(bursts.collect::<Vec<_>>().into_iter(), 20.0, 150.0).expect("enough bursts")
    }

    #[test]
    fn a_perfect_beat_is_found_and_not_its_multiples() {
        for rate in [20.0, 24.0, 30.0, 50.0, 59.94, 72.0, 90.0, 120.0, 144.0] {
            let times: Vec<f64> =
                (0..(2.0 * rate) as u32).map(|beat| f64::from(beat) * 1000.0 / rate).collect();
            let rhythm = found(&times);
            assert!((rhythm.rate - rate).abs() < 0.1, "{rate}: {rhythm:?}");
            assert!(rhythm.strength > 3.9 * times.len() as f64, "{rate}: {rhythm:?}");
            assert!(rhythm.bursts_on_beat > 0.99 && rhythm.bytes_on_beat > 0.99, "{rate}: {rhythm:?}");
            assert!(rhythm.beats_met > 0.97, "{rate}: {rhythm:?}");
        }
    }

    #[test]
    fn jitter_and_frames_left_out_do_not_hide_it() {
        let mut state = 7;
        let mut times = Vec::new();
        for beat in 0..120 {
            let at = f64::from(beat) * 1000.0 / 60.0 + 4.0 * unit(&mut state);
            if unit(&mut state) < 0.7 {
                times.push(at);
            }
            // Acknowledgements release the rest of a frame at any time.
            if unit(&mut state) < 0.5 {
                times.push(at + 16.0 * unit(&mut state));
            }
        }
        let rhythm = found(&times);
        assert!((rhythm.rate - 60.0).abs() < 0.2 && rhythm.strength > 60.0, "{rhythm:?}");
        assert!((0.6..0.8).contains(&rhythm.bursts_on_beat), "{rhythm:?}");
        assert!((0.6..0.9).contains(&rhythm.beats_met), "{rhythm:?}");
    }

    #[test]
    fn equal_gaps_with_an_error_that_is_handed_on_are_no_beat() {
        let mut strongest: f64 = 0.0;
        for seed in 0..50 {
            let (mut state, mut now, mut times) = (seed, 0.0, Vec::new());
            while now < 2000.0 {
                times.push(now);
                // 16 ms to the next round, as with other stations in between, plus or minus 6 ms.
                now += 10.0 + 12.0 * unit(&mut state);
            }
            strongest = strongest.max(found(&times).strength);
        }
        assert!(strongest < 60.0, "{strongest}");
    }

    #[test]
    fn chance_is_weak() {
        let mut strongest: f64 = 0.0;
        for seed in 0..100 {
            let mut state = seed;
            let times: Vec<f64> = (0..200).map(|_| 2000.0 * unit(&mut state)).collect();
            strongest = strongest.max(found(&times).strength);
        }
        assert!(strongest < 40.0, "{strongest}");
    }
}

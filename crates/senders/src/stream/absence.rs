//! A radio that leaves the channel at intervals: for scans, for a second network, for a direct link to a neighbour.
//!
//! Nothing arrives for a while, and then what waited for the radio, in large frames. No rate shortens that, and these frames say nothing
//! about the rate. An application that pauses leaves gaps too, but the first frame after one holds a packet or two.

use airbound_units::{Instant, Span};

/// Shortest gap that counts: more than twice the longest PPDU (5.484 ms, IEEE 802.11-2020 table 9-34).
const SHORTEST: Span = Span::from_millis(12);
/// Longest time between two packets of the frame that follows (the threshold of [`crate::allocation::Grouping`]).
const WITHIN_FRAME: Span = Span::from_micros(100);
/// Share of the usual packets of the gap that this frame has to hold,
const WAITED: f64 = 0.5;
/// at least and at most: half of a block-ack window of 32.
const LEAST: f64 = 4.0;
const MOST: f64 = 16.0;
/// Time over which the usual rate is averaged, in s.
const AVERAGE: f64 = 1.0;
/// Most absences between them that may have gone unseen.
const UNSEEN: f64 = 1.0;
/// Deviation of the distances from whole periods, in periods.
const SCATTER: f64 = 0.125;
/// Shortest period in s: longer than the interval of a video's frames (67 ms at 15 a second), which an unpaced sender leaves gaps between,
/// and shorter than that of beacons (102.4 ms).
const SHORTEST_PERIOD: f64 = 0.08;
/// Longest time without arrivals after which the usual rate is not known any more.
const PAUSE: Span = Span::from_secs(2);
/// Number of periods without an absence after which there is none any more.
const MISSED: f64 = 3.0;

/// Absences at a steady period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    /// From one begin to the next; whole milliseconds on the wire, at most 65 s.
    pub period: Span,
    /// Mean duration.
    pub length: Span,
}

/// A gap, while the frame after it is being received.
#[derive(Debug, Clone, Copy)]
struct Gap {
    begin: Instant,
    length: Span,
    /// Packets that this frame has to hold yet.
    missing: f64,
}

/// Finds absences in the arrivals of a receiver.
#[derive(Debug, Clone, Default)]
pub(super) struct AbsenceDetector {
    last: Option<Instant>,
    /// Packets and time of the average; their ratio is the usual rate, from the first arrival on.
    packets: f64,
    time: f64,
    gap: Option<Gap>,
    absences: Absences,
}

/// The last absences, from which their period follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Absences {
    /// Begins and lengths; the newest first.
    found: [Option<(Instant, Span)>; Self::KEPT],
}

impl AbsenceDetector {
    /// Takes an arrival. Returns whether it shows that the radio was away.
    pub(super) fn on_arrival(&mut self, at: Instant, packets: u32) -> bool {
        let packets = f64::from(packets);
        let Some(last) = self.last.replace(at) else { return false };
        if at < last || at - last > PAUSE {
            // A clock was set, or the application paused.
            *self = Self { last: Some(at), ..Self::default() };
            return false;
        }
        let quiet = at - last;
        let elapsed = quiet.as_secs_f64();
        if quiet >= SHORTEST && self.time > 0.0 {
            let waited = WAITED * self.packets / self.time * elapsed;
            self.gap = Some(Gap { begin: last, length: quiet, missing: waited.clamp(LEAST, MOST) });
        } else if quiet > WITHIN_FRAME {
            self.gap = None;
        }
        let decay = 1.0 / (1.0 + elapsed / AVERAGE);
        self.packets = (self.packets + packets) * decay;
        self.time = (self.time + elapsed) * decay;
        let Some(gap) = &mut self.gap else { return false };
        gap.missing -= packets;
        if gap.missing > 0.0 {
            return false;
        }
        self.absences.add(gap.begin, gap.length);
        self.gap = None;
        true
    }

    /// The period of absences; `None` if there is none, or if it has ended.
    pub(super) fn absence(&self, now: Instant) -> Option<Absence> {
        self.absences.period(now)
    }
}

impl Absences {
    /// Number of absences that a period is made of.
    pub(crate) const KEPT: usize = 6;

    /// Adds an absence, which began after those before it.
    pub fn add(&mut self, begin: Instant, length: Span) {
        self.found.rotate_right(1);
        self.found[0] = Some((begin, length));
    }

    /// The steady period of the last six; `None` if there is none, or if it has ended at `now`.
    #[must_use]
    pub fn period(&self, now: Instant) -> Option<Absence> {
        let mut found = [(Instant::ZERO, Span::ZERO); Self::KEPT];
        for (to, from) in found.iter_mut().zip(&self.found) {
            *to = (*from)?;
        }
        let distances: [f64; Self::KEPT - 1] =
            std::array::from_fn(|place| found[place].0.since(found[place + 1].0).as_secs_f64());
        let shortest = distances.into_iter().fold(f64::INFINITY, f64::min);
        // An absence in which nothing was sent is not seen: its neighbours are two periods apart.
        let periods = distances.map(|distance| libm::round(distance / shortest));
        let period = distances.iter().sum::<f64>() / periods.iter().sum::<f64>();
        // Gaps at random times lie near some multiple of the shortest distance often, near the same few times in a row hardly ever.
        let is_whole = |(distance, count): (&f64, f64)| (distance / period - count).abs() <= SCATTER;
        let steady = periods.iter().sum::<f64>() <= distances.len() as f64 + UNSEEN
            && distances.iter().zip(periods).all(is_whole);
        let length = found.iter().map(|(_, length)| length.as_secs_f64()).sum::<f64>() / Self::KEPT as f64;
        let lasts = now.since(found[0].0).as_secs_f64() <= (MISSED + 1.0) * period;
        // A radio is there for most of the time.
        let possible = period >= SHORTEST_PERIOD && length <= period / 2.0;
        (steady && lasts && possible)
            .then(|| Absence { period: Span::from_secs_f64(period), length: Span::from_secs_f64(length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `seconds` of 1000 packets a second of 1200 B, held back while `away(ms)`; returns the absence at the end.
    fn after(seconds: u64, away: impl Fn(u64) -> bool) -> Option<Absence> {
        let mut detector = AbsenceDetector::default();
        let mut waiting = 0;
        for millis in 0..seconds * 1000 {
            waiting += 1;
            if !away(millis) {
                for _ in 0..waiting {
                    detector.on_arrival(Instant::ZERO + Span::from_millis(millis), 1);
                }
                waiting = 0;
            }
        }
        detector.absence(Instant::ZERO + Span::from_secs(seconds))
    }

    #[test]
    fn a_steady_period_is_found_and_forgotten() {
        let absence = after(4, |millis| millis % 512 < 64).expect("a period");
        assert!(absence.period.as_millis().abs_diff(512) <= 2, "{absence:?}");
        assert!(absence.length.as_millis().abs_diff(64) <= 2, "{absence:?}");
        assert_eq!(after(12, |millis| millis < 4000 && millis % 512 < 64), None);
        let with_hole = after(6, |millis| millis % 512 < 64 && millis / 512 != 9).expect("a period");
        assert!(with_hole.period.as_millis().abs_diff(512) <= 2, "{with_hole:?}");
    }

    #[test]
    fn gaps_without_a_period_are_none() {
        assert_eq!(after(10, |_| false), None);
        assert_eq!(
            after(10, |millis| [500, 3000, 3300, 9000].iter().any(|at| millis.abs_diff(*at) < 30)),
            None
        );
    }

    /// A busy machine stalls a receiver at random times for as long as a scan lasts.
    #[test]
    fn stalls_at_random_times_are_no_period() {
        let (mut seen, mut stalls) = (0, 0);
        for run in 0..20_u64 {
            let mut detector = AbsenceDetector::default();
            let (mut state, mut waiting, mut back, mut next) = (run + 1, 0, 0, 0_u64);
            let mut draw = |most: u64| {
                // A linear congruential generator (Knuth, MMIX).
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % most
            };
            for millis in 0..60_000 {
                if millis >= next {
                    (back, next) = (millis + 20 + draw(50), millis + 100 + draw(800));
                    stalls += 1;
                }
                waiting += 1;
                let at = Instant::ZERO + Span::from_millis(millis);
                if millis >= back {
                    for _ in 0..std::mem::take(&mut waiting) {
                        detector.on_arrival(at, 1);
                    }
                }
                seen += u64::from(millis % 100 == 0 && detector.absence(at).is_some());
            }
        }
        assert!(stalls > 2000 && seen < 20 * 600 / 100, "{seen} of {} looks, {stalls} stalls", 20 * 600);
    }

    #[test]
    fn an_application_that_pauses_or_sends_unpaced_frames_is_not_away() {
        // Silent for 64 ms of 512, without anything that waited.
        let mut detector = AbsenceDetector::default();
        for millis in (0..6000).filter(|millis| millis % 512 >= 64) {
            assert!(!detector.on_arrival(Instant::ZERO + Span::from_millis(millis), 1));
        }
        // Thirty unpaced frames a second.
        let mut detector = AbsenceDetector::default();
        for frame in 0..300 {
            for packet in 0..20 {
                let at = Instant::ZERO + Span::from_micros(frame * 33_333 + packet * 50);
                detector.on_arrival(at, 1);
            }
        }
        assert_eq!(detector.absence(Instant::ZERO + Span::from_secs(10)), None);
    }
}

//! Probes in the order of time: late ones, episodes of them, the least of each window.

use airbound_units::{Instant, Span};

use super::{FEWEST, Probe, SPARSE};
use crate::stream::{Absence, Absences};

/// A probe is late from one frame of a display of 60 Hz on.
pub(super) const LATE: Span = Span::from_nanos(16_666_667);
/// A gateway answers within the longest PPDU (5.484 ms): a larger least round trip is itself a delay.
const ANSWER: Span = Span::from_micros(5484);
/// Window and least delay of a standing queue: interval and target of RFC 8289, 4.2 and 4.3.
const INTERVAL: Span = Span::from_millis(100);
const TARGET: Span = Span::from_millis(5);
/// Distance of probes from which on they are sparse.
const APART: Span = Span::from_millis(200);
/// Interval between beacons: 100 TU, hostapd's default.
const BEACONS: Span = Span::from_micros(102_400);
/// Shortest delay of an episode: more than twice the longest PPDU, as of an absence.
const GAP: Span = Span::from_millis(12);
/// Share of the looks at the last episodes that have to show a period: chance shows one now and then.
const STEADY: f64 = 0.5;
/// Share of the time of sending within which held probes arrive.
const TOGETHER: f64 = 1.0 / 3.0;

/// Probes that follow one another and were lost or delayed by [`GAP`] or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Episode {
    /// The first was sent.
    pub(super) begin: Instant,
    /// The last arrived, or the next one that was in time was sent.
    pub(super) end: Instant,
    /// Their number.
    pub(super) probes: usize,
    /// Whether they waited for one moment, and few were lost: the way was closed.
    pub(super) is_held: bool,
}

/// Probes of one target.
#[derive(Debug, Clone, Default)]
pub(super) struct Series {
    /// Delay beyond the least round trip; `None` for lost ones.
    pub(super) delays: Vec<(Instant, Option<Span>)>,
    /// Time to the probe before.
    pub(super) distances: Vec<Span>,
    /// The least round trip.
    pub(super) least: Option<Span>,
    /// The part of a round trip that is no delay.
    base: Span,
}

/// Whether a delay is late.
pub(super) fn is_late(delay: Option<Span>) -> bool {
    delay.is_none_or(|delay| delay >= LATE)
}

impl Series {
    /// Of probes outside of the stalls of this machine.
    pub(super) fn of(probes: &[Probe], stalls: &[(Instant, Span)], is_near: bool) -> Self {
        let is_clean = |probe: &&Probe| {
            let end = probe.sent + probe.round_trip.unwrap_or(Span::ZERO);
            stalls.iter().all(|(begin, length)| *begin > end || *begin + *length < probe.sent)
        };
        let least = probes.iter().filter_map(|probe| probe.round_trip).min();
        let base = least.map_or(Span::ZERO, |least| if is_near { least.min(ANSWER) } else { least });
        let distances = probes.iter().enumerate().map(|(place, probe)| match place.checked_sub(1) {
            Some(before) => probe.sent.since(probes[before].sent),
            None => Span::ZERO,
        });
        let (clean, distances) = probes
            .iter()
            .zip(distances)
            .filter(|(probe, _)| is_clean(probe))
            .map(|(probe, distance)| {
                ((probe.sent, probe.round_trip.map(|time| time.saturating_sub(base))), distance)
            })
            .unzip();
        Self { delays: clean, distances, least, base }
    }

    /// Number of late and lost ones.
    pub(super) fn late(&self) -> usize {
        self.delays.iter().filter(|(_, delay)| is_late(*delay)).count()
    }

    /// Number of lost ones.
    pub(super) fn lost(&self) -> usize {
        self.delays.iter().filter(|(_, delay)| delay.is_none()).count()
    }

    /// Share of late and lost ones.
    pub(super) fn late_share(&self) -> f64 {
        share(self.late(), self.delays.len())
    }

    /// The delay that a share of the probes does not exceed; lost ones exceed any.
    pub(super) fn quantile(&self, at: f64) -> Option<Span> {
        let mut delays: Vec<Span> =
            self.delays.iter().map(|(_, delay)| delay.unwrap_or(Span::from_secs(3600))).collect();
        delays.sort_unstable();
        let place = (at * delays.len() as f64) as usize;
        delays.get(place.min(delays.len().saturating_sub(1))).copied()
    }

    /// Round trips a minute: 60 s over the mean of the least 95 % of the answers (draft-ietf-ippm-responsiveness-06, Aggregating the
    /// Measurements); `None` without any.
    pub(super) fn per_minute(&self) -> Option<f64> {
        let mut answered: Vec<Span> = self.delays.iter().filter_map(|(_, delay)| *delay).collect();
        answered.sort_unstable();
        answered.truncate((0.95 * answered.len() as f64).ceil() as usize);
        let sum: f64 = answered.iter().map(|delay| (*delay + self.base).as_secs_f64()).sum();
        (sum > 0.0).then(|| 60.0 * answered.len() as f64 / sum)
    }

    /// Share of dense probes that are lost or later than `limit`, and of sparse ones that are later and not lost: who sleeps loses nothing.
    /// None of a few.
    pub(super) fn beyond(&self, limit: Span) -> (f64, f64) {
        let mut counts = [(0_usize, 0_usize); 2];
        for ((_, delay), distance) in self.delays.iter().zip(&self.distances) {
            let is_apart = *distance >= APART;
            let (late, all) = &mut counts[usize::from(is_apart)];
            *late += usize::from(delay.map_or(!is_apart, |delay| delay > limit));
            *all += 1;
        }
        if counts[1].1 < FEWEST {
            return (0.0, 0.0);
        }
        (share(counts[0].0, counts[0].1), share(counts[1].0, counts[1].1))
    }

    /// Episodes among dense probes.
    pub(super) fn episodes(&self) -> Vec<Episode> {
        let mut found = Vec::new();
        let mut current: Vec<(Instant, Option<Span>)> = Vec::new();
        let mut before = None;
        for ((sent, delay), distance) in self.delays.iter().zip(&self.distances) {
            let is_apart = *distance >= APART;
            let is_delayed = delay.is_none_or(|delay| delay >= GAP);
            if is_apart || !is_delayed {
                found.extend(episode(&current, *sent));
                current.clear();
            }
            if is_delayed && !is_apart {
                current.push((*sent, *delay));
            }
            before = Some(*sent);
        }
        found.extend(before.and_then(|last| episode(&current, last)));
        found
    }

    /// The steady period of episodes, by their ends: what was held arrives the moment the way opens, while probes see its closing late.
    pub(super) fn period(episodes: &[Episode]) -> Option<Absence> {
        let mut absences = Absences::default();
        let looks = episodes.iter().map(|episode| {
            absences.add(episode.end, episode.end.since(episode.begin));
            absences.period(episode.end)
        });
        // Fewer episodes show none.
        let looks: Vec<_> = looks.skip(Absences::KEPT - 1).collect();
        let shown = looks.iter().flatten().count();
        let is_steady = shown >= FEWEST && share(shown, looks.len()) >= STEADY;
        looks.into_iter().flatten().last().filter(|_| is_steady)
    }

    /// Whether what was delayed by more than `limit`, all of it or sparse ones, arrived at one phase of the beacons: length of the mean of
    /// unit vectors, 0 to 1.
    pub(super) fn on_beacons(&self, limit: Span, is_sparse: bool) -> f64 {
        let all = self.delays.iter().zip(&self.distances);
        let held = all.filter_map(|((sent, delay), distance)| {
            let delay = (*delay)?;
            (delay > limit && (!is_sparse || *distance >= APART)).then_some((*sent, delay))
        });
        let (mut sum, mut count) = ((0.0, 0.0), 0);
        for (sent, delay) in held {
            let into = (sent + delay).as_nanos() % BEACONS.as_nanos();
            let phase = std::f64::consts::TAU * into as f64 / BEACONS.as_nanos() as f64;
            sum = (sum.0 + libm::cos(phase), sum.1 + libm::sin(phase));
            count += 1;
        }
        if count == 0 { 0.0 } else { libm::hypot(sum.0, sum.1) / f64::from(count) }
    }

    /// Share of the late probes that lie in a window whose least delay is above the target: those of a standing queue.
    pub(super) fn standing(&self) -> f64 {
        let (mut late, mut standing) = (0, 0);
        let mut at = 0;
        while let Some((begin, _)) = self.delays.get(at) {
            let in_window = |(sent, _): &&(Instant, Option<Span>)| sent.since(*begin) < INTERVAL;
            let window: Vec<_> = self.delays[at..].iter().take_while(in_window).collect();
            let least = window.iter().filter_map(|(_, delay)| *delay).min();
            let count = window.iter().filter(|(_, delay)| is_late(*delay)).count();
            late += count;
            standing += if least.is_some_and(|least| least > TARGET) { count } else { 0 };
            at += window.len().max(1);
        }
        share(standing, late)
    }
}

/// The episode of these probes, before one that was not late.
fn episode(probes: &[(Instant, Option<Span>)], next: Instant) -> Option<Episode> {
    let ((begin, _), (last, _)) = (*probes.first()?, *probes.last()?);
    let arrivals = || probes.iter().filter_map(|(sent, delay)| Some(*sent + (*delay)?));
    let lost = probes.len() - arrivals().count();
    let (first, end) = (arrivals().min(), arrivals().max());
    let sending = last.since(begin);
    let spread = first.zip(end).map_or(Span::ZERO, |(first, end)| end.since(first));
    let is_long = probes.len() >= 3 && sending < SPARSE.mul_f64(10.0);
    let is_held = is_long && 2 * lost < probes.len() && spread <= sending.mul_f64(TOGETHER);
    Some(Episode { begin, end: end.unwrap_or(next).max(last), probes: probes.len(), is_held })
}

/// Part of a whole; 0 of none.
pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

//! Figures of the observations, and the values from which on they count.

use airbound_units::{Instant, Span};

use super::series::{Episode, LATE, Series, is_late, share};
use super::{Counters, DENSE, FEWEST, Observations, Probe};
use crate::stream::Absence;

/// Share of late probes from which on a link is not healthy: more than one frame in a hundred.
pub(super) const SICK: f64 = 0.01;
/// Half: of late probes, for a cause that explains them; of the time, for a channel whose waiting (load / (1 - load), M/M/1) is as long as a
/// frame itself.
pub(super) const HALF: f64 = 0.5;
/// Retries for each frame: one try in five fails, twice what rate control settles for (a tenth: `MINSTREL_FRAC(90, 100)` caps in
/// minstrel_ht_get_tp_avg).
pub(super) const RETRIES: f64 = 0.25;
/// Weakest signal, dBm: 10 dB above the sensitivity of the lowest MCS (-82 dBm, 802.11-2020 table 19-18), since Rayleigh fading falls
/// 10 dB below its mean for 10 % of the time.
pub(super) const WEAK: f64 = -72.0;
/// Standard deviation of the signal from which on it fades, dB: more than shadowing of a room at rest and readings in whole dB make; Rician
/// fading with K = 6 dB has 3.3, Rayleigh 5.6.
pub(super) const SWING: f64 = 2.0;
/// Readings from which on their deviation says something.
const READINGS: usize = 10;
/// Share of late probes below which fading is the usual one of a good link: that of [`WEAK`].
pub(super) const FADED: f64 = 0.1;
/// Late probes that waited for one moment, from which on the way was closed: fades let single frames through.
const CLOSED: f64 = 2.0 / 3.0;
/// Before and after a scan a radio tells its peer, and what waited is sent.
const AROUND: Span = Span::from_millis(50);
/// Sleeping delays differ from those of dense probes, which come every 10 ms and wake the radio.
const ASLEEP: Span = Span::from_millis(25);
/// Longest stall of a machine that hurts no program: one of its frames.
const STALL: Span = LATE;

/// Figures of which the rules are made; shares are 0 to 1.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    pub(super) near: Series,
    pub(super) far: Series,
    /// Late near probes in a scan, as a share of all late ones.
    pub(super) in_scans: f64,
    /// Late near probes of those that were sent in scans, and of those that were sent at other times.
    pub(super) scanned: (f64, f64),
    /// Dense and sparse near probes that are later than sleep allows.
    pub(super) asleep: (f64, f64),
    /// The same of far ones: a request of an idle radio wakes it, and the near answer comes before it sleeps again.
    pub(super) far_asleep: (f64, f64),
    /// Concentration of delayed arrivals on the beacons.
    pub(super) on_beacons: f64,
    /// The same of far probes after a pause.
    pub(super) far_on_beacons: f64,
    pub(super) episodes: Vec<Episode>,
    /// Late near probes in episodes that were held.
    pub(super) held: f64,
    pub(super) period: Option<Absence>,
    /// Late near probes in a standing queue.
    pub(super) standing: f64,
    pub(super) signal: Option<f64>,
    /// Standard deviation of the signal, dB.
    pub(super) swing: Option<f64>,
    /// Retries for each frame.
    pub(super) retries: Option<f64>,
    /// Time in which others, or this network, hold the channel.
    pub(super) others: Option<f64>,
    pub(super) own: Option<f64>,
    /// Samples with packets that wait here.
    pub(super) backlog: Option<f64>,
    /// Late far probes whose near ones are not late, of all far ones.
    pub(super) beyond: f64,
    pub(super) beyond_count: usize,
    /// Time in which the machine stalled.
    pub(super) stalled: f64,
    pub(super) longest_stall: Span,
}

impl Figures {
    pub(super) fn of(seen: &Observations) -> Self {
        let stalls: Vec<(Instant, Span)> =
            seen.stalls.iter().copied().filter(|(_, length)| *length >= STALL).collect();
        // A target that never answers does not answer this kind of probe, unless the other one does not either.
        let (is_near, is_far) = (is_answered(&seen.near), is_answered(&seen.far));
        let near = Series::of(if is_near || !is_far { &seen.near } else { &[] }, &stalls, true);
        let far = Series::of(if is_far { &seen.far } else { &[] }, &stalls, false);
        let late: Vec<_> = near.delays.iter().filter(|(_, delay)| is_late(*delay)).collect();
        let in_scans = late.iter().filter(|(sent, delay)| {
            let arrived = *sent + delay.unwrap_or(Span::ZERO);
            seen.scans.iter().any(|(begin, end)| *sent <= *end + AROUND && *begin <= arrived + AROUND)
        });
        let in_scans = share(in_scans.count(), late.len());
        let episodes = near.episodes();
        let held = episodes.iter().filter(|episode| episode.is_held).map(|episode| episode.probes).sum();
        let held = share(held, episodes.iter().map(|episode| episode.probes).sum());
        let (beyond_count, beyond) = beyond(&near, &far);
        let probed = seen.near.last().map_or(Span::ZERO, |last| last.sent.since(seen.near[0].sent));
        let stalled = stalls.iter().fold(Span::ZERO, |sum, (_, length)| sum + *length);
        let (others, own) = airtime(&seen.counters);
        let signals = seen.counters.iter().filter_map(|counters| counters.signal);
        let signals: Vec<f64> = signals.filter(|signal| signal.is_finite()).collect();
        Self {
            in_scans,
            scanned: scanned(&near, &seen.scans),
            on_beacons: near.on_beacons(ASLEEP, false),
            far_on_beacons: far.on_beacons(ASLEEP, true),
            asleep: near.beyond(ASLEEP),
            far_asleep: far.beyond(ASLEEP),
            held,
            period: Series::period(&episodes),
            episodes,
            standing: near.standing(),
            signal: median(&signals),
            swing: deviation(&signals),
            retries: ratio(&seen.counters, |counters| counters.retries, |counters| counters.sent),
            others,
            own,
            backlog: backlog(&seen.counters),
            beyond,
            beyond_count,
            stalled: if probed.is_zero() { 0.0 } else { stalled.as_secs_f64() / probed.as_secs_f64() },
            longest_stall: stalls.iter().map(|(_, length)| *length).max().unwrap_or(Span::ZERO),
            near,
            far,
        }
    }

    /// Whether so many near probes are late that a link is not well.
    pub(super) fn is_late(&self) -> bool {
        self.near.late() >= FEWEST && self.near.late_share() >= SICK
    }

    /// Whether the signal fades.
    pub(super) fn swings(&self) -> bool {
        self.swing.is_some_and(|swing| swing >= SWING)
    }

    /// Retries for each frame from which on they count: rate control settles for more where it follows fades.
    pub(super) fn most_retries(&self) -> f64 {
        if self.swings() { HALF } else { RETRIES }
    }

    /// Whether the late probes are those of the usual fading of a good link: few, hardly any lost, by no way that was closed and no queue.
    pub(super) fn fades(&self) -> bool {
        let is_few = self.near.late_share() < FADED && share(self.near.lost(), self.near.delays.len()) < SICK;
        self.swings()
            && is_few
            && self.held < CLOSED
            && self.standing < HALF
            && self.retries.is_none_or(|retries| retries < HALF)
    }
}

/// Shares of late probes, of those sent in scans and of those sent at other times; none if few are late in scans.
fn scanned(near: &Series, scans: &[(Instant, Instant)]) -> (f64, f64) {
    let is_within = |sent: Instant, around: Span| {
        scans.iter().any(|(begin, end)| *begin <= sent + around && sent <= *end + around)
    };
    let late = |is_sent: &dyn Fn(Instant) -> bool| {
        let probes: Vec<_> = near.delays.iter().filter(|(sent, _)| is_sent(*sent)).collect();
        let late = probes.iter().filter(|(_, delay)| is_late(*delay)).count();
        (late, share(late, probes.len()))
    };
    let (count, inside) = late(&|sent| is_within(sent, Span::ZERO));
    let (_, outside) = late(&|sent| !is_within(sent, AROUND));
    if count >= FEWEST { (inside, outside) } else { (0.0, 0.0) }
}

/// Number and share of late far probes whose near ones, sent within the distance of dense ones, are not late.
fn beyond(near: &Series, far: &Series) -> (usize, f64) {
    let is_near_late = |at: Instant| {
        let from = near.delays.partition_point(|(sent, _)| *sent + DENSE < at);
        let around = near.delays[from..].iter().take_while(|(sent, _)| *sent <= at + DENSE);
        around.clone().any(|(_, delay)| is_late(*delay))
    };
    let late = far.delays.iter().filter(|(sent, delay)| is_late(*delay) && !is_near_late(*sent)).count();
    (late, share(late, far.delays.len()))
}

/// The middle one.
fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The standard deviation; `None` of few.
fn deviation(values: &[f64]) -> Option<f64> {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>();
    (values.len() >= READINGS).then(|| (squares / count).sqrt())
}

/// Growth of one counter for each of another; `None` without growth.
fn ratio(
    counters: &[Counters],
    part: impl Fn(&Counters) -> Option<u64>,
    whole: impl Fn(&Counters) -> Option<u64>,
) -> Option<f64> {
    let growth = |of: &dyn Fn(&Counters) -> Option<u64>| {
        Some(of(counters.last()?)?.saturating_sub(of(counters.first()?)?))
    };
    let (part, whole) = (growth(&part)?, growth(&whole)?);
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Shares of the time in which others and this network held the channel.
fn airtime(counters: &[Counters]) -> (Option<f64>, Option<f64>) {
    let growth = |of: fn(&Counters) -> Option<Span>| {
        Some(of(counters.last()?)?.saturating_sub(of(counters.first()?)?).as_secs_f64())
    };
    let Some(time) = growth(|counters| counters.on_channel).filter(|time| *time > 0.0) else {
        return (None, None);
    };
    let own = growth(|counters| counters.own);
    let busy = growth(|counters| counters.busy);
    let others = busy.map(|busy| (busy - own.unwrap_or(0.0)).max(0.0) / time);
    (others, own.map(|own| own / time))
}

/// Share of the samples in which packets wait.
fn backlog(counters: &[Counters]) -> Option<f64> {
    let known: Vec<u64> = counters.iter().filter_map(|counters| counters.backlog).collect();
    (!known.is_empty()).then(|| share(known.iter().filter(|packets| **packets > 0).count(), known.len()))
}

/// Whether a probe was answered.
pub(super) fn is_answered(probes: &[Probe]) -> bool {
    probes.iter().any(|probe| probe.round_trip.is_some())
}

//! Bursts in front of an access point that serves the protected flows first: who waits for what.
//!
//! A recurrence over aggregates, each with its mean wait and its exchange. The hardware holds `depth` of them, made
//! ahead; whenever one is done, the next is made. A stream is urgent when the age of its oldest packet and the drain of
//! the hardware exceed its permitted latency (LAST-PQ, Sec. IV). Of the urgent streams the one with the least airtime goes
//! first (the greatest deficit); without any, all have their turn by airtime. So an aggregate of others that is in hardware
//! when a burst comes is in its way, as Sec. VIII of the paper says.

use std::collections::VecDeque;

use crate::contention::Wait;
use crate::exchange::Exchange;
use crate::latency::Part;
use crate::link::Course;

/// How a station is served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) station: usize,
    pub(crate) exchange: Exchange,
    /// In front of each exchange.
    pub(crate) wait: Wait,
    /// Whether rate control probes other rates, for which a packet goes alone.
    pub(crate) probes: bool,
}

impl Service {
    /// Seconds from one full aggregate to the next.
    pub(crate) fn full_cycle(&self) -> f64 {
        self.wait.mean + self.exchange.duration(self.exchange.most)
    }
}

/// A flow to be protected: how it is served, and when its packets come.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    /// As time goes by, at the steps of [`crate::link::Course`]; the last one stays.
    pub(crate) services: Vec<Service>,
    /// Ascending, in seconds.
    pub(crate) arrivals: Vec<f64>,
    /// How long its packets may queue until it is urgent (l_pq), in seconds.
    pub(crate) permitted: f64,
}

impl Stream {
    fn service(&self, seconds: f64) -> Option<&Service> {
        self.services.get(Course::step(seconds).min(self.services.len().saturating_sub(1)))
    }
}

/// LAST-PQ's guard against a drain estimate that is too low (T_guard), in seconds.
const GUARD: f64 = 0.001;
/// Seconds between probes of rate control (Minstrel-HT's sample interval in `airbound_control::rate`).
const PROBE_INTERVAL: f64 = 0.02;

/// The unprotected traffic to one station.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Backlog {
    pub(crate) service: Service,
    /// Packets a second; infinite if there is always one.
    pub(crate) load: f64,
}

/// Where aggregates wait below the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hardware {
    /// Aggregates in hardware, the one on the air included; at least 1.
    pub(crate) depth: usize,
    /// Whether they are put together when there is room, instead of when the channel is won.
    pub(crate) ahead: bool,
}

/// What has been transmitted so far.
#[derive(Default)]
struct History {
    /// Ends of exchanges.
    ends: Vec<f64>,
    /// Sums over all waits up to each.
    means: Vec<f64>,
    variances: Vec<f64>,
}

impl History {
    fn add(&mut self, end: f64, wait: &Wait) {
        self.ends.push(end);
        self.means.push(self.means.last().copied().unwrap_or(0.0) + wait.mean);
        self.variances.push(self.variances.last().copied().unwrap_or(0.0) + wait.variance);
    }

    fn last_end(&self) -> f64 {
        self.ends.last().copied().unwrap_or(0.0)
    }

    /// Mean and variance of all waits since `from`, the one then under way included.
    fn waits_since(&self, from: f64) -> (f64, f64) {
        let before = self.ends.partition_point(|end| *end <= from);
        let at =
            |sums: &[f64]| before.checked_sub(1).and_then(|place| sums.get(place)).copied().unwrap_or(0.0);
        let all = |sums: &[f64]| sums.last().copied().unwrap_or(0.0);
        (all(&self.means) - at(&self.means), all(&self.variances) - at(&self.variances))
    }
}

/// Whose turn it is.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Stream(usize),
    Backlog(usize),
}

/// The airtime that each has had. Who had nothing to send does not save it up.
struct Shares {
    streams: Vec<f64>,
    backlogs: Vec<f64>,
    /// That of the last who was served, before.
    level: f64,
}

impl Shares {
    fn of(&self, turn: Turn) -> f64 {
        match turn {
            Turn::Stream(stream) => self.streams.get(stream).copied().unwrap_or(0.0),
            Turn::Backlog(backlog) => self.backlogs.get(backlog).copied().unwrap_or(0.0),
        }
    }

    fn charge(&mut self, turn: Turn, airtime: f64) {
        let level = self.level;
        let share = match turn {
            Turn::Stream(stream) => self.streams.get_mut(stream),
            Turn::Backlog(backlog) => self.backlogs.get_mut(backlog),
        };
        if let Some(share) = share {
            // No more credit than an aggregate's worth.
            *share = share.max(level - MOST_CREDIT);
            self.level = level.max(*share);
            *share += airtime;
        }
    }
}

/// Airtime that may be saved up, in seconds: some quanta of mac80211's airtime scheduler.
const MOST_CREDIT: f64 = 0.004;

/// The latencies of the packets of each stream. What is not served by `deadline` counts as if it were served then.
pub(crate) fn latencies(
    streams: &[Stream],
    backlogs: &[Backlog],
    hardware: Hardware,
    deadline: f64,
) -> Vec<Vec<Part>> {
    let mut parts: Vec<Vec<Part>> = vec![Vec::new(); streams.len()];
    let mut next = vec![0_usize; streams.len()];
    let mut taken = vec![0.0_f64; backlogs.len()];
    let mut probe = vec![0.0_f64; streams.len()];
    let mut shares =
        Shares { streams: vec![0.0; streams.len()], backlogs: vec![0.0; backlogs.len()], level: 0.0 };
    let mut history = History::default();
    let depth = if hardware.ahead { hardware.depth.max(1) } else { 1 };
    let mut under_way: VecDeque<f64> = std::iter::repeat_n(0.0, depth).collect();
    let waiting = |next: &[usize], stream: usize| streams[stream].arrivals.get(next[stream]).copied();
    while let Some(soonest) =
        (0..streams.len()).filter_map(|stream| waiting(&next, stream)).min_by(f64::total_cmp)
    {
        let room = under_way.pop_front().unwrap_or(0.0);
        if room > deadline {
            break;
        }
        let is_due = |place: usize| {
            backlogs[place].load.is_infinite() || backlogs[place].load * room - taken[place] >= 1.0
        };
        let others = (0..backlogs.len()).filter(|place| is_due(*place)).map(Turn::Backlog);
        let others: Vec<Turn> = others.collect();
        let begin = if others.is_empty() { room.max(soonest) } else { room };
        let here = (0..streams.len())
            .filter(|&stream| waiting(&next, stream).is_some_and(|arrival| arrival <= begin))
            .map(Turn::Stream);
        let drain = history.last_end().max(begin) - begin + GUARD;
        let is_urgent = |turn: &Turn| match turn {
            Turn::Stream(stream) => {
                let age = waiting(&next, *stream).map_or(0.0, |arrival| begin - arrival);
                age + drain >= streams[*stream].permitted
            }
            Turn::Backlog(_) => false,
        };
        let least = |one: &Turn, other: &Turn| shares.of(*one).total_cmp(&shares.of(*other));
        let urgent = here.clone().filter(is_urgent).min_by(least);
        let Some(turn) = urgent.or_else(|| here.chain(others.iter().copied()).min_by(least)) else { break };
        let start = begin.max(history.last_end());
        match turn {
            Turn::Backlog(place) => {
                let Backlog { service, load } = backlogs[place];
                let packets = (load * room - taken[place]).min(service.exchange.fresh()).max(1.0);
                taken[place] += packets;
                let sent = (packets / service.exchange.success()).min(service.exchange.most);
                let duration = service.exchange.duration(sent);
                history.add(start + service.wait.mean + duration, &service.wait);
                shares.charge(turn, duration);
            }
            Turn::Stream(stream) => {
                let Some(&Service { exchange, wait, probes, .. }) = streams[stream].service(begin) else {
                    break;
                };
                let joined = if hardware.ahead { begin } else { start + wait.mean };
                let is_probe = probes && begin >= probe[stream];
                if is_probe {
                    probe[stream] = begin + PROBE_INTERVAL;
                }
                let arrivals = &streams[stream].arrivals;
                let first = next[stream];
                let most = first + if is_probe { 1 } else { exchange.fresh().floor().max(1.0) as usize };
                let until = arrivals.partition_point(|arrival| *arrival <= joined).clamp(first + 1, most);
                let sent = ((until - first) as f64 / exchange.success()).min(exchange.most);
                let duration = exchange.duration(sent);
                let end = start + wait.mean + duration;
                history.add(end, &wait);
                shares.charge(turn, duration);
                let again = depth as f64 * (wait.mean + duration);
                for &arrival in arrivals.get(first..until).unwrap_or_default() {
                    parts[stream].push(part(&history, arrival, end, 1.0 - exchange.success(), again));
                }
                next[stream] = until;
            }
        }
        under_way.push_back(history.last_end());
    }
    for ((stream, parts), next) in streams.iter().zip(&mut parts).zip(next) {
        let unserved = stream.arrivals.get(next..).unwrap_or_default().iter();
        parts.extend(unserved.filter(|arrival| **arrival < deadline).map(|arrival| Part {
            certain: deadline - arrival,
            mean: 0.0,
            variance: 0.0,
            failure: 0.0,
            again: 0.0,
        }));
    }
    parts
}

fn part(history: &History, arrival: f64, end: f64, failure: f64, again: f64) -> Part {
    let (mean, variance) = history.waits_since(arrival);
    Part { certain: end - arrival - mean, mean, variance, failure, again }
}

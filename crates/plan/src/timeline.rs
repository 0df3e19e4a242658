//! Bursts in front of an access point that serves the protected flows first: who waits for what.
//!
//! A recurrence over aggregates, each with its mean wait and its exchange. The hardware holds `depth` of them, made
//! ahead; whenever one is done, the next is made: of the protected station that had the least airtime in this busy
//! period (LAST-PQ, Sec. IV: the greatest deficit), else of the backlog of the others. So an aggregate of the others that
//! is in hardware when a burst comes is in its way, as Sec. VIII of the paper says, and no other one is.

use std::collections::VecDeque;

use crate::contention::Wait;
use crate::exchange::Exchange;
use crate::latency::Part;

/// How a station is served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) station: usize,
    pub(crate) exchange: Exchange,
    /// In front of each exchange.
    pub(crate) wait: Wait,
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
    pub(crate) service: Service,
    /// Ascending, in seconds.
    pub(crate) arrivals: Vec<f64>,
}

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
        let at = |sums: &[f64]| before.checked_sub(1).and_then(|place| sums.get(place)).copied().unwrap_or(0.0);
        let all = |sums: &[f64]| sums.last().copied().unwrap_or(0.0);
        (all(&self.means) - at(&self.means), all(&self.variances) - at(&self.variances))
    }
}

/// The latencies of the packets of each stream. What is not served by `deadline` counts as if it were served then.
pub(crate) fn latencies(
    streams: &[Stream],
    backlogs: &[Backlog],
    hardware: Hardware,
    deadline: f64,
) -> Vec<Vec<Part>> {
    let mut parts: Vec<Vec<Part>> = vec![Vec::new(); streams.len()];
    let mut next = vec![0_usize; streams.len()];
    let mut airtime = vec![0.0_f64; streams.len()];
    let mut taken = vec![0.0_f64; backlogs.len()];
    let mut turn = 0;
    let mut history = History::default();
    let depth = if hardware.ahead { hardware.depth.max(1) } else { 1 };
    let mut under_way: VecDeque<f64> = std::iter::repeat_n(0.0, depth).collect();
    let waiting = |next: &[usize], stream: usize| streams[stream].arrivals.get(next[stream]).copied();
    loop {
        let soonest = (0..streams.len()).filter_map(|stream| waiting(&next, stream)).min_by(f64::total_cmp);
        let Some(soonest) = soonest else { break };
        let room = under_way.pop_front().unwrap_or(0.0);
        if room > deadline {
            break;
        }
        let due = backlogs_due(backlogs, &taken, room, turn);
        if soonest > room
            && let Some(place) = due
        {
            let Backlog { service, load } = backlogs[place];
            let packets = (load * room - taken[place]).min(service.exchange.fresh()).max(1.0);
            taken[place] += packets;
            turn = place + 1;
            let sent = (packets / service.exchange.success()).min(service.exchange.most);
            let end = room.max(history.last_end()) + service.wait.mean + service.exchange.duration(sent);
            history.add(end, &service.wait);
            under_way.push_back(end);
            airtime.fill(0.0);
            continue;
        }
        if soonest > room {
            airtime.fill(0.0);
        }
        let begin = room.max(soonest);
        let stream = (0..streams.len())
            .filter(|&stream| waiting(&next, stream).is_some_and(|arrival| arrival <= begin))
            .min_by(|&one, &other| airtime[one].total_cmp(&airtime[other]));
        let Some(stream) = stream else { break };
        let Service { exchange, wait, .. } = streams[stream].service;
        let start = begin.max(history.last_end());
        let joined = if hardware.ahead { begin } else { start + wait.mean };
        let arrivals = &streams[stream].arrivals;
        let first = next[stream];
        let most = first + exchange.fresh().floor().max(1.0) as usize;
        let until = arrivals.partition_point(|arrival| *arrival <= joined).clamp(first + 1, most);
        let sent = ((until - first) as f64 / exchange.success()).min(exchange.most);
        let duration = exchange.duration(sent);
        let end = start + wait.mean + duration;
        history.add(end, &wait);
        under_way.push_back(end);
        airtime[stream] += duration;
        let again = depth as f64 * (wait.mean + duration);
        for &arrival in arrivals.get(first..until).unwrap_or_default() {
            parts[stream].push(part(&history, arrival, end, 1.0 - exchange.success(), again));
        }
        next[stream] = until;
    }
    for (stream, parts) in streams.iter().zip(&mut parts).zip(&next).map(|((stream, parts), next)| {
        (stream.arrivals.get(*next..).unwrap_or_default(), parts)
    }) {
        parts.extend(stream.iter().filter(|arrival| **arrival < deadline).map(|arrival| Part {
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

/// The next of the backlogs, in turn, that has a packet.
fn backlogs_due(backlogs: &[Backlog], taken: &[f64], now: f64, turn: usize) -> Option<usize> {
    (0..backlogs.len())
        .map(|step| (turn + step) % backlogs.len())
        .find(|&place| backlogs[place].load * now - taken[place] >= 1.0 || backlogs[place].load.is_infinite())
}

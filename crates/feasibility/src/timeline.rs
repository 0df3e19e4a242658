//! A timeline of bursts at an access point that serves protected flows first.
//!
//! A recurrence over aggregates, each with a drawn wait, its exchange, and drawn losses. The hardware holds `depth` aggregates, formed
//! ahead; when one completes, the next is formed. A stream is urgent when the age of its oldest packet plus the drain of the hardware
//! exceeds its permitted latency (LAST-PQ, Sec. IV). The urgent stream with the least airtime is served first (the largest deficit);
//! without one, all take turns by airtime. So an aggregate in hardware at the start of a burst delays it, as in Sec. VIII of the paper.

use std::collections::{BTreeMap, VecDeque};

use crate::contention::{Echo, Wait};
use crate::draws::Draws;
use crate::exchange::Exchange;
use crate::link::LinkSamples;

/// Parameters of a station's service.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    pub(crate) station: usize,
    pub(crate) exchange: Exchange,
    /// The wait before each exchange.
    pub(crate) wait: Wait,
    /// The station's TCP acknowledgements of an exchange.
    pub(crate) echo: Option<Echo>,
    /// Whether rate control probes other rates, each with a single packet.
    pub(crate) probes: bool,
    /// Number of tries by the hardware without an acknowledgement.
    pub(crate) tries: u32,
}

impl Service {
    /// Interval of full aggregates, seconds.
    pub(crate) fn full_cycle(&self) -> f64 {
        let own = self.exchange.duration(self.exchange.most);
        self.wait.mean + own + self.echo.map_or(0.0, |echo| echo.mean(own))
    }
}

/// A protected flow: its service and its arrivals.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    /// By time, at the samples of [`crate::link::LinkSamples`]; the last one holds from its time on.
    pub(crate) services: Vec<Service>,
    /// Arrival times in seconds, ascending.
    pub(crate) arrivals: Vec<f64>,
    /// Permitted queueing latency (l_pq), in seconds: the flow is urgent once the age of its oldest packet plus the hardware's drain
    /// reaches it.
    pub(crate) permitted: f64,
}

/// The service of a station at a time, in seconds.
fn at(services: &[Service], seconds: f64) -> Option<&Service> {
    services.get(LinkSamples::step(seconds).min(services.len().saturating_sub(1)))
}

/// LAST-PQ's margin for the error of the drain estimate (T_guard), in seconds.
const GUARD: f64 = 0.001;
/// Seconds between probes of rate control (Minstrel-HT's sample interval in `airbound_control::rate`).
const PROBE_INTERVAL: f64 = 0.02;

/// The unprotected traffic to one station.
#[derive(Debug, Clone)]
pub(crate) struct Backlog {
    /// By time.
    pub(crate) services: Vec<Service>,
    /// Packets per second; infinite if saturated.
    pub(crate) load: f64,
}

/// The hardware queue of aggregates.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hardware {
    /// Aggregates in hardware, the one on the air included; at least 1.
    pub(crate) depth: usize,
    /// Whether they are formed when there is room, instead of at channel access.
    pub(crate) ahead: bool,
}

/// The pending TCP acknowledgements of stations.
#[derive(Default)]
struct Echoes(BTreeMap<usize, Echo>);

impl Echoes {
    /// The time that they add to the wait of an exchange of `own` seconds that waits from `start`, with the last one ended at `end`.
    fn add(&mut self, draws: &mut Draws, own: f64, start: f64, end: f64) -> f64 {
        let mut added = 0.0;
        // Between the two times the channel was free for them.
        let mut pause = start - end;
        self.0.retain(|_, echo| {
            pause -= echo.duration;
            if pause >= 0.0 {
                return false;
            }
            let (more, is_sent) = echo.adds(own, draws.unit());
            added += more;
            !is_sent
        });
        added
    }

    fn expect(&mut self, service: &Service) {
        if let Some(echo) = service.echo {
            self.0.insert(service.station, echo);
        }
    }
}

/// The stream or backlog served next.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Stream(usize),
    Backlog(usize),
}

/// The airtime used by each. It is never reset: airtime of urgent service counts against the station's later turns.
struct Shares {
    streams: Vec<f64>,
    backlogs: Vec<f64>,
}

impl Shares {
    fn of(&self, turn: Turn) -> f64 {
        match turn {
            Turn::Stream(stream) => self.streams.get(stream).copied().unwrap_or(0.0),
            Turn::Backlog(backlog) => self.backlogs.get(backlog).copied().unwrap_or(0.0),
        }
    }

    fn charge(&mut self, turn: Turn, airtime: f64) {
        let share = match turn {
            Turn::Stream(stream) => self.streams.get_mut(stream),
            Turn::Backlog(backlog) => self.backlogs.get_mut(backlog),
        };
        if let Some(share) = share {
            *share += airtime;
        }
    }
}

/// Unsent packets of a stream.
#[derive(Debug, Clone, Default)]
struct Pending {
    /// The first packet that has not been sent.
    next: usize,
    /// Arrival times of lost packets to be retransmitted.
    again: Vec<f64>,
    /// Time at which these were queued again.
    back: f64,
}

impl Pending {
    /// The time at which a packet is available, and the arrival of the oldest one.
    fn waiting(&self, arrivals: &[f64]) -> Option<(f64, f64)> {
        let fresh = arrivals.get(self.next).map(|arrival| (*arrival, *arrival));
        self.again.first().map(|since| (self.back, *since)).or(fresh)
    }
}

/// The latencies of the packets of each stream. Packets not served by `deadline` count as served then.
pub(crate) fn latencies(
    streams: &[Stream],
    backlogs: &[Backlog],
    hardware: Hardware,
    deadline: f64,
    draws: &mut Draws,
) -> Vec<Vec<f64>> {
    let mut latencies: Vec<Vec<f64>> = vec![Vec::new(); streams.len()];
    let mut pending = vec![Pending::default(); streams.len()];
    let mut taken = vec![0.0_f64; backlogs.len()];
    let mut probe = vec![0.0_f64; streams.len()];
    let mut shares = Shares { streams: vec![0.0; streams.len()], backlogs: vec![0.0; backlogs.len()] };
    let mut last_end = 0.0_f64;
    let mut echoes = Echoes::default();
    let depth = if hardware.ahead { hardware.depth.max(1) } else { 1 };
    let mut under_way: VecDeque<f64> = std::iter::repeat_n(0.0, depth).collect();
    let waiting = |pending: &[Pending], stream: usize| pending[stream].waiting(&streams[stream].arrivals);
    loop {
        let ready = (0..streams.len()).filter_map(|stream| waiting(&pending, stream));
        let soonest = ready.map(|(ready, _)| ready).fold(f64::INFINITY, f64::min);
        let room = under_way.pop_front().unwrap_or(0.0);
        if soonest.is_infinite() || room > deadline {
            break;
        }
        let is_due = |place: usize| {
            backlogs[place].load.is_infinite() || backlogs[place].load * room - taken[place] >= 1.0
        };
        let others = (0..backlogs.len()).filter(|place| is_due(*place)).map(Turn::Backlog);
        let others: Vec<Turn> = others.collect();
        let begin = if others.is_empty() { room.max(soonest) } else { room };
        let here = (0..streams.len())
            .filter(|&stream| waiting(&pending, stream).is_some_and(|(ready, _)| ready <= begin))
            .map(Turn::Stream);
        let drain = last_end.max(begin) - begin + GUARD;
        let is_urgent = |turn: &Turn| match turn {
            Turn::Stream(stream) => {
                let age = waiting(&pending, *stream).map_or(0.0, |(_, since)| begin - since);
                age + drain >= streams[*stream].permitted
            }
            Turn::Backlog(_) => false,
        };
        let least = |one: &Turn, other: &Turn| shares.of(*one).total_cmp(&shares.of(*other));
        let urgent = here.clone().filter(is_urgent).min_by(least);
        let Some(turn) = urgent.or_else(|| here.chain(others.iter().copied()).min_by(least)) else { break };
        let start = begin.max(last_end);
        match turn {
            Turn::Backlog(place) => {
                let Backlog { services, load } = &backlogs[place];
                let Some(service) = at(services, begin) else { break };
                let packets = (load * room - taken[place]).min(service.exchange.fresh()).max(1.0);
                taken[place] += packets;
                let sent = (packets / service.exchange.success()).min(service.exchange.most);
                let duration = service.exchange.duration(sent);
                let wait = service.wait.draw(draws) + echoes.add(draws, duration, start, last_end);
                let (end, _) = repeated(service, sent as usize, start + wait + duration, duration, draws);
                echoes.expect(service);
                shares.charge(turn, end - start - wait);
                last_end = end;
            }
            Turn::Stream(stream) => {
                let Some(service) = at(&streams[stream].services, begin) else { break };
                let exchange = &service.exchange;
                let wait = service.wait.draw(draws);
                let joined = if hardware.ahead { begin } else { start + wait };
                let is_probe = service.probes && begin >= probe[stream];
                if is_probe {
                    probe[stream] = begin + PROBE_INTERVAL;
                }
                let most = if is_probe { 1 } else { exchange.most as usize };
                let arrivals = &streams[stream].arrivals;
                let own = &mut pending[stream];
                // Retransmissions precede new packets.
                let mut mpdus: Vec<f64> = own.again.drain(..own.again.len().min(most)).collect();
                let here = arrivals.partition_point(|arrival| *arrival <= joined).max(own.next);
                let until = here.min(own.next + most - mpdus.len());
                mpdus.extend(arrivals.get(own.next..until).unwrap_or_default());
                own.next = until;
                let duration = exchange.duration(mpdus.len() as f64);
                let wait = wait + echoes.add(draws, duration, start, last_end);
                let (end, got_through) =
                    repeated(service, mpdus.len(), start + wait + duration, duration, draws);
                let success = if got_through { exchange.success() } else { 0.0 };
                own.back = end;
                for arrival in mpdus {
                    if draws.unit() < success {
                        latencies[stream].push(end - arrival);
                    } else {
                        own.again.push(arrival);
                    }
                }
                own.again.sort_by(f64::total_cmp);
                echoes.expect(service);
                shares.charge(turn, end - start - wait);
                last_end = end;
            }
        }
        under_way.push_back(last_end);
    }
    for ((stream, latencies), pending) in streams.iter().zip(&mut latencies).zip(pending) {
        let unserved = stream.arrivals.get(pending.next..).unwrap_or_default().iter().chain(&pending.again);
        latencies.extend(unserved.map(|arrival| deadline - arrival).filter(|latency| *latency > 0.0));
    }
    latencies
}

/// Immediate retries by the hardware of an unacknowledged exchange: the time of their end, and whether one was acknowledged.
fn repeated(service: &Service, mpdus: usize, first: f64, duration: f64, draws: &mut Draws) -> (f64, bool) {
    let nothing = libm::pow(1.0 - service.exchange.success(), mpdus as f64);
    let mut end = first;
    for _ in 1..service.tries {
        if draws.unit() >= nothing {
            return (end, true);
        }
        end += service.wait.draw(draws) + duration;
    }
    (end, draws.unit() >= nothing)
}

//! A case as its machine observes it: the doctor's probes in the simulator, and a driver's counters of what was on the air.

use std::any::Any;

use airbound_record::{PacketRow, TxopRow};
use airbound_scenario::{Overrides, Scenario};
use airbound_senders::diagnosis::{Counters, Observations, Probe, Side, schedule};
use airbound_sim::{Event, Events, Observer, Passed, Plugins, Reach, Run};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::error::noise_floor;

use super::inject::{Case, DURATION};
use crate::TrialError;
use crate::draws::Draws;

/// Flows of the probes: down and up, near and far, in the order of the scenario.
const PROBES: [(&str, Reach); 4] = [
    ("near-down", Reach::AccessPoint),
    ("near-up", Reach::AccessPoint),
    ("far-down", Reach::Wire),
    ("far-up", Reach::Wire),
];
/// An echo request of 56 B with its headers.
const SIZE: ByteCount = ByteCount::new(84);
/// Later answers count as lost.
const LOST: Span = Span::from_secs(1);
/// Number of the access point among transmitters.
const ACCESS_POINT: u16 = 0;

/// Keeps what was on the air, and the packets of this machine's queues.
#[derive(Default)]
struct Air {
    txops: Vec<TxopRow>,
    packets: Vec<(Instant, Instant)>,
}

impl Observer for Air {
    fn wants(&self) -> Events {
        Events { packets: true, txops: true, ..Events::NONE }
    }

    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Txop(row) => self.txops.push(*row),
            Event::Packet(row) => self.packets.push(waiting(row)),
            _ => {}
        }
    }
}

/// The time of a packet in the queue of its transmitter.
fn waiting(row: &PacketRow) -> (Instant, Instant) {
    (row.enqueued, row.first_tx.min(row.completed))
}

pub(super) fn observe(case: &Case) -> Result<Observations, TrialError> {
    let wrong = |reason: String| TrialError {
        name: "doctor".to_owned(),
        reason: format!("{reason}\n{}", case.scenario),
    };
    let scenario = Scenario::parse(&case.scenario, "doctor", &Overrides::none());
    let scenario = scenario.map_err(|error| wrong(error.to_string()))?;
    let mut plugins = Plugins::default();
    for (name, reach) in PROBES {
        plugins.open_gate(name, reach);
    }
    let run = Run::with_plugins("doctor", &scenario, &scenario.scheme, case.seed, &plugins);
    let mut run = run.map_err(|error| wrong(error.to_string()))?;
    run.observe(Box::new(Air::default()));
    let me = run.info().transmitters.iter().position(|name| name == "me").unwrap_or(1) as u16;
    let mut pinger = Pinger::new(case);
    pinger.play(&mut run);
    let (_, observer) = run.finish().map_err(|error| wrong(error.to_string()))?;
    let observer: Box<dyn Any> = observer;
    let air = observer.downcast::<Air>().map_err(|_| wrong("the run lost its observer".to_owned()))?;
    let [near, mut far] = pinger.probes;
    if case.side == Side::AccessPoint {
        far = beyond(case, &near);
    }
    let stalled = |probes: Vec<Probe>| probes.into_iter().map(|probe| held(probe, &case.stalls)).collect();
    Ok(Observations {
        side: case.side,
        near: stalled(near),
        far: stalled(far),
        counters: counters(case, &air, me, &signals(&scenario, case.seed)),
        scans: case.scans.clone(),
        power_save: case.power_save,
        stalls: case.stalls.clone(),
        unread: case.unread,
        stutters: case.stutters,
    })
}

/// The probes of the doctor.
struct Pinger {
    /// Flow of the request and of the answer, near and far.
    legs: [(usize, usize); 2],
    probes: [Vec<Probe>; 2],
    numbers: [u64; 4],
    fates: Vec<Passed>,
}

impl Pinger {
    fn new(case: &Case) -> Self {
        let legs = match case.side {
            Side::AccessPoint => [(0, 1), (2, 3)],
            _ => [(1, 0), (3, 2)],
        };
        Self { legs, probes: [Vec::new(), Vec::new()], numbers: [0; 4], fates: Vec::new() }
    }

    fn play(&mut self, run: &mut Run) {
        for (at, turn) in schedule(Span::from_secs(DURATION)) {
            let at = Instant::ZERO + at;
            self.until(run, at);
            for target in [turn.near.then_some(0), turn.far.then_some(1)].into_iter().flatten() {
                self.probes[target].push(Probe { sent: at, round_trip: None });
                let tag = 4 * (self.probes[target].len() as u64 - 1) + 2 * target as u64;
                self.push(run, self.legs[target].0, tag);
            }
        }
        let end = run.end();
        self.until(run, end);
    }

    /// Plays up to an instant, and answers what arrives.
    fn until(&mut self, run: &mut Run, until: Instant) {
        while run.now() < until {
            let event = run.next_event().max(run.now() + Span::from_nanos(1));
            run.advance_to(event.min(until));
            self.answer(run);
        }
    }

    fn push(&mut self, run: &mut Run, flow: usize, tag: u64) {
        run.push(flow, self.numbers[flow], tag, SIZE);
        self.numbers[flow] += 1;
    }

    /// Answers requests that have arrived, and notes answers.
    fn answer(&mut self, run: &mut Run) {
        let mut fates = std::mem::take(&mut self.fates);
        run.take_passed(&mut fates);
        for fate in fates.drain(..).filter(|fate| fate.lost.is_none()) {
            let (target, number) = ((fate.tag / 2 % 2) as usize, (fate.tag / 4) as usize);
            if fate.tag % 2 == 0 {
                self.push(run, self.legs[target].1, fate.tag + 1);
            } else if let Some(probe) = self.probes[target].get_mut(number) {
                let time = fate.at.since(probe.sent);
                probe.round_trip = (time < LOST).then_some(time);
            }
        }
        self.fates = fates;
    }
}

/// Round trips over the wire of an access point, by the rules of the wire.
fn beyond(case: &Case, near: &[Probe]) -> Vec<Probe> {
    let mut draws = Draws::of(case.seed, 0);
    let (delay, jitter, loss) = case.wire;
    near.iter()
        .map(|probe| {
            let time = delay + jitter.mul_f64(draws.unit()) + jitter.mul_f64(draws.unit());
            Probe { sent: probe.sent, round_trip: (!draws.chance(2.0 * loss)).then_some(time) }
        })
        .collect()
}

/// A probe of a machine that does not run its programs meanwhile.
fn held(probe: Probe, stalls: &[(Instant, Span)]) -> Probe {
    let Some(time) = probe.round_trip else { return probe };
    let arrived = probe.sent + time;
    let stall = stalls.iter().find(|(begin, length)| *begin <= arrived && arrived < *begin + *length);
    let read = stall.map_or(arrived, |(begin, length)| *begin + *length);
    Probe { sent: probe.sent, round_trip: Some(read.since(probe.sent)) }
}

/// Signal of the last frame at each second, in the whole dBm of a driver.
fn signals(scenario: &Scenario, seed: u64) -> Vec<Option<f64>> {
    let Some(me) = scenario.stations.first() else { return Vec::new() };
    let link = me.propagation(&scenario.air, &scenario.access_point.path, seed, 0);
    let noise = noise_floor(me.width, scenario.air.noise_figure).value();
    let at = |second| Instant::ZERO + Span::from_secs(second);
    (0..=DURATION).map(|second| Some((noise + link.snr(at(second))?.value()).round())).collect()
}

/// Counters once a second.
fn counters(case: &Case, air: &Air, me: u16, signals: &[Option<f64>]) -> Vec<Counters> {
    let is_access_point = case.side == Side::AccessPoint;
    let sender = if is_access_point { ACCESS_POINT } else { me };
    let own = |row: &TxopRow| match case.side {
        // Stations come after the access point: "me" and "other".
        Side::AccessPoint => row.transmitter <= 2,
        _ => row.transmitter == me || (row.transmitter == ACCESS_POINT && row.receiver == me),
    };
    let mut txops = air.txops.clone();
    txops.sort_by_key(|row| row.start);
    let mut all = Vec::new();
    let mut sum = Counters::default();
    let (mut sent, mut retries, mut busy, mut own_time) = (0, 0, Span::ZERO, Span::ZERO);
    let (mut free_from, mut place) = (Instant::ZERO, 0);
    for (second, signal) in (0..).zip(signals) {
        sum.at = Instant::ZERO + Span::from_secs(second);
        while let Some(row) = txops.get(place).filter(|row| row.start < sum.at) {
            place += 1;
            busy += row.end.since(row.start.max(free_from));
            free_from = free_from.max(row.end);
            own_time += if own(row) { row.end.since(row.start) } else { Span::ZERO };
            if row.transmitter == sender && (!is_access_point || row.receiver == me) {
                sent += u64::from(row.acked);
                retries += u64::from(row.mpdus - row.acked);
            }
        }
        let waits = air.packets.iter().filter(|(from, to)| *from <= sum.at && sum.at < *to).count() as u64;
        all.push(Counters {
            signal: *signal,
            sent: Some(sent),
            retries: Some(retries),
            failed: None,
            on_channel: Some(sum.at.since(Instant::ZERO)),
            busy: Some(busy),
            own: Some(own_time),
            backlog: is_access_point.then_some(waits),
            ..sum
        });
    }
    all
}

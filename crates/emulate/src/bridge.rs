//! The bridge: packets of hosts enter the simulation when they come, and leave it when they are due.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};

use airbound_linux::fragments::Fragments;
use airbound_linux::internet::Internet;
use airbound_linux::packet::{Headers, mark_congestion};
use airbound_linux::segments::{Joiner, PREFIX};
use airbound_linux::tun::wait;
use airbound_runs::Contents;
use airbound_sim::{Passed, Run};
use airbound_units::{Instant, Span};

use crate::clock::Clock;
use crate::hosts::{Hosts, Place};
use crate::lanes::{Lanes, Leg, Pushed};
use crate::lateness::LatenessMeter;
use crate::names::answer;
use crate::port::Port;
use crate::rest::{NAP, Rest};

/// Largest packet, and length of the devices' buffers.
pub const MTU: u32 = 1500;
/// Packets of a host that are read before packets that are due are written again.
const BATCH: usize = 32;
/// An event so near is waited for without looking at packets: wake-ups for each one would take the processor from the applications.
const NEAR: Span = Span::from_micros(500);
/// Longest wait.
const LONGEST: Span = Span::from_millis(10);

/// Code point of a packet that experienced congestion (RFC 3168).
const CONGESTION: u8 = 3;

/// An event that ends a sleep early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wake {
    /// A packet of a host.
    Packets,
    /// None.
    Time,
}

/// A packet inside.
#[derive(Debug, Default)]
struct Inside {
    to: usize,
    /// Whether it has to go on from the access point.
    goes_on: bool,
    /// Place of its flow in the lanes.
    flow: Option<usize>,
    headers: Option<Headers>,
    bytes: Vec<u8>,
}

/// Times of one host's present aggregate.
#[derive(Debug, Clone, Copy)]
struct Aggregate {
    to: usize,
    due: Instant,
    first: Span,
    last: Span,
}

/// A running emulation without its commands.
pub struct Bridge {
    hosts: Hosts,
    ports: Vec<Port>,
    /// The ways out, by host. Where packets come from and go to, they are counted behind all hosts.
    internet: Vec<Option<Internet>>,
    lanes: Lanes,
    clock: Clock,
    /// The time before a deadline at which it ceases to sleep.
    margin: Span,
    rest: Rest,
    inside: Vec<Inside>,
    free: Vec<usize>,
    passed: Vec<Passed>,
    fragments: Fragments,
    lateness: LatenessMeter,
    aggregate: Option<Aggregate>,
    /// Packets that are not written yet, their host, and when each was due.
    joiner: Joiner,
    joint: usize,
    dues: Vec<Instant>,
    strays: u64,
    refused: u64,
    marked: u64,
    /// Time spent waiting busily.
    spun: Span,
    /// The bytes of packets, for a capture.
    contents: Option<Contents>,
}

impl Bridge {
    /// A bridge between `ports`, one for each host. `margin` is the time before a deadline at which it begins to wait busily.
    #[must_use]
    pub fn new(hosts: Hosts, ports: Vec<Port>, lanes: Lanes, clock: Clock, margin: Span) -> Self {
        Self {
            internet: Vec::new(),
            hosts,
            ports,
            lanes,
            clock,
            margin,
            rest: Rest::new(airbound_linux::now()),
            inside: Vec::new(),
            free: Vec::new(),
            passed: Vec::new(),
            fragments: Fragments::default(),
            lateness: LatenessMeter::default(),
            aggregate: None,
            joiner: Joiner::default(),
            joint: 0,
            dues: Vec::new(),
            strays: 0,
            refused: 0,
            marked: 0,
            spun: Span::ZERO,
            contents: None,
        }
    }

    /// Gives hosts their ways out of the emulation, one for each host that has one, or nothing at all.
    pub fn open(&mut self, internet: Vec<Option<Internet>>) {
        self.internet = internet;
    }

    /// Keeps the bytes of packets for a capture from now on.
    pub fn keep(&mut self, contents: Contents) {
        self.contents = Some(contents);
    }

    /// Advances to the present, takes packets in, and waits until something is to be done, at most for 10 ms.
    ///
    /// # Errors
    /// The number of the host whose device failed, and the error.
    pub fn turn(&mut self, run: &mut Run) -> Result<(), (usize, io::Error)> {
        if self.rest.is_due(airbound_linux::now()) {
            self.sleep(Wake::Time, NAP);
        }
        let now = airbound_linux::now();
        self.clock.slip(now, run.now());
        let until = self.clock.simulated(now);
        loop {
            let next = run.next_event();
            run.advance_to(next.min(until));
            self.release(run);
            if next > until {
                break;
            }
        }
        self.flush();
        self.close_aggregate();
        if self.take_in(run)? {
            return Ok(());
        }
        let next = self.clock.machine(run.next_event().min(run.now() + LONGEST + LONGEST));
        let now = airbound_linux::now();
        let ahead = next.since(now);
        let is_rested = self.rest.is_enough(now);
        let margin = if is_rested { self.margin } else { Span::ZERO };
        if ahead > NEAR {
            self.sleep(Wake::Packets, ahead.saturating_sub(margin).min(LONGEST));
        } else if ahead > margin {
            self.sleep(Wake::Time, ahead.saturating_sub(margin));
        }
        if ahead > NEAR || !is_rested {
            return Ok(());
        }
        let begun = airbound_linux::now();
        let mut present = begun;
        while present < next {
            std::hint::spin_loop();
            present = airbound_linux::now();
        }
        self.spun += present.since(begun);
        Ok(())
    }

    fn sleep(&mut self, wake: Wake, length: Span) {
        let begun = airbound_linux::now();
        let ports =
            self.ports.iter().map(Port::as_fd).chain(self.internet.iter().flatten().map(Internet::as_fd));
        let none = std::iter::empty::<BorrowedFd<'_>>();
        match wake {
            Wake::Packets => wait(ports, length),
            Wake::Time => wait(none, length),
        }
        let woken = airbound_linux::now();
        self.rest.on_sleep(woken, woken.since(begun));
    }

    /// Writes packets that have arrived by now, but for those that others may join.
    fn release(&mut self, run: &mut Run) {
        let mut passed = std::mem::take(&mut self.passed);
        run.take_passed(&mut passed);
        for Passed { tag, at, lost, is_marked } in passed.drain(..) {
            let place = Contents::number(tag);
            if lost.is_some() {
                self.free.push(place);
                continue;
            }
            let inside = &mut self.inside[place];
            if let Some(flow) = inside.flow.take() {
                self.lanes.on_delivered(flow, at, inside.bytes.len());
            }
            if is_marked {
                let is_new = inside.headers.is_none_or(|headers| headers.ecn != CONGESTION);
                self.marked += u64::from(is_new);
                mark_congestion(&mut inside.bytes);
                if let Some(headers) = &mut inside.headers {
                    headers.ecn = CONGESTION;
                }
            }
            if inside.goes_on {
                inside.goes_on = false;
                let (to, size, headers) = (inside.to, inside.bytes.len(), inside.headers);
                if let Some(headers) = headers {
                    let host = &self.hosts.all()[to];
                    let packet = Pushed { tag, size };
                    let flow = self.lanes.push(run, (host, Leg::FromAccessPoint), to, &headers, packet);
                    self.inside[place].flow = flow;
                }
                continue;
            }
            let to = inside.to;
            let due = self.clock.machine(at);
            let may_join =
                self.dues.is_empty() || (self.joint == to && self.ports.get(to).is_some_and(Port::joins));
            if !(may_join && self.joiner.push(&self.inside[place].bytes)) {
                self.flush();
                self.joiner.push(&self.inside[place].bytes);
            }
            self.joint = to;
            self.dues.push(due);
            self.free.push(place);
        }
        self.passed = passed;
    }

    /// Writes what is joined.
    fn flush(&mut self) {
        let Some((packet, count)) = self.joiner.finish() else { return };
        let to = self.joint;
        let before = airbound_linux::now();
        let is_taken = match to.checked_sub(self.ports.len()) {
            None => self.ports[to].write_joined(packet),
            Some(station) => {
                let out = self.internet.get_mut(station).and_then(Option::as_mut);
                out.is_some_and(|out| out.write(&packet[PREFIX..]))
            }
        };
        let after = airbound_linux::now();
        self.refused += if is_taken { 0 } else { u64::from(count) };
        let mut dues = std::mem::take(&mut self.dues);
        for due in dues.drain(..) {
            self.lateness.on_packet(before.since(due));
            if self.aggregate.is_none_or(|open| (open.to, open.due) != (to, due)) {
                self.close_aggregate();
            }
            let first = self.aggregate.map_or(before.since(due), |open| open.first);
            self.aggregate = Some(Aggregate { to, due, first, last: after.since(due) });
        }
        self.dues = dues;
    }

    fn close_aggregate(&mut self) {
        if let Some(Aggregate { first, last, .. }) = self.aggregate.take() {
            self.lateness.on_aggregate(first, last);
        }
    }

    /// Reads packets of all hosts; returns whether there may be more.
    fn take_in(&mut self, run: &mut Run) -> Result<bool, (usize, io::Error)> {
        let mut more = false;
        let hosts = self.ports.len();
        for from in 0..hosts + self.internet.len() {
            for count in 1..=BATCH {
                let place = self.free.pop().unwrap_or_else(|| {
                    self.inside.push(Inside::default());
                    self.inside.len() - 1
                });
                let bytes = &mut self.inside[place].bytes;
                bytes.resize(MTU as usize, 0);
                let read = match (from.checked_sub(hosts), self.internet.get_mut(from % hosts)) {
                    (None, _) => self.ports[from].read(bytes),
                    (Some(_), Some(Some(out))) => out.read(bytes),
                    _ => Ok(None),
                };
                match read {
                    Ok(Some(length)) => bytes.truncate(length),
                    Ok(None) => {
                        self.free.push(place);
                        break;
                    }
                    Err(error) => return Err((from % hosts, error)),
                }
                if !self.enter(run, from, place) {
                    self.free.push(place);
                }
                more |= count == BATCH;
            }
        }
        Ok(more)
    }

    /// Sends a packet that a host sent on its way; returns whether it is inside now.
    fn enter(&mut self, run: &mut Run, from: usize, place: usize) -> bool {
        let inside = &mut self.inside[place];
        let mut headers = Headers::read(&inside.bytes);
        if let Some(headers) = &mut headers {
            self.fragments.complete(headers);
        }
        let to = headers.as_ref().and_then(|headers| {
            let has_way_out = self.internet.get(from).is_some_and(Option::is_some);
            let out =
                (has_way_out && Hosts::is_outside(headers.destination)).then(|| self.ports.len() + from);
            let behind = || self.ports.iter().position(|port| port.leads_to(headers.destination));
            let to = self.hosts.of_address(headers.destination).or_else(behind).or(out);
            to.filter(|to| *to != from)
        });
        let (Some(headers), Some(to)) = (headers, to) else {
            // Nothing of it is modelled: a resolver is not what is tried here.
            if let Some(answer) =
                self.internet.is_empty().then(|| answer(&inside.bytes, &self.hosts)).flatten()
            {
                self.refused += u64::from(!self.ports[from].write(&answer));
                return false;
            }
            self.strays += 1;
            return false;
        };
        let hosts = self.hosts.all();
        let (station, leg) = match (place_of(&self.hosts, from), place_of(&self.hosts, to)) {
            // Behind the wire nothing is modelled.
            (Place::Wire, Place::Wire) => {
                self.refused += u64::from(!self.ports[to].write(&inside.bytes));
                return false;
            }
            (Place::Wire, Place::Station(_)) => (to, Leg::Down),
            (Place::Station(_), Place::Wire) => (from, Leg::Up),
            (Place::Station(_), Place::Station(_)) => (from, Leg::ToAccessPoint),
        };
        let inside = &mut self.inside[place];
        inside.to = to;
        inside.goes_on = leg == Leg::ToAccessPoint;
        inside.headers = Some(headers);
        let tag = match &self.contents {
            Some(contents) => contents.keep(place, &inside.bytes),
            None => place as u64,
        };
        let packet = Pushed { tag, size: inside.bytes.len() };
        let flow = self.lanes.push(run, (&hosts[station], leg), station, &headers, packet);
        self.inside[place].flow = flow;
        flow.is_some()
    }

    /// Lateness of packets.
    #[must_use]
    pub const fn lateness(&self) -> &LatenessMeter {
        &self.lateness
    }

    /// The clock.
    #[must_use]
    pub const fn clock(&self) -> &Clock {
        &self.clock
    }

    /// The flows of applications.
    #[must_use]
    pub const fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// Packets that a queue marked.
    #[must_use]
    pub const fn marked(&self) -> u64 {
        self.marked
    }

    /// Time spent waiting busily.
    #[must_use]
    pub const fn spun(&self) -> Span {
        self.spun
    }

    /// Packets to no host.
    #[must_use]
    pub const fn strays(&self) -> u64 {
        self.strays
    }

    /// Packets that the kernel dropped at the devices.
    #[must_use]
    pub fn device_drops(&mut self) -> Option<u64> {
        let dropped: Option<u64> = self.ports.iter_mut().map(Port::dropped).sum();
        dropped.map(|dropped| dropped.max(self.refused))
    }
}

/// The place of a host; the internet is behind the wire.
fn place_of(hosts: &Hosts, number: usize) -> Place {
    hosts.all().get(number).map_or(Place::Wire, |host| host.place)
}

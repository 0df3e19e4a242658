//! An edge and its clients in virtual time, over a model of what lies between them.
#![allow(dead_code)]

pub(crate) mod share;

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use airbound_relay::protocol::{
    Client, ClientConfig, ClientId, ClientKey, Edge, EdgeConfig, Entropy, Event, Key, Transmit,
};
use airbound_units::{BitRate, ByteCount, Instant, Span};

/// The edge's address.
pub(crate) const EDGE: ([u8; 4], u16) = ([10, 0, 0, 1], 7000);

/// A model of the way between both ends.
#[derive(Debug, Clone)]
pub(crate) struct Way {
    pub(crate) delay: Span,
    /// Upper limit of a random addition to the delay, which reorders.
    pub(crate) jitter: Span,
    /// Share of datagrams lost.
    pub(crate) loss: f64,
    /// Largest datagram.
    pub(crate) mtu: usize,
    /// An access point on the way down.
    pub(crate) air: Option<Air>,
}

impl Default for Way {
    fn default() -> Self {
        Self { delay: Span::from_millis(2), jitter: Span::ZERO, loss: 0.0, mtu: 1472, air: None }
    }
}

/// An access point that aggregates: queues in round robin, frames of up to 64 packets after an overhead.
#[derive(Debug, Clone, Default)]
pub(crate) struct Air {
    /// PHY rate of each station, in Mbit/s.
    pub(crate) phy: Vec<u64>,
    pub(crate) queues: Vec<VecDeque<Transmit>>,
    busy_until: Instant,
    turn: usize,
    /// Airtime, frames and packets of each station.
    pub(crate) airtime: Vec<Span>,
    pub(crate) frames: Vec<(u64, u64)>,
    /// Longest queue since it was last looked at.
    pub(crate) longest: usize,
}

impl Air {
    pub(crate) fn new(phy: &[u64]) -> Self {
        let count = phy.len();
        Self {
            phy: phy.to_vec(),
            queues: vec![VecDeque::new(); count],
            airtime: vec![Span::ZERO; count],
            frames: vec![(0, 0); count],
            ..Self::default()
        }
    }

    /// Puts frames on the air until `now`; returns those that have ended, with their times.
    fn serve(&mut self, now: Instant) -> Vec<(Instant, Transmit)> {
        let mut arrived = Vec::new();
        while self.busy_until <= now {
            let count = self.queues.len();
            let Some(place) =
                (0..count).map(|add| (self.turn + add) % count).find(|place| !self.queues[*place].is_empty())
            else {
                break;
            };
            self.turn = place + 1;
            let queue = &mut self.queues[place];
            self.longest = self.longest.max(queue.len());
            let frame: Vec<Transmit> = queue.drain(..queue.len().min(64)).collect();
            let bytes: usize = frame.iter().map(|packet| packet.bytes.len() + 74).sum();
            let time = Span::from_micros(214)
                + BitRate::from_mbps(self.phy[place]).time_for(ByteCount::new(bytes as u64));
            self.busy_until = self.busy_until.max(now) + time;
            self.airtime[place] += time;
            self.frames[place].0 += 1;
            self.frames[place].1 += frame.len() as u64;
            arrived.extend(frame.into_iter().map(|packet| (self.busy_until, packet)));
        }
        arrived
    }

    fn next(&self) -> Option<Instant> {
        self.queues.iter().any(|queue| !queue.is_empty()).then_some(self.busy_until)
    }
}

/// A station.
#[derive(Debug)]
pub(crate) struct Station {
    pub(crate) client: Client,
    pub(crate) address: SocketAddr,
    /// Datagrams that the application received.
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    pub(crate) last: Vec<u8>,
    pub(crate) last_at: Instant,
    pub(crate) events: Vec<Event>,
    /// Offered by the backend, in Mbit/s.
    pub(crate) offered: u64,
    pub(crate) offer_at: Instant,
    /// Whether its reports are lost.
    pub(crate) mute: bool,
    pub(crate) on: bool,
}

/// A datagram on its way.
#[derive(Debug)]
struct Flight {
    from: SocketAddr,
    packet: Transmit,
    stamp: Instant,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) edge: Option<Edge>,
    pub(crate) edge_address: SocketAddr,
    pub(crate) stations: Vec<Station>,
    pub(crate) way: Way,
    flights: BTreeMap<(Instant, u64), Flight>,
    /// Datagrams of the edge that a kernel holds until their time.
    held: BTreeMap<(Instant, u64), Transmit>,
    /// Time by which the edge hands packets over before they leave.
    pub(crate) ahead: Span,
    /// Times at which datagrams of the edge have left, if they are noted.
    pub(crate) departures: Option<Vec<Instant>>,
    /// Turns in which the edge had something to send.
    pub(crate) turns: u64,
    number: u64,
    random: u64,
    pub(crate) keys: Vec<ClientKey>,
    config: EdgeConfig,
    pub(crate) edge_events: Vec<Event>,
    /// Datagrams that the backend received, and the last.
    pub(crate) backend: u64,
    pub(crate) backend_last: Vec<u8>,
    /// Bytes sent to each address by the edge.
    pub(crate) sent_to: BTreeMap<SocketAddr, u64>,
    /// Copies of what clients sent, for replays.
    pub(crate) tap: Option<Vec<(SocketAddr, Vec<u8>)>>,
    /// Datagrams that applications and the backend received, if they are noted.
    pub(crate) received: Option<Vec<Received>>,
}

/// A datagram that an application received, or, from `place`'s application, the backend.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) at: Instant,
    pub(crate) place: usize,
    pub(crate) is_up: bool,
    pub(crate) datagram: Vec<u8>,
}

pub(crate) fn key(name: usize, epoch: u8) -> ClientKey {
    let mut bytes = [epoch; 16];
    bytes[1..9].copy_from_slice(&(name as u64 + 1).to_be_bytes());
    ClientKey { name: format!("client{name}"), epoch, key: Key::new(bytes) }
}

pub(crate) fn address(place: usize, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 0, (place / 200) as u8 + 1, (place % 200) as u8 + 1], port))
}

impl World {
    pub(crate) fn new(count: usize, way: Way, seed: u64) -> Self {
        Self::with(count, way, seed, EdgeConfig::default())
    }

    pub(crate) fn with(count: usize, way: Way, seed: u64, config: EdgeConfig) -> Self {
        let keys: Vec<ClientKey> = (0..count).map(|place| key(place, 0)).collect();
        let mut world = Self {
            now: Instant::ZERO + Span::from_secs(1),
            edge: None,
            edge_address: SocketAddr::from(EDGE),
            stations: Vec::new(),
            way,
            flights: BTreeMap::new(),
            held: BTreeMap::new(),
            ahead: Span::ZERO,
            departures: None,
            turns: 0,
            number: 0,
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            keys,
            config,
            edge_events: Vec::new(),
            backend: 0,
            backend_last: Vec::new(),
            sent_to: BTreeMap::new(),
            tap: None,
            received: None,
        };
        world.start_edge();
        for place in 0..count {
            let station = world.station(place);
            world.stations.push(station);
        }
        world
    }

    pub(crate) fn station(&mut self, place: usize) -> Station {
        let config = ClientConfig::new(self.edge_address, self.keys[place].clone());
        let seed = self.draw();
        let mut client = Client::new(self.now, config, Entropy::new(seed)).expect("a key");
        if let Some(air) = &self.way.air {
            client.phy_rate(Some(BitRate::from_mbps(air.phy[place]))).expect("in range");
        }
        Station {
            client,
            address: address(place, 5000),
            datagrams: 0,
            bytes: 0,
            last: Vec::new(),
            last_at: Instant::ZERO,
            events: Vec::new(),
            offered: 0,
            offer_at: self.now,
            mute: false,
            on: true,
        }
    }

    pub(crate) fn start_edge(&mut self) {
        let seed = self.draw();
        let mut edge = Edge::new(self.config, &self.keys, Entropy::new(seed)).expect("a valid edge");
        edge.hand_over_ahead(self.ahead);
        self.edge = Some(edge);
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn draw(&mut self) -> [u8; 16] {
        let mut seed = [0; 16];
        seed[..8].copy_from_slice(&self.number().to_be_bytes());
        seed[8..].copy_from_slice(&self.number().to_be_bytes());
        seed
    }

    fn unit(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Puts a datagram on its way.
    pub(crate) fn send(&mut self, from: SocketAddr, packet: Transmit) {
        if from == self.edge_address {
            *self.sent_to.entry(packet.to).or_default() += packet.bytes.len() as u64;
            self.departures.iter_mut().for_each(|times| times.push(self.now));
        }
        if packet.bytes.len() > self.way.mtu || self.unit() < self.way.loss {
            return;
        }
        if from == self.edge_address
            && let Some(air) = &mut self.way.air
            && let Some(place) = self.stations.iter().position(|station| station.address == packet.to)
        {
            air.queues[place].push_back(packet);
            return;
        }
        let jitter = self.way.jitter.mul_f64(self.unit());
        let at = self.now + self.way.delay + jitter;
        self.number += 1;
        self.flights.insert((at, self.number), Flight { from, packet, stamp: at });
    }

    /// Runs until `until`.
    pub(crate) fn run(&mut self, span: Span) {
        let until = self.now + span;
        loop {
            self.settle();
            let mut next = until;
            if let Some(edge) = &self.edge {
                next = edge.next_deadline().map_or(next, |at| next.min(at));
            }
            for station in self.stations.iter().filter(|station| station.on) {
                next = next.min(station.client.next_deadline());
                if station.offered > 0 {
                    next = next.min(station.offer_at);
                }
            }
            let (flight, held) = (self.flights.first_key_value(), self.held.first_key_value());
            let firsts = flight.map(|((at, _), _)| *at).into_iter().chain(held.map(|((at, _), _)| *at));
            next = firsts.fold(next, Instant::min);
            if let Some(at) = self.way.air.as_ref().and_then(Air::next) {
                next = next.min(at);
            }
            if next >= until {
                self.now = until;
                self.settle();
                return;
            }
            // Time passes, if only a little.
            self.now = next.max(self.now + Span::from_nanos(1));
        }
    }

    fn settle(&mut self) {
        while let Some(entry) = self.held.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let packet = entry.remove();
            self.send(self.edge_address, packet);
        }
        if let Some(air) = &mut self.way.air {
            let edge = self.edge_address;
            for (at, packet) in air.serve(self.now) {
                self.number += 1;
                self.flights.insert((at, self.number), Flight { from: edge, packet, stamp: at });
            }
        }
        while let Some(entry) = self.flights.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let flight = entry.remove();
            self.deliver(flight);
        }
        for place in 0..self.stations.len() {
            self.serve_station(place);
        }
        self.serve_edge();
    }

    fn deliver(&mut self, flight: Flight) {
        let Flight { from, packet, stamp } = flight;
        if packet.to == self.edge_address {
            if let Some(edge) = &mut self.edge
                && let Some((client, datagram)) = edge.receive(self.now, from, &packet.bytes)
            {
                let (at, place) = (self.now, usize::from(client.0));
                let noted = || Received { at, place, is_up: true, datagram: datagram.to_vec() };
                self.received.iter_mut().for_each(|all| all.push(noted()));
                self.backend += 1;
                self.backend_last = datagram.to_vec();
            }
        } else if let Some((place, station)) = (self.stations.iter_mut().enumerate())
            .find(|(_, station)| station.on && station.address == packet.to)
            && let Some(datagram) = station.client.receive(self.now, stamp, None, from, &packet.bytes)
        {
            let noted = || Received { at: stamp, place, is_up: false, datagram: datagram.to_vec() };
            self.received.iter_mut().for_each(|all| all.push(noted()));
            station.datagrams += 1;
            station.bytes += datagram.len() as u64;
            station.last = datagram.to_vec();
            station.last_at = self.now;
        }
    }

    fn serve_station(&mut self, place: usize) {
        let (now, edge) = (self.now, &mut self.edge);
        let station = &mut self.stations[place];
        if !station.on {
            return;
        }
        if now.since(station.offer_at) > Span::from_millis(50) {
            station.offer_at = now;
        }
        while station.offered > 0 && station.offer_at <= now {
            station.offer_at += Span::from_nanos(1200 * 8 * 1000 / station.offered);
            if let Some(edge) = edge {
                // Clients have the numbers of their keys.
                edge.enqueue(now, ClientId(place as u16), &[7; 1172]);
            }
        }
        station.client.tick(now);
        let mut sent = Vec::new();
        while let Some(packet) = station.client.transmit() {
            // A report is of kind 4.
            if !(station.mute && packet.bytes[0] == 4) {
                sent.push(packet);
            }
        }
        while let Some(event) = station.client.event() {
            station.events.push(event);
        }
        let from = station.address;
        for packet in sent {
            if let Some(tap) = &mut self.tap {
                tap.push((from, packet.bytes.clone()));
            }
            self.send(from, packet);
        }
    }

    fn serve_edge(&mut self) {
        let Some(mut edge) = self.edge.take() else { return };
        edge.tick(self.now);
        let mut sent = false;
        while let Some(packet) = edge.transmit(self.now) {
            sent = true;
            match packet.leaves {
                Some(at) => {
                    self.number += 1;
                    self.held.insert((at, self.number), packet);
                }
                None => self.send(self.edge_address, packet),
            }
        }
        self.turns += u64::from(sent);
        while let Some(event) = edge.event() {
            self.edge_events.push(event);
        }
        self.edge = Some(edge);
    }

    /// Number of datagrams that the kernel holds.
    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }

    /// Hands the backend's datagram for a station to the edge.
    pub(crate) fn down(&mut self, place: usize, datagram: &[u8]) {
        let (now, name) = (self.now, self.keys[place].name.clone());
        if let Some(edge) = &mut self.edge
            && let Some(id) = edge.client(&name)
        {
            edge.enqueue(now, id, datagram);
        }
    }

    /// Hands an application's datagram to its client.
    pub(crate) fn up(&mut self, place: usize, datagram: &[u8]) {
        let now = self.now;
        self.stations[place].client.enqueue(now, datagram);
    }

    pub(crate) fn joined(&self, place: usize) -> bool {
        self.edge.as_ref().is_some_and(|edge| edge.client(&self.keys[place].name).is_some())
            && self.stations[place].client.is_joined()
    }

    /// The row of a client of the edge.
    pub(crate) fn row(&self, place: usize) -> airbound_relay::protocol::ClientRow {
        let edge = self.edge.as_ref().expect("an edge");
        let name = &self.keys[place].name;
        edge.rows().find(|(_, row)| row.name == *name).map(|(_, row)| row).expect("it has joined")
    }
}

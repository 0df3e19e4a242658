//! The client: handshake, the application's datagrams, sensing and reports.

use std::collections::VecDeque;

use core::net::SocketAddr;

use airbound_senders::allocation::ReceiverId;
use airbound_senders::stream::{Arrival, ReceiverConfig, StreamError, StreamReceiver};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::edge_config::ClientKey;
use super::entropy::Entropy;
use super::event::Event;
use super::hello::{Answer, End, Hello, session_of};
use super::link::{Link, PROBE, Transmit, parts};
use super::mtu::LARGEST_DATAGRAM;
use super::path::Path;
use super::session::{Refusal, sent_at};
use super::wire::{HEADER, Header, Kind};

/// Distance of two looks at what is due.
const TICK: Span = Span::from_millis(10);
/// Time without a packet of the edge after which it is asked for a sign of life,
const ASK: Span = Span::from_millis(250);
/// and after which it is taken to be gone: the handshake begins anew.
const SILENT: Span = Span::from_secs(1);
/// Times between two hellos: the first, and the longest. An edge that comes back is found within the longest.
const FIRST: Span = Span::from_millis(250);
const LONGEST: Span = Span::from_secs(1);
/// Packets that wait for the network.
const WAITING: usize = 4096;
/// Events kept for the caller.
const EVENTS: usize = 256;
/// Buffers kept for further packets.
const BUFFERS: usize = 1024;

/// Parameters of a client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientConfig {
    /// The edge's address.
    pub edge: SocketAddr,
    /// Its keys, of one or several epochs: the last one is used, since the list grows at its end.
    pub keys: Vec<ClientKey>,
    /// The largest datagram that is tried, bytes: 1472. 1200 to 65,507.
    pub largest: u16,
    /// The time in us since 1970 at [`Instant::ZERO`].
    pub epoch_us: u64,
}

impl ClientConfig {
    /// A client of an edge with one key.
    #[must_use]
    pub fn new(edge: SocketAddr, key: ClientKey) -> Self {
        Self { edge, keys: vec![key], largest: LARGEST_DATAGRAM, epoch_us: 0 }
    }
}

/// Counters of a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientCounts {
    /// Packets with a wrong tag or an unknown session.
    pub forged: u64,
    /// Packets received before, or too old to know.
    pub replayed: u64,
    /// Datagrams of the application while there was no session.
    pub unsent: u64,
    /// Datagrams too large for the path, or beyond what may wait.
    pub dropped: u64,
    /// Packets and bytes sent.
    pub up: (u64, u64),
    /// Packets and bytes received.
    pub down: (u64, u64),
    /// Reports sent.
    pub reports: u64,
}

/// A hello on its way.
#[derive(Debug)]
struct Greeting {
    hello: Hello,
    key: ClientKey,
    next: Instant,
    wait: Span,
}

/// A client.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    entropy: Entropy,
    greeting: Option<Greeting>,
    last_hello: u64,
    link: Option<Link>,
    receiver: Option<StreamReceiver>,
    phy_rate: Option<BitRate>,
    asked: Instant,
    outbox: VecDeque<Transmit>,
    events: VecDeque<Event>,
    buffers: Vec<Vec<u8>>,
    counts: ClientCounts,
    tick: Instant,
}

impl Client {
    /// A client that greets its edge at `now`; `None` without a key.
    #[must_use]
    pub fn new(now: Instant, config: ClientConfig, entropy: Entropy) -> Option<Self> {
        let mut client = Self {
            config,
            entropy,
            greeting: None,
            last_hello: 0,
            link: None,
            receiver: None,
            phy_rate: None,
            asked: now,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            buffers: Vec::new(),
            counts: ClientCounts::default(),
            tick: now,
        };
        client.greet(now);
        client.greeting.is_some().then_some(client)
    }

    /// Takes another list of keys, and greets the edge under the last of them. The session in force goes on meanwhile.
    pub fn set_keys(&mut self, now: Instant, keys: Vec<ClientKey>) {
        if !keys.is_empty() && keys != self.config.keys {
            self.config.keys = keys;
            self.greet(now);
        }
    }

    /// Sets the PHY rate at which packets arrive from now on; `None` if it is not known.
    ///
    /// # Errors
    /// [`StreamError::Range`] for a rate below 1 Mbit/s or above 100 Gbit/s.
    pub fn phy_rate(&mut self, rate: Option<BitRate>) -> Result<(), StreamError> {
        self.phy_rate = rate;
        self.receiver.as_mut().map_or(Ok(()), |receiver| receiver.phy_rate(rate))
    }

    fn greet(&mut self, now: Instant) {
        let Some(key) = self.config.keys.last().cloned() else { return };
        let hello = Hello {
            epoch: key.epoch,
            resumes: self.link.is_some(),
            time: 0,
            key: key.key.id(),
            nonce: self.entropy.bytes(),
        };
        self.greeting = Some(Greeting { hello, key, next: now, wait: FIRST });
        self.tick = now;
    }

    /// Takes a datagram from the edge's side, received at `stamp` by the clock of stamps, which shows `stamp_now` at `now` (`None`: the
    /// stamp is of the steady clock). Returns the datagram for the application that it brings.
    pub fn receive<'a>(
        &'a mut self,
        now: Instant,
        stamp: Instant,
        stamp_now: Option<Instant>,
        from: SocketAddr,
        packet: &'a [u8],
    ) -> Option<&'a [u8]> {
        let header = Header::read(packet)?;
        if header.kind == Kind::Answer {
            self.on_answer(now, from, packet);
            return None;
        }
        let link = self.link.as_mut()?;
        let newest = match link.open(&header, packet) {
            Ok(newest) => newest,
            Err(Refusal::Forged) => {
                self.counts.forged += 1;
                return None;
            }
            Err(Refusal::Replayed) => {
                self.counts.replayed += 1;
                return None;
            }
        };
        self.counts.down.0 += 1;
        self.counts.down.1 += packet.len() as u64;
        if let Some(before) = link.on_packet(now, from, packet.len(), newest, &mut self.entropy) {
            let client = self.config.keys.last().map(|key| key.name.clone()).unwrap_or_default();
            note(&mut self.events, Event::Moved { client, from: before, to: from });
            self.tick = now;
        }
        if let Some(receiver) = &mut self.receiver {
            let payload = ByteCount::new(packet.len() as u64);
            let sequence = header.sequence;
            let arrival = Arrival { stamp, sequence, packets: 1, payload, companion: false };
            // A packet of 28 B to 64 KiB.
            let _ = receiver.arrived(now, stamp_now, [arrival]);
        }
        match header.kind {
            Kind::Data => return self.link.as_mut()?.datagram(&header, packet),
            Kind::Probe => {
                if let Some(echo) = link.echo(now, packet) {
                    self.put(from, echo);
                }
            }
            Kind::Echo => {
                if link.on_echo(now, from, packet).mtu {
                    let (client, bytes) = (name_of(&self.config), link.mtu());
                    note(&mut self.events, Event::Mtu { client, bytes });
                }
            }
            // The edge ends, and may come back.
            Kind::Close if newest => self.greet(now),
            Kind::Close | Kind::Report | Kind::Hello | Kind::Answer => {}
        }
        None
    }

    fn on_answer(&mut self, now: Instant, from: SocketAddr, packet: &[u8]) {
        let Some(greeting) = &self.greeting else { return };
        let (hello, key) = (greeting.hello, greeting.key.clone());
        let Some(answer) = Answer::decode(packet, &key.key, &hello.nonce) else {
            self.counts.forged += 1;
            return;
        };
        self.greeting = None;
        let session = session_of(End::Client, &key.key, &hello, &answer);
        // From elsewhere it may be a copy, sent in the name of a victim.
        let path = if from == self.config.edge {
            Path::proven(from)
        } else {
            Path::claimed(now, from, packet.len(), self.entropy.number())
        };
        match self.link.as_mut().filter(|_| answer.resumes) {
            Some(link) => {
                link.replace(now, session);
                if link.path.address != from {
                    link.path = path;
                }
                link.heard = now;
            }
            None => {
                self.link = Some(Link::new(now, session, path, self.config.largest));
                let interval = Span::from_millis(u64::from(answer.interval));
                let config = ReceiverConfig {
                    receiver: ReceiverId(answer.receiver),
                    interval,
                    ..ReceiverConfig::default()
                };
                self.receiver = StreamReceiver::new(config).ok();
                if let Some(receiver) = &mut self.receiver {
                    let _ = receiver.phy_rate(self.phy_rate);
                }
            }
        }
        let (client, epoch, resumes) = (key.name, answer.epoch, answer.resumes);
        note(&mut self.events, Event::Joined { client, address: from, epoch, resumes });
        // The edge uses the keys from the first packet under them on.
        self.ask(now);
        self.tick = now;
    }

    fn ask(&mut self, now: Instant) {
        let Some(link) = &mut self.link else { return };
        self.asked = now;
        if !link.path.may_send(PROBE) {
            return;
        }
        let token = self.entropy.number();
        let probe = link.probe(now, 0, token);
        let to = link.path.address;
        self.put(to, probe);
    }

    /// Takes a datagram of the application.
    pub fn enqueue(&mut self, now: Instant, datagram: &[u8]) {
        let Some(link) = &mut self.link else {
            self.counts.unsent += 1;
            return;
        };
        let Some(parts) = parts(datagram, link.payload()) else {
            self.counts.dropped += 1;
            return;
        };
        let to = link.path.address;
        for (flags, part) in parts {
            if self.outbox.len() >= WAITING || !link.path.may_send(HEADER + part.len()) {
                self.counts.dropped += 1;
                return;
            }
            let mut bytes = self.buffers.pop().unwrap_or_default();
            bytes.clear();
            bytes.resize(HEADER, 0);
            bytes.extend_from_slice(part);
            link.seal(now, Kind::Data, flags, &mut bytes);
            self.counts.up.0 += 1;
            self.counts.up.1 += bytes.len() as u64;
            self.outbox.push_back(Transmit::now(to, bytes));
        }
    }

    fn put(&mut self, to: SocketAddr, bytes: Vec<u8>) {
        self.counts.up.0 += 1;
        self.counts.up.1 += bytes.len() as u64;
        if self.outbox.len() < WAITING {
            self.outbox.push_back(Transmit::now(to, bytes));
        }
    }

    /// The next datagram to send now.
    pub fn transmit(&mut self) -> Option<Transmit> {
        self.outbox.pop_front()
    }

    /// Gives back the buffer of a sent datagram.
    pub fn recycle(&mut self, bytes: Vec<u8>) {
        if self.buffers.len() < BUFFERS {
            self.buffers.push(bytes);
        }
    }

    /// Does what is due: hellos, reports, probes.
    pub fn tick(&mut self, now: Instant) {
        self.report(now);
        if now < self.tick {
            return;
        }
        self.tick = now + TICK;
        self.say_hello(now);
        let Some(link) = &mut self.link else { return };
        link.expire(now);
        let silence = now.since(link.heard);
        let before = link.mtu();
        let probes: Vec<Vec<u8>> = link.probes(now, &mut self.entropy).collect();
        let (to, after) = (link.path.address, link.mtu());
        if after != before {
            note(&mut self.events, Event::Mtu { client: name_of(&self.config), bytes: after });
        }
        probes.into_iter().for_each(|probe| self.put(to, probe));
        if silence >= SILENT && self.greeting.is_none() {
            note(&mut self.events, Event::EdgeSilent { silence });
            self.greet(now);
        } else if silence >= ASK && now.since(self.asked) >= ASK {
            self.ask(now);
        }
    }

    fn say_hello(&mut self, now: Instant) {
        let Some(greeting) = self.greeting.as_mut().filter(|greeting| greeting.next <= now) else { return };
        // A hello that is repeated is newer than the last: the clock may have been set back.
        let clock = self.config.epoch_us.saturating_add(now.as_nanos() / 1000);
        greeting.hello.time = clock.max(self.last_hello + 1);
        self.last_hello = greeting.hello.time;
        let bytes = greeting.hello.encode(&greeting.key.key, sent_at(now));
        greeting.next = now + greeting.wait;
        greeting.wait = (greeting.wait * 2).min(LONGEST);
        let edge = self.config.edge;
        self.put(edge, bytes);
    }

    fn report(&mut self, now: Instant) {
        let Some(receiver) = &mut self.receiver else { return };
        if let Some(feedback) = receiver.poll(now) {
            self.tell(now, &feedback);
        }
    }

    /// Sends feedback of a receiver, as [`Self::tick`] does with that of its own.
    pub fn tell(&mut self, now: Instant, feedback: &[u8]) {
        let Some(link) = &mut self.link else { return };
        let mut packet = vec![0; HEADER];
        packet.extend_from_slice(feedback);
        if !link.path.may_send(packet.len()) {
            return;
        }
        link.seal(now, Kind::Report, 0, &mut packet);
        self.counts.reports += 1;
        let to = link.path.address;
        self.put(to, packet);
    }

    /// Says farewell to the edge.
    pub fn close(&mut self, now: Instant) {
        let Some(link) = &mut self.link else { return };
        let mut packet = vec![0; HEADER];
        link.seal(now, Kind::Close, 0, &mut packet);
        let to = link.path.address;
        self.put(to, packet);
    }

    /// When to call [`Self::tick`] and [`Self::transmit`] if nothing happens before.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        if !self.outbox.is_empty() {
            return Instant::ZERO;
        }
        let report = self.receiver.as_ref().and_then(StreamReceiver::next_deadline);
        report.map_or(self.tick, |report| report.min(self.tick))
    }

    /// The next event.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Whether there is a session and the edge was heard lately.
    #[must_use]
    pub fn is_joined(&self) -> bool {
        self.link.is_some() && self.greeting.is_none()
    }

    /// Size of datagrams that the path carries; 0 without a session.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        self.link.as_ref().map_or(0, Link::mtu)
    }

    /// Counters.
    #[must_use]
    pub const fn counts(&self) -> ClientCounts {
        self.counts
    }
}

fn name_of(config: &ClientConfig) -> String {
    config.keys.last().map(|key| key.name.clone()).unwrap_or_default()
}

fn note(events: &mut VecDeque<Event>, event: Event) {
    if events.len() < EVENTS {
        events.push_back(event);
    }
}

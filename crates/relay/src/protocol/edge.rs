//! The edge: clients, their queues, and their shares of the air.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use core::net::SocketAddr;

use airbound_senders::allocation::ReceiverId;
use airbound_senders::stream::{Feedback, StreamError, StreamSender};
use airbound_units::{ByteCount, Instant, Span};

use super::edge_config::{ClientId, ClientKey, EdgeConfig, EdgeCounts};
use super::entropy::Entropy;
use super::event::{Event, Gone};
use super::hello::{Answer, End, Hello, session_of};
use super::key::{Key, KeyId};
use super::known::{Known, Pending};
use super::lane::{ClientRow, Lane};
use super::link::{Link, Transmit, parts};
use super::path::Path;
use super::queue::Waiting;
use super::session::{Refusal, sent_at};
use super::wire::{HEADER, Header, Kind};

/// Distance of two looks at all clients.
const TICK: Span = Span::from_millis(10);
/// Longest time between two questions to the allocation for a client.
const ASK: Span = Span::from_millis(50);
/// Least distance of two events about a client's rate.
const TELL: Span = Span::from_secs(1);
/// Time after which an answer that was not used is void.
const UNUSED: Span = Span::from_secs(10);
/// Time after which a queue is looked at again whose client's new address is not proven.
const UNPROVEN: Span = Span::from_millis(5);
/// Packets of a client that are handed over before their time at most: `fq` keeps 100 of a flow.
const MOST_AHEAD: u64 = 50;
/// Buffers kept for further packets.
const BUFFERS: usize = 1024;
/// Events kept for the caller.
const EVENTS: usize = 4096;

/// An edge.
#[derive(Debug)]
pub struct Edge {
    config: EdgeConfig,
    entropy: Entropy,
    keys: BTreeMap<KeyId, (u16, u8, Key)>,
    clients: Vec<Known>,
    /// Client of each session.
    sessions: BTreeMap<u32, u16>,
    sender: StreamSender,
    /// Clients with a queue, by the time of their next packet.
    schedule: BTreeSet<(Instant, u16)>,
    outbox: VecDeque<Transmit>,
    events: VecDeque<Event>,
    buffers: Vec<Vec<u8>>,
    counts: EdgeCounts,
    tick: Instant,
    ahead: Span,
    /// Whether packets are being handed over.
    handing: bool,
}

impl Edge {
    /// An edge for the clients with these keys.
    ///
    /// # Errors
    /// [`StreamError`] for a parameter out of range, or more clients than `receivers`.
    pub fn new(config: EdgeConfig, keys: &[ClientKey], entropy: Entropy) -> Result<Self, StreamError> {
        let mut edge = Self {
            config,
            entropy,
            keys: BTreeMap::new(),
            clients: Vec::new(),
            sessions: BTreeMap::new(),
            sender: StreamSender::new(config.stream)?,
            schedule: BTreeSet::new(),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
            buffers: Vec::new(),
            counts: EdgeCounts::default(),
            tick: Instant::ZERO,
            ahead: Span::ZERO,
            handing: false,
        };
        edge.set_keys(Instant::ZERO, keys)?;
        Ok(edge)
    }

    /// Takes another list of keys. Clients that are in both go on; those that are in the new one no longer are gone.
    ///
    /// # Errors
    /// [`StreamError::Full`] for more clients than `receivers`; nothing changes then.
    pub fn set_keys(&mut self, now: Instant, keys: &[ClientKey]) -> Result<(), StreamError> {
        let names: BTreeSet<&str> = keys.iter().map(|key| key.name.as_str()).collect();
        if names.len() > usize::from(self.config.stream.receivers) {
            return Err(StreamError::Full("there are keys for more clients than an edge serves: 256"));
        }
        for place in 0..self.clients.len() {
            let known = &mut self.clients[place];
            if !known.name.is_empty() && !names.contains(known.name.as_str()) {
                self.leave(now, place as u16, Gone::NoKey);
                let known = &mut self.clients[place];
                if let Some(pending) = known.pending.take() {
                    self.sessions.remove(&pending.session.id);
                }
                *known = Known::default();
            }
        }
        self.keys.clear();
        for ClientKey { name, epoch, key } in keys {
            let is_named = |wanted: &str| self.clients.iter().position(|known| known.name == wanted);
            let place = is_named(name).or_else(|| is_named("")).unwrap_or_else(|| {
                self.clients.push(Known::default());
                self.clients.len() - 1
            });
            self.clients[place].name.clone_from(name);
            self.keys.insert(key.id(), (place as u16, *epoch, *key));
        }
        Ok(())
    }

    /// Takes a datagram from the clients' side. Returns the datagram for the backend that it brings.
    pub fn receive<'a>(
        &'a mut self,
        now: Instant,
        from: SocketAddr,
        packet: &'a [u8],
    ) -> Option<(ClientId, &'a [u8])> {
        let header = Header::read(packet)?;
        if header.kind == Kind::Hello {
            self.on_hello(now, from, packet);
            return None;
        }
        let Some(&place) = self.sessions.get(&header.session) else {
            self.counts.strangers += 1;
            return None;
        };
        let newest = match self.open(now, place, from, &header, packet) {
            Ok(newest) => newest,
            Err(refusal) => {
                match refusal {
                    Refusal::Replayed => self.counts.replayed += 1,
                    Refusal::Forged => self.counts.forged += 1,
                }
                return None;
            }
        };
        let Known { name, lane, .. } = &mut self.clients[usize::from(place)];
        let lane = lane.as_mut()?;
        lane.counts.up_packets += 1;
        lane.counts.up_bytes += packet.len() as u64;
        if let Some(before) = lane.link.on_packet(now, from, packet.len(), newest, &mut self.entropy) {
            note(&mut self.events, Event::Moved { client: name.clone(), from: before, to: from });
            self.tick = now;
        }
        match header.kind {
            Kind::Data => {
                let lane = self.clients[usize::from(place)].lane.as_mut()?;
                return lane.link.datagram(&header, packet).map(|datagram| (ClientId(place), datagram));
            }
            Kind::Report => self.on_report(now, place, packet.get(HEADER..).unwrap_or_default()),
            Kind::Probe => {
                if let Some(echo) = lane.link.echo(now, packet) {
                    // To where the probe came from: what proves the address, or the size.
                    self.control(now, place, echo, Some(from));
                }
            }
            Kind::Echo => {
                let shown = lane.link.on_echo(now, from, packet);
                if shown.proven {
                    note(&mut self.events, Event::Proven { client: name.clone(), address: from });
                }
                if shown.mtu {
                    note(&mut self.events, Event::Mtu { client: name.clone(), bytes: lane.link.mtu() });
                }
            }
            Kind::Close if newest => self.leave(now, place, Gone::Closed),
            Kind::Close | Kind::Hello | Kind::Answer => {}
        }
        None
    }

    fn on_hello(&mut self, now: Instant, from: SocketAddr, packet: &[u8]) {
        let hello = Hello::read(packet);
        let known = hello.and_then(|hello| Some((hello, *self.keys.get(&hello.key)?)));
        let Some((hello, (place, epoch, key))) = known else {
            self.counts.strangers += 1;
            return;
        };
        let client = &mut self.clients[usize::from(place)];
        if client.is_old(now, &hello) {
            self.counts.replayed += 1;
            return;
        }
        if hello.epoch != epoch || !Hello::is_of(packet, &key) {
            self.counts.forged += 1;
            return;
        }
        if let Some(pending) = client.pending.as_mut().filter(|pending| pending.nonce == hello.nonce) {
            pending.from = pending.from.filter(|first| *first == from);
            pending.time = hello.time;
            self.outbox.push_back(Transmit::now(from, pending.answer.clone()));
            return;
        }
        let resumes = hello.resumes && client.lane.is_some();
        let answer = Answer {
            epoch,
            resumes,
            session: new_session(&mut self.entropy, &self.sessions),
            time: hello.time,
            nonce: self.entropy.bytes(),
            receiver: place,
            interval: u16::try_from(self.config.stream.interval.as_millis()).unwrap_or(u16::MAX),
        };
        let bytes = answer.encode(&key, &hello.nonce, sent_at(now));
        let session = session_of(End::Edge, &key, &hello, &answer);
        self.sessions.insert(answer.session, place);
        self.outbox.push_back(Transmit::now(from, bytes.clone()));
        if let Some(unused) = client.end_pending() {
            self.sessions.remove(&unused);
        }
        let (nonce, time, from) = (hello.nonce, hello.time, Some(from));
        client.pending = Some(Pending { session, nonce, answer: bytes, resumes, time, from, made: now });
    }

    /// Checks a packet of a client's session. The first one under new keys brings them into force.
    fn open(
        &mut self,
        now: Instant,
        place: u16,
        from: SocketAddr,
        header: &Header,
        packet: &[u8],
    ) -> Result<bool, Refusal> {
        let client = &mut self.clients[usize::from(place)];
        match &mut client.pending {
            Some(pending) if pending.session.id == header.session => {
                pending.session.open(header, packet)?;
                self.use_pending(now, place, from);
                Ok(true)
            }
            _ => client.lane.as_mut().map_or(Err(Refusal::Forged), |lane| lane.link.open(header, packet)),
        }
    }

    /// Brings the keys of a handshake into force, whose first packet has come from an address.
    fn use_pending(&mut self, now: Instant, place: u16, from: SocketAddr) {
        let client = &mut self.clients[usize::from(place)];
        let Some(Pending { session, time, from: asked, resumes, .. }) = client.pending.take() else { return };
        client.hello = time;
        let is_proven = asked == Some(from);
        let epoch = session.epoch;
        let resumes = resumes && client.lane.is_some();
        let event = Event::Joined { client: client.name.clone(), address: from, epoch, resumes };
        match &mut client.lane {
            Some(lane) if resumes => {
                if let Some(ended) = lane.link.replace(now, session) {
                    self.sessions.remove(&ended);
                }
                if is_proven {
                    lane.link.path = Path::proven(from);
                }
            }
            _ => {
                self.forget_lane(place);
                // There are as many places as names.
                let _ = self.sender.join(now, ReceiverId(place), [0; 16]);
                let path = if is_proven {
                    Path::proven(from)
                } else {
                    Path::claimed(now, from, 0, self.entropy.number())
                };
                let link = Link::new(now, session, path, self.config.largest);
                let lane = Lane::new(now, link, self.config.stream.start);
                self.clients[usize::from(place)].lane = Some(lane);
            }
        }
        self.tick = now;
        note(&mut self.events, event);
    }

    fn on_report(&mut self, now: Instant, place: u16, feedback: &[u8]) {
        let Some(lane) = &mut self.clients[usize::from(place)].lane else { return };
        // A client speaks for itself only.
        let own = Feedback::receiver_of(feedback) == Ok(ReceiverId(place));
        if own && self.sender.report(now, feedback).is_ok() {
            lane.ask = now;
        } else {
            lane.counts.refused_reports += 1;
        }
    }

    /// Takes a datagram of the backend for a client.
    pub fn enqueue(&mut self, now: Instant, client: ClientId, datagram: &[u8]) {
        let lane = self.clients.get_mut(usize::from(client.0)).and_then(|known| known.lane.as_mut());
        let Some(lane) = lane else {
            self.counts.undeliverable += 1;
            return;
        };
        let Some(parts) = parts(datagram, lane.link.payload()) else {
            lane.counts.too_large += 1;
            return;
        };
        if !lane.begun {
            lane.begun = true;
            // The allocation's start lasts 2 s, and begins with the application's first datagram, not with the session.
            let _ = self.sender.restart(now, ReceiverId(client.0));
        }
        if lane.queue.is_empty() {
            lane.next = lane.next.max(now);
        }
        for (flags, part) in parts {
            let mut bytes = self.buffers.pop().unwrap_or_default();
            bytes.clear();
            bytes.resize(HEADER, 0);
            bytes.extend_from_slice(part);
            lane.queue.push(Waiting { at: now, flags, bytes });
        }
        reclaim(&mut self.buffers, lane);
        if lane.scheduled.is_none() {
            let at = lane.next.max(now);
            lane.scheduled = Some(at);
            self.schedule.insert((at, client.0));
        }
    }

    /// Hands packets over up to this long before their time, where a kernel sends each at its time; zero by default. A packet then waits
    /// outside of the edge, and the caller is asked for less often.
    pub const fn hand_over_ahead(&mut self, ahead: Span) {
        self.ahead = ahead;
    }

    /// The time from which on the first packet of the schedule may be handed over, and the latest that is worth waiting for.
    fn hand_over(&self) -> Option<(Instant, Instant)> {
        let &(at, place) = self.schedule.first()?;
        let lane = self.clients[usize::from(place)].lane.as_ref();
        let most = lane.map_or(Span::ZERO, |lane| lane.time_of(lane.queue.next_length()) * MOST_AHEAD);
        let ahead = self.ahead.min(most).as_nanos();
        let before = |nanos| Instant::from_nanos(at.as_nanos().saturating_sub(nanos));
        Some((before(ahead), before(ahead / 2)))
    }

    /// The next datagram to send now, or to hand to the kernel now.
    pub fn transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(control) = self.outbox.pop_front() {
            return Some(control);
        }
        loop {
            // Once a packet cannot wait, all that may be handed over are.
            let due = self.hand_over().map(|(from, latest)| if self.handing { from } else { latest });
            self.handing = due.is_some_and(|due| due <= now);
            if !self.handing {
                return None;
            }
            let (at, place) = self.schedule.pop_first()?;
            let Some(lane) = self.clients[usize::from(place)].lane.as_mut() else { continue };
            lane.scheduled = None;
            if !lane.link.path.may_send(lane.queue.next_length()) {
                schedule(&mut self.schedule, lane, place, now + self.ahead + UNPROVEN);
                continue;
            }
            // The moment on the wire.
            let leaves = at.max(now);
            let packet_time = lane.time_of(lane.queue.next_length());
            let packet = lane.queue.pop(leaves, packet_time);
            reclaim(&mut self.buffers, lane);
            let Some(Waiting { flags, mut bytes, .. }) = packet else { continue };
            lane.link.seal(leaves, Kind::Data, flags, &mut bytes);
            lane.on_sent(leaves, bytes.len());
            let next = lane.next;
            if !lane.queue.is_empty() {
                schedule(&mut self.schedule, lane, place, next);
            }
            let to = lane.link.path.address;
            self.on_sent(now, place, bytes.len());
            return Some(Transmit { to, bytes, leaves: (leaves > now).then_some(leaves) });
        }
    }

    /// Gives back the buffer of a sent datagram.
    pub fn recycle(&mut self, bytes: Vec<u8>) {
        if self.buffers.len() < BUFFERS {
            self.buffers.push(bytes);
        }
    }

    fn on_sent(&mut self, now: Instant, place: u16, length: usize) {
        if let Some(lane) = &mut self.clients[usize::from(place)].lane {
            lane.counts.down_packets += 1;
            lane.counts.down_bytes += length as u64;
        }
        // Known, and of a valid size.
        let _ = self.sender.sent(ReceiverId(place), now, 1, ByteCount::new(length as u64));
    }

    fn control(&mut self, now: Instant, place: u16, bytes: Vec<u8>, to: Option<SocketAddr>) {
        let Some(lane) = &self.clients[usize::from(place)].lane else { return };
        let to = to.unwrap_or(lane.link.path.address);
        self.on_sent(now, place, bytes.len());
        self.outbox.push_back(Transmit::now(to, bytes));
    }

    /// Does what is due: probes, rates, farewells.
    pub fn tick(&mut self, now: Instant) {
        if now < self.tick {
            return;
        }
        self.tick = now + TICK;
        for place in 0..self.clients.len() as u16 {
            let client = &mut self.clients[usize::from(place)];
            if client.pending.as_ref().is_some_and(|pending| now.since(pending.made) >= UNUSED)
                && let Some(unused) = client.end_pending()
            {
                self.sessions.remove(&unused);
            }
            let Some(lane) = &mut client.lane else { continue };
            if let Some(ended) = lane.link.expire(now) {
                self.sessions.remove(&ended);
            }
            let silence = now.since(lane.link.heard);
            if silence >= self.config.idle {
                self.leave(now, place, Gone::Silent(silence));
                continue;
            }
            let before = lane.link.mtu();
            let probes: Vec<Vec<u8>> = lane.link.probes(now, &mut self.entropy).collect();
            let after = lane.link.mtu();
            if after != before {
                note(&mut self.events, Event::Mtu { client: client.name.clone(), bytes: after });
            }
            if now >= lane.ask {
                self.ask(now, place);
            }
            for probe in probes {
                self.control(now, place, probe, None);
            }
        }
    }

    /// Asks the allocation for a client's rate.
    fn ask(&mut self, now: Instant, place: u16) {
        let Known { name, lane: Some(lane), .. } = &mut self.clients[usize::from(place)] else { return };
        let Ok(decision) = self.sender.poll(ReceiverId(place), now) else { return };
        let slower = decision.rate < lane.rate;
        lane.rate = decision.rate;
        lane.ask = decision.next.min(now + ASK).max(now + TICK);
        lane.decision = Some(decision);
        if !slower && let Some(at) = lane.scheduled {
            // A packet that waits for its turn at a rate that was much lower goes at the new one.
            let next = lane.earliest(now, lane.queue.next_length());
            if next < at {
                self.schedule.remove(&(at, place));
                lane.next = lane.next.min(next);
                schedule(&mut self.schedule, lane, place, next);
            }
        }
        let is_new = lane.told.is_none_or(|(reason, at)| reason != decision.reason && now.since(at) >= TELL);
        if is_new {
            lane.told = Some((decision.reason, now));
            let (rate, level, reason) = (decision.rate, decision.level, decision.reason);
            let distance = lane.usual_distance();
            note(&mut self.events, Event::Rate { client: name.clone(), rate, level, reason, distance });
        }
    }

    fn leave(&mut self, now: Instant, place: u16, why: Gone) {
        if self.clients[usize::from(place)].lane.is_none() {
            return;
        }
        self.forget_lane(place);
        let _ = self.sender.leave(now, ReceiverId(place));
        let client = &mut self.clients[usize::from(place)];
        // Its clock may have been set back when it comes again; an old hello alone does nothing.
        client.hello = 0;
        note(&mut self.events, Event::Left { client: client.name.clone(), why });
    }

    fn forget_lane(&mut self, place: u16) {
        let Some(lane) = self.clients[usize::from(place)].lane.take() else { return };
        lane.link.sessions().for_each(|session| {
            self.sessions.remove(&session);
        });
        if let Some(at) = lane.scheduled {
            self.schedule.remove(&(at, place));
        }
    }

    /// When to call [`Self::tick`] and [`Self::transmit`] if nothing happens before; `None` without clients.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        if !self.outbox.is_empty() {
            return Some(Instant::ZERO);
        }
        let tick = (!self.sessions.is_empty()).then_some(self.tick);
        let packet = self.hand_over().map(|(_, latest)| latest);
        [tick, packet].into_iter().flatten().min()
    }

    /// The next event.
    pub fn event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The number of a client that has joined.
    #[must_use]
    pub fn client(&self, name: &str) -> Option<ClientId> {
        let is_here = |known: &Known| known.name == name && known.lane.is_some();
        self.clients.iter().position(is_here).map(|place| ClientId(place as u16))
    }

    /// The clients that have joined, by number.
    pub fn rows(&self) -> impl Iterator<Item = (ClientId, ClientRow)> {
        let rows = self.clients.iter().enumerate();
        rows.filter_map(|(place, known)| {
            Some((ClientId(place as u16), known.lane.as_ref()?.row(&known.name)))
        })
    }

    /// Counters of packets that were not taken.
    #[must_use]
    pub const fn counts(&self) -> EdgeCounts {
        self.counts
    }

    /// Number of sessions, used and unused: at most three a client.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }
}

fn schedule(schedule: &mut BTreeSet<(Instant, u16)>, lane: &mut Lane, place: u16, at: Instant) {
    lane.scheduled = Some(at);
    schedule.insert((at, place));
}

fn reclaim(buffers: &mut Vec<Vec<u8>>, lane: &mut Lane) {
    for bytes in lane.queue.take_dropped() {
        if buffers.len() < BUFFERS {
            buffers.push(bytes);
        }
    }
}

fn note(events: &mut VecDeque<Event>, event: Event) {
    if events.len() < EVENTS {
        events.push_back(event);
    }
}

/// A number that no session has.
fn new_session(entropy: &mut Entropy, taken: &BTreeMap<u32, u16>) -> u32 {
    loop {
        let session = entropy.number() as u32;
        if session != 0 && !taken.contains_key(&session) {
            return session;
        }
    }
}

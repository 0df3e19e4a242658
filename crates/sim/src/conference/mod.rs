//! Multi-user video conferences: clients around a forwarding server, each behind its own access link or a shared one.
//!
//! `docs/understand/plum.md` holds the model and its limits.
//!
//! ```text
//!  camera ─► encoder ─► stream up ─► queue ─► access link ─► delay ─► server: forwarding unit ─► streams down of all others
//!              ▲                        (half-duplex)                    │ outbound link, delay
//!              └── policy's limit, congestion control     viewer ◄── access link ◄── queue ◄──┘
//! ```
//! Access links are pipes, whose turns are events of the conference, or networks, whose `World` advances both in one order
//! of time; at the same instant networks go first. Packets that leave or arrive together are one event.

mod access;
mod config;
mod forward;
mod layers;
pub(crate) mod measure;
mod packet;
mod policy;
mod stream;
pub(crate) mod tables;

use airbound_control::frame::DropReason;
use airbound_scenario::{Encoder, SessionTransport};
use airbound_senders::conference::ConferenceConfig;
use airbound_units::{BitRate, ByteCount, Instant, Span};

pub use config::{AccessSpec, AirSpec, ConferenceSpec, Forwarding, flow_of};
use forward::Sources;
pub use measure::{ClientOutcome, ConferenceOutcome};
use measure::{Measured, Meter};
use packet::{Content, Packet, PacketId, Store};
use policy::Policy;
use stream::{Side, Stream};
use tables::Tables;

use crate::agenda::Agenda;
use crate::endpoint::Outgoing;
use crate::error::BuildError;
use crate::path::{Pipe, Way};
use airbound_random::{Purpose, Stream as Draws, seed_for};

/// Capacity of the queue before the server's outbound link.
const SERVER_QUEUE: ByteCount = ByteCount::new(1000 * 1500);
/// Backlog, in frames of the lowest bitrate or of the bitrate halved by backlog, at which a frame is skipped: live video does not catch up.
const MOST_WAITING: u64 = 8;
/// Interval at which TACK adapts to the path.
const TACK_INTERVAL: Span = Span::from_millis(100);

/// An event.
#[derive(Debug)]
enum Event {
    /// A client's camera takes a frame.
    Camera(usize),
    /// A transmission ends on a pipe, by access link and channel.
    Turn(usize, usize),
    /// A packet reaches the server.
    AtServer(PacketId),
    /// Packets reach the access point that serves their client.
    AtAccessPoint(Vec<PacketId>),
    /// A timer of a stream.
    Timer(usize, Way, Side),
    /// The policy's deadline.
    Policy,
    /// TACK adapts to the path.
    Tack,
    /// A window of the time series ends.
    Window,
}

/// An access link.
#[derive(Debug)]
enum Link {
    Pipe(Pipe<PacketId>),
    /// The network with this number in the [`World`].
    Air(usize),
}

/// A client with its two streams.
#[derive(Debug)]
struct Client {
    access: usize,
    /// Its number on its access link.
    place: usize,
    /// The number of packets offered to the access link so far, up and down.
    offered: [u64; 2],
    up: Stream,
    down: Stream,
    /// Present bitrate of its encoder.
    encoding: BitRate,
    /// Present rate of forwarding to it.
    forwarding: BitRate,
}

impl Client {
    fn stream(&mut self, way: Way) -> &mut Stream {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }
}

/// A running conference.
#[derive(Debug)]
pub(crate) struct Conference {
    spec: ConferenceSpec,
    interval: Span,
    now: Instant,
    measured: Measured,
    links: Vec<Link>,
    clients: Vec<Client>,
    policy: Policy,
    policy_at: Instant,
    sources: Sources,
    store: Store,
    /// When the server's outbound link is free again.
    outbound_free: Instant,
    events: Agenda<Event>,
    processed: u64,
    packets: u64,
    notices: u64,
    pub(crate) meters: Vec<Meter>,
    tables: Option<Tables>,
    /// Packets for networks, by number.
    sent: Vec<(usize, Outgoing)>,
}

impl Conference {
    /// Prepares a conference; `networks` are the numbers in the world of those among its access links.
    ///
    /// # Errors
    /// The parameters of the policy or of the congestion control are wrong.
    pub(crate) fn new(spec: ConferenceSpec, networks: Vec<usize>) -> Result<Self, BuildError> {
        let slot = |slot, reason: String| BuildError::Slot { slot, reason };
        if let (SessionTransport::Rtp(rule), ConferenceConfig::Tack(_)) = (&spec.transport, &spec.policy) {
            let name = rule.name();
            let reason =
                format!("tack spaces TCP's acknowledgements, and the session's congestion is {name}");
            return Err(slot("session", reason));
        }
        let policy = Policy::new(&spec).map_err(|error| slot("session", error.to_string()))?;
        let count = spec.clients();
        let places = spec
            .access
            .iter()
            .enumerate()
            .flat_map(|(access, link)| (0..link.clients()).map(move |place| (access, place)));
        let stream = |number: usize| {
            let seed = seed_for(spec.seed, Purpose::Session, 1 + number as u64);
            let Encoder { least, most, .. } = spec.encoder;
            // Downlinks carry the cameras of all others.
            let most = if number.is_multiple_of(2) { most } else { most.mul_f64((count - 1) as f64) };
            // Initially twice the lowest, as in the public code.
            Stream::new(&spec.transport, seed, [least + least, most])
        };
        let clients = places
            .enumerate()
            .map(|(number, (access, place))| {
                Ok(Client {
                    access,
                    place,
                    offered: [0; 2],
                    up: stream(2 * number)?,
                    down: stream(2 * number + 1)?,
                    // Initially twice the lowest, as in the public code.
                    encoding: spec.encoder.least + spec.encoder.least,
                    forwarding: BitRate::ZERO,
                })
            })
            .collect::<Result<Vec<Client>, BuildError>>()?;
        let mut networks = networks.into_iter();
        let link = |link: &AccessSpec| match link {
            AccessSpec::Pipe(pipe) => Link::Pipe(Pipe::new(pipe)),
            AccessSpec::Air(_) => Link::Air(networks.next().unwrap_or(0)),
        };
        let links = spec.access.iter().map(link).collect();
        let from = Instant::ZERO + spec.warm_up;
        let seconds = spec.duration.div_floor(Span::from_secs(1)) as usize;
        let interval = spec.encoder.interval();
        let mut conference = Self {
            interval,
            now: Instant::ZERO,
            measured: Measured { from, to: from + spec.duration },
            links,
            clients,
            policy,
            policy_at: Instant::MAX,
            sources: Sources::new(count, interval),
            store: Store::default(),
            outbound_free: Instant::ZERO,
            events: Agenda::new(),
            processed: 0,
            packets: 0,
            notices: 0,
            meters: vec![Meter::new(count, seconds); count],
            tables: None,
            sent: Vec::new(),
            spec,
        };
        conference.begin();
        Ok(conference)
    }

    fn begin(&mut self) {
        for client in 0..self.clients.len() {
            // Cameras are not synchronised.
            let phase = Draws::new(self.spec.seed, Purpose::Session, (1 << 32) | client as u64).unit();
            self.schedule(Instant::ZERO + self.interval.mul_f64(phase), Event::Camera(client));
        }
        if self.policy.tack().is_some() {
            self.schedule(Instant::ZERO + TACK_INTERVAL, Event::Tack);
        }
        self.schedule_policy();
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        if at <= self.measured.to {
            self.events.push(at.max(self.now), event);
        }
    }

    fn schedule_policy(&mut self) {
        if let Some(at) = self.policy.next_deadline().filter(|at| *at < self.policy_at) {
            self.policy_at = at;
            self.schedule(at, Event::Policy);
        }
    }

    pub(crate) const fn now(&self) -> Instant {
        self.now
    }

    pub(crate) const fn end(&self) -> Instant {
        self.measured.to
    }

    /// Number of events so far.
    pub(crate) const fn processed(&self) -> u64 {
        self.processed
    }

    /// The instant of the next event; [`Instant::MAX`] for never.
    pub(crate) fn next_event(&self) -> Instant {
        self.events.next()
    }

    /// Executes the next event.
    pub(crate) fn step(&mut self) {
        if let Some((at, event)) = self.events.pop() {
            self.now = at;
            self.processed += 1;
            self.handle(event);
        }
    }

    /// Packets to be sent into networks now, each with the network's number.
    pub(crate) fn take_sent(&mut self) -> std::vec::Drain<'_, (usize, Outgoing)> {
        self.sent.drain(..)
    }

    /// Writes the rows of packets on pipes, from the beginning on.
    pub(crate) fn write(&mut self, tables: Tables) {
        let first = tables.window_end();
        self.tables = Some(tables);
        first.into_iter().for_each(|at| self.schedule(at, Event::Window));
    }

    fn on_window(&mut self) {
        let Some(tables) = &mut self.tables else { return };
        tables.end_window(self.now);
        if let Some(next) = tables.window_end() {
            self.schedule(next, Event::Window);
        }
    }

    /// The results of all clients.
    pub(crate) fn outcome(&self) -> ConferenceOutcome {
        debug_assert!(self.store.len() < 1 << 24, "packets pile up");
        ConferenceOutcome {
            clients: self.meters.iter().map(|meter| meter.outcome(self.spec.duration)).collect(),
            computed: self.policy.plum().map_or(0, airbound_senders::conference::PlumServer::computed),
            notices: self.notices,
            events: self.processed,
            packets: self.packets,
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Camera(client) => self.on_camera(client),
            Event::Turn(access, channel) => self.on_turn_end(access, channel),
            Event::AtServer(id) => self.on_arrival(id),
            Event::AtAccessPoint(packets) => self.on_access_point(&packets),
            Event::Timer(client, way, side) => self.on_timer(client, way, side),
            Event::Policy => self.on_policy(),
            Event::Tack => self.on_tack(),
            Event::Window => self.on_window(),
        }
    }

    // Media.

    /// Takes a camera frame; at the same time the server updates the forwarding to this client.
    fn on_camera(&mut self, number: usize) {
        let now = self.now;
        self.schedule(now + self.interval, Event::Camera(number));
        let [own, towards] = self.policy.take_restored(number);
        let encoder = self.spec.encoder;
        let client = &mut self.clients[number];
        let limit = self.policy.client_limit(number);
        let waiting = client.up.unsent();
        let natural = own.or(client.up.estimate()).unwrap_or(client.encoding);
        client.encoding = pace(natural, limit, waiting > encoder.backlog).clamp(encoder.least, encoder.most);

        if let (Some(up), Some(down)) = (client.up.in_trouble(now), client.down.in_trouble(now)) {
            self.policy.on_path(now, number, up || down);
        }
        let budget = towards.or(client.down.estimate()).unwrap_or(encoder.least);
        // The limit for the server's many frames is that for a client's one.
        let frame = budget.bytes_in(self.interval).max(encoder.backlog);
        let late = client.down.unsent() > frame;
        client.forwarding = pace(budget, self.policy.server_limit(number), late);
        match self.spec.forwarding {
            Forwarding::Divided => self.sources.set_budget(number, client.forwarding),
            Forwarding::Whole => self.sources.set_each(number, self.policy.server_limit(number)),
        }

        if self.measured.contains(now) {
            self.meters[number].on_state(self.policy.state(number).number(), self.interval);
        }
        if self.policy.is_paused(number) {
            self.sources.on_silence(number);
            return;
        }
        let bytes = self.clients[number].encoding.bytes_in(self.interval).as_u64();
        self.note_offered(number, Way::Up, bytes);
        let too_late = waiting > encoder.backlog * MOST_WAITING;
        if !too_late {
            self.clients[number].up.write(now, number, now, bytes);
            self.drive(number, Way::Up);
        }
    }

    /// Counts media to be sent.
    fn note_offered(&mut self, number: usize, way: Way, bytes: u64) {
        if self.measured.contains(self.now) {
            self.meters[number].way(way).offered += bytes;
        }
    }

    /// Forwards a client's complete frames to all others.
    fn forward(&mut self, source: usize) {
        while let Some(frame) = self.clients[source].up.take_arrived() {
            if self.measured.contains(self.now) {
                self.meters[source].on_sent(frame.bytes, self.now.since(frame.created));
            }
            self.sources.on_frame(source, frame.bytes);
            self.policy.on_source(self.now, source, self.sources.rate(source));
            let down = self.clients[source].down.estimate().map_or(0.0, |rate| rate.as_bps() as f64);
            if frame.estimate > 0.0 && down > 0.0 {
                self.policy.on_estimates(self.now, source, frame.estimate, down);
            }
            for viewer in 0..self.clients.len() {
                let bytes = match self.policy.part(viewer, source) {
                    Some(part) => (frame.bytes as f64 * part) as u64,
                    None => self.sources.cut(viewer, frame.bytes),
                };
                if viewer != source {
                    self.note_offered(viewer, Way::Down, bytes);
                }
                let client = &mut self.clients[viewer];
                let most = client.forwarding.bytes_in(self.interval).max(self.spec.encoder.backlog);
                if viewer == source || bytes == 0 || client.down.unsent() > most * 4 {
                    continue;
                }
                client.down.write(self.now, source, frame.created, bytes);
                self.drive(viewer, Way::Down);
            }
        }
    }

    /// Shows the complete frames of the stream forwarded to a client.
    fn show(&mut self, viewer: usize) {
        while let Some(frame) = self.clients[viewer].down.take_arrived() {
            if self.measured.contains(self.now) {
                let since = self.now.since(self.measured.from);
                let latency = self.now.since(frame.created);
                self.meters[viewer].on_frame(since, frame.source, frame.bytes, latency);
            }
        }
    }

    // Packets.

    /// Sends the packets of a stream's sender, and sets its timers.
    fn drive(&mut self, number: usize, way: Way) {
        let mut leaving = Vec::new();
        while let Some(content) = self.clients[number].stream(way).poll(self.now) {
            leaving.push(Packet::new(number, way, content));
        }
        self.send(number, way, leaving);
        self.set_timers(number, way);
    }

    /// Sends the answers of a stream's receiver, and sets its timers.
    fn answer(&mut self, number: usize, way: Way) {
        let back = way.other();
        while let Some(content) = self.clients[number].stream(way).poll_answer(self.now) {
            self.send(number, back, vec![Packet::new(number, back, content)]);
        }
        self.set_timers(number, way);
    }

    /// Sends packets from the end where their path begins.
    fn send(&mut self, number: usize, way: Way, packets: Vec<Packet>) {
        if packets.is_empty() {
            return;
        }
        self.packets += packets.len() as u64;
        if self.measured.contains(self.now) {
            let data = packets.iter().filter(|packet| packet.content.sent().is_some()).count();
            self.meters[number].way(way).sent += data as u64;
        }
        match way {
            Way::Up => {
                for packet in packets {
                    self.offer(packet);
                }
                self.begin_turn(self.clients[number].access, way);
            }
            Way::Down => {
                let mut ids = Vec::with_capacity(packets.len());
                for packet in packets {
                    if self.passes_outbound(packet.size()) {
                        ids.push(self.store.put(packet));
                    } else {
                        self.count_loss(&packet, DropReason::Wire);
                    }
                }
                if !ids.is_empty() {
                    let leaves = self.outbound_free.max(self.now);
                    self.schedule(leaves + self.spec.delay, Event::AtAccessPoint(ids));
                }
            }
        }
    }

    /// Whether the server's outbound link accepts a packet.
    fn passes_outbound(&mut self, size: u32) -> bool {
        let Some(rate) = self.spec.server else { return true };
        let begins = self.outbound_free.max(self.now);
        if rate.bytes_in(begins.since(self.now)) > SERVER_QUEUE {
            return false;
        }
        self.outbound_free = begins + rate.time_for(ByteCount::new(u64::from(size)));
        true
    }

    fn on_access_point(&mut self, packets: &[PacketId]) {
        let mut access = 0;
        for id in packets {
            let Some(packet) = self.store.take(*id) else { continue };
            access = self.clients[packet.client].access;
            self.offer(packet);
        }
        self.begin_turn(access, Way::Down);
    }

    /// Handles a packet at the end of its path.
    fn on_arrival(&mut self, id: PacketId) {
        let Some(Packet { client: number, way, content, .. }) = self.store.take(id) else { return };
        let now = self.now;
        match content {
            Content::Segment(_) | Content::Media(_) => {
                if let Some(sent) = content.sent().filter(|sent| self.measured.contains(*sent)) {
                    self.meters[number].way(way).packets.record(now.since(sent));
                }
                self.clients[number].stream(way).on_data(now, &content);
                match way {
                    Way::Up => self.forward(number),
                    Way::Down => self.show(number),
                }
                self.answer(number, way);
            }
            Content::Ack(_) | Content::Feedback(_) => {
                self.clients[number].stream(way.other()).on_answer(now, &content);
                self.drive(number, way.other());
            }
            Content::Notice(notice) => {
                let present = self.clients[number].encoding;
                if let Some(sequence) = self.policy.on_notice(number, notice, present) {
                    let answer = Packet::new(number, Way::Up, Content::Answer(sequence));
                    self.send(number, Way::Up, vec![answer]);
                }
            }
            Content::Probe(rate) => {
                self.clients[number].up.request_probe(now, rate);
                self.drive(number, Way::Up);
            }
            Content::Answer(sequence) => {
                self.policy.on_answer(number, sequence);
                self.schedule_policy();
            }
        }
    }

    // Timers.

    fn set_timers(&mut self, number: usize, way: Way) {
        for side in [Side::Sender, Side::Receiver] {
            let stream = self.clients[number].stream(way);
            let deadline = stream.next_deadline(side);
            let pending = &mut stream.timers[side as usize];
            if let Some(at) = deadline.filter(|at| *at < *pending) {
                *pending = at;
                self.schedule(at, Event::Timer(number, way, side));
            }
        }
    }

    fn on_timer(&mut self, number: usize, way: Way, side: Side) {
        let now = self.now;
        let stream = self.clients[number].stream(way);
        if stream.timers[side as usize] > now {
            return;
        }
        stream.timers[side as usize] = Instant::MAX;
        stream.on_deadline(now, side);
        match side {
            Side::Sender => self.drive(number, way),
            Side::Receiver => self.answer(number, way),
        }
    }

    fn on_policy(&mut self) {
        if self.policy_at > self.now {
            return;
        }
        self.policy_at = Instant::MAX;
        self.policy.on_deadline(self.now);
        while let Some((client, notice)) = self.policy.poll_notice(self.now) {
            self.notices += 1;
            let packet = Packet::new(client, Way::Down, Content::Notice(notice));
            self.send(client, Way::Down, vec![packet]);
        }
        while let Some((client, rate)) = self.policy.take_probe() {
            self.send(client, Way::Down, vec![Packet::new(client, Way::Down, Content::Probe(rate))]);
        }
        while let Some((client, rate)) = self.policy.take_begin() {
            self.clients[client].down.begin(self.now, rate);
            self.drive(client, Way::Down);
        }
        self.schedule_policy();
    }

    /// Adapts TACK's receivers to the rate and the smallest round trip of the path.
    fn on_tack(&mut self) {
        self.schedule(self.now + TACK_INTERVAL, Event::Tack);
        let Some(config) = self.policy.tack().copied() else { return };
        for stream in self.clients.iter_mut().flat_map(|client| [&mut client.up, &mut client.down]) {
            stream.adapt(&config);
        }
    }
}

/// The rate of an encoder or of forwarding: that of the congestion control, half of it if the backlog is too long, and at most the policy's
/// limit.
fn pace(natural: BitRate, limit: Option<BitRate>, behind: bool) -> BitRate {
    let natural = if behind { natural.mul_f64(0.5) } else { natural };
    limit.map_or(natural, |limit| natural.min(limit))
}

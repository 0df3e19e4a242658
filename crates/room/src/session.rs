//! A room over WebRTC: the pure room of `airbound-senders`, carried out on connections of str0m. Without sockets, threads or a clock of its
//! own: the caller passes datagrams and time, so that a test runs it in virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use airbound_senders::conference::ClientId;
use airbound_senders::conference::room::{Action, Estimate, Room, RoomConfig, RoomPolicy, Viewing};
use airbound_units::{BitRate, ConfigError, Instant as When};
use serde_json::{Value, json};
use str0m::bwe::{Bitrate, BweKind};
use str0m::change::{SdpAnswer, SdpOffer};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, IceConnectionState, Input, Output, Rtc};

use crate::message::Message;
use crate::peer::{Peer, TICK, Wanted};

/// Upper limit of participants.
pub const MOST_MEMBERS: usize = 32;
/// Time in which a participant has to be connected after its offer.
const JOIN_DEADLINE: Duration = Duration::from_secs(15);
/// Time for which a seat of a full room is kept for a participant that has not connected.
const HALF_OPEN: Duration = Duration::from_secs(3);
/// Interval at which losses are looked at; str0m counts them over a second.
const STATS: Duration = Duration::from_millis(500);
/// Part of the packets of a second whose loss says that a link is in trouble.
const LOSSES: f32 = 0.02;
/// Time for which a seat can be taken again.
const RESUME: Duration = Duration::from_secs(15);
/// Time for which a participant that does not answer keeps its seat beyond ICE's own time: a bad link may lose all checks, and comes back.
const GRACE: Duration = Duration::from_secs(10);
/// Messages that a client may send in an interval of 200 ms.
const MOST_MESSAGES: u32 = 20;
/// Rate below which a layer counts as not sent, bit/s.
const LEAST_LAYER: f64 = 8e3;
/// Lines of the log that are kept.
const LOG: usize = 100;
/// A client's claim counts up to this multiple of what was received from it.
const CLAIM: f64 = 4.0;

/// A request to join.
#[derive(Debug)]
pub struct Join {
    /// The name shown to others.
    pub name: String,
    /// Whether it may change the policy.
    pub host: bool,
    /// The offer.
    pub offer: SdpOffer,
    /// The resume token of an earlier seat.
    pub resume: Option<String>,
    /// The resume token of this seat, not to be guessed.
    pub token: String,
}

/// An accepted participant.
#[derive(Debug)]
pub struct Joined {
    /// Its number.
    pub id: u16,
    /// The answer to its offer.
    pub answer: SdpAnswer,
}

/// The reason why a participant is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// All seats are taken.
    #[error("the room is full: it has {MOST_MEMBERS} participants")]
    Full,
    /// The offer is no offer, or str0m does not accept it.
    #[error("the offer is not acceptable: it needs VP8 video in sections that send or receive only")]
    Offer,
    /// The seat is gone.
    #[error("this seat is gone: join again")]
    Gone,
}

/// A line of the log.
#[derive(Debug, Clone)]
struct Line {
    at: f64,
    text: String,
}

/// The state of a room over WebRTC.
pub struct Session {
    room: Room,
    address: SocketAddr,
    start: Instant,
    now: Instant,
    peers: BTreeMap<ClientId, Peer>,
    addresses: BTreeMap<SocketAddr, ClientId>,
    /// Seats that were left: resume token, number, time.
    left: Vec<(String, ClientId, Instant)>,
    events: VecDeque<(ClientId, Event)>,
    datagrams: VecDeque<(SocketAddr, Vec<u8>)>,
    tick: Instant,
    log: VecDeque<Line>,
    /// Lines of the log so far.
    lines: usize,
    received: u64,
    forwarded: u64,
}

impl Session {
    /// Creates an empty room that is reached at an address.
    ///
    /// # Errors
    /// The first value of `config` out of range.
    pub fn new(config: RoomConfig, address: SocketAddr, now: Instant) -> Result<Self, ConfigError> {
        Ok(Self {
            room: Room::new(config)?,
            address,
            start: now,
            now,
            peers: BTreeMap::new(),
            addresses: BTreeMap::new(),
            left: Vec::new(),
            events: VecDeque::new(),
            datagrams: VecDeque::new(),
            tick: now,
            log: VecDeque::new(),
            lines: 0,
            received: 0,
            forwarded: 0,
        })
    }

    fn when(&self) -> When {
        When::from_nanos(self.now.saturating_duration_since(self.start).as_nanos() as u64)
    }

    fn note(&mut self, text: String) {
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.lines += 1;
        self.log.push_back(Line { at: self.now.saturating_duration_since(self.start).as_secs_f64(), text });
    }

    fn name(&self, id: ClientId) -> &str {
        self.peers.get(&id).map_or("a former participant", |peer| peer.name.as_str())
    }

    /// Seats a participant.
    ///
    /// # Errors
    /// The room is full, or the offer is not acceptable.
    pub fn join(&mut self, now: Instant, join: Join) -> Result<Joined, JoinError> {
        self.now = now;
        let earlier = join.resume.as_ref().and_then(|token| {
            let seated = self.peers.values().find(|peer| peer.resume == *token).map(|peer| peer.id);
            seated.or_else(|| self.left.iter().find(|(left, ..)| left == token).map(|(_, id, _)| *id))
        });
        let is_full =
            self.peers.len() >= MOST_MEMBERS && earlier.is_none_or(|id| !self.peers.contains_key(&id));
        // The oldest seat whose participant has not connected gives way.
        let waits = |peer: &&Peer| !peer.connected && now.saturating_duration_since(peer.joined) >= HALF_OPEN;
        let oldest = self.peers.values().filter(waits).min_by_key(|peer| peer.joined).map(|peer| peer.id);
        if is_full && oldest.is_none() {
            return Err(JoinError::Full);
        }
        let mut rtc = Rtc::builder()
            .clear_codecs()
            .enable_vp8(true)
            .enable_opus(true, false)
            .set_ice_lite(true)
            .set_rtp_mode(true)
            .enable_bwe(Some(Bitrate::kbps(500)))
            .set_stats_interval(Some(STATS))
            .build(now);
        let candidate = Candidate::host(self.address, "udp").map_err(|_| JoinError::Offer)?;
        rtc.add_local_candidate(candidate);
        let answer = rtc.sdp_api().accept_offer(join.offer).map_err(|_| JoinError::Offer)?;
        if let Some(id) = earlier.or(oldest.filter(|_| is_full)) {
            self.remove(id);
        }
        let id = earlier.unwrap_or_else(|| self.free_number());
        self.left.retain(|(_, other, _)| *other != id);
        let name: String = join.name.chars().filter(|letter| !letter.is_control()).take(32).collect();
        let name = if name.trim().is_empty() { format!("guest {}", id.0) } else { name };
        let verb = if earlier.is_some() { "is back" } else { "joined" };
        self.note(format!("{name} {verb}"));
        self.room.join(self.when(), id, 1.0);
        self.peers.insert(id, Peer::new(id, name, join.host, join.token, rtc, now));
        self.mutate(id, |_| {});
        self.handle_events();
        Ok(Joined { id: id.0, answer })
    }

    /// A number that no seat has. There are more numbers than seats.
    fn free_number(&self) -> ClientId {
        let taken =
            |id: &ClientId| self.peers.contains_key(id) || self.left.iter().any(|(_, left, _)| left == id);
        (1..u16::MAX).map(ClientId).find(|id| !taken(id)).unwrap_or(ClientId(0))
    }

    /// Ends the seat of a resume token at once, as a page does when it is closed.
    pub fn leave(&mut self, now: Instant, token: &str) {
        self.now = now;
        if let Some(id) = self.peers.values().find(|peer| peer.resume == token).map(|peer| peer.id) {
            self.part(id, "left");
        }
    }

    /// Answers a new offer of a seated participant, as after a change of its network (ICE restart); its media go on.
    ///
    /// # Errors
    /// The token seats no participant, or the offer is not acceptable.
    pub fn restart(&mut self, now: Instant, token: &str, offer: SdpOffer) -> Result<SdpAnswer, JoinError> {
        self.now = now;
        let id = self.peers.values().find(|peer| peer.resume == token).map(|peer| peer.id);
        let id = id.ok_or(JoinError::Gone)?;
        let mut answer = Err(JoinError::Offer);
        self.mutate(id, |rtc| answer = rtc.sdp_api().accept_offer(offer).map_err(|_| JoinError::Offer));
        if answer.is_ok() {
            let name = self.name(id).to_owned();
            self.note(format!("{name} changes its network"));
        }
        self.handle_events();
        answer
    }

    /// Changes the policy.
    pub fn set_policy(&mut self, now: Instant, policy: RoomPolicy) {
        self.now = now;
        let config = RoomConfig { policy, ..*self.room.config() };
        if self.room.set_config(self.when(), config).is_ok() {
            let policy = policy_name(policy);
            self.note(format!("the policy is now {policy}"));
        }
    }

    /// Removes a participant, whose seat can be taken again for a while, and says why.
    fn part(&mut self, id: ClientId, why: &str) {
        if let Some(peer) = self.peers.get(&id) {
            let (token, name) = (peer.resume.clone(), peer.name.clone());
            self.left.push((token, id, self.now));
            self.note(format!("{name} {why}"));
        }
        self.remove(id);
    }

    fn remove(&mut self, id: ClientId) {
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.rtc.disconnect();
        }
        self.peers.remove(&id);
        self.addresses.retain(|_, other| *other != id);
        self.room.leave(self.when(), id);
    }

    /// Takes a datagram.
    pub fn receive(&mut self, now: Instant, source: SocketAddr, bytes: &[u8]) {
        self.now = now;
        self.received += 1;
        let Ok(contents) = bytes.try_into() else { return };
        let input = Input::Receive(
            now,
            Receive { proto: Protocol::Udp, source, destination: self.address, contents },
        );
        let known = self.addresses.get(&source).copied();
        let known = known.filter(|id| self.peers.get(id).is_some_and(|peer| peer.rtc.accepts(&input)));
        let Some(id) =
            known.or_else(|| self.peers.values().find(|peer| peer.rtc.accepts(&input)).map(|peer| peer.id))
        else {
            return;
        };
        if known.is_none() {
            self.addresses.retain(|_, other| *other != id);
            self.addresses.insert(source, id);
        }
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.received.add(bytes.len());
        }
        self.mutate(id, |rtc| {
            if rtc.handle_input(input).is_err() {
                rtc.disconnect();
            }
        });
        self.handle_events();
    }

    /// When [`Self::advance`] has to be called at the latest.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        let room = self.start + Duration::from_nanos(self.room.next_deadline().as_nanos());
        self.peers.values().map(|peer| peer.due).fold(self.tick.min(room.max(self.now)), Instant::min)
    }

    /// Lets time pass.
    pub fn advance(&mut self, now: Instant) {
        self.now = now;
        let due: Vec<ClientId> =
            self.peers.values().filter(|peer| peer.due <= now).map(|peer| peer.id).collect();
        for id in due {
            self.mutate(id, |rtc| {
                if rtc.handle_input(Input::Timeout(now)).is_err() {
                    rtc.disconnect();
                }
            });
        }
        if now >= self.tick {
            self.tick = now + TICK;
            self.on_tick();
        }
        if self.when() >= self.room.next_deadline() {
            let when = self.when();
            self.room.on_deadline(when);
        }
        self.carry_out();
        self.handle_events();
    }

    /// The next datagram to send.
    pub fn poll_datagram(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.datagrams.pop_front()
    }

    /// The number of datagrams taken, and of packets forwarded.
    #[must_use]
    pub const fn counts(&self) -> (u64, u64) {
        (self.received, self.forwarded)
    }

    /// The number of participants.
    #[must_use]
    pub fn members(&self) -> usize {
        self.peers.len()
    }

    /// One mutation, and the whole drain that str0m requires after it.
    fn mutate(&mut self, id: ClientId, act: impl FnOnce(&mut Rtc)) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        act(&mut peer.rtc);
        loop {
            match peer.rtc.poll_output() {
                Ok(Output::Timeout(at)) => {
                    peer.due = at;
                    return;
                }
                Ok(Output::Transmit(datagram)) => {
                    peer.sent.add(datagram.contents.len());
                    self.datagrams.push_back((datagram.destination, datagram.contents.into()));
                }
                Ok(Output::Event(event)) => self.events.push_back((id, event)),
                Err(_) => {
                    peer.rtc.disconnect();
                    peer.due = self.now + TICK;
                    return;
                }
            }
        }
    }

    fn handle_events(&mut self) {
        while let Some((id, event)) = self.events.pop_front() {
            match event {
                Event::RtpPacket(packet) => self.on_packet(id, &packet),
                Event::MediaAdded(media) => {
                    if let Some(peer) = self.peers.get_mut(&id) {
                        peer.on_media(&media);
                    }
                }
                Event::Connected => {
                    if let Some(peer) = self.peers.get_mut(&id) {
                        peer.connected = true;
                    }
                }
                Event::ChannelOpen(channel, _) => {
                    if let Some(peer) = self.peers.get_mut(&id) {
                        peer.channel = Some(channel);
                    }
                }
                Event::ChannelData(data) => self.on_message(id, &data.data),
                Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. }) => {
                    let now = self.now;
                    let fell = self.peers.get_mut(&id).is_some_and(|peer| {
                        let sent = peer.sent.rate();
                        peer.downlink.take(now, estimate.as_f64(), sent)
                    });
                    if fell {
                        self.report_downlink(id);
                    }
                }
                Event::PeerStats(stats) => {
                    if let Some(peer) = self.peers.get_mut(&id) {
                        peer.trouble |= stats.egress_loss_fraction.is_some_and(|loss| loss > LOSSES);
                    }
                }
                Event::KeyframeRequest(request) => {
                    let slots = self.peers.get(&id).map(|peer| peer.slots.as_slice()).unwrap_or_default();
                    let slot = slots.iter().find(|slot| slot.mid == request.mid);
                    if let Some((source, layer)) = slot.and_then(|slot| Some((slot.source?, slot.current?))) {
                        self.ask_key(source, layer);
                    }
                }
                Event::IceConnectionStateChange(state) => {
                    let now = self.now;
                    if let Some(peer) = self.peers.get_mut(&id) {
                        let lost = state == IceConnectionState::Disconnected;
                        peer.lost = lost.then(|| *peer.lost.get_or_insert(now));
                    }
                }
                _ => {}
            }
        }
    }

    fn report_downlink(&mut self, id: ClientId) {
        let when = self.when();
        let Some(peer) = self.peers.get(&id) else { return };
        if peer.downlink.rate() > 0.0 {
            // Sound goes first: pictures share what it leaves.
            let rate = BitRate::from_bps_f64((peer.downlink.rate() - peer.sound.rate()).max(0.0));
            let kind = peer.downlink.kind(self.now, peer.sent.rate());
            self.room.on_downlink(when, id, Estimate { rate, kind, at: when });
        }
    }

    fn on_message(&mut self, id: ClientId, bytes: &[u8]) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.messages += 1;
        if peer.messages > MOST_MESSAGES {
            return;
        }
        match Message::read(bytes) {
            Some(Message::Up { estimate }) if (0.0..1e12).contains(&estimate) => peer.claim = estimate,
            Some(Message::Ack { sequence }) => self.room.on_acknowledged(id, sequence),
            Some(Message::Views { views }) => {
                let wanted = views.iter().take(MOST_MEMBERS).map(|view| {
                    (ClientId(view.from), Wanted { largest: view.largest, priority: view.priority })
                });
                peer.wanted = Some(wanted.collect());
                self.show(id);
            }
            Some(Message::Leave {}) => self.part(id, "left"),
            Some(Message::Up { .. }) | None => {}
        }
    }
}

pub(crate) const fn policy_name(policy: RoomPolicy) -> &'static str {
    match policy {
        RoomPolicy::Plain => "plain",
        RoomPolicy::LastN => "last-n",
        RoomPolicy::Plum => "plum",
    }
}

mod decide;
mod media;
mod state;

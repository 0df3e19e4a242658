//! A room over WebRTC: the pure room of `airbound-senders`, carried out on connections of str0m. Without sockets, threads or a clock of its
//! own: the caller passes datagrams and time, so that a test runs it in virtual time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use airbound_senders::conference::ClientId;
use airbound_senders::conference::room::{
    Action, Channel, Estimate, EstimateKind, Room, RoomConfig, RoomPolicy, Viewing,
};
use airbound_units::{BitRate, ConfigError, Instant as When};
use serde_json::{Value, json};
use str0m::bwe::{Bitrate, BweKind};
use str0m::change::{SdpAnswer, SdpOffer};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, IceConnectionState, Input, Output, Rtc};

use crate::message::Message;
use crate::offer::Feedback;
pub use crate::offer::OfferError;
use crate::peer::{Peer, TICK, Wanted};
use crate::records;

/// Upper limit of participants.
pub const MOST_MEMBERS: usize = 32;
/// Time in which a participant has to be connected after its offer.
const JOIN_DEADLINE: Duration = Duration::from_secs(15);
/// Time for which a seat of a full room is kept for a participant that has not connected.
const HALF_OPEN: Duration = Duration::from_secs(3);
/// Time after which OpenSSL repeats a first message of DTLS (RFC 6347 section 4.2.4.1).
const REPEAT: Duration = Duration::from_secs(1);
/// A record of DTLS of no version, which is dropped (RFC 6347 section 4.1.2.7).
const NO_RECORD: [u8; 13] = [22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// Interval at which losses, which str0m counts over a second, and estimates are looked at.
const STATS: Duration = TICK;
/// Part of the packets of a second whose loss says that a link is in trouble.
const LOSSES: f32 = 0.02;
/// Time for which a seat can be taken again.
const RESUME: Duration = Duration::from_secs(15);
/// Time for which a participant that does not answer keeps its seat beyond ICE's own time: a bad link may lose all checks, and comes back.
const GRACE: Duration = Duration::from_secs(10);
/// Messages that a client may send in an interval of 200 ms.
const MOST_MESSAGES: u32 = 20;
/// Lines of the log that are kept.
const LOG: usize = 100;
/// Multiple of the rate to be looked for that is tried: what a sender sends varies.
const TRIED: f64 = 1.15;
/// A client's claim counts up to this multiple of what was received from it.
const CLAIM: f64 = 4.0;
/// Largest rate that may be told, bit/s.
pub const MOST_RATE: u64 = 1_000_000_000_000;

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
    /// The offer cannot be answered.
    #[error("{0}")]
    Offer(OfferError),
    /// The seat is gone.
    #[error("this seat is gone: join again")]
    Gone,
}

/// The reason why a fragment of SDP is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PatchError {
    /// There is no such seat.
    #[error("this session is gone")]
    Gone,
    /// The client names no ICE session.
    #[error("If-Match is missing: it names the ETag of the ICE session, or *")]
    Untagged,
    /// The client means another ICE session.
    #[error("If-Match names another ICE session than the present one; * begins ICE anew")]
    Outdated,
    /// ICE cannot begin anew.
    #[error("{0}")]
    Restart(#[from] JoinError),
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
    /// Packets whose numbers could not be changed.
    refused: u64,
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
            refused: 0,
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

    /// Changes the policy.
    pub fn set_policy(&mut self, now: Instant, policy: RoomPolicy) {
        self.now = now;
        let config = RoomConfig { policy, ..*self.room.config() };
        if self.room.set_config(self.when(), config).is_ok() {
            let policy = policy.name();
            self.note(format!("the policy is now {policy}"));
        }
    }

    /// Takes the rate in bit/s that both directions of a member's link have together, as its station or its access point knows it, at most
    /// [`MOST_RATE`]; 0 for none. Its participant cannot say so itself: a wrong one would change what others send.
    pub fn set_channel(&mut self, now: Instant, member: u16, sum: u64) {
        self.now = now;
        let when = self.when();
        let channel = Channel { sum: BitRate::from_bps(sum.min(MOST_RATE)), at: when };
        self.room.on_channel(when, ClientId(member), Some(channel).filter(|_| sum > 0));
    }

    /// The same of the only member whose media come from one of these addresses; of none where several do, as behind one address translation.
    pub fn set_channel_at(&mut self, now: Instant, addresses: &[IpAddr], sum: u64) {
        let is_theirs =
            |from: &SocketAddr| addresses.iter().any(|one| one.to_canonical() == from.ip().to_canonical());
        let members = self.addresses.iter().filter(|(from, _)| is_theirs(from)).map(|(_, id)| *id);
        let members: BTreeSet<ClientId> = members.collect();
        if let (Some(member), 1) = (members.first(), members.len()) {
            self.set_channel(now, member.0, sum);
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
        let ears = self.peers.values_mut().flat_map(|peer| &mut peer.ears);
        ears.filter(|ear| ear.source == Some(id)).for_each(|ear| (ear.source, ear.stream) = (None, None));
        self.room.leave(self.when(), id);
    }

    /// Takes a datagram.
    pub fn receive(&mut self, now: Instant, source: SocketAddr, bytes: &[u8]) {
        self.now = now;
        self.received += 1;
        let Some(contents) = bytes.try_into().ok().filter(|_| records::are_whole(bytes)) else { return };
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
        let own = self.next_key().into_iter().fold(self.tick.min(room.max(self.now)), Instant::min);
        self.peers.values().map(|peer| peer.due).fold(own, Instant::min)
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
        if self.next_key().is_some_and(|at| at <= now) {
            self.ask_keys();
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
        let mut fresh = BTreeSet::new();
        loop {
            let Some((id, event)) = self.events.pop_front() else {
                // The sections of an offer are told after the handshake's end. The first picture does not wait for the interval's end.
                let Some(id) = fresh.pop_first() else { return };
                self.show(id);
                self.want(id);
                continue;
            };
            match event {
                Event::RtpPacket(packet) => self.on_packet(id, &packet),
                Event::MediaAdded(media) => {
                    if let Some(peer) = self.peers.get_mut(&id) {
                        peer.on_media(&media);
                        fresh.extend(peer.connected.then_some(id));
                    }
                }
                Event::Connected => {
                    if let Some(peer) = self.peers.get_mut(&id) {
                        peer.connected = true;
                    }
                    fresh.insert(id);
                }
                Event::ChannelOpen(channel, _) => {
                    if let Some(peer) = self.peers.get_mut(&id) {
                        peer.channel = Some(channel);
                    }
                }
                Event::ChannelData(data) => self.on_message(id, &data.data),
                Event::EgressBitrateEstimate(kind) => self.on_estimate(id, kind),
                Event::PeerStats(stats) => {
                    let Some(peer) = self.peers.get_mut(&id) else { continue };
                    if stats.egress_loss_fraction.is_some_and(|loss| loss > LOSSES) {
                        (peer.trouble, peer.losing) = (true, Some(self.now));
                    }
                    if let Some(round_trip) = stats.rtt {
                        peer.waiting.take(self.now, round_trip);
                    }
                    let Some(estimate) = stats.bwe_tx.map(|rate| rate.as_f64()) else { continue };
                    peer.fell |= peer.falls_to(estimate);
                    let own = peer.connected && peer.feedback == Feedback::TransportWide;
                    let latest = own && peer.takes_latest(self.now);
                    let (wanted, trouble) = (estimate < peer.desired, peer.loses(self.now) || peer.waits());
                    if own && peer.joining.take(self.now, estimate, wanted, trouble) {
                        self.begin_anew(id, estimate);
                    }
                    if latest {
                        self.take_estimate(id, estimate, false);
                    }
                    self.repair(id);
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
                        if state.is_connected() {
                            peer.reached.get_or_insert(now);
                        }
                        let lost = state == IceConnectionState::Disconnected;
                        peer.lost = lost.then(|| *peer.lost.get_or_insert(now));
                    }
                }
                _ => {}
            }
        }
    }

    /// Takes an estimate of a downlink: the room's own where the client reports each packet, else that of the client. The room's own is a mean of all
    /// changes in three seconds, for which a link that has become narrow would wait: where packets wait or are lost the statistics have the latest.
    fn on_estimate(&mut self, id: ClientId, kind: BweKind) {
        let now = self.now;
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let (estimate, remb) = match (kind, peer.feedback) {
            (BweKind::Twcc { estimate, .. }, Feedback::TransportWide) if !peer.takes_latest(now) => {
                (estimate.as_f64(), false)
            }
            (BweKind::Remb { estimate, mid }, Feedback::Remb) => {
                (peer.sum_rembs(now, mid, estimate.as_f64()), true)
            }
            _ => return,
        };
        self.take_estimate(id, estimate, remb);
    }

    fn take_estimate(&mut self, id: ClientId, estimate: f64, remb: bool) {
        let when = self.when();
        let Some(peer) = self.peers.get_mut(&id) else { return };
        // A client's estimate falls with what is sent, too.
        let sent = if remb { peer.sent.least() } else { peer.sent.rate() };
        let fell = peer.downlink.take(when, estimate, sent);
        if remb {
            self.try_next(id);
        }
        if fell {
            self.report_downlink(id);
        }
    }

    /// Tries the next layer on a downlink that only its client estimates: its estimate rises to a multiple of what arrives, and padding needs
    /// reports on each packet, so that the next layer is the probe. The trial ends when the estimate falls.
    fn try_next(&mut self, id: ClientId) {
        let now = self.when();
        let Some(peer) = self.peers.get_mut(&id) else { return };
        let tried = peer.probe.map_or(0.0, |rate| rate * TRIED);
        peer.trial = if peer.downlink.is_full(now) { 0.0 } else { peer.trial.max(tried) };
    }

    fn report_downlink(&mut self, id: ClientId) {
        let when = self.when();
        let scalable = self.scalable();
        let Some(peer) = self.peers.get(&id) else { return };
        if peer.downlink.rate() > 0.0 {
            // Sound goes first: pictures share what it leaves.
            let watches = peer.slots.iter().any(|slot| slot.source.is_some_and(|id| scalable.contains(&id)));
            let left = peer.drained(when).filter(|_| watches);
            let known = (peer.downlink.rate() * left.unwrap_or(1.0)).max(peer.trial);
            let rate = BitRate::from_bps_f64((known - peer.sound.rate()).max(0.0));
            let kind = peer.downlink.kind(when, peer.sent.rate());
            let kind = left.map_or(kind, |_| EstimateKind::AtLeast);
            self.room.on_downlink(when, id, Estimate { rate, kind, at: when });
        }
    }

    fn on_message(&mut self, id: ClientId, bytes: &[u8]) {
        let when = self.when();
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
            Some(Message::Floor { rate }) if rate <= MOST_RATE => {
                self.room.on_floor(when, id, Some(BitRate::from_bps(rate)));
            }
            Some(Message::Leave {}) => self.part(id, "left"),
            Some(Message::Up { .. } | Message::Floor { .. }) | None => {}
        }
    }
}

mod decide;
mod media;
mod scalable;
mod seats;
mod state;

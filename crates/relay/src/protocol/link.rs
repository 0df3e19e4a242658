//! One end's view of its peer: sessions, address, path MTU, halves. Both ends have the same.

use core::net::SocketAddr;

use airbound_units::{Instant, Span};

use super::entropy::Entropy;
use super::halves::Halves;
use super::mtu::MtuSearch;
use super::path::Path;
use super::session::{Refusal, Session};
use super::wire::{FIRST_HALF, HEADER, Header, Kind, SECOND_HALF, part};

/// Time for which packets under older keys are taken: what is on its way when keys change.
const OVERLAP: Span = Span::from_secs(5);
/// Shortest probe: its echo is not longer.
pub(super) const PROBE: usize = HEADER + 10;

/// A datagram to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transmit {
    /// The receiver's address.
    pub to: SocketAddr,
    /// The payload of UDP.
    pub bytes: Vec<u8>,
    /// The time when it is to leave, for a kernel that holds it until then; `None` for at once.
    pub leaves: Option<Instant>,
}

impl Transmit {
    /// A datagram that is sent at once.
    #[must_use]
    pub const fn now(to: SocketAddr, bytes: Vec<u8>) -> Self {
        Self { to, bytes, leaves: None }
    }
}

/// A peer.
#[derive(Debug, Clone)]
pub(super) struct Link {
    current: Session,
    previous: Option<(Session, Instant)>,
    sequence: u64,
    pub(super) path: Path,
    mtu: MtuSearch,
    halves: Halves,
    /// Time of the last authenticated packet.
    pub(super) heard: Instant,
}

/// Results of an echo.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) proven: bool,
    pub(super) mtu: bool,
}

impl Link {
    pub(super) fn new(now: Instant, session: Session, path: Path, largest: u16) -> Self {
        Self {
            current: session,
            previous: None,
            sequence: 0,
            path,
            mtu: MtuSearch::new(now, largest),
            halves: Halves::default(),
            heard: now,
        }
    }

    /// Takes the keys of a further handshake. Returns the number of the session that they end.
    pub(super) fn replace(&mut self, now: Instant, session: Session) -> Option<u32> {
        let before = std::mem::replace(&mut self.current, session);
        self.previous.replace((before, now + OVERLAP)).map(|(session, _)| session.id)
    }

    /// The keys in force.
    pub(super) const fn session(&self) -> &Session {
        &self.current
    }

    /// The numbers of all sessions under which packets are taken.
    pub(super) fn sessions(&self) -> impl Iterator<Item = u32> {
        let previous = self.previous.as_ref().map(|(session, _)| session.id);
        std::iter::once(self.current.id).chain(previous)
    }

    /// Ends older keys. Returns the number of their session.
    pub(super) fn expire(&mut self, now: Instant) -> Option<u32> {
        self.previous.take_if(|(_, until)| *until <= now).map(|(session, _)| session.id)
    }

    /// Checks a packet, under the keys that it names.
    pub(super) fn open(&mut self, header: &Header, packet: &[u8]) -> Result<bool, Refusal> {
        if header.session == self.current.id {
            return self.current.open(header, packet);
        }
        match &mut self.previous {
            // A packet under older keys says nothing about where the peer is now.
            Some((session, _)) if session.id == header.session => session.open(header, packet).map(|_| false),
            _ => Err(Refusal::Forged),
        }
    }

    /// Takes an authenticated packet. Returns the address that its sender has left.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        from: SocketAddr,
        length: usize,
        newest: bool,
        entropy: &mut Entropy,
    ) -> Option<SocketAddr> {
        self.heard = now;
        self.mtu.on_heard(now);
        self.path.on_packet(now, from, length, newest, || entropy.number())
    }

    /// Writes header and tag of a packet whose payload stands behind the header's place.
    pub(super) fn seal(&mut self, now: Instant, kind: Kind, flags: u16, packet: &mut [u8]) {
        self.current.seal(now, kind, flags, self.sequence, packet);
        self.sequence += 1;
        self.path.on_sent(packet.len());
    }

    /// Largest payload of one packet.
    pub(super) fn payload(&self) -> usize {
        usize::from(self.mtu.size()) - HEADER
    }

    /// The size of datagrams in force.
    pub(super) const fn mtu(&self) -> u16 {
        self.mtu.size()
    }

    /// The datagram of an opened packet of data, `None` for half of one.
    pub(super) fn datagram<'a>(&'a mut self, header: &Header, packet: &'a [u8]) -> Option<&'a [u8]> {
        let payload = packet.get(HEADER..)?;
        match header.flags {
            FIRST_HALF => self.halves.join(header.sequence, true, payload),
            SECOND_HALF => self.halves.join(header.sequence, false, payload),
            _ => Some(payload),
        }
    }

    /// Takes an echo.
    pub(super) fn on_echo(&mut self, now: Instant, from: SocketAddr, packet: &[u8]) -> Shown {
        let token = u64::from_be_bytes(part(packet, HEADER));
        Shown { proven: self.path.on_echo(from, token), mtu: self.mtu.on_echo(now, token) }
    }

    /// A probe of `size` bytes.
    pub(super) fn probe(&mut self, now: Instant, size: usize, token: u64) -> Vec<u8> {
        let mut packet = vec![0; size.max(PROBE)];
        packet[HEADER..HEADER + 8].copy_from_slice(&token.to_be_bytes());
        self.seal(now, Kind::Probe, 0, &mut packet);
        packet
    }

    /// The echo of a probe; `None` for a probe that is too short, or an address that may not be sent to.
    pub(super) fn echo(&mut self, now: Instant, probe: &[u8]) -> Option<Vec<u8>> {
        if probe.len() < PROBE || !self.path.may_send(PROBE) {
            return None;
        }
        let mut packet = vec![0; PROBE];
        packet[HEADER..HEADER + 8].copy_from_slice(&part::<8>(probe, HEADER));
        self.seal(now, Kind::Echo, 0, &mut packet);
        Some(packet)
    }

    /// Probes that are due.
    pub(super) fn probes(&mut self, now: Instant, entropy: &mut Entropy) -> impl Iterator<Item = Vec<u8>> {
        let challenge = if self.path.may_send(PROBE) { self.path.challenge(now) } else { None };
        let challenge = challenge.map(|token| self.probe(now, PROBE, token));
        // The path's MTU is sought once it is known to lead to the peer.
        let size = if self.path.is_proven() { self.mtu.poll(now, || entropy.number()) } else { None };
        let search = size.map(|(size, token)| self.probe(now, usize::from(size), token));
        challenge.into_iter().chain(search)
    }
}

/// The parts in which a datagram travels, with their flags; `None` if it is too large for two.
pub(super) fn parts(datagram: &[u8], largest: usize) -> Option<impl Iterator<Item = (u16, &[u8])>> {
    let (first, second) = if datagram.len() <= largest {
        ((0, datagram), None)
    } else {
        let (first, second) = datagram.split_at(datagram.len().div_ceil(2));
        if first.len() > largest {
            return None;
        }
        ((FIRST_HALF, first), Some((SECOND_HALF, second)))
    };
    Some(std::iter::once(first).chain(second))
}

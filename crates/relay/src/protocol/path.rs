//! The peer's address. A packet that is authenticated and the newest may come from another one, since a NAT has bound its sender anew: that
//! is adopted, and until an echo has come back from there, at most three times the bytes received from it are sent to it (RFC 9000,
//! section 8.1): it may be that of a victim.

use core::net::SocketAddr;

use airbound_units::{Instant, Span};

/// Bytes sent to an address for each byte received from it, before it is proven.
const AMPLIFICATION: u64 = 3;
/// Time after which an unanswered challenge is sent again.
const AGAIN: Span = Span::from_millis(100);

/// A peer's address.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) address: SocketAddr,
    /// The last proven address.
    proven: Option<SocketAddr>,
    received: u64,
    sent: u64,
    token: u64,
    challenge_at: Option<Instant>,
}

impl Path {
    /// A path whose address a handshake has proven.
    pub(super) const fn proven(address: SocketAddr) -> Self {
        Self { address, proven: Some(address), received: 0, sent: 0, token: 0, challenge_at: None }
    }

    /// A path to the sender of an authenticated packet that may be a copy of the peer's; `received` bytes of it are counted.
    pub(super) const fn claimed(now: Instant, address: SocketAddr, received: usize, token: u64) -> Self {
        let received = received as u64;
        Self { address, proven: None, received, sent: 0, token, challenge_at: Some(now) }
    }

    pub(super) fn is_proven(&self) -> bool {
        self.proven == Some(self.address)
    }

    /// Takes an authenticated packet. Returns the address left behind, if it came from another; `token` is that of the challenge then.
    pub(super) fn on_packet(
        &mut self,
        now: Instant,
        from: SocketAddr,
        length: usize,
        newest: bool,
        token: impl FnOnce() -> u64,
    ) -> Option<SocketAddr> {
        if from == self.address {
            self.received += length as u64;
            return None;
        }
        if !newest {
            return None;
        }
        let before = std::mem::replace(&mut self.address, from);
        (self.received, self.sent, self.token) = (length as u64, 0, token());
        self.challenge_at = (!self.is_proven()).then_some(now);
        Some(before)
    }

    /// Takes an echo. Returns whether it proves the address.
    pub(super) fn on_echo(&mut self, from: SocketAddr, token: u64) -> bool {
        let proves = !self.is_proven() && from == self.address && token == self.token;
        if proves {
            (self.proven, self.challenge_at) = (Some(from), None);
        }
        proves
    }

    /// Whether so many bytes may be sent to the address now.
    pub(super) fn may_send(&self, length: usize) -> bool {
        self.is_proven() || self.sent + length as u64 <= AMPLIFICATION * self.received
    }

    pub(super) fn on_sent(&mut self, length: usize) {
        self.sent += length as u64;
    }

    /// The token of a challenge that is due.
    pub(super) fn challenge(&mut self, now: Instant) -> Option<u64> {
        let due = self.challenge_at.is_some_and(|at| at <= now);
        due.then(|| {
            self.challenge_at = Some(now + AGAIN);
            self.token
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[test]
    fn a_new_address_needs_the_newest_packet_and_an_echo() {
        let mut path = Path::proven(address(1));
        assert!(path.may_send(1_000_000));
        assert_eq!(path.on_packet(Instant::ZERO, address(2), 100, false, || 7), None);
        assert_eq!(path.address, address(1), "an old packet proves nothing");
        assert_eq!(path.on_packet(Instant::ZERO, address(2), 100, true, || 7), Some(address(1)));
        assert!(path.may_send(300) && !path.may_send(301));
        path.on_sent(250);
        assert!(path.may_send(50) && !path.may_send(51));
        assert_eq!(path.challenge(Instant::ZERO), Some(7));
        assert_eq!(path.challenge(Instant::ZERO), None);
        assert!(!path.on_echo(address(1), 7) && !path.on_echo(address(2), 8));
        assert!(path.on_echo(address(2), 7) && path.may_send(1_000_000));
    }

    #[test]
    fn the_way_back_to_a_proven_address_needs_no_echo() {
        let mut path = Path::proven(address(1));
        path.on_packet(Instant::ZERO, address(2), 100, true, || 7);
        path.on_packet(Instant::ZERO, address(1), 100, true, || 8);
        assert!(path.is_proven());
    }
}

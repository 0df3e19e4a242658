//! A session: the keys of one handshake, and the replay window of what was received under them.

use airbound_units::Instant;

use super::key::Key;
use super::replay::ReplayWindow;
use super::wire::{Header, Kind, put_tag, tag_of};

/// The reason why a packet of a session is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It was received before, or is older than the window.
    Replayed,
    /// Its tag or epoch is wrong.
    Forged,
}

/// The keys of one handshake.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) id: u32,
    pub(super) epoch: u8,
    send: Key,
    receive: Key,
    window: ReplayWindow,
}

impl Session {
    pub(super) fn new(id: u32, epoch: u8, send: Key, receive: Key) -> Self {
        Self { id, epoch, send, receive, window: ReplayWindow::default() }
    }

    /// Writes header and tag of a packet whose payload stands behind the header's place.
    pub(super) fn seal(&self, now: Instant, kind: Kind, flags: u16, sequence: u64, packet: &mut [u8]) {
        let (epoch, session) = (self.epoch, self.id);
        Header { kind, epoch, flags, session, sequence, sent: sent_at(now) }.write(packet);
        let tag = self.send.tag(packet, &[]);
        put_tag(packet, tag);
    }

    /// Checks a packet. Returns whether it is the newest.
    pub(super) fn open(&mut self, header: &Header, packet: &[u8]) -> Result<bool, Refusal> {
        if !self.window.is_new(header.sequence) {
            return Err(Refusal::Replayed);
        }
        if header.epoch != self.epoch || tag_of(packet) != Some(self.receive.tag(packet, &[])) {
            return Err(Refusal::Forged);
        }
        Ok(self.window.note(header.sequence))
    }
}

/// A time as the header has it.
pub(super) fn sent_at(now: Instant) -> u32 {
    (now.as_nanos() / 1000) as u32
}

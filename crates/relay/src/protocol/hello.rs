//! The handshake: a hello of 1200 B, and its shorter answer. Both are authenticated by the key of the client, the answer also by the nonce
//! of the hello. Session keys depend on both nonces, so that neither message can be used again.

use super::key::{Key, KeyId};
use super::session::Session;
use super::wire::{HEADER, Header, Kind, RESUMES, part, put_tag, tag_of};

/// Length of a hello: as long as any path has to carry, so that the answer is shorter whoever asks, and a path that carries less is known.
pub const HELLO_LENGTH: usize = 1200;
/// Length of an answer.
pub(super) const ANSWER_LENGTH: usize = HEADER + 20;

/// The client's first message: key id (8 B), nonce (16 B), zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// The epoch of the key, 0 to 15.
    pub epoch: u8,
    /// Whether the client has the state of an earlier session.
    pub resumes: bool,
    /// The client's time in us since 1970: a later hello has a higher one.
    pub time: u64,
    /// The name of the key.
    pub key: KeyId,
    /// Random bytes.
    pub nonce: [u8; 16],
}

impl Hello {
    /// Encodes and signs the message.
    #[must_use]
    pub fn encode(&self, key: &Key, sent: u32) -> Vec<u8> {
        let mut packet = vec![0; HELLO_LENGTH];
        let flags = if self.resumes { RESUMES } else { 0 };
        Header { kind: Kind::Hello, epoch: self.epoch, flags, session: 0, sequence: self.time, sent }
            .write(&mut packet);
        packet[HEADER..HEADER + 8].copy_from_slice(&self.key.to_be_bytes());
        packet[HEADER + 8..HEADER + 24].copy_from_slice(&self.nonce);
        let tag = key.tag(&packet, &[]);
        put_tag(&mut packet, tag);
        packet
    }

    /// Reads a message whose tag is to be checked by [`Self::is_of`]; `None` if it is none.
    #[must_use]
    pub fn read(packet: &[u8]) -> Option<Self> {
        let header = Header::read(packet)?;
        let valid = header.kind == Kind::Hello && packet.len() == HELLO_LENGTH && header.session == 0;
        valid.then(|| Self {
            epoch: header.epoch,
            resumes: header.flags & RESUMES != 0,
            time: header.sequence,
            key: u64::from_be_bytes(part(packet, HEADER)),
            nonce: part(packet, HEADER + 8),
        })
    }

    /// Whether a packet was signed with a key.
    #[must_use]
    pub fn is_of(packet: &[u8], key: &Key) -> bool {
        tag_of(packet) == Some(key.tag(packet, &[]))
    }
}

/// The edge's answer: nonce (16 B), number of the receiver (2 B), interval of reports in ms (2 B).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The epoch of the key, 0 to 15.
    pub epoch: u8,
    /// Whether the edge goes on with the state of an earlier session.
    pub resumes: bool,
    /// The number of the session.
    pub session: u32,
    /// The time of the hello.
    pub time: u64,
    /// Random bytes.
    pub nonce: [u8; 16],
    /// The number of the client in its reports.
    pub receiver: u16,
    /// Interval of reports in ms.
    pub interval: u16,
}

impl Answer {
    /// Encodes and signs the message for the hello with this nonce.
    #[must_use]
    pub fn encode(&self, key: &Key, hello_nonce: &[u8; 16], sent: u32) -> Vec<u8> {
        let mut packet = vec![0; ANSWER_LENGTH];
        let flags = if self.resumes { RESUMES } else { 0 };
        let (epoch, session, sequence) = (self.epoch, self.session, self.time);
        Header { kind: Kind::Answer, epoch, flags, session, sequence, sent }.write(&mut packet);
        packet[HEADER..HEADER + 16].copy_from_slice(&self.nonce);
        packet[HEADER + 16..HEADER + 18].copy_from_slice(&self.receiver.to_be_bytes());
        packet[HEADER + 18..HEADER + 20].copy_from_slice(&self.interval.to_be_bytes());
        let tag = key.tag(&packet, hello_nonce);
        put_tag(&mut packet, tag);
        packet
    }

    /// Reads the answer to the hello with this nonce; `None` if it is none, or not signed with the key.
    #[must_use]
    pub fn decode(packet: &[u8], key: &Key, hello_nonce: &[u8; 16]) -> Option<Self> {
        let header = Header::read(packet)?;
        let valid = header.kind == Kind::Answer
            && packet.len() == ANSWER_LENGTH
            && tag_of(packet) == Some(key.tag(packet, hello_nonce));
        valid.then(|| Self {
            epoch: header.epoch,
            resumes: header.flags & RESUMES != 0,
            session: header.session,
            time: header.sequence,
            nonce: part(packet, HEADER),
            receiver: u16::from_be_bytes(part(packet, HEADER + 16)),
            interval: u16::from_be_bytes(part(packet, HEADER + 18)),
        })
    }
}

/// An end of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Edge,
    Client,
}

/// The session of a handshake, as `end` has it.
pub(super) fn session_of(end: End, key: &Key, hello: &Hello, answer: &Answer) -> Session {
    let context: [&[u8]; 3] = [&hello.nonce, &answer.nonce, &answer.session.to_be_bytes()];
    let (up, down) = (key.derive(b"up", &context), key.derive(b"dn", &context));
    match end {
        End::Edge => Session::new(answer.session, answer.epoch, down, up),
        End::Client => Session::new(answer.session, answer.epoch, up, down),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> Hello {
        Hello { epoch: 3, resumes: true, time: 77, key: Key::new([5; 16]).id(), nonce: [9; 16] }
    }

    #[test]
    fn both_messages_come_back_as_they_were_and_each_changed_byte_is_seen() {
        let key = Key::new([5; 16]);
        let packet = hello().encode(&key, 1);
        assert_eq!(Hello::read(&packet), Some(hello()));
        let answer = Answer {
            epoch: 3,
            resumes: false,
            session: 12,
            time: 77,
            nonce: [4; 16],
            receiver: 199,
            interval: 100,
        };
        let reply = answer.encode(&key, &hello().nonce, 2);
        assert!(reply.len() < packet.len());
        assert_eq!(Answer::decode(&reply, &key, &hello().nonce), Some(answer));
        assert_eq!(Answer::decode(&reply, &key, &[8; 16]), None, "of another hello");
        for at in 0..packet.len() {
            let mut changed = packet.clone();
            changed[at] ^= 0x10;
            assert!(!Hello::is_of(&changed, &key), "byte {at}");
        }
        for at in 0..reply.len() {
            let mut changed = reply.clone();
            changed[at] ^= 0x10;
            assert_eq!(Answer::decode(&changed, &key, &hello().nonce), None, "byte {at}");
        }
    }
}

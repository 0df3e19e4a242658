//! The message of a receiver to its sender.

use std::hash::Hasher;

use airbound_units::Span;
use siphasher::sip::SipHasher24;

use super::absence::Absence;
use super::demand::Sample;
use super::error::Refusal;
use crate::allocation::{ReceiverId, Report};

/// Length of feedback.
pub const FEEDBACK_LENGTH: usize = 64;
const VERSION: u8 = 3;
/// The slot holds an absence of the radio.
const DISTURBED: u8 = 1;
/// Bytes before the tag.
const SIGNED: usize = FEEDBACK_LENGTH - 8;
/// Bytes of an allocation's report that are taken over as they are: from its number to its missing packets.
const BODY: std::ops::Range<usize> = 2..42;
/// The companions within a report.
const COMPANIONS: std::ops::Range<usize> = 48..50;

/// Measurements of a receiver over one slot.
///
/// On the wire all numbers are big-endian: version (1 B, 3), flags (1 B: 1 if an absence of the radio lies in the slot), receiver (2),
/// the fields of a [`Report`] from its number to its missing packets (40), companions (2), period of absences in ms (2, 0 for none),
/// their mean length in ms (2), low bits of a packet's sequence number (4), its arrival in 0.1 ms (2), and the SipHash-2-4 of all these under the receiver's key (8).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Feedback {
    /// The receiver that made it.
    pub receiver: ReceiverId,
    /// Frames, packets and losses of the slot.
    pub report: Report,
    /// Absences of the radio at a steady period; `None` if there are none.
    pub absence: Option<Absence>,
    /// The packet after the longest pause of the slot.
    pub sample: Sample,
    /// Whether an absence lies in the slot, so that its frames hold what waited meanwhile.
    pub disturbed: bool,
}

impl Feedback {
    /// Encodes and signs the message. A value too large for its field is written as the field's largest value.
    #[must_use]
    pub fn encode(&self, key: &[u8; 16]) -> [u8; FEEDBACK_LENGTH] {
        let report = self.report.encode();
        let millis = |span: Span| u16::try_from(span.as_millis()).unwrap_or(u16::MAX).to_be_bytes();
        let (period, length) =
            self.absence.map_or((Span::ZERO, Span::ZERO), |absence| (absence.period, absence.length));
        let mut bytes = [0; FEEDBACK_LENGTH];
        let mut at = 0;
        let mut put = |field: &[u8]| {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        };
        put(&[VERSION, if self.disturbed { DISTURBED } else { 0 }]);
        put(&self.receiver.0.to_be_bytes());
        put(&report[BODY]);
        put(&report[COMPANIONS]);
        put(&millis(period));
        put(&millis(length));
        put(&self.sample.sequence.to_be_bytes());
        put(&self.sample.stamp.to_be_bytes());
        let tag = tag(&bytes[..SIGNED], key);
        bytes[SIGNED..].copy_from_slice(&tag.to_be_bytes());
        bytes
    }

    /// The receiver that a message names, to look for its key.
    ///
    /// # Errors
    /// [`Refusal`] if the bytes are no message of this version.
    pub fn receiver_of(bytes: &[u8]) -> Result<ReceiverId, Refusal> {
        if bytes.len() != FEEDBACK_LENGTH {
            return Err(Refusal::Length);
        }
        if bytes[0] != VERSION || bytes[1] & !DISTURBED != 0 {
            return Err(Refusal::Version);
        }
        Ok(ReceiverId(u16::from_be_bytes([bytes[2], bytes[3]])))
    }

    /// Decodes a message from an untrusted source.
    ///
    /// # Errors
    /// [`Refusal`] if the bytes are no message of this version, were not made with `key`, or have values that no receiver measures.
    pub fn decode(bytes: &[u8], key: &[u8; 16]) -> Result<Self, Refusal> {
        let receiver = Self::receiver_of(bytes)?;
        let made = bytes.last_chunk().map(|tag| u64::from_be_bytes(*tag));
        // One comparison of one number: its time tells nothing about the tag.
        if made != Some(tag(&bytes[..SIGNED], key)) {
            return Err(Refusal::Forged);
        }
        let mut report = [0; COMPANIONS.end];
        report[0] = 1;
        report[BODY].copy_from_slice(&bytes[4..44]);
        report[COMPANIONS].copy_from_slice(&bytes[44..46]);
        let report = Report::decode(&report).map_err(|_| Refusal::Impossible)?;
        let millis = |at: usize| Span::from_millis(u64::from(u16::from_be_bytes([bytes[at], bytes[at + 1]])));
        let (period, length) = (millis(46), millis(48));
        if length > period {
            return Err(Refusal::Impossible);
        }
        let absence = (!period.is_zero()).then_some(Absence { period, length });
        let sequence = u32::from_be_bytes([bytes[50], bytes[51], bytes[52], bytes[53]]);
        let sample = Sample { sequence, stamp: u16::from_be_bytes([bytes[54], bytes[55]]) };
        Ok(Self { receiver, report, absence, sample, disturbed: bytes[1] & DISTURBED != 0 })
    }
}

fn tag(bytes: &[u8], key: &[u8; 16]) -> u64 {
    let mut hasher = SipHasher24::new_with_key(key);
    hasher.write(bytes);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use airbound_units::{BitRate, ByteCount};

    use super::*;

    fn feedback() -> Feedback {
        let report = Report {
            number: 9,
            slot: Span::from_millis(100),
            frames: 10,
            packets: 320,
            transmissions: 320,
            payload: ByteCount::new(384_000),
            phy_rate: Some(BitRate::from_mbps(780)),
            companions: 1.5,
            ..Report::default()
        };
        let absence = Some(Absence { period: Span::from_millis(512), length: Span::from_millis(64) });
        Feedback {
            receiver: ReceiverId(513),
            report,
            absence,
            sample: Sample { sequence: 77_000, stamp: 65_000 },
            disturbed: true,
        }
    }

    #[test]
    fn a_message_comes_back_as_it_was() {
        let key = [3; 16];
        let bytes = feedback().encode(&key);
        assert_eq!(Feedback::decode(&bytes, &key), Ok(feedback()));
        assert_eq!(Feedback::receiver_of(&bytes), Ok(ReceiverId(513)));
    }

    #[test]
    fn each_changed_bit_is_seen() {
        let key = [3; 16];
        let bytes = feedback().encode(&key);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Feedback::decode(&changed, &key).is_err(), "bit {bit}");
        }
        assert_eq!(Feedback::decode(&bytes, &[4; 16]), Err(Refusal::Forged));
        assert_eq!(Feedback::decode(&bytes[1..], &key), Err(Refusal::Length));
    }

    #[test]
    fn impossible_values_are_refused_though_signed() {
        let mut wrong = feedback();
        wrong.report.transmissions = 1_000_000;
        assert_eq!(Feedback::decode(&wrong.encode(&[0; 16]), &[0; 16]), Err(Refusal::Impossible));
        let mut wrong = feedback();
        wrong.absence = Some(Absence { period: Span::from_millis(5), length: Span::from_millis(6) });
        assert_eq!(Feedback::decode(&wrong.encode(&[0; 16]), &[0; 16]), Err(Refusal::Impossible));
    }
}

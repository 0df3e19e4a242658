//! Equipment and counts of synthetic participants, and the numbers of what they receive.

use std::collections::BTreeMap;

/// Equipment of a synthetic participant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equipment {
    /// Bitrate of its camera at best, bit/s.
    pub camera: f64,
    /// Sections on which it watches.
    pub slots: usize,
    /// Sections on which it hears; 0 for none, and no microphone.
    pub ears: usize,
    /// Whether it has this room's data channel: one without, as a foreign client, is held by REMB.
    pub channel: bool,
}

/// Counts of a synthetic participant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes of video received.
    pub received: u64,
    /// Packets of video received.
    pub packets: u64,
    /// Bytes of video sent.
    pub sent: u64,
    /// Bytes of padding sent beside it.
    pub padded: u64,
    /// Packets of sound sent.
    pub spoken: u64,
    /// Packets of sound received.
    pub heard: u64,
    /// Packets of sound that are missing by the sequence numbers of those received (RFC 3550 section 6.4.1).
    pub missed: u64,
    /// Packets of sound whose timestamp contradicts the order of the sequence numbers.
    pub disordered: u64,
    /// Pictures whose id does not follow on the one before.
    pub breaks: u64,
    /// Notices followed.
    pub notices: u64,
    /// REMBs followed.
    pub rembs: u64,
    /// Key frames asked of it.
    pub keys: u64,
    /// Views with at least one reason.
    pub reasons: u64,
}

/// The numbers of the packets of one section.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    first: Option<u64>,
    latest: u64,
    count: u64,
    /// Timestamps of the latest packets by their sequence numbers.
    recent: BTreeMap<u64, u32>,
    picture: Option<(u64, u16)>,
}

impl Numbers {
    /// Takes a packet of sound; returns the number of its neighbours with a timestamp of the wrong side.
    pub(super) fn hear(&mut self, sequence: u64, timestamp: u32) -> u64 {
        self.first = Some(self.first.map_or(sequence, |first| first.min(sequence)));
        (self.latest, self.count) = (self.latest.max(sequence), self.count + 1);
        let after = |one: u32, other: u32| (one.wrapping_sub(other) as i32) > 0;
        let before = self.recent.range(..sequence).next_back().is_some_and(|(_, at)| !after(timestamp, *at));
        let behind = self.recent.range(sequence + 1..).next().is_some_and(|(_, at)| !after(*at, timestamp));
        self.recent.insert(sequence, timestamp);
        if self.recent.len() > 64 {
            self.recent.pop_first();
        }
        u64::from(before) + u64::from(behind)
    }

    pub(super) fn missed(&self) -> u64 {
        self.first.map_or(0, |first| (self.latest - first + 1).saturating_sub(self.count))
    }

    /// Takes a packet of a picture of an id of 15 bits; returns 1 if the id does not follow on that of the packet before.
    pub(super) fn see(&mut self, sequence: u64, picture: u16) -> u64 {
        let follows = |(number, id): (u64, u16)| {
            number + 1 != sequence || picture == id || picture == (id + 1) & 0x7fff
        };
        let breaks = self.picture.is_some_and(|before| !follows(before));
        self.picture = Some((sequence, picture));
        u64::from(breaks)
    }
}

//! Departures as they were recorded.

use std::sync::Arc;

use airbound_units::{BitRate, ByteCount, Instant, Span};

/// Packets of a flow at recorded times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// Time after the first packet, and length of the IP packet; in order of time.
    packets: Vec<(Span, ByteCount)>,
    /// Time from the first packet to that of the next round.
    period: Span,
}

impl Recording {
    /// Packets by time, from any origin, and length from the IP header on; `None` without any, or if a time is before the one in front of it.
    ///
    /// A round ends a mean distance of packets after the last one; that of a single packet lasts a second.
    #[must_use]
    pub fn new(packets: Vec<(Span, ByteCount)>) -> Option<Self> {
        let (first, last) = (packets.first()?.0, packets.last()?.0);
        if packets.is_sorted_by_key(|(at, _)| *at) {
            let length = last - first;
            let gap = if length.is_zero() { Span::from_secs(1) } else { length / (packets.len() as u64 - 1) };
            let packets = packets.into_iter().map(|(at, size)| (at - first, size)).collect();
            Some(Self { packets, period: length + gap })
        } else {
            None
        }
    }

    /// Number of packets, at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    pub const fn len(&self) -> usize {
        self.packets.len()
    }

    /// Time of a round.
    #[must_use]
    pub const fn period(&self) -> Span {
        self.period
    }

    /// The largest packet.
    #[must_use]
    pub fn largest(&self) -> ByteCount {
        self.packets.iter().map(|(_, size)| *size).max().unwrap_or_default()
    }

    /// Mean rate of its packets.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        BitRate::of(self.packets.iter().map(|(_, size)| *size).sum(), self.period)
    }
}

/// A recording that is being sent.
#[derive(Debug, Clone)]
pub struct Replay {
    recording: Arc<Recording>,
    repeat: bool,
    /// Start of the present round, and the number in it of the next packet.
    begin: Instant,
    place: usize,
}

impl Replay {
    /// Sends a recording from `begin` on, once or again and again.
    #[must_use]
    pub const fn new(recording: Arc<Recording>, begin: Instant, repeat: bool) -> Self {
        Self { recording, repeat, begin, place: 0 }
    }

    /// The size of the next packet, and the time of the one after it; [`Instant::MAX`] for none.
    pub(crate) fn send(&mut self) -> (ByteCount, Instant) {
        let packets = &self.recording.packets;
        let size = packets.get(self.place).map_or(ByteCount::ZERO, |(_, size)| *size);
        self.place += 1;
        if self.place >= packets.len() && self.repeat {
            (self.place, self.begin) = (0, self.begin + self.recording.period);
        }
        (size, packets.get(self.place).map_or(Instant::MAX, |(at, _)| self.begin + *at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Rhythm, Source};

    fn recording(packets: &[(u64, u64)]) -> Option<Recording> {
        let packets = packets.iter().map(|(at, size)| (Span::from_millis(*at), ByteCount::new(*size)));
        Recording::new(packets.collect())
    }

    #[test]
    fn packets_leave_as_recorded_again_and_again() {
        let recording = Arc::new(recording(&[(100, 1500), (100, 60), (120, 400)]).expect("in order"));
        assert_eq!((recording.period(), recording.largest()), (Span::from_millis(30), ByteCount::new(1500)));
        let sent = |repeat| {
            let replay = Replay::new(Arc::clone(&recording), Instant::ZERO, repeat);
            let stop = Instant::ZERO + Span::from_millis(50);
            let source = Source::new(ByteCount::ZERO, Instant::ZERO, stop, Rhythm::Replay(replay));
            source.map(|one| (one.at.as_nanos() / 1_000_000, one.size.as_u64())).collect::<Vec<_>>()
        };
        let once = vec![(0, 1500), (0, 60), (20, 400)];
        assert_eq!(sent(false), once);
        assert_eq!(sent(true), [once, vec![(30, 1500), (30, 60)]].concat());
    }

    #[test]
    fn what_is_empty_or_not_in_order_is_none() {
        assert_eq!((recording(&[]), recording(&[(1, 60), (0, 60)])), (None, None));
        assert_eq!(recording(&[(5, 60)]).map(|one| one.period()), Some(Span::from_secs(1)));
    }
}

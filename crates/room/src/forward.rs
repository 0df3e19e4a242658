//! The stream that leaves on a viewer's slot: one continuous VP8 stream, whatever layers of whatever sources enter.

use std::time::Instant;

use str0m::rtp::Vp8Descriptor;

/// Frequency of RTP timestamps of video, Hz.
const CLOCK: f64 = 90_000.0;
/// Gap between the timestamps of two sources where no time of the last packet is known: a frame at 30 fps.
const FRAME_GAP: u32 = 3000;

/// An arriving packet of one layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) sequence: u64,
    pub(crate) timestamp: u32,
    pub(crate) at: Instant,
    pub(crate) descriptor: Vp8Descriptor,
    /// It begins a key frame.
    pub(crate) key: bool,
}

/// The numbers under which a packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Departure {
    pub(crate) sequence: u64,
    pub(crate) timestamp: u32,
    pub(crate) picture: Option<u16>,
    pub(crate) base_layer: Option<u8>,
}

/// Offsets from the numbers of the layer that enters to those of the stream that leaves.
#[derive(Debug, Clone, Copy)]
struct Offsets {
    sequence: i64,
    timestamp: u32,
    picture: u16,
    base_layer: u8,
    /// The first forwarded sequence number: older packets belong to what was before.
    first: u64,
}

/// The continuity of one slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Continuity {
    last: Departure,
    at: Option<Instant>,
    offsets: Option<Offsets>,
}

impl Default for Continuity {
    fn default() -> Self {
        let last = Departure { sequence: 999, timestamp: 0, picture: Some(0), base_layer: Some(0) };
        Self { last, at: None, offsets: None }
    }
}

impl Continuity {
    /// Ends the present layer: nothing leaves until [`Self::switch`].
    pub(crate) fn stop(&mut self) {
        self.offsets = None;
    }

    /// Starts to forward another layer with the packet that begins its key frame.
    pub(crate) fn switch(&mut self, arrival: &Arrival) {
        let gap = self
            .at
            .map_or(FRAME_GAP, |at| (arrival.at.saturating_duration_since(at).as_secs_f64() * CLOCK) as u32);
        let next = |last: Option<u16>| last.unwrap_or(0).wrapping_add(1);
        self.offsets = Some(Offsets {
            sequence: self.last.sequence as i64 + 1 - arrival.sequence as i64,
            timestamp: self.last.timestamp.wrapping_add(gap.max(1)).wrapping_sub(arrival.timestamp),
            picture: next(self.last.picture).wrapping_sub(arrival.descriptor.picture_id().unwrap_or(0)),
            base_layer: self
                .last
                .base_layer
                .unwrap_or(0)
                .wrapping_add(1)
                .wrapping_sub(arrival.descriptor.tl0_pic_idx().unwrap_or(0)),
            first: arrival.sequence,
        });
    }

    /// The numbers under which a packet of the present layer leaves; `None` if it belongs to what was before, or nothing leaves now.
    pub(crate) fn pass(&mut self, arrival: &Arrival) -> Option<Departure> {
        let offsets = self.offsets.filter(|offsets| arrival.sequence >= offsets.first)?;
        let picture = arrival.descriptor.picture_id();
        let departure = Departure {
            sequence: u64::try_from(arrival.sequence as i64 + offsets.sequence).ok()?,
            timestamp: arrival.timestamp.wrapping_add(offsets.timestamp),
            picture: picture.map(|picture| picture.wrapping_add(offsets.picture) & 0x7fff),
            base_layer: arrival.descriptor.tl0_pic_idx().map(|index| index.wrapping_add(offsets.base_layer)),
        };
        if departure.sequence >= self.last.sequence {
            self.last = Departure {
                picture: departure.picture.or(self.last.picture),
                base_layer: departure.base_layer.or(self.last.base_layer),
                ..departure
            };
            self.at = Some(arrival.at);
        }
        Some(departure)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A packet with a picture id of 15 bits.
    fn arrival(sequence: u64, timestamp: u32, picture: u16, at: Instant) -> Arrival {
        let payload = [0x90, 0x80, 0x80 | (picture >> 8) as u8, picture as u8, 0];
        let descriptor = Vp8Descriptor::parse(&payload).expect("a descriptor");
        Arrival { sequence, timestamp, at, descriptor, key: true }
    }

    #[test]
    fn numbers_go_on_across_a_switch_to_another_layer() {
        let start = Instant::now();
        let mut slot = Continuity::default();
        assert_eq!(slot.pass(&arrival(5, 10, 7, start)), None);
        slot.switch(&arrival(5, 10, 7, start));
        let first = slot.pass(&arrival(5, 10, 7, start)).expect("leaves");
        let second = slot.pass(&arrival(6, 3010, 8, start)).expect("leaves");
        assert_eq!((second.sequence, second.timestamp), (first.sequence + 1, first.timestamp + 3000));
        let later = start + Duration::from_millis(40);
        let other = arrival(70_000, 4_000_000_000, 0x7fff, later);
        slot.switch(&other);
        let third = slot.pass(&other).expect("leaves");
        assert_eq!((third.sequence, third.timestamp), (second.sequence + 1, second.timestamp + 3600));
        assert_eq!(third.picture, second.picture.map(|picture| picture + 1));
        // A late packet of the layer before does not leave; a late one of this layer does, under its own number.
        assert_eq!(slot.pass(&arrival(69_999, 4_000_000_000, 0x7ffe, later)), None);
        let fifth = slot.pass(&arrival(70_002, 4_000_003_000, 1, later)).expect("leaves");
        let fourth = slot.pass(&arrival(70_001, 4_000_000_000, 0, later)).expect("leaves");
        assert_eq!(fifth.sequence, fourth.sequence + 1);
        slot.stop();
        assert_eq!(slot.pass(&arrival(70_003, 4_000_003_000, 1, later)), None);
    }
}

//! The stream that leaves on a viewer's slot: one continuous stream, whatever layers of whatever sources enter.

use std::time::Instant;

use str0m::rtp::Vp8Descriptor;

/// Frequencies of RTP timestamps, Hz.
const VIDEO_CLOCK: f64 = 90_000.0;
const SOUND_CLOCK: f64 = 48_000.0;
/// Gaps between the timestamps of two sources where no time of the last packet is known: a frame at 30 fps, a packet of 20 ms.
const FRAME_GAP: u32 = 3000;
const SOUND_GAP: u32 = 960;
/// The number before the first packet.
const BEFORE: u64 = 999;

/// Sequence numbers and timestamps of a stream that leaves, by offsets from those of the stream that enters: order and gaps are kept, by which
/// receivers find losses (RFC 3550 section 5.1).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbering {
    clock: f64,
    gap: u32,
    sequence: u64,
    timestamp: u32,
    at: Option<Instant>,
    /// Offsets of both, and the first number that belongs to the present stream: older packets belong to what was before.
    offsets: Option<(i64, u32, u64)>,
}

impl Numbering {
    const fn new(clock: f64, gap: u32) -> Self {
        Self { clock, gap, sequence: BEFORE, timestamp: 0, at: None, offsets: None }
    }

    /// The numbering of a stream of sound.
    pub(crate) const fn of_sound() -> Self {
        Self::new(SOUND_CLOCK, SOUND_GAP)
    }

    /// Goes on with another stream from one of its packets on.
    pub(crate) fn switch(&mut self, sequence: u64, timestamp: u32, now: Instant) {
        let gap = self
            .at
            .map_or(self.gap, |at| (now.saturating_duration_since(at).as_secs_f64() * self.clock) as u32);
        self.offsets = Some((
            self.sequence as i64 + 1 - sequence as i64,
            self.timestamp.wrapping_add(gap.max(1)).wrapping_sub(timestamp),
            sequence,
        ));
    }

    /// The numbers under which a packet leaves, and whether it is the newest; `None` if it belongs to what was before.
    pub(crate) fn pass(&mut self, sequence: u64, timestamp: u32, now: Instant) -> Option<(u64, u32, bool)> {
        let (offset, shift, _) = self.offsets.filter(|(.., first)| sequence >= *first)?;
        let sequence = u64::try_from(sequence as i64 + offset).ok()?;
        let timestamp = timestamp.wrapping_add(shift);
        let newest = sequence >= self.sequence;
        if newest {
            (self.sequence, self.timestamp, self.at) = (sequence, timestamp, Some(now));
        }
        Some((sequence, timestamp, newest))
    }
}

/// An arriving packet of one layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) sequence: u64,
    pub(crate) timestamp: u32,
    pub(crate) at: Instant,
    /// Of VP8; H.264 has none.
    pub(crate) descriptor: Option<Vp8Descriptor>,
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

/// A picture id that goes on where ids of 7 bits begin again.
#[derive(Debug, Clone, Copy, Default)]
struct Pictures {
    latest: u16,
}

impl Pictures {
    /// The id in 15 bits. One of 7 bits is, of those with the same last 7 bits, the one nearest to the latest.
    fn widen(&mut self, id: u16, short: bool) -> u16 {
        if !short {
            self.latest = id;
            return id;
        }
        let step = id.wrapping_sub(self.latest) & 0x7f;
        let widened = self.latest.wrapping_add(step);
        if step < 64 {
            self.latest = widened;
            return widened;
        }
        widened.wrapping_sub(128)
    }
}

/// The continuity of one slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Continuity {
    numbering: Numbering,
    picture: Option<u16>,
    base_layer: Option<u8>,
    /// Offsets of picture id and base layer.
    offsets: (u16, u8),
    pictures: Pictures,
}

impl Default for Continuity {
    fn default() -> Self {
        let numbering = Numbering::new(VIDEO_CLOCK, FRAME_GAP);
        Self { numbering, picture: None, base_layer: None, offsets: (0, 0), pictures: Pictures::default() }
    }
}

impl Continuity {
    /// Ends the present layer: nothing leaves until [`Self::switch`].
    pub(crate) fn stop(&mut self) {
        self.numbering.offsets = None;
    }

    /// Starts to forward another layer with the packet that begins its key frame.
    pub(crate) fn switch(&mut self, arrival: &Arrival) {
        self.numbering.switch(arrival.sequence, arrival.timestamp, arrival.at);
        let Some(descriptor) = arrival.descriptor else { return };
        let picture = descriptor.picture_id().unwrap_or(0);
        self.pictures = Pictures { latest: picture };
        let base_layer = descriptor.tl0_pic_idx().unwrap_or(0);
        self.offsets = (
            self.picture.unwrap_or(0).wrapping_add(1).wrapping_sub(picture),
            self.base_layer.unwrap_or(0).wrapping_add(1).wrapping_sub(base_layer),
        );
    }

    /// The numbers under which a packet of the present layer leaves; `None` if it belongs to what was before, or nothing leaves now. `short` says
    /// that its picture id has 7 bits.
    pub(crate) fn pass(&mut self, arrival: &Arrival, short: bool) -> Option<Departure> {
        let (sequence, timestamp, newest) =
            self.numbering.pass(arrival.sequence, arrival.timestamp, arrival.at)?;
        let picture = arrival.descriptor.and_then(|descriptor| descriptor.picture_id());
        let picture = picture.map(|picture| self.pictures.widen(picture, short));
        let picture = picture.map(|picture| picture.wrapping_add(self.offsets.0) & 0x7fff);
        let base_layer = arrival.descriptor.and_then(|descriptor| descriptor.tl0_pic_idx());
        let base_layer = base_layer.map(|index| index.wrapping_add(self.offsets.1));
        if newest {
            self.picture = picture.or(self.picture);
            self.base_layer = base_layer.or(self.base_layer);
        }
        Some(Departure { sequence, timestamp, picture, base_layer })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A packet with a picture id of 15 bits.
    fn arrival(sequence: u64, timestamp: u32, picture: u16, at: Instant) -> Arrival {
        let payload = [0x90, 0x80, 0x80 | (picture >> 8) as u8, picture as u8, 0];
        let descriptor = Some(Vp8Descriptor::parse(&payload).expect("a descriptor"));
        Arrival { sequence, timestamp, at, descriptor, key: true }
    }

    #[test]
    fn numbers_go_on_across_a_switch_to_another_layer() {
        let start = Instant::now();
        let mut slot = Continuity::default();
        assert_eq!(slot.pass(&arrival(5, 10, 7, start), false), None);
        slot.switch(&arrival(5, 10, 7, start));
        let first = slot.pass(&arrival(5, 10, 7, start), false).expect("leaves");
        let second = slot.pass(&arrival(6, 3010, 8, start), false).expect("leaves");
        assert_eq!((second.sequence, second.timestamp), (first.sequence + 1, first.timestamp + 3000));
        let later = start + Duration::from_millis(40);
        let other = arrival(70_000, 4_000_000_000, 0x7fff, later);
        slot.switch(&other);
        let third = slot.pass(&other, false).expect("leaves");
        assert_eq!((third.sequence, third.timestamp), (second.sequence + 1, second.timestamp + 3600));
        assert_eq!(third.picture, second.picture.map(|picture| picture + 1));
        // A late packet of the layer before does not leave; a late one of this layer does, under its own number.
        assert_eq!(slot.pass(&arrival(69_999, 4_000_000_000, 0x7ffe, later), false), None);
        let fifth = slot.pass(&arrival(70_002, 4_000_003_000, 1, later), false).expect("leaves");
        let fourth = slot.pass(&arrival(70_001, 4_000_000_000, 0, later), false).expect("leaves");
        assert_eq!(fifth.sequence, fourth.sequence + 1);
        slot.stop();
        assert_eq!(slot.pass(&arrival(70_003, 4_000_003_000, 1, later), false), None);
    }
}

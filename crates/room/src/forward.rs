//! The stream that leaves on a viewer's slot: one continuous stream, whatever layers of whatever sources enter.

use std::collections::VecDeque;
use std::time::Instant;

/// Frequencies of RTP timestamps, Hz.
const VIDEO_CLOCK: f64 = 90_000.0;
const SOUND_CLOCK: f64 = 48_000.0;
/// Gaps between the timestamps of two sources where no time of the last packet is known: a frame at 30 fps, a packet of 20 ms.
const FRAME_GAP: u32 = 3000;
const SOUND_GAP: u32 = 960;
/// The number before the first packet.
const BEFORE: u64 = 999;
/// Runs of packets that did not leave, which are remembered for packets that come late: two seconds and more, as a picture has one.
const RUNS: usize = 64;

/// Sequence numbers and timestamps of a stream that leaves, by offsets from those of the stream that enters: order and gaps are kept, by which
/// receivers find losses (RFC 3550 section 5.1); packets that are not to leave make no gap.
#[derive(Debug, Clone)]
pub(crate) struct Numbering {
    clock: f64,
    gap: u32,
    sequence: u64,
    timestamp: u32,
    at: Option<Instant>,
    /// The shift of timestamps of the present stream.
    shift: u32,
    /// Offsets of numbers, each from a packet on, after a run that did not leave: older packets than the first belong to what was before.
    offsets: VecDeque<(u64, i64)>,
    /// The newest packet that entered.
    entered: u64,
}

impl Numbering {
    const fn new(clock: f64, gap: u32) -> Self {
        let offsets = VecDeque::new();
        Self { clock, gap, sequence: BEFORE, timestamp: 0, at: None, shift: 0, offsets, entered: 0 }
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
        self.shift = self.timestamp.wrapping_add(gap.max(1)).wrapping_sub(timestamp);
        self.offsets = VecDeque::from([(sequence, self.sequence as i64 + 1 - sequence as i64)]);
        self.entered = sequence.saturating_sub(1);
    }

    /// The numbers under which a packet leaves, and whether it is the newest; `None` if it belongs to what was before.
    pub(crate) fn pass(&mut self, sequence: u64, timestamp: u32, now: Instant) -> Option<(u64, u32, bool)> {
        let place = self.offsets.iter().rposition(|(first, _)| sequence >= *first)?;
        let number = |(first, offset): (u64, i64)| u64::try_from(first as i64 + offset).ok();
        let (_, offset) = self.offsets[place];
        let leaves = number((sequence, offset))?;
        // Of a run that was not to leave: its number is another's.
        if self.offsets.get(place + 1).is_some_and(|next| number(*next).is_none_or(|next| leaves >= next)) {
            return None;
        }
        self.entered = self.entered.max(sequence);
        let timestamp = timestamp.wrapping_add(self.shift);
        let newest = leaves >= self.sequence;
        if newest {
            (self.sequence, self.timestamp, self.at) = (leaves, timestamp, Some(now));
        }
        Some((leaves, timestamp, newest))
    }

    /// Leaves out a packet, and with `run` those that are missing before it. A late one has left its number free, as nobody knew of it.
    pub(crate) fn skip(&mut self, sequence: u64, run: bool) {
        let Some((first, offset)) = self.offsets.back_mut().filter(|_| sequence > self.entered) else {
            return;
        };
        let from = if run { self.entered + 1 } else { sequence };
        self.entered = sequence;
        let next = (sequence + 1, *offset - (sequence + 1 - from) as i64);
        if *first == from {
            (*first, *offset) = next;
            return;
        }
        self.offsets.push_back(next);
        if self.offsets.len() > RUNS {
            self.offsets.pop_front();
        }
    }
}

/// An arriving packet of one layer, or of one scalable stream.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) sequence: u64,
    pub(crate) timestamp: u32,
    pub(crate) at: Instant,
    /// The picture id and TL0PICIDX of VP8 and VP9, the frame number of AV1; H.264 has none.
    pub(crate) picture: Option<u16>,
    pub(crate) base_layer: Option<u8>,
    /// The bits of the picture id: 7, 15, or 16 of AV1. One of 7 bits leaves with 15.
    pub(crate) bits: u8,
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
    fn widen(&mut self, id: u16, bits: u8) -> u16 {
        if bits > 7 {
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
#[derive(Debug, Clone)]
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
        self.numbering.offsets.clear();
    }

    /// Starts to forward another layer with the packet that begins its key frame.
    pub(crate) fn switch(&mut self, arrival: &Arrival) {
        self.numbering.switch(arrival.sequence, arrival.timestamp, arrival.at);
        let picture = arrival.picture.unwrap_or(0);
        self.pictures = Pictures { latest: picture };
        let base_layer = arrival.base_layer.unwrap_or(0);
        self.offsets = (
            self.picture.unwrap_or(0).wrapping_add(1).wrapping_sub(picture),
            self.base_layer.unwrap_or(0).wrapping_add(1).wrapping_sub(base_layer),
        );
    }

    /// Leaves out a packet ([`Numbering::skip`]).
    pub(crate) fn skip(&mut self, sequence: u64, run: bool) {
        self.numbering.skip(sequence, run);
    }

    /// The numbers under which a packet of the present layer leaves; `None` if it belongs to what was before, or nothing leaves now.
    pub(crate) fn pass(&mut self, arrival: &Arrival) -> Option<Departure> {
        let (sequence, timestamp, newest) =
            self.numbering.pass(arrival.sequence, arrival.timestamp, arrival.at)?;
        let most = if arrival.bits > 15 { u16::MAX } else { 0x7fff };
        let picture = arrival.picture.map(|picture| self.pictures.widen(picture, arrival.bits));
        let picture = picture.map(|picture| picture.wrapping_add(self.offsets.0) & most);
        let base_layer = arrival.base_layer.map(|index| index.wrapping_add(self.offsets.1));
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
        let picture = Some(picture);
        Arrival { sequence, timestamp, at, picture, base_layer: None, bits: 15, key: true }
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

    #[test]
    fn packets_that_do_not_leave_make_no_gap_and_late_ones_keep_their_place() {
        let now = Instant::now();
        let mut numbering = Numbering::of_sound();
        numbering.switch(10, 0, now);
        let mut pass = |sequence| numbering.pass(sequence, 0, now).map(|(number, ..)| number);
        assert_eq!((pass(10), pass(12)), (Some(1000), Some(1002)));
        // 13 to 16 are of a frame that stays, of which 15 is lost; 17 and 19 leave, 18 does not.
        numbering.skip(13, false);
        numbering.skip(14, true);
        numbering.skip(16, true);
        let mut pass = |sequence| numbering.pass(sequence, 0, now).map(|(number, ..)| number);
        assert_eq!(pass(17), Some(1003));
        numbering.skip(18, false);
        let mut pass = |sequence| numbering.pass(sequence, 0, now).map(|(number, ..)| number);
        assert_eq!(pass(19), Some(1004));
        assert_eq!((pass(11), pass(15), pass(17), pass(18)), (Some(1001), None, Some(1003), None));
        // One that is missing keeps its number, and what came too late for its run changes nothing.
        numbering.skip(21, false);
        numbering.skip(20, false);
        assert_eq!(numbering.pass(22, 0, now).map(|(number, ..)| number), Some(1006));
        // Runs are forgotten, the oldest first.
        for sequence in 0..200 {
            numbering.skip(100 + 2 * sequence, false);
        }
        assert_eq!(numbering.pass(22, 0, now), None);
        assert!(numbering.offsets.len() <= RUNS);
    }
}

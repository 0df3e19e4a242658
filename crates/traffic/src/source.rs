//! Sources of datagrams, whose departures are drawn lazily and in bulk.

use airbound_random::{Key, OnOff, Stream};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::{FrameSizes, Replay};

/// The intervals at which a source sends.
#[derive(Debug, Clone)]
pub enum Rhythm {
    /// Equal intervals, without drift.
    Constant(Distance),
    /// Exponential intervals.
    Poisson {
        /// Mean interval.
        mean: Span,
        /// Draws of intervals.
        draws: Stream,
    },
    /// Frames at equal intervals, each a burst of packets at a rate.
    Bursts(Bursts),
    /// Recorded packets.
    Replay(Replay),
}

/// The interval of packets of a constant stream: `bits * 10^9 / rate` ns, in whole nanoseconds with the remainder carried over.
#[derive(Debug, Clone)]
pub struct Distance {
    /// Bits of payload times nanoseconds in a second.
    bits_times_second: u128,
    /// Rate in bit/s, at least 1.
    rate: u64,
    whole: Span,
    /// The remainder, less than `rate`.
    rest: u64,
    carried: u64,
}

impl Distance {
    fn new(bits_times_second: u128, rate: BitRate) -> Self {
        let rate = rate.as_bps().max(1);
        let whole = u64::try_from(bits_times_second / u128::from(rate)).unwrap_or(u64::MAX);
        let rest = (bits_times_second % u128::from(rate)) as u64;
        Self { bits_times_second, rate, whole: Span::from_nanos(whole), rest, carried: 0 }
    }

    /// The next interval: the first k of them sum to k times the exact interval, rounded down.
    fn next(&mut self) -> Span {
        let missing = self.rate - self.rest;
        let over = self.carried >= missing;
        self.carried = if over { self.carried - missing } else { self.carried + self.rest };
        self.whole + Span::from_nanos(u64::from(over))
    }
}

/// Video frames sent as bursts of datagrams.
#[derive(Debug, Clone)]
pub struct Bursts {
    /// Interval of frames.
    pub interval: Span,
    /// Sizes of frames.
    pub sizes: FrameSizes,
    /// Rate within a burst.
    pub rate: BitRate,
    /// Largest payload of a packet.
    pub packet: ByteCount,
    /// Bytes of headers of each packet.
    pub headers: ByteCount,
    frame: u64,
    frame_start: Instant,
    left: ByteCount,
}

impl Bursts {
    /// Frames from `first` on at intervals of `interval`.
    #[must_use]
    pub fn new(
        first: Instant,
        interval: Span,
        mut sizes: FrameSizes,
        rate: BitRate,
        packet: ByteCount,
        headers: ByteCount,
    ) -> Self {
        let left = sizes.next();
        Self { interval, sizes, rate, packet, headers, frame: 0, frame_start: first, left }
    }

    /// The size of the packet sent at `now`, the time of the next one, and the frame that begins with this packet, if any.
    fn send(&mut self, now: Instant) -> (ByteCount, Instant, Option<FrameStart>) {
        let payload = self.left.min(self.packet);
        let size = payload + self.headers;
        self.left -= payload;
        let next = now + self.rate.time_for(size);
        if self.left > ByteCount::ZERO {
            return (size, next, None);
        }
        // Frames that were due while this one was being sent are skipped.
        let due = self.frame_start + self.interval;
        let late = (next - due).div_floor(self.interval);
        let skipped = if next > due { late + 1 } else { 0 };
        self.frame += 1 + skipped;
        self.frame_start = due + self.interval * skipped;
        self.left = self.sizes.next();
        let (frame, created, bytes) = (self.frame, self.frame_start, self.left);
        (size, created, Some(FrameStart { frame, created, bytes, skipped }))
    }
}

/// A frame that a source began to send.
#[derive(Debug, Clone, Copy)]
pub struct FrameStart {
    /// Its number, from 0, skipped frames included.
    pub frame: u64,
    /// The time at which it was created.
    pub created: Instant,
    /// Its size.
    pub bytes: ByteCount,
    /// Frames skipped before this one because the previous one was still being sent.
    pub skipped: u64,
}

/// One datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The time of sending.
    pub at: Instant,
    /// Length of the IP packet.
    pub size: ByteCount,
    /// Its number, from 0.
    pub number: u64,
    /// Its video frame; 0 for sources without frames.
    pub frame: u64,
}

/// The on periods of a neighbour's transmitter; `index` is its number among all neighbours' transmitters.
#[must_use]
pub fn spells(mean_on: Span, mean_off: Span, seed: u64, index: u64) -> OnOff {
    OnOff::new(mean_on, mean_off, Key::of_seed(seed).with(0x9e1_9b04).with(index))
}

/// A source of datagrams.
#[derive(Debug, Clone)]
pub struct Source {
    size: ByteCount,
    stop: Instant,
    next: Instant,
    number: u64,
    rhythm: Rhythm,
    /// On periods, outside of which it pauses.
    spells: Option<OnOff>,
    /// The current on period is known to last until this time.
    spell_ends: Instant,
    /// The frame that began with the packet last emitted.
    started: Option<FrameStart>,
}

impl Source {
    /// Sends IP packets of `size` from `first` on, the last before `stop`; bursts and recordings have sizes of their own.
    #[must_use]
    pub fn new(size: ByteCount, first: Instant, stop: Instant, rhythm: Rhythm) -> Self {
        let started = match &rhythm {
            Rhythm::Bursts(bursts) => {
                Some(FrameStart { frame: 0, created: first, bytes: bursts.left, skipped: 0 })
            }
            _ => None,
        };
        Self { size, stop, next: first, number: 0, rhythm, spells: None, spell_ends: Instant::MAX, started }
    }

    /// Limits the source to `spells`.
    #[must_use]
    pub fn in_spells(mut self, spells: OnOff) -> Self {
        self.spells = Some(spells);
        self.spell_ends = Instant::ZERO;
        self.rest();
        self
    }

    /// Delays the next packet and all later ones to the end of a pause.
    #[inline]
    fn rest(&mut self) {
        if self.next >= self.spell_ends {
            self.wait_for_spell();
        }
    }

    fn wait_for_spell(&mut self) {
        let Some(spells) = &self.spells else { return };
        if !spells.is_on(self.next) {
            self.next = spells.next_change(self.next);
        }
        self.spell_ends = spells.next_change(self.next);
    }

    /// A constant payload rate of `rate`, with `payload` bytes in each packet.
    #[must_use]
    pub fn constant(rate: BitRate, payload: ByteCount) -> Rhythm {
        Rhythm::Constant(Distance::new(u128::from(payload.bits()) * 1_000_000_000, rate))
    }

    /// Changes the rate of a constant stream: the next packet follows the last one at the new interval, but not before `now`. Packets due
    /// before `now` have to be emitted first.
    pub fn set_rate(&mut self, now: Instant, new: BitRate) {
        let Rhythm::Constant(distance) = &mut self.rhythm else { return };
        let new = Distance::new(distance.bits_times_second, new);
        if self.number > 0 {
            let last = self.next - distance.whole;
            self.next = (last + new.whole).max(now);
        }
        *distance = new;
    }

    /// The time of the next departure; `None` at its end.
    #[inline]
    #[must_use]
    pub fn next_departure(&self) -> Option<Instant> {
        (self.next < self.stop).then_some(self.next)
    }

    /// Takes the frame that began with the packet last emitted.
    #[inline]
    pub fn take_started(&mut self) -> Option<FrameStart> {
        self.started.take()
    }

    /// Whether it sends video frames.
    #[inline]
    #[must_use]
    pub const fn has_frames(&self) -> bool {
        matches!(self.rhythm, Rhythm::Bursts(_))
    }

    /// The size of its IP packets; bursts and recordings have sizes of their own.
    #[inline]
    #[must_use]
    pub const fn size(&self) -> ByteCount {
        self.size
    }

    /// Whether its datagrams differ in nothing but number and time.
    #[inline]
    #[must_use]
    pub const fn is_steady(&self) -> bool {
        matches!(self.rhythm, Rhythm::Constant(_)) && self.spells.is_none()
    }

    /// Emits up to `most` datagrams of a steady source that depart by `until`; none of another.
    #[inline(always)]
    pub fn emit_until(&mut self, until: Instant, most: usize) -> impl Iterator<Item = Departure> {
        let most = if self.is_steady() { most } else { 0 };
        std::iter::from_fn(move || {
            let Rhythm::Constant(distance) = &mut self.rhythm else { return None };
            let (at, number) = (self.next, self.number);
            (at <= until && at < self.stop).then(|| {
                self.number += 1;
                self.next += distance.next();
                Departure { at, size: self.size, number, frame: 0 }
            })
        })
        .take(most)
    }

    /// Emits the datagram of [`Source::next_departure`].
    #[inline(always)]
    pub fn emit(&mut self) -> Departure {
        let sent = self.next;
        let number = self.number;
        self.number += 1;
        let (mut size, mut frame) = (self.size, 0);
        match &mut self.rhythm {
            Rhythm::Constant(distance) => self.next += distance.next(),
            Rhythm::Poisson { mean, draws } => {
                self.next += mean.mul_f64(draws.exponential()).max(Span::from_nanos(1));
            }
            Rhythm::Bursts(bursts) => {
                frame = bursts.frame;
                let (packet, next, started) = bursts.send(sent);
                (size, self.next) = (packet, next);
                self.started = started.or(self.started.take());
            }
            Rhythm::Replay(replay) => (size, self.next) = replay.send(),
        }
        self.rest();
        Departure { at: sent, size, number, frame }
    }
}

impl Iterator for Source {
    type Item = Departure;

    fn next(&mut self) -> Option<Departure> {
        self.next_departure()?;
        Some(self.emit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_sum_to_the_exact_ones_rounded_down() {
        let second = 1_000_000_000u128;
        for (bits, rate) in [(11_760, 31_615_450), (8, u64::MAX), (1000, 1), (12_000, 3), (7, 1_000_000_000)]
        {
            let mut distance = Distance::new(bits * second, BitRate::from_bps(rate));
            let mut sum = Span::ZERO;
            for number in 1..5000u128 {
                sum += distance.next();
                let exact = number * bits * second / u128::from(rate);
                assert_eq!(u128::from(sum.as_nanos()), exact, "{number} of {bits} bits at {rate} bit/s");
            }
        }
    }
}

//! Sources of datagrams. They are asked for arrivals, in bulk, when a queue is next looked at.

use airbound_control::frame::FlowId;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use crate::channel;
use crate::packet::{Header, Kind, Packet};
use crate::random::Stream;

/// When a source sends.
#[derive(Debug, Clone)]
pub(crate) enum Rhythm {
    /// At equal distances, without drift.
    Constant(Distance),
    /// At exponential distances.
    Poisson { mean: Span, draws: Stream },
    /// Frames at equal distances, each a burst of packets at a rate.
    Bursts(Bursts),
}

/// What lies between two packets of a constant stream: `bits * 10^9 / rate` ns, of which whole nanoseconds are taken and the rest is
/// carried over.
#[derive(Debug, Clone)]
pub(crate) struct Distance {
    /// Bits of payload times nanoseconds in a second.
    bits_times_second: u128,
    /// In bit/s, at least 1.
    rate: u64,
    whole: Span,
    /// Of `rate`; less than that.
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

    /// The next one: the first k of them sum to k times the exact distance, rounded down.
    fn next(&mut self) -> Span {
        let missing = self.rate - self.rest;
        let over = self.carried >= missing;
        self.carried = if over { self.carried - missing } else { self.carried + self.rest };
        self.whole + Span::from_nanos(u64::from(over))
    }
}

/// Video frames sent as bursts of datagrams.
#[derive(Debug, Clone)]
pub(crate) struct Bursts {
    /// Distance of frames.
    pub(crate) interval: Span,
    /// Sizes of frames.
    pub(crate) sizes: FrameSizes,
    /// Rate within a burst.
    pub(crate) rate: BitRate,
    /// Largest payload of a packet.
    pub(crate) packet: ByteCount,
    /// Bytes of headers on each packet.
    pub(crate) headers: ByteCount,
    frame: u64,
    frame_start: Instant,
    left: ByteCount,
}

/// The law of frame sizes: log-normal around a mean.
#[derive(Debug, Clone)]
pub(crate) struct FrameSizes {
    mean: ByteCount,
    /// Standard deviation of the logarithm; 0 for frames of equal size.
    sigma: f64,
    draws: Stream,
}

impl FrameSizes {
    pub(crate) fn new(mean: ByteCount, sigma: f64, draws: Stream) -> Self {
        Self { mean, sigma, draws }
    }

    /// The next frame's size; the mean over many is the configured one.
    pub(crate) fn next(&mut self) -> ByteCount {
        if self.sigma == 0.0 {
            return self.mean;
        }
        ByteCount::new(libm::round(self.mean.as_u64() as f64 * self.factor()).max(1.0) as u64)
    }

    /// The next frame's size over the mean.
    pub(crate) fn factor(&mut self) -> f64 {
        if self.sigma == 0.0 {
            return 1.0;
        }
        libm::exp(self.sigma * self.draws.normal() - self.sigma * self.sigma / 2.0)
    }
}

impl Bursts {
    pub(crate) fn new(
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

    /// The size of the packet of `flow` that is sent at `now`, when the next one is, and the frame that begins with that, if one does.
    fn send(&mut self, flow: FlowId, now: Instant) -> (ByteCount, Instant, Option<FrameStart>) {
        let payload = self.left.min(self.packet);
        let size = payload + self.headers;
        self.left -= payload;
        let next = now + self.rate.time_for(size);
        if self.left > ByteCount::ZERO {
            return (size, next, None);
        }
        // Frames whose time came while this one was being sent are left out.
        let due = self.frame_start + self.interval;
        let late = (next - due).div_floor(self.interval);
        let skipped = if next > due { late + 1 } else { 0 };
        self.frame += 1 + skipped;
        self.frame_start = due + self.interval * skipped;
        self.left = self.sizes.next();
        let (frame, created, bytes) = (self.frame, self.frame_start, self.left);
        (size, created, Some(FrameStart { flow, frame, created, bytes, skipped }))
    }
}

/// A frame that a source began to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameStart {
    pub(crate) flow: FlowId,
    pub(crate) frame: u64,
    pub(crate) created: Instant,
    pub(crate) bytes: ByteCount,
    /// Frames left out before this one because the last was still being sent.
    pub(crate) skipped: u64,
}

/// A source of datagrams.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    header: Header,
    size: ByteCount,
    stop: Instant,
    next: Instant,
    number: u64,
    rhythm: Rhythm,
    /// Outside of these it rests.
    spells: Option<channel::Bursts>,
    /// Until when the present spell is known to last.
    spell_ends: Instant,
    /// A frame that began with the packet last emitted.
    started: Option<FrameStart>,
}

impl Source {
    pub(crate) fn new(
        header: Header,
        size: ByteCount,
        first: Instant,
        stop: Instant,
        rhythm: Rhythm,
    ) -> Self {
        let started = match &rhythm {
            Rhythm::Bursts(bursts) => Some(FrameStart {
                flow: header.flow,
                frame: 0,
                created: first,
                bytes: bursts.left,
                skipped: 0,
            }),
            _ => None,
        };
        Self {
            header,
            size,
            stop,
            next: first,
            number: 0,
            rhythm,
            spells: None,
            spell_ends: Instant::MAX,
            started,
        }
    }

    /// The same source, which sends in `spells` only.
    pub(crate) fn in_spells(mut self, spells: channel::Bursts) -> Self {
        self.spells = Some(spells);
        self.spell_ends = Instant::ZERO;
        self.rest();
        self
    }

    /// If the next packet falls into a pause, all that is to come waits until the pause is over.
    #[inline]
    fn rest(&mut self) {
        if self.next >= self.spell_ends {
            self.wait_for_spell();
        }
    }

    fn wait_for_spell(&mut self) {
        let Some(spells) = &self.spells else { return };
        if !spells.busy_at(self.next) {
            self.next = spells.next_change(self.next);
        }
        self.spell_ends = spells.next_change(self.next);
    }

    /// A constant bit rate of `rate`, counted in payload bytes of which each packet has `payload`.
    pub(crate) fn constant(rate: BitRate, payload: ByteCount) -> Rhythm {
        Rhythm::Constant(Distance::new(u128::from(payload.bits()) * 1_000_000_000, rate))
    }

    /// Changes the rate of a constant stream: the next packet comes as long after the last as the new rate has it, and not before
    /// `now`. What is due before has to have been sent.
    pub(crate) fn set_rate(&mut self, now: Instant, new: BitRate) {
        let Rhythm::Constant(distance) = &mut self.rhythm else { return };
        let new = Distance::new(distance.bits_times_second, new);
        if self.number > 0 {
            let last = self.next - distance.whole;
            self.next = (last + new.whole).max(now);
        }
        *distance = new;
    }

    pub(crate) const fn flow(&self) -> usize {
        self.header.flow.0 as usize
    }

    pub(crate) const fn category(&self) -> Category {
        self.header.category
    }

    /// When it sends next; `None` when it has ended.
    pub(crate) fn next(&self) -> Option<Instant> {
        (self.next < self.stop).then_some(self.next)
    }

    /// The frame that began with the packet last emitted, once.
    pub(crate) fn take_started(&mut self) -> Option<FrameStart> {
        self.started.take()
    }

    /// Whether frames begin in it.
    #[inline]
    pub(crate) const fn has_frames(&self) -> bool {
        matches!(self.rhythm, Rhythm::Bursts(_))
    }

    /// The packet that is sent at [`Source::next`].
    #[inline(always)]
    pub(crate) fn emit(&mut self) -> Packet {
        let sent = self.next;
        let number = self.number;
        self.number += 1;
        let (mut size, mut tag) = (self.size, 0);
        match &mut self.rhythm {
            Rhythm::Constant(distance) => self.next += distance.next(),
            Rhythm::Poisson { mean, draws } => {
                self.next += mean.mul_f64(draws.exponential()).max(Span::from_nanos(1));
            }
            Rhythm::Bursts(bursts) => {
                tag = bursts.frame;
                let (packet, next, started) = bursts.send(self.header.flow, sent);
                (size, self.next) = (packet, next);
                self.started = started.or(self.started.take());
            }
        }
        self.rest();
        Packet::new(self.header, number, Kind::Datagram, tag, size, sent)
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

//! The pacer: spreads the packets of a frame over time.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::probe::ProbeCluster;

/// Mean waiting time above which the pacer sends faster than its rate (libwebrtc `PacingController::kMaxExpectedQueueLength`).
pub const LONGEST_QUEUE: Span = Span::from_secs(2);
/// Delay of a probe packet that ends its cluster: the burst would not measure the rate (libwebrtc
/// `BitrateProberConfig::max_probe_delay`).
const LATEST_PROBE: Span = Span::from_millis(20);
/// Age of an unused cluster at which it is dropped (libwebrtc `kProbeClusterTimeout`).
const STALE_PROBE: Span = Span::from_secs(5);
/// Upper limit on a burst (libwebrtc `PacingController::kMaxBurstSize`).
const LARGEST_BURST: ByteCount = ByteCount::new(63_000);
/// Upper limit on waiting probe clusters; beyond it the oldest is dropped.
const CLUSTERS: usize = 8;
/// Lower limit of the remaining time in the 2 s rule, as in libwebrtc.
const LEAST_LEFT: Span = Span::from_millis(1);

/// The rate of a pacer, and the time by which it may be ahead of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pacing {
    /// The rate.
    pub rate: BitRate,
    /// Packets leave at once until they are worth this time at the rate, or 63 kB; the next ones wait until all of it has passed (libwebrtc
    /// `PacingController::NextSendTime`).
    pub burst: Span,
}

impl From<BitRate> for Pacing {
    /// Without bursts.
    fn from(rate: BitRate) -> Self {
        Self { rate, burst: Span::ZERO }
    }
}

/// Priority of a packet, highest first; FIFO within a priority (libwebrtc `prioritized_packet_queue.cc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Audio: sent at once, and not counted against the rate (libwebrtc `pace_audio` is off).
    Audio,
    /// Retransmitted packets.
    Retransmission,
    /// Video and its parity packets.
    Video,
    /// Padding.
    Padding,
}

#[derive(Debug, Clone)]
struct Waiting<T> {
    since: Instant,
    size: ByteCount,
    item: T,
}

/// A cluster being sent.
#[derive(Debug, Clone, Copy)]
struct Burst {
    cluster: ProbeCluster,
    offered: Instant,
    /// When its first packet was sent.
    began: Option<Instant>,
    bytes: ByteCount,
    packets: u32,
    largest: ByteCount,
}

impl Burst {
    /// When its next packet is due; before its start, any time.
    fn next(&self) -> Instant {
        self.began.map_or(Instant::ZERO, |began| began + self.cluster.rate.time_for(self.bytes))
    }

    fn complete(&self) -> bool {
        self.bytes >= self.cluster.bytes && self.packets >= self.cluster.packets
    }
}

/// Holds packets and determines their send times.
#[derive(Debug, Clone)]
pub struct Pacer<T> {
    rate: BitRate,
    burst: Span,
    /// Whether a burst has ended: nothing leaves before `free_at`.
    spent: bool,
    queues: [VecDeque<Waiting<T>>; 4],
    /// Size of the waiting packets except audio.
    size: ByteCount,
    /// Sum of their arrival times in ns, for their mean waiting time.
    entered: u128,
    count: u64,
    /// When the last packet has been sent at its rate.
    free_at: Instant,
    bursts: VecDeque<Burst>,
    /// Whether probes begin without media.
    alone: bool,
    now: Instant,
}

impl<T> Pacer<T> {
    /// Creates an empty pacer with a rate, usually `Gcc::pacing`. At rate zero only audio and probes are sent.
    #[must_use]
    pub fn new(pacing: impl Into<Pacing>) -> Self {
        let Pacing { rate, burst } = pacing.into();
        Self {
            rate,
            burst,
            spent: false,
            queues: std::array::from_fn(|_| VecDeque::new()),
            size: ByteCount::ZERO,
            entered: 0,
            count: 0,
            free_at: Instant::ZERO,
            bursts: VecDeque::new(),
            alone: false,
            now: Instant::ZERO,
        }
    }

    /// Lets probes begin with padding where no media wait, as a server's towards a client that gets no picture (str0m); a browser's begin with
    /// a packet of media (libwebrtc).
    #[must_use]
    pub fn probing_without_media(self) -> Self {
        Self { alone: true, ..self }
    }

    /// Sets the rate. The remaining time of the last packet changes with it.
    pub fn set_rate(&mut self, now: Instant, pacing: impl Into<Pacing>) {
        let Pacing { rate, burst } = pacing.into();
        self.advance(now);
        self.burst = burst;
        if rate == self.rate {
            return;
        }
        let left = self.free_at - self.now;
        if rate.is_zero() || self.rate.is_zero() {
            self.free_at = self.now;
        } else {
            self.free_at = self.now + left.mul_f64(self.rate.as_bps() as f64 / rate.as_bps() as f64);
        }
        self.rate = rate;
    }

    /// The rate last set.
    #[must_use]
    pub fn rate(&self) -> BitRate {
        self.rate
    }

    /// Adds a packet. `size` is its size on the wire, in the measure of the rate.
    pub fn enqueue(&mut self, now: Instant, priority: Priority, size: ByteCount, item: T) {
        self.advance(now);
        if priority != Priority::Audio {
            self.size += size;
            self.entered += u128::from(self.now.as_nanos());
            self.count += 1;
        }
        self.queues[priority as usize].push_back(Waiting { since: self.now, size, item });
    }

    /// Sends the next packets as this cluster, at its rate, beginning with the next packet that is not audio.
    pub fn start_probe(&mut self, now: Instant, cluster: ProbeCluster) {
        self.advance(now);
        if cluster.rate.is_zero() {
            return;
        }
        if self.bursts.len() == CLUSTERS {
            self.bursts.pop_front();
        }
        let burst = Burst {
            cluster,
            offered: self.now,
            began: None,
            bytes: ByteCount::ZERO,
            packets: 0,
            largest: ByteCount::ZERO,
        };
        self.bursts.push_back(burst);
    }

    /// Returns the next packet that may be sent now, and its probe cluster. Call until `None`.
    pub fn poll(&mut self, now: Instant) -> Option<(T, Option<u32>)> {
        self.advance(now);
        if let Some(audio) = self.queues[Priority::Audio as usize].pop_front() {
            return Some((audio.item, None));
        }
        if self.count == 0 || self.release() > self.now {
            return None;
        }
        let rate = self.effective_rate();
        let waiting = self.queues.iter_mut().find_map(VecDeque::pop_front)?;
        self.size -= waiting.size;
        self.entered = self.entered.saturating_sub(u128::from(waiting.since.as_nanos()));
        self.count -= 1;
        self.free_at = self.free_at.max(self.now)
            + if rate.is_zero() { Span::ZERO } else { rate.time_for(waiting.size) };
        self.spent = self.free_at - self.now >= self.burst.min(rate.time_for(LARGEST_BURST));
        Some((waiting.item, self.probed(waiting.size)))
    }

    /// Returns the missing size of a probe if no packet waits and it has begun or may begin without media: the caller adds a packet of padding of that size, or of the
    /// largest permitted, and polls again.
    ///
    /// It is at least the largest packet of the probe so far: the measurement omits the size of the first packet from arrivals and that
    /// of the last from departures, so a last packet smaller than the first would underestimate the path.
    #[must_use]
    pub fn padding_wanted(&self, now: Instant) -> Option<ByteCount> {
        let now = self.now.max(now);
        let burst = self.bursts.front().filter(|burst| self.begins(burst) && burst.next() <= now)?;
        (self.count == 0)
            .then(|| (burst.cluster.bytes - burst.bytes).max(burst.largest).max(ByteCount::new(1)))
    }

    /// When to call [`Pacer::poll`] (and [`Pacer::padding_wanted`]) again if nothing else happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        if !self.queues[Priority::Audio as usize].is_empty() {
            return Some(self.now);
        }
        let probing = self.bursts.front().is_some_and(|burst| self.begins(burst));
        if self.count == 0 && !probing {
            return None;
        }
        let release = self.release();
        (release < Instant::MAX).then_some(release.max(self.now))
    }

    /// Returns the time that the waiting packets, without audio, need at the present rate (without the 2 s rule); zero if there are
    /// none.
    #[must_use]
    pub fn queue_time(&self) -> Span {
        if self.count == 0 { Span::ZERO } else { self.rate.time_for(self.size) }
    }

    /// When the oldest waiting packet, without audio, was added.
    #[must_use]
    pub fn oldest(&self) -> Option<Instant> {
        let of = |priority| self.queues[priority as usize].front().map(|waiting: &Waiting<T>| waiting.since);
        [Priority::Retransmission, Priority::Video, Priority::Padding].into_iter().filter_map(of).min()
    }

    /// Returns the size of the waiting packets, without audio.
    #[must_use]
    pub fn queue_size(&self) -> ByteCount {
        self.size
    }

    /// The number of waiting packets, audio included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Whether no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a probe may send padding.
    fn begins(&self, burst: &Burst) -> bool {
        self.alone || burst.began.is_some()
    }

    /// Earliest send time of the next packet that is not audio.
    fn release(&self) -> Instant {
        match self.bursts.front() {
            Some(burst) => burst.next(),
            None if self.rate.is_zero() => Instant::MAX,
            None if self.spent => self.free_at,
            None => self.now,
        }
    }

    /// The rate, or the higher one that empties the queue before its packets wait [`LONGEST_QUEUE`] on average.
    fn effective_rate(&self) -> BitRate {
        let mean = self.entered / u128::from(self.count.max(1));
        let waited = u128::from(self.now.as_nanos()).saturating_sub(mean);
        let waited = Span::from_nanos(u64::try_from(waited).unwrap_or(u64::MAX));
        self.rate.max(BitRate::of(self.size, (LONGEST_QUEUE - waited).max(LEAST_LEFT)))
    }

    /// Counts a sent packet for the present cluster.
    fn probed(&mut self, size: ByteCount) -> Option<u32> {
        let burst = self.bursts.front_mut()?;
        burst.began.get_or_insert(self.now);
        burst.bytes += size;
        burst.largest = burst.largest.max(size);
        burst.packets = burst.packets.saturating_add(1);
        let id = burst.cluster.id;
        if burst.complete() {
            self.bursts.pop_front();
        }
        Some(id)
    }

    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        let now = self.now;
        self.bursts.retain(|burst| match burst.began {
            None => now - burst.offered <= STALE_PROBE,
            Some(_) => now - burst.next() <= LATEST_PROBE,
        });
    }
}

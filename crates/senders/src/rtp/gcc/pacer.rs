//! The pacer: packets of a frame leave spread out, not in a burst.

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::probe::ProbeCluster;

/// The pacer sends faster than its rate where a packet would wait longer than this on average
/// (libwebrtc `PacingController::kMaxExpectedQueueLength`).
pub const LONGEST_QUEUE: Span = Span::from_secs(2);
/// A probe packet that leaves so late ends its cluster: the burst would not measure the rate
/// (libwebrtc `BitrateProberConfig::max_probe_delay`).
const LATEST_PROBE: Span = Span::from_millis(20);
/// A cluster that found nothing to carry it for so long is dropped (libwebrtc `kProbeClusterTimeout`).
const STALE_PROBE: Span = Span::from_secs(5);
/// Probe clusters that wait; with more the oldest goes.
const CLUSTERS: usize = 8;
/// The least time left that the 2 s rule reckons with, as libwebrtc does.
const LEAST_LEFT: Span = Span::from_millis(1);

/// Priority of a packet, highest first; within one priority it is first come, first served (libwebrtc `prioritized_packet_queue.cc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Audio: goes at once, and does not count against the rate (libwebrtc `pace_audio` is off).
    Audio,
    /// Packets sent again.
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

/// A cluster under way.
#[derive(Debug, Clone, Copy)]
struct Burst {
    cluster: ProbeCluster,
    offered: Instant,
    /// When its first packet left.
    began: Option<Instant>,
    bytes: ByteCount,
    packets: u32,
    largest: ByteCount,
}

impl Burst {
    /// When its next packet is to leave; any time before it began.
    fn next(&self) -> Instant {
        self.began.map_or(Instant::ZERO, |began| began + self.cluster.rate.time_for(self.bytes))
    }

    fn complete(&self) -> bool {
        self.bytes >= self.cluster.bytes && self.packets >= self.cluster.packets
    }
}

/// Holds packets and says when each leaves.
#[derive(Debug, Clone)]
pub struct Pacer<T> {
    rate: BitRate,
    queues: [VecDeque<Waiting<T>>; 4],
    /// Size of the packets that wait, all but audio.
    size: ByteCount,
    /// Sum of the instants at which those came, in ns, for the mean of their waiting times.
    entered: u128,
    count: u64,
    /// When the last packet has drained at the rate it was sent with.
    free_at: Instant,
    bursts: VecDeque<Burst>,
    now: Instant,
}

impl<T> Pacer<T> {
    /// An empty pacer at a rate, usually `Gcc::pacing_rate`. At rate zero only audio and probes leave.
    #[must_use]
    pub fn new(rate: BitRate) -> Self {
        Self {
            rate,
            queues: std::array::from_fn(|_| VecDeque::new()),
            size: ByteCount::ZERO,
            entered: 0,
            count: 0,
            free_at: Instant::ZERO,
            bursts: VecDeque::new(),
            now: Instant::ZERO,
        }
    }

    /// Sets the rate. What the last packet still has to wait for changes with it.
    pub fn set_rate(&mut self, now: Instant, rate: BitRate) {
        self.advance(now);
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

    /// A packet to be sent. `size` is what it takes on the wire, the same measure as the rate's.
    pub fn enqueue(&mut self, now: Instant, priority: Priority, size: ByteCount, item: T) {
        self.advance(now);
        if priority != Priority::Audio {
            self.size += size;
            self.entered += u128::from(self.now.as_nanos());
            self.count += 1;
        }
        self.queues[priority as usize].push_back(Waiting { since: self.now, size, item });
    }

    /// Sends the next packets as this cluster, at its rate. It begins with the next packet that is not audio.
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

    /// The next packet that may leave now, and the probe cluster that it belongs to. Call until there is none.
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
        Some((waiting.item, self.probed(waiting.size)))
    }

    /// Returns the size that a probe under way lacks while nothing waits: the caller enqueues a packet of padding of that size, or of the
    /// largest that it may send, and polls again.
    ///
    /// It is no less than the largest packet of the probe so far: the measurement leaves out the first packet's size of what arrives
    /// and the last one's of what is sent, so a last packet smaller than the first makes the path look slower than it is.
    #[must_use]
    pub fn padding_wanted(&self, now: Instant) -> Option<ByteCount> {
        let now = self.now.max(now);
        let burst = self.bursts.front().filter(|burst| burst.began.is_some() && burst.next() <= now)?;
        (self.count == 0)
            .then(|| (burst.cluster.bytes - burst.bytes).max(burst.largest).max(ByteCount::new(1)))
    }

    /// When to call [`Pacer::poll`] (and [`Pacer::padding_wanted`]) again if nothing else happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        if !self.queues[Priority::Audio as usize].is_empty() {
            return Some(self.now);
        }
        let probing = self.bursts.front().is_some_and(|burst| burst.began.is_some());
        if self.count == 0 && !probing {
            return None;
        }
        let release = self.release();
        (release < Instant::MAX).then_some(release.max(self.now))
    }

    /// Returns the time that waiting packets, without audio, take at the present rate (without the 2 s rule); zero if there are none.
    #[must_use]
    pub fn queue_time(&self) -> Span {
        if self.count == 0 { Span::ZERO } else { self.rate.time_for(self.size) }
    }

    /// Returns the size of the packets that wait, without audio.
    #[must_use]
    pub fn queue_size(&self) -> ByteCount {
        self.size
    }

    /// The number of packets that wait, audio included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When the next packet that is not audio may leave.
    fn release(&self) -> Instant {
        match self.bursts.front() {
            Some(burst) => burst.next(),
            None if self.rate.is_zero() => Instant::MAX,
            None => self.free_at,
        }
    }

    /// The rate, or what empties the queue before its packets wait [`LONGEST_QUEUE`] on average.
    fn effective_rate(&self) -> BitRate {
        let mean = self.entered / u128::from(self.count.max(1));
        let waited = u128::from(self.now.as_nanos()).saturating_sub(mean);
        let waited = Span::from_nanos(u64::try_from(waited).unwrap_or(u64::MAX));
        self.rate.max(BitRate::of(self.size, (LONGEST_QUEUE - waited).max(LEAST_LEFT)))
    }

    /// Counts a packet that leaves to the cluster under way.
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

//! The server's own estimate of an uplink: Google congestion control over what arrives, by the senders' absolute send times. It needs nothing of
//! the client but the extensions of its packets, so that it bounds what a client claims.

use std::time::{Duration, Instant};

use airbound_senders::rtp::gcc::{
    Gcc, GccConfig, LossResponse, PacketResult, PacketSent, TransportFeedback, Usage,
};
use airbound_units::{BitRate, ByteCount, Instant as When};

/// Interval at which arrivals are looked at, as a report's.
const BATCH: Duration = Duration::from_millis(100);
/// The first time, in which nothing is estimated.
const FIRST: Duration = Duration::from_secs(1);
/// Upper limit of an estimate.
const MOST: BitRate = BitRate::from_mbps(1000);
/// Largest step of a transport-wide number forward; a larger one is an old packet, or a new stream.
const LARGEST_STEP: u16 = 1 << 15;
/// Packets that are kept until the batch ends.
const MOST_KEPT: usize = 4096;

/// One packet that has arrived.
#[derive(Debug, Clone, Copy)]
struct Packet {
    sequence: u64,
    sent: When,
    arrived: When,
    size: u64,
}

/// The estimate of one participant's uplink.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// None in the first second.
    gcc: Option<Gcc>,
    /// The first send time and the first arrival: all others count from there.
    zero: Option<(Instant, Instant)>,
    latest: u64,
    batch: Vec<Packet>,
    due: Option<Instant>,
    full: Option<Instant>,
    estimated: bool,
}

impl Arrivals {
    pub(crate) const fn new() -> Self {
        Self {
            gcc: None,
            zero: None,
            latest: LARGEST_STEP as u64,
            batch: Vec::new(),
            due: None,
            full: None,
            estimated: false,
        }
    }

    /// Starts at the rate of the first batch: without probes of its own, an estimate that begins lower needs half a minute.
    fn begin(&mut self) {
        let bytes: u64 = self.batch.iter().map(|packet| packet.size).sum();
        let start = BitRate::from_bps_f64(bytes as f64 * 8.0 / FIRST.as_secs_f64());
        let usual = GccConfig::default();
        // Losses are in the client's claim; this one sees the queue.
        let config = GccConfig {
            start_rate: start.clamp(usual.min_rate, MOST),
            loss_based: LossResponse::Off,
            probing: false,
            max_rate: MOST,
            ..usual
        };
        self.gcc = Gcc::new(config).ok();
    }

    /// Takes a packet with its transport-wide number, its send time by the sender's clock, and its size.
    pub(crate) fn on_packet(&mut self, now: Instant, number: u16, sent: Instant, size: usize) {
        let (first_sent, first_arrived) = *self.zero.get_or_insert((sent, now));
        let step = number.wrapping_sub(self.latest as u16);
        let sequence = if step < LARGEST_STEP {
            self.latest += u64::from(step);
            self.latest
        } else {
            self.latest.saturating_sub(u64::from(step.wrapping_neg()))
        };
        // Send times before the first one are of packets that were overtaken.
        let since = |at: Instant, zero: Instant| {
            When::from_nanos(at.saturating_duration_since(zero).as_nanos() as u64)
        };
        let packet = Packet {
            sequence,
            sent: since(sent, first_sent),
            arrived: since(now, first_arrived),
            size: size as u64,
        };
        if self.batch.len() < MOST_KEPT {
            self.batch.push(packet);
        }
        let due = *self.due.get_or_insert(now + FIRST);
        if now >= due {
            self.due = Some(now + BATCH);
            if self.gcc.is_none() {
                self.begin();
            }
            self.look(now);
        }
    }

    fn look(&mut self, now: Instant) {
        let mut batch = std::mem::take(&mut self.batch);
        let Some(gcc) = &mut self.gcc else { return };
        batch.sort_by_key(|packet| packet.sequence);
        for packet in &batch {
            let size = ByteCount::new(packet.size);
            gcc.on_sent(packet.sent, PacketSent { sequence: packet.sequence, size, probe: None });
        }
        let packets: Vec<PacketResult> = batch
            .iter()
            .map(|packet| PacketResult { sequence: packet.sequence, arrival: Some(packet.arrived) })
            .collect();
        // A later time would count for the packets sent next, too.
        if let Some(sent) = batch.iter().map(|packet| packet.sent).max() {
            gcc.on_feedback(sent, &TransportFeedback { packets });
        }
        let metrics = gcc.metrics();
        self.estimated |= metrics.acknowledged.is_some();
        if metrics.usage == Usage::Overuse {
            self.full = Some(now);
        }
    }

    /// The estimate in bit/s, once there is one.
    pub(crate) fn estimate(&self) -> Option<f64> {
        self.gcc.as_ref().filter(|_| self.estimated).map(|gcc| gcc.target_rate().as_bps() as f64)
    }

    /// When a queue was last seen to grow.
    pub(crate) const fn full(&self) -> Option<Instant> {
        self.full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends packets of 1000 bytes at a rate through a bottleneck for some seconds; returns the estimate and whether the queue was seen.
    fn through(rate: f64, bottleneck: f64, seconds: u64) -> (f64, bool) {
        let start = Instant::now() + Duration::from_secs(100);
        let mut arrivals = Arrivals::new();
        let gap = Duration::from_secs_f64(8000.0 / rate);
        let service = Duration::from_secs_f64(8000.0 / bottleneck);
        let (mut sent, mut free, mut number) = (start, start, 65_000_u16);
        let mut full = false;
        while sent < start + Duration::from_secs(seconds) {
            free = free.max(sent) + service;
            // The receiver's clock is a minute behind.
            let arrived = free + Duration::from_millis(10);
            arrivals.on_packet(arrived - Duration::from_secs(60), number, sent, 1000);
            full |= arrivals.full().is_some();
            number = number.wrapping_add(1);
            sent += gap;
        }
        (arrivals.estimate().expect("an estimate"), full)
    }

    #[test]
    fn a_link_that_is_not_filled_shows_no_queue_and_a_bounded_estimate() {
        let (estimate, full) = through(1e6, 10e6, 20);
        assert!(!full && estimate > 0.9e6 && estimate < 1.8e6, "{estimate} {full}");
    }

    #[test]
    fn an_overfull_link_shows_its_queue_and_its_rate() {
        // A queue that stays full shows losses only: this one grows throughout.
        let (estimate, full) = through(2.2e6, 2e6, 8);
        assert!(full && estimate > 1.2e6 && estimate < 2.3e6, "{estimate} {full}");
    }

    #[test]
    fn numbers_and_times_of_a_liar_end_nothing() {
        let start = Instant::now() + Duration::from_secs(1000);
        let mut arrivals = Arrivals::new();
        for step in 0..5000_u64 {
            let number = (step * 40_503 % 65_536) as u16;
            let sent = start + Duration::from_millis(step * 7919 % 64_000);
            arrivals.on_packet(start + Duration::from_millis(step), number, sent, (step % 1500) as usize);
        }
        assert!(arrivals.estimate().is_none_or(f64::is_finite));
    }
}

//! Rate measured by a probe cluster (libwebrtc `probe_bitrate_estimator.cc`).
//!
//! | rule | value |
//! |---|---|
//! | required share of the cluster's packets and bytes | 80 % |
//! | longest time of sending, or of arriving | 1 s |
//! | greatest ratio of arrival rate to send rate | 2 x |
//! | the link was full below an arrival rate of | 0.9 x the send rate |
//! | result for a full link | 0.95 x the arrival rate |

use std::collections::BTreeMap;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::in_flight::Delivered;
use super::probe::ProbeCluster;

const RECEIVED: f64 = 0.8;
const LONGEST: Span = Span::from_secs(1);
const FASTEST: f64 = 2.0;
const UNSATURATED: f64 = 0.9;
const UTILISATION: f64 = 0.95;
/// Upper limit on watched clusters; beyond it the oldest is dropped.
const CLUSTERS: usize = 16;

#[derive(Debug, Clone)]
struct Watched {
    cluster: ProbeCluster,
    packets: u32,
    bytes: ByteCount,
    /// Times of the first and the last packet, with the sizes to leave out: between n packets there are n - 1 intervals.
    sent: (Instant, Instant),
    last_sent_size: ByteCount,
    arrived: (Instant, Instant),
    first_arrived_size: ByteCount,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ProbeResults {
    begun: BTreeMap<u32, ProbeCluster>,
    watched: BTreeMap<u32, Watched>,
}

impl ProbeResults {
    /// Adds a cluster that is about to be sent.
    pub(super) fn expect(&mut self, cluster: ProbeCluster) {
        self.begun.insert(cluster.id, cluster);
        while self.begun.len() > CLUSTERS {
            if let Some((id, _)) = self.begun.pop_first() {
                self.watched.remove(&id);
            }
        }
    }

    /// Takes an arrived packet. Returns the rate measured by its cluster, once enough packets have arrived.
    pub(super) fn on_packet(&mut self, packet: &Delivered) -> Option<BitRate> {
        let id = packet.probe?;
        let cluster = *self.begun.get(&id)?;
        let watched = self.watched.entry(id).or_insert(Watched {
            cluster,
            packets: 0,
            bytes: ByteCount::ZERO,
            sent: (packet.sent, packet.sent),
            last_sent_size: packet.size,
            arrived: (packet.arrival, packet.arrival),
            first_arrived_size: packet.size,
        });
        watched.add(packet);
        watched.result()
    }
}

impl Watched {
    fn add(&mut self, packet: &Delivered) {
        self.packets = self.packets.saturating_add(1);
        self.bytes += packet.size;
        self.sent.0 = self.sent.0.min(packet.sent);
        if packet.sent >= self.sent.1 {
            self.sent.1 = packet.sent;
            self.last_sent_size = packet.size;
        }
        if packet.arrival < self.arrived.0 {
            self.arrived.0 = packet.arrival;
            self.first_arrived_size = packet.size;
        }
        self.arrived.1 = self.arrived.1.max(packet.arrival);
    }

    fn result(&self) -> Option<BitRate> {
        let enough = f64::from(self.packets) >= f64::from(self.cluster.packets) * RECEIVED
            && self.bytes.as_u64() as f64 >= self.cluster.bytes.as_u64() as f64 * RECEIVED;
        let (sending, arriving) = (self.sent.1 - self.sent.0, self.arrived.1 - self.arrived.0);
        let measurable = |time: Span| !time.is_zero() && time <= LONGEST;
        if !enough || !measurable(sending) || !measurable(arriving) {
            return None;
        }
        let sent = BitRate::of(self.bytes - self.last_sent_size, sending);
        let arrived = BitRate::of(self.bytes - self.first_arrived_size, arriving);
        if arrived > sent.mul_f64(FASTEST) {
            return None;
        }
        let saturated = arrived < sent.mul_f64(UNSATURATED);
        Some(if saturated { arrived.mul_f64(UTILISATION) } else { sent.min(arrived) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets of 1000 B sent every `send` us, arriving every `arrive` us.
    fn measured(send: u64, arrive: u64) -> Option<BitRate> {
        let rate = BitRate::from_bps(8_000_000_000 / send);
        let bytes = ByteCount::new(10_000);
        let cluster = ProbeCluster { id: 1, rate, packets: 5, bytes, duration: rate.time_for(bytes) };
        let mut results = ProbeResults::default();
        results.expect(cluster);
        let at = |micros| Instant::ZERO + Span::from_micros(micros);
        let packet = |index: u64| Delivered {
            size: ByteCount::new(1000),
            sent: at(index * send),
            arrival: at(70_000 + index * arrive),
            probe: Some(1),
        };
        (0..10).filter_map(|index| results.on_packet(&packet(index))).last()
    }

    #[test]
    fn a_path_that_carries_it_gives_the_rate_of_sending_and_a_full_one_a_little_less_than_it_carries() {
        assert_eq!(measured(2000, 2000), Some(BitRate::from_mbps(4)));
        assert_eq!(measured(2000, 1500), Some(BitRate::from_mbps(4)));
        assert_eq!(measured(2000, 4000), Some(BitRate::from_kbps(1900)));
        // All at once: released by a queue in the network.
        assert_eq!(measured(2000, 100), None);
    }
}

//! Packets sent and not yet reported as arrived.

use std::collections::BTreeMap;

use airbound_units::{ByteCount, Instant, Span};

use super::{PacketSent, TransportFeedback};

/// Time for which packets are kept (libwebrtc `kSendTimeHistoryWindow`) ...
const MEMORY: Span = Span::from_secs(60);
/// ... and their maximum number.
const LIMIT: usize = 100_000;

#[derive(Debug, Clone, Copy)]
struct Departed {
    size: ByteCount,
    at: Instant,
    probe: Option<u32>,
    /// Whether it was once reported missing. It may still arrive late.
    missed: bool,
}

/// A packet with known departure and arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Delivered {
    pub(super) size: ByteCount,
    pub(super) sent: Instant,
    pub(super) arrival: Instant,
    pub(super) probe: Option<u32>,
}

/// New arrivals and losses in a report, of packets known to the sender.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Arrived packets, in the order of arrival.
    pub(super) delivered: Vec<Delivered>,
    /// Newly missing packets: size and departure.
    pub(super) lost: Vec<(ByteCount, Instant)>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct InFlight {
    packets: BTreeMap<u64, Departed>,
}

impl InFlight {
    pub(super) fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        let departed = Departed { size: packet.size, at: now, probe: packet.probe, missed: false };
        self.packets.insert(packet.sequence, departed);
        while let Some(oldest) = self.packets.first_entry() {
            if now - oldest.get().at <= MEMORY && self.packets.len() <= LIMIT {
                break;
            }
            self.packets.pop_first();
        }
    }

    /// Matches a report with sent packets. Each arrival and each loss is returned once.
    pub(super) fn on_feedback(&mut self, feedback: &TransportFeedback) -> News {
        let mut news = News::default();
        for result in &feedback.packets {
            if let Some(arrival) = result.arrival {
                if let Some(departed) = self.packets.remove(&result.sequence) {
                    let Departed { size, at: sent, probe, .. } = departed;
                    news.delivered.push(Delivered { size, sent, arrival, probe });
                }
            } else if let Some(departed) = self.packets.get_mut(&result.sequence) {
                if !departed.missed {
                    news.lost.push((departed.size, departed.at));
                }
                departed.missed = true;
            }
        }
        news.delivered.sort_by_key(|packet| packet.arrival);
        news
    }
}

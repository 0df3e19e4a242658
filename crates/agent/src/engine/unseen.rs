//! Traffic that reaches stations past the agent: flow offload, rules of others, the access point's own packets.
//!
//! A station's counter of sent bytes says what the radio took for it. What the agent released since the last reading, and what was below
//! then, is the most that can be the agent's. More went past it.

use airbound_control::frame::StationId;
use airbound_units::{BitRate, ByteCount};

use super::packet::Held;
use super::{Decision, Engine};

/// Most bytes that a frame has beside its packet: headers of 802.11, cipher and LLC (54), and IP and TCP headers that each segment of a
/// super-packet repeats (IPv6 with time stamps: 72).
const HEADERS: u64 = 128;
/// The rate of a station whose rate is unknown: the lowest of OFDM.
const LOWEST: BitRate = BitRate::from_mbps(6);

/// The most bytes that the radio counts for a packet.
pub(super) fn bytes_of(held: &Held) -> u64 {
    held.size.as_u64() + HEADERS * u64::from(held.segments)
}

/// Bytes sent to a station, as the radio and the agent count them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ledger {
    /// The radio's counter at the last reading.
    counted: Option<u64>,
    /// Bytes released since then, and those below at that time.
    ours: u64,
    /// Bytes past the agent in the last interval, if they were more than a window.
    pub(super) unseen: Option<ByteCount>,
}

impl Ledger {
    pub(super) fn on_release(&mut self, held: &Held) {
        self.ours += bytes_of(held);
    }

    /// Takes a reading of the counter; `below` bytes are below now. Returns the bytes that are not the agent's.
    fn read(&mut self, counted: Option<u64>, below: u64) -> ByteCount {
        let ours = std::mem::replace(&mut self.ours, below);
        let before = std::mem::replace(&mut self.counted, counted);
        // A station that associates again counts from zero.
        let sent = counted.zip(before).map_or(0, |(now, before)| now.saturating_sub(before));
        ByteCount::new(sent.saturating_sub(ours))
    }
}

impl Engine {
    /// Takes a reading of a station's counter of sent bytes, and reports when traffic past the agent begins and ends. It counts from what
    /// would take more airtime than the agent itself lets be below.
    pub(super) fn read_sent(&mut self, id: StationId, counted: Option<u64>) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let below = peer.bytes_below();
        let bytes = peer.ledger.read(counted, below);
        let airtime = peer.rate().unwrap_or(LOWEST).time_for(bytes);
        let unseen = (airtime > self.config.window.aggregate * 2).then_some(bytes);
        let before = std::mem::replace(&mut peer.ledger.unseen, unseen);
        let station = peer.mac;
        match (before, unseen) {
            (None, Some(bytes)) => {
                let rules = self.rules_at(id).map(|rule| self.rule_name(rule)).collect();
                self.out.decisions.push(Decision::UnseenTraffic {
                    station,
                    bytes: bytes.as_u64(),
                    airtime,
                    rules,
                });
            }
            (Some(_), None) => self.out.decisions.push(Decision::UnseenTrafficEnded { station }),
            _ => {}
        }
    }

    /// Rules with a flow at a station, each once.
    fn rules_at(&self, id: StationId) -> impl Iterator<Item = u16> + '_ {
        let rules: std::collections::BTreeSet<u16> = self
            .flows
            .protected()
            .filter(|(_, station, _)| *station == id)
            .map(|(_, _, rule)| rule)
            .collect();
        rules.into_iter()
    }

    /// Tells the rules whether their packets may be among those past the agent.
    pub(super) fn judge_unseen(&mut self) {
        let stations: Vec<StationId> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.present && peer.ledger.unseen.is_some())
            .map(|(id, _)| id)
            .collect();
        let rules = stations.iter().flat_map(|id| self.rules_at(*id)).collect();
        self.measures.on_unseen(!stations.is_empty(), &rules);
    }
}

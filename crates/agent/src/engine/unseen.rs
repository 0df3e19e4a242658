//! Traffic that reaches stations past the agent: flow offload, rules of others, the access point's own packets.
//!
//! A station's counter of sent bytes says what the radio took for it. What the agent released since the last reading, and what was below
//! then, is the most that can be the agent's. More went past it, or passed before the agent knew the receiver: while the kernel asks for a
//! station's address it keeps the packets that the agent accepted, and sends them with the answer.

use airbound_control::frame::StationId;
use airbound_linux::MacAddress;
use airbound_units::{BitRate, ByteCount};

use super::packet::{Arrival, Held};
use super::{Decision, Engine};

/// Most bytes that a frame has beside its packet: headers of 802.11, cipher and LLC (54), and IP and TCP headers that each segment of a
/// super-packet repeats (IPv6 with time stamps: 72).
const HEADERS: u64 = 128;
/// The rate of a station whose rate is unknown: the lowest of OFDM.
const LOWEST: BitRate = BitRate::from_mbps(6);

/// The most bytes that the radio counts for a packet.
pub(super) fn bytes_of(held: &Held) -> u64 {
    most_counted(held.size, held.segments)
}

fn most_counted(size: ByteCount, segments: u16) -> u64 {
    size.as_u64() + HEADERS * u64::from(segments)
}

impl Arrival {
    /// The most bytes that the radio counts for it.
    pub(crate) fn most_counted(&self) -> u64 {
        most_counted(self.size, self.segments.max(1))
    }
}

/// Bytes sent to a station, as the radio and the agent count them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ledger {
    /// The radio's counter at the last reading.
    counted: Option<u64>,
    /// Bytes released since then, and those below at that time.
    ours: u64,
    /// Bytes that waited for the station's address and were not counted yet: since the last reading, and in the interval before it. The
    /// radio counts them when it sends them, which may be after the next reading.
    waited: [u64; 2],
    /// Bytes past the agent in the last interval, if they were more than a window.
    pub(super) unseen: Option<ByteCount>,
    /// Bytes in the last interval that waited for the address, if the agent's own and those past it are not more than a window, and all
    /// are.
    pub(super) unmeasured: Option<ByteCount>,
}

/// Bytes of an interval that the agent did not release.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Others {
    past: ByteCount,
    waited: ByteCount,
}

impl Ledger {
    /// Whether more than a window was sent without being measured.
    const fn hides(&self) -> bool {
        self.unseen.is_some() || self.unmeasured.is_some()
    }

    pub(super) fn on_release(&mut self, held: &Held) {
        self.ours += bytes_of(held);
    }

    pub(super) fn on_bypass(&mut self, size: ByteCount) {
        self.ours += most_counted(size, 1);
    }

    /// Takes a reading of the counter; `below` bytes are below now. Returns the bytes that the agent did not release.
    fn read(&mut self, counted: Option<u64>, below: u64) -> Others {
        let ours = std::mem::replace(&mut self.ours, below);
        let before = std::mem::replace(&mut self.counted, counted);
        // A station that associates again counts from zero.
        let sent = counted.zip(before).map_or(0, |(now, before)| now.saturating_sub(before));
        let others = sent.saturating_sub(ours);
        let [fresh, older] = self.waited;
        let waited = others.min(fresh + older);
        self.waited = [0, fresh.min(fresh + older - waited)];
        Others { past: ByteCount::new(others - waited), waited: ByteCount::new(waited) }
    }
}

impl Engine {
    /// The address of a receiver became known: `bytes` of packets passed without it, which the kernel sends to the station now.
    pub fn on_receiver_known(&mut self, station: MacAddress, bytes: ByteCount) {
        let known = self.peers.find_present(station).and_then(|id| self.peers.get_mut(id));
        if let Some(peer) = known {
            peer.ledger.waited[0] += bytes.as_u64();
        }
    }

    /// Takes a reading of a station's counter of sent bytes, and reports when traffic past the agent begins and ends. It counts from what
    /// would take more airtime than the agent itself lets be below.
    pub(super) fn read_sent(&mut self, id: StationId, counted: Option<u64>) {
        let Some(peer) = self.peers.get_mut(id) else { return };
        let below = peer.bytes_below();
        let others = peer.ledger.read(counted, below);
        let rate = peer.rate().unwrap_or(LOWEST);
        let most = self.config.window.aggregate * 2;
        let unseen = (rate.time_for(others.past) > most).then_some(others.past);
        let is_unmeasured = unseen.is_none() && rate.time_for(others.past + others.waited) > most;
        peer.ledger.unmeasured = is_unmeasured.then_some(others.waited);
        let before = std::mem::replace(&mut peer.ledger.unseen, unseen);
        let station = peer.mac;
        if before.is_some() && unseen.is_none() {
            self.out.decisions.push(Decision::UnseenTrafficEnded { station });
        }
        let rules = || self.rules_at(id).map(|rule| self.rule_name(rule)).collect();
        let decision = match unseen {
            Some(_) if before.is_some() => return,
            Some(bytes) => Decision::UnseenTraffic {
                station,
                bytes: bytes.as_u64(),
                airtime: rate.time_for(bytes),
                rules: rules(),
            },
            None if is_unmeasured => Decision::UnmeasuredTraffic {
                station,
                bytes: others.waited.as_u64(),
                airtime: rate.time_for(others.waited),
                rules: rules(),
            },
            None => return,
        };
        self.out.decisions.push(decision);
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

    /// Tells the rules whether their packets may be among those that the agent did not measure.
    pub(super) fn judge_unseen(&mut self) {
        let stations: Vec<StationId> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.present && peer.ledger.hides())
            .map(|(id, _)| id)
            .collect();
        let rules = stations.iter().flat_map(|id| self.rules_at(*id)).collect();
        self.measures.on_unseen(!stations.is_empty(), &rules);
    }
}

//! The receiver's side: the media packets known after the arrivals so far.

use std::collections::{BTreeMap, BTreeSet};

use super::config::FecKind;
use super::encoder::ParityPacket;

/// Distance behind the newest media packet up to which packets are tracked; older ones count as known, past repair.
const MEMORY: u64 = 4096;
/// Number of blocks whose parity packets are kept.
const BLOCKS: usize = 64;
/// Upper limit on kept parity packets of one block.
const PARITY: usize = 256;

#[derive(Debug, Clone, Default)]
struct Known {
    packets: BTreeSet<u64>,
    newest: u64,
}

impl Known {
    fn contains(&self, sequence: u64) -> bool {
        sequence < self.newest.saturating_sub(MEMORY) || self.packets.contains(&sequence)
    }

    fn insert(&mut self, sequence: u64) {
        self.packets.insert(sequence);
        if sequence > self.newest {
            self.newest = sequence;
            self.packets = self.packets.split_off(&sequence.saturating_sub(MEMORY));
        }
    }
}

/// Determines which media packets can be rebuilt.
///
/// An XOR packet rebuilds the only packet that it lacks, which may complete another one: this is repeated until nothing new is
/// rebuilt (RFC 8627, Sec. 6.3.4). A Reed-Solomon block rebuilds all missing packets once as many of its parity packets have
/// arrived.
#[derive(Debug, Clone, Default)]
pub struct FecDecoder {
    known: Known,
    blocks: BTreeMap<u64, Vec<ParityPacket>>,
    recovered: u64,
}

impl FecDecoder {
    /// Creates a decoder without packets.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a media packet, received in any way. Returns the packets that can be rebuilt now, in order.
    pub fn on_media(&mut self, sequence: u64) -> Vec<u64> {
        if self.known.contains(sequence) {
            return Vec::new();
        }
        self.known.insert(sequence);
        let covering = self.blocks.iter().filter(|(_, parities)| {
            parities.iter().any(|parity| parity.covers.binary_search(&sequence).is_ok())
        });
        let blocks: Vec<u64> = covering.map(|(&block, _)| block).collect();
        let mut rebuilt: Vec<u64> = blocks.into_iter().flat_map(|block| self.repair(block)).collect();
        rebuilt.sort_unstable();
        rebuilt
    }

    /// Takes a parity packet. Returns the packets that can be rebuilt now, in order. Duplicates are ignored.
    pub fn on_parity(&mut self, mut parity: ParityPacket) -> Vec<u64> {
        parity.covers.sort_unstable();
        parity.covers.dedup();
        let block = parity.block;
        let parities = self.blocks.entry(block).or_default();
        if parities.len() >= PARITY || parities.iter().any(|other| other.index == parity.index) {
            return Vec::new();
        }
        parities.push(parity);
        if self.blocks.len() > BLOCKS {
            self.blocks.pop_first();
        }
        self.repair(block)
    }

    /// Returns the number of packets rebuilt so far.
    #[must_use]
    pub fn recovered(&self) -> u64 {
        self.recovered
    }

    /// Rebuilds the packets of a block: each step makes more of them known, so it ends.
    fn repair(&mut self, block: u64) -> Vec<u64> {
        let mut rebuilt = Vec::new();
        while let Some(found) = self.blocks.get(&block).and_then(|parities| step(parities, &self.known)) {
            for &sequence in &found {
                self.known.insert(sequence);
            }
            rebuilt.extend(found);
        }
        rebuilt.sort_unstable();
        self.recovered += rebuilt.len() as u64;
        rebuilt
    }
}

/// Returns the packets rebuilt by one parity packet (for a Reed-Solomon block: by all of them together).
fn step(parities: &[ParityPacket], known: &Known) -> Option<Vec<u64>> {
    parities.iter().find_map(|parity| {
        let lacking: Vec<u64> =
            parity.covers.iter().copied().filter(|sequence| !known.contains(*sequence)).collect();
        let equations = if parity.kind == FecKind::ReedSolomon { parities.len() } else { 1 };
        (!lacking.is_empty() && lacking.len() <= equations).then_some(lacking)
    })
}

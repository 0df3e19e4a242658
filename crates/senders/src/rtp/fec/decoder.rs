//! The receiver's side: which media packets are known once some packets have arrived.

use std::collections::{BTreeMap, BTreeSet};

use super::config::FecKind;
use super::encoder::ParityPacket;

/// Media packets are remembered so far back from the newest; older ones count as known, they are past repair.
const MEMORY: u64 = 4096;
/// Blocks whose parity packets are remembered.
const BLOCKS: usize = 64;
/// Parity packets of one block that are kept.
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

/// Says which media packets can be rebuilt.
///
/// An XOR packet gives back the only packet that it lacks, which may make another one able to: this goes on until nothing new comes
/// of it (RFC 8627, Sec. 6.3.4). A Reed-Solomon block gives back all that it lacks once as many of its parity packets are here.
#[derive(Debug, Clone, Default)]
pub struct FecDecoder {
    known: Known,
    blocks: BTreeMap<u64, Vec<ParityPacket>>,
    recovered: u64,
}

impl FecDecoder {
    /// Nothing has arrived.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A media packet arrived, in whatever way. Returns what can be rebuilt now, in order.
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

    /// A parity packet arrived. Returns what can be rebuilt now, in order. A second copy is ignored.
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

    /// Rebuilds what a block allows: each step makes more known, so it ends.
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

/// Returns the packets that one parity packet (of a Reed-Solomon block: all of them together) gives back.
fn step(parities: &[ParityPacket], known: &Known) -> Option<Vec<u64>> {
    parities.iter().find_map(|parity| {
        let lacking: Vec<u64> =
            parity.covers.iter().copied().filter(|sequence| !known.contains(*sequence)).collect();
        let equations = if parity.kind == FecKind::ReedSolomon { parities.len() } else { 1 };
        (!lacking.is_empty() && lacking.len() <= equations).then_some(lacking)
    })
}

//! The receiver's side: which media packets are known once some packets have arrived.

use std::collections::{BTreeMap, BTreeSet};

use super::config::FecKind;
use super::encoder::ParityPacket;

/// Media packets are remembered so far back from the newest.
const MEDIA: u64 = 4096;
/// Blocks with parity packets that are remembered.
const BLOCKS: usize = 64;
/// Parity packets of one block that are kept.
const PARITY: usize = 256;

/// Says which media packets can be rebuilt.
///
/// An XOR packet gives back the only packet that it lacks, which may make another one able to: this goes on until nothing new comes
/// of it (RFC 8627, Sec. 6.3.4). A Reed-Solomon block gives back all that it lacks once as many of its parity packets are here.
#[derive(Debug, Clone, Default)]
pub struct FecDecoder {
    known: BTreeSet<u64>,
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
        if self.remember(sequence) { self.repair(vec![sequence]) } else { Vec::new() }
    }

    /// A parity packet arrived. Returns what can be rebuilt now, in order.
    pub fn on_parity(&mut self, parity: ParityPacket) -> Vec<u64> {
        let covers = parity.covers.clone();
        let block = self.blocks.entry(parity.block).or_default();
        if block.len() >= PARITY || block.iter().any(|other| other.index == parity.index) {
            return Vec::new();
        }
        block.push(parity);
        while self.blocks.len() > BLOCKS {
            self.blocks.pop_first();
        }
        self.repair(covers)
    }

    /// How many packets were rebuilt so far.
    #[must_use]
    pub fn recovered(&self) -> u64 {
        self.recovered
    }

    fn remember(&mut self, sequence: u64) -> bool {
        let new = self.known.insert(sequence);
        if let Some(&newest) = self.known.last() {
            while self.known.first().is_some_and(|&oldest| newest - oldest > MEDIA) {
                self.known.pop_first();
            }
        }
        new
    }

    /// Rebuilds until nothing new comes of it, in the blocks that cover one of `touched`.
    fn repair(&mut self, touched: Vec<u64>) -> Vec<u64> {
        let (Some(&first), Some(&last)) = (touched.iter().min(), touched.iter().max()) else {
            return Vec::new();
        };
        let mut rebuilt = Vec::new();
        loop {
            let mut found = Vec::new();
            for parities in self.blocks.values() {
                let near = |parity: &ParityPacket| {
                    parity.covers.first().is_some_and(|&begin| begin <= last)
                        && parity.covers.last().is_some_and(|&end| end >= first)
                };
                if parities.iter().any(near) {
                    found = solvable(parities, &self.known);
                    if !found.is_empty() {
                        break;
                    }
                }
            }
            if found.is_empty() {
                break;
            }
            for sequence in found {
                self.remember(sequence);
                rebuilt.push(sequence);
            }
        }
        rebuilt.sort_unstable();
        self.recovered += rebuilt.len() as u64;
        rebuilt
    }
}

/// What one step gives back in a block.
fn solvable(parities: &[ParityPacket], known: &BTreeSet<u64>) -> Vec<u64> {
    for parity in parities {
        let lacking: Vec<u64> =
            parity.covers.iter().copied().filter(|sequence| !known.contains(sequence)).collect();
        let equations = if parity.kind == FecKind::ReedSolomon { parities.len() } else { 1 };
        if !lacking.is_empty() && lacking.len() <= equations {
            return lacking;
        }
    }
    Vec::new()
}

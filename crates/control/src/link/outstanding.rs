//! Descriptors that were handed to the hardware and not yet reported.

use std::collections::VecDeque;

use crate::frame::StationId;
use crate::frame::TxDescriptor;

/// A descriptor in the hardware.
#[derive(Debug, Clone, Copy)]
struct Handed<T> {
    station: StationId,
    /// The sequence number of its first MPDU, which no other descriptor of the station and category has at the same time.
    sequence: u64,
    facts: T,
}

/// Grants of one category in the order in which they were handed down, each with what its owner wants to remember of it.
#[derive(Debug, Clone)]
pub(crate) struct Outstanding<T> {
    descriptors: VecDeque<Handed<T>>,
}

/// No hardware holds more; of descriptors that are never reported the oldest are forgotten.
const MOST_GRANTS: usize = 1024;

impl<T> Default for Outstanding<T> {
    fn default() -> Self {
        Self { descriptors: VecDeque::new() }
    }
}

impl<T> Outstanding<T> {
    /// A descriptor goes to the hardware.
    pub(crate) fn hand<P>(&mut self, descriptor: &TxDescriptor<P>, facts: T) {
        if self.descriptors.len() >= MOST_GRANTS {
            self.descriptors.pop_front();
        }
        let sequence = descriptor.mpdus.first().map_or(0, |mpdu| mpdu.sequence);
        self.descriptors.push_back(Handed { station: descriptor.station, sequence, facts });
    }

    /// A descriptor comes back, in any order; `None` if it is not known.
    pub(crate) fn take<P>(&mut self, descriptor: &TxDescriptor<P>) -> Option<T> {
        let sequence = descriptor.mpdus.first().map_or(0, |mpdu| mpdu.sequence);
        let is_it = |handed: &Handed<T>| handed.station == descriptor.station && handed.sequence == sequence;
        let place = self.descriptors.iter().position(is_it)?;
        self.descriptors.remove(place).map(|handed| handed.facts)
    }

    /// Whether the hardware is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// The facts of each, first handed down first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.descriptors.iter().map(|handed| &handed.facts)
    }
}

//! Descriptors handed to the hardware and not yet reported.

use std::collections::VecDeque;

use crate::frame::StationId;
use crate::frame::TxDescriptor;

/// A descriptor in the hardware.
#[derive(Debug, Clone, Copy)]
struct Handed<T> {
    station: StationId,
    /// Sequence number of its first MPDU, unique among the outstanding descriptors of a station and category.
    sequence: u64,
    facts: T,
}

/// Descriptors of one category in the order of handing down, each with facts of its owner.
#[derive(Debug, Clone)]
pub(crate) struct Outstanding<T> {
    descriptors: VecDeque<Handed<T>>,
}

/// Upper limit, above that of any hardware; beyond it the oldest unreported descriptors are forgotten.
const MAX_DESCRIPTORS: usize = 1024;

impl<T> Default for Outstanding<T> {
    fn default() -> Self {
        Self { descriptors: VecDeque::new() }
    }
}

impl<T> Outstanding<T> {
    /// Adds a descriptor that is handed to the hardware.
    pub(crate) fn hand<P>(&mut self, descriptor: &TxDescriptor<P>, facts: T) {
        if self.descriptors.len() >= MAX_DESCRIPTORS {
            self.descriptors.pop_front();
        }
        let sequence = descriptor.mpdus.first().map_or(0, |mpdu| mpdu.sequence);
        self.descriptors.push_back(Handed { station: descriptor.station, sequence, facts });
    }

    /// Removes a returned descriptor, in any order; `None` if it is unknown.
    pub(crate) fn take<P>(&mut self, descriptor: &TxDescriptor<P>) -> Option<T> {
        let sequence = descriptor.mpdus.first().map_or(0, |mpdu| mpdu.sequence);
        let is_it = |handed: &Handed<T>| handed.station == descriptor.station && handed.sequence == sequence;
        let place = self.descriptors.iter().position(is_it)?;
        self.descriptors.remove(place).map(|handed| handed.facts)
    }

    /// Whether no descriptor is outstanding.
    pub(crate) fn is_empty(&self) -> bool {
        self.descriptors.is_empty()
    }

    /// The facts of each descriptor in the order of handing down.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.descriptors.iter().map(|handed| &handed.facts)
    }
}

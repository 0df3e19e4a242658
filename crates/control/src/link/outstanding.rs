//! What was handed to the hardware and not yet reported.

use std::collections::VecDeque;

use super::Grant;
use crate::payload::StationId;

/// A grant in the hardware.
#[derive(Debug, Clone, Copy)]
struct Handed<T> {
    station: StationId,
    /// The sequence number of its first MPDU, which no other grant of the station and category has at the same time.
    sequence: u64,
    facts: T,
}

/// Grants of one category in the order in which they were handed down, each with what its owner wants to remember of it.
#[derive(Debug, Clone)]
pub struct Outstanding<T> {
    grants: VecDeque<Handed<T>>,
}

/// No hardware holds more; of grants that are never reported the oldest are forgotten.
const MOST_GRANTS: usize = 1024;

impl<T> Default for Outstanding<T> {
    fn default() -> Self {
        Self { grants: VecDeque::new() }
    }
}

impl<T> Outstanding<T> {
    /// A grant goes to the hardware.
    pub fn hand<P>(&mut self, grant: &Grant<P>, facts: T) {
        if self.grants.len() >= MOST_GRANTS {
            self.grants.pop_front();
        }
        let sequence = grant.mpdus.first().map_or(0, |mpdu| mpdu.sequence);
        self.grants.push_back(Handed { station: grant.station, sequence, facts });
    }

    /// A grant comes back, in any order; `None` if it is not known.
    pub fn take<P>(&mut self, grant: &Grant<P>) -> Option<T> {
        let sequence = grant.mpdus.first().map_or(0, |mpdu| mpdu.sequence);
        let is_it = |handed: &Handed<T>| handed.station == grant.station && handed.sequence == sequence;
        let place = self.grants.iter().position(is_it)?;
        self.grants.remove(place).map(|handed| handed.facts)
    }

    /// Whether the hardware is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }

    /// What is remembered of each, first handed down first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.grants.iter().map(|handed| &handed.facts)
    }
}

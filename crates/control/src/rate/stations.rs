//! State of a rate control for each station.

use crate::frame::StationId;

/// Upper limit on stations associated with one access point (association identifiers, 802.11-2020, 9.4.1.8).
const MAX_STATIONS: usize = 2008;

/// A table by station that grows as stations are first seen.
#[derive(Debug, Clone)]
pub(super) struct Stations<T>(Vec<Option<Box<T>>>);

impl<T> Default for Stations<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Stations<T> {
    /// State of `station`.
    pub(super) fn get(&self, station: StationId) -> Option<&T> {
        self.0.get(station.index())?.as_deref()
    }

    /// Mutable state of `station`; created by `new` if there is none. `None` for a number that no station can have.
    pub(super) fn get_or_insert(&mut self, station: StationId, new: impl FnOnce() -> T) -> Option<&mut T> {
        let index = station.index();
        if index >= self.0.len() {
            if index >= MAX_STATIONS {
                return None;
            }
            self.0.resize_with(index + 1, || None);
        }
        Some(self.0.get_mut(index)?.get_or_insert_with(|| Box::new(new())))
    }

    /// Sets the state of `station` to `value`.
    pub(super) fn set(&mut self, station: StationId, value: T) {
        let index = station.index();
        if index >= MAX_STATIONS {
            return;
        }
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || None);
        }
        if let Some(slot) = self.0.get_mut(index) {
            *slot = Some(Box::new(value));
        }
    }
}

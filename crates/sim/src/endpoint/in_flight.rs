//! Contents of packets in transit beyond their length, stored by packet number, so that a packet stays small.

use std::collections::VecDeque;

/// Contents by packet number, ascending by one.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    first: u64,
    places: VecDeque<Option<T>>,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self { first: 0, places: VecDeque::new() }
    }
}

impl<T> InFlight<T> {
    pub(crate) fn put(&mut self, number: u64, content: T) {
        if self.places.is_empty() {
            self.first = number;
        }
        self.places.push_back(Some(content));
    }

    /// Takes the content of a packet that arrived or was lost, once.
    pub(crate) fn take(&mut self, number: u64) -> Option<T> {
        let place = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let content = self.places.get_mut(place)?.take();
        while let Some(None) = self.places.front() {
            self.places.pop_front();
            self.first += 1;
        }
        content
    }

    pub(crate) fn clear(&mut self) {
        self.places.clear();
    }
}

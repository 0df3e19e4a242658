//! Delays of single packets, gathered while a run goes on.

use airbound_record::{Fate, PacketRow};
use airbound_sim::{Event, Events, Observer};
use airbound_units::Instant;

/// From entering the queue of the access point to the receiver's network layer, of packets that arrive in the measured time.
#[derive(Debug, Clone)]
pub(crate) struct DelayWatch {
    /// Flows with smaller numbers count: those of the scenario, without the acknowledgements that follow them.
    flows: u32,
    from: Instant,
    nanos: Vec<u64>,
}

impl DelayWatch {
    pub(crate) fn new(flows: u32, from: Instant) -> Self {
        Self { flows, from, nanos: Vec::new() }
    }

    /// The delays, in ascending order.
    pub(crate) fn delays(mut self) -> Delays {
        self.nanos.sort_unstable();
        Delays { nanos: self.nanos }
    }
}

impl DelayWatch {
    fn on_packet(&mut self, row: &PacketRow) {
        if row.flow < self.flows && row.fate == Fate::Delivered && row.delivered >= self.from {
            let delay = row.delivered - row.enqueued;
            self.nanos.push(delay.as_nanos());
        }
    }
}

impl Observer for DelayWatch {
    fn wants(&self) -> Events {
        Events { packets: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        if let Event::Packet(row) = event {
            self.on_packet(row);
        }
    }
}

/// Sorted delays.
#[derive(Debug, Clone)]
pub(crate) struct Delays {
    nanos: Vec<u64>,
}

impl Delays {
    /// The mean, in ms.
    pub(crate) fn mean(&self) -> Option<f64> {
        let sum: u128 = self.nanos.iter().map(|nanos| u128::from(*nanos)).sum();
        (!self.nanos.is_empty()).then(|| sum as f64 / self.nanos.len() as f64 / 1e6)
    }

    /// A quantile, nearest rank, in ms.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let rank = (share * self.nanos.len() as f64).ceil().max(1.0) as usize;
        self.nanos.get(rank - 1).map(|nanos| *nanos as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let delays = Delays { nanos: (1..=100).map(|ms| ms * 1_000_000).collect() };
        assert_eq!((delays.quantile(0.5), delays.quantile(0.95)), (Some(50.0), Some(95.0)));
        assert_eq!(delays.mean(), Some(50.5));
        let none = Delays { nanos: Vec::new() };
        assert_eq!((none.mean(), none.quantile(0.5)), (None, None));
    }
}

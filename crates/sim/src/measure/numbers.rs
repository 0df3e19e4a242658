//! Numbers of the run for those of its networks, which count from 0.

use std::sync::Arc;

/// The numbers in the run of what one of its networks counts from 0.
#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    /// The number of each of its flows.
    pub(crate) flows: Arc<[u32]>,
    /// Number of flows of the run.
    pub(crate) all_flows: u64,
    /// The number of its first station.
    pub(crate) stations: u16,
    /// Its number among the networks, and how many there are.
    pub(crate) network: [u64; 2],
    /// The number of its channel.
    pub(crate) channel: u16,
}

impl Numbers {
    /// Those of the only network of a run.
    pub(crate) fn alone(flows: usize) -> Self {
        Self {
            flows: (0..flows as u32).collect(),
            all_flows: flows as u64,
            stations: 0,
            network: [0, 1],
            channel: 1,
        }
    }

    pub(super) fn flow(&self, number: u32) -> u32 {
        self.flows[number as usize]
    }

    /// The number of a packet, unique in the run and ascending within its flow.
    pub(super) fn packet(&self, flow: u32, number: u64) -> u64 {
        number * self.all_flows + u64::from(self.flow(flow))
    }

    /// The number of a TXOP of the network, which count from 1; 0 for none.
    pub(super) const fn txop(&self, number: u64) -> u64 {
        let [network, networks] = self.network;
        if number == 0 { 0 } else { (number - 1) * networks + network + 1 }
    }

    /// The number of a transmitter: each earlier network has an access point besides its stations.
    pub(super) const fn transmitter(&self, number: u16) -> u16 {
        number + self.stations + self.network[0] as u16
    }
}

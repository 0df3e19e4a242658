//! The input of a network: a scenario, a scheme, a seed, and its place on a channel.

use std::cell::RefCell;

use airbound_control::queue::{AirboundConfig, QueueConfig};
use airbound_control::rate::RateTables;
use airbound_scenario::{self as scenario, Scenario, Scheme};
use airbound_senders::allocation::AllocationConfig;

use crate::error::BuildError;
use crate::plugins::Plugins;

/// Reads the configuration that fills a slot.
pub(crate) fn slot_config<T: serde::de::DeserializeOwned>(
    slot: &scenario::Slot,
    name: &'static str,
) -> Result<T, BuildError> {
    slot.config().map_err(|reason| BuildError::Slot { slot: name, reason })
}

/// All inputs that a network is built from.
pub(crate) struct Blueprint<'a> {
    pub(crate) scenario: &'a Scenario,
    /// The scenario that it is a part of.
    pub(crate) whole: &'a Scenario,
    pub(crate) scheme: &'a Scheme,
    pub(crate) plugins: &'a Plugins,
    pub(crate) seed: u64,
    /// Tables of rates of the transmitters built so far, of all networks.
    pub(crate) tables: &'a RefCell<RateTables>,
    /// Its place on a channel shared with other networks.
    pub(crate) channel: SharedChannel,
}

impl Blueprint<'_> {
    /// The configuration of the queue, if it is `airbound`.
    pub(crate) fn airbound(&self) -> Option<Box<AirboundConfig>> {
        match slot_config(&self.scheme.queue, "queue") {
            Ok(QueueConfig::Airbound(queue)) => Some(queue),
            _ => None,
        }
    }

    /// The rate allocation of the scheme, if the sender is one.
    pub(crate) fn allocation(&self) -> Result<Option<AllocationConfig>, BuildError> {
        self.scheme.sender.allocation().map_err(|reason| BuildError::Slot { slot: "sender", reason })
    }
}

/// The place of a network on a shared channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SharedChannel {
    /// Its number.
    pub(crate) number: u16,
    /// The seed of the interference on the channel, common to all its networks.
    pub(crate) seed: u64,
    /// The number of the network among those on the channel, from 0.
    pub(crate) place: u64,
    /// Number of networks on the channel.
    pub(crate) networks: u64,
}

impl SharedChannel {
    /// A channel of its own.
    pub(crate) const fn alone(seed: u64) -> Self {
        Self { number: 1, seed, place: 0, networks: 1 }
    }
}

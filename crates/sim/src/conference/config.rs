//! Configuration of a conference.

use std::sync::Arc;

use airbound_senders::conference::{ConferenceConfig, PlumConfig};
use airbound_senders::congestion::Congestion;
use airbound_units::{BitRate, Span};

use crate::path::{PipeSpec, Sharing, Way};
use airbound_scenario::{Encoder, Scenario, SessionTransport};

/// A network of the simulator as an access link.
#[derive(Debug, Clone, PartialEq)]
pub struct AirSpec {
    /// The network. Of its flows, those of the clients configure the session's packets in that direction (demand, category, wire) and send
    /// nothing themselves; the others are simulated as configured.
    pub scenario: Arc<Scenario>,
    /// The stations that are clients.
    pub clients: Vec<String>,
}

/// The index of a client's flow in [`AirSpec::network`]: for each client up first, then down.
#[must_use]
pub fn flow_of(client: usize, way: Way) -> usize {
    2 * client + usize::from(way == Way::Down)
}

/// An access link to the server, shared by some of the clients.
#[derive(Debug, Clone, PartialEq)]
pub enum AccessSpec {
    /// A pipe.
    Pipe(PipeSpec),
    /// The simulated air of a BSS.
    Air(AirSpec),
}

impl AccessSpec {
    /// The number of its clients.
    #[must_use]
    pub fn clients(&self) -> usize {
        match self {
            Self::Pipe(pipe) => pipe.clients,
            Self::Air(air) => air.clients.len(),
        }
    }

    /// Whether each direction has a channel of its own.
    pub(super) const fn is_split(&self) -> bool {
        match self {
            Self::Pipe(pipe) => matches!(pipe.sharing, Sharing::Separate(_)),
            Self::Air(_) => false,
        }
    }
}

/// The part of a viewer's rate that each source may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Forwarding {
    /// Sources are cut to a common level at which their sum keeps to the rate.
    #[default]
    Divided,
    /// Each source may have all of the policy's limit, and without one is not cut, as in Plum's public code; frames wait, and are left out
    /// when more than four wait.
    Whole,
}

/// A conference: clients around a forwarding server.
#[derive(Debug, Clone, PartialEq)]
pub struct ConferenceSpec {
    /// The access links; clients are numbered in their order.
    pub access: Vec<AccessSpec>,
    /// The policy for the bitrates.
    pub policy: ConferenceConfig,
    /// The encoder of all clients.
    pub encoder: Encoder,
    /// The transport of all streams.
    pub transport: SessionTransport,
    /// Division of a viewer's rate among the sources.
    pub forwarding: Forwarding,
    /// Rate of the server's outbound link; `None` for no limit.
    pub server: Option<BitRate>,
    /// One-way delay between server and access links.
    pub delay: Span,
    /// Weight of each client in Plum's utility; empty for equal weights.
    pub weights: Vec<f64>,
    /// Measured time, after the warm-up.
    pub duration: Span,
    /// Simulated time before the measured time.
    pub warm_up: Span,
    /// Seed of all randomness.
    pub seed: u64,
}

impl ConferenceSpec {
    /// Creates a conference of 120 s with a warm-up of 5 s, BBR, and a server without rate limit 10 ms away (the setting of Plum's
    /// trace-driven runs, except for the delay, which is not given).
    #[must_use]
    pub fn new(access: Vec<AccessSpec>, policy: ConferenceConfig, seed: u64) -> Self {
        Self {
            access,
            policy,
            encoder: Encoder::default(),
            transport: Congestion::Bbr.into(),
            forwarding: Forwarding::Divided,
            server: None,
            delay: Span::from_millis(10),
            weights: Vec::new(),
            duration: Span::from_secs(115),
            warm_up: Span::from_secs(5),
            seed,
        }
    }

    /// The number of clients.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.access.iter().map(AccessSpec::clients).sum()
    }

    /// Plum's configuration, if it is the policy.
    #[must_use]
    pub const fn plum(&self) -> Option<&PlumConfig> {
        match &self.policy {
            ConferenceConfig::Plum(config) => Some(config),
            _ => None,
        }
    }
}

//! What a session is made of.

use std::sync::Arc;

use airbound_senders::conference::{ConferenceConfig, PlumConfig};
use airbound_senders::congestion::Congestion;

use airbound_units::{BitRate, ByteCount, Span};

use crate::scenario::{Encoder, Scenario};
use airbound_air::trace::Trace;

/// How the two directions of an access link share it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sharing {
    /// A half-duplex channel: transmitters that have something to send take turns.
    HalfDuplex,
    /// Two channels of their own, at these shares of the bandwidth: both 1 for a wire, with a sum of 1 for the oracle of Plum's public code,
    /// which sets the rates of two links.
    Split {
        /// Of the uplink.
        up: f64,
        /// Of the downlink.
        down: f64,
    },
}

/// An access link whose speed is a trace, with one or more clients behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct PipeSpec {
    /// Its bandwidth over time, overheads taken off.
    pub trace: Arc<Trace>,
    /// How the directions share it.
    pub sharing: Sharing,
    /// How many clients it serves.
    pub clients: usize,
    /// What a transmitter holds for each client at most.
    pub queue: ByteCount,
    /// How long one transmission lasts at most, at least one packet: with A-MPDUs some milliseconds.
    pub turn: Span,
}

impl PipeSpec {
    /// A half-duplex pipe with one client, a queue of 256 KiB and turns of 2 ms.
    #[must_use]
    pub const fn new(trace: Arc<Trace>) -> Self {
        Self {
            trace,
            sharing: Sharing::HalfDuplex,
            clients: 1,
            queue: ByteCount::new(256 << 10),
            turn: Span::from_millis(2),
        }
    }
}

/// A network of the simulator as an access link.
#[derive(Debug, Clone, PartialEq)]
pub struct AirSpec {
    /// The network. Of its flows, those of the clients say what holds for the session's packets in that direction (demand, category, wire) and
    /// send nothing themselves; the others are as they are written.
    pub scenario: Arc<Scenario>,
    /// So many of its first stations are clients.
    pub clients: usize,
}

/// A way to the server that some of the clients share.
#[derive(Debug, Clone, PartialEq)]
pub enum AccessSpec {
    /// A pipe.
    Pipe(PipeSpec),
    /// The simulated air of a BSS.
    Air(AirSpec),
}

impl AccessSpec {
    /// How many clients it serves.
    #[must_use]
    pub fn clients(&self) -> usize {
        match self {
            Self::Pipe(pipe) => pipe.clients,
            Self::Air(air) => air.clients,
        }
    }

    /// Whether each direction has a channel of its own.
    pub(super) const fn is_split(&self) -> bool {
        match self {
            Self::Pipe(pipe) => matches!(pipe.sharing, Sharing::Split { .. }),
            Self::Air(_) => false,
        }
    }
}

/// A session: clients around a forwarding server.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionSpec {
    /// The access links; clients are numbered in their order.
    pub access: Vec<AccessSpec>,
    /// Who decides the bitrates.
    pub policy: ConferenceConfig,
    /// What all clients encode with.
    pub encoder: Encoder,
    /// Congestion control of all streams.
    pub congestion: Congestion,
    /// What the server sends at most; `None` for ample.
    pub server: Option<BitRate>,
    /// One-way delay between server and access links.
    pub delay: Span,
    /// What each client counts in Plum's utility; empty for all alike.
    pub weights: Vec<f64>,
    /// How long is measured, after the warm-up.
    pub duration: Span,
    /// How long is simulated before that.
    pub warm_up: Span,
    /// From where all randomness comes.
    pub seed: u64,
}

impl SessionSpec {
    /// 120 s of which the first 5 are left out, BBR, an ample server 10 ms away (the setting of Plum's trace-driven runs, but for the
    /// delay, which is not given).
    #[must_use]
    pub fn new(access: Vec<AccessSpec>, policy: ConferenceConfig, seed: u64) -> Self {
        Self {
            access,
            policy,
            encoder: Encoder::default(),
            congestion: Congestion::Bbr,
            server: None,
            delay: Span::from_millis(10),
            weights: Vec::new(),
            duration: Span::from_secs(115),
            warm_up: Span::from_secs(5),
            seed,
        }
    }

    /// How many clients there are.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.access.iter().map(AccessSpec::clients).sum()
    }

    /// Plum's configuration, if it decides.
    #[must_use]
    pub const fn plum(&self) -> Option<&PlumConfig> {
        match &self.policy {
            ConferenceConfig::Plum(config) => Some(config),
            _ => None,
        }
    }
}

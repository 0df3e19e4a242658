//! Plum (Chen et al., "Bidirectional Bandwidth Coordination under Half-Duplex Bottlenecks for Video Streaming"): the bitrates of both
//! directions of a multi-user session, chosen so that yielding one direction's bandwidth serves the whole session.
//!
//! ```text
//!  estimates of both           obvious              targets         states I, II, III
//!  congestion controls ──► capacity ──change──► optimiser ──valid──► server gate ──► forwarding
//!        (5 s)                                      │                    │ notices (numbered, repeated)
//!                                                   └─ not: state I      ▼
//!                                                                   client gate ──► encoder
//! ```
//! `docs/understand/plum.md` lists the differences from the paper and from its public code.

mod capacity;
mod client;
mod config;
mod notice;
mod server;
mod state;

pub use capacity::BadEstimate;
pub(in crate::conference) use capacity::Capacity;
pub use client::PlumClient;
pub use config::{PlumConfig, Reading};
pub use notice::Notice;
pub(in crate::conference) use notice::Outbox;
pub use server::{ClientId, PlumServer};
pub use state::{RateGate, State};

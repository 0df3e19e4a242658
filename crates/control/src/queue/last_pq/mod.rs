//! LAST-PQ: latency-aware scheduling with two-level priority queueing (Lu et al., PerCom 2024).
//!
//! ```text
//!   demand ──▶ delay controller ──▶ mark ──▶ packet ──▶ flow queue ──┐ new, old ──▶ default order
//!                  ▲  once in a window                               │                   │
//!                  │                                                 └─ priority list    │
//!                  │                       waiting time + drain estimate > mark: urgent  │
//!   latencies ◀── reports ◀── hardware ◀──────────────── urgent flows first ◀────────────┘
//! ```
//!
//! The [`DelayController`], which computes a number, is separate from the [`LastPq`] scheduler, which enforces it.

mod auto;
mod ceiling;
mod config;
mod controller;
mod demand;
mod drain;
mod gradient;
mod mark;
pub(super) mod optional;
mod prioritised;
mod scheduler;

pub use auto::{AutoConfig, Protect};
pub use ceiling::HoldConfig;
pub use config::{Choice, LastPqConfig};
pub use controller::DelayController;
pub use demand::Demand;
pub use drain::DrainConfig;
pub use gradient::DelayConfig;
pub use mark::Mark;
pub use scheduler::LastPq;

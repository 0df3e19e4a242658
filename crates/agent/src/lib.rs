//! The access-point agent: holds packets for Wi-Fi stations in the queues of `airbound-control`, and lets go of as much as keeps
//! the kernel and the radio busy.
#![forbid(unsafe_code)]

pub mod config;
pub mod engine;
mod error;
pub mod expression;

pub use config::Config;
pub use error::AgentError;

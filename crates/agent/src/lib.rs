//! The access-point agent: holds packets for Wi-Fi stations in the queues of `airbound-control`, and releases just as many as keep the
//! kernel and the radio busy.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod config;
pub mod control;
pub mod datapath;
pub mod engine;
mod error;
pub mod expression;
pub mod http;
pub mod journal;
pub mod law;
pub mod metrics;
pub mod record;
pub mod room;
pub mod snapshot;
pub mod status;
pub mod supervise;
pub mod timeline;

pub use config::Config;
pub use error::AgentError;

//! What repairs the losses of real-time media: parity packets sent ahead, and packets sent again.

pub mod fec;
mod history;
mod nack;

pub use history::{HistoryConfig, RetransmissionHistory};
pub use nack::{NackConfig, NackRequester};

//! Real-time media: congestion control, forward error correction and retransmission.

pub mod fec;
pub mod gcc;
mod history;
mod nack;
pub mod rate;

pub use history::{HistoryConfig, RetransmissionHistory};
pub use nack::{NackConfig, NackRequester};

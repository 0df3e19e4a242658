//! Real-time media: congestion control, and the repair of losses by parity packets and retransmissions.

pub mod fec;
pub mod gcc;
mod history;
mod nack;

pub use history::{HistoryConfig, RetransmissionHistory};
pub use nack::{NackConfig, NackRequester};

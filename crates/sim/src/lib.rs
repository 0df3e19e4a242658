//! A deterministic 802.11 simulator shaped like Linux.

pub mod channel;
pub mod scenario;
pub mod trace;

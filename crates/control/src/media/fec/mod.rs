//! Forward error correction: parity packets that follow a block of media packets and stand in for lost ones.
//!
//! The core works on identities and lengths, not on bytes: which packets a parity packet covers and how long it is, and which media
//! packets are known once some of both have arrived. Whoever holds the bytes does the arithmetic along.

mod config;
mod decoder;
mod encoder;
mod layout;

pub use config::{FecConfig, FecKind};
pub use decoder::FecDecoder;
pub use encoder::{FecEncoder, MediaPacket, ParityPacket};
pub use layout::{grid, layout};

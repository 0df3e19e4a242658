//! Forward error correction: parity packets that follow a block of media packets and stand in for lost ones.
//!
//! The core works on identities and lengths, not on bytes: which packets a parity packet covers and how long it is, and which media
//! packets are known once some of both have arrived. Whoever holds the bytes does the arithmetic along: the XOR of RFC 8627 (Sec. 6)
//! or a Reed-Solomon code's.
//!
//! ```text
//!   row           0  1  2  3 ─▶ R0      each row repairs one loss, and at once
//!                 4  5  6  7 ─▶ R1
//!                 8  9 10 11 ─▶ R2      each column repairs one loss: together a burst of four
//!                 │  │  │  │
//!   column       C0 C1 C2 C3            both (two-dimensional): what a column gives back may complete a row
//! ```
//!
//! | what | source |
//! |---|---|
//! | rows, columns, grid; their headers; decoding by turns | RFC 8627 (FlexFEC), Sec. 1.1.1, 1.1.2, 1.1.4; 4.2; 6.3.4 |
//! | Reed-Solomon: any k of k + m | RFC 6865; the code itself is left to who holds the bytes |
//! | blocks of whole frames, at most two for small ones | own choice: parity of a frame leaves with it |
//! | overhead 1/8 | the setting of Law's paper (its Fig. 10) |

mod config;
mod decoder;
mod encoder;
mod layout;

pub use config::{FecConfig, FecKind};
pub use decoder::FecDecoder;
pub use encoder::{FecEncoder, MediaPacket, ParityPacket};
pub use layout::{grid, layout};

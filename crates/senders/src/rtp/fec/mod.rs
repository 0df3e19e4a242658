//! Forward error correction: parity packets that follow a block of media packets and replace lost ones.
//!
//! The core works on identities and lengths, not on bytes: it determines the packets covered by a parity packet and its length, and
//! the media packets known after the arrivals. The owner of the bytes does the arithmetic: the XOR of RFC 8627 (Sec. 6) or that of a
//! Reed-Solomon code.
//!
//! ```text
//!   row           0  1  2  3 ─▶ R0      each row repairs one loss, and at once
//!                 4  5  6  7 ─▶ R1
//!                 8  9 10 11 ─▶ R2      each column repairs one loss: together a burst of four
//!                 │  │  │  │
//!   column       C0 C1 C2 C3            both (two-dimensional): a packet rebuilt by a column may complete a row
//! ```
//!
//! | part | source |
//! |---|---|
//! | rows, columns, grid; their headers; alternating decoding | RFC 8627 (FlexFEC), Sec. 1.1.1, 1.1.2, 1.1.4; 4.2; 6.3.4 |
//! | Reed-Solomon: any k of k + m | RFC 6865; the owner of the bytes computes the code |
//! | blocks of whole frames, at most two for small ones | Airbound's choice: parity of a frame is sent with it |
//! | overhead 1/8 | the setting of Law's paper (its Fig. 10) |

mod config;
mod decoder;
mod encoder;
mod layout;

pub use config::{FecConfig, FecKind};
pub use decoder::FecDecoder;
pub use encoder::{FecEncoder, MediaPacket, ParityPacket};
pub use layout::{grid, layout};

//! The verdict of a comparison beside an answer that other code computes from other seeds, on random networks.

mod check;
mod networks;
mod oracle;

pub use check::{Network, Score, check};

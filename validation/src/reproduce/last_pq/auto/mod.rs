//! Streams that nobody named: how many of them `protect = "auto"` finds, whom it takes for one, and what that is worth.

mod households;
mod mix;

pub(super) use households::Households;

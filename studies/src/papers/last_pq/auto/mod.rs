//! Streams that nobody named: how many of them `protect = "auto"` finds, whom it takes for one, and what that is worth.

mod home;
mod households;
mod mix;
mod ways;

pub(super) use home::Home;
pub(super) use households::Households;

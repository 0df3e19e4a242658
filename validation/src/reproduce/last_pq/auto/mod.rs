//! Streams that nobody named: how many of them `protect = "auto"` finds, and what that is worth.

mod mix;

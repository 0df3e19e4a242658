//! Under construction in this commit series.

pub mod sender;

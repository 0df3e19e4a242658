//! Behaviour of a link: calls, errors, places, determinism.
#![allow(clippy::print_stdout, reason = "the examples print")]

mod calls;
mod delays;
mod page;
#[path = "../examples/places.rs"]
#[allow(dead_code, reason = "its main")]
mod table;

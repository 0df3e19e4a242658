//! The tests of scenarios: one program, which links once.

mod errors;
mod mistakes;
mod near_words;
mod pairs;
mod radio;
mod round_trip;
mod senders;
mod sentence;
mod shipped;

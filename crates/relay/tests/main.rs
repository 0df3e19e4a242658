//! The tests of the relay: one program, which links once.

mod allocation;
mod ends;
mod fuzz;
mod monitor;
mod program;
mod send_times;
mod streamer;
mod world;

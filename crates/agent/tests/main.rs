//! The tests of the agent: one program, which links once.

mod closed_loop;
mod engine_ops;

//! The tests of the air: one program, which links once.

mod channel_loop;
mod channel_ops;
mod partial_loop;

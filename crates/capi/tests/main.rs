//! The tests of the C interface: one program, which links once. A test that measures its process has a program of its own (`Cargo.toml`).

mod calls;
mod interface;
mod programs;
mod toolchain;

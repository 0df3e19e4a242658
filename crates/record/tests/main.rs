//! The tests of the records: one program, which links once. A test that measures its process has a program of its own (`Cargo.toml`).

mod damaged;
mod example;
mod latency;
mod roundtrip;
mod summary;

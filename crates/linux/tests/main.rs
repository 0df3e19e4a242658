//! The tests of the Linux interfaces: one program, which links once.

#[cfg(target_os = "linux")]
mod bed;
mod held_packets;
mod packets;
mod wifi;

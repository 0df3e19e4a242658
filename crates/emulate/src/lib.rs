//! Real applications over modelled Wi-Fi, in real time.
//!
//! Each host has a network namespace with a TUN device. This process reads the packets of all devices, sends them through the
//! [simulation](airbound_sim::Run), whose clock is the machine's, and writes each one when the simulation delivers it. Everything else of the
//! scenario goes on as simulated traffic.
//!
//! | module | content |
//! |---|---|
//! | [`hosts`], [`names`] | names, addresses and files of hosts, and their name server |
//! | [`slots`], [`lanes`] | connections and the flows that carry them |
//! | [`port`] | where packets of a host leave and arrive |
//! | [`load`] | whether the machine can carry the scenario |
//! | [`between`] | between two devices of this machine in place of hosts |
//! | [`bridge`], [`clock`], [`rest`] | the loop between devices and simulation, its clock, and its sleep |
//! | [`lateness`], [`machine`] | how exactly it kept its times, and what the machine did meanwhile |
//! | [`command`] | commands on hosts |
//! | [`enter`] | a command beside those of a running emulation |
//!
//! [`Emulation::prepare`] makes the namespaces, before any thread is started; [`Emulation::run`] does the rest.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod between;
pub mod bridge;
pub mod clock;
pub mod command;
mod emulation;
pub mod enter;
mod error;
pub mod hosts;
mod jobs;
pub mod lanes;
pub mod lateness;
pub mod load;
pub mod machine;
pub mod names;
pub mod port;
mod request;
pub mod rest;
pub mod slots;

pub use emulation::{Class, Emulation, Finished, Status, Stop};
pub use error::EmulateError;
pub use request::{HostCommand, Request, without};

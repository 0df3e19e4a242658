//! Airbound's access to Linux. It provides mechanisms; the agent has the policies.
//!
//! | module | content |
//! |---|---|
//! | [`nfqueue`] | holding packets, and releasing them in any order |
//! | [`nftables`] | the rules that send packets to the queue |
//! | [`packet`], [`fragments`] | reading of packet headers: addresses, flow, access category |
//! | [`nl80211`] | Wi-Fi interfaces, stations, counters, settings |
//! | [`completions`] | completed frames: eBPF, or counters where that is not available |
//! | [`interface`], [`neighbours`], [`monitor`] | interfaces, stations of IP addresses, notifications of changes |
//! | [`namespace`], [`tun`] | processes in networks of their own, the devices between them |
//! | [`captures`], [`radiotap`] | what arrives at an interface, frames of a monitor interface |
//! | [`segments`] | TCP segments that pass such a device as one packet |
//! | [`internet`] | their way out |
//! | [`udp`], [`qdisc`] | UDP in batches, with receive stamps and times of sending |
//! | [`pings`] | round trips without privileges, the gateway |
//! | [`service`] | a journal's file, metrics over HTTP |
//! | [`privileges`] | dropping capabilities, reading trusted files |
//! | [`probe`] | features of this kernel and driver, with evidence |
//!
//! All times are of one clock, [`now`]. The parsers of messages and packets check all bounds; they are pure and fuzzed. `sys.rs`, with its
//! module `udp`, is the only one with unsafe code.
#![cfg(target_os = "linux")]

mod address;
mod bpf;
pub mod captures;
pub mod completions;
mod error;
pub mod forward;
pub mod fragments;
pub mod interface;
pub mod internet;
pub mod monitor;
pub mod namespace;
pub mod neighbours;
mod netlink;
pub mod nfqueue;
pub mod nftables;
pub mod nl80211;
pub mod packet;
pub mod pings;
pub mod privileges;
pub mod probe;
pub mod qdisc;
pub mod radiotap;
pub mod segments;
pub mod service;
mod sys;
pub mod tun;
pub mod udp;

pub use address::{MacAddress, ParseMacAddressError};
pub use error::LinuxError;

use airbound_units::Instant;

/// The time since boot, without suspend (CLOCK_MONOTONIC): the clock of all timestamps of this crate, those of eBPF included.
#[must_use]
pub fn now() -> Instant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    Instant::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

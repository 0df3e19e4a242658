//! Airbound's access to Linux. It decides nothing: the agent does.
//!
//! | module | what it does |
//! |---|---|
//! | [`nfqueue`] | holds packets, and releases them in any order |
//! | [`nftables`] | the rules that send packets there |
//! | [`packet`] | what a packet's first bytes tell: addresses, flow, access category |
//! | [`nl80211`] | Wi-Fi interfaces, stations, counters, settings |
//! | [`completions`] | what left the radio: eBPF, or counters where that cannot be had |
//! | [`interface`], [`neighbours`], [`monitor`] | interfaces, which station has an address, and what changes |
//! | [`privileges`] | giving up what is not needed |
//! | [`probe`] | what this kernel and this driver offer, and how that was found out |
//!
//! All times are of one clock, [`now`]. What the kernel and the network send is read with bounds; its parsers are pure and fuzzed.
//! `sys.rs` is the one file with unsafe code.
#![cfg(target_os = "linux")]

mod address;
mod bpf;
pub mod completions;
mod error;
pub mod interface;
pub mod monitor;
pub mod neighbours;
mod netlink;
pub mod nfqueue;
pub mod nftables;
pub mod nl80211;
pub mod packet;
pub mod privileges;
pub mod probe;
mod sys;

pub use address::{MacAddress, ParseMacAddressError};
pub use error::LinuxError;

use airbound_units::Instant;

/// The time since the machine started, without time asleep (CLOCK_MONOTONIC): the clock of every time stamp in this crate, eBPF's too.
#[must_use]
pub fn now() -> Instant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    Instant::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

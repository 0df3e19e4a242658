//! A WebRTC room that explains its decisions, and the allocator behind it for other servers.
//!
//! | module | content |
//! |---|---|
//! | [`session`] | a room over connections of str0m, without sockets or a clock |
//! | [`driver`] | one thread and one UDP socket for a room |
//! | [`web`] | the page and its requests: tokens, origins, limits |
//! | [`ice_server`] | STUN and TURN servers for clients |
//! | [`allocator`] | rooms behind lines of JSON, for servers of others |
//! | [`bitrate`] | the bitrate of a host of games, set from beside it |
//! | [`synthetic`] | participants without a browser, for tests and the demonstration |
//! | [`runner`] | such participants of a running room, over its page |
//! | [`link`] | a shaped half-duplex link |
//! | [`demo`] | the demonstration |
//!
//! Decisions are those of `airbound_senders::conference::room`; this crate carries them out.

pub mod allocator;
mod arrivals;
pub mod bitrate;
pub mod demo;
mod dependency;
pub mod driver;
mod forward;
mod h264;
pub mod http;
pub mod ice_server;
mod joining;
mod layers;
pub mod link;
pub mod message;
mod offer;
mod peer;
mod records;
pub mod runner;
pub mod session;
pub mod synthetic;
pub mod token;
mod vp8;
mod vp9;
mod waiting;
pub mod web;

/// Chooses the cryptography of all connections of this process. Call once before the first room.
pub fn prepare() {
    str0m::crypto::from_feature_flags().install_process_default();
}

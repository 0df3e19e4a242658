//! What decides: the queues and rate controls of Airbound, as pure state machines.
//!
//! # The contract of a core
//!
//! A controller is a plain struct. A `Config` (read by serde, unknown fields refused, every value checked when the
//! controller is built) makes it; `on_…(now, observation)` feeds it; `next_…(now)` or a returned value is its
//! decision; `next_deadline()` names the instant at which it wants to be called again if nothing else happens.
//! It reads no clock, draws no random number of its own, does no I/O, and never panics, whatever the order of
//! calls: time that runs backwards is treated as time that stands still.
//!
//! # How the parts fit
//!
//! ```text
//!  packets ──▶ Link::enqueue ─▶ Queue ──select, dequeue──▶ Link::next ─▶ TxDescriptor ─▶ hardware
//!                                 ▲                            ▲                        │
//!                                 │ airtime, backlog           │ RateControl::chain     │
//!                                 └──────────── Link::on_report ◀───── TxReport ────────┘
//! ```
//!
//! Every transmitter has one [`link::Link`]: it answers what is sent next, and how. [`link::Composed`] makes a link of any
//! [`queue::Queue`] and any [`rate::RateControl`].

pub mod classify;
pub mod error;
pub mod frame;
pub mod link;
pub mod queue;
pub mod rate;

pub use error::ConfigError;

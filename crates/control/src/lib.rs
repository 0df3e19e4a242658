//! Decisions of a Wi-Fi transmitter: queues, rate controls and links as pure state machines.
//!
//! # Contract of a core
//!
//! A controller is a plain struct. A `Config` (read by serde, unknown fields refused, every value checked when the
//! controller is built) makes it; `on_…(now, observation)` feeds it; `next_…(now)` or a returned value is its
//! decision; `next_deadline()` names the instant at which it wants to be called again if nothing else happens.
//! It reads no clock, draws no random number of its own, does no I/O, and never panics, whatever the order of
//! calls: time that runs backwards is treated as time that stands still.
//!
//! # Structure
//!
//! ```text
//!  packets ──▶ Link::enqueue ─▶ Queue ──select, dequeue──▶ Link::next ─▶ TxDescriptor ─▶ hardware
//!                                 ▲                            ▲                        │
//!                                 │ airtime, backlog           │ RateControl::chain     │
//!                                 └──────────── Link::on_report ◀───── TxReport ────────┘
//! ```
//!
//! Every transmitter has one [`link::Link`], which decides what is sent next, and how. [`link::Composed`] makes a link of
//! any [`queue::Queue`] and any [`rate::RateControl`].
//!
//! ```
//! use airbound_control::frame::{FlowId, PlainPacket, StationId};
//! use airbound_control::link::{Composed, Link, LinkConfig, Room};
//! use airbound_control::queue::{AnyQueue, QueueConfig};
//! use airbound_control::rate::{Capabilities, RateConfig};
//! use airbound_units::{Instant, Span};
//! use airbound_wifi::edca::Category;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let queue: AnyQueue<PlainPacket> = QueueConfig::default().build(1)?;
//! let rate = RateConfig::default().build(&Capabilities::default(), 1)?;
//! let mut link = Composed::<_, _, AnyQueue<PlainPacket>, _>::new(queue, None, rate, LinkConfig::default());
//!
//! let (now, mut dropped) = (Instant::ZERO, Vec::new());
//! link.enqueue(now, PlainPacket::new(StationId(0), FlowId(7)), &mut dropped);
//! let room = Room { category: Category::Be, max_duration: Span::from_millis(4) };
//! let descriptor = link.next(now, room, &mut dropped).ok_or("a packet waits")?;
//! assert_eq!((descriptor.station, descriptor.mpdus.len()), (StationId(0), 1));
//! # Ok(())
//! # }
//! ```

pub mod classify;
pub mod error;
pub mod frame;
pub mod link;
pub mod queue;
pub mod rate;

pub use error::ConfigError;

//! Wi-Fi for tests: a simulated 802.11 network as a link between a server and a station.
//!
//! Packets go in with the caller's time and come out at the other end when the network has carried them, beside the simulated traffic
//! of a household, an office or a hotel: queues, aggregates, collisions, rate control, fading, power save. A [`Link`] has no clock, no
//! socket, no thread; the same calls with the same seed give the same bytes on every machine. Time is a [`Duration`](std::time::Duration)
//! since the start of the test: virtual, or that of [`Instant::elapsed`](std::time::Instant::elapsed).
//!
//! ```
//! use airbound_link::{Direction, Link};
//! use std::time::Duration;
//!
//! let mut link = Link::named("my-flat")?;
//! let mut delays = Vec::new();
//! for packet in 0..50 {
//!     let now = Duration::from_millis(20 * packet);
//!     link.push(now, Direction::Down, vec![0; 1000])?;
//!     delays.extend(link.take(now)?.iter().map(|arrival| arrival.at - arrival.sent));
//! }
//! while let Some(next) = link.next_event() {
//!     delays.extend(link.take(next)?.iter().map(|arrival| arrival.at - arrival.sent));
//! }
//! assert_eq!(delays.len(), 50);
//! assert!(delays.iter().all(|delay| *delay > Duration::from_millis(8)), "the wire alone takes 8 ms");
//! # Ok::<(), airbound_link::LinkError>(())
//! ```
//!
//! [`places`] lists the places; [`LinkConfig`] chooses seed, scheme and demand, or a scenario file of one's own. `docs/use/link.md` has
//! the delays of all places.

mod config;
mod error;
mod link;
mod place;

pub use config::LinkConfig;
pub use error::LinkError;
pub use link::{Arrival, Counts, Direction, LARGEST, Link, MTU, OVERHEAD};
pub use place::{Place, places};

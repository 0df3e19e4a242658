//! The protocol between an edge and its clients, sans-I/O: no clock, socket, thread or randomness of its own.
//!
//! ```text
//!  backend ──enqueue──► Edge ──transmit──► datagrams ──air──► Client ──delivered──► application
//!     ▲                  │ ▲                                   │ ▲                       │
//!     └────delivered─────┘ └──── receive ◄──── datagrams ◄─────┘ └───────enqueue─────────┘
//! ```
//! An end is fed with what happens (`receive`, `enqueue`, `tick`) and drained (`transmit`, `event`) until it names its next deadline.
//!
//! | file | holds |
//! |---|---|
//! | `wire` | the header of 28 B, kinds of packets |
//! | `key` | keys, tags, derived keys |
//! | `hello` | the handshake's two messages |
//! | `session` | keys of one handshake; sealing and opening |
//! | `replay` | the replay window |
//! | `path` | the peer's address, its changes, what may be sent before it is proven |
//! | `monitor` | captured frames as observations |
//! | `mtu` | the largest datagram that the path carries (RFC 8899) |
//! | `halves` | datagrams that are larger than the path carries |
//! | `queue` | a client's queue under CoDel (RFC 8289) |
//! | `link` | all of these for one peer |
//! | `entropy` | unpredictable bytes from a seed |
//! | `edge`, `edge_config`, `lane` | the edge: clients, queues, shares of the air |
//! | `client` | the client: handshake, sensing, reports |
//! | `event` | what happened, and why |

mod client;
mod edge;
mod edge_config;
mod entropy;
mod event;
mod halves;
mod hello;
mod key;
mod known;
mod lane;
mod link;
mod monitor;
mod mtu;
mod path;
mod queue;
mod replay;
mod session;
mod wire;

pub use client::{Client, ClientConfig, ClientCounts};
pub use edge::Edge;
pub use edge_config::{ClientId, ClientKey, EdgeConfig, EdgeCounts};
pub use entropy::Entropy;
pub use event::{Event, Gone};
pub use hello::{Answer, HELLO_LENGTH, Hello};
pub use key::{Key, KeyError, KeyId};
pub use lane::ClientRow;
pub use link::Transmit;
pub use monitor::{Monitor, Ppdu};
pub use mtu::{LARGEST_DATAGRAM, SMALLEST_DATAGRAM};
pub use replay::{ReplayWindow, WINDOW};
pub use wire::{HEADER, Header, Kind};

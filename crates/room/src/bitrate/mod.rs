//! The bitrate of a host of games, set from beside it: the routes that Foundation Sunshine and Vibepollo have for their clients.
//!
//! | file | content |
//! |---|---|
//! | `wire` | one request over TLS with the client's certificate, or to a loopback address without |
//! | `host` | `/bitrate`, `/api/abr` and `/api/abr/capabilities` of a host |
//! | `answers` | the same routes and `/api/abr/feedback`, answered here |
//! | `relay` | the rate that a relay's edge allocates to a station |
//! | `session` | one stream: decisions, the host that carries them out, the journal |
//!
//! Routes and fields are those of `AlkaidLab/foundation-sunshine` d2bf1d5f (20 May 2026) and `Nonary/Vibepollo` e1dd3091 (20 August 2026),
//! both in `src/nvhttp.cpp`. Decisions are those of [`airbound_senders::bitrate`].

mod answers;
mod host;
mod relay;
mod session;
mod wire;

pub use answers::Service;
pub use host::{Capabilities, Host, HostError};
pub use relay::{Relay, RelayError};
pub use session::{Journal, Session, Source};
pub use wire::{Address, AddressError, Identity, WireError};

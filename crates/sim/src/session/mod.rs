//! Multi-user video sessions: clients around a forwarding server, each behind an access link of its own or sharing one.
//!
//! A session is simulated beside the networks of [`crate::run`], with the same TCP, traces and units. `docs/plum.md` holds the model and
//! its limits.

mod access;
mod air;
mod config;
mod forward;
mod measure;
mod parcel;
mod pipe;
mod policy;
mod run;
mod saturated;
mod scenario;
mod stream;

pub use config::{AccessSpec, AirSpec, PipeSpec, SessionSpec, Sharing};
pub use measure::{ClientOutcome, SessionOutcome};
pub use run::Session;
pub use scenario::SessionRun;

//! A deterministic simulator of 802.11 networks, shaped like Linux.
//!
//! A [`airbound_scenario::Scenario`] describes the simulation; [`run::Run`] executes it with one scheme and one seed. The same scenario
//! and seed give the same bytes on every machine. `docs/understand/simulator.md` has the model and its limits.

mod agenda;
mod blueprint;
mod build;
pub mod conference;
mod endpoint;
mod episode;
mod error;
mod flow;
mod ingress;
mod link;
mod live;
mod measure;
mod member;
mod network;
mod networks;
mod outcome;
mod outside;
mod packet;
pub mod path;
mod plugins;
mod population;
pub mod run;
mod session;
mod site;
mod snapshot;
mod topology;
mod world;

pub use error::BuildError;

pub use endpoint::{Counts, Endpoint, Outbox, Outgoing, Passed, Reception, Timer};
pub use episode::{Decision, Episode, EpisodeError, GAUGES, GREATEST, Knob};
pub use live::{Fate, Live};
pub use measure::{Event, Events, ExchangeView, MpduView, NoObserver, Observer};
pub use network::Imbalance;
pub use outcome::Outcome;
pub use packet::{Header, Kind, Packet};
pub use plugins::{MakeEndpoint, Plugin, Plugins, Reach};
pub use run::Run;
pub use session::play;
pub use site::{Make, Site};
pub use snapshot::{Snapshot, VideoSnapshot};

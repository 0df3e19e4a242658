//! A deterministic simulator of 802.11 networks, shaped like Linux.
//!
//! A [`scenario::Scenario`] says what is simulated; [`run::Run`] simulates it with one scheme and one seed. The same scenario and
//! seed give the same bytes on every machine. `docs/simulator.md` holds the model and its limits.

pub mod scenario;

mod agenda;
mod build;
mod endpoint;
mod engine;
mod flow;
mod link;
mod live;
mod measure;
mod networks;
mod packet;
pub mod path;
pub mod pcap;
mod plugins;
mod population;
mod recording;
pub mod run;
mod snapshot;
mod topology;

pub use build::BuildError;
pub use endpoint::conference;
pub use endpoint::{Counts, Endpoint, Outbox, Outgoing, Reception, Timer};
pub use engine::Imbalance;
pub use live::{Fate, Live};
pub use measure::{Event, Events, ExchangeView, MpduView, NoObserver, Observer};
pub use packet::{Header, Kind, Packet};
pub use plugins::{Make, Plugin, Plugins, Site};
pub use recording::Recording;
pub use run::{Outcome, Run};
pub use snapshot::{Snapshot, VideoSnapshot};

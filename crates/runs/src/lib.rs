//! From a scenario to a folder: single runs, comparisons, sweeps, the choice of a bound for Law.
//!
//! [`Opened`] is a scenario that was asked for, [`Named`] a scheme, perhaps with plugins of one's own in its slots. A [`RunRequest`]
//! leaves one run in a folder, a [`Matrix`] several schemes and seeds with their report, a [`sweep`] a data set; a [`BoundRequest`]
//! chooses Law's latency bound, [`plan`] answers whether demands can be met; [`experiment`] makes runs that leave no folder. All are
//! built before anything is written, run on one pool ([`jobs`]), tell a [`Watch`] how far they are,
//! and end when it says so. `examples/own_queue.rs` compares a queue of one's own with those of this program.
//!
//! ```
//! use airbound_runs::{Matrix, Opened};
//! use airbound_scenario::Overrides;
//!
//! let opened = Opened::by_name("hello", &Overrides::from_pairs(&[("duration", "100 ms")]))?;
//! let schemes = opened.schemes(&["fifo", "linux"])?;
//! let folder = tempfile::tempdir()?;
//! let finished = Matrix::of(&opened, schemes).run(&opened, 2, &folder.path().join("results"), &())?;
//! assert_eq!(finished.summaries.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod advised;
pub mod arena;
mod bound;
mod choice;
mod error;
pub mod experiment;
mod facts;
pub mod folder;
pub mod jobs;
mod law_bound;
mod log_size;
mod matrix;
mod opened;
pub mod output;
mod paced;
mod packets;
mod pcap;
mod performance;
pub mod plan;
mod recording;
mod request;
pub mod sweep;
mod watch;
mod why;

pub use bound::{BoundRequest, BoundTrial, ChosenBound};
pub use error::RunsError;
pub use facts::{facts, facts_of};
pub use law_bound::{BoundError, BoundInterval, Threshold};
pub use log_size::packet_log_size;
pub use matrix::{Finished, Matrix};
pub use opened::{Named, Opened};
pub use paced::{AirCapture, BuiltRun, PacedRun};
pub use packets::{DeliveredPacket, Late, LateFlow, Links, Packets, links};
pub use pcap::{Contents, PreparedCapture, find_frame};
pub use request::{RunRequest, encoding};
pub use watch::{Step, Watch};

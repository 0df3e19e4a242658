//! Record of a run: a folder with the resolved scenario, a summary, and tables in Parquet.
//!
//! [`Recorder`] takes rows during a run and writes them in bounded memory; [`RunFolder`] gives access to the files of a finished run;
//! [`TableReader`] reads its tables row by row. docs/reference/file-formats.md describes the files. Without the
//! feature `files`, on by default, rows, distributions and summaries are all that there is, and neither Parquet nor JSON is linked.

#[cfg(feature = "files")]
mod column;
mod counts;
mod emulation;
#[cfg(feature = "files")]
mod encoder;
#[cfg(feature = "files")]
mod error;
#[cfg(feature = "files")]
pub mod files;
#[cfg(feature = "files")]
mod folder;
mod info;
mod latency;
#[cfg(feature = "files")]
mod lock;
mod number;
#[cfg(feature = "files")]
mod reader;
#[cfg(feature = "files")]
mod recorder;
mod rows;
mod split;
mod stage;
mod summary;
#[cfg(feature = "files")]
mod table;

pub use emulation::{ApplicationFlow, EmulationSummary, Lateness};
#[cfg(feature = "files")]
pub use error::RecordError;
#[cfg(feature = "files")]
pub use folder::{Existing, RunFolder};
pub use info::{RunInfo, SCHEMA_VERSION};
pub use latency::{FlowLatency, LatencyHistogram, Resolution};
#[cfg(feature = "files")]
pub use lock::FolderLock;
pub use number::{SIGNIFICANT_DIGITS, rounded};
#[cfg(feature = "files")]
pub use reader::{TableReader, find_hops, find_packet};
#[cfg(feature = "files")]
pub use recorder::{Encoding, Recorder, Tables};
pub use rows::{
    Component, DistributionRow, Fate, FrameFate, FrameRow, HopRow, PacketRow, PacketWay, SenderRow,
    SeriesRow, TxopKind, TxopRow,
};
pub use split::{Moments, Split};
pub use stage::Stage;
pub use summary::{
    AirSummary, ConferenceSummary, DemandSummary, Direction, FlowSummary, FoundSummary, FrameCounts, Jain,
    LatencyStats, NetworkSummary, PacketCounts, Performance, RtcSummary, Scheme, SentRates, StationSummary,
    Summary, UserSummary,
};
#[cfg(feature = "files")]
pub use table::Row;

//! Record of a run: a folder with the resolved scenario, a summary, and tables in Parquet.
//!
//! [`Recorder`] takes rows during a run and writes them in bounded memory; [`RunFolder`] gives access to the files of a finished run;
//! [`TableReader`] reads its tables row by row. docs/reference/file-formats.md describes the files.

mod column;
mod counts;
mod emulation;
mod encoder;
mod error;
pub mod files;
mod folder;
mod info;
mod latency;
mod lock;
mod number;
mod reader;
mod recorder;
mod rows;
mod split;
mod stage;
mod summary;
mod table;

pub use emulation::{ApplicationFlow, EmulationSummary, Lateness};
pub use error::RecordError;
pub use folder::{Existing, RunFolder};
pub use info::{RunInfo, SCHEMA_VERSION};
pub use latency::{FlowLatency, LatencyHistogram, Resolution};
pub use lock::FolderLock;
pub use number::{SIGNIFICANT_DIGITS, rounded};
pub use reader::{TableReader, find_hops, find_packet};
pub use recorder::{Encoding, Recorder, Tables};
pub use rows::{
    Component, DistributionRow, Fate, FrameFate, FrameRow, HopRow, PacketRow, PacketWay, SeriesRow, TxopKind,
    TxopRow,
};
pub use split::{Moments, Split};
pub use stage::Stage;
pub use summary::{
    AirSummary, ConferenceSummary, DemandSummary, Direction, FlowSummary, FoundSummary, FrameCounts, Jain,
    LatencyStats, NetworkSummary, PacketCounts, Performance, RtcSummary, Scheme, SentRates, StationSummary,
    Summary, UserSummary,
};
pub use table::Row;

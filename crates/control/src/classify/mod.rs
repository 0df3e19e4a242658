//! The flow pattern classifier: which flows are low-latency elephants, judged by when their packets come and nothing else.
//!
//! A video stream that somebody waits for (VR, a cloud game, a remote desktop) is bound to a clock: a renderer makes a frame at every
//! tick, and sends it at once. Its bursts therefore begin at multiples of one period, however long each is, however many
//! are left out, and an error of one is not handed on to the next. Bulk TCP is clocked by its acknowledgements: its gaps may
//! look alike, but each begins where the last ended, so that the phase walks away. What a clock does not drive shows no phase at
//! all, or has none of the rate or the period that is asked for.
//!
//! ```text
//!  packet ──▶ rate, bursts of the flow ──▶ every eighth of a window: rhythm of the burst starts ──▶ hysteresis ──▶ found, lost
//!                                                                    (Z² over frame rates)              with the reasons
//! ```
//!
//! It is fed with arrivals at one queue, and needs no header beyond what makes a flow.
//!
//! [`BulkDetector`] finds the opposite, transfers that fill the queue, by what becomes of their packets as well.

mod bulk;
mod classifier;
mod config;
mod history;
mod pattern;
mod rhythm;

pub use bulk::{BulkConfig, BulkDetector, Verdict};
pub use classifier::{Change, FlowClassifier};
pub use config::ClassifierConfig;
pub use pattern::Pattern;

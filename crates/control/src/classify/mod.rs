//! The flow pattern classifier: finds low-latency elephants by the arrival times of their packets alone.
//!
//! An interactive video stream (VR, a cloud game, a remote desktop) is bound to a clock: a renderer makes a frame at every tick and
//! sends it at once. Its bursts therefore begin at multiples of one period, however long each burst is and however many are left out,
//! and the error of one is not carried over to the next. Bulk TCP is clocked by its acknowledgements: its gaps may look alike, but
//! each begins where the last ended, so that the phase drifts. A flow without a clock shows no phase at all, or has neither the
//! required rate nor the required period.
//!
//! ```text
//!  packet ──▶ rate, bursts of the flow ──▶ every eighth of a window: rhythm of the burst starts ──▶ hysteresis ──▶ found, lost
//!                                                                    (Z² over frame rates)              with the reasons
//! ```
//!
//! It observes arrivals at one queue, and needs no header beyond those that identify a flow.
//!
//! [`BulkDetector`] finds the opposite, transfers that fill the queue; it also uses the fate of their packets.

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

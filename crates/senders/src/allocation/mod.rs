//! Low-delay rate allocation: controls the sender's rate by the aggregation level seen by the receiver.
//!
//! Gringoli and Leith, "Low Delay Rate Allocation in WLANs Using Aggregation". An access point aggregates the packets queued for a
//! station, so the number of packets in a frame indicates the queue. Holding that number at a target keeps the queue short.
//!
//! ```text
//!  proxy                        access point          air           station
//!  RateAllocator ── x_i ──► paced packets ──► queue ──► A-MPDUs ──► FrameSensor   packets with timestamps become frames
//!       ▲                                                              │ every slot: mean level, mean PHY rate
//!       └──────────────── Report, at most 60 B ◄──────── uplink ◄──────┘
//! ```
//!
//! | file | holds |
//! |---|---|
//! | `grouping` | grouping of packets into frames by exact or jittered timestamps |
//! | `sensing` | frames, losses and retransmissions; averages over a slot |
//! | `counts` | missing numbers and rates of a slot in bounded memory |
//! | `report` | the message to the proxy |
//! | `uplink` | the client's uplink: bunches, and the rest of its report |
//! | `stream` | the allocator's state of one direction of one station |
//! | `control` | joining and leaving stations, reports and deadlines; rates from feedback (algorithms 1 and 2) and from the model |
//! | `start` | from cold to the target by inverting the model |
//! | `overload` | the limit of a live stream whose queue grows |
//! | `bottleneck` | whether the WLAN or the wire limits a station |
//! | `model` | equations 7 and 8, lemmas 1 and 2, the rate region, theorem 1, stability |
//! | `optimum` | the exact optimum of problem P |
//! | `dual` | the dual ascent of Sec. 5.2 |
//!
//! All parts are sans-I/O and give the same results on every machine. `docs/understand/low-delay-rate-allocation.md` has the
//! derivations.

mod bottleneck;
mod config;
mod control;
mod counts;
mod dual;
mod grouping;
mod hold;
mod model;
mod optimum;
mod overload;
mod report;
mod sensing;
mod start;
mod stream;
mod uplink;

pub use bottleneck::{Bottleneck, BottleneckDetector};
pub use config::{AllocationConfig, Form, SensorConfig, Share, Stamps, Start};
pub use control::RateAllocator;
pub use dual::DualAscent;
pub use grouping::Grouping;
pub use model::{Downlink, Regulated};
pub use optimum::{Optimum, Utility};
pub use report::{REPORT_LENGTH, Report, ReportError};
pub use sensing::{Frame, FrameSensor, Observation};
pub(crate) use stream::moved;
pub use stream::{Allocation, Direction, ReceiverId};
pub use uplink::UplinkShaper;

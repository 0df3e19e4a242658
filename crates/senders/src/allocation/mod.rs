//! Low-delay rate allocation: the sender's rate from the aggregation level that the receiver sees.
//!
//! Gringoli and Leith, "Low Delay Rate Allocation in WLANs Using Aggregation". An access point aggregates what waits for a
//! station, so the number of packets in a frame tells how much waited. Who holds that number at a target holds the queue short.
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
//! | `grouping` | which packets came in one frame, from exact or from jittered timestamps |
//! | `sensing` | frames, losses and retransmissions; averages over a slot |
//! | `report` | what travels to the proxy |
//! | `uplink` | what a client does for its uplink: bunches, and the rest of its report |
//! | `stream` | one direction of one station, as the allocator sees it |
//! | `control` | algorithms 1 and 2, the distributed form, stations that come and go |
//! | `start` | from cold to the target by inverting the model |
//! | `bottleneck` | whether the WLAN or the wire limits a station |
//! | `model` | equations 7 and 8, lemmas 1 and 2, the rate region, theorem 1, stability |
//! | `optimum` | the exact optimum of problem P |
//! | `dual` | the dual ascent of Sec. 5.2 |
//!
//! Everything here is sans-I/O and gives the same answers on every machine. `docs/understand/low-delay-rate-allocation.md` has the
//! derivations.

mod bottleneck;
mod config;
mod control;
mod dual;
mod grouping;
mod hold;
mod model;
mod optimum;
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
pub use stream::{Allocation, Direction, ReceiverId};
pub use uplink::UplinkShaper;

//! Open-loop traffic: sources that are independent of the network.
//!
//! | type | content |
//! |---|---|
//! | [`Source`] | datagrams at constant or exponential intervals, in bursts of video frames, or as recorded |
//! | [`Application`] | an application that writes to a TCP connection: bulk, paced, transfers, video frames |
//! | [`FrameSizes`] | the distribution of video frame sizes |
//! | [`Schedule`] | the sources of a flow, by its seed and number |
//! | [`Encoder`] | a video encoder whose frames follow a target rate |
//!
//! ```
//! use airbound_traffic::Source;
//! use airbound_units::{BitRate, ByteCount, Instant, Span};
//!
//! let rhythm = Source::constant(BitRate::from_mbps(1), ByteCount::new(1250));
//! let stop = Instant::ZERO + Span::from_millis(25);
//! let source = Source::new(ByteCount::new(1278), Instant::ZERO, stop, rhythm);
//! let sent: Vec<u64> = source.map(|departure| departure.at.as_nanos() / 1_000_000).collect();
//! assert_eq!(sent, [0, 10, 20]);
//! ```

mod application;
mod encoder;
mod frames;
mod replay;
mod schedule;
mod source;

pub use application::{Application, PendingFrame, SkippedFrame, Transfer, Video, Write};
pub use encoder::{EncodedFrame, Encoder, EncoderConfig};
pub use frames::FrameSizes;
pub use replay::{Recording, Replay};
pub use schedule::{FrameLaw, Schedule, UDP_HEADERS};
pub use source::{Bursts, Departure, Distance, FrameStart, Rhythm, Source, spells};

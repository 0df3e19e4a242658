//! Open-loop traffic: sources that follow a law of their own and react to nothing that the network does.
//!
//! | type | content |
//! |---|---|
//! | [`Source`] | datagrams at constant or exponential distances, or in bursts of video frames |
//! | [`Application`] | the writer of a TCP connection: bulk, paced, transfers, video frames |
//! | [`FrameSizes`] | the law of video frame sizes |
//! | [`Schedule`] | the sources of a flow, as its seed and number decide them |
//! | [`Encoder`] | an encoder whose frames follow the rate that it is asked for |
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
mod schedule;
mod source;

pub use application::{Application, PendingFrame, SkippedFrame, Transfer, Video, Write};
pub use encoder::{EncodedFrame, Encoder, EncoderConfig};
pub use frames::FrameSizes;
pub use schedule::{FrameLaw, Schedule, UDP_HEADERS};
pub use source::{Bursts, Departure, Distance, FrameStart, Rhythm, Source, spells};

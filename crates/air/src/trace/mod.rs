//! Measured traces: bandwidth over time, opportunities to deliver a packet, signal-to-noise ratio over time.
//!
//! | format | a line | from |
//! |---|---|---|
//! | bandwidth | `time/s bandwidth/(Mbit/s) [RTT] [loss]` | Zhuge's, Hairpin's and Plum's Wi-Fi traces |
//! | mahimahi | `time/ms`, at which 1500 B may be delivered | mahimahi's `mm-link` |
//! | snr | `time/s,ratio/dB` | any radio |
//!
//! Cells are separated by commas, or by blanks and tabs. A header, also behind `#`, names the quantity; without one, cells between
//! blanks are bandwidths, and those between commas are refused unless the format is chosen. A first column without a name, as pandas
//! and R write it, is skipped.
//!
//! Time starts at that of the first line. A value holds until the time of the next line; gaps of up to 10.5 s in the restaurant traces
//! keep the previous value. RTT and loss do not move the link, since they are properties of the measured connection, queueing
//! included ([`Beside`]).

mod bandwidth;
mod capacity;
mod error;
mod format;
mod opportunity;
mod phy_rate;
mod read;
mod snr;
mod steps;
mod table;

pub use bandwidth::{BandwidthCursor, BandwidthTrace, Beside};
pub use capacity::Capacity;
pub use error::TraceError;
pub use format::Format;
pub use opportunity::OpportunityTrace;
pub use phy_rate::{PhyQuality, Saturation};
pub use read::LARGEST_FILE;
pub use snr::{SnrCursor, SnrTrace};

/// A trace of any format.
#[derive(Debug, Clone, PartialEq)]
pub enum Trace {
    /// Bandwidth over time.
    Bandwidth(BandwidthTrace),
    /// Opportunities to deliver a packet.
    Opportunities(OpportunityTrace),
    /// Signal-to-noise ratio over time.
    Snr(SnrTrace),
}

impl Trace {
    /// Parses the text of a trace; `origin` is its name in messages, `repeat` makes it repeat, `scale` is a factor on every bandwidth.
    ///
    /// # Errors
    /// The text is not a trace of the format.
    pub fn parse(
        text: &str,
        origin: &str,
        format: Format,
        scale: f64,
        repeat: bool,
    ) -> Result<Self, TraceError> {
        read::parse(text, origin, format, scale, repeat)
    }

    /// Its format, not [`Format::Auto`].
    #[must_use]
    pub const fn format(&self) -> Format {
        match self {
            Self::Bandwidth(_) => Format::Bandwidth,
            Self::Opportunities(_) => Format::Mahimahi,
            Self::Snr(_) => Format::Snr,
        }
    }
}

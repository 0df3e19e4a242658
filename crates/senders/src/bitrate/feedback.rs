//! A client's counts, and the reasons of changes.

use std::fmt;

use airbound_units::{BitRate, Span};

/// Least time from a change to a rise: at most one change in this time while nothing happens.
pub(super) const CALM: Span = Span::from_secs(10);

/// A client's count of the time since its last report. Values out of range count as the nearest allowed one.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Feedback {
    /// Share of the frames lost, 0 to 1.
    pub loss: f64,
    /// The mean round trip; `None` if the client does not know it.
    pub round_trip: Option<Span>,
    /// Frames decoded a second.
    pub frames: f64,
    /// Frames that came incomplete or too late, since the last report.
    pub dropped: u32,
}

/// The reason of a change.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Why {
    /// Packets wait in a queue, for longer than allowed.
    Queue {
        /// The time that they wait.
        wait: Span,
        /// The time that is allowed.
        allowed: Span,
    },
    /// Frames are lost.
    Loss {
        /// Their share, 0 to 1.
        share: f64,
    },
    /// Lowering the rate had no effect on queue and loss: they are those of others.
    Others,
    /// Nothing was late or lost for a while.
    Room {
        /// That time.
        calm: Span,
    },
    /// The rate that a receiver of ours allows.
    Allocated {
        /// Its allocated rate.
        rate: BitRate,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue { wait, allowed } => write!(
                f,
                "packets wait {} ms in a queue, {} ms are allowed",
                wait.as_millis(),
                allowed.as_millis()
            ),
            Self::Loss { share } => write!(f, "{:.1} % of the frames are lost", share * 100.0),
            Self::Others => f.write_str("lower rates had no effect: queue and losses are those of others"),
            Self::Room { calm } => write!(f, "nothing was late or lost for {} s", calm.as_millis() / 1000),
            Self::Allocated { rate } => write!(f, "the receiver's allocated rate is {rate}"),
        }
    }
}

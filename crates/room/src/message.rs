//! Messages on the data channel, in JSON.

use serde::Deserialize;

/// Upper limit of a message's length.
pub const LONGEST_MESSAGE: usize = 4096;

/// A message of a client.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "t", rename_all = "kebab-case")]
pub enum Message {
    /// The estimate of its congestion control for its uplink, in bit/s.
    Up {
        /// The estimate.
        estimate: f64,
    },
    /// It received a notice.
    Ack {
        /// The number of the notice.
        sequence: u32,
    },
    /// The sources that it shows; replaces earlier ones.
    Views {
        /// The views.
        views: Vec<Shown>,
    },
    /// The least rate of what it receives under Plum, as far as that fits.
    Floor {
        /// The rate, bit/s.
        rate: u64,
    },
    /// It leaves.
    Leave {},
}

/// A source that a client shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shown {
    /// The number of the source.
    pub from: u16,
    /// The largest useful layer, from 0.
    pub largest: u8,
    /// The importance: higher goes first.
    #[serde(default)]
    pub priority: u8,
}

impl Message {
    /// Reads a message; `None` for one that is too long or means nothing.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > LONGEST_MESSAGE {
            return None;
        }
        serde_json::from_slice(bytes).ok()
    }
}

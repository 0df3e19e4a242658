//! Path elements other than networks: the wire between servers and access points, and pipes whose rate follows a trace.

mod pipe;
mod shaper;
mod wire;

pub use pipe::{Pipe, PipeSpec, Sharing, Turn};
pub(crate) use shaper::{Shaper, ShaperQueue};
pub(crate) use wire::{Bottleneck, Way as WireWay, Wire};

/// Direction over an access link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Way {
    /// Both ways.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// The opposite way.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

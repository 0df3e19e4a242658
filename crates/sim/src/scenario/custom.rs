//! What fills a slot and comes from outside of this program: a researcher's own queue, rate control or sender.

use std::fmt;
use std::sync::Arc;

use airbound_control::queue::QueueDecider;
use airbound_control::rate::RateDecider;
use airbound_senders::congestion::CustomControl;

/// For whom a part is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Name of the transmitter, such as "access-point" or that of a station; for a sender that of the flow.
    pub name: String,
    /// The transmitter: 0 is the access point, 1 the first station; for a sender the number of the flow.
    pub number: u32,
    /// From where the part may draw what it leaves to chance; another one for each part and each seed of the run.
    pub seed: u64,
}

/// Makes one part for each transmitter, or each connection, of a run. It has to make the same part for the same site, or runs cannot
/// be repeated.
#[derive(Clone)]
#[non_exhaustive]
pub enum Maker {
    /// Which packets wait, are dropped, go next.
    Queue(Arc<dyn Fn(Site) -> Box<dyn QueueDecider> + Send + Sync>),
    /// PHY rate and tries of each transmission.
    Rate(Arc<dyn Fn(Site) -> Box<dyn RateDecider> + Send + Sync>),
    /// The congestion window of TCP.
    Sender(Arc<dyn Fn(Site) -> Box<dyn CustomControl> + Send + Sync>),
}

impl Maker {
    /// The slot that its parts fill.
    #[must_use]
    pub const fn slot(&self) -> &'static str {
        match self {
            Self::Queue(_) => "queue",
            Self::Rate(_) => "rate",
            Self::Sender(_) => "sender",
        }
    }
}

/// Makers are equal when they are one and the same.
impl PartialEq for Maker {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Queue(one), Self::Queue(other)) => Arc::ptr_eq(one, other),
            (Self::Rate(one), Self::Rate(other)) => Arc::ptr_eq(one, other),
            (Self::Sender(one), Self::Sender(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Maker({})", self.slot())
    }
}

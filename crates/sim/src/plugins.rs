//! Plugins of a run: a researcher's own queue, rate control or sender, for the slots that the scheme leaves to them.

use std::fmt;
use std::sync::Arc;

use airbound_control::queue::QueueDecider;
use airbound_control::rate::RateDecider;
use airbound_senders::congestion::CustomControl;

use crate::error::BuildError;
use crate::scenario::{Part, Slot};

/// The transmitter or flow that a part is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Name of the transmitter, such as "access-point" or that of a station; for a sender that of the flow.
    pub name: String,
    /// The transmitter: 0 is the access point, 1 the first station; for a sender the number of the flow.
    pub number: u32,
    /// Seed of what the part leaves to chance; another one for each part and each seed of the run.
    pub seed: u64,
}

/// Makes the part of one site. The same site has to get the same part, or runs cannot be repeated.
pub type Make<T> = Arc<dyn Fn(Site) -> Box<T> + Send + Sync>;

/// Fills one slot of a scheme: makes one part for each transmitter, or each connection, of a run.
#[derive(Clone)]
#[non_exhaustive]
pub enum Plugin {
    /// Decides which packets wait, are dropped, go next.
    Queue(Make<dyn QueueDecider>),
    /// Decides PHY rate and tries of each transmission.
    Rate(Make<dyn RateDecider>),
    /// Decides the congestion window of TCP.
    Sender(Make<dyn CustomControl>),
}

impl Plugin {
    /// The slot that it fills.
    #[must_use]
    pub const fn part(&self) -> Part {
        match self {
            Self::Queue(_) => Part::Queue,
            Self::Rate(_) => Part::Rate,
            Self::Sender(_) => Part::Sender,
        }
    }
}

/// The plugins of a run, at most one for each slot; none by default.
#[derive(Clone, Default)]
pub struct Plugins {
    queue: Option<Make<dyn QueueDecider>>,
    rate: Option<Make<dyn RateDecider>>,
    sender: Option<Make<dyn CustomControl>>,
}

impl Plugins {
    /// Adds a plugin, in place of the one that filled its slot before.
    pub fn add(&mut self, plugin: Plugin) {
        match plugin {
            Plugin::Queue(make) => self.queue = Some(make),
            Plugin::Rate(make) => self.rate = Some(make),
            Plugin::Sender(make) => self.sender = Some(make),
        }
    }

    /// The plugin that fills a queue slot; `None` if a queue of this program does.
    pub(crate) fn queue(&self, slot: &Slot) -> Result<Option<&Make<dyn QueueDecider>>, BuildError> {
        given(slot, "queue", self.queue.as_ref())
    }

    /// The plugin that fills a rate slot.
    pub(crate) fn rate(&self, slot: &Slot) -> Result<Option<&Make<dyn RateDecider>>, BuildError> {
        given(slot, "rate", self.rate.as_ref())
    }

    /// The plugin that fills a sender slot.
    pub(crate) fn sender(&self, slot: &Slot) -> Result<Option<&Make<dyn CustomControl>>, BuildError> {
        given(slot, "sender", self.sender.as_ref())
    }
}

fn given<'a, T: ?Sized>(
    slot: &Slot,
    part: &'static str,
    plugin: Option<&'a Make<T>>,
) -> Result<Option<&'a Make<T>>, BuildError> {
    match plugin {
        _ if !slot.is_custom() => Ok(None),
        None => Err(BuildError::Slot {
            slot: part,
            reason: format!("{} is a plugin, and the run was given none for this slot", slot.name()),
        }),
        some => Ok(some),
    }
}

impl fmt::Debug for Plugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = [self.queue.is_some(), self.rate.is_some(), self.sender.is_some()];
        let named = ["queue", "rate", "sender"].into_iter().zip(given).filter(|(_, given)| *given);
        f.debug_set().entries(named.map(|(name, _)| name)).finish()
    }
}

//! The simulation as a carrier: packets that somebody outside hands over, and what became of them.
//!
//! A session runs its streams itself and uses the air of a BSS only to carry their packets. It looks at [`Simulation::next_event`], so
//! that several simulations advance in one order of time.

use airbound_control::frame::{DropReason, FlowId};
use airbound_units::{ByteCount, Instant};

use super::Simulation;
use crate::packet::Kind;

/// A carried packet has reached the end of its way, or never will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Carried {
    /// What it was handed over with.
    pub(crate) tag: u64,
    /// Why it was dropped; `None` if it arrived.
    pub(crate) lost: Option<DropReason>,
}

impl Simulation {
    /// When something happens next, at or after now; [`Instant::MAX`] for never.
    pub(crate) fn next_event(&self) -> Instant {
        self.events.next().min(self.next_access().unwrap_or(Instant::MAX))
    }

    /// Takes a packet of a flow at this moment; `number` rises by one from packet to packet of the flow.
    pub(crate) fn carry(&mut self, flow: FlowId, number: u64, tag: u64, size: ByteCount) {
        self.send(flow, number, Kind::Datagram, tag, size);
    }

    /// What became of packets since this was last asked, in order.
    pub(crate) fn take_carried(&mut self, into: &mut Vec<Carried>) {
        into.append(&mut self.carried);
    }
}

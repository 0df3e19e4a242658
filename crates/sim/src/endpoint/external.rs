//! External packets: an outer loop sends them into flows and receives the fate of each.

use airbound_control::frame::DropReason;
use airbound_units::Instant;

use super::{Counts, Endpoint, Outbox, Timer};
use crate::packet::{Kind, Packet};

/// The fate of a packet of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passed {
    /// The tag that it was pushed with.
    pub tag: u64,
    /// The time of its arrival or loss.
    pub at: Instant,
    /// The reason of its loss; `None` if it arrived.
    pub lost: Option<DropReason>,
    /// Whether it arrived with a mark of congestion.
    pub is_marked: bool,
}

/// The endpoint of all external flows.
#[derive(Debug, Default)]
pub(crate) struct External {
    fates: Vec<Passed>,
}

impl Endpoint for External {
    fn begin(&mut self, _out: &mut Outbox<'_>) {}

    fn on_packet(&mut self, now: Instant, packet: &Packet, _out: &mut Outbox<'_>) {
        self.fates.push(Passed {
            tag: packet.tag,
            at: now,
            lost: None,
            is_marked: packet.kind == Kind::Marked,
        });
    }

    fn on_lost(&mut self, now: Instant, packet: &Packet, reason: DropReason, _counts: &mut Counts<'_>) {
        self.fates.push(Passed { tag: packet.tag, at: now, lost: Some(reason), is_marked: false });
    }

    fn on_timer(&mut self, _now: Instant, _timer: Timer, _out: &mut Outbox<'_>) {}

    fn take(&mut self, into: &mut Vec<Passed>) {
        into.append(&mut self.fates);
    }
}

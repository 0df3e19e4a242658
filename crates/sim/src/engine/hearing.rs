//! What a transmitter hears of the channel: how long it was busy, and how long with its own frames.
//!
//! All transmitters hear each other, so that there is one busy time. Times are counted when an exchange ends; a report to a link
//! compares two points in time. Only links that ask are told ([`Link::channel_deadline`]).

use airbound_control::frame::StationId;
use airbound_control::link::Link;
use airbound_units::{Instant, Span};

use super::Simulation;

/// The time since which a transmitter listens, and what had been heard then.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hearing {
    /// What it listens for ends then.
    until: Option<Instant>,
    since: Instant,
    busy: Span,
    own: Span,
}

impl Simulation {
    /// The channel was busy from `start` to `end`.
    pub(super) fn note_busy(&mut self, start: Instant, end: Instant) {
        self.parts.meters.on_busy(start, end);
        self.busy += end.since(start);
    }

    /// Begins to listen for a link that wants to be told of the channel.
    pub(super) fn listen(&mut self, node: StationId) {
        let owner = &mut self.parts.nodes[node.index()];
        let until = owner.link.deadline().channel_load;
        if until.is_some() && until != owner.hearing.until {
            owner.hearing = Hearing { until, since: self.now, busy: self.busy, own: owner.own };
        }
    }

    /// Tells a link what was heard, if it wants to know by now.
    pub(super) fn tell_channel(&mut self, node: StationId) {
        let owner = &mut self.parts.nodes[node.index()];
        if owner.link.deadline().channel_load.is_none_or(|due| due > self.now) {
            return;
        }
        let heard = owner.hearing;
        let elapsed = self.now.since(heard.since);
        // What ended in this time may have begun before it.
        let share =
            |span: Span| (!elapsed.is_zero()).then(|| (span.as_secs_f64() / elapsed.as_secs_f64()).min(1.0));
        let (busy, own) = (share(self.busy - heard.busy), share(owner.own - heard.own));
        owner.link.on_channel(self.now, busy, own);
        self.listen(node);
    }
}

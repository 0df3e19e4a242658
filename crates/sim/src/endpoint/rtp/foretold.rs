//! Reports that the access point makes in the place of a session's receiver, of the arrivals that it predicts.

use airbound_control::queue::zhuge::Reporter;
use airbound_senders::rtp::gcc::{ARRIVAL_STEP, PacketResult, TransportFeedback};
use airbound_units::{ByteCount, Instant, Span};

use super::{Feedback, Outgoing};
use crate::endpoint::in_flight::InFlight;
use crate::packet::Kind;
use airbound_control::frame::FlowId;

/// The access point's side of a session.
#[derive(Debug)]
pub(crate) struct Foretelling {
    reporter: Reporter,
    under_way: InFlight<TransportFeedback>,
    /// Number of reports sent.
    sent: u64,
    /// When the pending timer fires; `Instant::MAX` for none.
    timer: Instant,
}

impl Foretelling {
    /// Nothing has been predicted; a report leaves `after` the first packet in it.
    pub(crate) fn new(after: Span) -> Self {
        Self { reporter: Reporter::new(after), under_way: InFlight::default(), sent: 0, timer: Instant::MAX }
    }

    /// Takes a packet that came to the access point at `at`, and will wait there for `delay`. Returns when a timer has to be set, if one has.
    pub(crate) fn on_packet(&mut self, at: Instant, number: u64, delay: Span) -> Option<Instant> {
        self.reporter.on_packet(at, number, delay);
        let due = self.reporter.deadline().filter(|due| *due < self.timer)?;
        self.timer = due;
        Some(due)
    }

    /// Returns the report that is due, on the flow of the session's `feedback`.
    pub(crate) fn poll(&mut self, now: Instant, feedback: FlowId) -> Option<Outgoing> {
        if self.timer <= now {
            self.timer = Instant::MAX;
        }
        let foretold = self.reporter.poll(now)?;
        let rounded =
            |at: Instant| Instant::ZERO + ARRIVAL_STEP * at.since(Instant::ZERO).div_floor(ARRIVAL_STEP);
        let packets = (foretold.first..)
            .zip(foretold.arrivals)
            .map(|(sequence, arrival)| PacketResult { sequence, arrival: arrival.map(rounded) });
        let report = TransportFeedback { packets: packets.collect() };
        let size: ByteCount = Feedback::size_of(&report);
        let number = self.sent;
        self.sent += 1;
        self.under_way.put(number, report);
        Some(Outgoing { flow: feedback, number, kind: Kind::Foretold, tag: 0, size })
    }

    /// Takes a report that is no longer under way.
    pub(crate) fn take(&mut self, number: u64) -> Option<TransportFeedback> {
        self.under_way.take(number)
    }
}

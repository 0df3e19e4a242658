//! Flows whose rate a proxy decides: its allocator, the sensors at the stations, and the reports between them.

use std::collections::VecDeque;

use airbound_control::frame::FlowId;
use airbound_senders::allocation::{FrameSensor, REPORT_LENGTH, RateAllocator, Report, UplinkShaper};
use airbound_units::{ByteCount, Instant};

use crate::packet::Packet;

/// Payload of a report, as the paper's.
pub(crate) const REPORT_PAYLOAD: ByteCount = ByteCount::new(REPORT_LENGTH as u64);
/// Payload of a grant: a number, and the rate.
pub(crate) const GRANT_PAYLOAD: ByteCount = ByteCount::new(12);
/// More reports of one station are not under way at once; the oldest are forgotten.
const MOST_IN_FLIGHT: usize = 4096;

/// A flow whose rate is allocated.
#[derive(Debug)]
pub(crate) struct Allocated {
    pub(crate) flow: FlowId,
    pub(crate) reports: FlowId,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
    pub(crate) sensor: FrameSensor,
    /// Reports sent.
    pub(crate) sent: u64,
    /// Reports that are under way, as the bytes that they are.
    in_flight: VecDeque<(u64, [u8; REPORT_LENGTH])>,
    /// When the sensor is asked next; `Instant::MAX` for never.
    pub(crate) due: Instant,
}

/// An uplink that its station shapes.
#[derive(Debug)]
pub(crate) struct ShapedUplink {
    pub(crate) flow: FlowId,
    /// On which the proxy grants its rate.
    pub(crate) grants: FlowId,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
    pub(crate) shaper: UplinkShaper<Packet>,
    /// Grants sent.
    pub(crate) sent: u64,
    /// The number of the first grant that would be new.
    pub(crate) next: u64,
}

/// The proxy: one allocator over all stations.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) allocator: RateAllocator,
    /// When it is asked next; `Instant::MAX` for never.
    pub(crate) due: Instant,
}

/// What happens at a proxy or at the sensors that report to it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ProxyEvent {
    /// A flow begins.
    Join(usize),
    /// A flow ends.
    Leave(usize),
    /// An uplink begins.
    JoinUplink(usize),
    /// An uplink ends.
    LeaveUplink(usize),
    /// A sensor may have to report.
    Report(usize),
    /// The allocator may have to decide.
    Decide,
}

impl Allocated {
    pub(crate) fn new(
        flow: FlowId,
        reports: FlowId,
        (start, stop): (Instant, Instant),
        sensor: FrameSensor,
    ) -> Self {
        Self { flow, reports, start, stop, sensor, sent: 0, in_flight: VecDeque::new(), due: Instant::MAX }
    }

    /// Puts a report under way; returns the number of its packet.
    pub(crate) fn put(&mut self, report: &Report) -> u64 {
        let number = self.sent;
        self.sent += 1;
        self.in_flight.push_back((number, report.encode()));
        if self.in_flight.len() > MOST_IN_FLIGHT {
            self.in_flight.pop_front();
        }
        number
    }

    /// Takes the bytes of a report that arrived, or was lost.
    pub(crate) fn take(&mut self, number: u64) -> Option<[u8; REPORT_LENGTH]> {
        let place = self.in_flight.iter().position(|(known, _)| *known == number)?;
        self.in_flight.remove(place).map(|(_, bytes)| bytes)
    }
}

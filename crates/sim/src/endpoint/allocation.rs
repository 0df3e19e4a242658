//! Rate allocation: sensing at stations, reports over the air, decisions at the proxy, and shaped uplinks.

use std::collections::VecDeque;

use airbound_control::frame::{DropReason, FlowId, Mpdu, Payload, StationId};
use airbound_control::queue::Backlog;
use airbound_senders::allocation::{
    Allocation as Allocated, FrameSensor, Observation, REPORT_LENGTH, RateAllocator, ReceiverId, Report,
    UplinkShaper,
};
use airbound_units::{BitRate, ByteCount, Instant};

use super::{Counts, Endpoint, Outbox, Outgoing, Reception, Timer};
use crate::flow::ACCESS_POINT;
use crate::flow::Flow;
use crate::packet::{Kind, Packet};

/// Payload of a report, that of the paper.
const REPORT_PAYLOAD: ByteCount = ByteCount::new(REPORT_LENGTH as u64);
/// Payload of a grant: a number, and the rate.
const GRANT_PAYLOAD: ByteCount = ByteCount::new(12);
/// Upper limit on reports of one station in transit; beyond it the oldest are forgotten.
const MOST_IN_FLIGHT: usize = 4096;

/// A downlink with an allocated rate, and the sensor at its station.
#[derive(Debug)]
pub(crate) struct Downlink {
    pub(crate) flow: FlowId,
    pub(crate) station: StationId,
    /// The flow of its reports.
    pub(crate) reports: FlowId,
    /// Bytes of each packet that are not payload.
    pub(crate) headers: u64,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
    pub(crate) sensor: FrameSensor,
    /// Reports sent.
    sent: u64,
    /// Encoded reports in transit.
    in_flight: VecDeque<(u64, [u8; REPORT_LENGTH])>,
    /// The report that waits for the station's backlog.
    unfinished: Option<Report>,
    /// The pending report; `Instant::MAX` for none.
    due: Instant,
}

/// An uplink shaped by its station.
#[derive(Debug)]
pub(crate) struct Uplink {
    pub(crate) flow: FlowId,
    pub(crate) station: StationId,
    /// The flow of the proxy's grants.
    pub(crate) grants: FlowId,
    /// Bytes of each packet that are not payload.
    pub(crate) headers: u64,
    pub(crate) start: Instant,
    pub(crate) stop: Instant,
    pub(crate) shaper: UplinkShaper<Packet>,
    /// Grants sent.
    sent: u64,
    /// The number of the next new grant.
    next: u64,
    /// The grant that waits for the station's arrivals.
    granted: Option<(u64, BitRate)>,
}

/// The role of a flow in the allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    None,
    Reports(usize),
    Data(usize),
    Shaped(usize),
    Grants(usize),
}

/// The proxy in front of the access point, with all sensors and shapers.
#[derive(Debug)]
pub(crate) struct Allocation {
    allocator: RateAllocator,
    downlinks: Vec<Downlink>,
    uplinks: Vec<Uplink>,
    /// Indexed by flow.
    roles: Vec<Role>,
    end: Instant,
    /// The pending decision; `Instant::MAX` for none.
    due: Instant,
}

const DECIDE: Timer = Timer(0);
const JOIN: u32 = 1;
const LEAVE: u32 = 2;
const JOIN_UPLINK: u32 = 3;
const LEAVE_UPLINK: u32 = 4;
const REPORT: u32 = 5;
/// Answers to [`Outbox::ask`].
const FRAME: u32 = 6;
const GRANT: u32 = 7;

/// The timer of a downlink or an uplink, by its number.
const fn timer(kind: u32, number: usize) -> Timer {
    Timer((number as u32) << 3 | kind)
}

impl Downlink {
    pub(crate) const fn new(
        (flow, reports): (&Flow, FlowId),
        (start, stop): (Instant, Instant),
        sensor: FrameSensor,
    ) -> Self {
        Self {
            flow: flow.id,
            station: flow.station,
            reports,
            headers: flow.headers,
            start,
            stop,
            sensor,
            sent: 0,
            in_flight: VecDeque::new(),
            unfinished: None,
            due: Instant::MAX,
        }
    }

    /// Stores a report in transit; returns the number of its packet.
    fn put(&mut self, report: &Report) -> u64 {
        let number = self.sent;
        self.sent += 1;
        self.in_flight.push_back((number, report.encode()));
        if self.in_flight.len() > MOST_IN_FLIGHT {
            self.in_flight.pop_front();
        }
        number
    }

    /// Takes the bytes of a report that arrived or was lost.
    fn take(&mut self, number: u64) -> Option<[u8; REPORT_LENGTH]> {
        let place = self.in_flight.iter().position(|(known, _)| *known == number)?;
        self.in_flight.remove(place).map(|(_, bytes)| bytes)
    }

    fn await_report(&mut self, now: Instant, number: usize, out: &mut Outbox<'_>) {
        // After the end of the flow there is nothing to report.
        if now >= self.stop {
            return;
        }
        if let Some(at) = self.sensor.next_deadline().filter(|at| *at < self.due) {
            self.due = at;
            out.wake_at(at, timer(REPORT, number));
        }
    }
}

impl Uplink {
    pub(crate) const fn new(
        (flow, grants): (&Flow, FlowId),
        (start, stop): (Instant, Instant),
        shaper: UplinkShaper<Packet>,
    ) -> Self {
        Self {
            flow: flow.id,
            station: flow.station,
            grants,
            headers: flow.headers,
            start,
            stop,
            shaper,
            sent: 0,
            next: 0,
            granted: None,
        }
    }
}

impl Endpoint for Allocation {
    fn begin(&mut self, out: &mut Outbox<'_>) {
        for (number, downlink) in self.downlinks.iter().enumerate() {
            out.wake_at(downlink.start, timer(JOIN, number));
            if downlink.stop < self.end {
                out.wake_at(downlink.stop, timer(LEAVE, number));
            }
        }
        for (number, uplink) in self.uplinks.iter().enumerate() {
            out.wake_at(uplink.start, timer(JOIN_UPLINK, number));
            if uplink.stop < self.end {
                out.wake_at(uplink.stop, timer(LEAVE_UPLINK, number));
            }
        }
    }

    /// A held packet is released with the next frame of the downlink, or when it completes a bunch.
    fn admit(&mut self, at: Instant, packet: Packet, out: &mut Outbox<'_>) {
        let Role::Shaped(number) = self.role(&packet) else { return };
        let shaper = &mut self.uplinks[number].shaper;
        shaper.push(packet);
        shaper.release().into_iter().for_each(|packet| out.admit(at, packet));
    }

    /// Reports to the shapers of a station the number of their packets in a transmitted frame, and the remaining queue.
    fn on_transmitted(&mut self, station: StationId, mpdus: &[Mpdu<Packet>], left: &Backlog) {
        let left = self.payload_of(left);
        for uplink in self.uplinks.iter_mut().filter(|uplink| uplink.station == station) {
            let own = mpdus.iter().filter(|mpdu| mpdu.packet.flow == uplink.flow);
            uplink.shaper.on_frame(own.count() as u32, left);
        }
    }

    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Outbox<'_>) {
        match self.role(packet) {
            Role::Reports(number) => self.on_report(now, number, packet, out),
            Role::Grants(number) => {
                let uplink = &mut self.uplinks[number];
                // An overtaken grant is obsolete.
                if packet.number >= uplink.next {
                    uplink.granted = Some((packet.number, BitRate::from_bps(packet.tag)));
                    out.ask(uplink.station, timer(GRANT, number));
                }
            }
            Role::None | Role::Data(_) | Role::Shaped(_) => {}
        }
    }

    fn on_lost(&mut self, _now: Instant, packet: &Packet, _reason: DropReason, _counts: &mut Counts<'_>) {
        if let Role::Reports(number) = self.role(packet) {
            self.downlinks[number].take(packet.number);
        }
    }

    fn on_timer(&mut self, now: Instant, fired: Timer, out: &mut Outbox<'_>) {
        let number = (fired.0 >> 3) as usize;
        match fired.0 & 7 {
            JOIN => {
                self.allocator.join(now, ReceiverId(self.downlinks[number].station.0));
                self.apply_rates(out);
            }
            LEAVE => {
                self.allocator.leave(now, ReceiverId(self.downlinks[number].station.0));
                self.apply_rates(out);
            }
            JOIN_UPLINK => {
                self.allocator.join_uplink(now, ReceiverId(self.uplinks[number].station.0));
                self.apply_rates(out);
            }
            LEAVE_UPLINK => {
                let station = self.uplinks[number].station;
                self.allocator.leave_uplink(now, ReceiverId(station.0));
                return out.ask(station, fired);
            }
            REPORT => {
                let downlink = &mut self.downlinks[number];
                if downlink.due <= now {
                    downlink.due = Instant::MAX;
                    downlink.unfinished = downlink.sensor.on_deadline(now);
                    if downlink.unfinished.is_some() {
                        return out.ask(downlink.station, fired);
                    }
                    downlink.await_report(now, number, out);
                }
            }
            _ => {
                if self.due > now {
                    return;
                }
                self.due = Instant::MAX;
                if self.allocator.on_deadline(now) {
                    self.apply_rates(out);
                }
            }
        }
        self.await_decision(out);
    }

    fn on_reception(&mut self, now: Instant, reception: &Reception<'_>, out: &mut Outbox<'_>) {
        let mut last = None;
        for packet in reception.packets {
            let Role::Data(number) = self.role(packet) else { continue };
            let downlink = &mut self.downlinks[number];
            downlink.sensor.on_packet(&Observation {
                at: reception.ppdu_end,
                sequence: packet.number,
                packets: 1,
                payload: ByteCount::new(packet.size().as_u64().saturating_sub(downlink.headers)),
                rate: Some(reception.rate),
            });
            if downlink.due == Instant::MAX {
                downlink.await_report(now, number, out);
            }
            last = Some(number);
        }
        let Some(number) = last else { return };
        let downlink = &mut self.downlinks[number];
        downlink.sensor.on_companions(reception.ppdu_end, reception.companions);
        // Each frame of the downlink releases packets of the same station's shaper.
        if let Some(uplink) = self.uplinks.iter().position(|uplink| uplink.station == reception.station) {
            out.ask(reception.station, timer(FRAME, uplink));
        }
    }

    fn on_backlog(&mut self, now: Instant, asked: Timer, backlog: &Backlog, out: &mut Outbox<'_>) {
        let number = (asked.0 >> 3) as usize;
        match asked.0 & 7 {
            LEAVE_UPLINK => {
                // The last packets need not complete a bunch.
                self.uplinks[number].shaper.flush().into_iter().for_each(|packet| out.admit(now, packet));
                self.apply_rates(out);
                self.await_decision(out);
            }
            REPORT => {
                let queue = self.payload_of(backlog);
                let downlink = &mut self.downlinks[number];
                if let Some(mut report) = downlink.unfinished.take() {
                    let own = self.uplinks.iter_mut().find(|uplink| uplink.station == downlink.station);
                    if let Some(uplink) = own {
                        uplink.shaper.complete(&mut report, queue);
                    }
                    let count = downlink.put(&report);
                    let size = REPORT_PAYLOAD + ByteCount::new(downlink.headers);
                    let flow = downlink.reports;
                    out.send(Outgoing { flow, number: count, kind: Kind::Datagram, tag: 0, size });
                }
                downlink.await_report(now, number, out);
                self.await_decision(out);
            }
            FRAME => {
                let uplink = &mut self.uplinks[number];
                let bunch = uplink.shaper.on_downlink_frame();
                bunch.into_iter().for_each(|packet| out.admit(now, packet));
                out.settle(uplink.station);
            }
            _ => {
                let uplink = &mut self.uplinks[number];
                let Some((count, rate)) = uplink.granted.take() else { return };
                uplink.next = count + 1;
                uplink.shaper.set_rate(rate);
                let bunch = uplink.shaper.release();
                out.set_rate(uplink.flow, rate);
                bunch.into_iter().for_each(|packet| out.admit(now, packet));
                out.settle(uplink.station);
            }
        }
    }
}

impl Allocation {
    pub(crate) fn new(
        allocator: RateAllocator,
        downlinks: Vec<Downlink>,
        uplinks: Vec<Uplink>,
        flows: usize,
        end: Instant,
    ) -> Self {
        let mut roles = vec![Role::None; flows];
        for (number, downlink) in downlinks.iter().enumerate() {
            roles[downlink.flow.0 as usize] = Role::Data(number);
            roles[downlink.reports.0 as usize] = Role::Reports(number);
        }
        for (number, uplink) in uplinks.iter().enumerate() {
            roles[uplink.flow.0 as usize] = Role::Shaped(number);
            roles[uplink.grants.0 as usize] = Role::Grants(number);
        }
        Self { allocator, downlinks, uplinks, roles, end, due: Instant::MAX }
    }

    fn role(&self, packet: &Packet) -> Role {
        self.roles.get(packet.flow.0 as usize).copied().unwrap_or(Role::None)
    }

    /// The rates decided so far, by station.
    pub(crate) fn allocations(&self) -> impl Iterator<Item = Allocated> + '_ {
        self.allocator.allocations()
    }

    /// Number of packets held by shapers.
    pub(crate) fn held(&self) -> usize {
        self.uplinks.iter().map(|uplink| uplink.shaper.held()).sum()
    }

    /// The payload in a backlog of shaped packets.
    fn payload_of(&self, backlog: &Backlog) -> ByteCount {
        let Some(any) = self.uplinks.first() else { return ByteCount::ZERO };
        let headers = any.headers * backlog.packets as u64;
        ByteCount::new(backlog.bytes.as_u64().saturating_sub(headers))
    }

    /// Handles a report at the proxy.
    fn on_report(&mut self, now: Instant, number: usize, packet: &Packet, out: &mut Outbox<'_>) {
        let downlink = &mut self.downlinks[number];
        let Some(bytes) = downlink.take(packet.number) else { return };
        let report = Report::decode(&bytes);
        debug_assert!(report.is_ok(), "the sensor wrote it: {report:?}");
        if let Ok(report) = report {
            self.allocator.on_report(now, ReceiverId(downlink.station.0), &report);
        }
        self.await_decision(out);
    }

    fn await_decision(&mut self, out: &mut Outbox<'_>) {
        if let Some(at) = self.allocator.next_deadline().filter(|at| *at < self.due) {
            self.due = at;
            out.wake_at(at, DECIDE);
        }
    }

    /// Sets the sources to the allocated rates, and sends grants to stations.
    fn apply_rates(&mut self, out: &mut Outbox<'_>) {
        for downlink in &self.downlinks {
            let rate = self.allocator.rate(ReceiverId(downlink.station.0));
            if !rate.is_zero() {
                out.set_rate(downlink.flow, rate);
            }
        }
        out.settle(ACCESS_POINT);
        for uplink in &mut self.uplinks {
            let rate = self.allocator.uplink_rate(ReceiverId(uplink.station.0));
            if rate.is_zero() {
                continue;
            }
            let (flow, number) = (uplink.grants, uplink.sent);
            uplink.sent += 1;
            let size = GRANT_PAYLOAD + ByteCount::new(uplink.headers);
            out.send(Outgoing { flow, number, kind: Kind::Datagram, tag: rate.as_bps(), size });
        }
    }
}

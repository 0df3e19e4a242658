//! Rate allocation in the simulator: sensing at stations, reports over the air, decisions at the proxy.

use airbound_senders::allocation::{Observation, ReceiverId, Report};
use airbound_units::{ByteCount, Instant};
use airbound_wifi::rate::Rate;

use super::{ACCESS_POINT, Arrival, Event, Simulation};
use crate::endpoint::Outgoing;
use crate::flow::allocation::{ProxyEvent, REPORT_PAYLOAD};
use crate::packet::{Kind, Packet};

impl Simulation {
    /// Schedules the beginnings and ends of flows whose rate is allocated.
    pub(super) fn begin_allocation(&mut self) {
        for number in 0..self.parts.allocated.len() {
            let (start, stop) = (self.parts.allocated[number].start, self.parts.allocated[number].stop);
            self.schedule(start, Event::Proxy(ProxyEvent::Join(number)));
            if stop < self.parts.end {
                self.schedule(stop, Event::Proxy(ProxyEvent::Leave(number)));
            }
        }
        for number in 0..self.parts.uplinks.len() {
            let (start, stop) = (self.parts.uplinks[number].start, self.parts.uplinks[number].stop);
            self.schedule(start, Event::Proxy(ProxyEvent::JoinUplink(number)));
            if stop < self.parts.end {
                self.schedule(stop, Event::Proxy(ProxyEvent::LeaveUplink(number)));
            }
        }
    }

    pub(super) fn on_proxy_event(&mut self, event: ProxyEvent) {
        let now = self.now;
        match event {
            ProxyEvent::Join(number) | ProxyEvent::Leave(number) => {
                let flow = self.parts.allocated[number].flow;
                let station = ReceiverId(self.parts.flows[flow.0 as usize].station.0);
                if let Some(proxy) = &mut self.parts.proxy {
                    match event {
                        ProxyEvent::Join(_) => proxy.allocator.join(now, station),
                        _ => proxy.allocator.leave(now, station),
                    }
                }
                self.apply_rates();
            }
            ProxyEvent::JoinUplink(number) | ProxyEvent::LeaveUplink(number) => {
                let flow = self.parts.uplinks[number].flow;
                let station = ReceiverId(self.parts.flows[flow.0 as usize].station.0);
                if let Some(proxy) = &mut self.parts.proxy {
                    match event {
                        ProxyEvent::JoinUplink(_) => proxy.allocator.join_uplink(now, station),
                        _ => proxy.allocator.leave_uplink(now, station),
                    }
                }
                if matches!(event, ProxyEvent::LeaveUplink(_)) {
                    self.let_out_rest(number);
                }
                self.apply_rates();
            }
            ProxyEvent::Report(number) => self.on_report_due(number),
            ProxyEvent::Decide => {
                let Some(proxy) = &mut self.parts.proxy else { return };
                if proxy.due > now {
                    return;
                }
                proxy.due = Instant::MAX;
                if proxy.allocator.on_deadline(now) {
                    self.apply_rates();
                }
            }
        }
        self.schedule_decision();
    }

    /// An MPDU of an allocated flow has reached its station. All MPDUs of a PPDU have the timestamp of its end, as from a card, and
    /// have not been in the reordering buffer yet.
    pub(super) fn on_sensed(&mut self, number: usize, arrival: &Arrival, ppdu_end: Instant, rate: Rate) {
        let packet = &arrival.packet;
        let headers = self.parts.flows[packet.flow.0 as usize].headers;
        let allocated = &mut self.parts.allocated[number];
        allocated.sensor.on_packet(&Observation {
            at: ppdu_end,
            sequence: packet.number,
            payload: ByteCount::new(
                airbound_control::frame::Payload::size(packet).as_u64().saturating_sub(headers),
            ),
            rate: Some(rate.bit_rate()),
        });
        if allocated.due == Instant::MAX {
            self.schedule_report(number);
        }
    }

    fn schedule_report(&mut self, number: usize) {
        let allocated = &mut self.parts.allocated[number];
        // After the end of the flow there is nothing to report.
        if self.now >= allocated.stop {
            return;
        }
        if let Some(at) = allocated.sensor.next_deadline().filter(|at| *at < allocated.due) {
            allocated.due = at;
            self.schedule(at, Event::Proxy(ProxyEvent::Report(number)));
        }
    }

    fn on_report_due(&mut self, number: usize) {
        let now = self.now;
        let allocated = &mut self.parts.allocated[number];
        if allocated.due > now {
            return;
        }
        allocated.due = Instant::MAX;
        if let Some(mut report) = allocated.sensor.on_deadline(now) {
            self.complete_report(number, &mut report);
            let allocated = &mut self.parts.allocated[number];
            let count = allocated.put(&report);
            let flow = allocated.reports;
            let size = REPORT_PAYLOAD + ByteCount::new(self.parts.flows[flow.0 as usize].headers);
            self.send(Outgoing { flow, number: count, kind: Kind::Datagram, tag: 0, size });
        }
        self.schedule_report(number);
    }

    /// A report has reached the proxy.
    pub(super) fn on_report_packet(&mut self, number: usize, packet: &Packet) {
        let now = self.now;
        let allocated = &mut self.parts.allocated[number];
        let Some(bytes) = allocated.take(packet.number) else { return };
        let station = ReceiverId(self.parts.flows[allocated.flow.0 as usize].station.0);
        let report = Report::decode(&bytes);
        debug_assert!(report.is_ok(), "the sensor wrote it: {report:?}");
        if let (Ok(report), Some(proxy)) = (report, &mut self.parts.proxy) {
            proxy.allocator.on_report(now, station, &report);
        }
        self.schedule_decision();
    }

    fn schedule_decision(&mut self) {
        let Some(proxy) = &mut self.parts.proxy else { return };
        if let Some(at) = proxy.allocator.next_deadline().filter(|at| *at < proxy.due) {
            proxy.due = at;
            self.schedule(at, Event::Proxy(ProxyEvent::Decide));
        }
    }

    /// Lets the sources send at the rates that were decided.
    fn apply_rates(&mut self) {
        let parts = &mut self.parts;
        let Some(proxy) = &parts.proxy else { return };
        for allocated in &parts.allocated {
            let rate = proxy.allocator.rate(ReceiverId(parts.flows[allocated.flow.0 as usize].station.0));
            if !rate.is_zero() {
                let feed = &mut parts.nodes[ACCESS_POINT.index()].feed;
                feed.set_rate(allocated.flow.0 as usize, self.now, rate, &mut parts.meters);
            }
        }
        self.sleep(ACCESS_POINT);
        self.grant();
    }
}

//! Meters: the counters of a run, and the events for observers.

mod aggregate;
mod air;
mod demand;
mod exchange;
mod flow;
mod journey;
mod numbers;
mod observer;
mod rows;
mod rtc;
mod samples;
mod summary;
mod video;

use airbound_control::classify::Pattern;
use airbound_control::frame::{DropReason, FlowId, Payload, StationId};
use airbound_record::{FrameFate, FrameRow, HopRow, PacketRow, Split, TxopKind, TxopRow};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::control_frames::BLOCK_ACK_REQUEST;

pub(crate) use air::AirMeter;
pub(crate) use demand::DemandMeter;
pub use exchange::{ExchangeView, MpduView};
pub(crate) use exchange::{Exchanged, OnAir};
pub(crate) use flow::FlowMeter;
pub(crate) use journey::Arrival;
use journey::Journeys;
pub(crate) use numbers::Numbers;
pub(crate) use observer::Audience;
pub use observer::{Event, Events, NoObserver, Observer};
pub(crate) use rows::Rows;
pub(crate) use summary::Figures;
pub(crate) use video::{FrameEvent, Sent};

use crate::flow::{Direction, Flow};
use crate::ingress::IngressObserver;
use crate::packet::Packet;
use airbound_traffic::FrameStart;

/// All meters of a run.
pub(crate) struct Meters {
    /// Start of the measured time; earlier, only the totals of packets count.
    measured_from: Instant,
    end: Instant,
    pub(crate) flows: Vec<FlowMeter>,
    pub(crate) air: AirMeter,
    journeys: Journeys,
    /// Packets on the wire to the server at the end of the run.
    beyond_end: u64,
    /// Where rows go, with the numbers of the run.
    pub(crate) rows: Rows,
    window_start: Instant,
}

impl Meters {
    pub(crate) fn new(measured_from: Instant, end: Instant, flows: Vec<FlowMeter>, nodes: usize) -> Self {
        Self {
            measured_from,
            end,
            air: AirMeter::new(nodes),
            journeys: Journeys::default(),
            beyond_end: 0,
            rows: Rows { audience: Audience::default(), numbers: Numbers::alone(flows.len()) },
            flows,
            window_start: Instant::ZERO,
        }
    }

    #[inline]
    fn flow(&mut self, id: FlowId) -> &mut FlowMeter {
        &mut self.flows[id.0 as usize]
    }

    /// Notes a packet sent; a datagram is what its source wanted to send.
    #[inline]
    pub(crate) fn on_sent(&mut self, packet: &Packet) {
        let measured = packet.sent >= self.measured_from;
        let flow = self.flow(packet.flow);
        flow.on_sent(packet, measured);
        if packet.kind.is_datagram() {
            flow.on_offered_packet(packet, measured);
        }
    }

    /// Notes bytes written by an application.
    pub(crate) fn on_offered(&mut self, flow: FlowId, now: Instant, bytes: ByteCount) {
        let measured = now >= self.measured_from;
        self.flow(flow).on_offered(bytes, measured);
    }

    pub(crate) fn on_dropped(&mut self, now: Instant, packet: &Packet, reason: DropReason) {
        let measured = packet.sent >= self.measured_from;
        self.journeys.take(packet.flow, packet.number);
        let meter = self.flow(packet.flow);
        meter.on_dropped(packet, reason, measured);
        if self.rows.audience.wants.packets {
            let fate = airbound_record::Fate::Dropped(reason.code());
            let row = PacketRow { completed: now, ..self.row(packet, fate) };
            self.rows.audience.notify(Event::Packet(&row));
        }
    }

    /// Notes a packet that left the reordering buffer at `released` and reaches its destination at `arrived`.
    #[inline(always)]
    pub(crate) fn on_delivered(&mut self, arrival: &Arrival, released: Instant, arrived: Instant) {
        if arrived > self.end {
            self.beyond_end += 1;
            return;
        }
        let packet = &arrival.packet;
        let measured = packet.sent >= self.measured_from;
        let counts_bytes = arrived >= self.measured_from;
        let journey = self.journeys.take(packet.flow, packet.number);
        let meter = &mut self.flows[packet.flow.0 as usize];
        meter.on_arrived(packet, counts_bytes);
        let latency = arrived - packet.sent;
        if measured {
            let entered = journey.as_ref().map_or(packet.enqueued, |journey| journey.entered);
            let moments = arrival.moments(released, arrived);
            let split = journey.map_or_else(|| Split::between(&moments), |journey| journey.until(&moments));
            meter.on_measured(latency, split, arrival.completed, arrival.completed - entered);
        }
        if self.rows.audience.wants.series {
            meter.on_window_latency(latency);
        }
        if meter.has_open_frames() {
            while let Some(frame) = meter.lost_frame(packet) {
                self.rows.frame(&frame);
            }
            if let Some(frame) = meter.frames_of_datagrams(packet, arrived) {
                self.rows.frame(&frame);
            }
        }
        if self.rows.audience.wants.packets {
            let row = self.row_of_arrival(arrival, released, arrived);
            self.rows.audience.notify(Event::Packet(&row));
        }
    }

    /// Notes a packet from `transmitter` that left the reordering buffer of a relay at `released` and is forwarded.
    pub(crate) fn on_relayed(&mut self, transmitter: StationId, arrival: &Arrival, released: Instant) {
        let packet = &arrival.packet;
        self.journeys.on_relayed(packet.flow, packet.number, &arrival.moments(released, released));
        if self.rows.audience.wants.packets {
            let row = self.row_of_arrival(arrival, released, released);
            self.rows.audience.notify(Event::Hop(&HopRow {
                packet: row.packet,
                transmitter: self.rows.numbers.transmitter(transmitter.0),
                receiver: self.rows.numbers.transmitter(arrival.packet.to.0),
                enqueued: row.enqueued,
                contending: row.contending,
                first_tx: row.first_tx,
                last_tx: row.last_tx,
                received: row.received,
                delivered: row.delivered,
                completed: row.completed,
                tries: row.tries,
                txop: row.txop,
            }));
        }
    }

    fn row_of_arrival(&self, arrival: &Arrival, released: Instant, arrived: Instant) -> PacketRow {
        PacketRow {
            last_tx: arrival.last_transmission,
            received: arrival.received,
            delivered: released,
            arrived,
            completed: arrival.completed,
            tries: arrival.tries,
            txop: self.rows.numbers.txop(arrival.txop),
            ..self.row(&arrival.packet, airbound_record::Fate::Delivered)
        }
    }

    fn row(&self, packet: &Packet, fate: airbound_record::Fate) -> PacketRow {
        PacketRow {
            packet: self.rows.numbers.packet(packet.flow.0, packet.number),
            flow: self.rows.numbers.flow(packet.flow.0),
            station: self.rows.numbers.stations + self.flows[packet.flow.0 as usize].station_number(),
            category: packet.category.index() as u8,
            size: packet.size(),
            sent: packet.sent,
            enqueued: packet.enqueued,
            contending: packet.contending,
            first_tx: packet.first_transmission,
            last_tx: Instant::MAX,
            received: Instant::MAX,
            delivered: Instant::MAX,
            arrived: Instant::MAX,
            completed: Instant::MAX,
            fate,
            tries: 0,
            txop: 0,
        }
    }

    /// Notes `bytes` more in order at the receiver of a connection.
    pub(crate) fn on_stream_bytes(&mut self, flow: FlowId, now: Instant, bytes: ByteCount) {
        let measured = now >= self.measured_from;
        self.flow(flow).on_goodput(bytes, measured);
    }

    /// Notes a round trip measured by the sender of a connection.
    pub(crate) fn on_round_trip(&mut self, flow: FlowId, now: Instant, round_trip: Span) {
        let measured = now >= self.measured_from;
        self.flow(flow).on_round_trip(round_trip, measured);
    }

    pub(crate) fn on_frame_delivered(
        &mut self,
        flow: FlowId,
        frame: u64,
        created: Instant,
        size: ByteCount,
        now: Instant,
    ) {
        let measured = created >= self.measured_from;
        let row = self.flow(flow).on_frame(frame, created, size, now, measured);
        self.rows.frame(&row);
    }

    pub(crate) fn on_frame_skipped(&mut self, flow: FlowId, frame: u64, created: Instant) {
        let measured = created >= self.measured_from;
        self.flow(flow).on_frame_skipped(1, measured);
        self.rows.frame(&FrameRow::skipped(flow.0, frame, created));
    }

    /// Notes an incomplete frame of a connection at the end of the run.
    pub(crate) fn on_frame_unfinished(
        &mut self,
        flow: FlowId,
        frame: u64,
        created: Instant,
        size: ByteCount,
    ) {
        let (measured, end) = (created >= self.measured_from, self.end);
        self.flow(flow).on_frame_unfinished(created, end, measured);
        self.rows.frame(&FrameRow {
            first_packet: created,
            size,
            fate: FrameFate::Unfinished,
            ..FrameRow::skipped(flow.0, frame, created)
        });
    }

    /// Notes all incomplete frames of datagrams at the end of the run.
    pub(crate) fn end_frames_of_datagrams(&mut self) {
        for meter in &mut self.flows {
            for row in meter.unfinished_frames(self.end) {
                self.rows.frame(&row);
            }
        }
    }

    pub(crate) fn on_attempts(&mut self, now: Instant, transmitters: u64, collided: bool) {
        if now >= self.measured_from {
            self.air.on_attempts(transmitters, collided);
        }
    }

    /// Notes that the channel was busy from `start` to `end`.
    pub(crate) fn on_busy(&mut self, start: Instant, end: Instant) {
        let start = start.max(self.measured_from);
        self.air.on_busy(end.min(self.end).since(start));
    }

    pub(crate) fn on_exchange(&mut self, view: &Exchanged<'_>) {
        let one = view.on_air;
        // Colliding transmitters share the wasted time: all shares together never exceed the whole.
        let airtime = (one.timing.end - one.start) / u64::from(one.transmitters);
        let downwards = view.way == Direction::Down;
        let held = view.descriptor.mpdus.len() as u16;
        let mpdus = if one.is_request { 0 } else { held };
        let acknowledged = one.acknowledged.count();
        self.air.on_window(view.link, downwards, airtime, mpdus, one.rate);
        if one.start >= self.measured_from {
            self.air.on_exchange(view.link, downwards, airtime, mpdus, acknowledged, one.rate);
        }
        if self.rows.audience.wants.txops {
            self.rows.audience.notify(Event::Txop(&TxopRow {
                txop: self.rows.numbers.txop(one.txop),
                transmitter: self.rows.numbers.transmitter(one.node.0),
                receiver: self.rows.numbers.transmitter(view.descriptor.station.0),
                category: one.category.index() as u8,
                kind: if one.node == view.descriptor.station { TxopKind::Neighbour } else { TxopKind::Data },
                contending: view.contending,
                start: one.start,
                end: one.timing.end,
                rate: one.rate.bit_rate(),
                mpdus: held,
                acked: acknowledged,
                size: if one.is_request { BLOCK_ACK_REQUEST } else { view.descriptor.psdu },
                collided: one.collided(),
            }));
        }
        if self.rows.audience.wants.exchanges && !one.is_request {
            let view = ExchangeView { of: view, numbers: &self.rows.numbers };
            self.rows.audience.notify(Event::Exchange(&view));
        }
    }

    /// Notes automatically protected flows; `reason` returns the start and the pattern.
    pub(crate) fn note_found(&mut self, reason: impl Fn(&Flow) -> Option<(Instant, Pattern)>) {
        for meter in self.flows.iter_mut().filter(|meter| meter.is_reported()) {
            if let Some((since, pattern)) = reason(meter.details()) {
                meter.on_found(since, pattern);
            }
        }
    }

    /// Ends a window of the time series.
    pub(crate) fn end_window(&mut self, now: Instant) {
        if !self.rows.audience.wants.series {
            return;
        }
        let length = now - self.window_start;
        if length > Span::ZERO {
            for (number, meter) in self.flows.iter_mut().enumerate() {
                if meter.is_reported() {
                    let (rate, share) = self.air.window_of(meter.station(), length);
                    let row = meter.end_window(
                        self.window_start,
                        self.rows.numbers.flow(number as u32),
                        length,
                        rate,
                        share,
                    );
                    self.rows.audience.notify(Event::Series(&row));
                }
            }
        }
        self.air.end_window();
        self.window_start = now;
    }

    pub(crate) const fn on_wire_up(&self) -> u64 {
        self.beyond_end
    }

    /// Sent, delivered and dropped packets of the whole run.
    pub(crate) fn totals(&self) -> (u64, u64, u64) {
        self.flows.iter().fold((0, 0, 0), |(sent, delivered, dropped), meter| {
            let packets = meter.packets();
            (sent + packets.sent, delivered + packets.delivered, dropped + packets.dropped())
        })
    }

    /// Makes `now` the end of the run; returns the measured time.
    pub(crate) fn end_at(&mut self, now: Instant) -> Span {
        self.end = now;
        self.measured()
    }

    /// The length of the measured time.
    pub(crate) fn measured(&self) -> Span {
        self.end - self.measured_from
    }
}

impl IngressObserver for Meters {
    #[inline]
    fn on_sent(&mut self, packet: &Packet, lost: bool) {
        Self::on_sent(self, packet);
        if lost {
            self.on_dropped(packet.sent, packet, DropReason::Wire);
        }
    }

    #[inline]
    fn on_all_sent(&mut self, packet: &Packet, packets: u64, last: Instant) {
        let measured = last >= self.measured_from;
        self.flow(packet.flow).on_all_sent(packet, packets, measured);
    }

    #[inline]
    fn counts_alike(&self, first: Instant, last: Instant) -> bool {
        (first >= self.measured_from) == (last >= self.measured_from)
    }

    fn on_frame(&mut self, flow: FlowId, frame: &FrameStart) {
        let measured = frame.created >= self.measured_from;
        if let Some(lost) = self.flow(flow).on_frame_start(frame, measured) {
            self.rows.frame(&lost);
        }
    }
}

//! Meter of one flow: fates of its packets and frames, latencies, goodput.

use std::collections::VecDeque;

use airbound_control::classify::Pattern;
use airbound_control::frame::{DropReason, Payload, StationId};
use airbound_record::{FlowLatency, FrameFate, FrameRow, LatencyHistogram, Resolution, SeriesRow, Split};
use airbound_units::{ByteCount, Instant, Span};

use super::aggregate::Places;
use super::demand::DemandMeter;
use super::samples::Samples;
use super::video::VideoMeter;
use crate::flow::Flow;
use crate::packet::Packet;
use airbound_traffic::FrameStart;

/// Packets by fate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PacketTotals {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) drops: [u64; DropReason::ALL.len()],
}

impl PacketTotals {
    pub(crate) fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }
}

/// Frames by fate, of those created in the measured time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Frames {
    pub(crate) delivered: u64,
    pub(crate) late: u64,
    pub(crate) skipped: u64,
    /// Sent, but a part was lost for good.
    pub(crate) lost: u64,
    /// Incomplete at the end of the run, past their deadline.
    pub(crate) overdue: u64,
}

/// An incomplete frame of datagrams.
#[derive(Debug, Clone, Copy)]
struct OpenFrame {
    start: FrameStart,
    first_packet: Instant,
    left: u64,
    measured: bool,
}

/// Upper limit on incomplete frames; an older one has lost a packet.
const OPEN_FRAMES: usize = 64;

/// The meter of one flow.
#[derive(Debug, Clone)]
pub(crate) struct FlowMeter {
    flow: Flow,
    /// Value of [`Flow::is_reported`].
    reported: bool,
    /// Whether its latencies go into distributions.
    keeps_latency: bool,
    /// Frames later than this count as late; `None` for flows without a deadline.
    deadline: Option<Span>,
    whole_run: PacketTotals,
    measured: PacketTotals,
    offered: ByteCount,
    /// Whether its source says what it wants to send; a transfer without a limit does not, and what arrives counts.
    has_offer: bool,
    goodput: ByteCount,
    pub(super) latency: FlowLatency,
    /// Latency from entering the queue to the acknowledgement, LAST-PQ's latency.
    wifi: LatencyHistogram,
    /// Latencies not yet added to these distributions and to that of the window.
    samples: Samples,
    /// Packets of whole aggregates not yet added to the distribution of the airtime.
    pub(super) places: Places,
    demand: Option<DemandMeter>,
    frames: Option<Frames>,
    open: VecDeque<OpenFrame>,
    /// Meter of real-time video.
    pub(super) video: Option<VideoMeter>,
    /// When a queue first protected it automatically, and the last pattern.
    found: Option<(Instant, Pattern)>,
    window: Window,
}

/// The current window of the time series.
#[derive(Debug, Clone)]
struct Window {
    offered: ByteCount,
    goodput: ByteCount,
    dropped: u64,
    latency: LatencyHistogram,
}

impl FlowMeter {
    pub(crate) fn new(flow: Flow, has_frames: bool, deadline: Option<Span>) -> Self {
        Self {
            reported: flow.is_reported(),
            keeps_latency: flow.is_reported(),
            flow,
            deadline,
            whole_run: PacketTotals::default(),
            measured: PacketTotals::default(),
            offered: ByteCount::ZERO,
            has_offer: false,
            goodput: ByteCount::ZERO,
            latency: FlowLatency::new(),
            wifi: LatencyHistogram::new(Resolution::Fine),
            samples: Samples::new(),
            places: Places::default(),
            demand: None,
            frames: has_frames.then(Frames::default),
            open: VecDeque::new(),
            video: None,
            found: None,
            window: Window {
                offered: ByteCount::ZERO,
                goodput: ByteCount::ZERO,
                dropped: 0,
                latency: LatencyHistogram::new(Resolution::Coarse),
            },
        }
    }

    /// Disables its latency distributions: the caller measures its external packets itself.
    pub(crate) const fn leave_latency_out(&mut self) {
        self.keeps_latency = false;
    }

    /// Leaves it out of all results until [`FlowMeter::wake`].
    pub(crate) const fn sleep(&mut self) {
        self.reported = false;
    }

    /// Reports it from now on, under a name and perhaps against a demand.
    pub(crate) fn wake(&mut self, name: &str, demand: Option<DemandMeter>) {
        self.flow.name = name.to_owned();
        self.reported = true;
        self.demand = demand;
    }

    /// Notes that a queue has protected it automatically since `since`, for `pattern`.
    pub(crate) fn on_found(&mut self, since: Instant, pattern: Pattern) {
        let first = self.found.map_or(since, |(first, _)| first);
        self.found = Some((first, pattern));
    }

    pub(crate) const fn found(&self) -> Option<(Instant, Pattern)> {
        self.found
    }

    /// Measures against a demand, too.
    pub(crate) fn under_demand(self, demand: Option<DemandMeter>) -> Self {
        Self { demand, ..self }
    }

    /// Measures real-time video whose frames have to arrive within `deadline`.
    pub(crate) fn of_video(self, deadline: Span) -> Self {
        Self { video: Some(VideoMeter::new(self.flow.id.0, deadline)), ..self }
    }

    pub(crate) const fn demand(&self) -> Option<&DemandMeter> {
        self.demand.as_ref()
    }

    pub(crate) const fn details(&self) -> &Flow {
        &self.flow
    }

    pub(crate) const fn is_reported(&self) -> bool {
        self.reported
    }

    pub(crate) const fn station(&self) -> StationId {
        self.flow.station
    }

    /// The number of the station in the record, where stations count from 0.
    pub(crate) const fn station_number(&self) -> u16 {
        self.flow.station.0.saturating_sub(1)
    }

    pub(crate) const fn packets(&self) -> &PacketTotals {
        &self.whole_run
    }

    /// The packets sent in the measured time.
    pub(crate) const fn measured(&self) -> &PacketTotals {
        &self.measured
    }

    /// Call after [`FlowMeter::enter_all`].
    pub(crate) const fn latency(&self) -> &FlowLatency {
        debug_assert!(self.samples.is_empty() && self.places.is_empty(), "some latencies are missing");
        &self.latency
    }

    /// Call after [`FlowMeter::enter_all`].
    pub(crate) const fn wifi_latency(&self) -> &LatencyHistogram {
        debug_assert!(self.samples.is_empty(), "some latencies are missing");
        &self.wifi
    }

    pub(crate) const fn frames(&self) -> Option<&Frames> {
        self.frames.as_ref()
    }

    pub(crate) const fn goodput(&self) -> ByteCount {
        self.goodput
    }

    pub(crate) const fn offered(&self) -> ByteCount {
        self.offered
    }

    #[inline]
    pub(super) fn payload(&self, packet: &Packet) -> ByteCount {
        packet.size() - ByteCount::new(self.flow.headers)
    }

    #[inline]
    pub(super) fn on_sent(&mut self, _packet: &Packet, measured: bool) {
        self.whole_run.sent += 1;
        self.measured.sent += u64::from(measured);
    }

    /// Notes datagrams like `packet` that its source sent.
    #[inline]
    pub(super) fn on_all_sent(&mut self, packet: &Packet, packets: u64, measured: bool) {
        self.whole_run.sent += packets;
        self.measured.sent += if measured { packets } else { 0 };
        self.on_offered(self.payload(packet) * packets, measured);
    }

    #[inline]
    pub(super) fn on_offered_packet(&mut self, packet: &Packet, measured: bool) {
        let payload = self.payload(packet);
        self.on_offered(payload, measured);
    }

    #[inline]
    pub(super) fn on_offered(&mut self, bytes: ByteCount, measured: bool) {
        self.window.offered += bytes;
        self.has_offer = true;
        if measured {
            self.offered += bytes;
        }
    }

    pub(super) fn on_dropped(&mut self, _packet: &Packet, reason: DropReason, measured: bool) {
        let place = usize::from(reason.code());
        self.whole_run.drops[place] += 1;
        self.measured.drops[place] += u64::from(measured);
        self.window.dropped += 1;
    }

    /// Notes a packet at its destination.
    #[inline]
    pub(super) fn on_arrived(&mut self, packet: &Packet, counts_bytes: bool) {
        self.whole_run.delivered += 1;
        if packet.kind.is_datagram() {
            let payload = self.payload(packet);
            self.on_goodput(payload, counts_bytes);
        }
    }

    /// Notes a packet sent in the measured time: its latency by stage, and that over the air, acknowledged at
    /// `completed`.
    #[inline]
    pub(super) fn on_measured(
        &mut self,
        latency: Span,
        split: Option<Split>,
        completed: Instant,
        wifi: Span,
    ) {
        self.measured.delivered += 1;
        if !self.reported {
            return;
        }
        match split {
            _ if !self.keeps_latency => {}
            None => self.wifi.record(wifi),
            Some(split) if self.samples.add(latency, &split, wifi) => self.enter_samples(),
            Some(_) => {}
        }
        if let Some(demand) = &mut self.demand {
            demand.on_completion(completed, wifi);
        }
    }

    /// Adds the latency of a packet to the time series.
    pub(super) fn on_window_latency(&mut self, latency: Span) {
        if self.reported && self.samples.add_to_window(latency) {
            self.enter_samples();
        }
    }

    /// Notes `packets` datagrams, all like `packet`, at their destination in the measured time.
    pub(super) fn on_arrivals(&mut self, packets: u64, packet: &Packet) {
        self.whole_run.delivered += packets;
        self.on_goodput(self.payload(packet) * packets, true);
    }

    /// Whether the latencies of its packets go into distributions.
    pub(super) const fn keeps_latency(&self) -> bool {
        self.reported && self.keeps_latency
    }

    /// Notes packets sent in the measured time and acknowledged at `completed`: their latencies over the air, and those that `record` adds.
    pub(super) fn on_measured_alike(
        &mut self,
        completed: Instant,
        wifi: &[Span],
        record: impl FnOnce(&mut FlowLatency),
    ) {
        self.measured.delivered += wifi.len() as u64;
        if !self.reported {
            return;
        }
        if self.keeps_latency() {
            self.wifi.record_all(wifi);
            record(&mut self.latency);
        }
        if let Some(demand) = &mut self.demand {
            wifi.iter().for_each(|latency| demand.on_completion(completed, *latency));
        }
    }

    /// Adds the latencies of packets to the time series.
    pub(super) fn on_window_latencies(&mut self, latencies: &[Span]) {
        if self.reported {
            self.window.latency.record_all(latencies);
        }
    }

    /// Adds all that is pending to the distributions.
    pub(super) fn enter_all(&mut self) {
        self.enter_samples();
        self.places.enter(&mut self.latency);
    }

    /// Adds the pending latencies to the distributions.
    fn enter_samples(&mut self) {
        self.samples.enter(&mut self.latency, &mut self.wifi, &mut self.window.latency);
    }

    #[inline]
    pub(super) fn on_goodput(&mut self, bytes: ByteCount, measured: bool) {
        self.window.goodput += bytes;
        if measured {
            self.goodput += bytes;
        }
    }

    pub(super) fn on_round_trip(&mut self, round_trip: Span, measured: bool) {
        if measured {
            self.latency.record_round_trip(round_trip);
        }
    }

    /// Notes a complete frame of a connection.
    pub(super) fn on_frame(
        &mut self,
        frame: u64,
        created: Instant,
        size: ByteCount,
        now: Instant,
        measured: bool,
    ) -> FrameRow {
        let latency = now - created;
        let late = self.deadline.is_some_and(|deadline| latency > deadline);
        if measured && let Some(frames) = &mut self.frames {
            frames.delivered += 1;
            frames.late += u64::from(late);
            self.latency.record_frame(latency);
        }
        FrameRow {
            first_packet: created,
            delivered: now,
            size,
            fate: if late { FrameFate::Late } else { FrameFate::Delivered },
            ..FrameRow::skipped(self.flow.id.0, frame, created)
        }
    }

    pub(super) fn on_frame_skipped(&mut self, count: u64, measured: bool) {
        if measured && let Some(frames) = &mut self.frames {
            frames.skipped += count;
        }
    }

    /// Notes the start of a frame of datagrams; returns one that is given up for it, if there are too many.
    pub(super) fn on_frame_start(&mut self, start: &FrameStart, measured: bool) -> Option<FrameRow> {
        self.on_frame_skipped(start.skipped, measured);
        let given_up = if self.open.len() >= OPEN_FRAMES { self.lose_oldest_frame() } else { None };
        self.open.push_back(OpenFrame {
            start: *start,
            first_packet: start.created,
            left: start.bytes.as_u64(),
            measured,
        });
        given_up
    }

    fn lose_oldest_frame(&mut self) -> Option<FrameRow> {
        let lost = self.open.pop_front()?;
        if let Some(frames) = self.frames.as_mut().filter(|_| lost.measured) {
            frames.lost += 1;
        }
        Some(FrameRow {
            first_packet: lost.first_packet,
            size: lost.start.bytes,
            fate: FrameFate::Lost,
            ..FrameRow::skipped(self.flow.id.0, lost.start.frame, lost.start.created)
        })
    }

    /// Whether any frame of datagrams was begun and is neither complete nor given up.
    pub(super) fn has_open_frames(&self) -> bool {
        !self.open.is_empty()
    }

    /// Returns a frame that can no longer be completed after the arrival of `packet`, since a flow keeps its order. Call
    /// until `None`.
    #[inline]
    pub(super) fn lost_frame(&mut self, packet: &Packet) -> Option<FrameRow> {
        if self.open.front()?.start.frame < packet.tag && packet.kind.is_datagram() {
            self.lose_oldest_frame()
        } else {
            None
        }
    }

    /// Notes an arrived datagram; returns the frame that it completes, if any.
    #[inline]
    pub(super) fn frames_of_datagrams(&mut self, packet: &Packet, now: Instant) -> Option<FrameRow> {
        if !packet.kind.is_datagram() {
            return None;
        }
        let payload = self.payload(packet).as_u64();
        let place = self.open.iter().position(|open| open.start.frame == packet.tag)?;
        let open = &mut self.open[place];
        open.left = open.left.saturating_sub(payload);
        if open.left > 0 {
            return None;
        }
        let open = self.open.remove(place)?;
        let mut row =
            self.on_frame(open.start.frame, open.start.created, open.start.bytes, now, open.measured);
        row.first_packet = open.first_packet;
        Some(row)
    }

    /// Notes an incomplete frame at the end of the run.
    pub(super) fn on_frame_unfinished(&mut self, created: Instant, end: Instant, measured: bool) {
        if measured && let Some(frames) = &mut self.frames {
            frames.overdue += u64::from(self.deadline.is_some_and(|deadline| created + deadline < end));
        }
    }

    /// Incomplete frames of datagrams at the `end` of the run.
    pub(super) fn unfinished_frames(&mut self, end: Instant) -> impl Iterator<Item = FrameRow> + use<> {
        let flow = self.flow.id.0;
        let open = std::mem::take(&mut self.open);
        for frame in &open {
            self.on_frame_unfinished(frame.start.created, end, frame.measured);
        }
        open.into_iter().map(move |open| FrameRow {
            first_packet: open.first_packet,
            size: open.start.bytes,
            fate: FrameFate::Unfinished,
            ..FrameRow::skipped(flow, open.start.frame, open.start.created)
        })
    }

    pub(super) fn end_window(
        &mut self,
        start: Instant,
        number: u32,
        length: Span,
        phy_rate_mbps: Option<f64>,
        airtime_share: f64,
    ) -> SeriesRow {
        self.enter_samples();
        let window = &mut self.window;
        let mbps = |bytes: ByteCount| bytes.bits() as f64 / length.as_secs_f64() / 1e6;
        let quantile = |q: f64| window.latency.quantile(q).map(Span::as_millis_f64);
        let row = SeriesRow {
            window_start: start,
            flow: number,
            offered_mbps: mbps(if self.has_offer { window.offered } else { window.goodput }),
            goodput_mbps: mbps(window.goodput),
            latency_p50_ms: quantile(0.5),
            latency_p95_ms: quantile(0.95),
            latency_max_ms: (window.latency.count() > 0).then(|| window.latency.max().as_millis_f64()),
            dropped: window.dropped,
            queue_packets: self.whole_run.sent - self.whole_run.delivered - self.whole_run.dropped(),
            phy_rate_mbps,
            airtime_share,
        };
        window.offered = ByteCount::ZERO;
        window.goodput = ByteCount::ZERO;
        window.dropped = 0;
        window.latency.clear();
        row
    }
}

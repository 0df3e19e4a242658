//! The rows of packets on the pipes of a conference: their fates, and their windows of the time series.

use airbound_record::{Fate, LatencyHistogram, PacketRow, Resolution, SeriesRow};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::Category;

use super::packet::Packet;
use crate::measure::{Audience, Event};
use crate::path::{Turn, Way};

/// Writes them.
#[derive(Debug)]
pub(crate) struct Tables {
    audience: Audience,
    clients: Vec<OnPipe>,
    /// Of each client, up and down.
    windows: Vec<[Window; 2]>,
    /// The number of flows of the run.
    total: u64,
    window: Span,
    window_start: Instant,
}

/// A client on a pipe, or on the air, which writes its rows itself.
#[derive(Debug)]
pub(crate) struct OnPipe {
    /// Its flows in the run, up and down.
    pub(crate) flows: [u32; 2],
    /// Its number among the stations of the run.
    pub(crate) station: u16,
    pub(crate) is_on_air: bool,
}

/// Counters of the packets of a flow in a window.
#[derive(Debug)]
struct Window {
    offered: u64,
    arrived: u64,
    dropped: u64,
    waiting: u64,
    latency: LatencyHistogram,
}

impl Tables {
    pub(crate) fn new(audience: Audience, clients: Vec<OnPipe>, total: u64, window: Span) -> Self {
        let windows = clients.iter().map(|_| [Window::new(), Window::new()]).collect();
        Self { audience, clients, windows, total, window, window_start: Instant::ZERO }
    }

    /// The end of the present window; `None` if nobody wants them.
    pub(crate) fn window_end(&self) -> Option<Instant> {
        self.audience.wants.series.then(|| self.window_start + self.window)
    }

    /// Notes a packet offered to a pipe.
    pub(super) fn on_offered(&mut self, packet: &Packet) {
        let window = self.window_of(packet);
        window.offered += u64::from(packet.size());
        window.waiting += 1;
    }

    /// Notes the fate of a packet on a pipe: carried by `turn`, or dropped.
    pub(super) fn on_packet(&mut self, packet: &Packet, turn: Option<&Turn>, completed: Instant, fate: Fate) {
        let window = self.window_of(packet);
        window.waiting = window.waiting.saturating_sub(1);
        match turn {
            Some(_) => {
                window.arrived += u64::from(packet.size());
                window.latency.record(completed.since(packet.enqueued));
            }
            None => window.dropped += 1,
        }
        if !self.audience.wants.packets {
            return;
        }
        let OnPipe { flows, station, .. } = &self.clients[packet.client];
        let flow = flows[usize::from(packet.way == Way::Down)];
        let start = turn.map_or(Instant::MAX, |turn| turn.start);
        let end = turn.map_or(Instant::MAX, |turn| turn.end);
        self.audience.notify(Event::Packet(&PacketRow {
            packet: packet.number * self.total + u64::from(flow),
            flow,
            station: *station,
            category: Category::Be.index() as u8,
            size: ByteCount::new(u64::from(packet.size())),
            sent: packet.enqueued,
            enqueued: packet.enqueued,
            contending: start,
            first_tx: start,
            last_tx: start,
            received: end,
            delivered: end,
            arrived: end,
            completed,
            fate,
            tries: u8::from(turn.is_some()),
            txop: 0,
        }));
    }

    fn window_of(&mut self, packet: &Packet) -> &mut Window {
        &mut self.windows[packet.client][usize::from(packet.way == Way::Down)]
    }

    /// Ends a window of the time series.
    pub(crate) fn end_window(&mut self, now: Instant) {
        let length = now - self.window_start;
        for (client, windows) in
            self.clients.iter().zip(&mut self.windows).filter(|(client, _)| !client.is_on_air)
        {
            for (flow, window) in client.flows.into_iter().zip(windows) {
                let row = window.end(self.window_start, flow, length);
                self.audience.notify(Event::Series(&row));
            }
        }
        self.window_start = now;
    }
}

impl Window {
    fn new() -> Self {
        let latency = LatencyHistogram::new(Resolution::Coarse);
        Self { offered: 0, arrived: 0, dropped: 0, waiting: 0, latency }
    }

    /// Its row; the next one begins.
    fn end(&mut self, window_start: Instant, flow: u32, length: Span) -> SeriesRow {
        let latency = &self.latency;
        let quantile = |quantile: f64| latency.quantile(quantile).map(Span::as_millis_f64);
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / length.as_secs_f64();
        let row = SeriesRow {
            window_start,
            flow,
            offered_mbps: mbps(self.offered),
            goodput_mbps: mbps(self.arrived),
            latency_p50_ms: quantile(0.5),
            latency_p95_ms: quantile(0.95),
            latency_max_ms: (latency.count() > 0).then(|| latency.max().as_millis_f64()),
            dropped: self.dropped,
            queue_packets: self.waiting,
            phy_rate_mbps: None,
            airtime_share: 0.0,
        };
        (self.offered, self.arrived, self.dropped) = (0, 0, 0);
        self.latency.clear();
        row
    }
}

//! The results of a conference.

use airbound_control::frame::DropReason;
use airbound_record::{LatencyHistogram, LatencyStats, Resolution};
use airbound_units::{Instant, Span};

use crate::path::Way;

/// The results of one client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientOutcome {
    /// Mean bitrate of the received media, all sources together, in Mb/s.
    pub down_mbps: f64,
    /// Mean bitrate of the sent media that the server received, in Mb/s.
    pub up_mbps: f64,
    /// Received bitrate in each second, in Mb/s.
    pub seconds: Vec<f64>,
    /// The highest received bitrate among all sources in each second, in Mb/s (Fig. 12).
    pub best_source: Vec<f64>,
    /// Latency from the camera to the viewer, over the received frames.
    pub latency: LatencyStats,
    /// Latency from the camera to the server, over the client's own frames.
    pub uplink_latency: LatencyStats,
    /// Seconds spent in Plum's states I, II and III; all in I under other policies.
    pub states_s: [f64; 3],
}

/// The results of a conference.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConferenceOutcome {
    /// Clients, in the order of the access links.
    pub clients: Vec<ClientOutcome>,
    /// The number of Plum's computations of targets.
    pub computed: u64,
    /// Notices sent, repetitions included.
    pub notices: u64,
    /// Events processed.
    pub events: u64,
    /// Packets sent.
    pub packets: u64,
}

impl ConferenceOutcome {
    /// Mean received bitrate over the clients, in Mb/s.
    #[must_use]
    pub fn mean_down(&self) -> f64 {
        self.clients.iter().map(|client| client.down_mbps).sum::<f64>() / self.clients.len().max(1) as f64
    }

    /// The lowest received bitrate of a client, in Mb/s.
    #[must_use]
    pub fn worst_down(&self) -> f64 {
        self.clients.iter().map(|client| client.down_mbps).fold(f64::INFINITY, f64::min)
    }

    /// Jain's index of the received bitrates, 1/n to 1.
    #[must_use]
    pub fn jain(&self) -> f64 {
        let sum: f64 = self.clients.iter().map(|client| client.down_mbps).sum();
        let squares: f64 = self.clients.iter().map(|client| client.down_mbps * client.down_mbps).sum();
        if squares > 0.0 { sum * sum / (squares * self.clients.len() as f64) } else { 1.0 }
    }
}

/// Counters of one direction between a client and the server.
#[derive(Debug, Clone)]
pub(crate) struct WayMeter {
    /// Bytes of media to be sent.
    pub(crate) offered: u64,
    /// Bytes of media received.
    pub(crate) arrived: u64,
    /// Latency of frames, from the camera to the end of this direction.
    pub(crate) frames: LatencyHistogram,
    /// Data packets sent, and of these
    pub(crate) sent: u64,
    /// those that were dropped, by reason, and
    pub(crate) dropped: [u64; DropReason::ALL.len()],
    /// those received.
    pub(crate) packets: LatencyHistogram,
}

impl WayMeter {
    fn new() -> Self {
        let histogram = || LatencyHistogram::new(Resolution::Coarse);
        let dropped = [0; DropReason::ALL.len()];
        Self { offered: 0, arrived: 0, frames: histogram(), sent: 0, dropped, packets: histogram() }
    }
}

/// Counters of one client.
#[derive(Debug, Clone)]
pub(crate) struct Meter {
    up: WayMeter,
    down: WayMeter,
    /// Bytes by second and source, up to the last second with any: a session may be planned for longer than it lasts.
    seconds: Vec<Vec<u64>>,
    /// Number of measured seconds, and of sources.
    sizes: [usize; 2],
    states: [Span; 3],
}

impl Meter {
    pub(crate) fn new(clients: usize, seconds: usize) -> Self {
        Self {
            up: WayMeter::new(),
            down: WayMeter::new(),
            seconds: Vec::new(),
            sizes: [seconds, clients],
            states: [Span::ZERO; 3],
        }
    }

    /// The counters of one direction.
    pub(crate) fn way(&mut self, way: Way) -> &mut WayMeter {
        match way {
            Way::Up => &mut self.up,
            Way::Down => &mut self.down,
        }
    }

    /// Notes a frame of `source` received `since` the start of the measured time.
    pub(crate) fn on_frame(&mut self, since: Span, source: usize, bytes: u64, latency: Span) {
        self.down.arrived += bytes;
        self.down.frames.record(latency);
        let (second, [seconds, clients]) = (since.div_floor(Span::from_secs(1)) as usize, self.sizes);
        if second < seconds {
            let known = self.seconds.len().max(second + 1);
            self.seconds.resize_with(known, || vec![0; clients]);
            self.seconds[second][source] += bytes;
        }
    }

    /// Notes a frame of the client received by the server.
    pub(crate) fn on_sent(&mut self, bytes: u64, latency: Span) {
        self.up.arrived += bytes;
        self.up.frames.record(latency);
    }

    /// Adds time spent in a state, numbered from 1.
    pub(crate) fn on_state(&mut self, number: u8, time: Span) {
        if let Some(state) = self.states.get_mut(usize::from(number.saturating_sub(1))) {
            *state += time;
        }
    }

    pub(crate) fn outcome(&self, measured: Span) -> ClientOutcome {
        let mbps = |bytes: u64, time: f64| bytes as f64 * 8e-6 / time;
        let all = measured.as_secs_f64().max(1e-9);
        let sources = |second: usize| self.seconds.get(second).map_or(&[][..], Vec::as_slice);
        let seconds = 0..self.sizes[0];
        ClientOutcome {
            down_mbps: mbps(self.down.arrived, all),
            up_mbps: mbps(self.up.arrived, all),
            seconds: seconds.clone().map(|second| mbps(sources(second).iter().sum(), 1.0)).collect(),
            best_source: seconds
                .map(|second| mbps(sources(second).iter().copied().max().unwrap_or(0), 1.0))
                .collect(),
            latency: self.down.frames.stats(),
            uplink_latency: self.up.frames.stats(),
            states_s: self.states.map(Span::as_secs_f64),
        }
    }
}

/// Start and end of the measured time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
}

impl Measured {
    pub(crate) fn contains(&self, now: Instant) -> bool {
        (self.from..self.to).contains(&now)
    }
}

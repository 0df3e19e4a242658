//! A room over the streams of a conference: each source sends simulcast layers, of which the server forwards one to each viewer.

use airbound_senders::conference::ClientId;
use airbound_senders::conference::camera::{CAMERA_LAYERS, Camera, SHARES};
use airbound_senders::conference::plum::{Notice, State};
use airbound_senders::conference::room::{Action, Gauge, MOST_LAYERS, Room, RoomConfig, Viewing};
use airbound_units::{BitRate, ConfigError, Instant};

/// The room, with the layers that it chose and the rates of those that are sent.
#[derive(Debug)]
pub(super) struct Layered {
    room: Room,
    cameras: Vec<Camera>,
    /// For each source, the rates of its layers in bit/s.
    rates: Vec<[f64; CAMERA_LAYERS]>,
    /// For each viewer and source, the chosen layer.
    chosen: Vec<Vec<Option<u8>>>,
    /// Downlinks whose estimates begin anew, and at which rates.
    begins: Vec<(usize, BitRate)>,
    /// Uplinks that are probed, and up to which rates.
    probes: Vec<(usize, BitRate)>,
    /// For each client, its estimates up and down.
    gauges: Vec<[Gauge; 2]>,
}

impl Layered {
    pub(super) fn new(
        config: RoomConfig,
        most: BitRate,
        weights: impl Iterator<Item = f64>,
    ) -> Result<Self, ConfigError> {
        let weights: Vec<f64> = weights.collect();
        // A stream over TCP has an estimate only once it carries data: the smallest layers of all fit from the start.
        let smallest = most.mul_f64(SHARES[0] * weights.len() as f64 / config.headroom);
        let mut room = Room::new(RoomConfig { start: config.start.max(smallest), ..config })?;
        let start = Instant::ZERO;
        weights.into_iter().enumerate().for_each(|(client, weight)| room.join(start, id(client), weight));
        let clients: Vec<ClientId> = room.members().collect();
        for viewer in &clients {
            let views: Vec<Viewing> = clients
                .iter()
                .map(|source| Viewing { source: *source, largest: MOST_LAYERS as u8 - 1, priority: 0 })
                .collect();
            room.on_views(start, *viewer, &views);
        }
        let count = clients.len();
        Ok(Self {
            room,
            cameras: vec![Camera::new(most); count],
            rates: vec![[0.0; CAMERA_LAYERS]; count],
            chosen: vec![vec![None; count]; count],
            begins: Vec::new(),
            probes: Vec::new(),
            gauges: vec![[Gauge::default(); 2]; count],
        })
    }

    pub(super) fn next_deadline(&self) -> Instant {
        self.room.next_deadline()
    }

    pub(super) fn on_deadline(&mut self, now: Instant) {
        self.room.on_deadline(now);
    }

    /// Carries out decisions until one is a notice. The congestion control of a stream probes by itself.
    pub(super) fn poll_notice(&mut self, now: Instant) -> Option<(usize, Notice)> {
        loop {
            match self.room.poll_action(now)? {
                Action::Hold { member, notice, .. } => return Some((usize::from(member.0), notice)),
                Action::Forward { viewer, source, layer } => {
                    self.chosen[usize::from(viewer.0)][usize::from(source.0)] = layer;
                }
                Action::Begin { member, rate } => self.begins.push((usize::from(member.0), rate)),
                Action::ProbeUplink { member, rate } => self.probes.push((usize::from(member.0), rate)),
                Action::Probe { .. } => {}
            }
        }
    }

    /// A client whose downlink is to be estimated anew, and the rate to begin at.
    pub(super) fn take_begin(&mut self) -> Option<(usize, BitRate)> {
        self.begins.pop()
    }

    /// A client whose uplink is to be probed, and up to which rate.
    pub(super) fn take_probe(&mut self) -> Option<(usize, BitRate)> {
        self.probes.pop()
    }

    /// Takes whether packets of a client are lost or wait.
    pub(super) fn on_path(&mut self, now: Instant, client: usize, trouble: bool) {
        self.room.on_path(now, id(client), trouble);
    }

    pub(super) fn on_acknowledged(&mut self, client: usize, sequence: u32) {
        self.room.on_acknowledged(id(client), sequence);
    }

    /// Takes the rate of a source's media, which its camera divides.
    pub(super) fn on_source(&mut self, now: Instant, source: usize, rate: f64) {
        let rates = self.cameras[source].divide(BitRate::from_bps_f64(rate));
        self.rates[source] = rates.map(|rate| rate.as_bps() as f64);
        self.room.on_layers(now, id(source), &rates);
    }

    /// Takes the estimates of both congestion controls of a client, in bit/s.
    pub(super) fn on_estimates(&mut self, now: Instant, client: usize, [up, down]: [f64; 2]) {
        let sent_up: f64 = self.rates[client].iter().sum();
        let sent_down: u64 = self.room.forwarded_to(id(client)).map(|(.., rate)| rate.as_bps()).sum();
        let estimate = |gauge: &mut Gauge, rate: f64, sent: f64| {
            gauge.estimate(now, BitRate::from_bps_f64(rate), BitRate::from_bps_f64(sent))
        };
        let [of_up, of_down] = &mut self.gauges[client];
        let (up, down) = (estimate(of_up, up, sent_up), estimate(of_down, down, sent_down as f64));
        self.room.on_uplink(now, id(client), up);
        self.room.on_downlink(now, id(client), down);
    }

    /// The part of a source's media that a viewer gets: one layer of all that are sent. One that was held back comes with its next frame; until
    /// then the one below it is forwarded.
    pub(super) fn part(&self, viewer: usize, source: usize) -> f64 {
        let rates = &self.rates[source];
        let all: f64 = rates.iter().sum();
        let chosen = self.chosen[viewer][source].map_or(0, |layer| usize::from(layer) + 1);
        let layer = rates.iter().take(chosen).rev().find(|rate| **rate > 0.0);
        if all > 0.0 { layer.copied().unwrap_or(0.0) / all } else { 0.0 }
    }

    pub(super) fn state(&self, client: usize) -> Option<State> {
        self.room.state(id(client))
    }
}

const fn id(client: usize) -> ClientId {
    ClientId(client as u16)
}

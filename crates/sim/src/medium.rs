//! What each link is like at each moment, and who disturbs it.

use std::sync::Arc;

use airbound_control::payload::StationId;
use airbound_control::rate::LinkStats;
use airbound_units::{BitRate, ByteCount, Decibel, Instant};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::control_frames::ControlTiming;
use airbound_wifi::edca::{Category, EdcaParameters};
use airbound_wifi::mpdu::{FCS, LLC_SNAP, QOS_DATA_HEADER, subframe_size};
use airbound_wifi::rate::Rate;
use airbound_wifi::timing::preamble;

use crate::air::phy::Condition;
use crate::channel::{Bursts, Channel};
use crate::engine::ACCESS_POINT;
use crate::scenario::{ChannelSpec, Effect, Scenario, TraceUse};
use crate::trace::{PhyQuality, Pipe, Saturation, Trace};

/// The link between the access point and a node, alike in both directions.
#[derive(Debug, Clone)]
enum LinkQuality {
    /// Nothing is ever lost.
    Perfect,
    /// A constant signal-to-noise ratio.
    Constant(Decibel),
    /// A channel that changes.
    Channel(Channel),
    /// A bandwidth trace that says which PHY rate is worth its value.
    Dictated(Dictated),
}

/// A link whose PHY rate a trace dictates.
#[derive(Debug, Clone)]
struct Dictated {
    trace: Arc<Trace>,
    saturation: Saturation,
    /// The quality for each line of the trace, worked out when it is first needed.
    qualities: Vec<Option<PhyQuality>>,
    near: usize,
    /// What the transmitters were last told.
    told: Option<BitRate>,
}

impl Dictated {
    fn quality(&mut self, now: Instant) -> PhyQuality {
        let Trace::Bandwidth(trace) = &*self.trace else {
            return PhyQuality { rate: BitRate::ZERO, loss: 1.0 };
        };
        let step = trace.step_near(now, &mut self.near);
        if self.qualities.len() <= step {
            self.qualities.resize(step + 1, None);
        }
        let bandwidth = trace.rates().get(step).copied().unwrap_or(BitRate::ZERO);
        *self.qualities[step].get_or_insert_with(|| self.saturation.quality_for(bandwidth))
    }
}

/// All links, and the interference that all of them meet.
#[derive(Debug, Clone)]
pub(crate) struct Medium {
    /// By node; that of the access point itself is not used.
    links: Vec<LinkQuality>,
    /// Bursts during which everyone finds the channel busy.
    jams: Vec<Bursts>,
    /// Bursts that only make the receivers worse, with what they add to the noise.
    noises: Vec<(Bursts, Decibel)>,
}

impl Medium {
    /// The links of a scenario's stations, and perfect ones for everybody else.
    pub(crate) fn of(scenario: &Scenario, seed: u64, nodes: usize, control: &ControlTiming) -> Self {
        let mut links = vec![LinkQuality::Perfect; nodes];
        for (index, station) in scenario.stations.iter().enumerate() {
            links[index + 1] = match &station.channel {
                ChannelSpec::Ideal => LinkQuality::Perfect,
                ChannelSpec::Trace(link) if link.used_as == TraceUse::Phy => {
                    LinkQuality::Dictated(Dictated {
                        trace: Arc::clone(&link.trace),
                        saturation: saturation(scenario, control),
                        qualities: Vec::new(),
                        near: 0,
                        told: None,
                    })
                }
                ChannelSpec::Trace(link) if link.used_as == TraceUse::Pipe => LinkQuality::Perfect,
                _ => {
                    let channel = Channel::new(station, &scenario.air, seed, index as u64);
                    match channel.snr(Instant::ZERO) {
                        None => LinkQuality::Perfect,
                        Some(snr) if channel.is_constant() => LinkQuality::Constant(snr),
                        Some(_) => LinkQuality::Channel(channel),
                    }
                }
            };
        }
        let mut medium = Self { links, jams: Vec::new(), noises: Vec::new() };
        for (index, interference) in scenario.interferences.iter().enumerate() {
            let bursts = Bursts::new(interference, seed, index as u64);
            match interference.effect {
                Effect::Busy => medium.jams.push(bursts),
                Effect::Noise { level } => medium.noises.push((bursts, level)),
            }
        }
        medium
    }

    /// The trace that replaces the air, if one does.
    pub(crate) fn pipe(scenario: &Scenario) -> Option<Pipe> {
        scenario.stations.iter().find_map(|station| match &station.channel {
            ChannelSpec::Trace(link) if link.used_as == TraceUse::Pipe => {
                Some(Pipe::new(Arc::clone(&link.trace)))
            }
            _ => None,
        })
    }

    fn end(node: StationId, peer: StationId) -> usize {
        if node == ACCESS_POINT { peer.index() } else { node.index() }
    }

    /// What a frame of `node` to `peer` meets at `now`.
    pub(crate) fn condition(&mut self, node: StationId, peer: StationId, now: Instant) -> Condition {
        let snr = match self.links.get_mut(Self::end(node, peer)) {
            None | Some(LinkQuality::Perfect) => return Condition::Perfect,
            Some(LinkQuality::Dictated(link)) => return Condition::Dictated(link.quality(now)),
            Some(LinkQuality::Constant(snr)) => *snr,
            Some(LinkQuality::Channel(channel)) => match channel.snr(now) {
                Some(snr) => snr,
                None => return Condition::Perfect,
            },
        };
        let noise: f64 = self
            .noises
            .iter()
            .filter(|(bursts, _)| bursts.busy_at(now))
            .map(|(_, level)| level.value())
            .fold(0.0, f64::max);
        Condition::Snr(Decibel::new(snr.value() - noise))
    }

    /// What rate controls may know of a link before its first frame.
    pub(crate) fn stats(&mut self, node: StationId, peer: StationId, now: Instant) -> LinkStats {
        /// A ratio at which every rate is free of errors.
        const FLAWLESS: Decibel = Decibel::new(100.0);
        let mut stats = LinkStats::default();
        match self.condition(node, peer, now) {
            Condition::Perfect => stats.snr = Some(FLAWLESS),
            Condition::Snr(snr) => stats.snr = Some(snr),
            Condition::Dictated(quality) => {
                stats.snr = Some(FLAWLESS);
                stats.rate = Some(quality.rate);
            }
        }
        stats
    }

    /// Stations whose dictated rate changed since this was last asked.
    pub(crate) fn changed(&mut self, now: Instant) -> Option<(StationId, LinkStats)> {
        for (index, link) in self.links.iter_mut().enumerate() {
            if let LinkQuality::Dictated(link) = link {
                let rate = link.quality(now).rate;
                if link.told != Some(rate) {
                    link.told = Some(rate);
                    let stats = LinkStats { rate: Some(rate), ..LinkStats::default() };
                    return Some((StationId(index as u16), stats));
                }
            }
        }
        None
    }

    /// Whether any trace dictates rates.
    pub(crate) fn dictates(&self) -> bool {
        self.links.iter().any(|link| matches!(link, LinkQuality::Dictated(_)))
    }

    /// When the channel next begins or ends to be jammed.
    pub(crate) fn next_jam_change(&self, now: Instant) -> Option<Instant> {
        self.jams.iter().map(|bursts| bursts.next_change(now)).min().filter(|at| *at < Instant::MAX)
    }

    /// Until when the channel is jammed, if it is.
    pub(crate) fn jammed_until(&self, now: Instant) -> Option<Instant> {
        let on = self.jams.iter().filter(|bursts| bursts.busy_at(now));
        on.map(|bursts| bursts.next_change(now)).max()
    }
}

/// What one saturated best-effort transmitter spends on each aggregate.
fn saturation(scenario: &Scenario, control: &ControlTiming) -> Saturation {
    /// The packets that a bandwidth measurement sends.
    const PACKET: ByteCount = ByteCount::new(1500);
    let air = &scenario.air;
    let path = &scenario.access_point.path;
    let fastest = Rate::all(air.standard, air.width, scenario.access_point.streams, air.guard_interval)
        .last()
        .unwrap_or(Rate::legacy(airbound_wifi::rate::Legacy::Mbps54));
    let edca = EdcaParameters::linux_access_point(Category::Be);
    // The mean of a uniform backoff is half of its window.
    let backoff = air.band.slot() * u64::from(edca.cw_min) / 2;
    Saturation {
        packet: PACKET,
        subframe: subframe_size(PACKET + LLC_SNAP + QOS_DATA_HEADER + FCS),
        limits: AmpduLimits {
            max_mpdus: u32::from(path.max_ampdu_mpdus),
            max_bytes: path.max_ampdu_bytes,
            max_duration: path.max_ppdu_duration,
        },
        preamble: preamble(fastest),
        exchange: air.band.aifs(edca.aifsn) + backoff + air.band.sifs() + control.block_ack_for(fastest),
    }
}

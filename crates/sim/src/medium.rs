//! What each link is like at each moment, and who disturbs it.

use std::sync::Arc;

use airbound_control::frame::StationId;
use airbound_control::rate::LinkStats;
use airbound_units::{BitRate, Decibel, Instant};

use crate::channel::{Bursts, Channel, Quality};
use crate::scenario::{ChannelSpec, Effect, Scenario, TraceUse};
use crate::trace::Capacity;

/// The link between a station and the next node on its way to the access point, alike in both directions.
#[derive(Debug, Clone)]
struct RadioLink {
    channel: Channel,
    /// The quality, if it never changes.
    constant: Option<Quality>,
    /// Where the last search in a trace ended.
    near: usize,
    /// The dictated rate that the transmitters were last told.
    told: Option<BitRate>,
}

impl RadioLink {
    fn quality(&mut self, now: Instant) -> Quality {
        match self.constant {
            Some(quality) => quality,
            None => self.channel.quality_near(now, &mut self.near),
        }
    }
}

/// All links, and the interference that all of them meet.
#[derive(Debug, Clone)]
pub(crate) struct Medium {
    /// Of the stations, in the order of their nodes; the links of everybody else are perfect.
    links: Vec<RadioLink>,
    /// Bursts during which everyone finds the channel busy.
    jams: Vec<Bursts>,
    /// Bursts that only make the receivers worse, with what they add to the noise.
    noises: Vec<(Bursts, Decibel)>,
}

impl Medium {
    /// The links follow from `seed`, the interference from `channel_seed`.
    pub(crate) fn of(scenario: &Scenario, seed: u64, channel_seed: u64) -> Self {
        let path = &scenario.access_point.path;
        let links = scenario.stations.iter().enumerate().map(|(index, station)| {
            let channel = Channel::new(station, &scenario.air, path, seed, index as u64);
            let constant = channel.is_constant().then(|| channel.quality(Instant::ZERO));
            RadioLink { channel, constant, near: 0, told: None }
        });
        let mut medium = Self { links: links.collect(), jams: Vec::new(), noises: Vec::new() };
        for (index, interference) in scenario.interferences.iter().enumerate() {
            let bursts = Bursts::new(interference, channel_seed, index as u64);
            match interference.effect {
                Effect::Busy => medium.jams.push(bursts),
                Effect::Noise { level } => medium.noises.push((bursts, level)),
            }
        }
        medium
    }

    /// The trace that replaces the air, if one does.
    pub(crate) fn pipe(scenario: &Scenario) -> Option<Capacity> {
        scenario.stations.iter().find_map(|station| match &station.channel {
            ChannelSpec::Trace(link) if link.used_as == TraceUse::Pipe => {
                Some(Capacity::new(Arc::clone(&link.trace)))
            }
            _ => None,
        })
    }

    /// What a frame meets at `now` on the link whose lower end is `link`.
    pub(crate) fn quality(&mut self, link: StationId, now: Instant) -> Quality {
        let Some(link) = self.links.get_mut(link.index().wrapping_sub(1)) else { return Quality::Perfect };
        match link.quality(now) {
            Quality::Snr(snr) if !self.noises.is_empty() => {
                let on = self.noises.iter().filter(|(bursts, _)| bursts.busy_at(now));
                let noise = on.map(|(_, level)| level.value()).fold(0.0, f64::max);
                Quality::Snr(Decibel::new(snr.value() - noise))
            }
            quality => quality,
        }
    }

    /// What both ends may know of a link before their first frame.
    pub(crate) fn stats(&mut self, link: StationId, now: Instant) -> LinkStats {
        /// A ratio at which every rate is free of errors.
        const FLAWLESS: Decibel = Decibel::new(100.0);
        let (snr, rate) = match self.quality(link, now) {
            Quality::Perfect => (FLAWLESS, None),
            Quality::Snr(snr) => (snr, None),
            Quality::Phy(quality) => (FLAWLESS, Some(quality.rate)),
        };
        LinkStats { snr: Some(snr), rate }
    }

    /// A link whose dictated rate changed since this was last asked, until there is none.
    pub(crate) fn changed(&mut self, now: Instant) -> Option<(StationId, LinkStats)> {
        for (index, link) in self.links.iter_mut().enumerate() {
            if let Quality::Phy(quality) = link.quality(now)
                && link.told != Some(quality.rate)
            {
                link.told = Some(quality.rate);
                let stats = LinkStats { rate: Some(quality.rate), ..LinkStats::default() };
                return Some((StationId(index as u16 + 1), stats));
            }
        }
        None
    }

    /// Whether any trace dictates rates.
    pub(crate) fn dictates(&mut self) -> bool {
        self.links.iter_mut().any(|link| matches!(link.quality(Instant::ZERO), Quality::Phy(_)))
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

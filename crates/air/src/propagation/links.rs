//! All links of a collision domain, and interference.

use airbound_random::{Key, OnOff};
use airbound_units::{BitRate, Decibel, Instant};

use super::{Effect, Interference, LinkQuality, Propagation};

/// A link of a collision domain, numbered from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(pub u16);

/// The link between a station and its next hop towards the access point, the same in both directions.
#[derive(Debug, Clone)]
struct Link {
    propagation: Propagation,
    /// The quality, if it is constant.
    constant: Option<LinkQuality>,
    /// The index in a trace at which the last search ended.
    near: usize,
    /// The trace's rate last reported.
    reported: Option<BitRate>,
}

impl Link {
    #[inline]
    fn quality(&mut self, now: Instant) -> LinkQuality {
        match self.constant {
            Some(quality) => quality,
            None => self.propagation.quality_near(now, &mut self.near),
        }
    }
}

/// All links, and the interference on all of them.
#[derive(Debug, Clone)]
pub struct Links {
    links: Vec<Link>,
    /// Bursts during which all transmitters sense a busy channel.
    jams: Vec<OnOff>,
    /// Bursts that raise the noise floor of receivers, and the increase.
    noises: Vec<(OnOff, Decibel)>,
}

impl Interference {
    /// The bursts of this entry, number `index` of its scenario.
    #[must_use]
    pub fn bursts(&self, seed: u64, index: u64) -> OnOff {
        let key = Key::of_seed(seed).with(0x1f7e_4fe4).with(index);
        let stop = self.stop.map_or(Instant::MAX, |stop| Instant::ZERO + stop);
        OnOff::new(self.mean_on, self.mean_off, key).between(Instant::ZERO + self.start, stop)
    }
}

impl Links {
    /// Links in the order of their numbers, with interference by `seed`.
    pub fn new(
        links: impl IntoIterator<Item = Propagation>,
        interferences: &[Interference],
        seed: u64,
    ) -> Self {
        let link = |propagation: Propagation| {
            let constant = propagation.is_constant().then(|| propagation.quality(Instant::ZERO));
            Link { propagation, constant, near: 0, reported: None }
        };
        let mut all =
            Self { links: links.into_iter().map(link).collect(), jams: Vec::new(), noises: Vec::new() };
        for (interference, index) in interferences.iter().zip(0..) {
            let bursts = interference.bursts(seed, index);
            match interference.effect {
                Effect::Busy => all.jams.push(bursts),
                Effect::Noise { level } => all.noises.push((bursts, level)),
            }
        }
        all
    }

    /// The quality of a link at `now`; perfect without a link, as for neighbours.
    #[inline]
    pub fn quality(&mut self, link: Option<LinkId>, now: Instant) -> LinkQuality {
        let link = link.and_then(|link| self.links.get_mut(usize::from(link.0)));
        let Some(link) = link else { return LinkQuality::Perfect };
        match link.quality(now) {
            LinkQuality::Snr(snr) if !self.noises.is_empty() => {
                let on = self.noises.iter().filter(|(bursts, _)| bursts.is_on(now));
                let noise = on.map(|(_, level)| level.value()).fold(0.0, f64::max);
                LinkQuality::Snr(Decibel::new(snr.value() - noise))
            }
            quality => quality,
        }
    }

    /// A link whose trace's rate changed since the last report, with the rate; `None` when all have been reported.
    pub fn changed(&mut self, now: Instant) -> Option<(LinkId, BitRate)> {
        for (link, index) in self.links.iter_mut().zip(0..) {
            if let LinkQuality::Phy(quality) = link.quality(now)
                && link.reported != Some(quality.rate)
            {
                link.reported = Some(quality.rate);
                return Some((LinkId(index), quality.rate));
            }
        }
        None
    }

    /// Whether a trace sets the rate of any link.
    pub fn dictates(&mut self) -> bool {
        self.links.iter_mut().any(|link| matches!(link.quality(Instant::ZERO), LinkQuality::Phy(_)))
    }

    /// The time of the next start or end of a burst that keeps the channel busy.
    #[must_use]
    pub fn next_jam_change(&self, now: Instant) -> Option<Instant> {
        self.jams.iter().map(|bursts| bursts.next_change(now)).min().filter(|at| *at < Instant::MAX)
    }

    /// The end of the burst that keeps the channel busy at `now`, if any.
    #[must_use]
    pub fn jammed_until(&self, now: Instant) -> Option<Instant> {
        let on = self.jams.iter().filter(|bursts| bursts.is_on(now));
        on.map(|bursts| bursts.next_change(now)).max()
    }
}

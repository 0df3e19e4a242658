//! What a station can receive: the states that its channel passes through, each with the rate that suits it.

use airbound_control::rate::Capabilities;
use airbound_sim::channel::{Channel, Quality};
use airbound_sim::scenario::Scenario;
use airbound_units::{BitRate, ByteCount, Decibel, Instant};
use airbound_wifi::error::mpdu_success;
use airbound_wifi::{GuardInterval, Legacy, PpduTiming, Rate};

/// The MPDU whose success decides on a rate.
const MPDU: ByteCount = ByteCount::new(1_536);
/// Into how many equally likely states a varying channel is divided.
const STATES: usize = 8;
/// When, and under how many seeds of the plan's own, a varying channel is asked. The seed of the scenario is not among
/// them: a plan holds for whatever fades.
const INSTANTS: u64 = 96;
const SEEDS: u64 = 8;

/// One state of the link to a station.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    /// The rate, or the form of the PPDU where a trace dictates how fast it is.
    pub(crate) rate: Rate,
    /// What a trace dictates.
    dictated: Option<BitRate>,
    /// The probability that an MPDU arrives.
    pub(crate) success: f64,
}

impl Link {
    /// A link that loses nothing.
    pub(crate) const fn perfect(rate: Rate) -> Self {
        Self { rate, dictated: None, success: 1.0 }
    }

    /// How fast it is.
    pub(crate) fn bit_rate(&self) -> BitRate {
        self.dictated.unwrap_or_else(|| self.rate.bit_rate())
    }

    /// Seconds that a PPDU with this PSDU lasts.
    pub(crate) fn ppdu(&self, timing: &PpduTiming, psdu: f64) -> f64 {
        match self.dictated {
            Some(rate) => timing.preamble().as_secs_f64() + 8.0 * psdu / (rate.as_bps().max(1) as f64),
            None => timing.duration(ByteCount::new(psdu as u64)).as_secs_f64(),
        }
    }

    fn goodput(&self) -> f64 {
        self.bit_rate().as_bps() as f64 * self.success
    }
}

/// The equally likely states of the link to a station, the worst first; at least one.
pub(crate) fn states(scenario: &Scenario, number: usize) -> Vec<Link> {
    let rates = rates(scenario, number);
    let Some(station) = scenario.stations.get(number) else { return vec![best(&rates, Quality::Perfect)] };
    let path = &scenario.access_point.path;
    let channel = |seed: u64| Channel::new(station, &scenario.air, path, seed, number as u64 + 1);
    if channel(0).is_constant() {
        return vec![best(&rates, channel(0).quality(Instant::ZERO))];
    }
    let end = scenario.end().as_nanos();
    let mut met: Vec<Link> = (0..SEEDS)
        .flat_map(|seed| {
            let channel = channel(0x70_6c61_6e00 + seed);
            let rates = &rates;
            (0..INSTANTS).map(move |step| {
                // In the middle of equal parts, which each seed moves a little.
                let part = (step * SEEDS + seed) * 2 + 1;
                let at = u128::from(end) * u128::from(part) / u128::from(INSTANTS * SEEDS * 2);
                best(rates, channel.quality(Instant::from_nanos(at as u64)))
            })
        })
        .collect();
    met.sort_by(|one, other| one.goodput().total_cmp(&other.goodput()));
    let place = |state: usize| (2 * state + 1) * met.len() / (2 * STATES);
    (0..STATES).filter_map(|state| met.get(place(state)).copied()).collect()
}

/// The rates that a station can receive; at least one.
fn rates(scenario: &Scenario, number: usize) -> Vec<Rate> {
    let station = scenario.stations.get(number);
    let rates = station.and_then(|station| {
        let capabilities = Capabilities {
            format: station.standard,
            width: station.width,
            max_streams: station.streams.min(scenario.access_point.streams).max(1),
            short_guard_interval: scenario.air.guard_interval == GuardInterval::Ns400,
            rates: station.rate.into_iter().collect(),
        };
        capabilities.rate_set().ok()
    });
    rates.map_or_else(|| vec![Rate::legacy(Legacy::Mbps6)], |set| set.as_slice().to_vec())
}

/// The rate with the highest expected goodput, as `ideal` chooses and as Minstrel-HT finds it.
fn best(rates: &[Rate], quality: Quality) -> Link {
    let links = rates.iter().map(|&rate| match quality {
        Quality::Perfect => Link::perfect(rate),
        Quality::Snr(snr) => Link { rate, dictated: None, success: success(rates, rate, snr) },
        Quality::Phy(phy) => Link { rate, dictated: Some(phy.rate), success: 1.0 - phy.loss },
    });
    links
        .max_by(|one, other| one.goodput().total_cmp(&other.goodput()))
        .unwrap_or(Link::perfect(Rate::legacy(Legacy::Mbps6)))
}

/// The SNR counts over the station's widest channel; the same power on a narrower one is more.
fn success(rates: &[Rate], rate: Rate, snr: Decibel) -> f64 {
    let widest = rates.iter().map(|rate| rate.width().megahertz()).max().unwrap_or(20);
    let gain = 10.0 * libm::log10(f64::from(widest) / f64::from(rate.width().megahertz()));
    mpdu_success(rate, Decibel::new(snr.value() + gain), MPDU)
}

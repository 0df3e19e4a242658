//! The link to a station over time: the channel, and the rate that rate control chooses.

use std::collections::BTreeMap;

use airbound_air::propagation::LinkQuality;
use airbound_control::rate::Capabilities;
use airbound_scenario::Scenario;
use airbound_units::{BitRate, ByteCount, Decibel, Instant, Span};
use airbound_wifi::error::mpdu_success;
use airbound_wifi::{GuardInterval, Legacy, PpduTiming, Rate};

use crate::draws::OWN_SEED;

/// Tries of an exchange: of one rate with `ideal` and fixed rates; with Minstrel-HT at least two of each of its three rates.
const TRIES: u32 = 7;
const LEARNT_TRIES: u32 = 6;
/// The MPDU size whose success probability decides the rate.
const MPDU: ByteCount = ByteCount::new(1_536);
/// Seconds between samples of a link, shorter than an aggregate.
const STEP: f64 = 0.002;
/// Samples over which adaptive rate control averages: 150 ms, between Minstrel's statistics interval of 100 ms in older kernels and the
/// time constant of its average.
const MEMORY: u64 = 75;

/// The link to a station at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    /// The rate; with a trace only the PPDU format.
    pub(crate) rate: Rate,
    /// The PHY rate of a trace; `None` without one.
    pub(crate) dictated: Option<BitRate>,
    /// The probability that an MPDU is received.
    pub(crate) success: f64,
}

impl Link {
    /// A link without loss.
    pub(crate) const fn perfect(rate: Rate) -> Self {
        Self { rate, dictated: None, success: 1.0 }
    }

    /// The PHY rate: the trace's, else that of `rate`.
    pub(crate) fn bit_rate(&self) -> BitRate {
        self.dictated.unwrap_or_else(|| self.rate.bit_rate())
    }

    /// Duration of a PPDU with a PSDU of this size, seconds.
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

/// Samples of a link at even intervals, with the rate that rate control uses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LinkSamples {
    /// At least one; the last one holds from its time on.
    steps: Vec<Link>,
}

impl LinkSamples {
    /// The index of the sample at a time, seconds from the first.
    pub(crate) fn step(seconds: f64) -> usize {
        // The cast saturates.
        (seconds / STEP) as usize
    }

    /// The sample of median goodput.
    pub(crate) fn middle(&self) -> Link {
        let mut steps = self.steps.clone();
        steps.sort_by(|one, other| one.goodput().total_cmp(&other.goodput()));
        steps.get(steps.len() / 2).copied().unwrap_or(Link::perfect(Rate::legacy(Legacy::Mbps6)))
    }

    pub(crate) fn is_constant(&self) -> bool {
        self.steps.len() <= 1
    }

    /// All samples.
    pub(crate) fn steps(&self) -> &[Link] {
        &self.steps
    }
}

/// The samples of the link to a station over `seconds`, for each draw; one sample for a constant channel. The draws have the plan's
/// seeds and start at times spread over the run, so that a plan covers fading, movement and traces.
pub(crate) fn samples(scenario: &Scenario, number: usize, draws: usize, seconds: f64) -> Vec<LinkSamples> {
    let rates = Choice::new(rates(scenario, number));
    let draws = draws.max(1);
    let Some(station) = scenario.stations.get(number) else {
        return vec![LinkSamples { steps: vec![rates.best(LinkQuality::Perfect)] }; draws];
    };
    let path = &scenario.access_point.path;
    let is_ideal = scenario.scheme.rate.kind() == "ideal" || rates.rates.len() == 1;
    let mut known = BTreeMap::new();
    (0..draws)
        .map(|draw| {
            let seed = OWN_SEED + draw as u64;
            let channel = station.propagation(&scenario.air, path, seed, number as u64 + 1);
            if channel.is_constant() {
                return LinkSamples { steps: vec![rates.best(channel.quality(Instant::ZERO))] };
            }
            let begin = scenario.end().mul_f64((draw as f64 + 0.5) / draws as f64);
            let count = (seconds / STEP) as u64 + 1;
            // Includes the qualities before the first sample, over which adaptive rate control averages.
            let met: Vec<LinkQuality> = (0..count + MEMORY)
                .map(|step| {
                    let offset = Span::from_secs_f64(step as f64 * STEP);
                    let memory = Span::from_secs_f64(MEMORY as f64 * STEP);
                    channel.quality(Instant::ZERO + (begin + offset).saturating_sub(memory))
                })
                .collect();
            let steps = met.windows(MEMORY as usize + 1).filter_map(|window| {
                let now = *window.last()?;
                Some(if is_ideal { rates.at(now, &mut known) } else { rates.learnt(window, now, &mut known) })
            });
            LinkSamples { steps: steps.collect() }
        })
        .collect()
}

/// The rates of a station and their success probabilities at each quarter of a decibel.
struct Choice {
    rates: Vec<Rate>,
}

type Known = BTreeMap<i64, Vec<f64>>;

impl Choice {
    fn new(rates: Vec<Rate>) -> Self {
        Self { rates }
    }

    /// The success probability of each rate at an SNR, rounded to a quarter of a decibel.
    fn successes<'a>(&self, snr: Decibel, known: &'a mut Known) -> &'a [f64] {
        let quarter = (snr.value() * 4.0).floor();
        known.entry(quarter as i64).or_insert_with(|| {
            let snr = Decibel::new(quarter / 4.0);
            self.rates.iter().map(|rate| success(&self.rates, *rate, snr)).collect()
        })
    }

    /// The best rate for the current quality, as with `ideal`.
    fn at(&self, now: LinkQuality, known: &mut Known) -> Link {
        let LinkQuality::Snr(snr) = now else { return self.best(now) };
        let successes = self.successes(snr, known);
        let links = self.rates.iter().zip(successes);
        fastest(links.map(|(&rate, &success)| Link { rate, dictated: None, success }))
    }

    /// The rate with the best average in `window`, with its current success probability: an approximation of Minstrel-HT, which averages
    /// over a similar time.
    fn learnt(&self, window: &[LinkQuality], now: LinkQuality, known: &mut Known) -> Link {
        let LinkQuality::Snr(snr) = now else { return self.best(now) };
        let mut sums = vec![0.0; self.rates.len()];
        for quality in window.iter().step_by(4) {
            if let LinkQuality::Snr(snr) = quality {
                let successes = self.successes(*snr, known);
                sums.iter_mut().zip(successes).for_each(|(sum, success)| *sum += success);
            }
        }
        let rates = self.rates.iter().enumerate().zip(&sums);
        let chosen = rates.max_by(|((_, one), first), ((_, other), second)| {
            (one.bit_rate().as_bps() as f64 * **first)
                .total_cmp(&(other.bit_rate().as_bps() as f64 * **second))
        });
        let Some(((place, &rate), _)) = chosen else { return self.best(now) };
        let success = self.successes(snr, known).get(place).copied().unwrap_or(1.0);
        Link { rate, dictated: None, success }
    }

    /// The rate with the highest expected goodput.
    fn best(&self, quality: LinkQuality) -> Link {
        fastest(self.rates.iter().map(|&rate| match quality {
            LinkQuality::Perfect => Link::perfect(rate),
            LinkQuality::Snr(snr) => Link { rate, dictated: None, success: success(&self.rates, rate, snr) },
            LinkQuality::Phy(phy) => Link { rate, dictated: Some(phy.rate), success: 1.0 - phy.loss },
        }))
    }
}

fn fastest(links: impl Iterator<Item = Link>) -> Link {
    links
        .max_by(|one, other| one.goodput().total_cmp(&other.goodput()))
        .unwrap_or(Link::perfect(Rate::legacy(Legacy::Mbps6)))
}

/// Whether rate control probes the rates of a station.
pub(crate) fn is_probed(scenario: &Scenario, number: usize) -> bool {
    let is_fixed = scenario.stations.get(number).is_some_and(|station| station.rate.is_some());
    !is_fixed && scenario.scheme.rate.kind() == "minstrel-ht"
}

/// The number of tries by the hardware of an unacknowledged exchange.
pub(crate) fn tries(scenario: &Scenario, number: usize) -> u32 {
    if is_probed(scenario, number) { LEARNT_TRIES } else { TRIES }
}

/// The rates that a station supports, at least one.
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

/// The success probability of a rate. The SNR is that of the station's widest channel; in a narrower one the same power gives more.
fn success(rates: &[Rate], rate: Rate, snr: Decibel) -> f64 {
    let widest = rates.iter().map(|rate| rate.width().megahertz()).max().unwrap_or(20);
    let gain = 10.0 * libm::log10(f64::from(widest) / f64::from(rate.width().megahertz()));
    mpdu_success(rate, Decibel::new(snr.value() + gain), MPDU)
}

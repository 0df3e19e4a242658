//! Link to a station as time goes by: the channel, and the rate that suits it.

use std::collections::BTreeMap;

use airbound_air::propagation::LinkQuality;
use airbound_control::rate::Capabilities;
use airbound_scenario::Scenario;
use airbound_units::{BitRate, ByteCount, Decibel, Instant, Span};
use airbound_wifi::error::mpdu_success;
use airbound_wifi::{GuardInterval, Legacy, PpduTiming, Rate};

use crate::draws::OWN_SEED;

/// Tries of an exchange: of one rate by `ideal` and where it is fixed; by Minstrel-HT at least two of each of its three rates.
const TRIES: u32 = 7;
const LEARNT_TRIES: u32 = 6;
/// The MPDU whose success decides on a rate.
const MPDU: ByteCount = ByteCount::new(1_536);
/// Seconds between steps of a course: shorter than an aggregate.
const STEP: f64 = 0.002;
/// Steps over which a rate control that learns averages: some 150 ms, between the 100 ms of Minstrel's statistics interval in
/// older kernels and the time constant of its average.
const MEMORY: u64 = 75;

/// The link to a station at a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Link {
    /// The rate, or the form of the PPDU where a trace dictates how fast it is.
    pub(crate) rate: Rate,
    /// PHY rate that a trace dictates; `None` without one.
    pub(crate) dictated: Option<BitRate>,
    /// The probability that an MPDU arrives.
    pub(crate) success: f64,
}

impl Link {
    /// A link that loses nothing.
    pub(crate) const fn perfect(rate: Rate) -> Self {
        Self { rate, dictated: None, success: 1.0 }
    }

    /// Returns the PHY rate: the dictated one, else that of `rate`.
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

/// The link to a station as time goes by: what rate control then uses, at even steps.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RateCourse {
    /// At least one; the last one stays.
    steps: Vec<Link>,
}

impl RateCourse {
    /// The step at a time, in seconds from the beginning of the course.
    pub(crate) fn step(seconds: f64) -> usize {
        // The cast saturates.
        (seconds / STEP) as usize
    }

    /// The link in the middle of all steps by goodput.
    pub(crate) fn middle(&self) -> Link {
        let mut steps = self.steps.clone();
        steps.sort_by(|one, other| one.goodput().total_cmp(&other.goodput()));
        steps.get(steps.len() / 2).copied().unwrap_or(Link::perfect(Rate::legacy(Legacy::Mbps6)))
    }

    pub(crate) fn is_constant(&self) -> bool {
        self.steps.len() <= 1
    }

    /// All steps.
    pub(crate) fn steps(&self) -> &[Link] {
        &self.steps
    }
}

/// The courses of the link to a station over `seconds`, one for each draw; one step is enough for a channel that is always
/// the same. The draws have seeds of the plan's own and are spread over the run: a plan holds for whatever fades, and for the
/// whole of a walk or a trace.
pub(crate) fn courses(scenario: &Scenario, number: usize, draws: usize, seconds: f64) -> Vec<RateCourse> {
    let rates = Choice::new(rates(scenario, number));
    let draws = draws.max(1);
    let Some(station) = scenario.stations.get(number) else {
        return vec![RateCourse { steps: vec![rates.best(LinkQuality::Perfect)] }; draws];
    };
    let path = &scenario.access_point.path;
    let is_ideal = scenario.scheme.rate.kind() == "ideal" || rates.rates.len() == 1;
    let mut known = BTreeMap::new();
    (0..draws)
        .map(|draw| {
            let seed = OWN_SEED + draw as u64;
            let channel = station.propagation(&scenario.air, path, seed, number as u64 + 1);
            if channel.is_constant() {
                return RateCourse { steps: vec![rates.best(channel.quality(Instant::ZERO))] };
            }
            let begin = scenario.end().mul_f64((draw as f64 + 0.5) / draws as f64);
            let count = (seconds / STEP) as u64 + 1;
            // Before the first step lies what a rate control that learns has learnt from.
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
            RateCourse { steps: steps.collect() }
        })
        .collect()
}

/// The rates of a station, with what is known of them at each quarter of a decibel.
struct Choice {
    rates: Vec<Rate>,
}

type Known = BTreeMap<i64, Vec<f64>>;

impl Choice {
    fn new(rates: Vec<Rate>) -> Self {
        Self { rates }
    }

    /// The success of each rate at an SNR, to a quarter of a decibel.
    fn successes<'a>(&self, snr: Decibel, known: &'a mut Known) -> &'a [f64] {
        let quarter = (snr.value() * 4.0).floor();
        known.entry(quarter as i64).or_insert_with(|| {
            let snr = Decibel::new(quarter / 4.0);
            self.rates.iter().map(|rate| success(&self.rates, *rate, snr)).collect()
        })
    }

    /// The rate that suits what is met now, as `ideal` knows it.
    fn at(&self, now: LinkQuality, known: &mut Known) -> Link {
        let LinkQuality::Snr(snr) = now else { return self.best(now) };
        let successes = self.successes(snr, known);
        let links = self.rates.iter().zip(successes);
        fastest(links.map(|(&rate, &success)| Link { rate, dictated: None, success }))
    }

    /// The rate that suited best on average in `window`, and how it does now: what Minstrel-HT, which averages over about
    /// as long, comes to.
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

/// Whether rate control has to find out which rates a station receives.
pub(crate) fn is_probed(scenario: &Scenario, number: usize) -> bool {
    let is_fixed = scenario.stations.get(number).is_some_and(|station| station.rate.is_some());
    !is_fixed && scenario.scheme.rate.kind() == "minstrel-ht"
}

/// Returns the number of tries by the hardware of an exchange of which nothing is acknowledged.
pub(crate) fn tries(scenario: &Scenario, number: usize) -> u32 {
    if is_probed(scenario, number) { LEARNT_TRIES } else { TRIES }
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

/// The SNR counts over the station's widest channel; the same power on a narrower one is more.
fn success(rates: &[Rate], rate: Rate, snr: Decibel) -> f64 {
    let widest = rates.iter().map(|rate| rate.width().megahertz()).max().unwrap_or(20);
    let gain = 10.0 * libm::log10(f64::from(widest) / f64::from(rate.width().megahertz()));
    mpdu_success(rate, Decibel::new(snr.value() + gain), MPDU)
}

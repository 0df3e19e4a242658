//! Sec. 6.2.2, Fig. 12: eight stations at random in a square of 40 m, Minstrel-HT, one spatial stream.

use std::collections::BTreeMap;

use airbound_report::{Bar, Line};
use airbound_units::BitRate;

use super::air::{limit, vht};
use super::draws::{Draws, stations};
use super::measure::{cell, delay, goodput, loss, mean, mean_level, quantile};
use super::{CLAIMS, OURS, PAPER, RUNS, STEADY};
use crate::Effort;
use crate::papers::aggregates::Aggregate;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study};

pub(super) struct Square;

const STATIONS: u16 = 8;
/// The share of packets with one MCS from which on a station counts as stable. The paper counts frames; here a rate that is tried
/// gets frames of a single packet, as in mac80211, and many of them.
const STABLE: f64 = 0.85;
/// Distances at which one MCS is best.
const PLACES: [(&str, &str); 2] = [("3 m", "MCS 9"), ("19 m", "MCS 4")];

/// Channels of the stations of a draw.
fn places(draw: u64) -> String {
    let mut draws = Draws::new(draw.wrapping_mul(0x9e37_79b9_7f4a_7c15), 8);
    let mut coordinate = || 40.0 * draws.unit() - 20.0;
    let place = |_| {
        let (x, y) = (coordinate(), coordinate());
        let distance = libm::sqrt(x * x + y * y).max(1.0);
        format!("channel = {{ kind = \"log-distance\", distance = \"{distance:.3} m\" }}")
    };
    stations((0..STATIONS).map(place))
}

/// All draws under a rate control, each with its seed.
fn drawn(figure: &str, sender: &str, effort: Effort) -> impl Iterator<Item = Experiment> {
    let trials = RUNS.trials(&[figure, sender], effort).into_iter();
    trials.map(|trial| {
        let places = places(trial.seed);
        Experiment::aggregates(trial.set("station", places), None)
    })
}

/// All stations at one place under Minstrel-HT.
fn at_one_place(distance: &str, effort: Effort) -> Experiment {
    Experiment::aggregates(RUNS.trial(&["square", distance, STEADY], 1, effort), None)
}

/// All stations at one rate: where a rate control has settled for good.
fn at_one_rate(mcs: &str, sender: &str, effort: Effort) -> Experiment {
    Experiment::plain(RUNS.trial(&["square, one rate", mcs, sender], 1, effort))
}

/// The rate that most of a station's packets have, and their share.
fn usual_rate(aggregates: &[Aggregate], station: u16) -> Option<(BitRate, f64)> {
    let mut counts: BTreeMap<BitRate, u32> = BTreeMap::new();
    let own = aggregates.iter().filter(|aggregate| aggregate.station == station);
    own.for_each(|aggregate| *counts.entry(aggregate.rate).or_default() += u32::from(aggregate.mpdus));
    let total: u32 = counts.values().sum();
    let (rate, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some((rate, f64::from(count) / f64::from(total)))
}

/// The usual rate of each station; `None` if one has none that is stable.
fn stable_rates(run: &Measured) -> Option<Vec<(u16, BitRate)>> {
    let rate = |station| {
        let (rate, share) = usual_rate(&run.aggregates.sent, station)?;
        (share > STABLE).then_some((station, rate))
    };
    (1..=STATIONS).map(rate).collect()
}

fn mcs_of(rate: BitRate) -> Option<u8> {
    (0..=9).find(|mcs| vht(*mcs, 1).bit_rate() == rate)
}

/// By MCS the levels of the stations that have it, and what corollary 2 expects of each: 32 R / R_max.
type ByMcs = BTreeMap<u8, (Vec<f64>, Vec<f64>)>;

fn by_mcs(stable: &[(&Measured, Vec<(u16, BitRate)>)]) -> ByMcs {
    let mut all = ByMcs::new();
    for (run, rates) in stable {
        let fastest = rates.iter().map(|(_, rate)| rate.as_bps()).max().unwrap_or(1) as f64;
        for (station, rate) in rates {
            let Some(mcs) = mcs_of(*rate) else { continue };
            let (levels, expected) = all.entry(mcs).or_default();
            levels.extend(mean_level(run, |one| one.station == *station && one.rate == *rate));
            expected.push(32.0 * rate.as_bps() as f64 / fastest);
        }
    }
    all
}

/// The share of values (%) up to each.
fn distribution(values: &[f64]) -> Vec<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len() as f64;
    sorted.into_iter().zip(1..).map(|(value, rank)| (value, 100.0 * f64::from(rank) / count)).collect()
}

impl Study for Square {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let measured = |figure, sender| -> Vec<&Measured> {
            drawn(figure, sender, effort).filter_map(|run| results.get(&run)).collect()
        };
        let all = measured("square", STEADY);
        let stable: Vec<(&Measured, Vec<(u16, BitRate)>)> =
            all.iter().filter_map(|run| Some((*run, stable_rates(run)?))).collect();
        let mut rows = Vec::new();
        for (distance, mcs) in PLACES {
            for (steady, sender) in [("", PAPER), (", steady", STEADY)] {
                let goodput = results.get(&at_one_rate(mcs, sender, effort)).map(goodput);
                rows.push(CLAIMS.row("everywhere").with("mcs", mcs).with("steady", steady).measured(goodput));
            }
            let goodput = results.get(&at_one_place(distance, effort)).map(goodput);
            rows.push(CLAIMS.row("at-one-place").with("distance", distance).told(goodput));
        }
        let by_mcs = by_mcs(&stable);
        let mut grid = CLAIMS.table("square", &[]);
        for (mcs, (levels, expected)) in &by_mcs {
            let figures =
                [mean(levels), quantile(levels, 0.25), quantile(levels, 0.75), mean(expected)].map(cell);
            let row = [format!("MCS {mcs}"), levels.len().to_string()].into_iter().chain(figures);
            grid.rows.push(row.map(Into::into).collect());
        }
        let off = by_mcs
            .values()
            .filter_map(|(levels, expected)| Some((mean(levels)? / mean(expected)? - 1.0).abs()))
            .reduce(f64::max);
        let losses: Vec<f64> = stable.iter().map(|(run, _)| 100.0 * loss(run)).collect();
        let delays: Vec<f64> = stable.iter().filter_map(|(run, _)| delay(run)).collect();
        let goodputs: Vec<f64> = stable.iter().map(|(run, _)| goodput(run)).collect();
        rows.extend([
            CLAIMS.row("square-limit").measured(limit(vht(9, 1), 1, 0.0)),
            CLAIMS.row("stable").told(100.0 * stable.len() as f64 / all.len().max(1) as f64),
            CLAIMS.row("square-level").measured(off),
            CLAIMS.row("square-loss").measured(quantile(&losses, 0.9)),
            CLAIMS.row("square-delay").measured(quantile(&delays, 1.0)),
        ]);
        for (shares, sender) in [("paper's shares", STEADY), ("ours", OURS)] {
            let runs = measured("square, mac80211", sender);
            let of = |figure: fn(&Measured) -> f64| runs.iter().map(|run| figure(run)).collect::<Vec<_>>();
            let delays: Vec<f64> = runs.iter().filter_map(|run| delay(run)).collect();
            let row = |key| CLAIMS.row(key).with("shares", shares);
            rows.extend([
                row("mac80211-loss").told(quantile(&of(loss), 0.9).map(|loss| 100.0 * loss)),
                row("mac80211-goodput").told(mean(&of(goodput))),
                row("mac80211-delay").told(quantile(&delays, 0.9)),
            ]);
        }
        let bars = by_mcs.values().map(|(levels, expected)| {
            Some(Bar {
                value: quantile(levels, 0.5)?,
                range: Some((quantile(levels, 0.25)?, quantile(levels, 0.75)?)),
                reference: mean(expected),
            })
        });
        let groups = by_mcs.keys().map(|mcs| format!("MCS {mcs}")).collect();
        let mut charts =
            vec![CLAIMS.bars("square-level", &[], groups, vec![("level".to_owned(), bars.collect())])];
        charts.extend([("square-loss", losses), ("square-goodput", goodputs), ("square-delay", delays)].map(
            |(key, values)| CLAIMS.lines(key, &[], vec![Line::whole("stable runs", distribution(&values))]),
        ));
        Part { rows, chapter: CLAIMS.chapter("square", vec![grid], charts) }
    }
}

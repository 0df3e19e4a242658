//! One or two of three clients on Wi-Fi, one of them walking about (Fig. 14).

use airbound_sim::conference::ConferenceOutcome;

use super::conferences::{Conferences, Links, PLAN, Setting};
use super::fluid::{Gains, Limits, ceiling, ceiling_when_starved};
use super::saturated::saturated;
use super::scene::{self, Place, STILL, WIRE};
use super::{CLAIMS, MEAN, PLUM, QOES, VANILLA, WARM_UP, cells, cumulative, gain, quantile};
use crate::papers::Part;
use crate::papers::row::ClaimRow;
use crate::trial::in_parallel;
use crate::{Effort, TrialError};

/// Setting with which the rows are judged: the public code's, with the exponent of ns-3's default channel.
const JUDGED: usize = 0;
/// Differences below this share of a bitrate are none: a frame more or less at the end of a session makes as much.
const RESOLUTION: f64 = 0.001;

/// The best source's bitrate of all clients and seconds, in order: the public code writes the same log for Fig. 14a as for Fig. 12.
fn bitrates(conferences: &Conferences, links: Links, scheme: &'static str) -> Vec<f64> {
    conferences.sorted(links, scheme, |client| &client.best_source)
}

/// Returns the values of Fig. 14a and 14b for a scheme against Vanilla: the gain of the mean in per cent, the 90th percentile over
/// Vanilla's, the gain of the 10th in per cent.
fn claims(conferences: &Conferences, links: Links, scheme: &'static str) -> [f64; 3] {
    let [before, after] = [VANILLA, scheme].map(|scheme| bitrates(conferences, links, scheme));
    let mean = |scheme| conferences.mean(links, scheme, ConferenceOutcome::mean_down);
    [
        gain(mean(scheme), mean(VANILLA)),
        quantile(&after, 0.9) / quantile(&before, 0.9).max(1e-3),
        gain(quantile(&after, 0.1), quantile(&before, 0.1)),
    ]
}

/// Load that the links on Wi-Fi of each setting carry in each second while both directions always have packets waiting, in Mb/s of IP packets:
/// the walker's of all seeds, each second beside that of the client at rest. Headers and the acknowledgements of TCP are not taken off, so that
/// what follows from it is an upper bound.
fn carried(effort: Effort) -> Result<Vec<Vec<[f64; 2]>>, TrialError> {
    let seconds = PLAN.walks.length.seconds(effort);
    let places: Vec<Place> =
        PLAN.walks.length.seeds(effort).map(Place::Walk).chain(std::iter::once(STILL)).collect();
    let settings = PLAN.walks.settings.iter();
    let probes: Vec<(&Setting, Place)> =
        settings.flat_map(|setting| places.iter().map(move |place| (setting, *place))).collect();
    let found = in_parallel(&probes, effort.jobs, |(setting, place)| {
        let wrong = |error: airbound_sim::BuildError| TrialError {
            name: "capacity of a walk".to_owned(),
            reason: error.to_string(),
        };
        let link = scene::wireless(*place, &setting.air, seconds)?;
        let mut all = saturated(&link, seconds, 1).map_err(wrong)?;
        Ok(all.split_off(WARM_UP.min(all.len())))
    })?;
    let of_setting = |found: &[Vec<f64>]| {
        let (still, walks) = found.split_last()?;
        let pairs = walks.iter().flat_map(|walk| walk.iter().zip(still));
        Some(pairs.map(|(walk, still)| [*walk, *still]).collect())
    };
    Ok(found.chunks(places.len()).filter_map(of_setting).collect())
}

/// The texts that name a setting in a table.
fn texts(setting: &Setting) -> [String; 4] {
    let Setting { air, whole, .. } = setting;
    let forwarding = if *whole { "whole" } else { "divided" };
    [
        air.standard.name().to_owned(),
        format!("{:.1}", air.exponent),
        air.centre.name().to_owned(),
        forwarding.to_owned(),
    ]
}

pub(super) fn part(conferences: &Conferences, effort: Effort) -> Result<Part, TrialError> {
    let carried = carried(effort)?;
    let length = &PLAN.walks.length;
    let [starved, others] = ceiling_when_starved();
    let mut bounds = CLAIMS
        .table("walking-bounds", &[("starved", format!("{starved:.0}")), ("others", format!("{others:.2}"))]);
    let mut beside = CLAIMS.table("walking-claims", &[]);
    let mut table = CLAIMS.table(
        "walking",
        &[
            ("seeds", length.seeds(effort).count().to_string()),
            ("seconds", length.seconds(effort).to_string()),
        ],
    );
    let mut charts = Vec::new();
    for (setting, (described, carried)) in PLAN.walks.settings.iter().zip(&carried).enumerate() {
        let of_setting = texts(described);
        let of_setting: Vec<&str> = of_setting.iter().map(String::as_str).collect();
        let [one, two] = [1, 2].map(|wireless| Links::Walk { setting, wireless });
        for (wireless, links) in [("1", one), ("2", two)] {
            if !described.whole {
                let texts = [&of_setting[..3], &[wireless]].concat();
                bounds.rows.push(cells(&texts, limits(carried, if wireless == "1" { 1 } else { 2 })));
            }
            for scheme in &described.schemes {
                let texts = [&of_setting[..], &[wireless, scheme]].concat();
                table.rows.push(cells(&texts, figures(conferences, links, scheme)));
            }
        }
        for scheme in [PLUM, MEAN] {
            let of_one = claims(conferences, one, scheme);
            let [of_two, ..] = claims(conferences, two, scheme);
            let texts = [&of_setting[..], &[scheme]].concat();
            beside.rows.push(cells(&texts, of_one.into_iter().chain([of_two])));
        }
        if setting == JUDGED {
            let schemes = described.schemes.iter();
            let lines = schemes.map(|scheme| cumulative(scheme, &bitrates(conferences, one, scheme)));
            charts.push(CLAIMS.lines("walking", &[], lines.collect()));
        }
    }
    let chapter = CLAIMS.chapter("mobility", vec![beside, bounds, table], charts);
    Ok(Part { rows: judged(conferences), chapter })
}

/// The walker's link, mean and the least of a second; what knowledge of every capacity gains; and what it gains on any channel.
fn limits(carried: &[[f64; 2]], wireless: usize) -> [Option<f64>; 6] {
    let wire = 2.0 * f64::from(WIRE);
    let walk = carried.iter().map(|[walk, _]| *walk);
    let mean = walk.clone().sum::<f64>() / carried.len() as f64;
    let second = |[walk, still]: &[f64; 2]| vec![*walk, if wireless > 1 { *still } else { wire }, wire];
    let seconds: Vec<Vec<f64>> = carried.iter().map(second).collect();
    let gains = Gains::of(&seconds, Limits::USUAL);
    let [most, at] = ceiling(wireless).map_or([None; 2], |most| most.map(Some));
    let [alone, weighed] = [gains.map(|gains| gains.alone), gains.map(|gains| gains.weighed)];
    [Some(mean), walk.reduce(f64::min), alone, weighed, most, at]
}

/// The downlink: mean, the walker, the others, percentiles, the worst, and Jain's index.
fn figures(conferences: &Conferences, links: Links, scheme: &'static str) -> [f64; 7] {
    let all = bitrates(conferences, links, scheme);
    let mean = |figure: fn(&ConferenceOutcome) -> f64| conferences.mean(links, scheme, figure);
    [
        mean(ConferenceOutcome::mean_down),
        mean(|outcome| outcome.clients[0].down_mbps),
        mean(|outcome| (outcome.clients[1].down_mbps + outcome.clients[2].down_mbps) / 2.0),
        quantile(&all, 0.1),
        quantile(&all, 0.9),
        mean(ConferenceOutcome::worst_down),
        mean(ConferenceOutcome::jain),
    ]
}

fn judged(conferences: &Conferences) -> Vec<ClaimRow> {
    let [one, two] = [1, 2].map(|wireless| Links::Walk { setting: JUDGED, wireless });
    let by_mean = |links, wireless: usize| {
        let gains = QOES.map(|scheme| claims(conferences, links, scheme)[0]);
        let most = gains.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let row = CLAIMS.row("walking-mean").with("wireless", wireless).trend(most > 100.0 * RESOLUTION);
        row.allowing(ceiling(wireless).map(|[gain, _]| gain)).measured(most)
    };
    let [_, p90, p10] = claims(conferences, one, PLUM);
    let mut rows = vec![
        by_mean(one, 1),
        CLAIMS.row("walking-p90").trend(p90 > 1.0 + RESOLUTION).measured(p90),
        CLAIMS.row("walking-p10").trend(p10 > 100.0 * RESOLUTION).measured(p10),
    ];
    for scheme in QOES {
        let [plain, worst] =
            [VANILLA, scheme].map(|scheme| conferences.mean(one, scheme, ConferenceOutcome::worst_down));
        let row = |key| CLAIMS.row(key).with("scheme", scheme);
        rows.push(row("worst").measured(worst / plain.max(1e-3)));
        rows.push(row("jain").measured(conferences.mean(one, scheme, ConferenceOutcome::jain)));
    }
    rows.push(by_mean(two, 2));
    rows
}

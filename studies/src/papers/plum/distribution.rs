//! The real-time bitrate of the best stream that each client receives (Fig. 12).

use airbound_report::{Chapter, Chart, ChartKind, Line, Lines, Tolerance, ValidationRow};

use super::case::{Case, Conferences, Who};
use super::gain;
use super::traces::Set;
use crate::Effort;
use crate::papers::Part;

const ID: &str = "distribution";
const SCHEMES: [Who; 5] = [Who::Vanilla, Who::LastN, Who::Tack, Who::PLUM, Who::MEAN];

fn case(who: Who, effort: Effort) -> Case {
    Case::usual(Set::Game, 8, who, effort)
}

pub(super) fn cases(effort: Effort) -> Vec<Case> {
    SCHEMES.into_iter().flat_map(|who| case(who, effort).seeds(effort)).collect()
}

/// The highest received bitrate among all sources in each second, of all clients and seeds, in order; and all sources together.
fn samples(sessions: &Conferences, who: Who, effort: Effort) -> [Vec<f64>; 2] {
    let mut both = [Vec::new(), Vec::new()];
    for client in sessions.over_seeds(case(who, effort), effort).iter().flat_map(|outcome| &outcome.clients) {
        both[0].extend_from_slice(&client.best_source);
        both[1].extend_from_slice(&client.seconds);
    }
    both.iter_mut().for_each(|all| all.sort_by(f64::total_cmp));
    both
}

/// The value below which the share `part` of ordered samples lies.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = (part * sorted.len().saturating_sub(1) as f64) as usize;
    sorted.get(place).copied().unwrap_or(0.0)
}

/// The share of ordered samples above a value.
fn above(sorted: &[f64], value: f64) -> f64 {
    let below = sorted.partition_point(|sample| *sample <= value);
    (sorted.len() - below) as f64 / sorted.len().max(1) as f64
}

pub(super) fn part(sessions: &Conferences, effort: Effort) -> Part {
    let all = SCHEMES.map(|who| samples(sessions, who, effort));
    let of = |which: usize, part: f64| all.each_ref().map(|both| quantile(&both[which], part));
    let mut rows = Vec::new();
    for (which, what) in [(0, "best source"), (1, "all sources together")] {
        let [vanilla, last_n, tack, plum, mean] = of(which, 0.9);
        let best = vanilla.max(last_n).max(tack);
        for (name, value) in [("Plum", plum), ("Plum, rho 0", mean)] {
            rows.push(ValidationRow::judged(
                ID,
                format!("gain of the 90th percentile over the best baseline, {what}, {name}"),
                "%",
                Some(49.8),
                Some(gain(value, best)),
                Some(Tolerance::Relative(0.25)),
                value > best,
                "Fig. 12: 8 clients, ample server, Tr-Game. The figure of the best source is a matter of what V, the number of sources, \
                 leaves of each: see the reason below",
            ));
        }
    }
    let share = all.each_ref().map(|both| above(&both[0], 5.0));
    let best = share[..3].iter().copied().fold(0.0, f64::max);
    rows.push(ValidationRow::judged(
        ID,
        "share of seconds whose best source exceeds 5 Mb/s, Plum over the best baseline",
        "",
        Some(2.6),
        Some(share[3].max(share[4]) / best.max(1e-3)),
        Some(Tolerance::Factor(1.5)),
        share[3].max(share[4]) > best,
        "Fig. 12; the better of rho 0.5 and 0",
    ));
    let chart = |which: usize, what: &str| {
        let lines = SCHEMES.iter().zip(&all).map(|(who, both)| {
            let points = (0..=100)
                .map(|percent| (quantile(&both[which], f64::from(percent) / 100.0), f64::from(percent)));
            Line::whole(who.name(), points)
        });
        let kind = ChartKind::Lines(Lines {
            x: format!("received bitrate, {what} (Mb/s)"),
            y: "share of seconds (%)".to_owned(),
            top: Some(100.0),
            lines: lines.collect(),
            ..Lines::default()
        });
        Chart { kind, caption: format!("Fig. 12: distribution over clients and seconds, {what}.") }
    };
    let chapter = Chapter {
        title: "Distribution of the real-time bitrate".to_owned(),
        text: "8 clients, ample server, Tr-Game; one sample for each client and second.".to_owned(),
        tables: Vec::new(),
        charts: vec![chart(0, "best source"), chart(1, "all sources")],
    };
    Part { rows, chapter }
}

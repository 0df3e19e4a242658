//! The worst user, fairness, and what rho and the QoE function change (Figs. 14c, 14d, 15a).

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance, ValidationRow};
use airbound_senders::conference::Welfare;
use airbound_sim::conference::ConferenceOutcome;

use super::case::{Case, Conferences, Who};
use super::traces::Set;
use crate::Effort;
use crate::papers::{Part, shown};

/// rho in per cent.
const RHOS: [u8; 5] = [0, 25, 50, 75, 100];
/// M in Mb/s, with which the server optimises and all is scored.
const MAX: f64 = 30.0;

fn case(set: Set, who: Who, effort: Effort) -> Case {
    Case::usual(set, 8, who, effort)
}

fn variants() -> impl Iterator<Item = Who> {
    (0..4).map(|qoe| Who::Plum(qoe, 50))
}

pub(super) fn cases(effort: Effort) -> Vec<Case> {
    let rhos = RHOS.map(|rho| Who::Plum(0, rho));
    let all = variants().chain(rhos).chain([Who::Vanilla]);
    let all = all.flat_map(|who| Set::ALL.map(|set| case(set, who, effort)));
    all.flat_map(|case| case.seeds(effort)).collect()
}

fn welfare(outcome: &ConferenceOutcome) -> Welfare {
    let qoe: Vec<f64> = outcome.clients.iter().map(|client| (client.down_mbps / MAX).min(1.0)).collect();
    Welfare::of(&qoe, &vec![1.0 / qoe.len().max(1) as f64; qoe.len()], 0.5)
}

/// Received bitrate of the worst-served user of each seed under Plum over that user's own without it.
fn worst_ratio(sessions: &Conferences, set: Set, who: Who, effort: Effort) -> Option<f64> {
    let plum = sessions.over_seeds(case(set, who, effort), effort);
    let plain = sessions.over_seeds(case(set, Who::Vanilla, effort), effort);
    let ratios: Vec<f64> = plum
        .iter()
        .zip(&plain)
        .map(|(plum, plain)| plum.worst_down() / plain.worst_down().max(1e-3))
        .collect();
    (!ratios.is_empty()).then(|| ratios.iter().sum::<f64>() / ratios.len() as f64)
}

pub(super) fn part(sessions: &Conferences, effort: Effort) -> Part {
    let mut grid = Grid::new(
        "QoE functions, 8 clients, rho 0.5",
        &["traces", "scheme", "mean Mb/s", "worst Mb/s", "worst over Vanilla", "Jain"],
        2,
    );
    let mut rows = Vec::new();
    for set in Set::ALL {
        let mut jains = Vec::new();
        for who in std::iter::once(Who::Vanilla).chain(variants()) {
            let mean =
                |figure: fn(&ConferenceOutcome) -> f64| sessions.mean(case(set, who, effort), effort, figure);
            let Some(jain) = mean(ConferenceOutcome::jain) else { continue };
            let ratio = worst_ratio(sessions, set, who, effort).unwrap_or(f64::NAN);
            let texts = [set.name().to_owned(), who.name()];
            let values = [
                mean(ConferenceOutcome::mean_down).unwrap_or(f64::NAN),
                mean(ConferenceOutcome::worst_down).unwrap_or(f64::NAN),
                ratio,
                jain,
            ];
            grid.rows.push(texts.into_iter().chain(values.map(shown)).map(Into::into).collect());
            if who == Who::Vanilla {
                continue;
            }
            jains.push(jain);
            let row = |metric: &str, reference, measured, trend, note: &str| {
                let metric = format!("{metric}, {}, {}", who.name(), set.name());
                ValidationRow::judged(
                    "worst-user",
                    metric,
                    "",
                    Some(reference),
                    Some(measured),
                    Some(Tolerance::AtLeast),
                    trend,
                    note,
                )
            };
            rows.push(row(
                "bitrate of the worst user over Vanilla's",
                1.0,
                ratio,
                false,
                "Fig. 14c, here trace-driven",
            ));
            let better = jain
                > sessions
                    .mean(case(set, Who::Vanilla, effort), effort, ConferenceOutcome::jain)
                    .unwrap_or(1.0);
            rows.push(row(
                "Jain's index",
                0.79,
                jain,
                better,
                "Fig. 14d, here trace-driven; trend: above Vanilla's",
            ));
        }
        let convex = jains.last().copied();
        let highest = jains.iter().copied().fold(0.0, f64::max);
        rows.push(ValidationRow::judged(
            "worst-user",
            format!("Jain's index of the convex square, {}", set.name()),
            "",
            Some(0.84),
            convex,
            Some(Tolerance::AtLeast),
            convex.is_some_and(|jain| jain >= highest),
            "Fig. 14d: the highest of the four; trend: it is",
        ));
    }
    let (rho_rows, charts) = rho(sessions, effort);
    rows.extend(rho_rows);
    grid.note = "Scored as the server optimises: M = 30 Mb/s (the public code scores with rho = 0.1 and M = 3 Mb/s); encoders send 1 to 10 Mb/s."
        .to_owned();
    let chapter = Chapter {
        title: "Fairness and sensitivity".to_owned(),
        text: "What the QoE function and the weight of fairness change.".to_owned(),
        tables: vec![grid],
        charts,
    };
    Part { rows, chapter }
}

/// The two terms of equation 1 over rho, for each set of traces.
fn rho(sessions: &Conferences, effort: Effort) -> (Vec<ValidationRow>, Vec<Chart>) {
    let (mut rows, mut charts) = (Vec::new(), Vec::new());
    for set in Set::ALL {
        let term = |figure: fn(&Welfare) -> f64| -> Vec<(f64, f64)> {
            let at = |rho: u8| {
                let case = case(set, Who::Plum(0, rho), effort);
                Some((
                    f64::from(rho) / 100.0,
                    sessions.mean(case, effort, |outcome| figure(&welfare(outcome)))?,
                ))
            };
            RHOS.into_iter().filter_map(at).collect()
        };
        let (mean, fairness) = (term(|welfare| welfare.mean), term(|welfare| welfare.fairness));
        let change = |line: &[(f64, f64)]| Some(line.last()?.1 - line.first()?.1);
        for (name, line, reference) in [("performance", &mean, -0.06), ("fairness", &fairness, 0.08)] {
            let found = change(line);
            rows.push(ValidationRow::judged(
                "rho",
                format!("change of the {name} term from rho 0 to 1, {}", set.name()),
                "",
                Some(reference),
                found,
                Some(Tolerance::Absolute(0.06)),
                found.is_some_and(|change| change * reference > 0.0),
                "Fig. 15a; trend: the direction",
            ));
        }
        let kind = ChartKind::Lines(Lines {
            x: "rho".to_owned(),
            y: "term of equation 1".to_owned(),
            lines: vec![Line::whole("performance", mean), Line::whole("fairness", fairness)],
            ..Lines::default()
        });
        charts.push(Chart { kind, caption: format!("Fig. 15a: both terms over rho, {}.", set.name()) });
    }
    (rows, charts)
}

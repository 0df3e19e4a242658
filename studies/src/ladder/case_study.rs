//! LAST-PQ's case study (Sec. I and III): a VR stream over Linux's FQ-CoDel with airtime fairness on ath9k.
//!
//! Points that the paper leaves open are decided as in the project's notes: VR, VoIP and background in BK; a server that hands a frame over
//! at 400 Mb/s. Other choices are printed beside it and judge nothing.

mod case;

use airbound_report::{Tolerance, ValidationRow};
use airbound_sim::Outcome;

use self::case::{Background, CASES, Case, Variant};
use super::table::Table;
use crate::trial::run_all;
use crate::{Effort, Trial, TrialError};

const REFERENCE: &str = include_str!("../../data/last-pq.csv");

/// Figures of a case, mean over seeds.
#[derive(Debug, Clone, Copy, Default)]
struct Figures {
    first_p95: Option<f64>,
    second_p95: Option<f64>,
    fps: Option<f64>,
    goodput: Option<f64>,
    voip_p95: Option<f64>,
    /// Worst of the bulk flows.
    bulk_p95: Option<f64>,
    jain_airtime: Option<f64>,
}

impl Figures {
    /// The value that a row of the reference asks for.
    fn metric(&self, name: &str) -> Option<f64> {
        match name {
            "VR p95" | "first VR p95" => self.first_p95,
            "second VR p95" => self.second_p95,
            "VoIP p95" => self.voip_p95,
            "VR FPS" => self.fps,
            "VR goodput" => self.goodput,
            _ => None,
        }
    }
}

/// The mean of what there is.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let known: Vec<f64> = values.flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// Seeds of every case.
fn seeds(effort: Effort) -> std::ops::RangeInclusive<u64> {
    if effort.quick { 1..=1 } else { 1..=5 }
}

/// The main variant, then the others.
fn variants() -> impl Iterator<Item = Variant> {
    std::iter::once(Variant::MAIN).chain(Variant::OTHERS)
}

/// All runs: by variant, case and seed.
pub(crate) fn trials(effort: Effort) -> Vec<Trial> {
    let seconds = effort.seconds(20, 5);
    let cases = variants().flat_map(|variant| CASES.iter().map(move |case| (variant, case)));
    cases
        .flat_map(|(variant, case)| seeds(effort).map(move |seed| case.trial(variant, seconds, seed)))
        .collect()
}

/// The figures of each case of a variant.
fn figures(outcomes: &[&Outcome], runs: usize) -> Vec<Figures> {
    let figures = CASES.iter().zip(outcomes.chunks(runs)).map(|(_, outcomes)| {
        let flow = |name: &'static str| {
            outcomes.iter().map(move |one| {
                let place = one.summary.flows.iter().position(|flow| flow.name == name)?;
                Some((one.summary.flows.get(place)?, one.wifi_latency.get(place)?))
            })
        };
        let p95 = |name| mean(flow(name).map(|flow| flow.and_then(|(_, latency)| latency.p95)));
        let first = if p95("vr-1").is_some() { "vr-1" } else { "vr" };
        Figures {
            first_p95: p95(first),
            second_p95: p95("vr-2"),
            voip_p95: p95("voip"),
            fps: mean(flow(first).map(|flow| flow.and_then(|(flow, _)| flow.fps))),
            goodput: mean(flow(first).map(|flow| flow.map(|(flow, _)| flow.goodput_mbps))),
            bulk_p95: mean(outcomes.iter().map(|one| {
                let flows = one.summary.flows.iter().zip(&one.wifi_latency);
                flows
                    .filter(|(flow, _)| flow.kind == "tcp")
                    .filter_map(|(_, latency)| latency.p95)
                    .reduce(f64::max)
            })),
            jain_airtime: mean(outcomes.iter().map(|one| one.summary.jain.airtime)),
        }
    });
    figures.collect()
}

fn of<'a>(figures: &'a [Figures], case: &str) -> Option<&'a Figures> {
    CASES.iter().position(|known| known.name == case).and_then(|place| figures.get(place))
}

/// All rows of this paper.
pub(crate) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let outcomes = run_all(&trials(effort), effort.jobs)?;
    Ok(rows_of(&outcomes.iter().collect::<Vec<_>>(), effort))
}

/// All rows from the outcomes of [`trials`], in the same order: those of the main variant, which judge, then the others.
pub(crate) fn rows_of(outcomes: &[&Outcome], effort: Effort) -> Vec<ValidationRow> {
    by_variant(outcomes, effort).into_iter().flat_map(|(_, rows)| rows).collect()
}

/// The rows of each variant under what it varies, the main one first.
pub(crate) fn by_variant(outcomes: &[&Outcome], effort: Effort) -> Vec<(String, Vec<ValidationRow>)> {
    let runs = seeds(effort).count();
    let all = variants().zip(outcomes.chunks(runs * CASES.len()));
    all.map(|(variant, outcomes)| {
        let figures = figures(outcomes, runs);
        let mut rows = absolute(&figures, variant);
        if variant == Variant::MAIN {
            rows.extend(trends(&figures));
        }
        (variant.suffix(), rows)
    })
    .collect()
}

/// Each printed value beside ours; only the main variant is judged.
fn absolute(figures: &[Figures], variant: Variant) -> Vec<ValidationRow> {
    let is_main = variant == Variant::MAIN;
    let table = Table::of(REFERENCE);
    let mut rows: Vec<ValidationRow> = table
        .rows()
        .filter_map(|reference| {
            let case = reference.text("case");
            let known: &Case = CASES.iter().find(|known| known.name == case)?;
            let metric = reference.text("metric");
            let measured = of(figures, case).and_then(|figures| figures.metric(metric));
            let note = format!("{}; {}", reference.text("where"), known.note(metric));
            Some(ValidationRow::judged(
                known.claim,
                format!("{metric}, {case}{}", variant.suffix()),
                reference.text("unit"),
                reference.number("reference"),
                measured,
                is_main.then_some(Tolerance::Factor(1.5)),
                false,
                note,
            ))
        })
        .collect();
    // The EDCA case offers more than the link carries: goodput and FPS have to be read with its latency.
    for case in ["edca-50-each", "edca-50-total", "edca-300"] {
        for (metric, unit) in [("VR goodput", "Mb/s"), ("VR FPS", "1/s")] {
            let measured = of(figures, case).and_then(|figures| figures.metric(metric));
            let metric = format!("{metric}, {case}{}", variant.suffix());
            let note = "not reported; two VR flows of 45 Mb/s";
            rows.push(ValidationRow::judged(
                "edca-all-in-vi",
                metric,
                unit,
                None,
                measured,
                None,
                true,
                note,
            ));
        }
    }
    rows
}

/// Returns the rows of the claims that the paper makes in words.
fn trends(figures: &[Figures]) -> Vec<ValidationRow> {
    let figure = |case: &str, value: fn(&Figures) -> Option<f64>| of(figures, case).and_then(value);
    let p95 = |case: &str| figure(case, |figures| figures.first_p95);
    let rising =
        |values: &[Option<f64>]| values.windows(2).all(|pair| pair[0].is_some() && pair[0] < pair[1]);
    let all = |cases: &[&str], holds: &dyn Fn(&str) -> bool| cases.iter().all(|case| holds(case));
    let single = ["flows-0", "flows-1", "flows-3"];
    let multi = ["clients-3", "clients-3-flows-3", "clients-4"];
    let voip = |case: &str| figure(case, |figures| figures.voip_p95).is_some_and(|p95| p95 < 10.0);
    let fair = |case: &str| figure(case, |figures| figures.jain_airtime).is_some_and(|jain| jain > 0.9);
    let misses = |case: &str| p95(case).is_some_and(|p95| p95 > 20.0);
    let starved = |case: &str| {
        figure(case, |figures| figures.fps).is_some_and(|fps| fps < 20.0)
            && figure(case, |figures| figures.goodput).is_some_and(|goodput| goodput < 30.0)
    };
    let row = |id: &str, what: &str, holds: bool, note: &str| {
        let held = if holds { 1.0 } else { 0.0 };
        let tolerance = Some(Tolerance::Absolute(0.0));
        ValidationRow::judged(id, what, "holds", Some(1.0), Some(held), tolerance, false, note)
    };
    let mut rows = vec![
        row(
            "vr-alone-p95",
            "latency grows with the resolution",
            rising(&[p95("alone-low"), p95("alone-high"), p95("alone-ultra")]),
            "Sec. III-A",
        ),
        row(
            "multi-flow",
            "latency grows with the flows at the VR client",
            rising(&single.map(p95)),
            "Sec. III-B: 0, 1, 3 flows",
        ),
        row("multi-flow", "VoIP p95 below 10 ms with one client", all(&single, &voip), "Sec. III-B"),
        row(
            "multi-client",
            "latency grows with the clients",
            rising(&[p95("flows-0"), p95("clients-3"), p95("clients-4")]),
            "Sec. III-B: 0, 3, 4 other clients",
        ),
        row(
            "multi-client",
            "latency grows with flows at the VR client, 3 other clients",
            rising(&[p95("clients-3"), p95("clients-3-flows-3")]),
            "Sec. III-B: 3C, 3F3C",
        ),
        row("multi-client", "none meets 20 ms", all(&multi, &misses), "Sec. III-B"),
        row(
            "multi-client",
            "Jain index of airtime above 0.9",
            all(&multi, &fair),
            "Sec. III-B: near 1 in all cases",
        ),
        row(
            "fig1-congested",
            "VR collapses in the heaviest cases",
            all(&["fig1-congested", "clients-3-flows-3"], &starved),
            "below 20 frames and 30 Mb/s",
        ),
        row(
            "edca-all-in-vi",
            "VR misses 20 ms in VI",
            all(&["edca-50-each", "edca-50-total", "edca-300"], &misses),
            "Sec. III-C",
        ),
        row(
            "edca-all-in-vi",
            "TCP flows' p95 below 20 ms and below that of VR (300 Mb/s)",
            rising(&[figure("edca-300", |figures| figures.bulk_p95), p95("edca-300")])
                && figure("edca-300", |figures| figures.bulk_p95).is_some_and(|p95| p95 < 20.0),
            "Sec. III-C: below 20 ms",
        ),
        row(
            "edca-all-in-vi",
            "TCP flows' p95 below that of VR (50 Mb/s in total)",
            rising(&[figure("edca-50-total", |figures| figures.bulk_p95), p95("edca-50-total")]),
            "Sec. III-C: below 20 ms",
        ),
    ];
    // How near to its limit the call comes.
    rows.extend(single.map(|case| {
        let measured = figure(case, |figures| figures.voip_p95);
        let (metric, note) = (format!("VoIP p95, {case}"), "Sec. III-B: almost all packets below 10 ms");
        ValidationRow::judged("multi-flow", metric, "ms", None, measured, None, voip(case), note)
    }));
    rows
}

impl Variant {
    /// The variant that the notes decide.
    const MAIN: Self = Self { burst_mbps: 400, background: Background::Bk };
    /// The other variants that are printed.
    const OTHERS: [Self; 3] = [
        Self { burst_mbps: 200, background: Background::Bk },
        Self { burst_mbps: 1000, background: Background::Bk },
        Self { burst_mbps: 400, background: Background::Be },
    ];

    fn suffix(self) -> String {
        match self {
            Self::MAIN => String::new(),
            Self { background: Background::Be, .. } => " (background in BE)".to_owned(),
            Self { burst_mbps, .. } => format!(" (burst {burst_mbps} Mb/s)"),
        }
    }
}

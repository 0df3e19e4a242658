//! 802.11a: two saturated stations that arrive at their receiver with unequal power, in hearing of each other or not.

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::{BitRate, ByteCount, Decibel, Instant, Span};
use airbound_wifi::error::{Decoding, ErrorTable};
use airbound_wifi::{Legacy, Rate};

use super::super::attempts::AttemptWatch;
use super::super::scene::Scene;
use super::super::table::{Row, Table};
use super::{Problem, compared};
use crate::chance::{moments, two_errors};
use crate::{Effort, Trial, TrialError};

const REFERENCE: &str = include_str!("../../../data/ns3-capture.csv");
/// With the error curves of ns-3's NIST model in both.
const REFERENCE_NIST: &str = include_str!("../../../data/ns3-capture-nist.csv");

/// Attempts before a frame is dropped.
const ATTEMPTS: u32 = 7;
/// Level of every signal but that of the weak station at the receiver, in dBm.
const LEVEL: f64 = -40.0;
/// Rates in Mb/s.
const RATES: [u32; 8] = [6, 9, 12, 18, 24, 36, 48, 54];

const COLUMNS: &[&str] = &[
    "rate_mbps",
    "all_hear",
    "gap_db",
    "frame_capture",
    "goodput_strong_mbps",
    "fail_share_strong",
    "goodput_weak_mbps",
    "fail_share_weak",
    "goodput_total_mbps",
    "measured_s",
];

/// Checks a table whose content is not known to be right: the line and the problem.
pub(super) fn check(table: &Table<'_>) -> Result<(), Problem> {
    super::has_columns(table, COLUMNS)?;
    for row in table.rows() {
        if !RATES.contains(&row.whole("rate_mbps")) {
            return Err(super::wrong(&row, "rate_mbps", "a rate of 802.11a, 6 to 54"));
        }
        if !row.number("gap_db").is_some_and(|gap| (0.0..=60.0).contains(&gap)) {
            return Err(super::wrong(&row, "gap_db", "0 to 60"));
        }
        if !["none", "simple_5dB"].contains(&row.text("frame_capture")) {
            return Err(super::wrong(&row, "frame_capture", "none or simple_5dB"));
        }
        if !["", "table", "nist"].contains(&row.text("error_model")) {
            return Err(super::wrong(&row, "error_model", "table or nist"));
        }
        if !(1..=3600).contains(&row.whole("measured_s")) {
            return Err(super::wrong(&row, "measured_s", "1 to 3600 seconds"));
        }
        for column in COLUMNS.iter().filter(|column| column.contains("goodput") || column.contains("share")) {
            if !row.number(column).is_some_and(f64::is_finite) {
                return Err(super::wrong(&row, column, "a number"));
            }
        }
    }
    Ok(())
}

fn trial(reference: &Row<'_>, effort: Effort, seed: u64) -> Trial {
    let rate = reference.whole("rate_mbps");
    let seconds = reference.whole("measured_s");
    let saturating = format!(
        "direction = \"up\"\nkind = \"cbr\"\nrate = \"{} Mbit/s\"\nsize = \"1470 B\"",
        f64::from(rate) * 0.85
    );
    let weak = LEVEL - reference.number("gap_db").unwrap_or(0.0);
    let takeover = if reference.text("frame_capture") == "none" { "none" } else { "5 dB" };
    let (curves, loss) = if is_nist(reference) { ("nist", 0.0) } else { ("soft", loss_of_tables(rate)) };
    let hearing = match reference.text("all_hear") {
        "1" => "",
        _ => "[hearing]\nmatrix = { strong = [], weak = [] }",
    };
    let scenario = Scene::uplinks(effort.seconds(seconds, seconds.div_ceil(3)), 1, rate, 5, Some(ATTEMPTS))
        .air(&format!(
            "countdown = \"idle-slots\"\nerror-model = \"{curves}\"\nimplementation-loss = \"{loss} dB\""
        ))
        .stations("strong", 1, &format!("rate = \"OFDM {rate} Mbit/s\""))
        .stations("weak", 1, &format!("rate = \"OFDM {rate} Mbit/s\""))
        .flow("strong", &saturating)
        .flow("weak", &saturating)
        .table(hearing)
        .table(&format!(
            "[radio.capture]\nlevel = \"{LEVEL} dBm\"\ntakeover = \"{takeover}\"\n\
             levels = {{ access-point = {{ weak = \"{weak} dBm\" }} }}"
        ));
    Trial::new(name(reference), scenario.text(), seed)
}

/// SNR in dB at which ns-3's table-based model loses half of the MPDUs of 1458 B (`studies/ns3/src/error_curve.cc`).
const fn half_lost(rate: u32) -> f64 {
    match rate {
        6 => 0.302,
        9 => 2.236,
        12 => 3.298,
        18 => 5.782,
        24 => 8.919,
        36 => 12.021,
        48 => 16.223,
        _ => 17.523,
    }
}

/// Signal that a receiver of ns-3's tables needs beyond soft decisions, by the curves alone.
fn loss_of_tables(rate: u32) -> f64 {
    let legacy = Legacy::ALL.into_iter().find(|legacy| legacy.bit_rate() == BitRate::from_mbps(rate.into()));
    let own = legacy.map(Rate::legacy).and_then(|rate| {
        let (loss, modulation, coding) = (Decibel::new(0.0), rate.modulation(), rate.coding());
        ErrorTable::decoded(Decoding::Soft, loss, modulation, coding).required_snr(ByteCount::new(1458), 0.5)
    });
    own.map_or(0.0, |own| half_lost(rate) - own.value())
}

/// Whether ns-3 ran with its NIST model; without that column it ran with its tables, which `soft` comes next to.
fn is_nist(reference: &Row<'_>) -> bool {
    reference.text("error_model") == "nist"
}

fn name(reference: &Row<'_>) -> String {
    let hidden = if reference.text("all_hear") == "1" { "in hearing" } else { "hidden" };
    let takeover = if reference.text("frame_capture") == "none" { "" } else { ", takeover" };
    format!("{hidden}, {} Mb/s, {} dB{takeover}", reference.whole("rate_mbps"), reference.text("gap_db"))
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = rows_of(&Table::of(REFERENCE), effort)?;
    rows.extend(rows_of(&Table::of(REFERENCE_NIST), effort)?);
    Ok(rows)
}

/// Seeds of a case, and of one whose goodput differs so much from run to run that chance alone exceeds the tolerance.
const SEEDS: [u64; 2] = [3, 15];
/// Tolerance of a goodput.
const GOODPUT: f64 = 0.05;

/// Figures of one run: goodput and share of failed frames of the strong station, then of the weak one.
type Figures = [f64; 4];

/// The rows of a table that [`check`] accepts.
pub(super) fn rows_of(table: &Table<'_>, effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    compared(table, effort, compare)
}

fn compare(reference: &Row<'_>, effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let rung = if is_nist(reference) { "ns3-capture-nist" } else { "ns3-capture" };
    let mut runs: Vec<Figures> = Vec::new();
    let chance =
        |runs: &[Figures], of: &dyn Fn(&Figures) -> f64| two_errors(runs, reference.whole("seeds"), of);
    let weak = |run: &Figures| run[2];
    for most in SEEDS.into_iter().map(|seeds| if effort.quick { 1 } else { seeds }) {
        for seed in runs.len() as u64 + 1..=most {
            let watch = AttemptWatch::new(Instant::ZERO + Span::from_secs(1));
            let (outcome, watch) = trial(reference, effort, seed).observed(watch)?;
            let goodput =
                |number: usize| outcome.summary.flows.get(number).map_or(0.0, |flow| flow.goodput_mbps);
            runs.push([goodput(0), watch.of(1).failed_share(), goodput(1), watch.of(2).failed_share()]);
        }
        if chance(&runs, &weak) <= GOODPUT * moments(&runs, weak).0 {
            break;
        }
    }
    let are_alike = reference.number("gap_db") == Some(0.0);
    let goodput = |metric: &str, column: &str, of: &dyn Fn(&Figures) -> f64| {
        let expected = reference.number(column).unwrap_or(0.0);
        let chance = chance(&runs, of);
        let (tolerance, note) = if are_alike && column != "goodput_total_mbps" {
            (None, "informs only: the two stations are alike, and judged together".to_owned())
        } else if expected < 0.05 {
            (None, "informs only: below 0.05 Mb/s in ns-3".to_owned())
        } else if chance > GOODPUT * expected {
            let note = format!("{} runs; two standard errors are {chance:.3} Mb/s", runs.len());
            (Some(Tolerance::Absolute(chance)), note)
        } else {
            (Some(Tolerance::Relative(GOODPUT)), String::new())
        };
        let metric = format!("{metric}, {}", name(reference));
        let measured = Some(moments(&runs, of).0);
        ValidationRow::judged(rung, metric, "Mb/s", Some(expected), measured, tolerance, note)
    };
    let failed = |metric: &str, column: &str, of: &dyn Fn(&Figures) -> f64| {
        let metric = format!("{metric}, {}", name(reference));
        let measured = Some(moments(&runs, of).0);
        let tolerance = Some(Tolerance::Absolute(0.03));
        ValidationRow::judged(rung, metric, "", reference.number(column), measured, tolerance, "")
    };
    Ok(vec![
        goodput("goodput", "goodput_total_mbps", &|run| run[0] + run[2]),
        goodput("goodput of the strong station", "goodput_strong_mbps", &|run| run[0]),
        goodput("goodput of the weak station", "goodput_weak_mbps", &weak),
        failed("failed frames of the strong station", "fail_share_strong", &|run| run[1]),
        failed("failed frames of the weak station", "fail_share_weak", &|run| run[3]),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_judged() {
        let table = Table::of(REFERENCE);
        assert_eq!(check(&table), Ok(()));
        assert_eq!(table.rows().count(), 40);
        let table = Table::of(REFERENCE_NIST);
        assert_eq!(check(&table), Ok(()));
        assert!(table.rows().count() == 54 && table.rows().all(|row| is_nist(&row)));
    }

    #[test]
    fn tables_of_users_are_checked() {
        let head = format!("{},error_model", COLUMNS.join(","));
        let problem = |row: &str| check(&Table::of(&format!("{head}\n{row}\n"))).expect_err(row);
        let (line, text) = problem("7,1,0,none,1,0,1,0,2,6");
        assert!(line == Some(2) && text.contains("rate_mbps is \"7\"; allowed is a rate"), "{text}");
        assert!(problem("6,1,-3,none,1,0,1,0,2,6").1.contains("gap_db is \"-3\""));
        assert!(problem("6,1,3,some,1,0,1,0,2,6").1.contains("allowed is none or simple_5dB"));
        assert!(problem("6,1,3,none,x,0,1,0,2,6").1.contains("goodput_strong_mbps is \"x\""));
        assert!(
            problem("6,1,3,none,1,0,1,0,2,6,yans").1.contains("error_model is \"yans\"; allowed is table")
        );
    }
}

//! 802.11n: one sender to one station, whose acknowledgements are lost with a given probability.

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::{Instant, Span};

use super::super::attempts::AttemptWatch;
use super::super::delays::DelayWatch;
use super::super::scene::Scene;
use super::super::table::{Row, Table};
use super::{Problem, compared};
use crate::chance::{moments, two_errors};
use crate::{Effort, Trial, TrialError};

const REFERENCE: &str = include_str!("../../../data/ns3-lostack.csv");

const COLUMNS: &[&str] = &[
    "mode",
    "load_pct",
    "offered_mbps",
    "lost_ack_p",
    "goodput_mbps",
    "mpdu_tx_per_delivered",
    "blockackreq_per_s",
    "ppdu_per_s",
    "delay_mean_ms",
    "measured_s",
];
const MODES: [&str; 3] = ["ampdu_bar", "ampdu_repeat", "single_ack"];

/// Checks a table whose content is not known to be right: the line and the problem.
pub(super) fn check(table: &Table<'_>) -> Result<(), Problem> {
    super::has_columns(table, COLUMNS)?;
    for row in table.rows() {
        if !MODES.contains(&row.text("mode")) {
            return Err(super::wrong(&row, "mode", "ampdu_bar, ampdu_repeat or single_ack"));
        }
        if !row.number("lost_ack_p").is_some_and(|lost| (0.0..1.0).contains(&lost)) {
            return Err(super::wrong(&row, "lost_ack_p", "0 to below 1"));
        }
        if row.text("load_pct") != "sat"
            && !row.number("offered_mbps").is_some_and(|offered| (0.1..=100.0).contains(&offered))
        {
            return Err(super::wrong(&row, "offered_mbps", "0.1 to 100, or sat as load_pct"));
        }
        if !(1..=3600).contains(&row.whole("measured_s")) {
            return Err(super::wrong(&row, "measured_s", "1 to 3600 seconds"));
        }
        let numbers =
            ["goodput_mbps", "mpdu_tx_per_delivered", "blockackreq_per_s", "ppdu_per_s", "delay_mean_ms"];
        for column in numbers {
            if !row.number(column).is_some_and(f64::is_finite) {
                return Err(super::wrong(&row, column, "a number"));
            }
        }
    }
    Ok(())
}

/// Packets in the sender's queue: those that a saturating source keeps there, or all that come.
fn places(reference: &Row<'_>) -> u32 {
    if reference.text("load_pct") == "sat" { 256 } else { 1000 }
}

fn trial(reference: &Row<'_>, effort: Effort, seed: u64) -> Trial {
    let seconds = reference.whole("measured_s");
    let traffic = match reference.number("offered_mbps") {
        Some(offered) => format!("kind = \"poisson\"\nrate = \"{:.0} bit/s\"", offered * 1e6),
        None => "kind = \"cbr\"\nrate = \"80 Mbit/s\"".to_owned(),
    };
    let mode = reference.text("mode");
    let most = if mode == "single_ack" { "max-ampdu-mpdus = 1" } else { "" };
    let missed = if mode == "ampdu_bar" { "request" } else { "repeat" };
    let scenario = Scene {
        seconds: effort.seconds(seconds, seconds.div_ceil(3)),
        warm_up: 1,
        deciders: format!(
            "[scheme]\nqueue = {{ kind = \"fifo\", limit = {{ packets = {} }}, holds-in-flight = true }}\nrate = \"fixed\"\n",
            places(reference)
        ),
        ..Scene::default()
    };
    let scenario = scenario
        .air("standard = \"ht\"\nwidth = \"20 MHz\"\nedca = \"equal\"\ncontrol-rate = \"24 Mbit/s\"\nbeacons = false")
        .access_point(&format!("streams = 1\n[access-point.path]\nmax-grants = 200\n{most}"))
        .stations("station", 1, "rate = \"HT20 MCS7 1SS LGI\"")
        .named_flow("stream", "station", &format!("size = \"1470 B\"\n{traffic}"))
        .table(&format!(
            "[radio]\nanswer-loss = {:?}\nmissed-block-ack = \"{missed}\"",
            reference.number("lost_ack_p").unwrap_or(0.0)
        ));
    Trial::new(name(reference), scenario.text(), seed)
}

fn name(reference: &Row<'_>) -> String {
    let mode = match reference.text("mode") {
        "ampdu_bar" => "BlockAckReq",
        "ampdu_repeat" => "repeated A-MPDUs",
        _ => "single frames",
    };
    let load = match reference.text("load_pct") {
        "sat" => "saturated".to_owned(),
        percent => format!("{percent} %"),
    };
    format!("{mode}, {load}, {} lost", reference.text("lost_ack_p"))
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    rows_of(&Table::of(REFERENCE), effort)
}

/// The rows of a table that [`check`] accepts.
pub(super) fn rows_of(table: &Table<'_>, effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    compared(table, effort, compare)
}

/// Seeds of a case, and of one whose delay or BlockAckReqs differ so much from run to run that chance alone exceeds the tolerance: near
/// saturation half a percent more Poisson arrivals add a tenth to the mean delay.
const SEEDS: [u64; 2] = [3, 9];
/// Tolerance of all figures.
const TOLERANCE: f64 = 0.05;

/// Figures of one run.
struct Figures {
    goodput: f64,
    mpdus_per_delivered: f64,
    ppdus_per_second: f64,
    delay_ms: f64,
    requests_per_second: f64,
}

fn run(reference: &Row<'_>, effort: Effort, seed: u64) -> Result<Figures, TrialError> {
    let from = Instant::ZERO + Span::from_secs(1);
    let attempts = AttemptWatch::new(from);
    let (outcome, attempts) = trial(reference, effort, seed).observed(attempts)?;
    let (_, delays) = trial(reference, effort, seed).observed(DelayWatch::new(1, from))?;
    let seconds = outcome.summary.duration_s;
    let goodput = outcome.summary.flows.first().map_or(0.0, |flow| flow.goodput_mbps);
    let sent = attempts.of(0);
    Ok(Figures {
        goodput,
        mpdus_per_delivered: sent.mpdus as f64 / (goodput * 1e6 * seconds / (1470.0 * 8.0)),
        ppdus_per_second: sent.ppdus as f64 / seconds,
        delay_ms: delays.delays().mean().unwrap_or(0.0),
        requests_per_second: sent.requests as f64 / seconds,
    })
}

fn compare(reference: &Row<'_>, effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let theirs = reference.whole("seeds");
    let mut runs = Vec::new();
    for most in SEEDS {
        for seed in runs.len() as u64 + 1..=most {
            runs.push(run(reference, effort, seed)?);
        }
        let varying: [fn(&Figures) -> f64; 2] = [|run| run.delay_ms, |run| run.requests_per_second];
        if varying.iter().all(|of| two_errors(&runs, theirs, of) <= TOLERANCE * moments(&runs, of).0) {
            break;
        }
    }
    let row = |metric: &str, unit: &str, column: &str, of: &dyn Fn(&Figures) -> f64| {
        let metric = format!("{metric}, {}", name(reference));
        let expected = reference.number(column);
        let chance = two_errors(&runs, theirs, of);
        let (tolerance, note) = if chance > TOLERANCE * expected.unwrap_or(0.0) {
            let note = format!("{} runs; two standard errors are {chance:.3} {unit}", runs.len());
            (Tolerance::Absolute(chance), note.trim_end().to_owned())
        } else {
            (Tolerance::Relative(TOLERANCE), String::new())
        };
        let measured = Some(moments(&runs, of).0);
        ValidationRow::judged("ns3-lostack", metric, unit, expected, measured, Some(tolerance), note)
    };
    let mut rows = vec![
        row("goodput", "Mb/s", "goodput_mbps", &|run| run.goodput),
        row("MPDUs sent for each delivered", "", "mpdu_tx_per_delivered", &|run| run.mpdus_per_delivered),
        row("PPDUs a second", "", "ppdu_per_s", &|run| run.ppdus_per_second),
        row("delay mean", "ms", "delay_mean_ms", &|run| run.delay_ms),
    ];
    if reference.number("blockackreq_per_s").is_some_and(|requests| requests > 0.0) {
        rows.push(row("BlockAckReqs a second", "", "blockackreq_per_s", &|run| run.requests_per_second));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_judged() {
        let table = Table::of(REFERENCE);
        assert_eq!(check(&table), Ok(()));
        assert_eq!(table.rows().count(), 21);
    }

    #[test]
    fn tables_of_users_are_checked() {
        let head = COLUMNS.join(",");
        let problem = |row: &str| check(&Table::of(&format!("{head}\n{row}\n"))).expect_err(row);
        let (line, text) = problem("ba,sat,,0.1,1,1,0,1,1,6");
        assert!(line == Some(2) && text.contains("mode is \"ba\"; allowed is ampdu_bar"), "{text}");
        assert!(problem("ampdu_bar,sat,,1.5,1,1,0,1,1,6").1.contains("lost_ack_p is \"1.5\""));
        assert!(problem("ampdu_bar,50,-3,0.1,1,1,0,1,1,6").1.contains("offered_mbps is \"-3\""));
        assert!(problem("ampdu_bar,sat,,0.1,x,1,0,1,1,6").1.contains("goodput_mbps is \"x\""));
    }
}

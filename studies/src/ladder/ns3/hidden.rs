//! 802.11a: stations in groups that do not hear each other, all sending to one receiver.

use airbound_report::{Tolerance, ValidationRow};

use super::super::scene::Scene;
use super::super::table::{Row, Table};
use super::Problem;
use crate::trial::run_all;
use crate::{Effort, Trial, TrialError};

const REFERENCE: &str = include_str!("../../../data/ns3-hidden.csv");

/// Attempts before a frame is dropped.
const ATTEMPTS: u32 = 7;
/// Goodput of one station that is always ready, without RTS, in Mb/s; loads are shares of it.
const ALONE: [(u32, f64); 2] = [(54, 29.88), (6, 5.265)];

const COLUMNS: &[&str] = &[
    "groups",
    "n_sta",
    "all_hear",
    "rate_mbps",
    "rts",
    "error_model",
    "load_pct",
    "goodput_total_mbps",
    "attempt_fail_share",
    "measured_s",
];

/// Sizes of the two groups.
fn groups(reference: &Row<'_>) -> Option<(u32, u32)> {
    let (left, right) = reference.text("groups").split_once('+')?;
    Some((left.parse().ok()?, right.parse().ok()?))
}

/// Whether a row is comparable: any overlap destroys a frame, and an RTS is given up at the retry limit.
fn is_comparable(reference: &Row<'_>) -> bool {
    reference.text("error_model") == "overlap" && ["no", "lim"].contains(&reference.text("rts"))
}

/// Checks a table whose content is not known to be right: the line and the problem.
pub(super) fn check(table: &Table<'_>) -> Result<(), Problem> {
    super::has_columns(table, COLUMNS)?;
    for row in table.rows().filter(is_comparable) {
        let wrong = |column: &str, allowed: &str| Err(super::wrong(&row, column, allowed));
        let sizes = groups(&row);
        if sizes.is_none_or(|(left, right)| left == 0 || right == 0 || left + right > 100) {
            return wrong("groups", "two sizes such as 2+1, at most 100 in all");
        }
        if !ALONE.iter().any(|(rate, _)| *rate == row.whole("rate_mbps")) {
            return wrong("rate_mbps", "6 or 54");
        }
        if row.text("load_pct") != "sat"
            && !row.number("load_pct").is_some_and(|load| load > 0.0 && load <= 100.0)
        {
            return wrong("load_pct", "sat, or a share of 0 to 100");
        }
        if !(1..=3600).contains(&row.whole("measured_s")) {
            return wrong("measured_s", "1 to 3600 seconds");
        }
        for column in ["goodput_total_mbps", "attempt_fail_share"] {
            if !row.number(column).is_some_and(f64::is_finite) {
                return wrong(column, "a number");
            }
        }
    }
    Ok(())
}

fn trial(reference: &Row<'_>, effort: Effort, seed: u64) -> Trial {
    let (left, right) = groups(reference).unwrap_or((1, 1));
    let rate = reference.whole("rate_mbps");
    let alone = ALONE.iter().find(|(known, _)| *known == rate).map_or(0.0, |(_, goodput)| *goodput);
    let share = reference.number("load_pct").map(|percent| alone * percent / 100.0 / f64::from(left + right));
    let traffic = match share {
        Some(offered) => format!("kind = \"poisson\"\nrate = \"{:.0} bit/s\"", offered * 1e6),
        // More than each could send alone.
        None => format!("kind = \"cbr\"\nrate = \"{:.0} bit/s\"", 1.5e6 * alone),
    };
    let hearing = match reference.text("all_hear") {
        "1" => "",
        _ => "[hearing]\nmatrix = { left = [\"left\"], right = [\"right\"] }",
    };
    let packets = if share.is_some() { 200 } else { 5 };
    // Collisions of few packets come in rare clusters, which the reference's seconds sample coarsely.
    let seconds = reference.whole("measured_s") * if share.is_some() { 5 } else { 1 };
    let rts = if reference.text("rts") == "no" { "never" } else { "0 B" };
    let seconds = effort.seconds(seconds, seconds.div_ceil(3));
    let station = format!("rate = \"OFDM {rate} Mbit/s\"");
    let flow = format!("direction = \"up\"\nsize = \"1470 B\"\n{traffic}");
    let scenario = Scene::uplinks(seconds, 1, rate, packets, Some(ATTEMPTS))
        .air(&format!("countdown = \"idle-slots\"\nrts-threshold = \"{rts}\""))
        .stations("left", left, &station)
        .stations("right", right, &station)
        .flow("left", &flow)
        .flow("right", &flow)
        .table(hearing);
    Trial::new(name(reference), scenario.text(), seed)
}

fn name(reference: &Row<'_>) -> String {
    let hidden = if reference.text("all_hear") == "1" { " in hearing" } else { " hidden" };
    let rts = if reference.text("rts") == "no" { "" } else { ", RTS" };
    let load = match reference.text("load_pct") {
        "sat" => "saturated".to_owned(),
        percent => format!("{percent} %"),
    };
    format!("{}{hidden}, {} Mb/s{rts}, {load}", reference.text("groups"), reference.whole("rate_mbps"))
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    rows_of(&Table::of(REFERENCE), effort)
}

/// The rows of a table that [`check`] accepts.
pub(super) fn rows_of(table: &Table<'_>, effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let references: Vec<Row<'_>> = table.rows().filter(is_comparable).collect();
    let seeds = if effort.quick { 1 } else { 3 };
    let trials: Vec<Trial> = references
        .iter()
        .flat_map(|reference| (1..=seeds).map(|seed| trial(reference, effort, seed)))
        .collect();
    let outcomes = run_all(&trials, effort.jobs)?;
    let runs = outcomes.chunks(seeds as usize);
    let rows = references.iter().zip(runs).flat_map(|(reference, runs)| {
        let mean = |of: &dyn Fn(&airbound_sim::Outcome) -> Option<f64>| {
            let each: Option<Vec<f64>> = runs.iter().map(of).collect();
            each.map(|each| each.iter().sum::<f64>() / each.len().max(1) as f64)
        };
        let goodput = mean(&|run| Some(run.summary.flows.iter().map(|flow| flow.goodput_mbps).sum()));
        let failed = mean(&|run| run.summary.air.collision_rate);
        let row = |metric: &str, unit: &str, column: &str, measured, tolerance| {
            let metric = format!("{metric}, {}", name(reference));
            let reference = reference.number(column);
            ValidationRow::judged("ns3-hidden", metric, unit, reference, measured, Some(tolerance), "")
        };
        let is_large = reference.whole("n_sta") > 4;
        let relative = Tolerance::Relative(if is_large { 0.08 } else { 0.05 });
        let absolute = Tolerance::Absolute(if reference.text("rts") == "no" { 0.03 } else { 0.04 });
        [
            row("goodput", "Mb/s", "goodput_total_mbps", goodput, relative),
            row("failed accesses", "", "attempt_fail_share", failed, absolute),
        ]
    });
    Ok(rows.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_judged() {
        let table = Table::of(REFERENCE);
        assert_eq!(check(&table), Ok(()));
        assert!(table.rows().filter(is_comparable).count() > 40);
    }

    #[test]
    fn tables_of_users_are_checked() {
        let head = COLUMNS.join(",");
        let problem = |text: &str| check(&Table::of(text)).expect_err(text);
        let (line, text) = problem("groups,n_sta\n1+1,2\n");
        assert!(line.is_none() && text.contains("no column all_hear"), "{text}");
        let (line, text) = problem(&format!("{head}\n1+1,2,0,7,no,overlap,sat,1,0.1,6\n"));
        assert!(line == Some(2) && text.contains("rate_mbps is \"7\"; allowed is 6 or 54"), "{text}");
        let (_, text) = problem(&format!("{head}\n2,2,0,6,no,overlap,sat,1,0.1,6\n"));
        assert!(text.contains("groups is \"2\""), "{text}");
        let (_, text) = problem(&format!("{head}\n1+1,2,0,6,no,overlap,-3,1,0.1,6\n"));
        assert!(text.contains("load_pct is \"-3\""), "{text}");
        let (_, text) = problem(&format!("{head}\n1+1,2,0,6,no,overlap,sat,x,0.1,6\n"));
        assert!(text.contains("goodput_total_mbps is \"x\"; allowed is a number"), "{text}");
    }
}

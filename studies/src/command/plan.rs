//! `airbound plan --check`: how often the plan is wrong.

use std::num::NonZeroUsize;

use airbound_console::{Verbosity, output};
use airbound_report::{Cell, Column, Grid};
use airbound_runs::jobs;

use super::args::Plan;
use super::error::CommandError;
use crate::plan::{Case, Confusion, Kind, Set, check};

/// Runs of each scenario.
const RUNS: u64 = 8;

pub(super) fn plan(plan: &Plan, verbosity: Verbosity) -> Result<(), CommandError> {
    let set = Set { seed: plan.seed, count: u64::from(plan.check), runs: RUNS };
    let jobs = NonZeroUsize::new(jobs::threads(plan.jobs)).unwrap_or(NonZeroUsize::MIN);
    let cases = check(set, jobs).map_err(|error| CommandError::Defect(error.to_string()))?;
    if verbosity.json {
        return Ok(output::json(&cases)?);
    }
    Ok(output::say(verbosity, &matrix(&set, &cases).to_text(output::width()))?)
}

fn matrix(set: &Set, cases: &[Case]) -> Grid {
    let all = Confusion::of(cases);
    let border = Confusion::of(cases.iter().filter(|case| case.is_at_border()));
    let clear = Confusion::of(cases.iter().filter(|case| !case.is_at_border()));
    let close = Confusion::of(cases.iter().filter(|case| case.close));
    let definite = Confusion::of(cases.iter().filter(|case| !case.close));
    let row = |name: &str, confusion: &Confusion| {
        let counts = [
            confusion.all(),
            confusion.yes_met,
            confusion.yes_missed,
            confusion.no_met,
            confusion.no_missed,
            confusion.wrong(),
        ];
        let mut cells = vec![Cell::from(name)];
        cells.extend(counts.iter().map(|count| Cell::from(count.to_string())));
        cells.push(Cell::from(format!("{:.1} %", 100.0 * confusion.wrong_share())));
        cells
    };
    let names = ["cases", "yes, met", "yes, not", "no, met", "no, not", "wrong", "share"];
    let mut columns = vec![Column { name: "answer, simulation".to_owned(), numeric: false }];
    columns.extend(names.iter().map(|name| Column { name: (*name).to_owned(), numeric: true }));
    let mut rows = vec![
        row("all", &all),
        row("measured within 10 % of the border", &border),
        row("the others", &clear),
        row("planned to be close", &close),
        row("the others", &definite),
    ];
    for kind in Kind::ALL {
        let of = Confusion::of(cases.iter().filter(|case| case.kinds.contains(&kind)));
        rows.push(row(&format!("with {}", kind.name()), &of));
    }
    Grid {
        title: format!("The plan beside LAST-PQ in the simulator, set {}, {} runs each", set.seed, set.runs),
        columns,
        rows,
        note: format!(
            "{} of {} answers are close; the halves of the runs disagree in {} cases",
            close.all(),
            cases.len(),
            cases.iter().filter(|case| case.is_by_luck()).count()
        ),
    }
}

//! `airbound plan`: can these demands be met at all?

use std::num::NonZeroUsize;

use airbound_feasibility::{Answer, Demand, Plan as Planned, plan as planned};
use airbound_report::{Cell, Column, Grid};
use airbound_runs::jobs;
use airbound_studies::plan::{Case, Confusion, Set, check};

use crate::args::{Plan, Source, Verbosity};
use crate::error::CliError;
use crate::output;

pub(super) fn plan(plan: &Plan, verbosity: Verbosity) -> Result<(), CliError> {
    let Some(name) = &plan.scenario else { return checked(plan, verbosity) };
    let source = Source { scenario: name.clone(), changes: plan.changes.clone() };
    let opened = source.open()?;
    opened.refuse_all_but_a_network()?;
    // What is typed comes later, and so takes the place of what the scenario demands of the same flow.
    let mut demands = Demand::of(&opened.scenario);
    for text in &plan.demands {
        demands.push(Demand::parse(text)?);
    }
    let answer = planned(&opened.scenario, &demands)?;
    if verbosity.json {
        output::json(&answer.form(&opened.name))?;
    } else {
        output::say(verbosity, &table(&opened.name, &answer).to_text(output::width()))?;
    }
    let unmet = answer.demands.iter().filter(|outlook| !outlook.met).count();
    match answer.answer {
        Answer::Yes => Ok(()),
        Answer::No => Err(CliError::Unmet(unmet, answer.demands.len())),
    }
}

fn table(scenario: &str, plan: &Planned) -> Grid {
    let text = |name: &str| Column { name: name.to_owned(), numeric: false };
    let number = |name: &str| Column { name: name.to_owned(), numeric: true };
    let rows = plan.form(scenario).demands.into_iter().map(|demand| {
        let expected = demand.expected_ms.map_or("no end".to_owned(), |ms| format!("{ms:.1} ms"));
        let margin = demand.margin_ms.map_or("-".to_owned(), |ms| format!("{ms:+.1} ms"));
        vec![
            Cell::from(demand.flow),
            Cell::from(format!("{:.1}", demand.rate_mbps)),
            Cell::from(format!("{:.1}", demand.phy_rate_mbps)),
            Cell::from(format!("{:.0} %", 100.0 * demand.load)),
            Cell::from(format!("{} ms @ {}", demand.latency_ms, demand.percentile)),
            Cell::from(expected),
            Cell::from(margin),
            Cell::from(if demand.met { "yes" } else { "no" }),
        ]
    });
    Grid {
        title: format!("{scenario}: {}", plan.answer.name()),
        columns: vec![
            text("flow"),
            number("Mb/s"),
            number("PHY"),
            number("airtime"),
            number("demand"),
            number("expected"),
            number("margin"),
            text("met"),
        ],
        rows: rows.collect(),
        note: plan.sentences().join("\n"),
    }
}

/// The set that is checked unless a seed names another.
const DEFAULT_SET: u64 = 1;
/// Runs of each scenario.
const RUNS: u64 = 16;

fn checked(plan: &Plan, verbosity: Verbosity) -> Result<(), CliError> {
    let set = Set {
        seed: plan.changes.seed.unwrap_or(DEFAULT_SET),
        count: u64::from(plan.check.unwrap_or(0)),
        runs: RUNS,
    };
    let jobs = NonZeroUsize::new(jobs::threads(plan.jobs)).unwrap_or(NonZeroUsize::MIN);
    let cases = check(set, jobs).map_err(|error| CliError::Defect(error.to_string()))?;
    if verbosity.json {
        return output::json(&cases);
    }
    output::say(verbosity, &matrix(&set, &cases).to_text(output::width()))
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
    Grid {
        title: format!("The plan beside LAST-PQ in the simulator, set {}, {} runs each", set.seed, set.runs),
        columns,
        rows: vec![
            row("all", &all),
            row("measured within 10 % of the border", &border),
            row("the others", &clear),
            row("planned to be close", &close),
            row("the others", &definite),
        ],
        note: format!(
            "the halves of the runs disagree in {} of {} cases",
            cases.iter().filter(|case| case.is_by_luck()).count(),
            cases.len()
        ),
    }
}

//! `airbound plan`: whether demands can be met.

use std::collections::BTreeSet;

use airbound_report::{Cell, Column, Grid};
use airbound_runs::plan::{Answer, Demand, Plan as Planned, plan as planned};

use crate::args::{Plan, Source};
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

pub(super) fn plan(plan: &Plan, verbosity: Verbosity) -> Result<(), CliError> {
    let source = Source { scenario: plan.scenario.clone(), changes: plan.changes.clone() };
    let opened = source.open()?;
    // What is typed comes later, and so takes the place of what the scenario demands of the same flow.
    let mut demands = Demand::of(&opened.scenario);
    let mut named = BTreeSet::new();
    for text in &plan.demands {
        let flow = text.split('=').next().unwrap_or_default().trim();
        if !named.insert(flow) {
            return Err(CliError::Input(format!("--demand names {flow} twice; a flow has one demand")));
        }
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
            Cell::from(format!("{:.1} ms", demand.wire_ms)),
            Cell::from(expected),
            Cell::from(margin),
            Cell::from(if demand.met { "yes" } else { "no" }),
        ]
    });
    Grid {
        title: format!("{scenario}: {}", plan.word()),
        columns: vec![
            text("flow"),
            number("Mb/s"),
            number("PHY"),
            number("airtime"),
            number("demand"),
            number("wire"),
            number("expected"),
            number("margin"),
            text("met"),
        ],
        rows: rows.collect(),
        note: plan.sentences().join("\n"),
    }
}

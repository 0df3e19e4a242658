//! `airbound agent probe`: what kernel and driver offer.

use airbound_linux::probe::{self, Report};
use airbound_report::{Cell, Column, Grid};

use crate::args::agent::AgentProbe;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

pub(super) fn probe(asked: &AgentProbe, verbosity: Verbosity) -> Result<(), CliError> {
    let report = probe::probe(asked.interface.as_deref())?;
    if verbosity.json {
        Ok(output::json(&report)?)
    } else {
        Ok(output::say(verbosity, &table(&report).to_text(output::width()))?)
    }
}

fn table(report: &Report) -> Grid {
    let column = |name: &str| Column { name: name.to_owned(), numeric: false };
    let driver = report.driver.as_deref().unwrap_or("a driver that sysfs does not name");
    Grid {
        title: format!(
            "{} ({}, {}): {}, kernel {}, stations: {}",
            report.interface, report.role, report.radio, driver, report.kernel, report.stations
        ),
        columns: vec![column("what"), column("had"), column("how that was found out"), column("therefore")],
        rows: report
            .rows
            .iter()
            .map(|row| {
                vec![
                    Cell::from(row.what),
                    Cell::from(row.available.word()),
                    Cell::from(row.found.clone()),
                    Cell::from(row.therefore.clone()),
                ]
            })
            .collect(),
        note: String::new(),
    }
}

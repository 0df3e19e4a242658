//! `airbound-studies verdict --check`: how often the verdict is right.

use std::num::NonZeroUsize;

use airbound_console::{Verbosity, output};
use airbound_report::{Cell, Grid};
use airbound_runs::jobs;

use super::args::Set;
use super::error::CommandError;
use crate::verdict::{Score, check};

/// Seeds of the oracle.
const SEEDS: u64 = 20;

pub(super) fn verdict(set: &Set, verbosity: Verbosity) -> Result<(), CommandError> {
    let jobs = NonZeroUsize::new(jobs::threads(set.jobs)).unwrap_or(NonZeroUsize::MIN);
    let networks = check(set.seed, u64::from(set.check), SEEDS, jobs)
        .map_err(|error| CommandError::Defect(error.to_string()))?;
    if verbosity.json {
        return Ok(output::json(&networks)?);
    }
    let mut grid = Grid::new("Verdicts beside the oracle", &["network", "verdict", "right", "agrees"], 4);
    for network in &networks {
        let right = format!("{}, {}", network.right, if network.right_kept { "kept" } else { "not kept" });
        let agrees = if network.agrees() { "yes" } else { "no" };
        let agrees = [&[agrees.to_owned()][..], &network.contradictions].concat().join("; ");
        let cells = [network.number.to_string(), network.sentence.clone(), right, agrees];
        grid.rows.push(cells.map(Cell::from).to_vec());
    }
    let Score { all, agree, default, contradict } = Score::of(&networks);
    grid.note = format!(
        "{agree} of {all} agree, {contradict} contradict themselves; always the default would be right in {default}."
    );
    Ok(output::say(verbosity, &grid.to_text(output::width()))?)
}

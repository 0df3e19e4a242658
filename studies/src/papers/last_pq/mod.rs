//! LAST-PQ (PerCom 2024): every experiment of Sec. I, III and VI, and what goes beyond.
//!
//! `floor.toml` and `case-study.toml` are the scenarios of the evaluation and of the case study, `users.toml` one of our own; the
//! variants of each stand beside it. `claims.toml` holds what the paper states.

mod auto;
mod beyond;
mod case_study;
mod edca;
mod households;
mod measure;
mod mobility;
mod runtime;
mod stack;
mod static_case;

use std::sync::LazyLock;

use airbound_report::ValidationRow;

use super::Study;
use super::claims::Claims;
use super::experiment::{Experiment, Results};
use super::grid::Grid;
use crate::{Effort, TrialError};

pub(super) static CLAIMS: LazyLock<Claims> =
    LazyLock::new(|| Claims::read("last-pq", include_str!("claims.toml")));
static FLOOR: LazyLock<Grid> = LazyLock::new(|| {
    let file = ("floor.toml", include_str!("floor.toml"));
    Grid::read("last-pq, floor", include_str!("floor-runs.toml"), &[file])
});
static CASE_STUDY: LazyLock<Grid> = LazyLock::new(|| {
    let file = ("case-study.toml", include_str!("case-study.toml"));
    Grid::read("last-pq, case study", include_str!("case-study-runs.toml"), &[file])
});
static USERS: LazyLock<Grid> = LazyLock::new(|| {
    let file = ("users.toml", include_str!("users.toml"));
    Grid::read("last-pq, four users", include_str!("users-runs.toml"), &[file])
});

const LINUX: &str = "Linux";
/// As in the paper: without what our defaults add.
const LAST_PQ: &str = "LAST-PQ";
const OURS: &str = "our defaults";
/// Schemes that the paper compares.
const SCHEMES: [&str; 2] = [LINUX, LAST_PQ];
/// Time for which the background runs before the stream begins, in s.
const LEAD_S: f64 = 3.0;

/// All experiments, in the order of the paper.
pub(super) fn studies() -> Vec<Box<dyn Study>> {
    vec![
        Box::new(case_study::CaseStudy),
        Box::new(stack::Stacks),
        Box::new(stack::Senders),
        Box::new(static_case::Places),
        Box::new(runtime::Runtime),
        Box::new(static_case::Static),
        Box::new(static_case::Open),
        Box::new(mobility::Mobility),
        Box::new(mobility::Farther),
        Box::new(edca::Clients),
        Box::new(edca::SeveralDemands),
        Box::new(edca::Loads),
        Box::new(beyond::Held),
        Box::new(beyond::Cost),
        Box::new(beyond::Below),
        Box::new(beyond::SPREAD),
        Box::new(beyond::ALIKE),
        Box::new(auto::Home),
        Box::new(auto::Households),
    ]
}

/// The rows of the case study with all its variants, for the rung `papers`.
///
/// # Errors
/// [`TrialError`] if a scenario of this crate cannot be run, which is a defect.
pub(crate) fn case_study_rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let variants = |results: &Results| case_study::by_variant(effort, results);
    let (variants, _) = Results::ask(effort.jobs.get(), &|_, _| (), variants, Experiment::run)?;
    Ok(variants.into_iter().flat_map(|(_, rows)| rows.into_iter().map(|row| row.row)).collect())
}

//! WQM (IEEE Access 2018): every experiment of Sec. III and V.
//!
//! `runs.toml` holds the testbed and its variants, `claims.toml` what the paper states.

mod beyond;
mod bloat;
mod bounds;
mod compare;
mod driver;
mod fairness;
mod measure;
mod open;
mod pie;
mod setting;
mod steps;

use std::sync::LazyLock;

use super::Study;
use super::claims::Claims;
use super::grid::Grid;

pub(super) static CLAIMS: LazyLock<Claims> =
    LazyLock::new(|| Claims::read("wqm", include_str!("claims.toml")));
static RUNS: LazyLock<Grid> =
    LazyLock::new(|| Grid::read("wqm", include_str!("runs.toml"), &[("row.toml", include_str!("row.toml"))]));

const FIFO: &str = "FIFO 1000";
const CODEL: &str = "CoDel";
const PIE: &str = "PIE";
const WQM: &str = "WQM";
/// Linux's PIE since 5.5: shown beside that of the testbed's kernel.
const PIE_TODAY: &str = "PIE of RFC 8033";
/// Schemes that the paper compares, and today's PIE.
const SCHEMES: [&str; 5] = [FIFO, CODEL, PIE, PIE_TODAY, WQM];

/// All experiments, in the order of the paper.
pub(super) fn studies() -> Vec<Box<dyn Study>> {
    let mut studies: Vec<Box<dyn Study>> = vec![
        Box::new(bounds::Bounds),
        Box::new(bloat::Bloat),
        Box::new(bloat::Aggregates),
        Box::new(steps::Steps),
    ];
    studies.extend(compare::COMPARISONS.iter().map(|comparison| Box::new(comparison) as Box<dyn Study>));
    studies.push(Box::new(pie::Estimate));
    studies.push(Box::new(setting::Setting));
    studies.push(Box::new(fairness::Fairness));
    studies.push(Box::new(driver::Driver));
    studies.push(Box::new(open::Open));
    studies.push(Box::new(beyond::FutureWork));
    studies
}

//! Low-delay rate allocation (Gringoli and Leith): the ns-3 experiments, the testbed's figures, and what goes beyond them.
//!
//! `runs.toml` holds the network and its variants, `claims.toml` what the paper states.

mod air;
mod bottleneck;
mod cone;
mod draws;
mod gains;
mod knee;
mod load;
mod measure;
mod model;
mod sensing;
mod shares;
mod square;
mod stations;
mod steps;
mod uplink;

use std::sync::LazyLock;

use super::Study;
use super::claims::Claims;
use super::grid::Grid;

pub(super) static CLAIMS: LazyLock<Claims> =
    LazyLock::new(|| Claims::read("low-delay-rate-allocation", include_str!("claims.toml")));
static RUNS: LazyLock<Grid> = LazyLock::new(|| {
    Grid::read("allocation", include_str!("runs.toml"), &[("wlan.toml", include_str!("wlan.toml"))])
});

/// The prototype's controller in the feasible form of theorem 1.
const PAPER: &str = "theorem 1, w_min";
/// The same, the gain kept below half of the critical one.
const STEADY: &str = "steady";
/// Airbound's defaults.
const OURS: &str = "optimum of P, fast start";

/// All experiments, in the order of the paper.
pub(super) fn studies() -> Vec<Box<dyn Study>> {
    vec![
        Box::new(knee::Knee),
        Box::new(model::Model),
        Box::new(load::Loads),
        Box::new(shares::Shares),
        Box::new(stations::Stations),
        Box::new(square::Square),
        Box::new(steps::StreamDrop),
        Box::new(steps::Tracking),
        Box::new(gains::Gains),
        Box::new(sensing::Sensing),
        Box::new(steps::Starts),
        Box::new(bottleneck::Bottlenecks),
        Box::new(uplink::Uplinks),
    ]
}

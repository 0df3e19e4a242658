//! Low-delay rate allocation (Gringoli and Leith): the ns-3 experiments, the testbed's figures, and what goes beyond them.

mod bottleneck;
mod cone;
mod gains;
mod knee;
mod load;
mod measure;
mod model;
mod sensing;
mod setting;
mod shares;
mod square;
mod start;
mod stations;
mod steps;

use super::Study;

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
        Box::new(start::Starts),
        Box::new(bottleneck::Bottlenecks),
    ]
}

/// Why a claim does not hold in every row, as far as it was found out.
pub(super) fn reason(claim: &str) -> Option<&'static str> {
    Some(match claim {
        _ => return None,
    })
}

//! WQM (IEEE Access 2018): every experiment of Sec. III and V.

mod beyond;
mod bloat;
mod bounds;
mod compare;
mod driver;
mod measure;
mod multi_flow;
mod open;
mod setting;
mod single_flow;
mod steps;

use super::Study;

/// All experiments, in the order of the paper.
pub(super) fn studies() -> Vec<Box<dyn Study>> {
    let mut studies: Vec<Box<dyn Study>> = vec![
        Box::new(bounds::Bounds),
        Box::new(bloat::Bloat),
        Box::new(bloat::Aggregates),
        Box::new(steps::Steps),
    ];
    studies.extend(single_flow::studies());
    studies.extend(multi_flow::studies());
    studies.push(Box::new(driver::Driver));
    studies.push(Box::new(open::Open));
    studies.push(Box::new(beyond::FutureWork));
    studies
}

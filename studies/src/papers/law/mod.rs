//! Law (NSDI 2026): every experiment of Secs. 2 to 4, its appendices, and what it leaves for later.
//!
//! `office-runs.toml` and `network-runs.toml` hold the runs, `claims.toml` what the paper states.

mod beyond;
mod breakdown;
mod bulk;
mod causes;
mod fingerprint;
mod frames;
mod map;
mod measure;
mod moment;
mod naive;
mod packets;
mod parameters;
mod variants;

use std::sync::LazyLock;

use super::claims::Claims;
use super::experiment::Results;
use super::grid::Grid;
use super::{Part, Study};
use crate::Effort;
use measure::Runs;

pub(super) static CLAIMS: LazyLock<Claims> =
    LazyLock::new(|| Claims::read("law", include_str!("claims.toml")));
static OFFICE: LazyLock<Grid> = LazyLock::new(|| {
    let file = ("office.toml", include_str!("office.toml"));
    Grid::read("law", include_str!("office-runs.toml"), &[file])
});
static NETWORKS: LazyLock<Grid> = LazyLock::new(|| {
    let file = ("network.toml", include_str!("network.toml"));
    Grid::read("law beyond", include_str!("network-runs.toml"), &[file])
});

const LAW: &str = "Law";
const MINSTREL: &str = "Minstrel";
/// The baselines of Sec. 4.1: Linux's own rate control, latency-aware rate adaptation, Thompson sampling.
const RIVALS: [&str; 3] = [MINSTREL, "LLRA", "TS"];
/// Law and its baselines.
const SCHEMES: [&str; 4] = [LAW, RIVALS[0], RIVALS[1], RIVALS[2]];

/// Presets of the channel.
const PLACES: [&str; 5] = ["distant", "hidden", "calm", "office", "harsh"];
/// The one by which claims are judged: it was chosen by the paper's rivals alone, before Law ran in it.
const JUDGED: &str = "distant";

/// Duration and number of runs of packets and of frames in a place: the others only inform.
fn length(place: &str) -> &'static str {
    if place == JUDGED { "600 s" } else { "300 s, 1 seed" }
}

/// An experiment: the claims and the chapter that follow from its runs.
struct Figure(fn(Runs<'_>) -> Part);

impl Study for Figure {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        self.0(Runs { effort, results })
    }
}

/// All experiments, in the order of the paper.
pub(super) fn studies() -> Vec<Box<dyn Study>> {
    let parts: [fn(Runs<'_>) -> Part; 18] = [
        parameters::in_force,
        |runs| fingerprint::part(runs, &PLACES),
        breakdown::part,
        frames::correction,
        |runs| naive::part(runs, JUDGED),
        packets::schemes,
        packets::bounds,
        frames::schemes,
        causes::part,
        map::part,
        moment::part,
        |runs| variants::part(runs, JUDGED),
        bulk::part,
        parameters::open,
        beyond::aggregation,
        beyond::stations,
        beyond::together,
        beyond::later,
    ];
    parts.into_iter().map(|part| Box::new(Figure(part)) as Box<dyn Study>).collect()
}

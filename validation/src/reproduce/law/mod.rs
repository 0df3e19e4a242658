//! Law (NSDI 2026): every experiment of Secs. 2 to 4, its appendices, and what it leaves for later.

mod beyond;
mod breakdown;
mod bulk;
mod choose;
mod fec;
mod frames;
mod measure;
mod moment;
mod naive;
mod network;
mod open;
mod packets;
mod parameters;
mod setting;
mod variants;
mod video;

use super::Study;
use setting::Surroundings;

/// All experiments, in the order of the paper.
pub(super) fn studies() -> Vec<Box<dyn Study>> {
    vec![
        Box::new(parameters::Parameters),
        Box::new(breakdown::Breakdown),
        Box::new(fec::Correction),
        Box::new(naive::Naive(Surroundings::Calm)),
        Box::new(naive::Naive(Surroundings::Office)),
        Box::new(packets::Packets),
        Box::new(choose::Choose),
        Box::new(frames::Frames),
        Box::new(moment::Moment),
        Box::new(variants::Variants(Surroundings::Calm)),
        Box::new(variants::Variants(Surroundings::Office)),
        Box::new(bulk::Bulk),
        Box::new(open::Open),
        Box::new(beyond::Aggregation),
        Box::new(beyond::Stations),
        Box::new(beyond::Together),
        Box::new(beyond::Later),
    ]
}

/// Why a claim does not hold in every row, as far as it was found out.
pub(super) fn reason(_claim: &str) -> Option<&'static str> {
    None
}

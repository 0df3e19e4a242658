//! Plum (Chen et al.): every claim of Sec. II and IV, with the loop closed over half-duplex links.

mod beyond;
mod case;
mod channel;
mod distribution;
mod downlink;
mod fluid;
mod mobility;
mod omniscient;
mod saturated;
mod scene;
mod sensitivity;
mod shared;
mod solver;
mod traces;

pub use traces::{TraceSetError, TraceSets};

use case::Conferences;

use super::{Paper, Part, Reproduction, by_claim, shown};
use crate::{Effort, TrialError};

/// Runs every session that a claim asks for, and says what they brought.
pub(super) fn reproduce(
    effort: Effort,
    traces: &TraceSets,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Reproduction, TrialError> {
    let wanted = [
        downlink::cases(effort),
        distribution::cases(effort),
        shared::cases(effort),
        sensitivity::cases(effort),
    ];
    let sessions = Conferences::of(wanted.into_iter().flatten(), traces, effort, progress)?;
    let parts = [
        downlink::bounds(traces, effort),
        downlink::part(&sessions, traces, effort),
        distribution::part(&sessions, effort),
        shared::part(&sessions, effort),
        sensitivity::part(&sessions, effort),
        mobility::part(effort, progress)?,
        solver::part(effort),
        channel::part(traces, effort)?,
        beyond::part(effort)?,
    ];
    let (mut rows, mut chapters) = (Vec::new(), Vec::new());
    for Part { rows: found, chapter } in parts {
        rows.extend(found);
        chapters.push(chapter);
    }
    Ok(Reproduction { paper: Paper::Plum, rows: by_claim(rows), chapters, runs: sessions.len() })
}

/// By how many per cent one value exceeds another.
fn gain(value: f64, over: f64) -> f64 {
    100.0 * (value / over.max(1e-9) - 1.0)
}

fn text(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), shown)
}

/// Why a claim does not hold in every row, as far as it was found out.
pub(super) fn reason(claim: &str) -> Option<&'static str> {
    Some(match claim {
        "average-downlink" => {
            "the bound is over the fair share, and our LastN, which pauses a quarter of the sources, is up to a fifth above that: over LastN an \
             omniscient allocation gains the \"bound over best\" of the table, which may be below 45 % itself. rho 0.5 gives bitrate away for fairness where links differ as much as in Tr-Game. The paper's own curve is an oracle without contention"
        }
        "distribution" => {
            "d_i is divided among the sources here: eight clients have 2 to 3 Mb/s of each. The public code gives every source all of d_i, which is \
             how a single stream exceeds 5 Mb/s there"
        }
        "shared-channel" => "the two share one trace in our runs; how the paper loads theirs is not given",
        "mobility" => {
            "with the loss of ns-3's default channel a walker's link carries twice what its video needs in every second of a 30 m square: all have \
             20 Mb/s under every scheme. On no channel does the mean gain more than a seventh with encoders of 10 Mb/s (table above): the two on wires \
             have each other's 10 Mb/s whatever the walker does. Under a loss that binds rho 0 stays near the bound, and rho 0.5 gives mean away to level \
             the three. The public code runs this figure on 802.11p at 10 MHz"
        }
        "worst-user" => {
            "the seeds in which the worst link is so poor that its encoder's lowest bitrate takes what there is"
        }
        "rho" => {
            "at rho 1 the mean counts for nothing and every level is as good, so that it falls further than the paper's; links as even as \
             Tr-Restaurant's leave little fairness to win"
        }
        "half-duplex" => {
            "DCF is fair to transmitters, not stations: the access point is one of them, and shares its turns among its clients"
        }
        "yield" => "an even split before gives 1.5 at most; 2.8 takes a downlink 3.6 times the uplink",
        "testbed" => "the authors' testbed; it takes a real server and real video",
        _ => return None,
    })
}

//! Plum (Chen et al.): every claim of Sec. II and IV, with the loop closed over half-duplex links.

mod case;
mod channel;
mod distribution;
mod downlink;
mod fluid;
mod sensitivity;
mod shared;
mod solver;
mod traces;

pub use traces::TraceSets;

use case::Sessions;

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
    let sessions = Sessions::of(wanted.into_iter().flatten(), traces, effort, progress)?;
    let parts = [
        downlink::bounds(traces, effort),
        downlink::part(&sessions, traces, effort),
        distribution::part(&sessions, effort),
        shared::part(&sessions, effort),
        sensitivity::part(&sessions, effort),
        solver::part(effort),
        channel::part(traces, effort)?,
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
        "testbed" => "the authors' testbed; it takes a real server and real video",
        _ => return None,
    })
}

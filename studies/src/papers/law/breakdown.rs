//! Secs. 2.1 and 2.2: where the latency of today's link layer comes from (Figs. 3, 4), and how retransmissions depend on the
//! signal (Fig. 8).

use airbound_record::Stage;
use airbound_report::Line;

use super::measure::{Runs, add, percent};
use super::{CLAIMS, JUDGED, MINSTREL};
use crate::papers::Part;
use crate::papers::digest::{Digest, STEP, STEPS};

const LEVELS_DBM: [&str; 3] = ["-60", "-70", "-80"];
const SLOWEST: usize = STEPS - 1;

pub(super) fn part(runs: Runs<'_>) -> Part {
    let campus = runs.digest(&[MINSTREL, JUDGED, "UDP from the campus"]);
    let levels = LEVELS_DBM.map(|level| (level, runs.digest(&[MINSTREL, &format!("{level} dBm")])));

    let hop = |step| last_hop(&campus, step);
    let within = |step, stage| within_hop(&campus, step, stage);
    let queueing = |step| within(step, Stage::Queueing);
    let again = || levels.iter().filter_map(|(_, digest)| again_share(digest));
    let least = again().reduce(f64::min).filter(|share| *share > 0.0);
    let factor = again().reduce(f64::max).zip(least).map(|(most, least)| most / least);
    let rows = vec![
        CLAIMS.row("queueing").trend(queueing(SLOWEST) > queueing(0)).measured(queueing(SLOWEST)),
        CLAIMS.row("last-hop").trend(hop(SLOWEST) > hop(0)).measured(hop(SLOWEST)),
        CLAIMS.row("sent-again").measured(factor),
    ];

    let mut stages = CLAIMS.table("breakdown", &[]);
    for (step, breakdown) in campus.breakdown.iter().enumerate() {
        let columns = [Stage::Queueing, Stage::Contention, Stage::Retries, Stage::Airtime, Stage::Reordering];
        let columns = columns.map(|stage| within(step, stage));
        let texts = [step_name(step), breakdown.count.to_string()];
        add(&mut stages, &texts.each_ref().map(String::as_str), [hop(step)].into_iter().chain(columns));
    }
    let mut sent_again = CLAIMS.table("sent-again", &[]);
    for (level, digest) in &levels {
        let [p99, p999] = [0.99, 0.999].map(|share| digest.quantile(share));
        add(&mut sent_again, &[level], [again_share(digest), percent(digest.loss_rate()), p99, p999]);
    }

    let line = |name: &str, share: &dyn Fn(usize) -> Option<f64>| {
        let middle = |step: usize| (step as f64 + 0.5) * STEP.as_millis_f64();
        let points = (0..STEPS).map(|step| share(step).map(|share| (middle(step), share)));
        Line { name: name.to_owned(), points: points.collect() }
    };
    let lines = vec![
        line("last hop in the whole", &hop),
        line("queueing in the last hop", &queueing),
        line("contention and retries in the last hop", &|step| {
            Some(within(step, Stage::Contention)? + within(step, Stage::Retries)?)
        }),
    ];
    let charts = vec![CLAIMS.lines("breakdown", &[], lines)];
    Part { rows, chapter: CLAIMS.chapter("breakdown", vec![stages, sent_again], charts) }
}

/// The share of the last hop in the latency of a step.
fn last_hop(digest: &Digest, step: usize) -> Option<f64> {
    Some(100.0 * (1.0 - digest.breakdown.get(step)?.share(Stage::Wired)?))
}

/// The share of a stage in the latency of the last hop.
fn within_hop(digest: &Digest, step: usize, stage: Stage) -> Option<f64> {
    let breakdown = digest.breakdown.get(step)?;
    Some(100.0 * breakdown.share(stage)? / (1.0 - breakdown.share(Stage::Wired)?))
}

/// The share of the delivered packets that were sent more than once.
pub(super) fn again_share(digest: &Digest) -> Option<f64> {
    let delivered = digest.packets - digest.lost;
    (delivered > 0).then(|| 100.0 * digest.retransmitted as f64 / delivered as f64)
}

fn step_name(step: usize) -> String {
    let (low, high) = (STEP.as_millis() * step as u64, STEP.as_millis() * (step as u64 + 1));
    if step == SLOWEST { format!("{low} and more") } else { format!("{low} to {high}") }
}

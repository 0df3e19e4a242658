//! Sec. 2.1 and 2.2: where the latency of today's link layer comes from (Figs. 3, 4), and how retransmissions depend on the
//! signal (Fig. 8).

use airbound_record::Stage;
use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance, ValidationRow};

use super::measure;
use super::setting::{MINSTREL, Setting, Surroundings, Traffic};
use crate::Effort;
use crate::papers::digest::{Digest, STEP, STEPS};
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

const CLAIM: &str = "breakdown";

/// Where the time goes, and what is sent again.
pub(super) struct Breakdown;

/// "From an edge server in our campus" (Sec. 2.1).
const FROM_CAMPUS: Setting = Setting::new(MINSTREL, Traffic::UdpFromCampus);

/// Three signal levels of daily life, 10 dB apart. The paper names none.
const LEVELS_DBM: [i32; 3] = [-60, -70, -80];

const fn at(level: i32) -> Setting {
    Setting { surroundings: Surroundings::Signal(level), ..Setting::new(MINSTREL, Traffic::Udp) }
}

impl Study for Breakdown {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let settings = [FROM_CAMPUS].into_iter().chain(LEVELS_DBM.map(at));
        settings.flat_map(|setting| measure::runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let campus = measure::digest(FROM_CAMPUS, effort, results);
        let levels = LEVELS_DBM.map(|level| (level, measure::digest(at(level), effort, results)));
        let chapter = Chapter {
            title: "Where the latency comes from".to_owned(),
            text: "Minstrel over the three layers of queues. On the left of the charts lie the packets that were fast, on the right \
                   those that took 70 ms and more from end to end, 2 ms of which are the wire."
                .to_owned(),
            tables: vec![stages(&campus), again(&levels)],
            charts: vec![shares(&campus)],
        };
        Part { rows: rows(&campus, &levels), chapter }
    }
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

fn again_share(digest: &Digest) -> Option<f64> {
    let delivered = digest.packets - digest.lost;
    (delivered > 0).then(|| 100.0 * digest.retransmitted as f64 / delivered as f64)
}

fn rows(campus: &Digest, levels: &[(i32, Digest)]) -> Vec<ValidationRow> {
    let slowest = STEPS - 1;
    let row = |metric: &str,
               unit: &str,
               reference: f64,
               measured: Option<f64>,
               tolerance,
               trend,
               note: &str| {
        ValidationRow::judged(CLAIM, metric, unit, Some(reference), measured, Some(tolerance), trend, note)
    };
    let queueing = |step| within_hop(campus, step, Stage::Queueing);
    let grows = queueing(slowest) > queueing(0);
    let again: Vec<f64> = levels.iter().filter_map(|(_, digest)| again_share(digest)).collect();
    let most = again.iter().copied().reduce(f64::max);
    let least = again.iter().copied().reduce(f64::min).filter(|share| *share > 0.0);
    let factor = most.zip(least).map(|(most, least)| most / least);
    vec![
        row(
            "queueing in the last hop above 70 ms",
            "%",
            80.0,
            queueing(slowest),
            Tolerance::AtLeast,
            grows,
            "Fig. 4; mean over packets, all three queues",
        ),
        row(
            "last hop in the latency above 70 ms",
            "%",
            95.0,
            last_hop(campus, slowest),
            Tolerance::AtLeast,
            last_hop(campus, slowest) > last_hop(campus, 0),
            "Fig. 3; mean over packets, the paper gives the median",
        ),
        row(
            "packets sent again: weakest over strongest signal",
            "",
            15.0,
            factor,
            Tolerance::Factor(3.0),
            factor.is_some_and(|factor| factor > 1.5),
            "Fig. 8: up to 15 times over three signals, whose levels the paper does not print",
        ),
    ]
}

fn step_name(step: usize) -> String {
    let (low, high) = (STEP.as_millis() * step as u64, STEP.as_millis() * (step as u64 + 1));
    if step + 1 == STEPS { format!("{low} and more") } else { format!("{low} to {high}") }
}

fn stages(digest: &Digest) -> Grid {
    let columns = [
        "latency ms",
        "packets",
        "last hop %",
        "queueing %",
        "contention %",
        "retries %",
        "air %",
        "reordering %",
    ];
    let mut grid = Grid::new("Where the time goes, by latency from end to end", &columns, 1);
    for step in 0..STEPS {
        let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
        let count = digest.breakdown.get(step).map_or(0, |breakdown| breakdown.count);
        let within = |stage| text(within_hop(digest, step, stage));
        let cells = [
            step_name(step),
            count.to_string(),
            text(last_hop(digest, step)),
            within(Stage::Queueing),
            within(Stage::Contention),
            within(Stage::Retries),
            within(Stage::Airtime),
            within(Stage::Reordering),
        ];
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid.note = "last hop: share in the latency from end to end; the other columns: shares in the last hop. queueing: in all three \
                 queues, until the PSDU is the first in the hardware."
        .to_owned();
    grid
}

fn again(levels: &[(i32, Digest)]) -> Grid {
    let mut grid = Grid::new(
        "What is sent again, by signal",
        &["signal dBm", "sent again %", "lost %", "p99 ms", "p99.9 ms"],
        1,
    );
    for (level, digest) in levels {
        let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
        let cells = [
            level.to_string(),
            text(again_share(digest)),
            text(digest.loss_rate().map(|share| 100.0 * share)),
            text(digest.quantile(0.99)),
            text(digest.quantile(0.999)),
        ];
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid.note =
        "Fig. 8. Nobody else is on the channel; the signal fades around its mean as people move.".to_owned();
    grid
}

fn shares(digest: &Digest) -> Chart {
    let middle = |step: usize| (step as f64 + 0.5) * STEP.as_millis_f64();
    let line = |name: &str, share: &dyn Fn(usize) -> Option<f64>| Line {
        name: name.to_owned(),
        points: (0..STEPS).map(|step| share(step).map(|share| (middle(step), share))).collect(),
    };
    Chart {
        kind: ChartKind::Lines(Lines {
            x: "latency from end to end (ms)".to_owned(),
            y: "share (%)".to_owned(),
            top: Some(100.0),
            lines: vec![
                line("last hop in the whole", &|step| last_hop(digest, step)),
                line("queueing in the last hop", &|step| within_hop(digest, step, Stage::Queueing)),
                line("contention and retries in the last hop", &|step| {
                    let of = |stage| within_hop(digest, step, stage);
                    Some(of(Stage::Contention)? + of(Stage::Retries)?)
                }),
            ],
            ..Lines::default()
        }),
        caption: "Figs. 3 and 4: what makes a slow packet slow. The last point stands for 70 ms and more."
            .to_owned(),
    }
}

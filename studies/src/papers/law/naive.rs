//! Sec. 3.1 and 3.3: what simple changes to three layers of queues bring (Fig. 11), and a limit split over the layers beside one
//! over all of them (Figs. 13, 14).

use airbound_record::LatencyHistogram;
use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Tails, Tolerance, ValidationRow};

use super::measure;
use super::packets::tail;
use super::setting::{LAW, Layer, MINSTREL, Setting, Surroundings, Traffic};
use crate::Effort;
use crate::papers::digest::Digest;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

/// Settings A and B, and the split limit, in one place.
pub(super) struct Naive(pub(super) Surroundings);

const SECONDS: u64 = 300;

/// 25 ms for the flow queues, eight frames in all hardware queues together.
const A: Layer = MINSTREL.over("setting A", "preset = \"openwifi-a\"\nstreams = 1\n");
/// No hardware queue.
const B: Layer = MINSTREL.over("setting B", "preset = \"openwifi-b\"\nstreams = 1\n");
/// 10 ms for each layer.
const SPLIT: Layer = MINSTREL.over("10 + 10 + 10 ms", "preset = \"openwifi-split\"\nstreams = 1\n");
/// 30 ms for all of them.
const ONE: Layer = MINSTREL.over("30 ms in all", "preset = \"openwifi-bound\"\nstreams = 1\n");
/// openwifi's own depth of a hardware queue; the paper's figure is ath9k's, 8.
const DEEP: Layer = MINSTREL.over(
    "Minstrel, 64 in hardware",
    "preset = \"openwifi\"\nstreams = 1\npath = { hardware-aggregates = 64 }\n",
);

const LAYERS: [Layer; 7] = [MINSTREL, DEEP, A, B, SPLIT, ONE, LAW];

impl Naive {
    const fn setting(&self, layer: Layer) -> Setting {
        Setting { surroundings: self.0, seconds: SECONDS, ..Setting::new(layer, Traffic::Udp) }
    }
}

impl Study for Naive {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        LAYERS.into_iter().flat_map(|layer| measure::runs(self.setting(layer), effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let digests = LAYERS.map(|layer| (layer, measure::digest(self.setting(layer), effort, results)));
        let of = |layer: Layer| {
            digests.iter().find(|(known, _)| *known == layer).map(|(_, digest)| digest).cloned()
        };
        let chapter = Chapter {
            title: format!("Simple changes to three layers: {}", self.0.name()),
            text: "UDP at 10 Mb/s, Minstrel. Setting A limits the time in the flow queues to 25 ms and the hardware queues to eight \
                   frames in all; setting B has no hardware queue; the last two bound the whole stay by 30 ms, once in three \
                   parts and once in one."
                .to_owned(),
            tables: vec![table(&digests)],
            charts: vec![chart(&digests)],
        };
        Part { rows: rows(self.0.name(), &|layer| of(layer).unwrap_or_default()), chapter }
    }
}

fn rows(place: &str, digest: &dyn Fn(Layer) -> Digest) -> Vec<ValidationRow> {
    let usual = digest(MINSTREL);
    let factor = |layer| {
        let (loss, usual) = (digest(layer).loss_rate()?, usual.loss_rate()?);
        (usual > 0.0).then(|| loss / usual)
    };
    let row = |claim: &str,
               metric: &str,
               unit: &str,
               reference,
               measured: Option<f64>,
               tolerance,
               trend,
               note: &str| {
        let metric = format!("{place}: {metric}");
        ValidationRow::judged(claim, metric, unit, Some(reference), measured, Some(tolerance), trend, note)
    };
    let worse = |value: Option<f64>| value.is_some_and(|factor| factor > 1.0);
    let far_tail = |layer| digest(layer).quantile(0.9999);
    let (split, one) = (digest(SPLIT).loss_rate(), digest(ONE).loss_rate());
    vec![
        row(
            "naive-a",
            "loss of setting A over the usual loss",
            "",
            8.0,
            factor(A),
            Tolerance::Factor(2.0),
            worse(factor(A)),
            "Fig. 11",
        ),
        row(
            "naive-a",
            "p99.99 of setting A",
            "ms",
            200.0,
            far_tail(A),
            Tolerance::Factor(1.5),
            far_tail(A) > Some(46.0),
            "Fig. 11: nearly 200 ms, far above the limit of 25 ms",
        ),
        row(
            "naive-b",
            "loss of setting B over the usual loss",
            "",
            2.5,
            factor(B),
            Tolerance::Factor(2.0),
            worse(factor(B)),
            "Fig. 11",
        ),
        row(
            "naive-b",
            "p99.99 of setting B",
            "ms",
            400.0,
            far_tail(B),
            Tolerance::AtLeast,
            far_tail(B) > far_tail(MINSTREL),
            "Fig. 11: more than 400 ms",
        ),
        row(
            "one-limit-beats-three",
            "loss with one limit of 30 ms over loss with 10 + 10 + 10 ms",
            "",
            1.0,
            one.zip(split).and_then(|(one, split)| (split > 0.0).then(|| one / split)),
            Tolerance::AtMost,
            false,
            "Figs. 13, 14: one limit loses fewer",
        ),
    ]
}

fn table(digests: &[(Layer, Digest)]) -> Grid {
    let columns = ["setting", "lost %", "p50 ms", "p99 ms", "p99.9 ms", "p99.99 ms", "longest ms"];
    let mut grid = Grid::new("Simple changes to three layers of queues", &columns, 1);
    let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
    for (layer, digest) in digests {
        let cells = [
            layer.name.to_owned(),
            text(digest.loss_rate().map(|share| 100.0 * share)),
            text(digest.quantile(0.5)),
            text(digest.quantile(0.99)),
            text(digest.quantile(0.999)),
            text(digest.quantile(0.9999)),
            text(digest.quantile(1.0)),
        ];
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid
}

fn chart(digests: &[(Layer, Digest)]) -> Chart {
    let line = |(layer, digest): &(Layer, Digest)| {
        let latency: &LatencyHistogram = &digest.latency;
        Line::whole(layer.name, tail(latency))
    };
    Chart {
        kind: ChartKind::Tails(Tails {
            samples: "packets".to_owned(),
            lines: digests.iter().map(line).collect(),
        }),
        caption: "Fig. 11 with the split limit of Fig. 13: latency of delivered packets.".to_owned(),
    }
}

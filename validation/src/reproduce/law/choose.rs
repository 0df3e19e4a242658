//! Appendix B, Fig. 24: which bound costs which share of the packets.

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance, ValidationRow};

use super::measure;
use super::setting::{LAW, Layer, RIVALS, Setting, Traffic};
use crate::Effort;
use crate::reproduce::digest::Digest;
use crate::reproduce::experiment::{Experiment, Results};
use crate::reproduce::{Part, Study, shown};

/// Thresholds of the baselines, and Law over several bounds.
pub(super) struct Choose;

/// Limits on the driver queue, and the bounds that they make.
const LIMITS: [(f64, Layer); 6] = [
    (16.0, LAW.with_queue("16 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"10 ms\" }")),
    (26.0, LAW.with_queue("26 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"20 ms\" }")),
    (46.0, LAW),
    (60.0, LAW.with_queue("60 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"54 ms\" }")),
    (86.0, LAW.with_queue("86 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"80 ms\" }")),
    (166.0, LAW.with_queue("166 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"160 ms\" }")),
];

/// Shares of packets that shall keep the bound, in percent; the paper wants to lose less than 1 %.
const ALPHAS: [f64; 5] = [95.0, 98.0, 99.0, 99.5, 99.9];
const PAPERS: f64 = 0.99;

const fn setting(layer: Layer) -> Setting {
    Setting::new(layer, Traffic::Udp)
}

impl Study for Choose {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let layers = RIVALS.into_iter().chain(LIMITS.map(|(_, layer)| layer));
        layers.flat_map(|layer| measure::runs(setting(layer), effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let rivals = RIVALS.map(|layer| (layer, measure::digest(setting(layer), effort, results)));
        let laws = LIMITS.map(|(bound, layer)| (bound, measure::digest(setting(layer), effort, results)));
        let chapter = Chapter {
            title: "The choice of the bound".to_owned(),
            text: "Under each baseline a share alpha of all packets, lost ones included, stays below some latency. `airbound law \
                   choose-bound` does the same for any scenario."
                .to_owned(),
            tables: vec![thresholds(&rivals), bounds(&laws)],
            charts: vec![chart(&laws)],
        };
        Part { rows: rows(&rivals, &laws), chapter }
    }
}

fn rows(rivals: &[(Layer, Digest)], laws: &[(f64, Digest)]) -> Vec<ValidationRow> {
    let betas = || rivals.iter().filter_map(|(_, digest)| digest.quantile_of_all(PAPERS));
    let row = |metric: &str, unit: &str, reference, measured, tolerance, note: &str| {
        let (reference, tolerance) = (Some(reference), Some(tolerance));
        ValidationRow::judged("choose-bound", metric, unit, reference, measured, tolerance, false, note)
    };
    let law = laws.iter().find(|(bound, _)| *bound == 46.0).and_then(|(_, digest)| digest.loss_rate());
    vec![
        row(
            "lower end of the interval at alpha = 99 %",
            "ms",
            46.0,
            betas().reduce(f64::min),
            Tolerance::AtMost,
            "the paper's bound lies in its interval",
        ),
        row(
            "upper end of the interval at alpha = 99 %",
            "ms",
            46.0,
            betas().reduce(f64::max),
            Tolerance::AtLeast,
            "the paper's bound lies in its interval",
        ),
        row(
            "loss of Law with a bound of 46 ms",
            "%",
            1.0,
            law.map(|loss| 100.0 * loss),
            Tolerance::AtMost,
            "what alpha promises",
        ),
    ]
}

fn thresholds(rivals: &[(Layer, Digest)]) -> Grid {
    let mut columns = vec!["alpha %".to_owned()];
    columns.extend(rivals.iter().map(|(layer, _)| format!("{} ms", layer.name)));
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut grid = Grid::new("Fig. 24: the latency that a share alpha of all packets stays below", &names, 1);
    for alpha in ALPHAS {
        let mut cells = vec![shown(alpha)];
        cells.extend(rivals.iter().map(|(_, digest)| {
            digest.quantile_of_all(alpha / 100.0).map_or("too many lost".to_owned(), shown)
        }));
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid
}

fn bounds(laws: &[(f64, Digest)]) -> Grid {
    let mut grid =
        Grid::new("Law over the bound", &["bound ms", "lost %", "p99 ms", "p99.9 ms", "longest ms"], 1);
    let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
    for (bound, digest) in laws {
        let cells = [
            shown(*bound),
            text(digest.loss_rate().map(|share| 100.0 * share)),
            text(digest.quantile(0.99)),
            text(digest.quantile(0.999)),
            text(digest.quantile(1.0)),
        ];
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid
}

fn chart(laws: &[(f64, Digest)]) -> Chart {
    let points = laws.iter().filter_map(|(bound, digest)| Some((*bound, 100.0 * digest.loss_rate()?)));
    Chart {
        kind: ChartKind::Lines(Lines {
            x: "bound (ms)".to_owned(),
            y: "lost packets (%)".to_owned(),
            lines: vec![Line::whole("Law", points)],
            levels: vec![("1 %".to_owned(), 1.0)],
            ..Lines::default()
        }),
        caption: "What a tighter bound costs.".to_owned(),
    }
}

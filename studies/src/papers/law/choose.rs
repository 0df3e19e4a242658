//! Appendix B, Fig. 24: which bound costs which share of the packets.

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance, ValidationRow};

use super::measure;
use super::setting::{LAW, Layer, RIVALS, Setting, Surroundings, Traffic};
use crate::Effort;
use crate::papers::digest::Digest;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

/// Thresholds of the baselines, and Law over several bounds.
pub(super) struct Choose;

/// Limits on the driver queue, and the bounds that they make.
const LIMITS: [(f64, Layer); 6] = [
    (16.0, LAW.with_queue("16 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"10 ms\" }")),
    (26.0, LAW.with_queue("26 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"20 ms\" }")),
    (PAPERS_BOUND, LAW),
    (60.0, LAW.with_queue("60 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"54 ms\" }")),
    (86.0, LAW.with_queue("86 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"80 ms\" }")),
    (166.0, LAW.with_queue("166 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"160 ms\" }")),
];

/// Shares of packets that shall keep the bound, in percent; the paper wants to lose less than 1 %.
const ALPHAS: [f64; 5] = [95.0, 98.0, 99.0, 99.5, 99.9];
const PAPERS: f64 = 0.99;
/// In ms.
const PAPERS_BOUND: f64 = 46.0;

fn setting(layer: Layer, surroundings: Surroundings) -> Setting {
    Setting { surroundings, ..Setting::new(layer, Traffic::Udp) }
}

impl Study for Choose {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let layers = || RIVALS.into_iter().chain(LIMITS.map(|(_, layer)| layer));
        let settings = Surroundings::JUDGED
            .into_iter()
            .flat_map(|place| layers().map(move |layer| setting(layer, place)));
        settings.flat_map(|setting| measure::runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let digest = |layer, place| measure::digest(setting(layer, place), effort, results);
        let (mut rows, mut tables, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        for place in Surroundings::JUDGED {
            let rivals = RIVALS.map(|layer| (layer, digest(layer, place)));
            let laws = LIMITS.map(|(bound, layer)| (bound, digest(layer, place)));
            rows.extend(self::rows(place.name(), &rivals, &laws));
            tables.push(thresholds(place.name(), &rivals));
            tables.push(bounds(place.name(), &laws));
            lines.push(line(place.name(), &laws));
        }
        let chapter = Chapter {
            title: "The choice of the bound".to_owned(),
            text: "Under each baseline a share alpha of all packets, lost ones included, stays below some latency. `airbound law \
                   choose-bound` does the same for any scenario."
                .to_owned(),
            tables,
            charts: vec![chart(lines)],
        };
        Part { rows, chapter }
    }
}

fn rows(place: &str, rivals: &[(Layer, Digest)], laws: &[(f64, Digest)]) -> Vec<ValidationRow> {
    let betas = || rivals.iter().filter_map(|(_, digest)| digest.quantile_of_all(PAPERS));
    let row = |metric: &str, unit: &str, reference, measured, tolerance, note: &str| {
        let (metric, reference, tolerance) = (format!("{place}: {metric}"), Some(reference), Some(tolerance));
        ValidationRow::judged("choose-bound", metric, unit, reference, measured, tolerance, false, note)
    };
    let law =
        laws.iter().find(|(bound, _)| *bound == PAPERS_BOUND).and_then(|(_, digest)| digest.loss_rate());
    vec![
        row(
            "lower end of the interval at alpha = 99 %",
            "ms",
            PAPERS_BOUND,
            betas().reduce(f64::min),
            Tolerance::AtMost,
            "the paper's bound lies in its interval",
        ),
        row(
            "upper end of the interval at alpha = 99 %",
            "ms",
            PAPERS_BOUND,
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

fn thresholds(place: &str, rivals: &[(Layer, Digest)]) -> Grid {
    let mut columns = vec!["alpha %".to_owned()];
    columns.extend(rivals.iter().map(|(layer, _)| format!("{} ms", layer.name)));
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let title = format!("Fig. 24, {place}: the latency that a share alpha of all packets stays below");
    let mut grid = Grid::new(title, &names, 1);
    for alpha in ALPHAS {
        let mut cells = vec![shown(alpha)];
        cells.extend(rivals.iter().map(|(_, digest)| {
            digest.quantile_of_all(alpha / 100.0).map_or("too many lost".to_owned(), shown)
        }));
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid
}

fn bounds(place: &str, laws: &[(f64, Digest)]) -> Grid {
    let columns = ["bound ms", "lost %", "p99 ms", "p99.9 ms", "longest ms"];
    let mut grid = Grid::new(format!("Law over the bound, {place}"), &columns, 1);
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

fn line(place: &str, laws: &[(f64, Digest)]) -> Line {
    let points = laws.iter().filter_map(|(bound, digest)| Some((*bound, 100.0 * digest.loss_rate()?)));
    Line::whole(place, points)
}

fn chart(lines: Vec<Line>) -> Chart {
    Chart {
        kind: ChartKind::Lines(Lines {
            x: "bound (ms)".to_owned(),
            y: "packets that Law loses (%)".to_owned(),
            lines,
            levels: vec![("1 %".to_owned(), 1.0)],
            ..Lines::default()
        }),
        caption: "What a tighter bound costs.".to_owned(),
    }
}

//! Sec. I and III: what Linux does to a VR stream; the rung `papers` of `airbound validate` has the same rows.

use airbound_report::{Bar, Bars, Chapter, Chart, ChartKind, Grid, ValidationRow};

use crate::Effort;
use crate::ladder::case_study;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct CaseStudy;

impl Study for CaseStudy {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        case_study::trials(effort).into_iter().map(Experiment::plain).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let outcome =
            |trial| results.get(&Experiment::plain(trial)).map(|measured: &Measured| &measured.outcome);
        let outcomes: Option<Vec<_>> = case_study::trials(effort).into_iter().map(outcome).collect();
        let mut variants = outcomes
            .map(|outcomes| case_study::by_variant(&outcomes, effort))
            .unwrap_or_default()
            .into_iter();
        let (_, rows) = variants.next().unwrap_or_default();
        let chapter = Chapter {
            title: "The case study".to_owned(),
            text: "A VR stream over Linux's FQ-CoDel with airtime fairness, alone and congested (Fig. 1, 3 to 6).".to_owned(),
            tables: vec![side_by_side(&rows, &variants.collect::<Vec<_>>())],
            charts: BARS.iter().map(|bars| beside_the_paper(bars, &rows)).collect(),
        };
        Part { rows, chapter }
    }
}

/// Tabulates the choices that the paper leaves open, beside the one made: one row for each printed value.
fn side_by_side(main: &[ValidationRow], variants: &[(String, Vec<ValidationRow>)]) -> Grid {
    let mut columns = vec!["value", "paper", "burst 400"];
    columns.extend(["burst 200", "burst 1000", "others in BE"]);
    let mut grid = Grid::new("The case study for other burst rates and categories", &columns, 1);
    for row in main.iter().filter(|row| row.tolerance.is_some() && row.unit != "holds") {
        let value = |value: Option<f64>| value.map_or("–".to_owned(), shown);
        let mut cells =
            vec![format!("{} ({})", row.metric, row.unit), value(row.reference), value(row.measured)];
        cells.extend(variants.iter().map(|(suffix, rows)| {
            let same = rows.iter().find(|other| other.metric == format!("{}{suffix}", row.metric));
            value(same.and_then(|row| row.measured))
        }));
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid.note = "burst: the rate in Mb/s at which the server hands over a frame.".to_owned();
    grid
}

/// A chart of printed values: what it shows, and the metrics with short names.
struct Printed {
    y: &'static str,
    caption: &'static str,
    metrics: &'static [(&'static str, &'static str)],
}

const BARS: [Printed; 3] = [
    Printed {
        y: "VR p95 (ms)",
        caption: "Fig. 1, 3 to 6: 95th percentile of the VR latency under Linux; diamonds: the paper. Alone at three \
                  resolutions; beside n flows (nF) and n clients (nC); Fig. 1's congested case; both streams in VI at \
                  300 Mb/s.",
        metrics: &[
            ("VR p95, alone-low", "low"),
            ("VR p95, alone-high", "high"),
            ("VR p95, alone-ultra", "ultra"),
            ("VR p95, flows-0", "0F"),
            ("VR p95, flows-1", "1F"),
            ("VR p95, flows-3", "3F"),
            ("VR p95, clients-3", "3C"),
            ("VR p95, clients-3-flows-3", "3F3C"),
            ("VR p95, clients-4", "4C"),
            ("VR p95, fig1-congested", "Fig. 1"),
            ("first VR p95, edca-300", "VI 1"),
            ("second VR p95, edca-300", "VI 2"),
        ],
    },
    Printed {
        y: "frames per second",
        caption: "Fig. 1 and 4c: frame rate under Linux; diamonds: the paper.",
        metrics: &[
            ("VR FPS, flows-0", "0F"),
            ("VR FPS, flows-1", "1F"),
            ("VR FPS, flows-3", "3F"),
            ("VR FPS, fig1-congested", "Fig. 1"),
        ],
    },
    Printed {
        y: "VR goodput (Mb/s)",
        caption: "Fig. 4d: goodput under Linux; diamonds: the paper.",
        metrics: &[
            ("VR goodput, flows-0", "0F"),
            ("VR goodput, flows-1", "1F"),
            ("VR goodput, flows-3", "3F"),
        ],
    },
];

fn beside_the_paper(printed: &Printed, rows: &[ValidationRow]) -> Chart {
    let bar = |metric: &str| {
        let row = rows.iter().find(|row| row.metric == metric)?;
        Some(Bar { value: row.measured?, range: None, reference: row.reference })
    };
    let bars = printed.metrics.iter().map(|(metric, _)| bar(metric)).collect();
    let kind = ChartKind::Bars(Bars {
        y: printed.y.to_owned(),
        groups: printed.metrics.iter().map(|(_, name)| (*name).to_owned()).collect(),
        series: vec![("Linux, ours".to_owned(), bars)],
    });
    Chart { kind, caption: printed.caption.to_owned() }
}

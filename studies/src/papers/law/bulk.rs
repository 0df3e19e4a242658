//! Sec. 4.4: downloads under BBR (Fig. 22), and how fairly flows share (Fig. 23).

use airbound_report::{Bar, Bars, Chart, ChartKind, Grid, Tolerance, ValidationRow};

use super::measure;
use super::setting::{ALL, LAW, LLRA, Layer, MINSTREL, Setting, Surroundings, THOMPSON, Traffic};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

/// Goodput of one download, and fairness among several.
pub(super) struct Bulk;

/// Flows that share. The paper does not say how many.
const SHARING: u32 = 3;
const ALONE_S: u64 = 300;
/// Length of a run whose fairness is looked at, as many as make a median.
const FAIRNESS_S: u64 = 90;
const FAIRNESS_SEEDS: u64 = 9;

fn alone(layer: Layer, surroundings: Surroundings) -> Setting {
    Setting { surroundings, seconds: ALONE_S, ..Setting::new(layer, Traffic::Bbr { flows: 1 }) }
}

/// Several downloads, or several streams of video.
fn sharing(layer: Layer, surroundings: Surroundings, video: bool) -> Setting {
    let traffic = if video {
        Traffic::Video { streams: SHARING, wire_loss: 0.0, keys: "" }
    } else {
        Traffic::Bbr { flows: SHARING }
    };
    Setting { surroundings, seconds: FAIRNESS_S, ..Setting::new(layer, traffic) }
}

/// Measurements in one place.
struct Place<'a> {
    name: &'static str,
    goodput: &'a dyn Fn(Layer) -> Option<f64>,
    /// Jain's index of downloads or of video, sorted.
    fairness: &'a dyn Fn(Layer, bool) -> Vec<f64>,
}

impl Study for Bulk {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let mut all = Vec::new();
        for place in Surroundings::JUDGED {
            all.extend(ALL.into_iter().flat_map(|layer| measure::runs(alone(layer, place), effort)));
            for (layer, video) in [(LAW, false), (LAW, true), (MINSTREL, false), (MINSTREL, true)] {
                all.extend(measure::runs_of(sharing(layer, place, video), FAIRNESS_SEEDS, effort));
            }
        }
        all
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut part = Part::default();
        for surroundings in Surroundings::JUDGED {
            let goodput = |layer| {
                measure::mean(&measure::of(alone(layer, surroundings), effort, results), |run| {
                    Some(run.outcome.summary.flows.first()?.goodput_mbps)
                })
            };
            let fairness = |layer, video| {
                let experiments =
                    measure::runs_of(sharing(layer, surroundings, video), FAIRNESS_SEEDS, effort);
                let mut jains: Vec<f64> =
                    experiments.filter_map(|experiment| jain(results.get(&experiment)?)).collect();
                jains.sort_by(f64::total_cmp);
                jains
            };
            let place = Place { name: surroundings.name(), goodput: &goodput, fairness: &fairness };
            part.rows.extend(goodput_rows(&place));
            part.rows.extend(fairness_rows(&place));
            part.chapter.tables.push(table(&place));
            part.chapter.charts.extend([chart(&place), fairness_chart(&place)]);
        }
        part.chapter.title = "Downloads and fairness".to_owned();
        part.chapter.text = format!(
            "One download under BBR from a server 10 ms away; then {SHARING} flows to the same laptop, downloads or video, \
             {FAIRNESS_S} s each."
        );
        part
    }
}

/// Fairness of the flows' goodput.
fn jain(run: &Measured) -> Option<f64> {
    let goodputs: Vec<f64> = run.outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).collect();
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    (squares > 0.0).then(|| sum * sum / (goodputs.len() as f64 * squares))
}

fn median(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len() / 2).copied()
}

fn goodput_rows(place: &Place<'_>) -> Vec<ValidationRow> {
    let (name, goodput) = (place.name, place.goodput);
    let law = goodput(LAW);
    let against = |layer: Layer| law.zip(goodput(layer)).map(|(law, rival)| law - rival);
    let row = |metric: String, unit: &str, reference, measured, tolerance, trend, note: &str| {
        ValidationRow::judged("bbr", metric, unit, Some(reference), measured, Some(tolerance), trend, note)
    };
    let mut rows: Vec<ValidationRow> = [MINSTREL, LLRA]
        .into_iter()
        .map(|layer| {
            let gain = against(layer);
            row(
                format!("{name}: goodput of Law over {}", layer.name),
                "Mb/s",
                0.7,
                gain,
                Tolerance::AtLeast,
                gain.is_some_and(|gain| gain > 0.0),
                "",
            )
        })
        .collect();
    rows.push(row(
        format!("{name}: goodput of Law over {}", THOMPSON.name),
        "Mb/s",
        -0.7,
        against(THOMPSON),
        Tolerance::AtLeast,
        false,
        "the paper's Law is 0.7 Mb/s slower",
    ));
    let best = ALL.into_iter().filter_map(goodput).reduce(f64::max);
    rows.push(row(
        format!("{name}: goodput of Law against the best"),
        "%",
        -5.0,
        measure::change(best, law),
        Tolerance::AtLeast,
        false,
        "the issue's aim",
    ));
    rows
}

fn fairness_rows(place: &Place<'_>) -> Vec<ValidationRow> {
    let fairness = place.fairness;
    let change = |video| {
        let (law, minstrel) = (fairness(LAW, video), fairness(MINSTREL, video));
        Some(median(&law)? - median(&minstrel)?)
    };
    let row = |metric: &str, reference, measured, note: &str| {
        let tolerance = Some(Tolerance::AtLeast);
        let metric = format!("{}: {metric}", place.name);
        ValidationRow::judged("fairness", metric, "", Some(reference), measured, tolerance, false, note)
    };
    vec![
        row(
            "median of Jain's index under BBR, Law less Minstrel",
            -0.01,
            change(false),
            "the paper: a reduction of less than 1 %",
        ),
        row(
            "median of Jain's index of video, Law less Minstrel",
            0.0,
            change(true),
            "the paper: Law is fairer with GCC",
        ),
    ]
}

fn table(place: &Place<'_>) -> Grid {
    let (goodput, fairness) = (place.goodput, place.fairness);
    let columns = ["scheme", "BBR Mb/s", "Jain BBR median", "lowest", "Jain video median", "lowest"];
    let mut grid = Grid::new(format!("Downloads and fairness, {}", place.name), &columns, 1);
    let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
    let three = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.4}"));
    for layer in ALL {
        let (bbr, video) = (fairness(layer, false), fairness(layer, true));
        let cells = [
            layer.name.to_owned(),
            text(goodput(layer)),
            three(median(&bbr)),
            three(bbr.first().copied()),
            three(median(&video)),
            three(video.first().copied()),
        ];
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid
}

fn chart(place: &Place<'_>) -> Chart {
    let goodput = place.goodput;
    let bars = ALL.map(|layer| goodput(layer).map(|value| Bar { value, ..Bar::default() }));
    Chart {
        kind: ChartKind::Bars(Bars {
            y: "goodput (Mb/s)".to_owned(),
            groups: ALL.map(|layer| layer.name.to_owned()).to_vec(),
            series: vec![("BBR".to_owned(), bars.to_vec())],
        }),
        caption: format!(
            "Fig. 22, {}: goodput of a download under BBR. The paper's Law is 0.7 Mb/s faster than Minstrel and LLRA, and 0.7 slower \
             than TS.",
            place.name
        ),
    }
}

fn fairness_chart(place: &Place<'_>) -> Chart {
    let fairness = place.fairness;
    let bar = |layer, video| {
        let jains = fairness(layer, video);
        let value = median(&jains)?;
        Some(Bar { value, range: Some((*jains.first()?, *jains.last()?)), ..Bar::default() })
    };
    let series = |layer: Layer| (layer.name.to_owned(), vec![bar(layer, false), bar(layer, true)]);
    Chart {
        kind: ChartKind::Bars(Bars {
            y: "Jain's index".to_owned(),
            groups: vec!["BBR".to_owned(), "video (GCC)".to_owned()],
            series: vec![series(LAW), series(MINSTREL)],
        }),
        caption: format!(
            "Fig. 23, {}: fairness among flows to one laptop, median and range over runs.",
            place.name
        ),
    }
}

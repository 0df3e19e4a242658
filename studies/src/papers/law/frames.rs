//! Sec. 4.3, Figs. 17 and 18b: frames of real-time video from an edge server, under Law and its baselines.

use airbound_report::{Bar, Bars, Chapter, Chart, ChartKind, Grid, Line, Tails, Tolerance, ValidationRow};

use super::measure::{self, change};
use super::setting::{ALL, LAW, Layer, RIVALS, Setting, Surroundings, THOMPSON, VIDEO};
use super::video::{COLUMNS, Video};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

/// The frames of all schemes in all surroundings.
pub(super) struct Frames;

fn setting(layer: Layer, surroundings: Surroundings) -> Setting {
    Setting { surroundings, ..Setting::new(layer, VIDEO) }
}

impl Study for Frames {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let places = Surroundings::PRESETS.iter().flat_map(|place| ALL.map(|layer| setting(layer, *place)));
        places.flat_map(|setting| measure::runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let video = |layer, place| Video::of(&measure::of(setting(layer, place), effort, results));
        let mut charts: Vec<Chart> =
            Surroundings::PRESETS.iter().map(|place| distribution(*place, &video)).collect();
        charts.push(first_time(&video));
        charts.push(misses(&video));
        let chapter = Chapter {
            title: "Frames".to_owned(),
            text: "Video at up to 10 Mb/s and 30 frames a second from an edge server 10 ms away: Google congestion control, forward \
                   error correction at one eighth, retransmission from end to end. Latency counts from the encoder until the \
                   frame can be decoded."
                .to_owned(),
            tables: vec![table(&video), changes(&video)],
            charts,
        };
        let rows = Surroundings::JUDGED
            .into_iter()
            .flat_map(|place| rows(place.name(), &|layer| video(layer, place)))
            .collect();
        Part { rows, chapter }
    }
}

fn rows(place: &str, video: &dyn Fn(Layer) -> Video) -> Vec<ValidationRow> {
    let law = video(LAW);
    let rivals: Vec<(Layer, Video)> = RIVALS.iter().map(|layer| (*layer, video(*layer))).collect();
    let mut rows = Vec::new();
    let mut at_most = |claim: &str, metric: String, reference: f64, measured: Option<f64>, note: &str| {
        rows.push(ValidationRow::judged(
            claim,
            metric,
            "%",
            Some(reference),
            measured,
            Some(Tolerance::AtMost),
            measured.is_some_and(|change| change < 0.0),
            note,
        ));
    };
    for (layer, rival) in &rivals {
        let against = layer.name;
        let latency = |share| change(rival.frames.quantile(share), law.frames.quantile(share));
        at_most(
            "frame-tail",
            format!("{place}: change of p99 against {against}"),
            -50.6,
            latency(0.99),
            "the paper's three lie from -50.6 to -70.3",
        );
        at_most(
            "frame-tail",
            format!("{place}: change of p99.9 against {against}"),
            -58.4,
            latency(0.999),
            "the paper: at least 58.4 % less",
        );
    }
    for (layer, rival) in &rivals {
        rows.push(ValidationRow::judged(
            "frame-tail",
            format!("{place}: frames later than 100 ms under Law, against {}", layer.name),
            "%",
            // A change in percent has no meaning where a rival misses nothing.
            rival.miss_rate.map(|share| 100.0 * (1.0 - 0.698) * share),
            law.miss_rate.map(|share| 100.0 * share),
            Some(Tolerance::AtMost),
            law.miss_rate < rival.miss_rate,
            "reference: 69.8 % below the rival; late or never decoded; the paper's three changes lie from -69.8 to -78.5 %",
        ));
    }
    let thompson = rivals.iter().find(|(layer, _)| *layer == THOMPSON).map(|(_, video)| video);
    let over_fifth = thompson.and_then(|video| video.over_fifth_lost);
    rows.push(ValidationRow::judged(
        "per-frame-loss",
        format!("{place}: frames with more than a fifth lost under Law, against {}", THOMPSON.name),
        "%",
        over_fifth.map(|share| 100.0 * (1.0 - 0.653) * share),
        law.over_fifth_lost.map(|share| 100.0 * share),
        Some(Tolerance::AtMost),
        law.over_fifth_lost < over_fifth,
        "Fig. 18b; reference: 65.3 % below TS",
    ));
    let lossy = thompson.and_then(|video| video.lossy).zip(law.lossy);
    rows.push(ValidationRow::judged(
        "per-frame-loss",
        format!("{place}: frames with a lost packet, Law over {}", THOMPSON.name),
        "",
        Some(2.0),
        lossy.and_then(|(rival, law)| (rival > 0.0).then(|| law / rival)),
        Some(Tolerance::Factor(2.0)),
        lossy.is_some_and(|(rival, law)| law > rival),
        "Fig. 18b: almost doubled",
    ));
    let best = rivals.iter().filter_map(|(_, video)| video.bitrate_mbps).reduce(f64::max);
    rows.push(ValidationRow::judged(
        "frame-tail",
        format!("{place}: bitrate of Law"),
        "Mb/s",
        best,
        law.bitrate_mbps,
        Some(Tolerance::AtLeast),
        false,
        "the reference is the best of the three rivals; the paper: slightly above all",
    ));
    let longest = |video: &Video| video.first_time.quantile(1.0);
    rows.push(ValidationRow::judged(
        "frame-tail",
        format!("{place}: longest frame without retransmission, Law"),
        "ms",
        Some(180.0),
        longest(&law),
        Some(Tolerance::Factor(1.5)),
        longest(&law).is_some_and(|law| rivals.iter().all(|(_, rival)| longest(rival) > Some(law))),
        "Fig. 17b: cut off near 180 ms",
    ));
    rows.push(ValidationRow::judged(
        "frame-tail",
        format!("{place}: longest frame without retransmission, least of the rivals"),
        "ms",
        Some(300.0),
        rivals.iter().filter_map(|(_, rival)| longest(rival)).reduce(f64::min),
        Some(Tolerance::AtLeast),
        false,
        "Fig. 17b: all of them exceed 300 ms",
    ));
    rows
}

fn table(video: &dyn Fn(Layer, Surroundings) -> Video) -> Grid {
    let mut columns = vec!["surroundings", "scheme"];
    columns.extend(COLUMNS);
    columns.extend(["lossy %", "> 1/5 lost %", "by retransmission %"]);
    let mut grid = Grid::new("Frames of video, by surroundings", &columns, 2);
    for place in Surroundings::PRESETS {
        for layer in ALL {
            let video = video(layer, place);
            let mut cells = vec![place.name().to_owned(), layer.name.to_owned()];
            cells.extend(video.cells());
            let shares = [video.lossy, video.over_fifth_lost, video.retransmitted];
            cells.extend(shares.map(|share| share.map_or("–".to_owned(), |share| shown(100.0 * share))));
            grid.rows.push(cells.into_iter().map(Into::into).collect());
        }
    }
    grid.note = "> 100 ms: of all frames, those never decoded included. lossy: at least one packet lost by the network; > 1/5 lost: more \
                 than a fifth of them. by retransmission: of the complete frames, those whose last packet was sent again from \
                 end to end."
        .to_owned();
    grid
}

fn changes(video: &dyn Fn(Layer, Surroundings) -> Video) -> Grid {
    let columns = ["against", "surroundings", "p99 %", "p99.9 %", "> 100 ms %", "stalled %", "Mb/s %"];
    let mut grid = Grid::new("What Law changes for frames, by surroundings", &columns, 2);
    let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
    for rival in RIVALS {
        for place in Surroundings::PRESETS {
            let (law, other) = (video(LAW, place), video(rival, place));
            let latency = |share| text(change(other.frames.quantile(share), law.frames.quantile(share)));
            let cells = [
                rival.name.to_owned(),
                place.name().to_owned(),
                latency(0.99),
                latency(0.999),
                text(change(other.miss_rate, law.miss_rate)),
                text(change(other.stall_rate, law.stall_rate)),
                text(change(other.bitrate_mbps, law.bitrate_mbps)),
            ];
            grid.rows.push(cells.into_iter().map(Into::into).collect());
        }
    }
    grid
}

fn distribution(place: Surroundings, video: &dyn Fn(Layer, Surroundings) -> Video) -> Chart {
    let line = |layer: &Layer| Line::whole(layer.name, video(*layer, place).frames.tail());
    Chart {
        kind: ChartKind::Tails(Tails { samples: "frames".to_owned(), lines: ALL.iter().map(line).collect() }),
        caption: format!(
            "Fig. 17a, {} surroundings: latency of frames until they can be decoded.",
            place.name()
        ),
    }
}

fn first_time(video: &dyn Fn(Layer, Surroundings) -> Video) -> Chart {
    let line = |layer: &Layer| Line::whole(layer.name, video(*layer, Surroundings::Office).first_time.tail());
    Chart {
        kind: ChartKind::Tails(Tails {
            samples: "frames".to_owned(),
            lines: ALL.iter().map(line).collect(),
        }),
        caption: "Fig. 17b, office: frames whose last packet was recovered or sent for the first time. The paper's Law is cut off \
                  near 180 ms, its baselines exceed 300 ms."
            .to_owned(),
    }
}

fn misses(video: &dyn Fn(Layer, Surroundings) -> Video) -> Chart {
    let bar = |layer, place| {
        let value = 100.0 * video(layer, place).miss_rate?;
        Some(Bar { value, ..Bar::default() })
    };
    let series = |layer: &Layer| {
        let bars = Surroundings::PRESETS.map(|place| bar(*layer, place));
        (layer.name.to_owned(), bars.to_vec())
    };
    Chart {
        kind: ChartKind::Bars(Bars {
            y: "frames later than 100 ms (%)".to_owned(),
            groups: Surroundings::PRESETS.map(|place| place.name().to_owned()).to_vec(),
            series: ALL.iter().map(series).collect(),
        }),
        caption: "Fig. 17c, in three surroundings.".to_owned(),
    }
}

//! Points that the paper leaves open, each decided otherwise.

use airbound_report::{Chapter, Grid};

use super::measure;
use super::setting::{LAW, Layer, Setting, Surroundings, Traffic};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

/// One run for each other choice.
pub(super) struct Open;

const SECONDS: u64 = 300;

macro_rules! choices {
    ($($point:literal: $text:literal),* $(,)?) => {
        [$(($point, LAW.with_queue($text, concat!("{ kind = \"law\", inside = \"fifo\", ", $text, " }")))),*]
    };
}

/// The open point, and another choice than ours.
const CHOICES: [(&str, Layer); 16] = choices![
    "1": "weight-all = 0.02",
    "1": "weight-rate = 0.05",
    "2": "failed-time = \"limit-h\"",
    "3": "first-rate-index = 0",
    "4": "tries = 2",
    "4": "tries = 7",
    "5": "rate-down-retransmissions = 4",
    "5": "stop-at-rate-min = false",
    "6": "clean-up-rate = \"present\"",
    "7": "keep-previous-rate = false",
    "8": "threshold-cap = 1000",
    "9": "equality = \"enter\"",
    "10": "extra-in-clean-up = false",
    "12": "never-sent = \"failure\"",
    "–": "rate-min = \"tx-time-per-success\"",
    "–": "probe-retransmission = \"probed\"",
];

fn setting(layer: Layer, surroundings: Surroundings) -> Setting {
    Setting { surroundings, seconds: SECONDS, ..Setting::new(layer, Traffic::Udp) }
}

impl Study for Open {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let layers = [LAW].into_iter().chain(CHOICES.map(|(_, layer)| layer));
        let settings =
            layers.flat_map(|layer| Surroundings::JUDGED.map(|surroundings| setting(layer, surroundings)));
        settings.flat_map(|setting| measure::runs_of(setting, 1, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut columns = vec!["point".to_owned(), "choice".to_owned()];
        for place in Surroundings::JUDGED {
            columns.extend(["lost %", "p99 ms", "p99.9 ms"].map(|what| format!("{}: {what}", place.name())));
        }
        let names: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut grid = Grid::new("The open points, decided otherwise", &names, 2);
        let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
        for (point, layer) in [("", LAW)].into_iter().chain(CHOICES) {
            let name = if point.is_empty() { "as in docs/understand/law.md" } else { layer.name };
            let mut cells = vec![point.to_owned(), name.to_owned()];
            for place in Surroundings::JUDGED {
                let digest = measure::digest_of(setting(layer, place), 1, effort, results);
                cells.push(text(digest.loss_rate().map(|share| 100.0 * share)));
                cells.extend([0.99, 0.999].map(|share| text(digest.quantile(share))));
            }
            grid.rows.push(cells.into_iter().map(Into::into).collect());
        }
        grid.note = format!(
            "One seed, {SECONDS} s each. Points as in docs/understand/law.md, which says what was chosen and why; – for two that its list does \
             not have. Point 13 and 14 concern aggregates only."
        );
        let chapter = Chapter {
            title: "What the paper leaves open".to_owned(),
            text: "No choice makes Law another scheme: the bound holds with each, and the loss is mostly what the air cannot carry \
                   in time."
                .to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

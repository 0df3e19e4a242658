//! Why frames fare under Law as they do: the same without the neighbours' saturating bursts.

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Tails};

use super::measure;
use super::setting::{ALL, Layer, Setting, Surroundings, VIDEO};
use super::video::{COLUMNS, Video};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

/// Frames without bursts.
pub(super) struct Bursts;

const SECONDS: u64 = 300;
const SEEDS: u64 = 2;

fn setting(layer: Layer, surroundings: Surroundings) -> Setting {
    Setting { surroundings, seconds: SECONDS, without_bursts: true, ..Setting::new(layer, VIDEO) }
}

impl Study for Bursts {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let places = Surroundings::JUDGED.iter().flat_map(|place| ALL.map(|layer| setting(layer, *place)));
        places.flat_map(|setting| measure::runs_of(setting, SEEDS, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let video =
            |layer, place| Video::of(&measure::of_seeds(setting(layer, place), SEEDS, effort, results));
        let mut columns = vec!["surroundings", "scheme"];
        columns.extend(COLUMNS);
        columns.push("longest ms");
        let mut grid = Grid::new("Frames of video without the neighbours' downloads", &columns, 2);
        for place in Surroundings::JUDGED {
            for layer in ALL {
                let video = video(layer, place);
                let mut cells = vec![place.name().to_owned(), layer.name.to_owned()];
                cells.extend(video.cells());
                cells.push(video.frames.quantile(1.0).map_or("–".to_owned(), shown));
                grid.rows.push(cells.into_iter().map(Into::into).collect());
            }
        }
        let line = |layer: &Layer| Line::whole(layer.name, video(*layer, Surroundings::Calm).frames.tail());
        let chart = Chart {
            kind: ChartKind::Tails(Tails {
                samples: "frames".to_owned(),
                lines: ALL.iter().map(line).collect(),
            }),
            caption: "Calm without the neighbours' downloads: latency of frames until they can be decoded."
                .to_owned(),
        };
        let chapter = Chapter {
            title: "Frames without neighbours' bursts".to_owned(),
            text: "Where packets fail because of the channel, things go the paper's way; where others take the air for 100 ms and more, \
                   they do not. The presets stay as they are; here only their downloads are left out."
                .to_owned(),
            tables: vec![grid],
            charts: vec![chart],
        };
        Part { rows: Vec::new(), chapter }
    }
}

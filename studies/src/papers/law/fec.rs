//! Sec. 2.3, Fig. 10: loss that forward error correction copes with.

use airbound_report::{Chapter, Chart, ChartKind, Line, Tails, Tolerance, ValidationRow};

use super::measure;
use super::setting::{MINSTREL, Setting, Surroundings, Traffic};
use super::video::Video;
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study};

/// Video with and without one percent of additional loss.
pub(super) struct Correction;

const CASES: [(&str, f64); 2] = [("no additional loss", 0.0), ("1 % additional loss", 0.01)];

/// Over an air that loses nothing, so that the additional loss is all there is.
const fn setting(wire_loss: f64) -> Setting {
    Setting {
        surroundings: Surroundings::Quiet,
        ..Setting::new(MINSTREL, Traffic::Video { streams: 1, wire_loss, keys: "" })
    }
}

/// The wire both ways; air, pacer and feedback come on top.
const ROUND_TRIP_MS: f64 = 20.0;

impl Study for Correction {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        CASES.into_iter().flat_map(|(_, loss)| measure::runs(setting(loss), effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let videos =
            CASES.map(|(name, loss)| (name, Video::of(&measure::of(setting(loss), effort, results))));
        let tail = |case: usize| videos.get(case).and_then(|(_, video)| video.frames.quantile(0.999));
        let row = ValidationRow::judged(
            "fec-copes",
            "what 1 % of loss adds to p99.9",
            "ms",
            Some(ROUND_TRIP_MS),
            tail(0).zip(tail(1)).map(|(clean, lossy)| lossy - clean),
            Some(Tolerance::AtMost),
            false,
            "Fig. 10: at most one round trip, here that of the wire alone",
        );
        let chart = Chart {
            kind: ChartKind::Tails(Tails {
                samples: "frames".to_owned(),
                lines: videos.iter().map(|(name, video)| Line::whole(*name, video.frames.tail())).collect(),
            }),
            caption: "Fig. 10: latency of frames with forward error correction at one eighth.".to_owned(),
        };
        let chapter = Chapter {
            title: "Loss that error correction copes with".to_owned(),
            text: "Video over an air that loses nothing; the additional loss is on the wire, 10 ms long each way.".to_owned(),
            tables: Vec::new(),
            charts: vec![chart],
        };
        Part { rows: vec![row], chapter }
    }
}

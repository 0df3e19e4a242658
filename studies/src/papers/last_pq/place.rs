//! Where S6 and M8 lie: Sec. IV's own condition is that VR alone meets its demand there.

use airbound_report::{Chapter, Grid, Tolerance, ValidationRow};

use super::measure::{self, Vr};
use super::setting::{M8_M, Place, S6_M, Setting};
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

const AT: [u32; 5] = [10, 15, 20, 25, 30];
const AROUND: [u32; 4] = [5, 10, 15, 20];
const DEMAND_MS: f64 = 20.0;

pub(super) struct Places;

fn settings() -> impl Iterator<Item = (String, Setting, bool)> {
    let at = AT.into_iter().map(|metres| {
        (
            format!("at rest, {metres} m"),
            Setting { place: Place::At(metres), ..Setting::USUAL },
            metres == S6_M,
        )
    });
    let around = AROUND.into_iter().map(|metres| {
        let setting = Setting { place: Place::Around(metres), ..Setting::USUAL };
        (format!("carried about, {metres} m"), setting, metres == M8_M)
    });
    at.chain(around)
}

impl Study for Places {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        settings().flat_map(|(_, setting, _)| measure::runs(setting, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns = ["VR phone", "p95 ms", "margin ms", "FPS", "goodput Mb/s", "place"];
        let mut grid = Grid::new("VR alone: where its demand of 20 ms can be met", &columns, 1);
        let mut rows = Vec::new();
        for (name, setting, chosen) in settings() {
            let Some(Vr { p95, fps, goodput, .. }) = measure::vr(setting, effort, results) else { continue };
            let place = match (chosen, setting.place) {
                (false, _) => "",
                (true, Place::At(_)) => "S6",
                (true, _) => "M8",
            };
            if chosen {
                let metric = format!("p95 of VR alone at {place} ({name})");
                let note = "Sec. IV: a demand can be met only where it is met without other flows";
                let tolerance = Some(Tolerance::AtMost);
                rows.push(ValidationRow::judged(
                    "static-headline",
                    metric,
                    "ms",
                    Some(DEMAND_MS),
                    Some(p95),
                    tolerance,
                    false,
                    note,
                ));
            }
            let cells =
                [name.as_str(), &shown(p95), &shown(DEMAND_MS - p95), &shown(fps), &shown(goodput), place];
            grid.rows.push(cells.map(Into::into).to_vec());
        }
        grid.note = "S6 and M8 are the farthest places on a grid of 5 m where VR alone keeps its p95 at or below three \
                     quarters of its demand."
            .to_owned();
        let chapter = Chapter {
            title: "The places".to_owned(),
            text: "The paper's floor plan has no distances. VR alone, at rest and carried about, decides where its farthest places \
                   can be."
                .to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows, chapter }
    }
}

//! Sec. I and III: what Linux does to a VR stream; the rung `papers` of `airbound validate` has the same rows.

use airbound_report::{Chapter, Grid, ValidationRow};

use crate::Effort;
use crate::papers::last_pq;
use crate::reproduce::experiment::{Experiment, Measured, Results};
use crate::reproduce::{Part, Study, shown};

pub(super) struct CaseStudy;

impl Study for CaseStudy {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        last_pq::trials(effort).into_iter().map(Experiment::plain).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let outcome =
            |trial| results.get(&Experiment::plain(trial)).map(|measured: &Measured| &measured.outcome);
        let outcomes: Option<Vec<_>> = last_pq::trials(effort).into_iter().map(outcome).collect();
        let mut variants =
            outcomes.map(|outcomes| last_pq::by_variant(&outcomes, effort)).unwrap_or_default().into_iter();
        let (_, rows) = variants.next().unwrap_or_default();
        let chapter = Chapter {
            title: "The case study".to_owned(),
            text: "A VR stream over Linux's FQ-CoDel with airtime fairness, alone and congested (Fig. 1, 3 to 6).".to_owned(),
            tables: vec![side_by_side(&rows, &variants.collect::<Vec<_>>())],
            ..Chapter::default()
        };
        Part { rows, chapter }
    }
}

/// What the paper leaves open, beside what was chosen: one row for each printed value.
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

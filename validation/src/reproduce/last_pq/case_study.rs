//! Sec. I and III: what Linux does to a VR stream; the rung `papers` of `airbound validate` has the same rows.

use airbound_report::Chapter;

use crate::Effort;
use crate::papers::last_pq;
use crate::reproduce::experiment::{Experiment, Measured, Results};
use crate::reproduce::{Part, Study};

pub(super) struct CaseStudy;

impl Study for CaseStudy {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        last_pq::trials(effort).into_iter().map(Experiment::plain).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let outcome =
            |trial| results.get(&Experiment::plain(trial)).map(|measured: &Measured| &measured.outcome);
        let outcomes: Option<Vec<_>> = last_pq::trials(effort).into_iter().map(outcome).collect();
        let rows = outcomes.map(|outcomes| last_pq::rows_of(&outcomes, effort)).unwrap_or_default();
        let chapter = Chapter {
            title: "The case study".to_owned(),
            text: "A VR stream over Linux's FQ-CoDel with airtime fairness, alone and congested (Fig. 1, 3 to 6).".to_owned(),
            ..Chapter::default()
        };
        Part { rows, chapter }
    }
}

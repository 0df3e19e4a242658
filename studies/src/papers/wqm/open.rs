//! Points that the paper's words leave open: the free share, and B_min where a rate forbids aggregates.

use airbound_report::{Chapter, Grid};

use super::measure::Case;
use super::setting::{CODEL, FIFO, PIE, Rate, Scheme, Setting, WQM};
use crate::Effort;
use crate::reproduce::experiment::{Experiment, Results};
use crate::reproduce::{Part, Study, shown};

pub(super) struct Open;

const READINGS: [Scheme; 6] = [
    FIFO,
    CODEL,
    PIE,
    WQM,
    Scheme { name: "WQM, F = 1 - busy", queue: "{ kind = \"wqm\", free-share = \"literal\" }", ..WQM },
    Scheme { name: "WQM, B_min of the rate", queue: "{ kind = \"wqm\", floor = \"rate\" }", ..WQM },
];
const RATES: [Rate; 3] = [Rate::Mcs0, Rate::Mcs7, Rate::Mcs15];

fn cases() -> impl Iterator<Item = (Rate, Case)> {
    RATES.into_iter().flat_map(|rate| {
        READINGS
            .map(|scheme| (rate, Case { setting: Setting { rate, seconds: 40, ..Setting::USUAL }, scheme }))
    })
}

impl Study for Open {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        cases().flat_map(|(_, case)| case.experiments(effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = Grid::new(
            "The paper's words, read otherwise",
            &["rate", "scheme", "RTT ms", "RTT p99 ms", "goodput Mb/s"],
            2,
        );
        for (rate, case) in cases() {
            let Some(figures) = case.figures(effort, results) else { continue };
            let cells = [
                rate.name().to_owned(),
                case.scheme.name.to_owned(),
                shown(figures.rtt()),
                shown(figures.rtt_p99_ms.mean),
                shown(figures.goodput.mean),
            ];
            grid.rows.push(cells.map(Into::into).to_vec());
        }
        grid.note = "F = 1 - busy: a driver's busy time contains our own transmissions, so that one saturating station leaves \
                     itself no time at all. B_min of the rate: the longest A-MPDU that 4 ms hold at the present rate, one at \
                     6.5 Mb/s."
            .to_owned();
        let chapter = Chapter {
            title: "What the words leave open".to_owned(),
            text: "One flow over one hop at fixed rates.".to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

//! The paper's future work (Sec. VII): selective drop, an adaptive look-around interval, TCP pacing, 802.11ac.

use airbound_report::{Chapter, Grid};

use super::measure::Case;
use super::setting::{FIFO, Flows, Scheme, Setting, Standard, WQM};
use crate::Effort;
use crate::reproduce::experiment::{Experiment, Results};
use crate::reproduce::{Part, Study, shown};

pub(super) struct FutureWork;

const USUAL: Setting = Setting { flows: Flows::ToTheEnd(3), ..Setting::USUAL };
const VHT: Setting = Setting { standard: Standard::Vht80, subframes: 64, ..USUAL };

/// Variants that are compared: a name, a setting, a scheme.
const VARIANTS: [(&str, Setting, Scheme); 8] = [
    ("FIFO 1000", USUAL, FIFO),
    ("WQM", USUAL, WQM),
    ("WQM, selective drop", USUAL, Scheme { queue: "{ kind = \"wqm\", drop = \"selective\" }", ..WQM }),
    ("WQM, adaptive look-around", USUAL, Scheme { queue: "{ kind = \"wqm\", look-around = true }", ..WQM }),
    ("WQM, paced TCP", USUAL, Scheme { sender: "{ kind = \"cubic\", pacing = \"on\" }", ..WQM }),
    ("FIFO 1000, 802.11ac", VHT, FIFO),
    ("WQM, 802.11ac", VHT, WQM),
    ("WQM, 802.11ac, paced TCP", VHT, Scheme { sender: "{ kind = \"cubic\", pacing = \"on\" }", ..WQM }),
];

impl Study for FutureWork {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let cases = VARIANTS.iter().map(|(_, setting, scheme)| Case { setting: *setting, scheme: *scheme });
        cases.flat_map(|case| case.experiments(effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns = ["variant", "RTT ms", "RTT p99 ms", "goodput Mb/s", "Jain", "MPDUs"];
        let mut grid = Grid::new("WQM's own future work: three flows over one hop, Minstrel", &columns, 1);
        for (name, setting, scheme) in VARIANTS {
            let Some(figures) = (Case { setting, scheme }).figures(effort, results) else { continue };
            grid.rows.push(vec![
                name.into(),
                shown(figures.rtt()).into(),
                shown(figures.rtt_p99_ms.mean).into(),
                shown(figures.goodput.mean).into(),
                shown(figures.jain.mean).into(),
                shown(figures.ampdu.mean).into(),
            ]);
        }
        let chapter = Chapter {
            title: "Beyond the paper: WQM's future work".to_owned(),
            text: "What Sec. VII names and leaves open, tried one at a time.".to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

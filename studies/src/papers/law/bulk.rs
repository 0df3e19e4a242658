//! Sec. 4.4: downloads under BBR (Fig. 22), and how fairly flows share (Fig. 23).

use airbound_report::{Bar, Chart, Grid};

use super::measure::{Runs, change, text};
use super::{CLAIMS, JUDGED, LAW, MINSTREL, RIVALS, SCHEMES};
use crate::papers::Part;
use crate::papers::experiment::Measured;
use crate::papers::row::ClaimRow;

/// Goodput of one download, and fairness among several.
pub(super) fn part(runs: Runs<'_>) -> Part {
    let places = [JUDGED].map(|name| {
        let fairness = |scheme, flows| {
            let runs = runs.of(&[scheme, name, flows, "60 s, 5 seeds"]);
            let mut jains: Vec<f64> = runs.into_iter().filter_map(jain).collect();
            jains.sort_by(f64::total_cmp);
            jains
        };
        Place {
            name,
            goodput: SCHEMES.map(|scheme| runs.goodputs(&[scheme, name, "BBR", "300 s"])),
            fairness: [LAW, MINSTREL]
                .map(|scheme| ["3 BBR", "3 videos"].map(|flows| fairness(scheme, flows))),
        }
    });
    Part {
        rows: places.iter().flat_map(Place::rows).collect(),
        chapter: CLAIMS.chapter(
            "bulk",
            places.iter().map(Place::table).collect(),
            places.iter().flat_map(Place::charts).collect(),
        ),
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

/// Measurements in one place.
struct Place {
    name: &'static str,
    /// Mb/s of one download in each run, by [`SCHEMES`].
    goodput: [Vec<f64>; 4],
    /// Jain's index, sorted, of downloads and of video, under Law and under Minstrel.
    fairness: [[Vec<f64>; 2]; 2],
}

impl Place {
    fn rows(&self) -> Vec<ClaimRow> {
        let row = |key| CLAIMS.row(key);
        let [law, rivals @ ..] = &self.goodput;
        let [law_jains, minstrel_jains] = &self.fairness;
        let less = |flows: usize| Some(median(&law_jains[flows])? - median(&minstrel_jains[flows])?);
        let bbr = RIVALS.iter().zip(rivals).map(|(name, rival)| {
            row("bbr").with("rival", name).over(law.iter().zip(rival).map(|(law, rival)| law - rival))
        });
        let best = self.means().into_iter().flatten().reduce(f64::max);
        let others = [
            row("bbr-best").measured(change(best, self.means()[0])),
            row("fairness").with("flows", "under BBR").measured(less(0)),
            row("fairness").with("flows", "of video").measured(less(1)),
        ];
        bbr.chain(others).collect()
    }

    /// The mean goodput of each scheme.
    fn means(&self) -> [Option<f64>; 4] {
        self.goodput
            .each_ref()
            .map(|runs| (!runs.is_empty()).then(|| runs.iter().sum::<f64>() / runs.len() as f64))
    }

    fn table(&self) -> Grid {
        let mut grid = CLAIMS.table("bulk", &[("place", self.name.to_owned())]);
        for (scheme, (name, goodput)) in SCHEMES.iter().zip(self.means()).enumerate() {
            let mut cells = vec![(*name).to_owned(), text(goodput)];
            for flows in 0..2 {
                let jains = self.fairness.get(scheme).map_or(&[][..], |jains| &jains[flows]);
                let values = [median(jains), jains.first().copied()];
                cells.extend(values.map(|value| value.map_or("–".to_owned(), |value| format!("{value:.4}"))));
            }
            grid.rows.push(cells.into_iter().map(Into::into).collect());
        }
        grid
    }

    fn charts(&self) -> [Chart; 2] {
        let place = [("place", self.name.to_owned())];
        let goodput = self.means().map(|value| value.map(|value| Bar { value, ..Bar::default() }));
        let goodput = vec![("BBR".to_owned(), goodput.to_vec())];
        let bar = |jains: &Vec<f64>| {
            let range = (*jains.first()?, *jains.last()?);
            Some(Bar { value: median(jains)?, range: Some(range), ..Bar::default() })
        };
        let series = [LAW, MINSTREL].iter().zip(&self.fairness);
        let series = series.map(|(name, jains)| ((*name).to_owned(), jains.iter().map(bar).collect()));
        let flows = ["BBR", "video (GCC)"].map(str::to_owned).to_vec();
        [
            CLAIMS.bars("bbr", &place, SCHEMES.map(str::to_owned).to_vec(), goodput),
            CLAIMS.bars("fairness", &place, flows, series.collect()),
        ]
    }
}

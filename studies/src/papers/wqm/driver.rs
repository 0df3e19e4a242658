//! Bound that the queue below every scheme sets on every factor: the driver's 123 frames.

use airbound_report::{Chapter, Grid};

use super::measure::Case;
use super::setting::{Rate, SCHEMES, Setting, WQM};
use crate::Effort;
use crate::reproduce::experiment::{Experiment, Results};
use crate::reproduce::{Part, Study, shown};

const DEPTHS: [u32; 3] = [0, 16, 123];
const SUBFRAMES: [u32; 2] = [32, 64];

pub(super) struct Driver;

fn settings() -> impl Iterator<Item = Setting> {
    DEPTHS.into_iter().flat_map(|driver_queue| {
        SUBFRAMES.into_iter().map(move |subframes| Setting {
            driver_queue,
            subframes,
            rate: Rate::Mcs7,
            seconds: 40,
            ..Setting::USUAL
        })
    })
}

impl Study for Driver {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let cases = settings().flat_map(|setting| SCHEMES.map(|scheme| Case { setting, scheme }));
        cases.flat_map(|case| case.experiments(effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let columns =
            ["driver", "subframes", "bound", "FIFO/WQM", "CoDel/WQM", "PIE/WQM", "WQM ms", "WQM Mb/s"];
        let mut grid = Grid::new("What the driver's queue leaves to a scheme, 65 Mb/s", &columns, 0);
        for setting in settings() {
            let figures = |scheme| Case { setting, scheme }.figures(effort, results);
            let rtts = SCHEMES.map(|scheme| figures(scheme).map(|figures| figures.rtt()));
            let Some(ours) = figures(WQM) else { continue };
            let factor = |rtt: Option<f64>| rtt.map_or(String::new(), |rtt| shown(rtt / ours.rtt()));
            grid.rows.push(vec![
                setting.driver_queue.to_string().into(),
                setting.subframes.to_string().into(),
                shown(bound(setting.driver_queue, setting.subframes)).into(),
                factor(rtts[0]).into(),
                factor(rtts[1]).into(),
                factor(rtts[2]).into(),
                shown(ours.rtt()).into(),
                shown(ours.goodput.mean).into(),
            ]);
        }
        grid.note = "bound: (1000 + D) / (B + D) with D frames in the driver and B = the subframe limit, the smallest buffer that \
                     WQM may choose: no queue above the driver can make FIFO's round trip longer than so many times WQM's while \
                     both are full."
            .to_owned();
        let chapter = Chapter {
            title: "The driver below".to_owned(),
            text: "ath9k keeps up to 123 frames of a category below the transmit queue. They are the same for all schemes, \
                   so they bound every factor of the paper."
                .to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows: Vec::new(), chapter }
    }
}

/// The largest factor between the round trips of a full FIFO and a full WQM at its smallest buffer.
fn bound(driver: u32, subframes: u32) -> f64 {
    f64::from(1000 + driver) / f64::from(subframes + driver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_bounds_every_factor() {
        // 1123 packets against 155.
        assert!((bound(123, 32) - 7.245).abs() < 0.001);
        assert!((bound(0, 32) - 31.25).abs() < 0.001);
        assert_eq!(settings().count(), 6);
    }
}

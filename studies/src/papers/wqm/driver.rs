//! Bound that the queue below every scheme sets on every factor: the driver's 123 frames.

use super::measure::{Figures, figures};
use super::{CLAIMS, CODEL, FIFO, PIE, WQM};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study, shown};

pub(super) struct Driver;

/// Depth of the driver's queue, and most subframes of an A-MPDU.
fn settings() -> impl Iterator<Item = (u32, u32)> {
    [0, 16, 123].into_iter().flat_map(|driver| [32, 64].map(|subframes| (driver, subframes)))
}

/// Calls `with` for the cell of a setting under a scheme.
fn cell<T>((driver, subframes): (u32, u32), scheme: &str, with: impl FnOnce(&[&str]) -> T) -> T {
    let path = format!("driver {driver}, subframes {subframes}");
    with(&["65 Mb/s", "40 s", &path, scheme])
}

impl Study for Driver {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut grid = CLAIMS.table("driver", &[]);
        for (driver, subframes) in settings() {
            let of = |scheme| cell((driver, subframes), scheme, |cell| figures(cell, effort, results));
            let others = [FIFO, CODEL, PIE].map(of);
            let Some(ours) = of(WQM) else { continue };
            let factor = |figures: Figures| shown(figures.rtt() / ours.rtt());
            let factors = others.map(|figures| figures.map_or(String::new(), factor)).into_iter();
            let mut row = vec![driver.to_string(), subframes.to_string(), shown(bound(driver, subframes))];
            row.extend(factors.chain([shown(ours.rtt()), shown(ours.goodput.mean)]));
            grid.rows.push(row.into_iter().map(Into::into).collect());
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("driver", vec![grid], Vec::new()) }
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

//! Sec. IV: the equations with Table 1, as a table. The unit tests of the controller compare them with the text.

use airbound_control::queue::wqm::equations;
use airbound_units::BitRate;

use super::CLAIMS;
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study, shown};

/// Rates of the table, with their longest aggregates: from 802.11n's lowest, at which nothing is aggregated, to its highest.
const RATES: [(BitRate, u16); 5] = [
    (BitRate::from_kbps(6_500), 1),
    (BitRate::from_mbps(13), 2),
    (BitRate::from_mbps(65), 21),
    (BitRate::from_kbps(144_444), 32),
    (BitRate::from_mbps(600), 64),
];

pub(super) struct Bounds;

impl Study for Bounds {
    fn part(&self, _effort: Effort, _results: &Results) -> Part {
        let mut grid = CLAIMS.table("bounds", &[]);
        for (rate, subframes) in RATES {
            let cells = [
                shown(rate.as_bps() as f64 / 1e6),
                subframes.to_string(),
                shown(equations::data_exchange(rate, subframes).as_millis_f64()),
                shown(equations::acknowledgement_exchange(rate, subframes).as_millis_f64()),
                shown(equations::round_trip(rate, subframes).as_millis_f64()),
                equations::bandwidth_delay_product(rate, subframes).to_string(),
            ];
            grid.rows.push(cells.map(Into::into).to_vec());
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("bounds", vec![grid], Vec::new()) }
    }
}

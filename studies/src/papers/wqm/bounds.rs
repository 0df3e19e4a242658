//! Sec. IV: the equations with Table 1, and what the text makes of them.

use airbound_control::queue::wqm::{WqmConfig, equations};
use airbound_units::BitRate;

use super::CLAIMS;
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

/// 802.11n's highest rate, with the longest aggregate.
const FASTEST: (BitRate, u16) = (BitRate::from_mbps(600), 64);
/// Its lowest, at which nothing is aggregated.
const SLOWEST: (BitRate, u16) = (BitRate::from_kbps(6_500), 1);
/// Rates of the table, with their longest aggregates.
const RATES: [(BitRate, u16); 5] = [
    SLOWEST,
    (BitRate::from_mbps(13), 2),
    (BitRate::from_mbps(65), 21),
    (BitRate::from_kbps(144_444), 32),
    FASTEST,
];

pub(super) struct Bounds;

impl Study for Bounds {
    fn experiments(&self, _effort: Effort) -> Vec<Experiment> {
        Vec::new()
    }

    fn part(&self, _effort: Effort, _results: &Results) -> Part {
        let defaults = WqmConfig::default();
        let most = equations::round_trip(FASTEST.0, FASTEST.1).as_millis_f64();
        let least = equations::round_trip(SLOWEST.0, SLOWEST.1).as_millis_f64();
        let packets = equations::bandwidth_delay_product(FASTEST.0, FASTEST.1) as f64;
        let rows = [
            ("ARTT at 600 Mb/s, 64 subframes", "ms", most),
            ("ARTT at 600 Mb/s, 64 subframes, exactly", "ms", most),
            ("B_max from the equations", "packets", packets),
            ("B_max from the equations, exactly", "packets", packets),
            ("limit from the equations", "ms", least),
            ("limit from the equations, exactly", "ms", least),
            ("B_max that WQM uses", "packets", defaults.max_packets as f64),
            ("limit that WQM uses", "ms", defaults.limit.as_millis_f64()),
            ("B_min in 802.11n", "packets", f64::from(defaults.subframes)),
        ]
        .map(|(quantity, unit, measured)| {
            CLAIMS.row("bounds").with("quantity", quantity).with("unit", unit).measured(measured)
        });
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
        Part { rows: rows.to_vec(), chapter: CLAIMS.chapter("bounds", vec![grid], Vec::new()) }
    }
}

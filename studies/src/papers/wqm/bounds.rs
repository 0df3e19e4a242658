//! Sec. IV: the equations with Table 1, and what the text makes of them.

use airbound_control::queue::wqm::{WqmConfig, equations};
use airbound_report::{Chapter, Grid, Tolerance, ValidationRow};
use airbound_units::BitRate;

use crate::Effort;
use crate::reproduce::experiment::{Experiment, Results};
use crate::reproduce::{Part, Study, shown};

/// 802.11n's highest rate, with the longest aggregate.
const FASTEST: (BitRate, u16) = (BitRate::from_mbps(600), 64);
/// Its lowest, at which nothing is aggregated.
const SLOWEST: (BitRate, u16) = (BitRate::from_kbps(6_500), 1);

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
        let row = |metric: &str, unit: &str, reference: f64, measured: f64, tolerance, note: &str| {
            let (reference, measured) = (Some(reference), Some(measured));
            ValidationRow::judged("bounds", metric, unit, reference, measured, Some(tolerance), false, note)
        };
        // What the text rounds upwards, a tenth at most.
        let rounded = Tolerance::Relative(0.1);
        let exact = Tolerance::Absolute(0.005);
        let text = "the text, rounded upwards; the equations are what is built";
        let equation = "equations 6 and 7 with Table 1, worked by hand";
        let choice = "the default of the configuration";
        let rows = vec![
            row("ARTT at 600 Mb/s, 64 subframes", "ms", 1.9, most, rounded, text),
            row("ARTT at 600 Mb/s, 64 subframes, exactly", "ms", 1.78, most, exact, equation),
            row("B_max from the equations", "packets", 95.0, packets, rounded, text),
            row("B_max from the equations, exactly", "packets", 89.0, packets, exact, equation),
            row("limit from the equations", "ms", 2.5, least, rounded, text),
            row("limit from the equations, exactly", "ms", 2.38, least, exact, equation),
            row("B_max that WQM uses", "packets", 95.0, defaults.max_packets as f64, exact, choice),
            row("limit that WQM uses", "ms", 2.5, defaults.limit.as_millis_f64(), exact, choice),
            row(
                "B_min in 802.11n",
                "packets",
                64.0,
                f64::from(defaults.subframes),
                exact,
                "most subframes of an A-MPDU",
            ),
        ];
        let columns = ["rate Mb/s", "subframes", "T_d-DATA ms", "T_d-ACK ms", "ARTT ms", "R x ARTT packets"];
        let mut grid = Grid::new("Equations 1, 6 and 7", &columns, 0);
        for (rate, subframes) in [
            SLOWEST,
            (BitRate::from_mbps(13), 2),
            (BitRate::from_mbps(65), 21),
            (BitRate::from_kbps(144_444), 32),
            FASTEST,
        ] {
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
        let chapter = Chapter {
            title: "The bounds".to_owned(),
            text: "What the paper's equations give, and what its text rounds them to.".to_owned(),
            tables: vec![grid],
            charts: Vec::new(),
        };
        Part { rows, chapter }
    }
}

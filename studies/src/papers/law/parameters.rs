//! Secs. 3.3, 3.4 and 4.1: the numbers that the paper prints for its own parameters.

use airbound_control::link::LawConfig;
use airbound_report::{Chapter, Grid, Tolerance, ValidationRow};

use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study};

pub(super) struct Parameters;

impl Study for Parameters {
    fn experiments(&self, _effort: Effort) -> Vec<Experiment> {
        Vec::new()
    }

    fn part(&self, _effort: Effort, _results: &Results) -> Part {
        let law = LawConfig::paper();
        let rows = [
            ("Limit_q", "ms", 40.0, law.limit_q.as_millis_f64(), "Sec. 4.1"),
            ("Limit_h", "ms", 3.0, law.limit_h.as_millis_f64(), "Sec. 4.1"),
            ("Limit_q + 2 Limit_h", "ms", 46.0, law.bound().as_millis_f64(), "Sec. 3.3"),
            ("PSDUs in hardware", "", 2.0, law.psdus_in_hardware.into(), "Sec. 3.3"),
            ("software retransmissions", "", 1.0, law.software_retransmissions.into(), "Sec. 3.3"),
            ("hardware tries in clean-up", "", 2.0, law.clean_up_tries.into(), "Sec. 3.4"),
            (
                "software retransmissions in clean-up",
                "",
                0.0,
                law.clean_up_retransmissions.into(),
                "Sec. 3.4",
            ),
            ("packets of a probe", "", 2.0, law.probe_packets.into(), "Sec. 3.4"),
            ("losses in a row before an extra retry", "", 3.0, law.extra_after_losses.into(), "Sec. 3.4"),
            (
                "drops in a row that lower the rate in clean-up",
                "",
                2.0,
                law.rate_down_drops.into(),
                "Sec. 3.4",
            ),
        ]
        .into_iter()
        .map(|(metric, unit, reference, measured, note)| {
            let tolerance = Some(Tolerance::Absolute(0.0));
            let (reference, measured) = (Some(reference), Some(measured));
            ValidationRow::judged("parameters", metric, unit, reference, measured, tolerance, false, note)
        });
        let chapter = Chapter {
            title: "Parameters".to_owned(),
            text: "What the paper prints stands in the table of claims; this is everything that Law was told here, open points \
                   included (docs/understand/law.md)."
                .to_owned(),
            tables: vec![in_force(&law)],
            charts: Vec::new(),
        };
        Part { rows: rows.collect(), chapter }
    }
}

/// Every value of the configuration.
fn in_force(law: &LawConfig) -> Grid {
    let mut grid = Grid::new("Values in force", &["key", "value"], 2);
    let text = toml::to_string(law).unwrap_or_default();
    for line in text.lines() {
        if let Some((key, value)) = line.split_once(" = ") {
            grid.rows.push(vec![key.into(), value.trim_matches('"').into()]);
        }
    }
    grid
}

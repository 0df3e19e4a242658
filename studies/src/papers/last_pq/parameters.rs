//! Sec. IV and V: the numbers that the paper prints for its own parameters.

use airbound_control::queue::{DelayConfig, DrainConfig, Mark};
use airbound_report::{Chapter, Tolerance, ValidationRow};
use airbound_units::Span;

use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study};

pub(super) struct Parameters;

impl Study for Parameters {
    fn experiments(&self, _effort: Effort) -> Vec<Experiment> {
        Vec::new()
    }

    fn part(&self, _effort: Effort, _results: &Results) -> Part {
        let (delay, drain) = (DelayConfig::default(), DrainConfig::default());
        let micros = |span: Span| span.as_nanos() as f64 / 1e3;
        let mark = Mark::encode(Span::from_millis(20)).bits();
        let unit = "the paper gives no unit; microseconds (docs/understand/last-pq.md)";
        let rows = [
            ("MD", "", 0.3, delay.decrease, "Sec. V"),
            ("MI", "", 0.3, delay.increase, "Sec. V"),
            ("AI", "us", 5000.0, micros(delay.additive_increase), unit),
            ("T_guard", "ms", 1.0, drain.guard.as_millis_f64(), "Sec. V"),
            ("l_GI", "ms", 1.0, delay.guard_interval.as_millis_f64(), "Sec. V"),
            ("alpha", "", 0.5, delay.oscillation, "Sec. V"),
            ("window t_w", "ms", 20.0, delay.window.as_millis_f64(), "Sec. IV"),
            ("high 16 bits of the mark", "", f64::from(0xb45f_u16), f64::from(mark >> 16), "Sec. V, 0xb45f"),
            ("low 16 bits of the mark for 20 ms", "us", 20_000.0, f64::from(mark & 0xffff), unit),
        ]
        .into_iter()
        .map(|(metric, unit, reference, measured, note)| {
            let tolerance = Some(Tolerance::Absolute(0.0));
            let (reference, measured) = (Some(reference), Some(measured));
            ValidationRow::judged("parameters", metric, unit, reference, measured, tolerance, false, note)
        });
        Part { rows: rows.collect(), chapter: Chapter::default() }
    }
}

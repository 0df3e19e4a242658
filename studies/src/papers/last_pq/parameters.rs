//! Sec. IV and V: the numbers that the paper prints for its own parameters.

use airbound_control::queue::{DelayConfig, DrainConfig, Mark};
use airbound_report::Chapter;
use airbound_units::Span;

use super::CLAIMS;
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
        let mark = Mark::encode(Span::from_millis(20)).bits();
        let ours = |name: &str| {
            Some(match name {
                "MD" => delay.decrease,
                "MI" => delay.increase,
                "AI" => delay.additive_increase.as_nanos() as f64 / 1e3,
                "T_guard" => drain.guard.as_millis_f64(),
                "l_GI" => delay.guard_interval.as_millis_f64(),
                "alpha" => delay.oscillation,
                "window t_w" => delay.window.as_millis_f64(),
                "high 16 bits of the mark" => f64::from(mark >> 16),
                "low 16 bits of the mark for 20 ms" => f64::from(mark & 0xffff),
                _ => return None,
            })
        };
        let rows = CLAIMS.each("parameters", |row, case| row.measured(ours(&case["name"])));
        Part { rows, chapter: Chapter::default() }
    }
}

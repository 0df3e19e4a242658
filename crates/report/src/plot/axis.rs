//! A linear axis with given marks.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;

/// An axis over a range, with the caller's marks instead of the plotter's.
pub(super) struct Axis {
    scale: RangedCoordf64,
    marks: Vec<f64>,
}

impl Axis {
    pub(super) fn new(range: Range<f64>, marks: Vec<f64>) -> Self {
        Self { scale: range.into(), marks }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.scale.map(value, limit)
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.scale.range()
    }
}

//! Scales of axes, and their marks.

/// From values to pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    logarithmic: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// Marks of an axis at the least.
const LEAST: usize = 3;

impl Scale {
    /// Shows `low` at `from` and `high` at `to`. A range that is empty, or that no logarithm can show, is widened.
    pub(super) fn new(logarithmic: bool, (low, high): (f64, f64), (from, to): (f64, f64)) -> Self {
        let logarithmic = logarithmic && high > 0.0;
        let low = if logarithmic { low.max(high * 1e-9) } else { low };
        let high = match high - low {
            _ if logarithmic => high.max(low * 1.2),
            range if range > 1e-9 * low.abs() && range > 0.0 => high,
            _ if low == 0.0 => 1.0,
            _ => low + low.abs(),
        };
        Self { logarithmic, low, high, from, to }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value.max(self.low * 1e-9) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// The value, brought into the range.
    pub(super) const fn clamp(&self, value: f64) -> f64 {
        value.clamp(self.low, self.high)
    }

    /// Round values in the range: three at the least, `most` or few more.
    pub(super) fn marks(&self, most: usize) -> Vec<f64> {
        if self.logarithmic {
            let units: [&[f64]; 3] = [&[1.0], &[1.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 5.0, 7.0]];
            let [decades, some, all] = units.map(|units| self.decades(units));
            // The densest that has room.
            for marks in [&all, &some, &decades] {
                if (LEAST..=most.max(LEAST)).contains(&marks.len()) {
                    return marks.clone();
                }
            }
            if decades.len() > most {
                let stride = decades.len().div_ceil(most.max(1)).min(decades.len() / LEAST).max(1);
                return decades.into_iter().step_by(stride).collect();
            }
            if some.len() >= LEAST {
                return some;
            }
        }
        self.steps(most.max(LEAST))
    }

    /// Multiples of `units` of each power of ten.
    fn decades(&self, units: &[f64]) -> Vec<f64> {
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let all = (first..=last).flat_map(|decade| units.iter().map(move |unit| unit * 10_f64.powi(decade)));
        all.filter(|value| self.shows(*value)).collect()
    }

    /// Multiples of a round step.
    fn steps(&self, most: usize) -> Vec<f64> {
        let coarsest = 10_f64.powf((self.high - self.low).log10().ceil());
        let finer = (0..4).flat_map(|tens| [1.0, 0.5, 0.2].map(|part| coarsest * part * 10_f64.powi(-tens)));
        let multiples = finer.map(|step| {
            let first = (self.low / step).ceil();
            let count = ((self.high / step).floor() - first).max(0.0) as u32;
            (0..=count)
                .map(|number| (first + f64::from(number)) * step)
                .filter(|value| self.shows(*value))
                .collect()
        });
        let mut best = Vec::new();
        for marks in multiples {
            let marks: Vec<f64> = marks;
            if best.len() >= LEAST && marks.len() > most {
                break;
            }
            best = marks;
        }
        best
    }

    fn shows(&self, value: f64) -> bool {
        let slack = 1e-9 * (self.high - self.low);
        (self.low - slack..=self.high + slack).contains(&value)
    }

    /// The attribute of the page's script: kind, ends of the range, and their pixels.
    pub(super) fn attribute(&self, axis: &str) -> String {
        let kind = if self.logarithmic { "log" } else { "lin" };
        format!(" data-{axis}=\"{kind} {} {} {} {}\"", self.low, self.high, self.from, self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(logarithmic: bool, low: f64, high: f64) -> Vec<f64> {
        Scale::new(logarithmic, (low, high), (0.0, 100.0)).marks(6)
    }

    fn near(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len()
            && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0))
    }

    #[test]
    fn marks_are_round() {
        let all = [
            (marks(false, 0.0, 10.0), vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
            (marks(false, 0.0, 55.0), vec![0.0, 10.0, 20.0, 30.0, 40.0, 50.0]),
            (marks(false, -3.0, 4.0), vec![-2.0, 0.0, 2.0, 4.0]),
            (marks(true, 0.01, 100.0), vec![0.01, 0.1, 1.0, 10.0, 100.0]),
            (marks(true, 4.0, 60.0), vec![5.0, 7.0, 10.0, 20.0, 30.0, 50.0]),
            (marks(true, 2.0, 90_000.0), vec![10.0, 100.0, 1000.0, 10_000.0]),
            (marks(true, 10.5, 11.8), vec![10.5, 11.0, 11.5, 12.0, 12.5]),
        ];
        for (found, expected) in all {
            assert!(near(&found, &expected), "{found:?} {expected:?}");
        }
    }

    #[test]
    fn every_axis_has_three_marks() {
        for low in [-100.0, -0.3, 0.0, 0.001, 0.7, 9.9, 250.0] {
            for range in [1e-4, 0.03, 0.9, 1.0, 3.3, 47.0, 10_000.0] {
                for logarithmic in [false, true] {
                    for most in [3, 4, 6, 9] {
                        let scale = Scale::new(logarithmic, (low, low + range), (0.0, 100.0));
                        let marks = scale.marks(most);
                        assert!(
                            (3..=most + 6).contains(&marks.len()),
                            "{low} {range} {logarithmic} {marks:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_range_of_one_value_is_widened() {
        for (low, high) in [(0.0, 0.0), (5.0, 5.0), (-2.0, -2.0)] {
            for logarithmic in [false, true] {
                let scale = Scale::new(logarithmic, (low, high), (0.0, 100.0));
                assert!(scale.place(low).is_finite() && scale.marks(6).len() >= LEAST, "{low} {logarithmic}");
            }
        }
    }
}

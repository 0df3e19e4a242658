//! When a cell has been run often enough.

use std::fmt;
use std::str::FromStr;

use airbound_scenario::ScenarioError;
use airbound_scenario::reading::{Node, Section, Value};

use super::bootstrap::Interval;

/// Seeds of a round unless the grid says otherwise: fewer make intervals of which nobody can tell how wide they are.
const ROUND: u32 = 4;

/// A share, written as `2%`.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Percent(f64);

impl Percent {
    /// As a part of one.
    pub(crate) fn share(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = text.trim().strip_suffix('%').map(|number| number.trim().parse::<f64>());
        match number {
            Some(Ok(value)) if (0.01..=100.0).contains(&value) => Ok(Self(value)),
            _ => Err("allowed is a share from 0.01% to 100%, written as 2%".to_owned()),
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

/// Runs of a cell come in rounds of seeds, in the order of the seeds. After each round the interval of the deciding metric is looked
/// at, so that what decides is never who finished first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Stop once half the interval's width over the mean is at most this; `None` runs all seeds.
    pub until: Option<Percent>,
    /// Confidence of all intervals, 0 to 1.
    pub confidence: f64,
    /// Seeds of a round.
    pub round: usize,
}

/// The step after a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// The cell is done, before its seeds are used up or with them.
    Done { early: bool },
    /// So many seeds more.
    More(usize),
}

impl Rule {
    pub(crate) fn read(top: &Section<'_>, changed: Option<Percent>) -> Result<Self, ScenarioError> {
        let until = match top.get("until") {
            None => None,
            Some(Node { value: Value::Text(text), .. }) => Some(
                text.parse().map_err(|problem| top.wrong("until", format!("is \"{text}\"; {problem}")))?,
            ),
            Some(node) => {
                let found = node.value.describe();
                return Err(top.wrong("until", format!("is {found}; allowed is a share such as \"2%\"")));
            }
        };
        let round: u32 = top.whole("round", ROUND, 3..=1000)?;
        let confidence = top.number("confidence", 95.0, 50.0..=99.9)?;
        Ok(Self { until: changed.or(until), confidence: confidence / 100.0, round: round as usize })
    }

    /// Returns the number of seeds, of `most`, that are run before anything is looked at.
    pub(crate) fn first(&self, most: usize) -> usize {
        if self.until.is_some() { self.round.min(most) } else { most }
    }

    /// Returns the step after runs in which the deciding metric had these values.
    pub(crate) fn next(&self, values: &[Option<f64>], most: usize, seed: u64) -> Next {
        let left = most.saturating_sub(values.len());
        let Some(until) = self.until else {
            return if left > 0 { Next::More(left) } else { Next::Done { early: false } };
        };
        // Runs without the metric, such as a latency where no packet arrived, tell nothing of its interval.
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let interval =
            (known.len() >= self.round).then(|| Interval::of(&known, self.confidence, seed)).flatten();
        if left == 0 {
            Next::Done { early: false }
        } else if interval.is_some_and(|interval| interval.relative_half_width() <= until.share()) {
            Next::Done { early: true }
        } else {
            Next::More(self.round.min(left))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Next, Percent, Rule};

    fn rule(until: Option<&str>) -> Rule {
        Rule { until: until.map(|text| text.parse().expect("a share")), confidence: 0.95, round: 4 }
    }

    #[test]
    fn a_narrow_interval_ends_a_cell_and_a_wide_one_does_not() {
        let narrow: Vec<Option<f64>> = [10.0, 10.1, 9.9, 10.0].map(Some).to_vec();
        let wide: Vec<Option<f64>> = [10.0, 20.0, 5.0, 1.0].map(Some).to_vec();
        assert_eq!(rule(Some("2%")).first(64), 4);
        assert_eq!(rule(Some("2%")).next(&narrow, 64, 1), Next::Done { early: true });
        assert_eq!(rule(Some("2%")).next(&wide, 64, 1), Next::More(4));
        assert_eq!(rule(Some("2%")).next(&wide, 6, 1), Next::More(2));
        assert_eq!(rule(Some("2%")).next(&wide, 4, 1), Next::Done { early: false });
        assert_eq!(rule(Some("2%")).next(&[None; 4], 64, 1), Next::More(4));
        assert_eq!(rule(None).first(64), 64);
        assert_eq!(rule(None).next(&narrow, 4, 1), Next::Done { early: false });
    }

    #[test]
    fn shares_are_written_in_per_cent() {
        assert_eq!("2%".parse::<Percent>().map(Percent::share), Ok(0.02));
        assert_eq!(" 0.5 % ".parse::<Percent>().map(Percent::share), Ok(0.005));
        for wrong in ["2", "", "%", "-1%", "0%", "101%", "NaN%", "2 %%"] {
            assert!(wrong.parse::<Percent>().is_err(), "{wrong}");
        }
    }
}

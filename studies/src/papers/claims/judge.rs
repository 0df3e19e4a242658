//! Judging a row: its measured value, or the mean of several runs, against what the paper states.

use airbound_report::{Tolerance, ValidationRow, Verdict, student_quantile};

use super::super::row::ClaimRow;
use super::{Better, Case, RowText, filled};

/// A row to which the measured value is still missing.
#[derive(Debug, Clone)]
#[must_use = "a row is judged by `measured` or `holds`"]
pub(crate) struct Row<'a> {
    text: &'a RowText,
    values: Vec<(&'a str, String)>,
    /// The case, where it is known before the values are.
    case: Option<&'a Case>,
    reference: Option<f64>,
    baseline: Option<f64>,
    trend_holds: bool,
    judges: bool,
    interval: Option<(f64, f64)>,
    most: Option<f64>,
}

impl<'a> Row<'a> {
    pub(super) const fn of(
        text: &'a RowText,
        case: Option<&'a Case>,
        values: Vec<(&'a str, String)>,
    ) -> Self {
        Self {
            text,
            values,
            case,
            reference: None,
            baseline: None,
            trend_holds: false,
            judges: true,
            interval: None,
            most: None,
        }
    }

    /// Fills a placeholder, and selects the case in which it has this value.
    pub(crate) fn with(mut self, name: &'a str, value: impl ToString) -> Self {
        self.values.push((name, value.to_string()));
        self
    }

    /// Takes a reference that is computed, in place of the file's.
    pub(crate) fn reference(mut self, reference: impl Into<Option<f64>>) -> Self {
        self.reference = reference.into();
        self
    }

    /// Takes our value of the baseline that the paper compares with.
    pub(crate) fn baseline(mut self, baseline: impl Into<Option<f64>>) -> Self {
        self.baseline = baseline.into();
        self
    }

    /// Shows the value beside the reference without judging it, unless `judges`.
    pub(crate) const fn judging(mut self, judges: bool) -> Self {
        self.judges = judges;
        self
    }

    /// Whether the direction or order that the paper claims holds, for a value outside the tolerance.
    pub(crate) const fn trend(mut self, holds: bool) -> Self {
        self.trend_holds = holds;
        self
    }

    /// Takes the interval of the mean at 95 %: a value whose interval lies on both sides of an edge is undecided.
    pub(crate) fn interval(mut self, interval: impl Into<Option<(f64, f64)>>) -> Self {
        self.interval = interval.into();
        self
    }

    /// Takes the most that an equation of the paper allows: values of which all that are within the tolerance are more are impossible.
    pub(crate) fn allowing(mut self, most: impl Into<Option<f64>>) -> Self {
        self.most = most.into();
        self
    }

    /// Judges the mean of a value of several runs, by its interval (Student's t).
    pub(crate) fn over(self, values: impl IntoIterator<Item = f64>) -> ClaimRow {
        let values: Vec<f64> = values.into_iter().collect();
        let (mean, interval) = mean_of(&values);
        self.interval(interval).measured(mean)
    }

    /// Judges the measured value; `None` where nothing was measured.
    pub(crate) fn measured(self, measured: impl Into<Option<f64>>) -> ClaimRow {
        let Self { text, values, case, reference, baseline, trend_holds, judges, interval, most } = self;
        let applies = |case: &&Case| {
            case.when
                .iter()
                .all(|(name, wanted)| values.iter().any(|(known, value)| known == name && value == wanted))
        };
        let case = case.or_else(|| text.cases.iter().find(applies));
        let reference = reference.or(case.and_then(|case| case.reference)).or(text.reference);
        let tolerance = case.and_then(|case| case.tolerance).or(text.tolerance).filter(|_| judges);
        let note = case.and_then(|case| case.note.as_ref()).unwrap_or(&text.note);
        let measured = measured.into();
        let row = ValidationRow::judged(
            filled(&text.claim, &values),
            filled(&text.metric, &values),
            filled(&text.unit, &values),
            reference,
            measured,
            tolerance,
            filled(note, &values),
        );
        let alike = case.and_then(|case| case.baseline).or(text.baseline).zip(baseline);
        let alike = alike.is_some_and(|((least, greatest), ours)| (least..=greatest).contains(&ours));
        let is_better = text.better.zip(measured).is_some_and(|(better, measured)| {
            let (least, greatest) = match tolerance {
                Some(Tolerance::Range(least, greatest)) => (least, greatest),
                _ => (reference.unwrap_or(f64::NAN), reference.unwrap_or(f64::NAN)),
            };
            match better {
                Better::Above => measured > greatest,
                Better::Below => measured < least,
            }
        });
        let in_direction = text.trend.zip(measured).is_some_and(|(trend, measured)| trend.holds(measured));
        let outside = match (is_better, alike) {
            (true, true) => Verdict::Beyond,
            (true, false) => Verdict::Trend,
            (false, _) if trend_holds || in_direction => Verdict::Trend,
            (false, _) => Verdict::Missed,
        };
        let headline = case.and_then(|case| case.headline.as_ref()).or(text.headline.as_ref());
        let row = match interval {
            Some(interval) => row.over(interval),
            None => row,
        };
        let least = tolerance.zip(reference).map(|(tolerance, reference)| tolerance.bounds(reference).0);
        let is_impossible = least.zip(most).is_some_and(|(least, most)| least > most);
        let outside = if is_impossible { Verdict::Impossible } else { outside };
        ClaimRow {
            row: row.if_missed(outside),
            headline: headline.filter(|_| judges).cloned(),
            origin: case.and_then(|case| case.origin).unwrap_or(text.origin),
        }
    }

    /// Tells a value that nothing is compared with.
    pub(crate) fn told(self, measured: impl Into<Option<f64>>) -> ClaimRow {
        self.judging(false).measured(measured)
    }

    /// Judges a statement: 1 where it holds, 0 where it does not; `None` where nothing was measured.
    pub(crate) fn holds(self, holds: impl Into<Option<bool>>) -> ClaimRow {
        self.measured(holds.into().map(|holds| if holds { 1.0 } else { 0.0 }))
    }
}

/// The mean of runs, and its interval at 95 % where there are several.
fn mean_of(values: &[f64]) -> (Option<f64>, Option<(f64, f64)>) {
    let count = values.len() as f64;
    let Some(degrees) = u32::try_from(values.len()).ok().and_then(|count| count.checked_sub(1)) else {
        return (None, None);
    };
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let half = || student_quantile(0.975, degrees) * (squares / f64::from(degrees) / count).sqrt();
    (Some(mean), (degrees > 0).then(|| (mean - half(), mean + half())))
}

#[cfg(test)]
mod tests {
    use super::super::super::row::Origin;
    use super::super::Claims;
    use super::super::tests::TEXT;
    use super::*;

    #[test]
    fn a_trend_holds_outside_the_tolerance() {
        let claims = Claims::read("test", TEXT);
        let verdict = |measured: f64| claims.row("rtt").measured(measured).verdict;
        assert_eq!([10.0, 13.0, 15.0].map(verdict), [Verdict::Held, Verdict::Trend, Verdict::Missed]);
    }

    #[test]
    fn better_than_the_paper_counts_where_the_baselines_are_alike() {
        let claims = Claims::read("test", TEXT);
        let verdict = |measured: f64, baseline: f64| {
            claims.row("change").with("rival", "TS").baseline(baseline).measured(measured).verdict
        };
        assert_eq!(verdict(-80.0, 900.0), Verdict::Held);
        assert_eq!(verdict(-90.0, 200.0), Verdict::Beyond);
        assert_eq!(verdict(-90.0, 900.0), Verdict::Trend);
        assert_eq!(verdict(-60.0, 200.0), Verdict::Trend);
        assert_eq!(verdict(5.0, 200.0), Verdict::Missed);
    }

    #[test]
    fn the_interval_over_runs_decides() {
        let claims = Claims::read("test", TEXT);
        let verdict = |values: &[f64]| claims.row("rtt").over(values.iter().copied()).verdict;
        assert_eq!(verdict(&[10.4, 10.6, 10.5]), Verdict::Held);
        assert_eq!(verdict(&[10.4, 11.4, 10.8]), Verdict::Undecided);
        assert_eq!(verdict(&[12.0, 12.1]), Verdict::Trend);
        // One run has no interval.
        assert_eq!(verdict(&[10.9]), Verdict::Held);
        assert_eq!(verdict(&[]), Verdict::NotRun);
        // 95 % of the mean of 1, 2, 3: 2 +- 4.303 / sqrt 3.
        let (mean, interval) = mean_of(&[1.0, 2.0, 3.0]);
        let (low, high) = interval.expect("an interval");
        assert_eq!(mean, Some(2.0));
        assert!((low + 0.484).abs() < 1e-3 && (high - 4.484).abs() < 1e-3, "{low} {high}");
    }

    #[test]
    fn a_value_beyond_what_its_own_equation_allows_is_impossible() {
        let claims = Claims::read("test", TEXT);
        let verdict = |most: f64| claims.row("rtt").allowing(most).measured(15.0).verdict;
        // All that is within 10 +- 10 % is 9 or more.
        assert_eq!([8.9, 9.1].map(verdict), [Verdict::Impossible, Verdict::Missed]);
        assert_eq!(claims.row("rtt").allowing(8.9).measured(10.0).verdict, Verdict::Held);
    }

    #[test]
    fn a_row_says_whose_aim_it_has() {
        let claims = Claims::read("test", TEXT);
        let row = |rival| claims.row("change").with("rival", rival).measured(-80.0);
        assert_eq!([row("TS").origin, row("LLRA").origin], [Origin::Paper, Origin::Ours]);
        let json = serde_json::to_value(row("TS")).expect("JSON");
        assert_eq!((&json["headline"], &json["origin"]), (&true.into(), &"paper".into()));
        assert_eq!((&json["verdict"], &json["tolerance"]["range"][0]), (&"held".into(), &(-83.2).into()));
        assert_eq!(claims.row("rtt").measured(10.0).headline, None);
    }
}

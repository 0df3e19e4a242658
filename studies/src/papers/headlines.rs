//! Headlines: the statements by which readers know a paper, each the worst verdict of its rows.

use airbound_report::{Grid, Verdict, number};
use serde::Deserialize;

use super::row::ClaimRow;

/// A statement by which readers know a paper.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Headline {
    /// Its name, by which rows of `claims.toml` say that they are part of it.
    pub key: String,
    /// Identity of the claim that has the setting.
    pub claim: String,
    /// The statement.
    pub text: String,
    /// The paper's value, in words.
    pub paper: String,
    /// The experiment that shows why it does not hold, for one that does not.
    #[serde(default)]
    pub why: String,
}

/// A headline with what its rows came to.
#[derive(Debug, Clone)]
pub struct Judged<'a> {
    /// The statement.
    pub headline: &'a Headline,
    /// Measured values of its rows, in words.
    pub ours: String,
    /// The worst verdict of its rows; `NotRun` without any.
    pub verdict: Verdict,
}

/// More values are given by their least and greatest.
const MOST_VALUES: usize = 4;

impl<'a> Judged<'a> {
    /// Judges a headline by its rows among `rows`.
    #[must_use]
    pub fn new(headline: &'a Headline, rows: &[ClaimRow]) -> Self {
        let parts = || rows.iter().filter(|row| row.headline.as_ref() == Some(&headline.key));
        let verdict = parts().map(|row| row.verdict).filter(|verdict| *verdict != Verdict::Informs).max();
        let values: Vec<f64> = parts().filter_map(|row| row.measured).collect();
        let ours = if values.len() <= MOST_VALUES {
            values.iter().map(|value| number(*value)).collect::<Vec<_>>().join(", ")
        } else {
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            format!("{} to {}", number(least), number(greatest))
        };
        Self { headline, ours, verdict: verdict.unwrap_or(Verdict::NotRun) }
    }
}

/// Returns the number of headlines that are reached, and of those that a run can reach.
#[must_use]
pub fn score(judged: &[Judged<'_>]) -> (usize, usize) {
    let count = |wanted: fn(Verdict) -> bool| judged.iter().filter(|judged| wanted(judged.verdict)).count();
    (count(Verdict::is_reached), count(|verdict| verdict != Verdict::Impossible))
}

/// Tabulates headlines: paper, ours, verdict; below, why those that are not reached differ.
#[must_use]
pub fn grid(judged: &[Judged<'_>]) -> Grid {
    let verdicts: Vec<Verdict> = judged.iter().map(|judged| judged.verdict).collect();
    let (reached, of) = score(judged);
    let title = format!("Headlines: {reached} of {of} reached ({})", Verdict::counts(&verdicts));
    let mut grid = Grid::new(title, &["", "headline", "paper", "ours", "verdict"], 5);
    for (number, Judged { headline, ours, verdict }) in judged.iter().enumerate() {
        let place = (number + 1).to_string();
        let cells = [place.as_str(), &headline.text, &headline.paper, ours, verdict.text()];
        grid.rows.push(cells.map(Into::into).to_vec());
    }
    let why = judged.iter().enumerate().filter(|(_, judged)| !judged.verdict.is_reached());
    let why = why.filter(|(_, judged)| !judged.headline.why.is_empty());
    let why: Vec<String> =
        why.map(|(number, judged)| format!("{}: {}", number + 1, judged.headline.why)).collect();
    grid.note = why.join("\n");
    grid
}

#[cfg(test)]
mod tests {
    use airbound_report::{Tolerance, ValidationRow};

    use super::super::row::Origin;
    use super::*;

    fn headline() -> Headline {
        let text = "key = \"tail\"\nclaim = \"packet-tail\"\ntext = \"p99\"\npaper = \"-70 %\"\nwhy = \"an ablation\"\n";
        toml::from_str(text).expect("a headline")
    }

    fn row(measured: Option<f64>, headline: Option<&str>) -> ClaimRow {
        let tolerance = Some(Tolerance::Range(1.0, 2.0));
        let row = ValidationRow::judged("packet-tail", "p99", "", None, measured, tolerance, "");
        ClaimRow { row, headline: headline.map(str::to_owned), origin: Origin::Paper }
    }

    #[test]
    fn a_headline_is_as_good_as_its_worst_row() {
        let headline = headline();
        let judge = |rows: &[ClaimRow]| Judged::new(&headline, rows).verdict;
        let (held, missed) = (row(Some(1.5), Some("tail")), row(Some(3.0), Some("tail")));
        assert_eq!(judge(&[]), Verdict::NotRun);
        assert_eq!(judge(std::slice::from_ref(&held)), Verdict::Held);
        assert_eq!(judge(&[held.clone(), row(Some(3.0), None)]), Verdict::Held);
        assert_eq!(judge(&[held.clone(), missed.clone()]), Verdict::Missed);
        assert_eq!(judge(&[missed.clone(), row(None, Some("tail"))]), Verdict::NotRun);
        let beyond = ClaimRow { row: ValidationRow { verdict: Verdict::Beyond, ..missed.row }, ..missed };
        assert_eq!(judge(&[beyond, held]), Verdict::Beyond);
    }

    #[test]
    fn what_no_run_can_reach_is_counted_apart() {
        let headline = headline();
        let judged = |verdict| Judged { headline: &headline, ours: String::new(), verdict };
        let all = [Verdict::Held, Verdict::Impossible, Verdict::Undecided].map(judged);
        assert_eq!(score(&all), (1, 2));
        assert_eq!(grid(&all).title, "Headlines: 1 of 2 reached (1 held, 1 undecided, 1 impossible)");
    }

    #[test]
    fn what_is_not_reached_says_why() {
        let headline = headline();
        let rows = [row(Some(1.5), Some("tail")), row(Some(3.0), Some("tail"))];
        let table = grid(&[Judged::new(&headline, &rows)]);
        assert_eq!(table.title, "Headlines: 0 of 1 reached (1 missed)");
        assert_eq!((table.rows[0][3].text.as_str(), table.note.as_str()), ("1.50, 3.00", "1: an ablation"));
    }
}

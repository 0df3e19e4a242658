//! Rows of `validate` and `reproduce`: measured values beside a reference.

use airbound_record::rounded;
use serde::{Deserialize, Serialize, Serializer};

use crate::error::ReportError;
use crate::grid::{Grid, NOTHING, number};

/// Allowed deviation of a measured value from its reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// A fraction of the reference: 0.02 is 2 %.
    Relative(f64),
    /// A difference in the unit of the row.
    Absolute(f64),
    /// A factor upwards and downwards, at least 1.
    Factor(f64),
    /// The least and the greatest value, in the unit of the row; the reference has no part in it.
    Range(f64, f64),
    /// The reference is a lower bound.
    AtLeast,
    /// The reference is an upper bound.
    AtMost,
}

impl Tolerance {
    /// Whether `measured` is within the tolerance; NaN is not.
    #[must_use]
    pub fn holds(self, reference: f64, measured: f64) -> bool {
        match self {
            Self::Relative(fraction) => (measured - reference).abs() <= fraction * reference.abs(),
            Self::Absolute(difference) => (measured - reference).abs() <= difference,
            _ => {
                let (least, greatest) = self.bounds(reference);
                (least..=greatest).contains(&measured)
            }
        }
    }

    /// The least and the greatest value within the tolerance; infinite where it has none.
    #[must_use]
    pub fn bounds(self, reference: f64) -> (f64, f64) {
        let around = |difference: f64| (reference - difference, reference + difference);
        match self {
            Self::Relative(fraction) => around(fraction * reference.abs()),
            Self::Absolute(difference) => around(difference),
            Self::Factor(factor) => {
                let (one, other) = (reference / factor, reference * factor);
                (one.min(other), one.max(other))
            }
            Self::Range(least, greatest) => (least, greatest),
            Self::AtLeast => (reference, f64::INFINITY),
            Self::AtMost => (f64::NEG_INFINITY, reference),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Relative(fraction) => format!("± {} %", number(100.0 * fraction)),
            Self::Absolute(difference) => format!("± {}", number(difference)),
            Self::Factor(factor) => format!("× {}", number(factor)),
            Self::Range(least, greatest) => format!("{} to {}", number(least), number(greatest)),
            Self::AtLeast => "or more".to_owned(),
            Self::AtMost => "or less".to_owned(),
        }
    }
}

/// Verdict of a row, the worst last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is judged.
    Informs,
    /// Within the tolerance.
    Held,
    /// Better than the tolerance, under conditions like those of the source.
    Beyond,
    /// The interval of the mean lies on both sides of an edge of the tolerance.
    Undecided,
    /// The value differs, but the direction or order claimed by the source holds.
    Trend,
    /// Neither value nor trend holds.
    Missed,
    /// No run can reach the source's value: it breaks a bound of the source's own.
    Impossible,
    /// Not measured.
    NotRun,
}

impl Verdict {
    /// All that judge, the best first.
    pub const JUDGING: [Self; 7] = [
        Self::Held,
        Self::Beyond,
        Self::Undecided,
        Self::Trend,
        Self::Missed,
        Self::Impossible,
        Self::NotRun,
    ];

    /// Returns the word that tables show.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Informs => NOTHING,
            Self::Held => "held",
            Self::Beyond => "beyond",
            Self::Undecided => "undecided",
            Self::Trend => "trend",
            Self::Missed => "missed",
            Self::Impossible => "impossible",
            Self::NotRun => "not run",
        }
    }

    /// Whether the source's value is reached.
    #[must_use]
    pub const fn is_reached(self) -> bool {
        matches!(self, Self::Held | Self::Beyond)
    }

    /// Returns how many of the verdicts there are of each kind that judges, in words: "3 held, 1 missed".
    #[must_use]
    pub fn counts(verdicts: &[Self]) -> String {
        let count = |kind: Self| (verdicts.iter().filter(|verdict| **verdict == kind).count(), kind.text());
        let counts = Self::JUDGING.map(count);
        let said =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
        said.collect::<Vec<_>>().join(", ")
    }
}

/// One comparison with a reference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValidationRow {
    /// Identifier, that of the claim if there is one.
    pub id: String,
    /// Compared quantity.
    pub metric: String,
    /// Unit of reference and measured value, possibly empty.
    pub unit: String,
    /// The reference value, null if the source gives none.
    #[serde(serialize_with = "six_digits")]
    pub reference: Option<f64>,
    /// The measured value, null if not measured.
    #[serde(serialize_with = "six_digits")]
    pub measured: Option<f64>,
    /// The least and the greatest mean at a confidence of 95 %, of a value of several runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// Deviation that counts as a match, null for rows that only inform.
    pub tolerance: Option<Tolerance>,
    /// Result of the comparison.
    pub verdict: Verdict,
    /// The place of the reference, and the reason of a difference.
    pub note: String,
}

fn six_digits<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.filter(|value| value.is_finite()).map(rounded).serialize(serializer)
}

impl ValidationRow {
    /// A row judged by its numbers: `NotRun` without a measured value, `Informs` without a tolerance or a reference, `Held`
    /// within the tolerance, else `Missed`.
    #[must_use]
    #[allow(clippy::too_many_arguments)]
    pub fn judged(
        id: impl Into<String>,
        metric: impl Into<String>,
        unit: impl Into<String>,
        reference: Option<f64>,
        measured: Option<f64>,
        tolerance: Option<Tolerance>,
        note: impl Into<String>,
    ) -> Self {
        let mut row = Self {
            id: id.into(),
            metric: metric.into(),
            unit: unit.into(),
            reference,
            measured,
            interval: None,
            tolerance,
            verdict: Verdict::NotRun,
            note: note.into(),
        };
        row.verdict = match (row.measured, row.within()) {
            (None, _) => Verdict::NotRun,
            (Some(_), None) => Verdict::Informs,
            (Some(_), Some(true)) => Verdict::Held,
            (Some(_), Some(false)) => Verdict::Missed,
        };
        row
    }

    /// The same row of several runs, whose mean lies in this interval: judged where the interval lies on one side of each edge, else
    /// undecided.
    #[must_use]
    pub fn over(mut self, interval: (f64, f64)) -> Self {
        self.interval = Some(interval);
        if let (Some(tolerance), Some(_)) = (self.tolerance, self.within()) {
            let (least, greatest) = tolerance.bounds(self.reference.unwrap_or(f64::NAN));
            let (low, high) = interval;
            let spans = |edge: f64| low < edge && edge < high;
            if spans(least) || spans(greatest) {
                self.verdict = Verdict::Undecided;
            }
        }
        self
    }

    /// The same row with another verdict, `Trend` or `Beyond`, if it was `Missed`.
    #[must_use]
    pub fn if_missed(mut self, verdict: Verdict) -> Self {
        if self.verdict == Verdict::Missed {
            self.verdict = verdict;
        }
        self
    }

    /// Whether the measured value is within the tolerance; `None` if one of the three is missing.
    #[must_use]
    pub fn within(&self) -> Option<bool> {
        let tolerance = self.tolerance?;
        let reference = match tolerance {
            Tolerance::Range(least, _) => least,
            _ => self.reference?,
        };
        Some(tolerance.holds(reference, self.measured?))
    }
}

/// Result of a validation: the exit code of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All measured rows with a tolerance are within it.
    Passed,
    /// At least one row is outside its tolerance.
    Failed,
}

/// An interval behind its mean.
fn between((low, high): (f64, f64)) -> String {
    format!(" ({} to {})", number(low), number(high))
}

/// Judges all rows by their numbers, not by their verdicts.
#[must_use]
pub fn outcome(rows: &[ValidationRow]) -> Outcome {
    if rows.iter().any(|row| row.within() == Some(false)) { Outcome::Failed } else { Outcome::Passed }
}

/// Rows as a JSON list, with a line feed at its end.
///
/// # Errors
/// If serialisation fails, which is a defect; numbers that are not finite become null.
pub fn validation_json<Row: Serialize>(rows: &[Row]) -> Result<String, ReportError> {
    let mut text = serde_json::to_string_pretty(rows)?;
    text.push('\n');
    Ok(text)
}

/// The rows as a table that fits a terminal, grouped by id, with the notes below.
#[must_use]
pub fn validation_grid(title: &str, rows: &[ValidationRow]) -> Grid {
    let names = ["metric", "reference", "measured", "difference", "tolerance", "verdict", "note"];
    let mut grid = Grid::new(title, &names, 1);
    for text in [5, 6] {
        grid.columns[text].numeric = false;
    }
    let mut notes: Vec<&str> = Vec::new();
    let mut group = "";
    for row in rows {
        if row.id != group {
            group = &row.id;
            let mut head = vec![String::new(); names.len()];
            head[0] = format!("[{group}]");
            grid.rows.push(head.into_iter().map(Into::into).collect());
        }
        let value = |value: Option<f64>| value.map_or(NOTHING.to_owned(), number);
        let difference = match (row.reference, row.measured) {
            (Some(reference), Some(measured)) if reference != 0.0 => {
                format!("{:+.1} %", 100.0 * (measured / reference - 1.0))
            }
            _ => NOTHING.to_owned(),
        };
        let metric =
            if row.unit.is_empty() { row.metric.clone() } else { format!("{} ({})", row.metric, row.unit) };
        let note = if row.note.is_empty() {
            String::new()
        } else {
            let known = notes.iter().position(|note| *note == row.note);
            let number = known.unwrap_or_else(|| {
                notes.push(&row.note);
                notes.len() - 1
            });
            (number + 1).to_string()
        };
        let cells = vec![
            metric,
            value(row.reference),
            value(row.measured) + &row.interval.map_or(String::new(), between),
            difference,
            row.tolerance.map_or(NOTHING.to_owned(), Tolerance::text),
            row.verdict.text().to_owned(),
            note,
        ];
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    let verdicts: Vec<Verdict> = rows.iter().map(|row| row.verdict).collect();
    let inform = verdicts.iter().filter(|verdict| **verdict == Verdict::Informs).count();
    grid.note = format!("{} rows: {}", rows.len(), Verdict::counts(&verdicts));
    if inform > 0 {
        grid.note += &format!("; {inform} inform");
    }
    grid.note.push('.');
    for (index, note) in notes.iter().enumerate() {
        grid.note += &format!("\n{}: {note}", index + 1);
    }
    grid
}

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
            Self::Factor(factor) => {
                let (low, high) = (reference / factor, reference * factor);
                low.min(high) <= measured && measured <= low.max(high)
            }
            Self::AtLeast => measured >= reference,
            Self::AtMost => measured <= reference,
        }
    }

    fn text(self) -> String {
        match self {
            Self::Relative(fraction) => format!("± {} %", number(100.0 * fraction)),
            Self::Absolute(difference) => format!("± {}", number(difference)),
            Self::Factor(factor) => format!("× {}", number(factor)),
            Self::AtLeast => "or more".to_owned(),
            Self::AtMost => "or less".to_owned(),
        }
    }
}

/// Verdict of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within the tolerance.
    Match,
    /// The value differs, but the direction or order claimed by the source holds.
    Trend,
    /// Neither value nor trend holds.
    Differs,
    /// Not measured.
    NotRun,
}

impl Verdict {
    const fn text(self) -> &'static str {
        match self {
            Self::Match => "match",
            Self::Trend => "trend",
            Self::Differs => "differs",
            Self::NotRun => "not run",
        }
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
    /// A row judged by its numbers: `Match` within the tolerance, `NotRun` without a measured value, else `Trend`
    /// if `trend_holds`, else `Differs`.
    #[must_use]
    #[allow(clippy::too_many_arguments)]
    pub fn judged(
        id: impl Into<String>,
        metric: impl Into<String>,
        unit: impl Into<String>,
        reference: Option<f64>,
        measured: Option<f64>,
        tolerance: Option<Tolerance>,
        trend_holds: bool,
        note: impl Into<String>,
    ) -> Self {
        let mut row = Self {
            id: id.into(),
            metric: metric.into(),
            unit: unit.into(),
            reference,
            measured,
            tolerance,
            verdict: Verdict::NotRun,
            note: note.into(),
        };
        row.verdict = match (row.measured, row.within()) {
            (None, _) => Verdict::NotRun,
            (Some(_), Some(true)) => Verdict::Match,
            (Some(_), _) if trend_holds => Verdict::Trend,
            (Some(_), _) => Verdict::Differs,
        };
        row
    }

    /// Whether the measured value is within the tolerance; `None` if one of the three is missing.
    #[must_use]
    pub fn within(&self) -> Option<bool> {
        Some(self.tolerance?.holds(self.reference?, self.measured?))
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

/// Judges all rows by their numbers, not by their verdicts.
#[must_use]
pub fn outcome(rows: &[ValidationRow]) -> Outcome {
    if rows.iter().any(|row| row.within() == Some(false)) { Outcome::Failed } else { Outcome::Passed }
}

/// The rows as a JSON list, with a line feed at its end.
///
/// # Errors
/// If serialisation fails, which is a defect; numbers that are not finite become null.
pub fn validation_json(rows: &[ValidationRow]) -> Result<String, ReportError> {
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
            value(row.measured),
            difference,
            row.tolerance.map_or(NOTHING.to_owned(), Tolerance::text),
            if row.tolerance.is_none() { NOTHING.to_owned() } else { row.verdict.text().to_owned() },
            note,
        ];
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    // Rows without a tolerance only inform.
    let judged = || rows.iter().filter(|row| row.tolerance.is_some());
    let count = |verdict| judged().filter(|row| row.verdict == verdict).count();
    let outside = rows.iter().filter(|row| row.within() == Some(false)).count();
    grid.note = format!(
        "{} rows: {} inform; {} match, {} trend, {} differ, {} not run; {outside} outside their tolerance.",
        rows.len(),
        rows.len() - judged().count(),
        count(Verdict::Match),
        count(Verdict::Trend),
        count(Verdict::Differs),
        count(Verdict::NotRun),
    );
    for (index, note) in notes.iter().enumerate() {
        grid.note += &format!("\n{}: {note}", index + 1);
    }
    grid
}

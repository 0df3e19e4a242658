//! Tables, plots and the self-contained HTML report, made from what runs leave.
//!
//! [`Run`] reads a run's folder, [`Comparison`] lays runs side by side for the terminal
//! ([`Comparison::to_text`]) and as a page ([`Comparison::to_html`]). [`ValidationRow`] is the one form of
//! comparisons with a reference, [`explain()`] tells one packet's story.

mod chart;
mod comparison;
mod error;
mod explain;
mod figures;
mod grid;
mod page;
mod plot;
mod run;
mod users;
mod validate;

pub use chart::{
    Band, Bar, Bars, Chapter, Chart, ChartKind, Line, Lines, Matrix, Tails, chapters_html, reproduction_html,
};
pub use comparison::{Comparison, SchemeRuns};
pub use error::ReportError;
pub use explain::explain;
pub use grid::{Cell, Column, Grid, number};
pub use page::validation_html;
pub use run::Run;
pub use validate::{Outcome, Tolerance, ValidationRow, Verdict, outcome, validation_grid, validation_json};

//! Tables, plots and self-contained HTML reports of runs.
//!
//! [`Run`] reads a run's folder, [`Comparison`] compares runs for the terminal ([`Comparison::to_text`]) and as a page
//! ([`Comparison::to_html`]). [`Comparison::verdict`] answers which scheme to choose and where the time goes. [`ValidationRow`] is a comparison with a reference, [`explain()`] describes the path of one packet.

mod chart;
mod comparison;
mod connections;
mod error;
mod explain;
mod facts;
mod figure;
mod figures;
mod grid;
mod groups;
mod members;
mod overview;
mod page;
mod plot;
mod run;
mod screen;
mod student;
mod tables;
mod timing;
mod users;
mod validate;
mod verdict;

pub use chart::{Band, Bar, Bars, Chart, ChartKind, Dots, Line, Lines, Matrix, Panels, Split, Tails};
pub use comparison::{Comparison, SchemeRuns};
pub use connections::{align, fold, leading};
pub use error::ReportError;
pub use explain::{Around, OnAir, Waited, explain, split_wire};
pub use facts::{Facts, FlowFacts, Site};
pub use grid::{Cell, Column, Grid, number, wrapped};
pub use page::{Chapter, Grade, Page, Pick, Score, Scorecard};
pub use run::Run;
pub use student::student_quantile;
pub use validate::{Outcome, Tolerance, ValidationRow, Verdict, outcome, validation_grid, validation_json};
pub use verdict::{
    Advice, Alike, Answer, Attempt, Bottleneck, Cause, Change, Choice, Cost, DemandResult, Figure, Finding,
    Judged, Keeping, Limit, RULES, Rule, Trial,
};

//! Many runs: a grid or a random sample over any keys of a scenario, several schemes and seeds, on all cores or many machines.
//!
//! [`Grid`] is the file that asks for it, [`Plan`] its cells after each has been checked. A [`Sweep`] says which run comes next and
//! takes the results, in whatever order they come: it knows no threads and no machines. [`local()`] drives it with threads; the
//! Python package drives it over Ray. Results go to a [`Folder`]: a partitioned Parquet data set, a table of intervals, a report.
//! The bytes depend on the grid and on nothing else. `docs/use/sweep.md` describes both files and rules.

mod axis;
mod bootstrap;
mod columns;
mod folder;
mod grid;
mod journal;
mod key;
mod local;
mod metric;
mod number;
mod plan;
mod point;
mod report;
mod results;
mod rule;
mod run;
mod sample;
mod scheduler;
mod shard;
mod shipped;
mod table;

pub(crate) use bootstrap::Interval;
pub use folder::Folder;
pub use grid::{Changes, Grid};
pub use local::local;
pub use metric::{FlowResult, RunResult};
pub use plan::Plan;
pub use point::{Estimate, Point};
pub use report::Findings;
pub use rule::{Percent, Rule};
pub use run::{Job, execute};
pub use scheduler::{Progress, Sweep};
pub use shipped::shipped;

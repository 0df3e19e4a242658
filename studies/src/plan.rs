//! `airbound plan` beside simulation, on random scenarios.

mod check;
mod generator;

pub use check::{BORDER, Case, Confusion, Judged, Set, check};
pub use generator::{Kind, RandomScenario, random_scenario};

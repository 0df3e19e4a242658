//! `airbound plan` beside simulation, on random scenarios.

mod check;
mod generator;

pub use check::{BORDER, Case, Confusion, DELIVERED, Judged, Set, check};
pub use generator::{RandomScenario, random_scenario};

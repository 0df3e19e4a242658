//! The tests of runs and sweeps: one program, which links once.

mod place;
mod plan;
mod sweep_grid;
mod sweep_same;

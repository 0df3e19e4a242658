//! The tests of runs and sweeps: one program, which links once.

mod place;
mod sweep_grid;
mod sweep_same;

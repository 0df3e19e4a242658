//! The tests of the studies: one program, which links once.

mod ladder;
mod place;
mod plan_check;
mod program;
mod verdict_check;

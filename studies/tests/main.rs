//! The tests of the studies: one program, which links once.

mod doctor;
mod evening;
mod ladder;
mod place;
mod program;
mod verdict_check;

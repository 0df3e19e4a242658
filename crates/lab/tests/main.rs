//! The tests of the laboratory: one program, which links once.

mod driver;
mod hearing;
mod law;
mod medium;
mod replay;

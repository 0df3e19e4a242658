//! The tests of the rates and error curves: one program, which links once.

mod airtimes;
mod error_curves;
mod papers;
mod rates;
mod saturation;

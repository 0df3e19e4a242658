//! Parts that each long-running program has: a journal's file, metrics over HTTP, their text format.

pub mod exposition;
pub mod http;
mod lines;

pub use lines::LineWriter;

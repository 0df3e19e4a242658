//! The one binary, `airbound`.
fn main() {}

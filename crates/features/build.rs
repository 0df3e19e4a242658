//! Lets the manifest name features of libraries of procedural macros.

fn main() {}

//! The program `airbound-studies`: see the library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(airbound_studies::command::main(std::env::args_os()))
}

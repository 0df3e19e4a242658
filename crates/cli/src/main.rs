//! The program `airbound`: see the library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use airbound_cli::Host;

fn main() -> ExitCode {
    ExitCode::from(airbound_cli::main(std::env::args_os(), Host::Itself))
}

//! The program `airbound-relay`: see the library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(airbound_relay::driver::main(std::env::args_os()))
}

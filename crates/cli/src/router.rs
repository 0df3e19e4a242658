//! The program of packages for routers: `airbound` with the agent's commands alone. Whatever else this crate has is left out by the linker.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(airbound_cli::router(std::env::args_os()))
}

//! The programs around the protocol: arguments, keys, sockets, journal, metrics. One thread moves all datagrams.

mod args;
mod client;
mod edge;
mod error;
mod journal;
mod keys;
mod metrics;
mod sense;
mod shell;
mod times;
mod turns;
mod wait;

use std::ffi::OsString;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use airbound_linux::privileges;
use clap::Parser;

use crate::protocol::{Entropy, Key};
use args::{Cli, Command};
pub use error::RelayError;

/// Executes the command line and returns the exit code. The first of `arguments` is the name of the program.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            let sentence = airbound_arguments::sentence(&error);
            let _ = writeln!(std::io::stderr().lock(), "airbound relay: {sentence}");
            return 2;
        }
        Err(help) => {
            let _ = help.print();
            return 0;
        }
    };
    let outcome = match cli.command {
        Command::Edge(options) => edge::run(options),
        Command::Client(options) => client::run(options),
        Command::Sense(options) => sense::run(&options),
        Command::Key(options) => make_key(&options),
        Command::Completions(options) => shell::completions(&options),
        Command::Man(options) => shell::man(&options),
    };
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            let _ = writeln!(std::io::stderr().lock(), "airbound relay: {error}");
            error.code()
        }
    }
}

/// Prints a line for a key file.
fn make_key(options: &args::MakeKey) -> Result<(), RelayError> {
    keys::check_name(&options.name)
        .and_then(|()| keys::check_epoch(options.epoch))
        .map_err(RelayError::Input)?;
    say(&format!("{} {} {}", options.name, options.epoch, Key::new(random()?).to_hex()))
}

fn say(line: &str) -> Result<(), RelayError> {
    writeln!(std::io::stdout().lock(), "{line}").map_err(RelayError::io("write to standard output"))
}

/// Bytes of the system's source of random bytes.
fn random() -> Result<[u8; 16], RelayError> {
    let mut bytes = [0; 16];
    let read = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    match read {
        Ok(16) => Ok(bytes),
        Ok(_) => Err(RelayError::io("read random bytes")(std::io::ErrorKind::UnexpectedEof.into())),
        Err(error) => Err(RelayError::io("read random bytes")(error.into())),
    }
}

fn entropy() -> Result<Entropy, RelayError> {
    random().map(Entropy::new)
}

/// Gives up all privileges, and returns the flag that a signal to end sets.
fn settle() -> Result<Arc<AtomicBool>, RelayError> {
    privileges::keep_only(&[])?;
    airbound_linux::udp::wake_exactly();
    let end = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&end);
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|error| RelayError::io("wait for signals")(std::io::Error::other(error)))?;
    Ok(end)
}

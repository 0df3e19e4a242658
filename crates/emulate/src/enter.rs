//! A command on a host of an emulation that is already running.

use std::process::Command;

use airbound_linux::namespace::{Closed, Network, Sign, is_own_process, spawn_beside};

use crate::command::code;
use crate::error::EmulateError;
use crate::hosts::list;

const PREFIX: &str = "airbound-emulate";

/// A host of a running emulation.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Running {
    /// The process of the emulation.
    owner: i32,
    /// The first process of its namespaces.
    first: i32,
    /// The descriptor of the host's network in the emulation's process.
    network: i32,
    host: String,
}

/// The sign by which a host is found.
pub(crate) fn sign_of(host: &str, closed: &Closed, network: &Network) -> String {
    format!("{PREFIX}/{}/{}/{}/{host}", std::process::id(), closed.first_process(), network.descriptor())
}

impl Running {
    /// Reads a sign; `None` for those of others.
    fn read(sign: &str) -> Option<Self> {
        let mut parts = sign.strip_prefix(PREFIX)?.strip_prefix('/')?.splitn(4, '/');
        let mut number = || parts.next()?.parse::<i32>().ok().filter(|number| *number >= 0);
        let (owner, first, network) = (number()?, number()?, number()?);
        Some(Self { owner, first, network, host: parts.next()?.to_owned() })
    }
}

/// Runs a command on `host`, written `NAME` or `PROCESS/NAME`, of a running emulation of this user, and returns its exit code. Call it before
/// any thread is started.
///
/// # Errors
/// There is no such host, several emulations have one, or the command cannot be started.
pub fn enter(host: &str, command: Command) -> Result<u8, EmulateError> {
    let signs = Sign::all();
    let running = signs.iter().filter_map(|sign| Running::read(sign));
    // Anybody may hang out a sign, and root would follow it.
    let running: Vec<Running> =
        running.filter(|one| is_own_process(one.owner) && is_own_process(one.first)).collect();
    let (process, name) = match host.split_once('/') {
        Some((process, name)) => (process.parse::<i32>().ok(), name),
        None => (None, host),
    };
    let is_meant = |one: &&Running| one.host == name && process.is_none_or(|process| process == one.owner);
    let found: Vec<&Running> = running.iter().filter(is_meant).collect();
    let one = match found.as_slice() {
        [one] => one,
        [] => {
            let known = list(running.iter().map(|one| one.host.as_str()));
            return Err(EmulateError::NoHost { host: host.to_owned(), known });
        }
        several => {
            let owners: Vec<String> = several.iter().map(|one| one.owner.to_string()).collect();
            return Err(EmulateError::Ambiguous(name.to_owned(), owners.join(", ")));
        }
    };
    let text = command.get_program().to_string_lossy().into_owned();
    let mut child = spawn_beside(command, one.owner, one.first, one.network)?;
    let status = child.wait().map_err(|source| EmulateError::Start { command: text, source })?;
    Ok(code(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_read_and_others_are_not() {
        let host = |text: &str| Running::read(text);
        let expected = Running { owner: 12, first: 13, network: 7, host: "laptop".to_owned() };
        assert_eq!(host("airbound-emulate/12/13/7/laptop"), Some(expected));
        for other in
            ["", "airbound-emulate", "airbound-emulate/1/2/3", "airbound-emulate/1/-2/3/x", "x/1/2/3/x"]
        {
            assert_eq!(host(other), None, "{other}");
        }
    }
}

//! Commands of this machine's hosts: programs of the machine's owner, each in the namespace of its host and in the root of all commands.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use airbound_units::{Instant, Span};
use rustix::process::{Pid, Signal, kill_process_group};

use super::work::Inventory;
use super::{ENDED, LOGS, now, scenario, set_zero, sleep_until, zero};
use crate::LabError;

/// The folder of the commands, a file for each (see [`Entry::pack`]).
pub(crate) const COMMANDS: &str = "/lab/commands";
/// The environment of all commands: words `NAME=VALUE`, each ended by a zero byte.
pub(crate) const ENVIRONMENT: &str = "/lab/environment";
/// Time after which the commands are asked to end, nanoseconds.
pub(crate) const LIMIT: &str = "/lab/limit";
/// The folder of their output and states below the logs.
pub(crate) const RESULTS: &str = "commands";
/// The file of their states: a line for each, with number, code, and whether it was asked to end.
pub(crate) const STATES: &str = "states";
/// The file of the times at which the commands began and ended, nanoseconds after time zero.
pub(crate) const TIMES: &str = "times";
/// The folder of the files that the commands leave, below the logs.
pub(crate) const FILES: &str = "files";
/// The folder of the commands.
const WORK: &str = "/host/files";
/// Time that servers have before the scenario begins.
const SERVER_START: Span = Span::from_secs(2);
/// Time between the request to end and the end by force.
const GRACE: Duration = Duration::from_secs(2);

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Whether it is started first, and ended once the others have ended.
    pub(crate) is_server: bool,
    /// The namespace of its host.
    pub(crate) namespace: String,
    /// Program and arguments.
    pub(crate) words: Vec<OsString>,
}

impl Entry {
    /// The content of its file: words, each ended by a zero byte, which no word contains.
    pub(crate) fn pack(&self) -> Vec<u8> {
        let role = if self.is_server { "server" } else { "station" };
        let heads = [role.as_bytes(), self.namespace.as_bytes()];
        let words = heads.into_iter().chain(self.words.iter().map(|word| word.as_bytes()));
        words.flat_map(|word| word.iter().copied().chain([0])).collect()
    }

    /// Reads what [`pack`](Self::pack) wrote; `None` if it is something else.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let mut words = words(bytes).into_iter();
        let is_server = words.next()? == "server";
        let namespace = words.next()?.into_string().ok()?;
        Some(Self { is_server, namespace, words: words.collect() })
    }

    fn start(&self, number: usize, environment: &[OsString]) -> Result<Child, LabError> {
        let output = |name: &str| {
            let path = format!("{LOGS}/{RESULTS}/{number}.{name}");
            File::create(&path).map_err(LabError::io("create", path))
        };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace, "env", "-i"]).args(environment);
        command.args(["chroot", "/host", "/applets/sh", "-c", "cd /files && exec \"$@\"", "sh"]);
        command.args(&self.words).process_group(0).stdin(Stdio::null());
        command.stdout(output("out")?).stderr(output("err")?);
        command.spawn().map_err(LabError::io("start", "a command"))
    }
}

fn words(bytes: &[u8]) -> Vec<OsString> {
    let ended = bytes.strip_suffix(&[0]);
    let words = ended.into_iter().flat_map(|bytes| bytes.split(|byte| *byte == 0));
    words.map(|word| OsString::from_vec(word.to_owned())).collect()
}

/// The state of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running(Pid),
    Ended(ExitStatus),
}

/// A command's number and how it ended.
type End = (usize, ExitStatus);

struct Commands {
    entries: Vec<Entry>,
    states: Vec<State>,
    asked: Vec<bool>,
    environment: Vec<OsString>,
    ends: (Sender<End>, Receiver<End>),
}

impl Commands {
    fn start(&mut self, servers: bool) -> Result<(), LabError> {
        for number in 0..self.entries.len() {
            if self.entries[number].is_server != servers {
                continue;
            }
            let mut child = self.entries[number].start(number, &self.environment)?;
            self.states[number] = State::Running(Pid::from_child(&child));
            let sender = self.ends.0.clone();
            std::thread::spawn(move || {
                if let Ok(status) = child.wait() {
                    // Nobody listens any more once all is over.
                    let _ = sender.send((number, status));
                }
            });
        }
        Ok(())
    }

    /// Waits until all servers, or all others, have ended. Whether they have within this time.
    fn wait(&mut self, servers: bool, most: Duration) -> bool {
        let until = now() + span(most);
        loop {
            let mut own =
                self.entries.iter().zip(&self.states).filter(|(entry, _)| entry.is_server == servers);
            if own.all(|(_, state)| matches!(state, State::Ended(_))) {
                return true;
            }
            match self.ends.1.recv_timeout(Duration::from_nanos(until.since(now()).as_nanos())) {
                Ok((number, status)) => self.states[number] = State::Ended(status),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
            }
        }
    }

    fn signal(&mut self, servers: bool, signal: Signal) {
        for (number, entry) in self.entries.iter().enumerate() {
            if let (State::Running(group), true) = (self.states[number], entry.is_server == servers) {
                self.asked[number] = true;
                // It may have ended meanwhile.
                let _ = kill_process_group(group, signal);
            }
        }
    }

    /// Ends them, by force if need be. Their children end with the machine.
    fn end(&mut self, servers: bool) {
        self.signal(servers, Signal::TERM);
        if !self.wait(servers, GRACE) {
            self.signal(servers, Signal::KILL);
            self.wait(servers, GRACE);
        }
    }

    fn write_states(&self) -> Result<(), LabError> {
        let line = |number: usize| {
            let code = match self.states[number] {
                State::Ended(status) => code(status),
                State::Waiting | State::Running(_) => 137,
            };
            format!("{number} {code} {}\n", if self.asked[number] { "asked" } else { "itself" })
        };
        let text: String = (0..self.entries.len()).map(line).collect();
        let path = format!("{LOGS}/{RESULTS}/{STATES}");
        fs::write(&path, text).map_err(LabError::io("write", path))
    }
}

/// Runs all commands: servers, then time zero of the scenario, and after its warm-up the others. Returns once these have ended, or were
/// ended at their limit.
///
/// # Errors
/// A file cannot be read or written, or a server ended with an error before the others began.
pub fn commands() -> Result<(), LabError> {
    let warm_up = scenario()?.warm_up;
    let read = |path: &str| fs::read(path).map_err(LabError::io("read", path));
    let limit = String::from_utf8_lossy(&read(LIMIT)?).trim().parse().unwrap_or(u64::MAX);
    let entries = entries(Path::new(COMMANDS))?;
    let count = entries.len();
    let mut all = Commands {
        entries,
        states: vec![State::Waiting; count],
        asked: vec![false; count],
        environment: words(&read(ENVIRONMENT)?),
        ends: channel(),
    };
    let folder = format!("{LOGS}/{RESULTS}");
    fs::create_dir_all(&folder).map_err(LabError::io("create", &folder))?;
    let inventory = Inventory::of(Path::new(WORK))?;
    if all.entries.iter().any(|entry| entry.is_server) {
        all.start(true)?;
        all.wait(true, Duration::from_nanos(SERVER_START.as_nanos()));
        for (number, state) in all.states.iter().enumerate() {
            if let State::Ended(status) = state
                && !status.success()
            {
                return Err(failed(number, *status, &folder));
            }
        }
    }
    set_zero()?;
    let zero = zero().ok_or_else(|| LabError::Guest("time zero is not set".to_owned()))?;
    sleep_until(zero + warm_up);
    let began = now();
    all.start(false)?;
    if !all.wait(false, Duration::from_nanos(limit)) {
        all.end(false);
    }
    let ended = now();
    let times = format!("{} {}\n", began.since(zero).as_nanos(), ended.since(zero).as_nanos());
    let path = format!("{folder}/{TIMES}");
    fs::write(&path, times).map_err(LabError::io("write", path))?;
    let partial = format!("{ENDED}.new");
    fs::write(&partial, ended.as_nanos().to_string())
        .and_then(|()| fs::rename(&partial, ENDED))
        .map_err(LabError::io("write", ENDED))?;
    all.end(true);
    inventory.link_changed(Path::new(WORK), &Path::new(LOGS).join(FILES))?;
    all.write_states()
}

/// The error of a server, with the last line that it wrote.
fn failed(number: usize, status: ExitStatus, folder: &str) -> LabError {
    let words =
        ["err", "out"].into_iter().filter_map(|name| fs::read(format!("{folder}/{number}.{name}")).ok());
    let words: Vec<String> = words.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned()).collect();
    let last = words.iter().filter_map(|text| text.lines().last()).next().unwrap_or("it said nothing");
    LabError::Guest(format!("command {number} ended before it could serve, with {}: {last}", code(status)))
}

fn entries(folder: &Path) -> Result<Vec<Entry>, LabError> {
    let shown = folder.display().to_string();
    let mut entries = Vec::new();
    // Numbered without a gap, from 0.
    for number in 0.. {
        let path = folder.join(number.to_string());
        if !path.exists() {
            break;
        }
        let bytes = fs::read(&path).map_err(LabError::io("read", &shown))?;
        entries.push(Entry::unpack(&bytes).ok_or_else(|| LabError::Guest("not a command".to_owned()))?);
    }
    Ok(entries)
}

/// The exit code of a program that ended so, as a shell says it.
fn code(status: ExitStatus) -> i32 {
    status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1)
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 4))
}

/// The time at which the commands ended, once they have.
pub(crate) fn ended() -> Option<Instant> {
    let text = fs::read_to_string(ENDED).ok()?;
    text.trim().parse().ok().map(Instant::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_as_written() {
        for words in [vec!["sh", "-c", "exit 3"], vec!["a b", "", "ü\n"], vec![]] {
            let entry = Entry {
                is_server: words.len() == 3,
                namespace: "sta1".to_owned(),
                words: words.iter().map(OsString::from).collect(),
            };
            assert_eq!(Entry::unpack(&entry.pack()), Some(entry));
        }
        assert_eq!(Entry::unpack(b""), None);
        assert_eq!(Entry::unpack(b"server"), None);
    }

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(code(ExitStatus::from_raw(9)), 137);
    }
}

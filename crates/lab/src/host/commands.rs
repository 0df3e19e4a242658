//! Commands in the machine: what a run with commands is given, and what it leaves.

use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Component, Path};
use std::time::Duration;

use airbound_scenario::Scenario;
use airbound_units::{Instant, Span};

use super::arch::Arch;
use super::brought::{Brought, ROOT};
use super::init::Purpose;
use super::machine::{Limits, MEMORY_MB, Machine, Outcome};
use super::{initrd, write};
use crate::LabError;
use crate::guest::commands as guest;
use crate::log::Row;
use crate::plan::{self, SERVER, station_address};

/// Most memory of the machine for each byte of files: in the archive, unpacked, and half of it is free for a file system in memory.
const MEMORY_FOR_FILES: u64 = 4;

/// A command of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostCommand {
    /// Name of the host: `server`, or a station.
    pub host: String,
    /// Whether it is started first, and ended once the others have ended.
    pub is_server: bool,
    /// Program and arguments; the program by its path in the commands' root.
    pub words: Vec<OsString>,
    /// Its name in messages.
    pub line: String,
}

/// Commands, and their surroundings.
#[derive(Debug)]
pub struct Request {
    /// The commands.
    pub commands: Vec<HostCommand>,
    /// The files that they need.
    pub brought: Brought,
    /// Their environment, `NAME=VALUE`.
    pub environment: Vec<String>,
    /// Virtual time after which those on stations are asked to end.
    pub limit: Span,
    /// Time of this host after which the machine is given up.
    pub host_time: Option<Duration>,
}

/// The end of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The command.
    pub command: HostCommand,
    /// Its exit code, as a shell says it.
    pub code: u8,
    /// Whether it was asked to end.
    pub was_asked: bool,
    /// Its standard output.
    pub output: Vec<u8>,
    /// Its standard error.
    pub error: Vec<u8>,
}

/// The results of commands.
#[derive(Debug)]
pub struct Results {
    /// The record of the run.
    pub outcome: Outcome,
    /// The scenario with the duration that the run had.
    pub scenario: Scenario,
    /// The commands in the order of the request.
    pub ended: Vec<Ended>,
}

impl Machine<'_> {
    /// Plays the scenario beside commands, until those on stations have ended. `say` is called with the guest's messages.
    ///
    /// # Errors
    /// The laboratory does not support the scenario, a host is unknown, QEMU or a file is missing, or the guest failed.
    pub fn run_commands(&self, request: &Request, say: &mut dyn FnMut(&str)) -> Result<Results, LabError> {
        let mut scenario = self.scenario.clone();
        scenario.duration = request.limit;
        plan::check(&scenario)?;
        let files = files(self.built.arch, request, &scenario)?;
        let machine = Machine { scenario: &scenario, scratch: self.scratch.clone(), ..*self };
        let memory = (request.brought.bytes() * MEMORY_FOR_FILES).div_ceil(1 << 20);
        let limits = Limits { memory_mb: MEMORY_MB + memory, host_time: request.host_time };
        let mut outcome = machine.boot_for(Purpose::Commands, files, limits, say)?;
        let (began, ended) = times(&outcome)?;
        scenario.duration = ended.since(Instant::ZERO + scenario.warm_up).max(Span::from_millis(1));
        let ended = self.ended(request, &outcome)?;
        let seconds = |at: Instant| at.since(Instant::ZERO).as_secs_f64();
        let listing = listing(&ended, seconds(began), seconds(Instant::ZERO + scenario.end()));
        outcome.texts.push(("commands.txt".to_owned(), listing));
        Ok(Results { outcome, scenario, ended })
    }

    fn ended(&self, request: &Request, outcome: &Outcome) -> Result<Vec<Ended>, LabError> {
        let file = |name: String| {
            let found = outcome.files.iter().find(|(path, _)| *path == format!("{}/{name}", guest::RESULTS));
            found.map(|(_, content)| content.clone()).unwrap_or_default()
        };
        let states = String::from_utf8_lossy(&file(guest::STATES.to_owned())).into_owned();
        let mut lines = states.lines();
        let ended = request.commands.iter().zip(0..).map(|(command, number)| {
            let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
            let [_, code, asked] = words[..] else {
                return Err(LabError::Guest(format!("nothing is known of {}", command.line)));
            };
            Ok(Ended {
                command: command.clone(),
                code: code.parse().unwrap_or(1),
                was_asked: asked == "asked",
                output: file(format!("{number}.out")),
                error: file(format!("{number}.err")),
            })
        });
        ended.collect()
    }
}

/// The times at which the commands began and ended, after time zero.
fn times(outcome: &Outcome) -> Result<(Instant, Instant), LabError> {
    let wanted = format!("{}/{}", guest::RESULTS, guest::TIMES);
    let found = outcome.files.iter().find(|(path, _)| *path == wanted);
    let text = found.map(|(_, content)| String::from_utf8_lossy(content).into_owned()).unwrap_or_default();
    let mut words = text.split_whitespace().filter_map(|word| word.parse().ok()).map(Instant::from_nanos);
    match (words.next(), words.next()) {
        (Some(began), Some(ended)) if outcome.rows.iter().any(|row| matches!(row, Row::Run { .. })) => {
            Ok((began, ended))
        }
        _ => Err(LabError::Guest("the commands have no beginning and end".to_owned())),
    }
}

fn listing(ended: &[Ended], began: f64, end: f64) -> String {
    let mut text = format!("from {began:.6} s to {end:.6} s of the scenario\n");
    for (number, one) in ended.iter().enumerate() {
        let (host, line) = (&one.command.host, &one.command.line);
        let asked = if one.was_asked { ", asked to end" } else { "" };
        text += &format!("{number} {host}: {line}: code {}{asked}\n", one.code);
    }
    text
}

fn files(arch: Arch, request: &Request, scenario: &Scenario) -> Result<initrd::Archive, LabError> {
    let mut archive = initrd::Archive::new();
    let inside = |path: &str| path.trim_start_matches('/').to_owned();
    for (number, command) in request.commands.iter().enumerate() {
        let namespace = namespace(&command.host, scenario)?;
        let words = command.words.clone();
        let entry = guest::Entry { is_server: command.is_server, namespace, words };
        archive.file(&format!("{}/{number}", inside(guest::COMMANDS)), 0o644, &entry.pack());
    }
    let path = format!("PATH={}", request.brought.search_path());
    let own = [path.as_str(), "HOME=/files", "LANG=C.UTF-8", "TERM=dumb"];
    let words = own.into_iter().chain(request.environment.iter().map(String::as_str));
    let environment: Vec<u8> = words.flat_map(|word| word.bytes().chain([0])).collect();
    archive.file(&inside(guest::ENVIRONMENT), 0o644, &environment);
    archive.file(&inside(guest::LIMIT), 0o644, request.limit.as_nanos().to_string().as_bytes());
    for (name, text) in [
        ("hosts", hosts_file(scenario)),
        ("passwd", "root:x:0:0:root:/files:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n".to_owned()),
        ("group", "root:x:0:\nnogroup:x:65534:\n".to_owned()),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()),
        ("resolv.conf", String::new()),
    ] {
        archive.file(&format!("lab/etc/{name}"), 0o644, text.as_bytes());
    }
    request.brought.add_to(&mut archive)?;
    // The loader's list of libraries in other folders than its own; another architecture's loader has none here.
    if arch == Arch::X86_64
        && let Ok(list) = fs::read("/etc/ld.so.cache")
    {
        archive.file(&format!("{ROOT}/etc/ld.so.cache"), 0o644, &list);
    }
    Ok(archive)
}

/// The namespace of a host.
fn namespace(host: &str, scenario: &Scenario) -> Result<String, LabError> {
    if host == "server" {
        return Ok(host.to_owned());
    }
    let number = scenario.station_index(host);
    number.map(|number| format!("sta{}", number + 1)).ok_or_else(|| {
        let known: Vec<&str> = scenario.stations.iter().map(|station| station.name.as_str()).collect();
        LabError::Scenario(format!("it has no station named \"{host}\"; stations are {}", known.join(", ")))
    })
}

fn hosts_file(scenario: &Scenario) -> String {
    let line = |address: Ipv4Addr, name: &str| format!("{address} {name}\n");
    let mut text = line(Ipv4Addr::LOCALHOST, "localhost") + &line(SERVER, "server");
    for (number, station) in (1..).zip(&scenario.stations) {
        text += &line(station_address(number), &station.name);
    }
    text
}

impl Results {
    /// Writes the output of commands, and the files that they left, into folders of a run's folder, in place of earlier ones.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write_files(&self, folder: &Path) -> Result<(), LabError> {
        for name in [guest::RESULTS, guest::FILES] {
            let path = folder.join(name);
            if path.exists() {
                fs::remove_dir_all(&path).map_err(LabError::io("replace", path.display().to_string()))?;
            }
        }
        let service = [guest::STATES, guest::TIMES].map(|name| format!("{}/{name}", guest::RESULTS));
        for (name, content) in &self.outcome.files {
            let path = Path::new(name);
            let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
            if is_inside && !service.contains(name) {
                write(&folder.join(path), content)?;
            }
        }
        Ok(())
    }

    /// The number of files that the commands left.
    #[must_use]
    pub fn files(&self) -> usize {
        let prefix = format!("{}/", guest::FILES);
        self.outcome.files.iter().filter(|(name, _)| name.starts_with(&prefix)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        Scenario::open("lab-hello", &airbound_scenario::Overrides::none()).unwrap()
    }

    #[test]
    fn hosts_are_the_server_and_the_stations() {
        let scenario = scenario();
        assert_eq!(namespace("server", &scenario).unwrap(), "server");
        assert_eq!(namespace("laptop", &scenario).unwrap(), "sta1");
        let wrong = namespace("nobody", &scenario).unwrap_err().to_string();
        assert!(wrong.contains("no station named \"nobody\"; stations are laptop"), "{wrong}");
        assert_eq!(hosts_file(&scenario), "127.0.0.1 localhost\n10.1.0.100 server\n10.0.0.11 laptop\n");
    }

    #[test]
    fn files_of_commands_stay_within_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let file = |name: &str| (name.to_owned(), b"new".to_vec());
        let files = vec![
            file("files/a/b"),
            file("commands/0.out"),
            file("commands/states"),
            file("files/../../escape"),
        ];
        let outcome = Outcome { rows: Vec::new(), texts: Vec::new(), files, wall: Duration::ZERO };
        let results = Results { outcome, scenario: scenario(), ended: Vec::new() };
        write(&run.join("files/old"), "old").unwrap();
        results.write_files(&run).unwrap();
        assert_eq!(fs::read(run.join("files/a/b")).unwrap(), b"new");
        assert!(run.join("commands/0.out").exists() && !run.join("commands/states").exists());
        assert!(!run.join("files/old").exists() && !folder.path().join("escape").exists());
        assert_eq!(results.files(), 2);
    }
}

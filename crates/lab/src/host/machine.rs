//! The virtual machine: QEMU with instruction counting, so that an instruction takes one nanosecond and idle time is skipped.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use airbound_scenario::Scenario;

use super::build::Built;
use super::init::{self, Network, Purpose};
use super::scratch::Scratch;
use super::watched::Watched;
use super::{initramfs, initrd, program, read, write};
use crate::LabError;
use crate::guest::unpack;
use crate::log::Row;
use crate::plan;

/// A machine for one scenario.
#[derive(Debug)]
pub struct Machine<'a> {
    /// Kernel and initial file system.
    pub built: &'a Built,
    /// The scenario to play, with the run's seed.
    pub scenario: &'a Scenario,
    /// Setup of the access point.
    pub network: &'a Network,
    /// Beginning of the path of a [`Scratch`] for each machine that is booted.
    pub scratch: PathBuf,
}

/// The results of a machine.
#[derive(Debug)]
pub struct Outcome {
    /// The rows of all logs.
    pub rows: Vec<Row>,
    /// Text files, such as the output of `iw` for stations and channel.
    pub texts: Vec<(String, String)>,
    /// Files of commands and of their folder, by path.
    pub files: Vec<(String, Vec<u8>)>,
    /// Wall time for which the machine ran.
    pub wall: Duration,
}

/// The guest's `/init`.
const INIT: &str = include_str!("../../../../lab/guest/init.sh");
/// Size of the image for the logs, bytes.
const IMAGE: u64 = 512 << 20;
/// Memory of the guest, which includes the initial file system and the logs, MB.
pub(super) const MEMORY_MB: u64 = 2048;

/// Limits of a machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Its memory, MB.
    pub(super) memory_mb: u64,
    /// Time of the host after which it is given up.
    pub(super) host_time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory_mb: MEMORY_MB, host_time: None }
    }
}

impl Machine<'_> {
    /// Plays the scenario. `say` is called with the guest's messages.
    ///
    /// # Errors
    /// The laboratory does not support the scenario, QEMU is missing, or the guest failed.
    pub fn play(&self, say: &mut dyn FnMut(&str)) -> Result<Outcome, LabError> {
        plan::check(self.scenario)?;
        self.boot_for(Purpose::Play, initrd::Archive::new(), Limits::default(), say)
    }

    /// Boots for a purpose that leaves a record, with further files, and waits until the machine is off.
    pub(super) fn boot_for(
        &self,
        purpose: Purpose,
        files: initrd::Archive,
        limits: Limits,
        say: &mut dyn FnMut(&str),
    ) -> Result<Outcome, LabError> {
        let scratch = Scratch::create(&self.scratch)?;
        let image = scratch.path().join("record.img");
        let file = fs::File::create(&image).map_err(LabError::io("create", image.display().to_string()))?;
        // A sparse file.
        file.set_len(IMAGE).map_err(LabError::io("create", image.display().to_string()))?;
        drop(file);
        let mut machine = self.machine(scratch.path(), purpose, files, limits.memory_mb)?;
        machine.args(["-serial", "stdio", "-monitor", "none"]);
        machine.args(self.built.arch.record(&image, IMAGE));
        machine.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child = machine.spawn().map_err(LabError::io("start", "QEMU"))?;
        let output = child.stdout.take();
        let child = Watched::new(child, limits.host_time);
        let (mut complete, mut last) = (false, Vec::new());
        if let Some(output) = output {
            for line in BufReader::new(output).split(b'\n') {
                let line = line.map_err(LabError::io("read from", "QEMU"))?;
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if line == "lab: complete" {
                    // The record is written; a machine that switches itself off takes longer.
                    complete = true;
                    child.stop();
                }
                if let Some(words) = line.strip_prefix("lab: ") {
                    say(words);
                }
                last.push(line);
            }
        }
        let (output, late) = child.end()?;
        if !complete {
            if let Some(limit) = limits.host_time.filter(|_| late) {
                return Err(LabError::Guest(format!(
                    "not over after {} s of this host",
                    limit.as_secs_f64()
                )));
            }
            let words = String::from_utf8_lossy(&output.stderr);
            last.extend(words.lines().map(str::to_owned));
            return Err(LabError::Guest(last_lines(last)));
        }
        let mut outcome = collect(&image, begun.elapsed())?;
        let release = format!("Linux {}{}\n", self.built.release, self.built.pinned.remark());
        outcome.texts.push(("release.txt".to_owned(), release));
        Ok(outcome)
    }

    /// Opens a shell in the machine, with the scenario's network but without traffic.
    ///
    /// # Errors
    /// The laboratory does not support the scenario, or QEMU is missing.
    pub fn shell(&self) -> Result<(), LabError> {
        plan::check(self.scenario)?;
        let scratch = Scratch::create(&self.scratch)?;
        let mut machine = self.machine(scratch.path(), Purpose::Shell, initrd::Archive::new(), MEMORY_MB)?;
        machine.args(["-serial", "mon:stdio"]);
        let status = machine.status().map_err(LabError::io("start", "QEMU"))?;
        if status.success() { Ok(()) } else { Err(LabError::Guest("QEMU exited with an error".to_owned())) }
    }

    /// Runs a shell command in the access point's namespace, with the scenario's network but without traffic. `files` of the host are
    /// copied to `/files`. Its output goes to `out`; returns its exit code.
    ///
    /// # Errors
    /// The laboratory does not support the scenario, QEMU is missing, a file cannot be read, or the network did not come up.
    pub fn command(&self, command: &str, files: &[PathBuf], out: &mut dyn Write) -> Result<i32, LabError> {
        plan::check(self.scenario)?;
        let scratch = Scratch::create(&self.scratch)?;
        let mut archive = initrd::Archive::new();
        archive.file("lab/command", 0o755, command.as_bytes());
        for path in files {
            let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
            archive.file(&format!("files/{name}"), 0o755, &read(path)?);
        }
        let mut machine = self.machine(scratch.path(), Purpose::Command, archive, MEMORY_MB)?;
        machine.args(["-serial", "stdio", "-monitor", "none"]);
        machine.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = machine.spawn().map_err(LabError::io("start", "QEMU"))?;
        let mut show =
            |line: &[u8]| out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
        let (mut before, mut begun, mut held, mut code) = (Vec::new(), false, None::<Vec<u8>>, None);
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).split(b'\n') {
                let mut line = line.map_err(LabError::io("read from", "QEMU"))?;
                while line.last() == Some(&b'\r') {
                    line.pop();
                }
                let text = String::from_utf8_lossy(&line);
                if !begun {
                    begun = text == "lab: command";
                    before.push(text.into_owned());
                    continue;
                }
                // The line before the last one is empty if the output ended with a line feed.
                if let Some(word) = text.strip_prefix("lab: exit ") {
                    code = word.parse().ok();
                    let _ = child.kill();
                    held = held.filter(|held| !held.is_empty());
                }
                let last = code.is_some();
                if let Some(held) = if last { held.take() } else { held.replace(line) } {
                    show(&held).map_err(LabError::io("write", "the output"))?;
                }
            }
        }
        let output = child.wait_with_output().map_err(LabError::io("wait for", "QEMU"))?;
        code.ok_or_else(|| {
            let words = String::from_utf8_lossy(&output.stderr);
            before.extend(words.lines().map(str::to_owned));
            LabError::Guest(last_lines(before))
        })
    }

    /// The command of a machine whose initial file system has further files.
    fn machine(
        &self,
        scratch: &Path,
        purpose: Purpose,
        mut archive: initrd::Archive,
        memory_mb: u64,
    ) -> Result<Command, LabError> {
        let arch = self.built.arch;
        let (qemu, package) = arch.qemu();
        let qemu = program(qemu, &format!("sudo apt-get install --no-install-recommends {package}"))?;
        // The machine is killed when this program dies.
        let mut machine = match program("setpriv", "") {
            Ok(mut setpriv) => {
                setpriv.args(["--pdeathsig", "KILL"]).arg(qemu.get_program());
                setpriv
            }
            Err(_) => qemu,
        };
        let initrd = scratch.join("initrd");
        archive.file("init", 0o755, INIT.as_bytes());
        let settings = init::settings(self.scenario, purpose, self.network, arch);
        archive.file("lab/settings", 0o644, settings.as_bytes());
        archive.file("lab/hostapd.conf", 0o644, init::hostapd(self.scenario).as_bytes());
        archive.file("lab/scenario.toml", 0o644, self.scenario.to_toml().as_bytes());
        if let Some(arguments) = &self.network.agent {
            let config = self.network.agent_config.as_deref();
            archive.file("lab/agent", 0o644, init::agent(arguments, config.is_some()).as_bytes());
            if let Some(text) = config {
                archive.file(init::AGENT_CONFIG.trim_start_matches('/'), 0o600, text.as_bytes());
            }
        }
        initramfs::add_program(&mut archive, arch, &self.built.program)?;
        // The kernel unpacks concatenated archives.
        let mut both = read(&self.built.initramfs)?;
        both.extend_from_slice(&archive.finish());
        write(&initrd, both)?;
        machine.args(arch.machine()).args(["-nodefaults", "-display", "none", "-no-reboot"]);
        machine.arg("-m").arg(arch.memory(memory_mb));
        machine.args(["-accel", "tcg,thread=single,tb-size=512", "-icount", "shift=0,sleep=off"]);
        // The library knows the processor's thread by its name.
        machine.env("LD_PRELOAD", &self.built.turns).args(["-name", "airbound,debug-threads=on"]);
        machine.args(["-rtc", "base=2026-01-01T00:00:00,clock=vm"]);
        machine.arg("-kernel").arg(&self.built.kernel).arg("-initrd").arg(&initrd);
        machine.arg("-append").arg(format!(
            "console={} quiet loglevel=3 panic=-1 norandmaps random.trust_cpu=off random.trust_bootloader=off \
             mitigations=off",
            arch.console()
        ));
        Ok(machine)
    }
}

/// The last lines, at most 12, without empty ones.
fn last_lines(mut lines: Vec<String>) -> String {
    lines.retain(|line| !line.trim().is_empty());
    lines[lines.len().saturating_sub(12)..].join("\n")
}

fn collect(image: &Path, wall: Duration) -> Result<Outcome, LabError> {
    let mut outcome = Outcome { rows: Vec::new(), texts: Vec::new(), files: Vec::new(), wall };
    for (name, content) in unpack(image)? {
        if name.contains('/') {
            outcome.files.push((name, content));
        } else if name.ends_with(".log") {
            let rows = Row::read_all(&mut content.as_slice()).map_err(LabError::io("read", name))?;
            outcome.rows.extend(rows);
        } else {
            outcome.texts.push((name, String::from_utf8_lossy(&content).into_owned()));
        }
    }
    Ok(outcome)
}

//! The virtual machine: QEMU counting instructions, so that one instruction is one nanosecond and idle time is skipped.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use airbound_scenario::Scenario;

use super::build::Built;
use super::init::{self, Network, Purpose};
use super::{create, initramfs, initrd, program, read, write};
use crate::LabError;
use crate::guest::unpack;
use crate::log::Row;
use crate::plan;

/// A machine for one scenario.
#[derive(Debug)]
pub struct Machine<'a> {
    /// Kernel and initial file system.
    pub built: &'a Built,
    /// Scenario to be played; its seed is the run's.
    pub scenario: &'a Scenario,
    /// Setup of the access point: how it joins air and wire, and its agent.
    pub network: &'a Network,
    /// A folder for its files, which are removed afterwards.
    pub scratch: PathBuf,
}

/// Results that a machine left.
#[derive(Debug)]
pub struct Outcome {
    /// The rows of all logs.
    pub rows: Vec<Row>,
    /// Text files: what `iw` says of each station and of the channel.
    pub texts: Vec<(String, String)>,
    /// Wall time for which the machine ran.
    pub wall: Duration,
}

/// The first program.
const INIT: &str = include_str!("../../../../lab/guest/init.sh");
/// The room that the logs have.
const IMAGE: u64 = 512 << 20;
/// Memory of the guest, MB; initial file system and logs are in it.
const MEMORY: &str = "2048M,slots=1,maxmem=4096M";

impl Machine<'_> {
    /// Plays the scenario. `say` is told of what the guest prints.
    ///
    /// # Errors
    /// The scenario cannot be expressed, QEMU is missing, or the guest failed.
    pub fn play(&self, say: &mut dyn FnMut(&str)) -> Result<Outcome, LabError> {
        plan::check(self.scenario)?;
        let outcome = self.boot(say);
        self.clear();
        outcome
    }

    fn boot(&self, say: &mut dyn FnMut(&str)) -> Result<Outcome, LabError> {
        let image = self.scratch.join("record.img");
        create(&self.scratch)?;
        let file = fs::File::create(&image).map_err(LabError::io("create", image.display().to_string()))?;
        // Empty: only what is written takes room.
        file.set_len(IMAGE).map_err(LabError::io("create", image.display().to_string()))?;
        drop(file);
        let mut machine = self.machine(Purpose::Play, &[])?;
        machine.args(["-serial", "stdio", "-monitor", "none"]);
        // Not a disk: that answers in the host's time, and no two runs would be the same.
        let object =
            format!("memory-backend-file,id=record,share=on,size={IMAGE},mem-path={}", image.display());
        machine.arg("-object").arg(object).args(["-device", "nvdimm,memdev=record"]);
        machine.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        let mut child = machine.spawn().map_err(LabError::io("start", "qemu-system-x86_64"))?;
        let (mut complete, mut last) = (false, Vec::new());
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).split(b'\n') {
                let line = line.map_err(LabError::io("read from", "qemu-system-x86_64"))?;
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                complete |= line == "lab: complete";
                if let Some(words) = line.strip_prefix("lab: ") {
                    say(words);
                }
                last.push(line);
            }
        }
        let output = child.wait_with_output().map_err(LabError::io("wait for", "qemu-system-x86_64"))?;
        if !complete {
            let words = String::from_utf8_lossy(&output.stderr);
            last.extend(words.lines().map(str::to_owned));
            return Err(LabError::Guest(last_words(last)));
        }
        collect(&image, begun.elapsed())
    }

    /// Removes the machine's files; what cannot be removed does no harm.
    fn clear(&self) {
        for name in ["record.img", "initrd"] {
            let _ = fs::remove_file(self.scratch.join(name));
        }
        let _ = fs::remove_dir(&self.scratch);
    }

    /// Opens a shell in the machine, with the scenario's network up and no traffic.
    ///
    /// # Errors
    /// The scenario cannot be expressed, or QEMU is missing.
    pub fn shell(&self) -> Result<(), LabError> {
        plan::check(self.scenario)?;
        create(&self.scratch)?;
        let mut machine = self.machine(Purpose::Shell, &[])?;
        machine.args(["-serial", "mon:stdio"]);
        let status = machine.status().map_err(LabError::io("start", "qemu-system-x86_64"));
        self.clear();
        if status?.success() { Ok(()) } else { Err(LabError::Guest("QEMU ended with an error".to_owned())) }
    }

    /// Runs a command of the shell in the machine, in the access point's namespace, with the scenario's network up and no traffic.
    /// `files` of the host lie in `/files`. What it prints goes to `out`; returns what it exits with.
    ///
    /// # Errors
    /// The scenario cannot be expressed, QEMU is missing, a file cannot be read, or the network did not come up.
    pub fn command(&self, command: &str, files: &[PathBuf], out: &mut dyn Write) -> Result<i32, LabError> {
        plan::check(self.scenario)?;
        create(&self.scratch)?;
        let result = self.carry_out(command, files, out);
        self.clear();
        result
    }

    fn carry_out(&self, command: &str, files: &[PathBuf], out: &mut dyn Write) -> Result<i32, LabError> {
        let mut inside = vec![("lab/command".to_owned(), command.as_bytes().to_owned())];
        for path in files {
            let name = path.file_name().map(OsStr::to_string_lossy).unwrap_or_default();
            inside.push((format!("files/{name}"), read(path)?));
        }
        let mut machine = self.machine(Purpose::Command, &inside)?;
        machine.args(["-serial", "stdio", "-monitor", "none"]);
        machine.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = machine.spawn().map_err(LabError::io("start", "qemu-system-x86_64"))?;
        let mut show =
            |line: &[u8]| out.write_all(line).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
        let (mut before, mut begun, mut held, mut code) = (Vec::new(), false, None::<Vec<u8>>, None);
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).split(b'\n') {
                let mut line = line.map_err(LabError::io("read from", "qemu-system-x86_64"))?;
                while line.last() == Some(&b'\r') {
                    line.pop();
                }
                let text = String::from_utf8_lossy(&line);
                if !begun {
                    begun = text == "lab: command";
                    before.push(text.into_owned());
                    continue;
                }
                // The line before the last one is empty if the command ended its own.
                if let Some(word) = text.strip_prefix("lab: exit ") {
                    code = word.parse().ok();
                    held = held.filter(|held| !held.is_empty());
                }
                let last = code.is_some();
                if let Some(held) = if last { held.take() } else { held.replace(line) } {
                    show(&held).map_err(LabError::io("write", "the output"))?;
                }
            }
        }
        let output = child.wait_with_output().map_err(LabError::io("wait for", "qemu-system-x86_64"))?;
        code.ok_or_else(|| {
            let words = String::from_utf8_lossy(&output.stderr);
            before.extend(words.lines().map(str::to_owned));
            LabError::Guest(last_words(before))
        })
    }

    fn machine(&self, purpose: Purpose, files: &[(String, Vec<u8>)]) -> Result<Command, LabError> {
        let qemu =
            program("qemu-system-x86_64", "sudo apt-get install --no-install-recommends qemu-system-x86")?;
        // The machine must not outlive this program, whatever ends it.
        let mut machine = match program("setpriv", "") {
            Ok(mut setpriv) => {
                setpriv.args(["--pdeathsig", "KILL"]).arg(qemu.get_program());
                setpriv
            }
            Err(_) => qemu,
        };
        let initrd = self.scratch.join("initrd");
        let mut archive = initrd::Archive::new();
        archive.file("init", 0o755, INIT.as_bytes());
        archive.file("lab/settings", 0o644, init::settings(self.scenario, purpose, self.network).as_bytes());
        archive.file("lab/hostapd.conf", 0o644, init::hostapd(self.scenario).as_bytes());
        archive.file("lab/scenario.toml", 0o644, self.scenario.to_toml().as_bytes());
        if let Some(arguments) = &self.network.agent {
            let config = self.network.agent_config.as_deref();
            archive.file("lab/agent", 0o644, init::agent(arguments, config.is_some()).as_bytes());
            if let Some(text) = config {
                archive.file(init::AGENT_CONFIG.trim_start_matches('/'), 0o600, text.as_bytes());
            }
        }
        for (name, content) in files {
            archive.file(name, 0o755, content);
        }
        initramfs::add_program(&mut archive, &self.built.program)?;
        // The kernel unpacks one archive behind another.
        let mut both = read(&self.built.initramfs)?;
        both.extend_from_slice(&archive.finish());
        write(&initrd, both)?;
        // Machines of QEMU 7.1 and before do not hand a random seed to the guest: it would differ from run to run.
        machine.args([
            "-machine",
            "pc-q35-7.1,nvdimm=on",
            "-nodefaults",
            "-display",
            "none",
            "-no-reboot",
            "-m",
            MEMORY,
        ]);
        machine.args(["-accel", "tcg,thread=single,tb-size=512", "-icount", "shift=0,sleep=off"]);
        machine.args(["-rtc", "base=2026-01-01T00:00:00,clock=vm", "-cpu", "max,-rdrand,-rdseed"]);
        machine.arg("-kernel").arg(&self.built.kernel).arg("-initrd").arg(&initrd);
        machine.arg("-append").arg(
            "console=ttyS0 quiet loglevel=3 panic=-1 norandmaps random.trust_cpu=off random.trust_bootloader=off \
             mitigations=off",
        );
        Ok(machine)
    }
}

/// Returns the last lines, at most 12, without empty ones.
fn last_words(mut lines: Vec<String>) -> String {
    lines.retain(|line| !line.trim().is_empty());
    lines[lines.len().saturating_sub(12)..].join("\n")
}

fn collect(image: &Path, wall: Duration) -> Result<Outcome, LabError> {
    let mut outcome = Outcome { rows: Vec::new(), texts: Vec::new(), wall };
    for (name, content) in unpack(image)? {
        if name.ends_with(".log") {
            let rows = Row::read_all(&mut content.as_slice()).map_err(LabError::io("read", name))?;
            outcome.rows.extend(rows);
        } else {
            outcome.texts.push((name, String::from_utf8_lossy(&content).into_owned()));
        }
    }
    Ok(outcome)
}

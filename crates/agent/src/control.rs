//! The control socket: changes of demands while the agent runs, and the client of `airbound agent set`.
//!
//! A Unix socket `/var/run/airbound/INTERFACE.sock` with mode 0600, in a folder that only its owner may enter; further interfaces of the
//! agent are links to that of the first. A connection carries one
//! [`Request`] as a line of JSON and gets one answer. Its bytes and its time are bounded; the event loop never waits for a client.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use airbound_units::Span;
use serde::{Deserialize, Serialize};

use crate::error::AgentError;

/// The folder of the control sockets.
pub const FOLDER: &str = "/var/run/airbound";
/// Longest request or answer, with its line feed.
const LONGEST: usize = 4096;
/// Time limit of a connection, and for the event loop's answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// A change of a rule's demand; what is left out stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Request {
    /// Name of the rule.
    pub rule: String,
    /// The new latency.
    #[serde(default)]
    pub latency: Option<Span>,
    /// The new percentile.
    #[serde(default)]
    pub percentile: Option<f64>,
}

/// A demand, and its record while it was in force.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// The demanded latency.
    pub demand_ms: f64,
    /// The percentile that the demand bounds.
    pub percentile: f64,
    /// That percentile while the demand was in force; `None` without packets.
    pub measured_ms: Option<f64>,
    /// Seconds with acknowledged packets.
    pub seconds: u64,
    /// Those of them that met the demand.
    pub seconds_met: u64,
}

/// A demand that was changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Name of the rule.
    pub rule: String,
    /// The new latency.
    pub demand_ms: f64,
    /// The new percentile.
    pub percentile: f64,
    /// The demand before, with its record.
    pub before: Period,
}

impl Changed {
    /// The change as a sentence.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Self { rule, demand_ms, percentile, before } = self;
        let record = before.measured_ms.map_or_else(String::new, |measured| {
            format!(", which was met in {} of {} s ({measured:.1} ms)", before.seconds_met, before.seconds)
        });
        format!(
            "{rule}: {percentile} percent within {demand_ms} ms, in the place of {} percent within {} ms{record}\n",
            before.percentile, before.demand_ms
        )
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Changed(Changed),
    Refused(String),
}

/// A request that waits for the event loop.
#[derive(Debug)]
pub struct Asked {
    /// The request.
    pub request: Request,
    answer: SyncSender<Answer>,
}

impl Asked {
    /// Answers the client.
    pub fn answer(&self, result: Result<Changed, AgentError>) {
        let answer = result.map_or_else(|error| Answer::Refused(error.to_string()), Answer::Changed);
        // A client that no longer waits is nobody's loss.
        let _ = self.answer.try_send(answer);
    }
}

/// The socket's file and the links to it, removed with this value.
#[derive(Debug)]
pub struct Socket(Vec<PathBuf>);

impl Drop for Socket {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> AgentError {
    let path = path.to_owned();
    move |source| AgentError::Io { action, path, source }
}

/// Makes the folder private to this process's user.
fn prepare(folder: &Path) -> Result<(), AgentError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed("make", folder)(error)),
        _ => {}
    }
    // A link is not followed.
    let facts = fs::symlink_metadata(folder).map_err(failed("read", folder))?;
    if !facts.is_dir() || facts.uid() != rustix::process::geteuid().as_raw() {
        let problem = format!("{} is no folder of this user", folder.display());
        return Err(AgentError::Value(problem));
    }
    if facts.mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(failed("protect", folder))?;
    }
    Ok(())
}

/// Serves requests for the agent of interfaces, the first of which names the socket, in a thread that lives as long as the process.
///
/// # Errors
/// The socket cannot be made, or another process listens there.
pub fn serve(folder: &Path, interfaces: &[String], asked: SyncSender<Asked>) -> Result<Socket, AgentError> {
    prepare(folder)?;
    let mut names = interfaces.iter().map(|interface| format!("{interface}.sock"));
    let name = names.next().ok_or_else(|| AgentError::Value("no interface is named".to_owned()))?;
    let path = folder.join(&name);
    if UnixStream::connect(&path).is_ok() {
        return Err(AgentError::Value(format!("another agent listens at {}", path.display())));
    }
    // That of an agent that was killed.
    let _ = fs::remove_file(&path);
    let listener = UnixListener::bind(&path).map_err(failed("listen at", &path))?;
    let mut socket = Socket(vec![path.clone()]);
    fs::set_permissions(&path, Permissions::from_mode(0o600)).map_err(failed("protect", &path))?;
    for link in names.map(|name| folder.join(name)) {
        let _ = fs::remove_file(&link);
        symlink(&name, &link).map_err(failed("link", &link))?;
        socket.0.push(link);
    }
    let serve = move || {
        for stream in listener.incoming() {
            match stream {
                // Errors of a connection concern its client only.
                Ok(stream) => drop(attend(stream, &asked)),
                // Mostly a shortage of descriptors: retry after a pause.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    };
    thread::Builder::new().name("control".to_owned()).spawn(serve).map_err(failed("serve", &path))?;
    Ok(socket)
}

fn attend(mut stream: UnixStream, asked: &SyncSender<Asked>) -> io::Result<()> {
    stream.set_write_timeout(Some(TIMEOUT))?;
    let line = read_line(&mut stream)?;
    let answer = match read(&line) {
        Ok(request) => ask(request, asked),
        Err(problem) => Answer::Refused(problem),
    };
    write_line(&mut stream, &answer)
}

/// Reads a request; the error is a sentence.
fn read(line: &[u8]) -> Result<Request, String> {
    if line.len() > LONGEST {
        return Err(format!("the request is longer than {LONGEST} bytes"));
    }
    let request: Request =
        serde_json::from_slice(line).map_err(|error| format!("the request is wrong: {error}"))?;
    if request.latency.is_none() && request.percentile.is_none() {
        return Err("the request changes nothing; it needs latency or percentile".to_owned());
    }
    Ok(request)
}

/// Hands a request to the event loop, and waits for its answer.
fn ask(request: Request, asked: &SyncSender<Asked>) -> Answer {
    let busy = || Answer::Refused("the agent does not answer; nothing was changed".to_owned());
    let (answer, answered) = sync_channel(1);
    match asked.try_send(Asked { request, answer }) {
        Ok(()) => answered.recv_timeout(TIMEOUT).unwrap_or_else(|_| {
            Answer::Refused(
                "the agent did not answer in time; `airbound agent status` shows the demand".to_owned(),
            )
        }),
        Err(_) => busy(),
    }
}

/// Reads a line, at most [`LONGEST`] bytes and some, within [`TIMEOUT`].
fn read_line(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + TIMEOUT;
    let mut line = Vec::new();
    let mut part = [0; 512];
    while !line.ends_with(b"\n") && line.len() <= LONGEST {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => break,
            read => line.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
    }
    Ok(line)
}

fn write_line(stream: &mut UnixStream, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line)
}

/// The socket of an interface's agent, or of the only agent of this machine.
///
/// # Errors
/// There is none, or there are several.
pub fn find(folder: &Path, interface: Option<&str>) -> Result<PathBuf, String> {
    if let Some(interface) = interface {
        return Ok(folder.join(format!("{interface}.sock")));
    }
    let none = |why: String| format!("no agent takes changes here: {why}");
    let entries = fs::read_dir(folder).map_err(|error| none(format!("{}: {error}", folder.display())))?;
    let mut found: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ending| ending == "sock") && !path.is_symlink())
        .collect();
    found.sort();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(none(format!("{} holds no socket", folder.display()))),
        several => {
            let names: Vec<_> =
                several.iter().filter_map(|path| Some(path.file_stem()?.to_string_lossy())).collect();
            Err(format!("several agents run; name one with --iface: {}", names.join(", ")))
        }
    }
}

/// Asks a running agent to change a demand.
///
/// # Errors
/// The agent cannot be reached, or refuses.
pub fn change(socket: &Path, request: &Request) -> Result<Changed, String> {
    let fetch = || -> io::Result<Vec<u8>> {
        let mut stream = UnixStream::connect(socket)?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        write_line(&mut stream, request)?;
        // The agent may need its whole time.
        stream.set_read_timeout(Some(2 * TIMEOUT))?;
        let mut answer = Vec::new();
        stream.take(LONGEST as u64).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = fetch().map_err(|error| {
        format!(
            "cannot reach an agent at {}: {error}; `airbound agent run` has to run, of the same user",
            socket.display()
        )
    })?;
    match serde_json::from_slice(&answer) {
        Ok(Answer::Changed(changed)) => Ok(changed),
        Ok(Answer::Refused(why)) => Err(why),
        Err(_) => {
            Err(format!("the program at {} is not an airbound agent of this version", socket.display()))
        }
    }
}

#[cfg(test)]
#[path = "../tests/parsers/control.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Receiver;

    fn request(rule: &str) -> Request {
        Request { rule: rule.to_owned(), latency: Some(Span::from_millis(15)), percentile: None }
    }

    /// An agent with one rule, `vr`.
    fn agent(folder: &Path) -> Socket {
        let (sender, receiver): (_, Receiver<Asked>) = sync_channel(1);
        let socket = serve(folder, &["wlan0".to_owned(), "guest".to_owned()], sender).expect("a socket");
        thread::spawn(move || {
            for asked in receiver {
                let known = asked.request.rule == "vr";
                let changed = Changed { rule: asked.request.rule.clone(), ..Changed::default() };
                asked.answer(if known {
                    Ok(changed)
                } else {
                    Err(AgentError::Value("no such rule".to_owned()))
                });
            }
        });
        socket
    }

    #[test]
    fn a_change_is_asked_for_and_answered() {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = folder.path().join("airbound");
        let socket = agent(&runtime);
        assert_eq!(fs::metadata(&socket.0[0]).expect("a file").mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&runtime).expect("a folder").mode() & 0o777, 0o700);
        let path = find(&runtime, None).expect("one");
        assert_eq!(path, socket.0[0]);
        assert_eq!(change(&path, &request("vr")).expect("known").rule, "vr");
        let other = find(&runtime, Some("guest")).expect("named");
        assert_eq!(change(&other, &request("vr")).expect("the same agent").rule, "vr");
        assert_eq!(change(&path, &request("tv")), Err("no such rule".to_owned()));
        // A second agent does not take the socket away; one that was killed leaves a file.
        let (sender, _receiver) = sync_channel(1);
        assert!(
            serve(&runtime, &["wlan0".to_owned()], sender)
                .expect_err("taken")
                .to_string()
                .contains("another agent listens")
        );
        assert!(change(&path, &request("vr")).is_ok());
        drop(socket);
        assert!(!path.exists() && !other.is_symlink() && find(&runtime, None).is_err());
        drop(UnixListener::bind(&path).expect("a socket"));
        assert!(
            path.exists()
                && change(&path, &request("vr")).expect_err("closed").contains("cannot reach an agent")
        );
        let (sender, _receiver) = sync_channel(1);
        serve(&runtime, &["wlan0".to_owned()], sender).expect("a leftover is replaced");
    }

    #[test]
    fn a_wrong_request_is_refused_with_a_sentence() {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = agent(folder.path());
        let answer = |bytes: &[u8]| {
            let mut stream = UnixStream::connect(&socket.0[0]).expect("connected");
            let _ = stream.write_all(bytes);
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        };
        let said = |text: &str| answer(text.as_bytes()).expect("an answer");
        assert!(said("{\"rule\": \"vr\", \"speed\": 3}\n").contains("unknown field `speed`"));
        assert!(said("{\"rule\": \"vr\", \"latency\": \"soon\"}\n").contains("refused"));
        assert!(said("{\"rule\": \"vr\"}\n").contains("changes nothing"));
        assert!(said("nonsense\n").contains("the request is wrong"));
        // Too much is not read to its end: either the sentence arrives, or the connection is reset.
        assert!(
            answer(&[b'x'; 3 * LONGEST]).is_ok_and(|text| text.contains("longer than"))
                || socket.0[0].exists()
        );
        assert!(said("{\"rule\": \"vr\", \"latency\": \"9 ms\"}\n").contains("changed"));
    }

    #[test]
    fn a_folder_of_somebody_else_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path(), &link).expect("a link");
        assert!(prepare(&link).expect_err("a link").to_string().contains("no folder of this user"));
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("to set permissions");
        prepare(folder.path()).expect("its own");
        assert_eq!(fs::metadata(folder.path()).expect("a folder").mode() & 0o777, 0o700);
    }

    #[test]
    fn several_agents_have_to_be_named() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["wlan1.sock", "wlan0.sock", "other"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        assert!(find(folder.path(), None).expect_err("two").ends_with("wlan0, wlan1"));
        assert!(find(folder.path(), Some("wlan1")).expect("named").ends_with("wlan1.sock"));
    }
}

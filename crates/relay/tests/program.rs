//! The program: both ends over loopback, and input that it refuses.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_airbound-relay");
const KEY: &str = "00112233445566778899aabbccddeeff";

/// A process that ends with its owner.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> SocketAddr {
    UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("loopback")
}

fn put(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
}

fn run(arguments: &[&str]) -> Output {
    Command::new(PROGRAM).args(arguments).output().expect("the program")
}

/// Asserts that the program refuses its arguments with one sentence that contains `words`.
fn refused(arguments: &[&str], words: &str) {
    let output = run(arguments);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains(words), "{error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    assert!(output.stdout.is_empty());
}

#[test]
fn wrong_input_is_one_sentence_and_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str, mode| {
        let path = folder.path().join(name);
        put(&path, text, mode);
        path.to_str().expect("UTF-8").to_owned()
    };
    let good = file("good", &format!("vr 0 {KEY}\n"), 0o600);
    let edge = ["edge", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--metrics", "off", "--dry-run"];
    let with = |keys: &str, more: &[&str], words: &str| {
        let mut arguments = edge.to_vec();
        arguments.extend(["--keys", keys]);
        arguments.extend(more);
        refused(&arguments, words);
    };
    with(
        &file("short", "vr 0 0011\n", 0o600),
        &[],
        "line 1: the key has 4 characters; 32 hexadecimal digits",
    );
    with(&file("open", &format!("vr 0 {KEY}\n"), 0o644), &[], "may be read by others; `chmod 600");
    with(&file("writable", &format!("vr 0 {KEY}\n"), 0o622), &[], "may be written by others");
    with(&file("empty", "# none\n", 0o600), &[], "there is no key");
    with("/nowhere/keys", &[], "/nowhere/keys cannot be read");
    with(&good, &["--largest", "1100"], "largest is 1100; allowed are 1200 to 65507");
    with(&good, &["--txtime", "lo"], "lo sends no packet at its time: its queueing discipline is");
    with(&good, &["--txtime", "lo"], "`tc qdisc replace dev lo root fq` sets it");
    with(&good, &["--txtime", "no-such-device"], "there is no network interface no-such-device");
    with(&good, &["--target", "0"], "target is out of range: 1 to 256 packets");
    with(&good, &["--most", "1 kbit/s"], "most is out of range");
    refused(
        &["edge", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--keys", &good, "--metrics", "on"],
        "metrics is \"on\"",
    );
    refused(&["edge", "--listen", "somewhere"], "invalid value 'somewhere' for '--listen <ADDRESS>'");
    let many: String = (1..257).map(|name| format!("c{name} 0 {name:032x}\n")).collect();
    let many = many + &format!("more 0 {KEY}\n");
    with(&file("many", &many, 0o600), &[], "more clients than an edge serves: 256");
    refused(&["edge", "--listen", "127.0.0.1:0", "--keys", &good], "--to is missing");
    refused(&["client", "--edge", "127.0.0.1:9", "--listen", "127.0.0.1:0"], "--keys is missing");
    let occupied = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let taken = occupied.local_addr().expect("bound").to_string();
    let mut arguments = edge.to_vec();
    arguments[2] = &taken;
    arguments.extend(["--keys", &good]);
    refused(&arguments, "is taken by another program");
    drop(occupied);
    let output = run(&[
        "edge",
        "--listen",
        "127.0.0.1:0",
        "--to",
        "127.0.0.1:9",
        "--keys",
        &good,
        "--metrics",
        "off",
        "--dry-run",
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 client (vr)"));
}

#[test]
fn a_printed_key_is_a_line_of_a_file() {
    let output = run(&["key", "--name", "vr", "--epoch", "3"]);
    let line = String::from_utf8(output.stdout).expect("UTF-8");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((words[0], words[1], words[2].len()), ("vr", "3", 32));
    refused(&["key", "--epoch", "16"], "the epoch is 16; allowed are 0 to 15");
}

/// Sends until the backend has a datagram and the application its answer; returns how long that took.
fn through(application: &UdpSocket, backend: &UdpSocket) -> Duration {
    let begin = Instant::now();
    let mut bytes = [0; 2000];
    application.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    backend.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout");
    while begin.elapsed() < Duration::from_secs(20) {
        let _ = application.send(b"question");
        if let Ok((length, from)) = backend.recv_from(&mut bytes) {
            assert_eq!(&bytes[..length], b"question");
            backend.send_to(b"answer", from).expect("sent");
        }
        if let Ok(length) = application.recv(&mut bytes) {
            assert_eq!(&bytes[..length], b"answer");
            return begin.elapsed();
        }
    }
    panic!("nothing came through");
}

#[test]
fn datagrams_go_both_ways_and_an_edge_that_is_killed_is_found_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys");
    put(&keys, &format!("vr 0 {KEY}\n"), 0o600);
    let keys = keys.to_str().expect("UTF-8");
    let (listen, local) = (free_port().to_string(), free_port().to_string());
    let backend = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let to = backend.local_addr().expect("bound").to_string();
    let start = |arguments: &[&str], journal: &str| {
        let journal = folder.path().join(journal);
        let mut command = Command::new(PROGRAM);
        command.args(arguments).args(["--keys", keys, "--journal"]).arg(journal).stderr(Stdio::inherit());
        Ended(command.spawn().expect("the program"))
    };
    let edge_arguments = ["edge", "--listen", &listen, "--to", &to, "--metrics", "off"];
    let edge = start(&edge_arguments, "edge");
    let _client = start(&["client", "--edge", &listen, "--listen", &local], "client");
    let application = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    application.connect(&local).expect("loopback");
    through(&application, &backend);
    drop(edge);
    std::thread::sleep(Duration::from_millis(1500));
    let _edge = start(&edge_arguments, "edge");
    let back = through(&application, &backend);
    // Two seconds, and what a busy machine adds.
    assert!(back < Duration::from_secs(4), "{back:?}");
    let journal = fs::read_to_string(folder.path().join("edge")).expect("a journal");
    assert_eq!(journal.lines().filter(|line| line.contains("\"event\":\"joined\"")).count(), 2, "{journal}");
}

#[test]
fn a_new_key_loses_no_datagram() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (old, new) = (format!("vr 0 {KEY}\n"), format!("vr 1 {}\n", KEY.replace('0', "5")));
    put(&path("edge-keys"), &old, 0o600);
    put(&path("client-keys"), &old, 0o600);
    let (listen, local) = (free_port().to_string(), free_port().to_string());
    let backend = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let to = backend.local_addr().expect("bound").to_string();
    let start = |arguments: &[&str], name: &str| {
        let mut command = Command::new(PROGRAM);
        command
            .args(arguments)
            .arg("--keys")
            .arg(path(&format!("{name}-keys")))
            .arg("--journal")
            .arg(path(name));
        Ended(command.spawn().expect("the program"))
    };
    let _edge = start(&["edge", "--listen", &listen, "--to", &to, "--metrics", "off"], "edge");
    let _client = start(&["client", "--edge", &listen, "--listen", &local], "client");
    let application = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    application.connect(&local).expect("loopback");
    through(&application, &backend);
    let has = |name: &str, words: &str| fs::read_to_string(path(name)).unwrap_or_default().contains(words);
    backend.set_nonblocking(true).expect("an option");
    let mut bytes = [0; 2000];
    while backend.recv(&mut bytes).is_ok() {}
    let (mut sent, mut received) = (0_u32, 0);
    let mut during = |until: &dyn Fn() -> bool| {
        let begin = Instant::now();
        let mut after = 20;
        while begin.elapsed() < Duration::from_secs(30) && after > 0 {
            application.send(format!("number {sent}").as_bytes()).expect("sent");
            sent += 1;
            std::thread::sleep(Duration::from_millis(10));
            while let Ok(length) = backend.recv(&mut bytes) {
                received += u32::from(bytes[..length].starts_with(b"number "));
            }
            // Some more once it has happened.
            after -= u32::from(until());
        }
    };
    put(&path("edge-keys"), &format!("{old}{new}"), 0o600);
    during(&|| has("edge", "\"event\":\"keys\""));
    put(&path("client-keys"), &format!("{old}{new}"), 0o600);
    during(&|| has("edge", "\"epoch\":1"));
    put(&path("edge-keys"), &new, 0o600);
    let changes =
        || fs::read_to_string(path("edge")).unwrap_or_default().matches("\"event\":\"keys\"").count() == 2;
    during(&changes);
    assert!(has("edge", "\"epoch\":1") && changes(), "the keys were not taken");
    assert!(sent > 100);
    assert_eq!(received, sent);
}

#[test]
fn metrics_that_others_reach_are_told_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let keys = folder.path().join("keys");
    put(&keys, &format!("vr 0 {KEY}\n"), 0o600);
    let keys = keys.to_str().expect("UTF-8");
    let said = |metrics: &str| {
        let edge = ["edge", "--listen", "127.0.0.1:0", "--to", "127.0.0.1:9", "--keys", keys, "--dry-run"];
        let output = run(&[&edge[..], &["--metrics", metrics]].concat());
        assert!(output.status.success());
        String::from_utf8(output.stderr).expect("UTF-8")
    };
    assert_eq!(said("0.0.0.0:9479"), "0.0.0.0:9479 shows names and rates of clients to whoever reaches it\n");
    assert_eq!((said("127.0.0.1:9479"), said("off")), (String::new(), String::new()));
}

/// Joins two clients of an edge that may open few files: the second has no socket to the backend, which the journal says, until the first
/// has left.
#[test]
fn a_client_without_a_socket_to_the_backend_gets_one_when_there_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    put(&path("keys-all"), &format!("a 0 {KEY}\nb 0 {}\n", KEY.replace('0', "5")), 0o600);
    put(&path("keys-a"), &format!("a 0 {KEY}\n"), 0o600);
    put(&path("keys-b"), &format!("b 0 {}\n", KEY.replace('0', "5")), 0o600);
    let listen = free_port().to_string();
    let backend = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    let to = backend.local_addr().expect("bound").to_string();
    let start = |arguments: &[&str], name: &str, keys: &str| {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).arg("--keys").arg(path(keys)).arg("--journal").arg(path(name));
        Ended(command.spawn().expect("the program"))
    };
    let metrics = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    let metrics = metrics.expect("loopback").to_string();
    let edge = start(&["edge", "--listen", &listen, "--to", &to, "--metrics", &metrics], "edge", "keys-all");
    let journal = || fs::read_to_string(path("edge")).unwrap_or_default();
    let wait = |words: &str| {
        let begin = Instant::now();
        while !journal().contains(words) {
            assert!(begin.elapsed() < Duration::from_secs(30), "no {words} in:\n{}", journal());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait("\"event\":\"started\"");
    let (local_a, local_b) = (free_port().to_string(), free_port().to_string());
    let a = start(&["client", "--edge", &listen, "--listen", &local_a], "a", "keys-a");
    wait("\"client\":\"a\"");
    // No file more than it has open.
    let is_free = |number: &u64| !Path::new(&format!("/proc/{}/fd/{number}", edge.0.id())).exists();
    let first_free = (0..).find(is_free).expect("a number");
    limit(&edge.0, first_free);
    let _b = start(&["client", "--edge", &listen, "--listen", &local_b], "b", "keys-b");
    wait("\"event\":\"backend-refused\"");
    assert!(journal().contains("the kernel gives no socket: Too many open files"), "{}", journal());
    limit(&edge.0, 1024);
    wait("\"event\":\"backend\"");
    let text = scrape(&metrics);
    let figure = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number")
    };
    assert!(figure("airbound_relay_backend_failures_total") >= 1.0);
    assert_eq!(figure("airbound_relay_clients_without_backend"), 0.0);
    let application = UdpSocket::bind("127.0.0.1:0").expect("loopback");
    application.connect(&local_b).expect("loopback");
    through(&application, &backend);
    drop(a);
}

/// Sets the number of files that a process may open.
fn limit(child: &Child, files: u64) {
    let pid = rustix::process::Pid::from_raw(child.id() as i32).expect("a process");
    let limit = rustix::process::Rlimit { current: Some(files), maximum: Some(1024) };
    rustix::process::prlimit(Some(pid), rustix::process::Resource::Nofile, limit).expect("a limit");
}

fn scrape(address: &str) -> String {
    use std::io::{Read, Write};
    // The text is written once a second.
    std::thread::sleep(Duration::from_millis(1200));
    let mut stream = std::net::TcpStream::connect(address).expect("the metrics");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    text
}

//! The program: input that it refuses, a client's report, and a relay's rate.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use super::stub::{Kind, Stub, certificate, put, send};

const PROGRAM: &str = env!("CARGO_BIN_EXE_airbound-room");

/// A process that ends with its owner.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(arguments: &[&str]) -> (Ended, impl Iterator<Item = String> + use<>) {
    let mut command = Command::new(PROGRAM);
    command.arg("bitrate").args(arguments).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program");
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    (Ended(child), lines.map(|line| line.expect("UTF-8")))
}

fn refused(arguments: &[&str], words: &str) {
    let Output { status, stdout, stderr } =
        Command::new(PROGRAM).arg("bitrate").args(arguments).output().expect("the program");
    let error = String::from_utf8_lossy(&stderr);
    assert!(error.contains(words), "{arguments:?}: {error}");
    assert_eq!(status.code(), Some(2), "{error}");
    assert_eq!(error.trim_end().lines().count(), 1, "{error}");
    assert!(stdout.is_empty());
}

#[test]
fn wrong_input_is_one_sentence_and_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        put(&path, bytes);
        path.to_str().expect("UTF-8").to_owned()
    };
    let (certificate, key) = certificate(folder.path(), "client");
    let (certificate, key) = (certificate.to_str().expect("UTF-8"), key.to_str().expect("UTF-8"));
    refused(&["--listen", "192.0.2.1:80"], "--listen 192.0.2.1:80 is not a loopback address");
    refused(&["--bitrate", "1 Mbit/s"], "bitrate is 1 Mbit/s; allowed is the value of least to that of most");
    refused(&["--most", "1 Gbit/s"], "most is 1 Gbit/s; allowed is 500 kbit/s to 500 Mbit/s");
    refused(&["--queue", "1 s"], "queue is 1 s; allowed is 2 ms to 500 ms");
    refused(&["--host", "http://192.0.2.1:80"], "a loopback address");
    refused(&["--host", "https://192.0.2.1:47984"], "needs --certificate, --key and --host-certificate");
    refused(&["--relay", "http://127.0.0.1:9479"], "--host");
    refused(&["--quiet"], "--token-file");
    refused(&["--token-file", &file("short", b"0123456789abcde\n")], "has no token");
    refused(&["--token-file", "/nowhere/token"], "cannot read /nowhere/token");
    let tls = |certificate: &str, key: &str, host: &str, words: &str| {
        let given = [
            "--host",
            "https://127.0.0.1:9",
            "--certificate",
            certificate,
            "--key",
            key,
            "--host-certificate",
            host,
        ];
        refused(&given, words);
    };
    let empty = file("empty", b"this is no certificate\n");
    tls(&empty, key, certificate, "empty has no certificate in PEM");
    tls(certificate, &empty, certificate, "empty has no key in PEM");
    tls(certificate, key, &empty, "empty has no certificate in PEM");
    let stub = Stub::new(Kind::Version2, None);
    let address = format!("http://{}", stub.address);
    refused(&["--host", &address, "--listen", "127.0.0.1:0"], "has version 2 of the interface");
    stub.becomes(Kind::Sunshine);
    refused(&["--host", &address, "--listen", "127.0.0.1:0"], "with status 404");
    refused(&["--host", &address, "--relay", &address], "/metrics is not that of `airbound relay edge`");
}

#[test]
fn a_report_sets_the_host() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = folder.path().join("token");
    put(&token, b"0123456789abcdef\n");
    let stub = Stub::new(Kind::Foundation, None);
    let host = format!("http://{}", stub.address);
    let token = token.to_str().expect("UTF-8");
    let (_program, mut lines) =
        start(&["--host", &host, "--listen", "127.0.0.1:0", "--token-file", token, "--json"]);
    let taken: serde_json::Value = serde_json::from_str(&lines.next().expect("a line")).expect("JSON");
    assert_eq!(taken["why"], "the host has 20 Mbit/s");
    let ready: serde_json::Value = serde_json::from_str(&lines.next().expect("a line")).expect("JSON");
    let why = ready["why"].as_str().expect("a sentence");
    let address = why.strip_prefix("http://").and_then(|rest| rest.split(' ').next());
    let address = address.and_then(|text| text.parse().ok()).expect("an address");
    let body = r#"{"packetLoss":30}"#;
    let answer = send(
        address,
        &format!(
            "POST /api/abr/feedback HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer 0123456789abcdef\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ),
    );
    let rate = stub.last_rate().expect("a rate");
    assert!(rate < 20_000 && answer.contains(&format!("\"newBitrate\":{rate}")), "{rate} {answer}");
    let change: serde_json::Value = serde_json::from_str(&lines.next().expect("a line")).expect("JSON");
    assert_eq!((change["from_kbps"].as_u64(), change["to_kbps"].as_u64()), (Some(20_000), Some(rate)));
}

#[test]
fn a_relays_rate_sets_the_host() {
    let metrics = "airbound_relay_clients 2\nairbound_relay_rate_bits_per_second{client=\"deck\"} 12000000\n\
        airbound_relay_rate_bits_per_second{client=\"tv\"} 90000000\n\
        airbound_relay_limit{client=\"deck\",reason=\"the air is full\"} 1\n";
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let relay = format!("http://{}", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        use std::io::{Read, Write};
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{metrics}");
        }
    });
    let stub = Stub::new(Kind::Foundation, None);
    let host = format!("http://{}", stub.address);
    refused(&["--host", &host, "--relay", &relay], "has stations deck, tv; --station names one of them");
    let (_program, mut lines) = start(&["--host", &host, "--relay", &relay, "--station", "deck"]);
    assert_eq!(lines.next().as_deref(), Some("the host has 20 Mbit/s"));
    assert_eq!(
        lines.next().as_deref(),
        Some("20 Mbit/s to 10.2 Mbit/s: the receiver's allocated rate is 12 Mbit/s: the air is full")
    );
    assert_eq!(stub.last_rate(), Some(10_200));
}

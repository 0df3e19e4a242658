//! A stub of a host's routes: what `src/nvhttp.cpp` of both sources answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::hash::MessageDigest;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;
use openssl::ssl::{SslAcceptor, SslFiletype, SslMethod, SslVerifyMode};
use openssl::x509::{X509, X509NameBuilder};

/// The behaviour of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Foundation Sunshine: decides itself, knows clients by name.
    Foundation,
    /// Vibepollo with an upper limit in kbit/s.
    Vibepollo(u64),
    /// Foundation without a stream.
    Idle,
    /// A later version of the interface.
    Version2,
    /// Sunshine without these routes.
    Sunshine,
    /// Says that it has a rate of 99999999.
    Liar,
    /// Answers with half a document.
    Torn,
    /// Takes connections and says nothing.
    Slow,
}

/// A host on loopback, which can change.
pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    pub(crate) kind: Arc<Mutex<Kind>>,
    /// Request lines and bodies.
    pub(crate) asked: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    /// A host, with TLS if there is a certificate and its key.
    pub(crate) fn new(kind: Kind, files: Option<(&Path, &Path)>) -> Self {
        let acceptor = files.map(|(certificate, key)| {
            let mut builder = SslAcceptor::mozilla_intermediate(SslMethod::tls()).expect("TLS");
            builder.set_certificate_chain_file(certificate).expect("a certificate");
            builder.set_private_key_file(key, SslFiletype::PEM).expect("a key");
            // A client without a certificate is not paired.
            let verify = SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT;
            builder.set_verify_callback(verify, |_, _| true);
            builder.build()
        });
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        let address = listener.local_addr().expect("bound");
        let (kind, asked) = (Arc::new(Mutex::new(kind)), Arc::new(Mutex::new(Vec::new())));
        let (kinds, log) = (kind.clone(), asked.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kind = *kinds.lock().expect("no panic");
                match &acceptor {
                    None => answer(stream, kind, &log),
                    Some(acceptor) => {
                        if let Ok(stream) = acceptor.accept(stream) {
                            answer(stream, kind, &log);
                        }
                    }
                }
            }
        });
        Self { address, kind, asked }
    }

    pub(crate) fn becomes(&self, kind: Kind) {
        *self.kind.lock().expect("no panic") = kind;
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("no panic").clone()
    }

    /// The last rate that was set, in kbit/s.
    pub(crate) fn last_rate(&self) -> Option<u64> {
        let asked = self.asked();
        let last = asked.iter().rev().find_map(|line| line.strip_prefix("GET /bitrate?bitrate="));
        last.and_then(|rest| rest.split('&').next()).and_then(|text| text.parse().ok())
    }
}

fn answer(mut stream: impl Read + Write, kind: Kind, log: &Mutex<Vec<String>>) {
    let mut bytes = Vec::new();
    let mut part = [0; 1024];
    while !is_whole(&bytes) {
        match stream.read(&mut part) {
            Ok(0) | Err(_) => return,
            Ok(count) => bytes.extend_from_slice(&part[..count]),
        }
    }
    let text = String::from_utf8(bytes).expect("UTF-8");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let line = head.lines().next().expect("a line").trim_end_matches(" HTTP/1.1").to_owned();
    log.lock().expect("no panic").push(format!("{line}{}{body}", if body.is_empty() { "" } else { " " }));
    if kind == Kind::Slow {
        thread::sleep(Duration::from_millis(2500));
        return;
    }
    let (status, kind, body) = respond(kind, &line);
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
}

fn is_whole(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.and_then(|text| text.parse().ok()).unwrap_or(0)
}

const JSON: &str = "application/json";
const XML: &str = "application/xml";

fn respond(kind: Kind, line: &str) -> (&'static str, &'static str, String) {
    let xml = |attributes: &str, rate: u64| {
        format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<root {attributes}><bitrate>{rate}</bitrate></root>\n"
        )
    };
    let rate = line.split("bitrate=").nth(1).and_then(|rest| rest.split('&').next()?.parse::<u64>().ok());
    match (kind, line.split(['?', ' ']).nth(1).unwrap_or_default()) {
        (Kind::Sunshine, _) => ("404 Not Found", XML, "<root status_code=\"404\"/>".to_owned()),
        (Kind::Vibepollo(_), "/api/abr/capabilities") => {
            ("200 OK", JSON, r#"{"supported":false,"version":1,"features":["runtime_bitrate"]}"#.to_owned())
        }
        (Kind::Vibepollo(_), "/api/abr") => ("404 Not Found", XML, String::new()),
        (_, "/api/abr/capabilities") => {
            let version = if kind == Kind::Version2 { 2 } else { 1 };
            let body = format!(
                r#"{{"features":["llm_ai","game_aware","fallback_threshold"],"llmEnabled":false,"supported":true,"version":{version}}}"#
            );
            ("200 OK", JSON, body)
        }
        (Kind::Idle, "/api/abr") => (
            "400 Bad Request",
            JSON,
            r#"{"error":"No active streaming session for this client","success":false}"#.to_owned(),
        ),
        (_, "/api/abr") => ("200 OK", JSON, r#"{"enabled":false,"success":true}"#.to_owned()),
        (Kind::Vibepollo(most), "/bitrate") => match rate {
            Some(rate) => ("200 OK", XML, xml("status_code=\"200\"", rate.min(most))),
            None => (
                "200 OK",
                XML,
                xml("status_code=\"400\" status_message=\"Missing or invalid bitrate parameter\"", 0),
            ),
        },
        (Kind::Idle, "/bitrate") => (
            "200 OK",
            XML,
            xml(
                "status_code=\"404\" status_message=\"No active streaming session found for client: deck\"",
                0,
            ),
        ),
        (Kind::Liar, "/bitrate") => ("200 OK", XML, xml("status_code=\"200\" bitrate=\"99999999\"", 1)),
        (Kind::Torn, "/bitrate") => ("200 OK", XML, "<root status_code=\"200\"><bitr".to_owned()),
        (_, "/bitrate") => {
            let attributes = format!(
                "status_code=\"200\" bitrate=\"{}\" clientname=\"deck\" status_message=\"sent\"",
                rate.unwrap_or(0)
            );
            ("200 OK", XML, xml(&attributes, 1))
        }
        (_, other) => panic!("{other} is no route"),
    }
}

/// Writes a certificate that signs itself, and its key, as pairing makes them.
pub(crate) fn certificate(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let key = PKey::from_rsa(Rsa::generate(2048).expect("a key")).expect("a key");
    let mut subject = X509NameBuilder::new().expect("a name");
    subject.append_entry_by_text("CN", name).expect("a name");
    let subject = subject.build();
    let mut builder = X509::builder().expect("a certificate");
    builder.set_version(2).expect("version 3");
    builder
        .set_serial_number(&BigNum::from_u32(7).expect("a number").to_asn1_integer().expect("one"))
        .expect("one");
    builder.set_subject_name(&subject).expect("a name");
    builder.set_issuer_name(&subject).expect("a name");
    builder.set_pubkey(&key).expect("a key");
    builder.set_not_before(&Asn1Time::days_from_now(0).expect("today")).expect("today");
    builder.set_not_after(&Asn1Time::days_from_now(2).expect("a day")).expect("a day");
    builder.sign(&key, MessageDigest::sha256()).expect("signed");
    let paths = (folder.join(format!("{name}.pem")), folder.join(format!("{name}-key.pem")));
    std::fs::write(&paths.0, builder.build().to_pem().expect("PEM")).expect("a file");
    put(&paths.1, &key.private_key_to_pem_pkcs8().expect("PEM"));
    paths
}

/// Writes a file that its owner alone can read.
pub(crate) fn put(path: &Path, bytes: &[u8]) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, bytes).expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("permissions");
}

/// Sends a request to an address, and returns the answer.
pub(crate) fn send(address: SocketAddr, request: &str) -> String {
    let mut connection = TcpStream::connect(address).expect("a connection");
    connection.write_all(request.as_bytes()).expect("sent");
    let mut text = String::new();
    connection.read_to_string(&mut text).expect("an answer");
    text
}

//! A minimal HTTP server for metrics and status: GET only, one connection at a time, every read bounded in bytes and time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Longest request that the server reads.
const LONGEST_REQUEST: usize = 4096;
/// Time limit for reading a whole request, for writing a whole response, and for each operation of a client.
pub const TIMEOUT: Duration = Duration::from_secs(2);
/// Content type of plain text,
pub const TEXT: &str = "text/plain; charset=utf-8";
/// and of metrics in the text format of Prometheus.
pub const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Status line, content type and body of an answer.
pub type Answer = (&'static str, &'static str, String);

/// Serves an address in a thread that lives as long as the process; `respond` answers a path. Returns the bound address.
///
/// # Errors
/// The address cannot be bound.
pub fn serve(
    address: SocketAddr,
    respond: impl Fn(&[u8]) -> Answer + Send + 'static,
) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let bound = listener.local_addr()?;
    let loopback = bound.ip().is_loopback();
    thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        for stream in listener.incoming() {
            match stream {
                // Errors of a connection concern its client only.
                Ok(stream) => drop(answer(stream, &respond, loopback)),
                // Mostly a shortage of descriptors: retry after a pause.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    })?;
    Ok(bound)
}

fn answer(mut stream: TcpStream, respond: &impl Fn(&[u8]) -> Answer, loopback: bool) -> io::Result<()> {
    let request = read_request(&mut stream)?;
    let (status, kind, body) = if loopback && !is_for_loopback(&request) {
        ("421 Misdirected Request", TEXT, "this address answers to addresses and to localhost\n".to_owned())
    } else {
        answer_to(&request, respond)
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    write_all(&mut stream, &[head.as_bytes(), body.as_bytes()].concat())
}

/// Writes all bytes within [`TIMEOUT`].
fn write_all(stream: &mut TcpStream, mut bytes: &[u8]) -> io::Result<()> {
    let deadline = Instant::now() + TIMEOUT;
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        let written = stream.write(bytes)?;
        bytes = bytes.get(written..).filter(|_| written > 0).ok_or(ErrorKind::WriteZero)?;
    }
    Ok(())
}

/// The time to a deadline.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Whether the `Host` of a request is an address, localhost, or missing. A page from elsewhere whose name is made to lead here (DNS
/// rebinding) names its own host.
fn is_for_loopback(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let mut hosts = text.split("\r\n").skip(1).take_while(|line| !line.is_empty()).filter_map(|line| {
        let (name, host) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then_some(host.trim())
    });
    hosts.all(|host| {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok()
    })
}

/// The answer to any request.
pub fn answer_to(request: &[u8], respond: &impl Fn(&[u8]) -> Answer) -> Answer {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != b"GET" {
        return ("405 Method Not Allowed", TEXT, "only GET is allowed\n".to_owned());
    }
    respond(path)
}

/// Reads up to the end of the header, at most [`LONGEST_REQUEST`] bytes and some.
fn read_request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + TIMEOUT;
    let mut request = Vec::new();
    let mut part = [0; 512];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut part)? {
            0 => break,
            read => request.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
    }
    Ok(request)
}

//! A minimal HTTP server for metrics and status, and the client of `airbound agent status`. It serves two paths, GET only, one
//! connection at a time, and bounds every read in bytes and time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::metrics;
use crate::snapshot::Snapshot;

/// Longest request that the server reads.
const LONGEST_REQUEST: usize = 4096;
/// Longest response that the client reads.
const LONGEST_ANSWER: u64 = 16 << 20;
/// Time limit for reading a whole request, for writing a whole response, and for each operation of the client.
const TIMEOUT: Duration = Duration::from_secs(2);

const TEXT: &str = "text/plain; charset=utf-8";

/// The current snapshot, shared with the event loop.
pub type Shared = Arc<Mutex<Arc<Snapshot>>>;

/// Returns the current snapshot.
#[must_use]
pub fn current(shared: &Shared) -> Arc<Snapshot> {
    Arc::clone(&shared.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Serves `shared` at `address` in a thread that lives as long as the process. Returns the bound address.
///
/// # Errors
/// The address cannot be bound.
pub fn serve(address: SocketAddr, shared: Shared) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let bound = listener.local_addr()?;
    let loopback = bound.ip().is_loopback();
    thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        for stream in listener.incoming() {
            match stream {
                // Errors of a connection concern its client only.
                Ok(stream) => drop(answer(stream, &shared, loopback)),
                // Mostly a shortage of descriptors: retry after a pause.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    })?;
    Ok(bound)
}

fn answer(mut stream: TcpStream, shared: &Shared, loopback: bool) -> io::Result<()> {
    let request = read_request(&mut stream)?;
    let snapshot = current(shared);
    let (status, kind, body) = if loopback && !is_for_loopback(&request) {
        ("421 Misdirected Request", TEXT, "this address answers to addresses and to localhost\n".to_owned())
    } else {
        respond(&request, &snapshot)
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

/// Status line, content type and body of the response to any request.
fn respond(request: &[u8], snapshot: &Snapshot) -> (&'static str, &'static str, String) {
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method != b"GET" {
        return ("405 Method Not Allowed", TEXT, "only GET is allowed\n".to_owned());
    }
    match path {
        b"/metrics" => ("200 OK", "text/plain; version=0.0.4; charset=utf-8", metrics::text(snapshot)),
        b"/status" => match serde_json::to_string(snapshot) {
            Ok(body) => ("200 OK", "application/json", body),
            Err(error) => ("500 Internal Server Error", TEXT, format!("{error}\n")),
        },
        b"/" => ("200 OK", TEXT, "/metrics for Prometheus, /status for airbound agent status\n".to_owned()),
        _ => ("404 Not Found", TEXT, "not found; allowed are /metrics and /status\n".to_owned()),
    }
}

/// Requests the snapshot of a running agent.
///
/// # Errors
/// The agent cannot be reached, or the response is not that of an agent of this version.
pub fn status(address: SocketAddr) -> Result<Snapshot, String> {
    let fetch = || -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        write!(stream, "GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = fetch().map_err(|error| {
        format!("cannot reach an agent at {address}: {error}; `airbound agent run` has to run with metrics at this address")
    })?;
    let wrong = || format!("the server at {address} is not an airbound agent of this version");
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n").ok_or_else(wrong)?;
    if !answer.starts_with(b"HTTP/1.1 200 ") {
        return Err(wrong());
    }
    serde_json::from_slice(answer.get(head + 4..).unwrap_or_default()).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared() -> Shared {
        let snapshot = Snapshot { interface: "wlan7".to_owned(), held: 3, ..Snapshot::default() };
        Arc::new(Mutex::new(Arc::new(snapshot)))
    }

    #[test]
    fn a_snapshot_is_served() {
        let address = serve(SocketAddr::from(([127, 0, 0, 1], 0)), shared()).expect("loopback");
        let snapshot = status(address).expect("an answer");
        assert_eq!((snapshot.interface.as_str(), snapshot.held), ("wlan7", 3));
        // Clients that disconnect at once, or send garbage, do not disturb the server.
        drop(TcpStream::connect(address).expect("loopback"));
        let mut rude = TcpStream::connect(address).expect("loopback");
        rude.write_all(&[0xff; 5000]).expect("written");
        drop(rude);
        assert_eq!(status(address).expect("an answer").held, 3);
    }

    #[test]
    fn another_sites_name_gets_nothing() {
        let address = serve(SocketAddr::from(([127, 0, 0, 1], 0)), shared()).expect("loopback");
        let ask = |host: &str| {
            let mut stream = TcpStream::connect(address).expect("loopback");
            write!(stream, "GET /status HTTP/1.1\r\n{host}Connection: close\r\n\r\n").expect("written");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("an answer");
            answer
        };
        for host in [
            "",
            "Host: 127.0.0.1:9478\r\n",
            "host: localhost\r\n",
            "Host: [::1]:80\r\n",
            "HOST:\tLocalHost:1\r\n",
        ] {
            assert!(ask(host).starts_with("HTTP/1.1 200 "), "{host:?}");
        }
        for host in ["Host: evil.example\r\n", "Host: localhost.evil.example:80\r\n", "Host:\r\n"] {
            let answer = ask(host);
            assert!(answer.starts_with("HTTP/1.1 421 ") && !answer.contains("wlan7"), "{host:?}");
        }
    }

    #[test]
    fn an_unreachable_agent_is_reported() {
        let nowhere = TcpListener::bind(("127.0.0.1", 0)).expect("loopback").local_addr().expect("bound");
        assert!(status(nowhere).expect_err("closed").contains("cannot reach an agent"));
    }

    #[test]
    fn any_request_gets_an_answer() {
        let snapshot = Snapshot::default();
        assert_eq!(respond(b"GET /metrics HTTP/1.1\r\n\r\n", &snapshot).0, "200 OK");
        assert_eq!(respond(b"GET /metrics", &snapshot).0, "200 OK");
        assert_eq!(respond(b"POST /metrics HTTP/1.1\r\n", &snapshot).0, "405 Method Not Allowed");
        assert_eq!(respond(b"GET /etc/passwd HTTP/1.1\r\n", &snapshot).0, "404 Not Found");
        bolero::check!().with_type::<Vec<u8>>().with_iterations(2000).for_each(|bytes| {
            assert!(!respond(bytes, &snapshot).2.is_empty());
            let _ = is_for_loopback(bytes);
        });
    }
}

//! A very small HTTP server for metrics and status, and the client of `airbound agent status`. Two addresses, GET only, one
//! connection at a time, every read bounded in bytes and time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::metrics;
use crate::snapshot::Snapshot;

/// The longest request that is read.
const LONGEST_REQUEST: usize = 4096;
/// The longest answer that the client reads.
const LONGEST_ANSWER: u64 = 16 << 20;
/// Time limit for reading a whole request, and for each other operation on a connection.
const PATIENCE: Duration = Duration::from_secs(2);

/// The picture that is shown, shared with the loop.
pub type Shared = Arc<Mutex<Arc<Snapshot>>>;

/// The picture that is shown now.
#[must_use]
pub fn current(shared: &Shared) -> Arc<Snapshot> {
    Arc::clone(&shared.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Serves `shared` at `address` in a thread of its own, as long as the process lives.
///
/// # Errors
/// The address cannot be had.
pub fn serve(address: SocketAddr, shared: Shared) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let bound = listener.local_addr()?;
    thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        for stream in listener.incoming() {
            match stream {
                // Who hangs up has what it wanted.
                Ok(stream) => drop(answer(stream, &shared)),
                // Out of descriptors, mostly: not so fast.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    })?;
    Ok(bound)
}

fn answer(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = read_request(&mut stream)?;
    let snapshot = current(shared);
    let (status, kind, body) = respond(&request, &snapshot);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Reads up to the end of the head, or as much as is allowed.
fn read_request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut part = [0; 512];
    while !request.windows(4).any(|four| four == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => break,
            read => request.extend_from_slice(part.get(..read).unwrap_or_default()),
        }
    }
    Ok(request)
}

/// Status line, content type and body for a request, whatever it is.
fn respond(request: &[u8], snapshot: &Snapshot) -> (&'static str, &'static str, String) {
    const TEXT: &str = "text/plain; charset=utf-8";
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
        _ => ("404 Not Found", TEXT, "there are /metrics and /status\n".to_owned()),
    }
}

/// Asks an agent for its picture.
///
/// # Errors
/// A sentence: nobody answers, or not as an agent does.
pub fn status(address: SocketAddr) -> Result<Snapshot, String> {
    let fetch = || -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        write!(stream, "GET /status HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = fetch().map_err(|error| {
        format!("no agent answers at {address}: {error}; is `airbound agent run` running, with metrics at this address?")
    })?;
    let wrong = || format!("what answers at {address} is no airbound agent of this version");
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
    fn a_picture_goes_over_the_wire() {
        let address = serve(SocketAddr::from(([127, 0, 0, 1], 0)), shared()).expect("loopback");
        let snapshot = status(address).expect("an answer");
        assert_eq!((snapshot.interface.as_str(), snapshot.held), ("wlan7", 3));
        // Who connects and goes away, or talks nonsense, disturbs nobody.
        drop(TcpStream::connect(address).expect("loopback"));
        let mut rude = TcpStream::connect(address).expect("loopback");
        rude.write_all(&[0xff; 5000]).expect("written");
        drop(rude);
        assert_eq!(status(address).expect("an answer").held, 3);
    }

    #[test]
    fn nobody_there() {
        let nowhere = TcpListener::bind(("127.0.0.1", 0)).expect("loopback").local_addr().expect("bound");
        assert!(status(nowhere).expect_err("closed").contains("no agent answers"));
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
        });
    }
}

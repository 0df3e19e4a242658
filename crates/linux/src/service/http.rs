//! A minimal HTTP server for metrics and status: GET only, one connection at a time, every read bounded in bytes and time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// Longest request that the server reads.
const LONGEST_REQUEST: usize = 4096;
/// Time limit for reading a whole request, and for each other operation on a connection.
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
    thread::Builder::new().name("metrics".to_owned()).spawn(move || {
        for stream in listener.incoming() {
            match stream {
                // Errors of a connection concern its client only.
                Ok(stream) => drop(answer(stream, &respond)),
                // Mostly a shortage of descriptors: retry after a pause.
                Err(_) => thread::sleep(Duration::from_millis(100)),
            }
        }
    })?;
    Ok(bound)
}

fn answer(mut stream: TcpStream, respond: &impl Fn(&[u8]) -> Answer) -> io::Result<()> {
    stream.set_write_timeout(Some(TIMEOUT))?;
    let request = read_request(&mut stream)?;
    let (status, kind, body) = answer_to(&request, respond);
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
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

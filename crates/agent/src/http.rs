//! Metrics and status over HTTP: two paths, and the client of `airbound agent status`.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use airbound_linux::service::http::{self, Answer, METRICS, TEXT, TIMEOUT};

use crate::metrics;
use crate::snapshot::Snapshot;

/// Longest response that the client reads.
const LONGEST_ANSWER: u64 = 16 << 20;

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
    http::serve(address, move |path| respond(path, &current(&shared)))
}

/// The answer to a path.
fn respond(path: &[u8], snapshot: &Snapshot) -> Answer {
    match path {
        b"/metrics" => ("200 OK", METRICS, metrics::text(snapshot)),
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
#[path = "../tests/parsers/http.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

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
    fn a_request_costs_others_two_seconds_and_4096_bytes_at_most() {
        let address = serve(SocketAddr::from(([127, 0, 0, 1], 0)), shared()).expect("loopback");
        let silent = TcpStream::connect(address).expect("loopback");
        // Answered while its end has not come, after the silent one's time.
        let mut endless = TcpStream::connect(address).expect("loopback");
        endless.write_all(&[b"GET / HTTP/1.1\r\n".as_slice(), &[b'a'; 4096]].concat()).expect("written");
        let mut answer = [0; 12];
        endless.read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"HTTP/1.1 200");
        drop(silent);
    }

    #[test]
    fn an_unreachable_agent_is_reported() {
        let nowhere = TcpListener::bind(("127.0.0.1", 0)).expect("loopback").local_addr().expect("bound");
        assert!(status(nowhere).expect_err("closed").contains("cannot reach an agent"));
    }
}

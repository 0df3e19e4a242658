//! Synthetic participants of a running room, over its page: load, and tests over real networks.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use str0m::change::SdpAnswer;

use crate::synthetic::Synthetic;

/// A run of participants.
#[derive(Debug, Clone)]
pub struct Run {
    /// The address that the room printed, with its token.
    pub address: String,
    /// Participants.
    pub count: usize,
    /// Bitrate of each camera, bit/s.
    pub camera: f64,
    /// Slots of each; 0 for one for each other participant.
    pub slots: usize,
    /// Time, of which the first part is not measured.
    pub time: Duration,
    /// The part that is not measured.
    pub warm_up: Duration,
    /// One participant a second leaves, vanishes without a word or comes back to its seat, in turn; another one takes its place.
    pub churn: bool,
}

struct Client {
    synthetic: Synthetic,
    socket: UdpSocket,
    /// The token of its seat.
    resume: String,
    /// Received and sent at the end of the warm-up, bytes.
    mark: [u64; 2],
    /// The latest count, and rates of each whole second.
    second: u64,
    rates: Vec<f64>,
}

/// Time in which a participant whose request does not get through tries again, as behind a link that is down.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest time of one attempt, above the time in which the room gives a request up.
const ATTEMPT: Duration = Duration::from_secs(15);
/// Time between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a participant has no seat.
enum Refusal {
    /// The request did not get through; another may.
    Lost(io::Error),
    /// The room refuses, or is not there.
    Final(io::Error),
}

fn refused(what: &str, error: impl std::fmt::Display) -> io::Error {
    io::Error::other(format!("{what}: {error}"))
}

/// Asks the page to seat a participant, again if the request does not get through.
fn join(host: &str, token: &str, body: &Value) -> io::Result<(SdpAnswer, String)> {
    let until = Instant::now() + PATIENCE;
    loop {
        match ask(host, token, &body.to_string()) {
            Ok(seat) => return Ok(seat),
            Err(Refusal::Lost(_)) if Instant::now() < until => thread::sleep(PAUSE),
            Err(Refusal::Lost(error) | Refusal::Final(error)) => return Err(error),
        }
    }
}

fn ask(host: &str, token: &str, body: &str) -> Result<(SdpAnswer, String), Refusal> {
    let unreachable = |error: io::Error| {
        let is_there = error.kind() != io::ErrorKind::ConnectionRefused;
        let error = refused("the room cannot be reached", error);
        if is_there { Refusal::Lost(error) } else { Refusal::Final(error) }
    };
    let mut connection = TcpStream::connect(host).map_err(unreachable)?;
    connection.set_read_timeout(Some(ATTEMPT)).map_err(unreachable)?;
    write!(
        connection,
        "POST /join HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .map_err(unreachable)?;
    let mut text = String::new();
    connection.read_to_string(&mut text).map_err(unreachable)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text.as_str(), ""));
    if head.is_empty() || ["HTTP/1.1 408", "HTTP/1.1 503"].iter().any(|status| head.starts_with(status)) {
        return Err(Refusal::Lost(refused("the room refuses", body)));
    }
    if !head.starts_with("HTTP/1.1 200") {
        return Err(Refusal::Final(refused("the room refuses", body)));
    }
    let unfit = |what: &str, error: serde_json::Error| Refusal::Final(refused(what, error));
    let reply: Value =
        serde_json::from_str(body).map_err(|error| unfit("the room answers no JSON", error))?;
    let answer = serde_json::from_value(reply["answer"].clone())
        .map_err(|error| unfit("the room answers without SDP", error))?;
    Ok((answer, reply["resume"].as_str().unwrap_or_default().to_owned()))
}

impl Client {
    fn new(run: &Run, number: usize, resume: Option<&str>) -> io::Result<Self> {
        let (base, token) =
            run.address.split_once('#').ok_or_else(|| io::Error::other("the address has no token"))?;
        let host = base.trim_start_matches("http://").trim_end_matches('/');
        let server: SocketAddr =
            host.parse().map_err(|error| refused("the address is not http://ADDRESS:PORT/", error))?;
        let probe = UdpSocket::bind(("0.0.0.0", 0))?;
        probe.connect(server)?;
        let socket = UdpSocket::bind((probe.local_addr()?.ip(), 0))?;
        socket.set_nonblocking(true)?;
        let slots = if run.slots > 0 { run.slots } else { run.count.saturating_sub(1).max(1) };
        let own = socket.local_addr()?;
        let (mut synthetic, offer) = Synthetic::new(Instant::now(), own, run.camera, slots)
            .map_err(|error| refused("no offer", error))?;
        let offer = serde_json::to_value(offer).map_err(|error| refused("no offer", error))?;
        let body = json!({"name": format!("synthetic {number}"), "offer": offer, "resume": resume});
        let (answer, resume) = join(host, token, &body)?;
        synthetic.accept(answer).map_err(|error| refused("the answer does not fit", error))?;
        Ok(Self { synthetic, socket, resume, mark: [0; 2], second: 0, rates: Vec::new() })
    }

    fn step(&mut self, buffer: &mut [u8]) {
        while let Ok((length, source)) = self.socket.recv_from(buffer) {
            self.synthetic.receive(Instant::now(), source, &buffer[..length]);
        }
        let now = Instant::now();
        if now >= self.synthetic.next_deadline() {
            self.synthetic.advance(now);
        }
        while let Some((destination, bytes)) = self.synthetic.poll_datagram() {
            // A full socket buffer loses the packet.
            let _ = self.socket.send_to(&bytes, destination);
        }
    }
}

/// Runs participants and returns what they received and sent.
///
/// # Errors
/// The room cannot be reached, or refuses.
pub fn run(run: &Run) -> io::Result<Value> {
    let mut clients: Vec<Client> = Vec::new();
    let mut buffer = vec![0; 2048];
    let begin = Instant::now();
    let (mut change, mut replaced) = (run.warm_up, 0_usize);
    let mut measured = None;
    let mut second = begin + run.warm_up + Duration::from_secs(1);
    while begin.elapsed() < run.time {
        if clients.len() < run.count && begin.elapsed() >= Duration::from_millis(60) * clients.len() as u32 {
            clients.push(Client::new(run, clients.len() + 1, None)?);
        }
        if run.churn && clients.len() == run.count && begin.elapsed() >= change {
            change += Duration::from_secs(1);
            replaced += 1;
            let place = replaced % run.count;
            let resume = match replaced % 3 {
                0 => {
                    clients[place].synthetic.say(r#"{"t":"leave"}"#);
                    clients[place].step(&mut buffer);
                    None
                }
                1 => None,
                _ => Some(clients[place].resume.clone()),
            };
            clients[place] = Client::new(run, place + 1, resume.as_deref())?;
        }
        clients.iter_mut().for_each(|client| client.step(&mut buffer));
        let now = Instant::now();
        if measured.is_none() && begin.elapsed() >= run.warm_up {
            measured = Some(now);
            for client in &mut clients {
                let counts = client.synthetic.counts();
                client.mark = [counts.received, counts.sent];
                client.second = counts.received;
                client.synthetic.forget_gaps();
            }
        }
        if now >= second {
            second += Duration::from_secs(1);
            for client in &mut clients {
                let received = client.synthetic.counts().received;
                client.rates.push((received - client.second) as f64 * 8e-6);
                client.second = received;
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    let seconds = measured.map_or(run.time, |at| at.elapsed()).as_secs_f64();
    let rows: Vec<Value> = clients
        .iter()
        .map(|client| {
            let counts = client.synthetic.counts();
            let rate = |bytes: u64| (bytes as f64 * 8e-6 / seconds * 1000.0).round() / 1000.0;
            json!({
                "connected": client.synthetic.is_connected(),
                "received_mbps": rate(counts.received - client.mark[0]),
                "sent_mbps": rate(counts.sent - client.mark[1]),
                "held_mbps": client.synthetic.limit() * 1e-6,
                "estimate_mbps": client.synthetic.estimate() * 1e-6,
                "longest_gap_ms": client.synthetic.longest_gap().as_millis() as u64,
                "packets": counts.packets, "keys": counts.keys, "notices": counts.notices,
                "seconds_mbps": client.rates.iter().map(|rate| (rate * 100.0).round() / 100.0).collect::<Vec<_>>(),
            })
        })
        .collect();
    Ok(json!(rows))
}

#[cfg(test)]
mod tests {
    use std::net::{Shutdown, TcpListener};

    use super::*;

    #[test]
    fn a_request_that_does_not_get_through_is_sent_again() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let host = listener.local_addr().expect("an address").to_string();
        let room = thread::spawn(move || {
            // The first is given up, the second ends without an answer, the third is refused.
            for answer in ["HTTP/1.1 408 Request Timeout\r\n\r\nlate", "", "HTTP/1.1 403 Forbidden\r\n\r\nno"]
            {
                let (mut connection, _) = listener.accept().expect("a connection");
                let mut part = [0; 4096];
                let _ = connection.read(&mut part);
                let _ = connection.write_all(answer.as_bytes());
                // A connection that is closed with unread bytes is reset, and its answer may be lost.
                let _ = connection.shutdown(Shutdown::Write);
                while connection.read(&mut part).is_ok_and(|bytes| bytes > 0) {}
            }
        });
        let refusal = join(&host, "token", &json!({"name": "x"})).expect_err("refused").to_string();
        assert_eq!(refusal, "the room refuses: no");
        room.join().expect("three requests");
        let refusal = join(&host, "token", &json!({})).expect_err("nobody is there").to_string();
        assert!(refusal.starts_with("the room cannot be reached"), "{refusal}");
    }
}

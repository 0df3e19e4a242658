//! The same load for a room and for the videoroom of Janus: synthetic publishers, each of whom all others watch, over loopback.
//!
//! `beside room|largest|smallest ADDRESS PID COUNT CAMERA_BPS WARM_UP_S SECONDS` prints JSON: packets and bytes of video that arrived at
//! viewers, bytes that publishers sent, and the processor time of the server PID. `room` is this project's, the others are Janus, asked for the
//! largest or the smallest layers. `studies/room/beside.py` starts the servers and compares.
//!
//! A camera of up to 300 kb/s has one packet a frame in each of its three layers, so that the packets do not depend on the layers chosen.

#![allow(clippy::print_stdout, reason = "prints its results")]

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use airbound_room::synthetic::{Equipment, Synthetic};
use serde_json::{Value, json};
use str0m::change::{SdpAnswer, SdpOffer};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Time from the last publisher to the first viewer at Janus, which lets nobody watch a publisher that is not connected.
const SETTLES: Duration = Duration::from_secs(3);
/// The room of Janus' configuration.
const ROOM: u32 = 1234;

/// Asks over HTTP/1.1; returns the JSON of the answer.
fn ask(host: &str, method: &str, path: &str, token: &str, body: &Value) -> Result<Value> {
    let mut connection = TcpStream::connect(host)?;
    let body = if body.is_null() { String::new() } else { body.to_string() };
    write!(
        connection,
        "{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\nauthorization: Bearer {token}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut text = String::new();
    connection.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    if head.split_whitespace().nth(1) != Some("200") {
        return Err(format!("{path} is refused: {head} {body}").into());
    }
    // Janus answers in chunks: the length of each in hexadecimal digits, its text, an empty line.
    let chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
    let text = if chunked { whole(body).ok_or("chunks do not fit")? } else { body.to_owned() };
    Ok(serde_json::from_str(&text)?)
}

/// The text of an answer in chunks.
fn whole(mut body: &str) -> Option<String> {
    let mut text = String::new();
    loop {
        let (length, rest) = body.split_once("\r\n")?;
        let length = usize::from_str_radix(length, 16).ok()?;
        if length == 0 {
            return Some(text);
        }
        text.push_str(rest.get(..length)?);
        body = rest.get(length + 2..)?;
    }
}

/// One that only watches, at Janus.
struct Viewer {
    rtc: Rtc,
    due: Instant,
    address: SocketAddr,
    packets: u64,
    bytes: u64,
    connected: bool,
    datagrams: Vec<(SocketAddr, Vec<u8>)>,
}

impl Viewer {
    fn new(now: Instant, address: SocketAddr, offer: &str) -> Result<(Self, String)> {
        let mut rtc = Rtc::builder().clear_codecs().enable_vp8(true).set_rtp_mode(true).build(now);
        rtc.add_local_candidate(Candidate::host(address, "udp")?);
        let answer = rtc.sdp_api().accept_offer(SdpOffer::from_sdp_string(offer)?)?;
        let own =
            Self { rtc, due: now, address, packets: 0, bytes: 0, connected: false, datagrams: Vec::new() };
        Ok((own, answer.to_sdp_string()))
    }

    fn drain(&mut self) {
        loop {
            match self.rtc.poll_output() {
                Ok(Output::Timeout(at)) => {
                    self.due = at;
                    return;
                }
                Ok(Output::Transmit(datagram)) => {
                    self.datagrams.push((datagram.destination, datagram.contents.to_vec()));
                }
                Ok(Output::Event(Event::Connected)) => self.connected = true,
                Ok(Output::Event(Event::RtpPacket(packet))) => {
                    self.packets += 1;
                    self.bytes += packet.payload.len() as u64;
                }
                Ok(Output::Event(_)) => {}
                Err(_) => {
                    self.rtc.disconnect();
                    return;
                }
            }
        }
    }

    fn input(&mut self, input: Input<'_>) {
        if self.rtc.handle_input(input).is_err() {
            self.rtc.disconnect();
        }
        self.drain();
    }
}

/// The owner of a socket.
enum Seat {
    Synthetic(Box<Synthetic>),
    Viewer(Box<Viewer>),
}

struct Client {
    seat: Seat,
    socket: UdpSocket,
}

impl Client {
    fn socket(host: &str) -> Result<(UdpSocket, SocketAddr)> {
        let probe = UdpSocket::bind(("0.0.0.0", 0))?;
        probe.connect(host)?;
        let socket = UdpSocket::bind((probe.local_addr()?.ip(), 0))?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok((socket, address))
    }

    fn step(&mut self, buffer: &mut [u8]) {
        while let Ok((length, source)) = self.socket.recv_from(buffer) {
            let (now, bytes) = (Instant::now(), &buffer[..length]);
            match &mut self.seat {
                Seat::Synthetic(one) => one.receive(now, source, bytes),
                Seat::Viewer(one) => {
                    let Ok(contents) = bytes.try_into() else { continue };
                    let destination = one.address;
                    one.input(Input::Receive(
                        now,
                        Receive { proto: Protocol::Udp, source, destination, contents },
                    ));
                }
            }
        }
        let now = Instant::now();
        // A full socket buffer loses the packet.
        let send =
            |(destination, bytes): (SocketAddr, Vec<u8>)| drop(self.socket.send_to(&bytes, destination));
        match &mut self.seat {
            Seat::Synthetic(one) => {
                if now >= one.next_deadline() {
                    one.advance(now);
                }
                std::iter::from_fn(|| one.poll_datagram()).for_each(send);
            }
            Seat::Viewer(one) => {
                if now >= one.due {
                    one.input(Input::Timeout(now));
                }
                one.datagrams.drain(..).for_each(send);
            }
        }
    }

    fn connected(&self) -> bool {
        match &self.seat {
            Seat::Synthetic(one) => one.is_connected(),
            Seat::Viewer(one) => one.connected,
        }
    }

    /// Packets and bytes of video received, bytes sent.
    fn counts(&self) -> [u64; 3] {
        match &self.seat {
            Seat::Synthetic(one) => {
                let counts = one.counts();
                [counts.packets, counts.received, counts.sent]
            }
            Seat::Viewer(one) => [one.packets, one.bytes, 0],
        }
    }
}

fn run_for(clients: &mut [Client], time: Duration) {
    let (begin, mut buffer) = (Instant::now(), vec![0; 2048]);
    while begin.elapsed() < time {
        clients.iter_mut().for_each(|client| client.step(&mut buffer));
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn publisher(host: &str, camera: f64, slots: usize, channel: bool) -> Result<(Client, SdpOffer)> {
    let (socket, address) = Client::socket(host)?;
    let equipment = Equipment { camera, slots, ears: 0, channel };
    let (synthetic, offer) = Synthetic::equipped(Instant::now(), address, equipment)?;
    Ok((Client { seat: Seat::Synthetic(Box::new(synthetic)), socket }, offer))
}

fn accept(client: &mut Client, answer: SdpAnswer) -> Result<()> {
    if let Seat::Synthetic(one) = &mut client.seat {
        one.accept(answer)?;
    }
    Ok(())
}

fn join_room(address: &str, count: usize, camera: f64) -> Result<Vec<Client>> {
    let (base, token) = address.split_once('#').ok_or("the address has no token")?;
    let host = base.trim_start_matches("http://").trim_end_matches('/');
    let mut clients = Vec::new();
    for number in 0..count {
        let (mut client, offer) = publisher(host, camera, count - 1, true)?;
        let body = json!({"name": format!("synthetic {number}"), "offer": serde_json::to_value(offer)?});
        let reply = ask(host, "POST", "/join", token, &body)?;
        accept(&mut client, serde_json::from_value(reply["answer"].clone())?)?;
        clients.push(client);
        run_for(&mut clients, Duration::from_millis(60));
    }
    Ok(clients)
}

/// A session of Janus over HTTP.
struct Janus<'a> {
    host: &'a str,
    session: String,
    transactions: u64,
}

impl Janus<'_> {
    fn post(&mut self, path: &str, mut message: Value) -> Result<(Value, String)> {
        self.transactions += 1;
        let transaction = format!("t{}", self.transactions);
        message["transaction"] = json!(transaction);
        let answer = ask(self.host, "POST", &format!("/janus{path}"), "", &message)?;
        if answer["janus"] == "error" {
            return Err(format!("Janus: {answer}").into());
        }
        Ok((answer, transaction))
    }

    fn attach(&mut self) -> Result<u64> {
        let message = json!({"janus": "attach", "plugin": "janus.plugin.videoroom"});
        let (answer, _) = self.post(&self.session.clone(), message)?;
        Ok(answer["data"]["id"].as_u64().ok_or("Janus gives no handle")?)
    }

    /// Sends a message to the plugin and waits for the event that answers it.
    fn say(&mut self, handle: u64, body: &Value, jsep: Option<Value>) -> Result<Value> {
        let mut message = json!({"janus": "message", "body": body});
        if let Some(jsep) = jsep {
            message["jsep"] = jsep;
        }
        let (_, transaction) = self.post(&format!("{}/{handle}", self.session), message)?;
        loop {
            let event = ask(self.host, "GET", &format!("/janus{}?maxev=1", self.session), "", &Value::Null)?;
            let event = if event.is_array() { event[0].clone() } else { event };
            if event["transaction"] == transaction.as_str() {
                let data = &event["plugindata"]["data"];
                return if data["error"].is_null() {
                    Ok(event)
                } else {
                    Err(format!("Janus: {data}").into())
                };
            }
        }
    }
}

/// `layer` as Janus numbers them: of the three names of a synthetic publisher, 0 is the largest.
fn join_janus(host: &str, count: usize, camera: f64, layer: u8) -> Result<Vec<Client>> {
    let mut janus = Janus { host, session: String::new(), transactions: 0 };
    let (answer, _) = janus.post("", json!({"janus": "create"}))?;
    janus.session = format!("/{}", answer["data"]["id"]);
    let (mut clients, mut feeds) = (Vec::new(), Vec::new());
    let sdp = |kind: &str, text: String| Some(json!({"type": kind, "sdp": text}));
    let answer_of = |event: &Value| event["jsep"]["sdp"].as_str().map(ToOwned::to_owned).ok_or("no SDP");
    for _ in 0..count {
        let (mut client, offer) = publisher(host, camera, 0, false)?;
        let handle = janus.attach()?;
        let event =
            janus.say(handle, &json!({"request": "join", "ptype": "publisher", "room": ROOM}), None)?;
        feeds.push(event["plugindata"]["data"]["id"].clone());
        let event = janus.say(handle, &json!({"request": "publish"}), sdp("offer", offer.to_sdp_string()))?;
        accept(&mut client, SdpAnswer::from_sdp_string(&answer_of(&event)?)?)?;
        clients.push(client);
        run_for(&mut clients, Duration::from_millis(60));
    }
    run_for(&mut clients, SETTLES);
    for own in 0..count {
        let handle = janus.attach()?;
        let others = feeds.iter().enumerate().filter(|(index, _)| *index != own);
        let streams: Vec<Value> = others.map(|(_, feed)| json!({"feed": feed})).collect();
        let event = janus.say(
            handle,
            &json!({"request": "join", "ptype": "subscriber", "room": ROOM, "streams": streams}),
            None,
        )?;
        let (socket, address) = Client::socket(host)?;
        let (viewer, answer) = Viewer::new(Instant::now(), address, &answer_of(&event)?)?;
        janus.say(handle, &json!({"request": "start"}), sdp("answer", answer))?;
        let sections = event["plugindata"]["data"]["streams"].as_array().cloned().unwrap_or_default();
        let streams: Vec<Value> =
            sections.iter().map(|section| json!({"mid": section["mid"], "substream": layer})).collect();
        janus.say(handle, &json!({"request": "configure", "streams": streams}), None)?;
        clients.push(Client { seat: Seat::Viewer(Box::new(viewer)), socket });
        run_for(&mut clients, Duration::from_millis(60));
    }
    Ok(clients)
}

/// Processor time of a process in clock ticks of 10 ms: of the user, of the system.
fn ticks(process: &str) -> Result<[u64; 2]> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let fields: Vec<&str> = text.rsplit_once(')').ok_or("no such process")?.1.split_whitespace().collect();
    Ok([fields[11].parse()?, fields[12].parse()?])
}

fn main() -> Result<()> {
    airbound_room::prepare();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, address, process, count, camera, warm_up, seconds] = arguments.as_slice() else {
        return Err("beside: see the head of its source for the arguments".into());
    };
    let (count, camera): (usize, f64) = (count.parse()?, camera.parse()?);
    let mut clients = match kind.as_str() {
        "room" => join_room(address, count, camera)?,
        "largest" => join_janus(address, count, camera, 0)?,
        "smallest" => join_janus(address, count, camera, 2)?,
        other => return Err(format!("{other} is no case; allowed are room, largest, smallest").into()),
    };
    run_for(&mut clients, Duration::from_secs_f64(warm_up.parse()?));
    let sums = |clients: &[Client]| {
        clients
            .iter()
            .map(Client::counts)
            .fold([0; 3], |sum, one| [0, 1, 2].map(|field| sum[field] + one[field]))
    };
    let (before, used, began) = (sums(&clients), ticks(process)?, Instant::now());
    run_for(&mut clients, Duration::from_secs_f64(seconds.parse()?));
    let (after, spent, wall) = (sums(&clients), ticks(process)?, began.elapsed().as_secs_f64());
    let [packets, bytes, sent] = [0, 1, 2].map(|field| after[field] - before[field]);
    let [user, system] = [0, 1].map(|field| (spent[field] - used[field]) as f64 / 100.0);
    println!(
        "{}",
        json!({
            "kind": kind, "connected": clients.iter().filter(|client| client.connected()).count(), "clients": clients.len(),
            "seconds": wall, "packets": packets, "bytes": bytes, "sent_bytes": sent, "user": user, "system": system,
        })
    );
    Ok(())
}

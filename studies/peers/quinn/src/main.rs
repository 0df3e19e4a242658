//! A download by quinn-proto over `str0m-netem`'s Wi-Fi and over that of `airbound-link`, in virtual time:
//! `cargo run --manifest-path studies/peers/quinn/Cargo.toml`.
//!
//! `impl Way for Link` is all that a test of quinn-proto changes for a place.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use airbound_link::{Direction, Link};
use bytes::BytesMut;
use netem::{Input, Netem, NetemConfig, Output};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig, Event,
    ServerConfig, StreamEvent, StreamId, TransportConfig,
};

const LENGTH: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_micros(500);
const CHUNK: [u8; 65536] = [0; 65536];

/// A datagram that has arrived: its direction, its time, its bytes.
type Arrived = (Direction, Duration, Vec<u8>);

/// A way for datagrams between two ends.
trait Way {
    fn offer(&mut self, now: Duration, direction: Direction, bytes: &[u8]);
    fn arrived(&mut self, now: Duration) -> Vec<Arrived>;
}

impl Way for Link {
    fn offer(&mut self, now: Duration, direction: Direction, bytes: &[u8]) {
        self.push(now, direction, bytes).expect("quinn keeps to its MTU");
    }

    fn arrived(&mut self, now: Duration) -> Vec<Arrived> {
        self.take(now)
            .expect("time ascends")
            .into_iter()
            .map(|one| (one.direction, one.at, one.bytes))
            .collect()
    }
}

/// Two emulators of str0m, down and up.
struct Emulated(Instant, [Netem<Vec<u8>>; 2]);

impl Way for Emulated {
    fn offer(&mut self, now: Duration, direction: Direction, bytes: &[u8]) {
        self.1[direction as usize].handle_input(Input::Packet(self.0 + now, bytes.to_vec()));
    }

    fn arrived(&mut self, now: Duration) -> Vec<Arrived> {
        let mut arrived = Vec::new();
        for direction in [Direction::Down, Direction::Up] {
            let way = &mut self.1[direction as usize];
            while way.poll_timeout() <= self.0 + now {
                let at = way.poll_timeout();
                way.handle_input(Input::Timeout(at));
                if let Some(Output::Packet(bytes)) = way.poll_output() {
                    arrived.push((direction, at - self.0, bytes));
                }
            }
        }
        arrived.sort_by_key(|(_, at, _)| *at);
        arrived
    }
}

/// One end: the endpoint and its connection.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    peer: SocketAddr,
    sends: Direction,
}

impl End {
    fn receive(&mut self, at: Instant, now: Duration, bytes: &[u8], way: &mut impl Way) {
        let mut answer = Vec::new();
        match self.endpoint.handle(at, self.peer, None, None, BytesMut::from(bytes), &mut answer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.connection = self.endpoint.accept(incoming, at, &mut answer, None).ok();
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => way.offer(now, self.sends, &answer[..transmit.size]),
            None => {}
        }
    }

    /// Lets timers expire and sends what there is.
    fn drive(&mut self, start: Instant, now: Duration, way: &mut impl Way) {
        let Some((handle, connection)) = &mut self.connection else { return };
        if connection.poll_timeout().is_some_and(|due| due <= start + now) {
            connection.handle_timeout(start + now);
        }
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        let mut datagram = Vec::new();
        while let Some(transmit) = connection.poll_transmit(start + now, 1, &mut datagram) {
            way.offer(now, self.sends, &datagram[..transmit.size]);
            datagram.clear();
        }
    }
}

fn address(host: u8) -> SocketAddr {
    (Ipv4Addr::new(10, 0, 0, host), 4433).into()
}

/// Both ends, the client connecting.
fn ends(start: Instant, control: Arc<dyn ControllerFactory + Send + Sync>) -> [End; 2] {
    let certified = rcgen::generate_simple_self_signed(["server".to_owned()]).expect("a certificate");
    let certificate = certified.cert.der().clone();
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(certified.key_pair.serialize_der());
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(control);
    let mut server =
        ServerConfig::with_single_cert(vec![certificate.clone()], key.into()).expect("a configuration");
    server.transport_config(Arc::new(transport));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a root");
    let client = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a configuration");
    let endpoint = |server| Endpoint::new(Arc::new(EndpointConfig::default()), server, true, Some([7; 32]));
    let (server, mut client_endpoint) = (endpoint(Some(Arc::new(server))), endpoint(None));
    let connection = client_endpoint.connect(start, client, address(1), "server").expect("a connection");
    [
        End { endpoint: server, connection: None, peer: address(2), sends: Direction::Down },
        End {
            endpoint: client_endpoint,
            connection: Some(connection),
            peer: address(1),
            sends: Direction::Up,
        },
    ]
}

/// Downloads over a way; prints a row.
fn download(name: &str, mut way: impl Way, control: &str) {
    let start = Instant::now();
    let factory: Arc<dyn ControllerFactory + Send + Sync> =
        if control == "bbr" { Arc::new(BbrConfig::default()) } else { Arc::new(CubicConfig::default()) };
    let [mut server, mut client] = ends(start, factory);
    let (mut now, mut received, mut stream, mut reading) = (Duration::ZERO, 0u64, None, None::<StreamId>);
    let mut trips = Vec::new();
    while now < LENGTH {
        now += TICK;
        for (direction, at, bytes) in way.arrived(now) {
            let end = if direction == Direction::Down { &mut client } else { &mut server };
            end.receive(start + at, now, &bytes, &mut way);
        }
        if let Some((_, connection)) = &mut server.connection {
            while connection.poll().is_some() {}
            if stream.is_none() && !connection.is_handshaking() {
                stream = connection.streams().open(Dir::Uni);
            }
            if let Some(stream) = stream {
                while connection.send_stream(stream).write(&CHUNK).is_ok() {}
                if now.subsec_millis().is_multiple_of(100) {
                    trips.push(connection.rtt());
                }
            }
        }
        if let Some((_, connection)) = &mut client.connection {
            while let Some(event) = connection.poll() {
                if matches!(event, Event::Stream(StreamEvent::Opened { .. })) {
                    reading = connection.streams().accept(Dir::Uni);
                }
            }
            if let Some(stream) = reading {
                let mut stream = connection.recv_stream(stream);
                if let Ok(mut chunks) = stream.read(true) {
                    while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                        received += chunk.bytes.len() as u64;
                    }
                    let _ = chunks.finalize();
                }
            }
        }
        server.drive(start, now, &mut way);
        client.drive(start, now, &mut way);
    }
    trips.sort();
    let trip = |percent: usize| {
        trips.get(trips.len() * percent / 100).map_or(f64::NAN, |trip| trip.as_secs_f64() * 1e3)
    };
    let path = server.connection.map(|(_, connection)| connection.stats().path).expect("a connection");
    println!(
        "| {name} | {control} | {:.1} | {:.0}, {:.0} | {:.2} | {} |",
        received as f64 * 8.0 / LENGTH.as_secs_f64() / 1e6,
        trip(50),
        trip(95),
        100.0 * path.lost_packets as f64 / path.sent_packets as f64,
        path.congestion_events,
    );
}

fn main() {
    println!("| way | control | goodput, Mb/s | smoothed RTT p50, p95, ms | lost, % | congestion events |");
    println!("|---|---|---:|---:|---:|---:|");
    for control in ["cubic", "bbr"] {
        for (name, config) in
            [("netem `wifi`", NetemConfig::wifi()), ("netem `wifi_congested`", NetemConfig::wifi_congested())]
        {
            download(
                name,
                Emulated(Instant::now(), [1, 2].map(|seed| Netem::new(config.seed(seed)))),
                control,
            );
        }
        for place in airbound_link::places() {
            let link = Link::named(place.name).expect("a place");
            download(&format!("`{}`", place.name), link, control);
        }
    }
}

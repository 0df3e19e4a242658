//! The two endpoints of each flow: real sockets, the simulator's sources, and logs of data sent and received.

use std::fs::File;
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use airbound_scenario::{Direction, Flow, Scenario, Traffic, Transport};
use airbound_traffic::{Schedule, Source, UDP_HEADERS, Video};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::Category;
use rustix::net::sockopt;

use super::commands::{COMMANDS, ended};
use super::{LOGS, now, scenario, sleep_until, zero};
use crate::LabError;
use crate::log::Row;
use crate::plan::{FIRST_PORT, SERVER, station_address};

/// Time for which receivers continue after the end of the scenario.
const DRAIN: Span = Span::from_millis(1000);
/// Bytes of a write to a connection: four segments.
const CHUNK: usize = 4 * 1448;

/// Longest sleep of a source, and the time between two looks for the end of the commands.
const LOOK: Span = Span::from_millis(250);

/// The end of all flows: that of the scenario, or that of the commands where there are some.
#[derive(Debug, Clone)]
struct End(Arc<AtomicU64>);

impl End {
    fn at(at: Instant) -> Self {
        let end = Self(Arc::new(AtomicU64::new(at.as_nanos())));
        if std::path::Path::new(COMMANDS).exists() {
            let seen = end.clone();
            thread::spawn(move || {
                loop {
                    if let Some(at) = ended() {
                        seen.0.fetch_min(at.as_nanos(), Ordering::Relaxed);
                        return;
                    }
                    thread::sleep(Duration::from_nanos(LOOK.as_nanos()));
                }
            });
        }
        end
    }

    fn get(&self) -> Instant {
        Instant::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Sleeps until a time; false if the end comes first.
    fn sleep_until(&self, at: Instant) -> bool {
        loop {
            if now() >= at {
                return at <= self.get();
            }
            if at > self.get() {
                return false;
            }
            sleep_until(at.min(now() + LOOK));
        }
    }
}

/// Runs the endpoints of all flows at a node: 0 is the server, stations count from 1. Returns at the end of the scenario.
///
/// # Errors
/// An operation on a socket or a file failed.
pub fn ends(node: usize) -> Result<(), LabError> {
    let scenario = scenario()?;
    let zero = zero().ok_or_else(|| LabError::Guest("time zero is not set".to_owned()))?;
    let end = End::at(zero + scenario.end());
    let mut threads = Vec::new();
    for (number, flow) in scenario.flows.iter().enumerate() {
        let sender = Sender::of(&scenario, flow, number);
        let station = scenario.station_index(&flow.station).map_or(1, |index| index + 1);
        let (from, to) = match flow.direction {
            Direction::Down => (0, station),
            Direction::Up => (station, 0),
        };
        if to == node {
            let udp = matches!(sender, Some(Sender::Datagrams(_)));
            let port = port(number);
            let (number, end) = (number as u64, end.clone());
            threads.push(thread::spawn(move || {
                if udp { receive_datagrams(number, port, &end) } else { receive_stream(number, port, &end) }
            }));
        }
        if from == node {
            let peer = SocketAddrV4::new(address(to), port(number));
            let mark = mark_of(flow.category);
            let stop = zero + flow.stop.unwrap_or(scenario.end());
            let start = zero + flow.start;
            let congestion = congestion(&scenario, flow);
            let (number, end) = (number as u64, end.clone());
            threads.push(thread::spawn(move || match sender {
                Some(Sender::Datagrams(source)) => send_datagrams(number, *source, peer, mark, zero, &end),
                Some(Sender::Frames(source)) => match connect(peer, mark, &congestion, zero, &end)? {
                    Some(connection) => send_frames(number, *source, &connection, zero, &end),
                    None => Ok(Vec::new()),
                },
                Some(Sender::Bulk) => match connect(peer, mark, &congestion, start, &end)? {
                    Some(connection) => send_bulk(&connection, start, stop, &end),
                    None => Ok(Vec::new()),
                },
                None => Ok(Vec::new()),
            }));
        }
    }
    let path = format!("{LOGS}/ends-{node}.log");
    let mut log = BufWriter::new(File::create(&path).map_err(LabError::io("create", &path))?);
    for thread in threads {
        let rows = thread.join().map_err(|_| LabError::Guest("an endpoint of a flow panicked".to_owned()))?;
        for row in rows.map_err(LabError::io("use", "a socket"))? {
            row.write(&mut log).map_err(LabError::io("write", &path))?;
        }
    }
    log.flush().map_err(LabError::io("write", &path))
}

/// The source of a flow.
enum Sender {
    /// Sends datagrams at the source's times.
    Datagrams(Box<Source>),
    /// Writes video frames to a TCP connection.
    Frames(Box<Video>),
    /// Writes to a TCP connection as fast as possible.
    Bulk,
}

impl Sender {
    /// The source of flow `number`, the same as in the simulator; `None` for traffic that the laboratory does not support.
    fn of(scenario: &Scenario, flow: &Flow, number: usize) -> Option<Self> {
        let end = Instant::ZERO + scenario.end();
        let schedule = Schedule {
            seed: scenario.seed,
            flow: number as u64,
            start: Instant::ZERO + flow.start,
            stop: flow.stop.map_or(end, |stop| (Instant::ZERO + stop).min(end)),
        };
        let datagrams = |source: Source| Self::Datagrams(Box::new(source));
        match &flow.traffic {
            Traffic::Cbr(stream) => schedule.constant(stream.rate, stream.size).map(datagrams),
            Traffic::Poisson(stream) => Some(datagrams(schedule.poisson(stream.rate, stream.size))),
            Traffic::Voip => schedule.voip().map(datagrams),
            Traffic::Vr(stream) if stream.transport == Transport::Udp => {
                Some(datagrams(schedule.bursts(&stream.frames())))
            }
            Traffic::Vr(stream) => Some(Self::Frames(Box::new(schedule.video(&stream.frames())))),
            Traffic::Tcp(bulk) if bulk.limit.is_none() => Some(Self::Bulk),
            Traffic::Tcp(_)
            | Traffic::TcpShort(_)
            | Traffic::Rtc(_)
            | Traffic::Paced(_)
            | Traffic::Replay(_) => None,
        }
    }
}

fn port(flow: usize) -> u16 {
    FIRST_PORT + u16::try_from(flow).unwrap_or(0)
}

fn address(node: usize) -> Ipv4Addr {
    if node == 0 { SERVER } else { station_address(node) }
}

/// The type-of-service byte whose precedence Linux maps to the category (cfg80211, net/wireless/util.c): CS1, none, CS5, EF.
fn mark_of(category: Category) -> u8 {
    let dscp = match category {
        Category::Bk => 8,
        Category::Be => 0,
        Category::Vi => 40,
        Category::Vo => 46,
    };
    dscp << 2
}

fn congestion(scenario: &Scenario, flow: &Flow) -> String {
    let own = match &flow.traffic {
        Traffic::Tcp(bulk) => bulk.tcp.congestion.as_ref(),
        Traffic::Vr(stream) => stream.tcp.congestion.as_ref(),
        _ => None,
    };
    own.unwrap_or(&scenario.scheme.sender).kind().to_owned()
}

type Rows = std::io::Result<Vec<Row>>;

fn send_datagrams(flow: u64, source: Source, peer: SocketAddrV4, mark: u8, zero: Instant, end: &End) -> Rows {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    sockopt::set_ip_tos(&socket, mark)?;
    // Sends do not block: excess datagrams are dropped in the network's queues, not delayed in the socket.
    sockopt::set_socket_send_buffer_size(&socket, 8 << 20)?;
    socket.connect(peer)?;
    let mut payload = vec![0; 65_536];
    let mut rows = Vec::new();
    for one in source {
        if !end.sleep_until(zero + one.at.since(Instant::ZERO)) {
            break;
        }
        payload[..8].copy_from_slice(&one.number.to_be_bytes());
        let size =
            usize::try_from(one.size.as_u64().saturating_sub(UDP_HEADERS.as_u64())).unwrap_or(12).max(8);
        let at = now();
        // A refused datagram (no buffer, no listener yet) counts as sent and lost.
        let _ = socket.send(&payload[..size.min(65_000)]);
        rows.push(Row::Sent { flow, number: one.number, at, size: one.size.as_u64(), frame: one.frame });
    }
    Ok(rows)
}

fn receive_datagrams(flow: u64, port: u16, end: &End) -> Rows {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))?;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    sockopt::set_socket_recv_buffer_size(&socket, 8 << 20)?;
    let mut payload = [0; 2048];
    let mut rows = Vec::new();
    loop {
        match socket.recv(&mut payload) {
            Ok(read) if read >= 8 => {
                let mut number = [0; 8];
                number.copy_from_slice(&payload[..8]);
                rows.push(Row::Arrived { flow, number: u64::from_be_bytes(number), at: now() });
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(error),
        }
        if now() > end.get() + DRAIN {
            return Ok(rows);
        }
    }
}

/// Connects shortly before a flow begins; `None` if the end comes first.
fn connect(
    peer: SocketAddrV4,
    mark: u8,
    congestion: &str,
    at: Instant,
    end: &End,
) -> std::io::Result<Option<TcpStream>> {
    // The handshake takes place before the flow begins.
    if !end.sleep_until(at.max(now() + Span::from_millis(100)) - Span::from_millis(100)) {
        return Ok(None);
    }
    let connection = TcpStream::connect(peer)?;
    connection.set_nodelay(true)?;
    sockopt::set_ip_tos(&connection, mark)?;
    sockopt::set_tcp_congestion(&connection, congestion)?;
    Ok(Some(connection))
}

fn send_bulk(mut connection: &TcpStream, start: Instant, stop: Instant, end: &End) -> Rows {
    sleep_until(start);
    connection.set_write_timeout(Some(Duration::from_millis(100)))?;
    let chunk = [0; 16 * 1448];
    while now() < stop.min(end.get()) {
        match connection.write(&chunk) {
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Vec::new())
}

/// Writes each frame at the burst rate, and skips a frame that is due before the previous one is written. The kernel accepts data only
/// as fast as it sends (`tcp_notsent_lowat`).
fn send_frames(flow: u64, mut source: Video, mut connection: &TcpStream, zero: Instant, end: &End) -> Rows {
    let burst_rate = source.burst_rate;
    let chunk = [0; CHUNK];
    let mut rows = Vec::new();
    while let Some((at, size)) = source.take_frame() {
        let created = zero + at.since(Instant::ZERO);
        if now() > created + Span::from_millis(1) {
            rows.push(Row::Frame { flow, created, size: 0 });
            continue;
        }
        if !end.sleep_until(created) {
            break;
        }
        rows.push(Row::Frame { flow, created, size: size.as_u64() });
        let mut left = usize::try_from(size.as_u64()).unwrap_or(usize::MAX);
        let mut next = created;
        while left > 0 {
            sleep_until(next);
            let part = left.min(CHUNK);
            match connection.write_all(&chunk[..part]) {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {
                    return Ok(rows);
                }
                Err(error) => return Err(error),
            }
            left -= part;
            next += burst_rate.time_for(ByteCount::new(part as u64));
        }
    }
    Ok(rows)
}

fn receive_stream(flow: u64, port: u16, end: &End) -> Rows {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
    listener.set_nonblocking(true)?;
    let mut rows = Vec::new();
    let mut connection = loop {
        match listener.accept() {
            Ok((connection, _)) => break connection,
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(Duration::from_millis(10)),
            Err(error) => return Err(error),
        }
        if now() > end.get() {
            return Ok(rows);
        }
    };
    connection.set_nonblocking(false)?;
    connection.set_read_timeout(Some(Duration::from_millis(100)))?;
    let mut buffer = vec![0; 1 << 16];
    while now() <= end.get() {
        match connection.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => rows.push(Row::Stream { flow, at: now(), bytes: read as u64 }),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => return Err(error),
        }
    }
    Ok(rows)
}

//! Round trips to a host without privileges: ICMP over a datagram socket where `net.ipv4.ping_group_range` permits it, else the answer to a
//! TCP connection (accepted or refused).

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use airbound_units::{Instant, Span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};

use crate::{LinuxError, now};

/// Time after which a probe counts as lost: TCP repeats its first segment then (RFC 6298, 2.1).
pub const LOST: Span = Span::from_millis(1000);
/// Types of an echo request (RFC 792, RFC 4443) and of its reply.
const ECHO: [(u8, u8); 2] = [(8, 0), (128, 129)];
/// Answers read in one call.
const MOST: usize = 256;
/// Bytes of an ICMP header.
const HEADER: usize = 8;

/// A way to probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Echo requests.
    Icmp,
    /// Connections to a port, open or closed.
    Tcp(u16),
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Icmp => f.write_str("ICMP"),
            Self::Tcp(port) => write!(f, "TCP connections to port {port}"),
        }
    }
}

/// A probe on its way.
#[derive(Debug)]
struct Pending {
    number: u16,
    sent: Instant,
    /// Its connection, over TCP.
    connection: Option<OwnedFd>,
}

/// Probes of one host.
#[derive(Debug)]
pub struct Pings {
    host: IpAddr,
    way: Way,
    echo: Option<UdpSocket>,
    next: u16,
    pending: VecDeque<Pending>,
    done: Vec<(Instant, Option<Span>)>,
}

impl Pings {
    /// Prepares probes of a host, over `port` where ICMP is not permitted.
    ///
    /// # Errors
    /// There is no route to the host.
    pub fn open(host: IpAddr, port: u16) -> Result<Self, LinuxError> {
        let echo = echo_socket(host)?;
        let way = if echo.is_some() { Way::Icmp } else { Way::Tcp(port) };
        Ok(Self { host, way, echo, next: 0, pending: VecDeque::new(), done: Vec::new() })
    }

    /// The way of the probes.
    #[must_use]
    pub const fn way(&self) -> Way {
        self.way
    }

    /// Sends a probe. One that the kernel refuses counts as lost.
    pub fn send(&mut self) {
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        let sent = now();
        let connection = match (&self.echo, self.way) {
            (Some(echo), _) => {
                let mut request = [0; 56 + HEADER];
                request[0] = ECHO[usize::from(self.host.is_ipv6())].0;
                request[6..HEADER].copy_from_slice(&number.to_be_bytes());
                // The kernel writes identifier and checksum.
                if echo.send(&request).is_err() {
                    self.done.push((sent, None));
                    return;
                }
                None
            }
            (None, Way::Tcp(port)) => match self.connect(port) {
                Ok(connection) => Some(connection),
                Err(error) => {
                    // This machine refuses a connection to itself at once.
                    let is_answer = error == rustix::io::Errno::CONNREFUSED;
                    self.done.push((sent, is_answer.then(|| now().since(sent))));
                    return;
                }
            },
            (None, Way::Icmp) => return,
        };
        self.pending.push_back(Pending { number, sent, connection });
    }

    fn connect(&self, port: u16) -> rustix::io::Result<OwnedFd> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let fd = socket_with(family(self.host), SocketType::STREAM, flags, None)?;
        match connect(&fd, &SocketAddr::new(self.host, port)) {
            Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(fd),
            Err(error) => Err(error),
        }
    }

    /// Reads answers without waiting.
    pub fn receive(&mut self) {
        let at = now();
        if let Some(echo) = &self.echo {
            let mut reply = [0; 256];
            for _ in 0..MOST {
                match echo.recv(&mut reply) {
                    Ok(length)
                        if length >= HEADER && reply[0] == ECHO[usize::from(self.host.is_ipv6())].1 =>
                    {
                        let number = u16::from_be_bytes([reply[6], reply[7]]);
                        if let Some(place) = self.pending.iter().position(|one| one.number == number)
                            && let Some(one) = self.pending.remove(place)
                        {
                            self.done.push((one.sent, Some(at.since(one.sent))));
                        }
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                    // "Unreachable" of a router: the probe it is about stays without an answer.
                    Err(_) => {}
                }
            }
        } else {
            let done = &mut self.done;
            self.pending.retain(|one| {
                let is_answered = one.connection.as_ref().is_some_and(is_ready);
                if is_answered {
                    done.push((one.sent, Some(at.since(one.sent))));
                }
                !is_answered
            });
        }
        while let Some(first) = self.pending.front().filter(|first| at.since(first.sent) >= LOST) {
            self.done.push((first.sent, None));
            self.pending.pop_front();
        }
    }

    fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let connections = self.pending.iter().filter_map(|one| one.connection.as_ref()).map(AsFd::as_fd);
        self.echo.as_ref().map(AsFd::as_fd).into_iter().chain(connections)
    }

    /// When each probe was sent, with its round trip, in order. Those on the way count as lost.
    #[must_use]
    pub fn finish(mut self) -> Vec<(Instant, Option<Span>)> {
        self.done.extend(self.pending.iter().map(|one| (one.sent, None)));
        self.done.sort_by_key(|(sent, _)| *sent);
        self.done
    }
}

/// Waits for an answer or for `until`, at least once.
///
/// # Errors
/// The kernel refuses to wait.
pub fn wait(pings: &[&Pings], others: &[BorrowedFd<'_>], until: Instant) -> Result<(), LinuxError> {
    let left = until.since(now()).as_nanos();
    let time = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ };
    let echoes = pings.iter().filter(|pings| pings.echo.is_some()).flat_map(|pings| pings.descriptors());
    let connections = pings.iter().filter(|pings| pings.echo.is_none()).flat_map(|pings| pings.descriptors());
    let mut fds: Vec<PollFd<'_>> =
        echoes.chain(others.iter().copied()).map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    fds.extend(connections.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT)));
    match poll(&mut fds, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(LinuxError::System { action: "wait for answers", source: error.into() }),
    }
}

fn is_ready(connection: &OwnedFd) -> bool {
    let mut fds = [PollFd::new(connection, PollFlags::OUT)];
    matches!(poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })), Ok(1..))
}

const fn family(host: IpAddr) -> AddressFamily {
    if host.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// A socket for echo requests; `None` if this user may have none.
fn echo_socket(host: IpAddr) -> Result<Option<UdpSocket>, LinuxError> {
    let protocol = if host.is_ipv4() { ipproto::ICMP } else { ipproto::ICMPV6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let Ok(fd) = socket_with(family(host), SocketType::DGRAM, flags, Some(protocol)) else { return Ok(None) };
    connect(&fd, &SocketAddr::new(host, 0)).map_err(LinuxError::system("reach the host to be probed"))?;
    Ok(Some(UdpSocket::from(fd)))
}

/// The default gateway of IPv4, of an interface if one is named: the interface's name and the address.
#[must_use]
pub fn gateway(interface: Option<&str>) -> Option<(String, IpAddr)> {
    default_route(&std::fs::read_to_string("/proc/net/route").ok()?, interface)
}

/// Columns: interface, destination, gateway, flags, reference count, use, metric; addresses in hexadecimal, in the machine's order.
fn default_route(table: &str, interface: Option<&str>) -> Option<(String, IpAddr)> {
    let routes = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let gateway = u32::from_str_radix(columns.get(2)?, 16).ok()?;
        let metric: u32 = columns.get(6)?.parse().ok()?;
        let is_default = *columns.get(1)? == "00000000" && gateway != 0;
        let is_wanted = interface.is_none_or(|name| columns.first() == Some(&name));
        let address = IpAddr::from(gateway.to_ne_bytes());
        (is_default && is_wanted).then(|| (metric, (columns[0].to_owned(), address)))
    });
    routes.min_by_key(|(metric, _)| *metric).map(|(_, found)| found)
}

/// Datagrams that were dropped so far because their program did not read them (`RcvbufErrors` of UDP).
#[must_use]
pub fn unread_datagrams() -> u64 {
    std::fs::read_to_string("/proc/net/snmp").ok().and_then(|text| unread(&text)).unwrap_or(0)
}

fn unread(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with("Udp: "));
    let place = lines.next()?.split_whitespace().position(|name| name == "RcvbufErrors")?;
    lines.next()?.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n\
        eth0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\n\
        wlan0\t00000000\t0102A8C0\t0003\t0\t0\t100\t00000000\n\
        wlan0\t0002A8C0\t00000000\t0001\t0\t0\t100\t00FFFFFF\n";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_gateway_of_the_least_metric_is_taken() {
        let found = |name| default_route(ROUTES, name).map(|(name, address)| (name, address.to_string()));
        assert_eq!(found(None), Some(("wlan0".to_owned(), "192.168.2.1".to_owned())));
        assert_eq!(found(Some("eth0")), Some(("eth0".to_owned(), "192.168.1.1".to_owned())));
        assert_eq!(found(Some("wlan1")), None);
        assert_eq!(default_route("", None), None);
    }

    #[test]
    fn the_counter_of_unread_datagrams_is_found_by_its_name() {
        let text =
            "Ip: A\nIp: 1\nUdp: InDatagrams RcvbufErrors\nUdp: 5 7\nUdpLite: RcvbufErrors\nUdpLite: 9\n";
        assert_eq!(unread(text), Some(7));
        assert_eq!(unread("Udp: RcvbufErrors"), None);
    }

    /// This machine answers a connection, and an echo request if it is permitted.
    #[test]
    fn this_machine_answers() {
        let host = IpAddr::from([127, 0, 0, 1]);
        let over_tcp =
            Pings { host, way: Way::Tcp(9), echo: None, next: 0, pending: VecDeque::new(), done: Vec::new() };
        for mut pings in [over_tcp, Pings::open(host, 9).expect("a route")] {
            for _ in 0..3 {
                pings.send();
                wait(&[&pings], &[], now() + Span::from_millis(500)).expect("waits");
                pings.receive();
            }
            let done = pings.finish();
            assert_eq!(done.len(), 3);
            assert!(done.iter().all(|(_, round_trip)| round_trip.is_some()), "{done:?}");
        }
    }
}

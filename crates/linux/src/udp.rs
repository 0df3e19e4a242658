//! UDP sockets for many datagrams: batches, receive stamps, merging and segmentation by the kernel, no fragments.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use airbound_units::Instant;

use crate::LinuxError;
use crate::sys::udp::{Datagrams, Message, UdpOption, bind_to_device, send_messages, set_udp_option};

/// Datagrams of one call.
const BATCH: usize = 64;
/// Largest datagram, and so largest merged one.
const LARGEST: usize = 65_535;
/// Size of a socket's buffers; the kernel takes at most `net.core.rmem_max` and `wmem_max`.
const BUFFER: usize = 4 << 20;
/// Datagrams that the kernel makes of one message at most (`UDP_MAX_SEGMENTS` of kernels before 6.9),
const MOST_SEGMENTS: usize = 64;
/// and their bytes: a packet of IPv4 less its headers.
const MOST_BYTES: usize = 65_507;

/// A socket that never waits.
#[derive(Debug)]
pub struct UdpSocket {
    socket: std::net::UdpSocket,
    segments: bool,
}

/// A received datagram.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    /// The sender's address.
    pub from: SocketAddr,
    /// The payload.
    pub bytes: &'a [u8],
    /// The kernel's receive stamp by CLOCK_REALTIME, since 1970; the same for datagrams that the kernel has merged.
    pub stamp: Option<Instant>,
}

/// Room for a batch of datagrams, to be used for many sockets.
#[derive(Debug)]
pub struct ReceiveBatch(Datagrams);

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self(Datagrams::new(BATCH, LARGEST))
    }
}

impl ReceiveBatch {
    /// Datagrams that one call of [`UdpSocket::receive`] takes at most, merged ones counted as one.
    pub const MOST: usize = BATCH;

    /// The datagrams of the last call, in order.
    pub fn iter(&self) -> impl Iterator<Item = Received<'_>> {
        self.0.iter().filter_map(|datagram| Some((datagram.from?, datagram))).flat_map(|(from, datagram)| {
            let stamp = datagram.stamp.map(of_stamp);
            let size = datagram.segment.unwrap_or(datagram.bytes.len().max(1));
            let empty = datagram.bytes.is_empty().then_some(&[][..]);
            datagram.bytes.chunks(size).chain(empty).map(move |bytes| Received { from, bytes, stamp })
        })
    }
}

/// A stamp of the kernel, seconds and nanoseconds.
pub(crate) fn of_stamp((seconds, nanos): (i64, i64)) -> Instant {
    let seconds = u64::try_from(seconds).unwrap_or_default();
    let nanos = u64::try_from(nanos).unwrap_or_default();
    Instant::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl UdpSocket {
    /// A socket bound to an address; port 0 takes any.
    ///
    /// # Errors
    /// The address is not of this machine, or its port is taken.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = std::net::UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, BUFFER);
        let _ = rustix::net::sockopt::set_socket_send_buffer_size(&socket, BUFFER);
        // Older kernels do neither, and cost more.
        let _ = set_udp_option(socket.as_fd(), UdpOption::Merging, address.is_ipv6());
        Ok(Self { socket, segments: true })
    }

    /// A socket for datagrams to and from one address only.
    ///
    /// # Errors
    /// There is no way to the address.
    pub fn connect(to: SocketAddr) -> io::Result<Self> {
        let any = match to {
            SocketAddr::V4(_) => SocketAddr::from(([0, 0, 0, 0], 0)),
            SocketAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
        };
        let socket = Self::bind(any)?;
        socket.socket.connect(to)?;
        Ok(socket)
    }

    /// Forbids fragments, and asks for receive stamps.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn probe_path(&self) -> Result<(), LinuxError> {
        let is_v6 = self.socket.local_addr().is_ok_and(|address| address.is_ipv6());
        set_udp_option(self.as_fd(), UdpOption::NoFragments, is_v6)
            .map_err(LinuxError::system("forbid fragments"))?;
        set_udp_option(self.as_fd(), UdpOption::Stamps, is_v6).map_err(LinuxError::system("ask for stamps"))
    }

    /// Binds the socket to an interface whose queueing discipline sends each datagram at its time ([`crate::qdisc`]), and lets
    /// [`Self::send_at`] give these times.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refused.
    pub fn send_times(&self, interface: &str) -> Result<(), LinuxError> {
        bind_to_device(self.as_fd(), interface).map_err(LinuxError::system("bind to an interface"))?;
        set_udp_option(self.as_fd(), UdpOption::SendTime, false)
            .map_err(LinuxError::system("ask for send times"))
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    /// The kernel refused.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Receives pending datagrams without waiting. Returns whether there may be more.
    ///
    /// # Errors
    /// Those of the socket but for "nothing is there", such as that a connected peer refused a datagram.
    pub fn receive(&self, batch: &mut ReceiveBatch) -> io::Result<bool> {
        match batch.0.receive(self.as_fd()) {
            Ok(received) => Ok(received == BATCH),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends datagrams in order, without waiting, successive ones of the same length to the same address as one message. Returns how many
    /// the kernel did not take: those beyond its buffer, larger than the interface's MTU, or to an address without a way.
    pub fn send<'a>(&mut self, datagrams: impl Iterator<Item = (Option<SocketAddr>, &'a [u8])>) -> usize {
        self.send_at(datagrams.map(|(to, datagram)| (to, datagram, None)))
    }

    /// As [`Self::send`], each datagram with the time when it is to leave by the clock of [`crate::now`]. Only a socket after
    /// [`Self::send_times`] takes times; without one a datagram leaves at once.
    pub fn send_at<'a>(
        &mut self,
        datagrams: impl Iterator<Item = (Option<SocketAddr>, &'a [u8], Option<Instant>)>,
    ) -> usize {
        let (mut slices, mut groups) = (Vec::<IoSlice<'a>>::with_capacity(BATCH), Vec::new());
        let (mut length, mut bytes, mut open) = (0, 0, false);
        for (to, datagram, leaves) in datagrams {
            let fits = matches!(
                groups.last(),
                Some((last, at, count)) if *last == to && *at == leaves && *count < MOST_SEGMENTS
            );
            if self.segments
                && open
                && fits
                // A segment without bytes would vanish.
                && !datagram.is_empty()
                && datagram.len() <= length
                && bytes + datagram.len() <= MOST_BYTES
            {
                if let Some((_, _, count)) = groups.last_mut() {
                    *count += 1;
                }
                bytes += datagram.len();
                open = datagram.len() == length;
            } else {
                groups.push((to, leaves, 1));
                (length, bytes, open) = (datagram.len(), datagram.len(), !datagram.is_empty());
            }
            slices.push(IoSlice::new(datagram));
        }
        let mut messages = Vec::with_capacity(groups.len());
        let mut rest = &slices[..];
        for (to, leaves, count) in groups {
            let (datagrams, others) = rest.split_at(count);
            messages.push(Message { to, datagrams, leaves: leaves.map(Instant::as_nanos) });
            rest = others;
        }
        self.send_all(&messages)
    }

    fn send_all(&mut self, mut messages: &[Message<'_>]) -> usize {
        let mut refused = 0;
        while let [first, others @ ..] = messages {
            match send_messages(self.as_fd(), messages) {
                Ok(sent) => messages = messages.get(sent..).unwrap_or_default(),
                // A way that cannot segment: each datagram by itself from now on.
                Err(error) if first.datagrams.len() > 1 && is_about_segments(&error) => {
                    self.segments = false;
                    for datagram in first.datagrams.chunks(1) {
                        let single = Message { datagrams: datagram, ..*first };
                        refused += usize::from(send_messages(self.as_fd(), &[single]).is_err());
                    }
                    messages = others;
                }
                Err(_) => {
                    refused += first.datagrams.len();
                    messages = others;
                }
            }
        }
        refused
    }
}

/// `EIO` from devices without checksums, `EINVAL` from kernels without segmentation or for segments above the MTU.
fn is_about_segments(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE))
}

/// Lets waits of this thread end as exactly as the kernel can.
pub fn wake_exactly() {
    // A kernel that refuses wakes later.
    let _ = crate::sys::udp::set_timer_slack(1);
}

/// The time by the clock of stamps (CLOCK_REALTIME), since 1970.
#[must_use]
pub fn stamp_now() -> Instant {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Instant::from_nanos(
        seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or_default()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (UdpSocket, UdpSocket, SocketAddr) {
        let to = UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("loopback");
        to.probe_path().expect("options");
        let address = to.local_address().expect("bound");
        (UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("loopback"), to, address)
    }

    #[test]
    fn datagrams_arrive_in_order_with_addresses_and_stamps() {
        let (mut from, to, address) = pair();
        let lengths = [100, 100, 100, 40, 100, 0, 7, 1400, 1400];
        let datagrams: Vec<Vec<u8>> =
            lengths.iter().enumerate().map(|(place, length)| vec![place as u8; *length]).collect();
        assert_eq!(from.send(datagrams.iter().map(|datagram| (Some(address), &datagram[..]))), 0);
        let mut batch = ReceiveBatch::default();
        let mut arrived = Vec::new();
        for _ in 0..100 {
            to.receive(&mut batch).expect("open");
            for datagram in batch.iter() {
                assert_eq!(datagram.from, from.local_address().expect("bound"));
                let age = stamp_now().since(datagram.stamp.expect("a stamp"));
                assert!(age.as_millis() < 10_000, "{age}");
                arrived.push(datagram.bytes.to_vec());
            }
            if arrived.len() >= datagrams.len() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(arrived == datagrams, "{:?}", arrived.iter().map(Vec::len).collect::<Vec<_>>());
    }

    #[test]
    fn what_the_kernel_does_not_take_is_counted_and_the_rest_sent() {
        let (mut from, to, address) = pair();
        from.probe_path().expect("options");
        let (small, large) = (vec![1; 10], vec![2; 65_520]);
        let refused = from.send([(Some(address), &large[..]), (Some(address), &small[..])].into_iter());
        assert_eq!(refused, 1);
        let mut batch = ReceiveBatch::default();
        to.receive(&mut batch).expect("open");
        assert_eq!(batch.iter().map(|datagram| datagram.bytes.len()).collect::<Vec<_>>(), [10]);
    }
}

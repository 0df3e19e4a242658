//! A way out of a network namespace to the internet: the program passt, which carries connections on by sockets of its own. It needs no
//! right, and changes nothing on this machine.

use std::io::{self, Read as _, Write as _};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};

use crate::LinuxError;

/// Destination and source of an Ethernet frame to passt, both made up, and the type of IPv4.
const ETHERNET: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];
const GATEWAY: &str = "02:00:00:00:00:01";
/// Bytes that are read at once.
const PIECE: usize = 16 << 10;
/// Bytes that may wait for passt; then packets are dropped, as by a wire whose other end is slow.
const BACKLOG: usize = 256 << 10;
/// A passt that refuses its arguments ends within this time.
const START: Duration = Duration::from_millis(100);

/// The way out of one host.
#[derive(Debug)]
pub struct Internet {
    socket: UnixStream,
    /// Frames that came, the first `taken` bytes of which are read.
    incoming: Vec<u8>,
    taken: usize,
    outgoing: Vec<u8>,
    program: Option<Child>,
}

impl AsFd for Internet {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Internet {
    /// Starts passt in the present network for a host with an address; `gateway` answers as its name server. IPv4 only. The loopback
    /// addresses of this machine stay out of reach.
    ///
    /// # Errors
    /// passt is not installed, or ends at once.
    pub fn start(address: Ipv4Addr, prefix: u8, gateway: Ipv4Addr) -> Result<Self, LinuxError> {
        let unavailable = |why: String| LinuxError::Unavailable { what: "the internet", why };
        let (own, theirs) = UnixStream::pair().map_err(LinuxError::system("make a pair of sockets"))?;
        let passed = fcntl_setfd(&theirs, FdFlags::empty()).map_err(io::Error::from);
        passed
            .and_then(|()| own.set_nonblocking(true))
            .map_err(LinuxError::system("set up a pair of sockets"))?;
        let mut command = Command::new("passt");
        command.args(["--foreground", "--quiet", "--ipv4-only", "--no-map-gw", "--no-dhcp", "--no-dhcp-dns"]);
        command.args(["--fd", &theirs.as_raw_fd().to_string(), "--mac-addr", GATEWAY, "--mtu", "1500"]);
        command.args(["--address", &address.to_string(), "--netmask", &prefix.to_string()]);
        command.args(["--gateway", &gateway.to_string(), "--dns-forward", &gateway.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut program = command
            .spawn()
            .map_err(|error| unavailable(format!("passt: {error}; install it: apt-get install passt")))?;
        std::thread::sleep(START);
        if let Ok(Some(status)) = program.try_wait() {
            return Err(unavailable(format!("passt ended with {status}; try `passt --foreground`")));
        }
        Ok(Self::over(own, Some(program)))
    }

    const fn over(socket: UnixStream, program: Option<Child>) -> Self {
        Self { socket, incoming: Vec::new(), taken: 0, outgoing: Vec::new(), program }
    }

    /// Reads one IPv4 packet that came from outside, without waiting; its length, or `None` if there is none. Packets longer than `into`
    /// are left out.
    ///
    /// # Errors
    /// passt has ended.
    pub fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        self.flush();
        loop {
            while let Some((length, rest)) = self.incoming[self.taken..].split_first_chunk::<4>() {
                let length = u32::from_be_bytes(*length) as usize;
                let Some(frame) = rest.get(..length) else { break };
                self.taken += 4 + length;
                if let Some(packet) = packet_of(frame)
                    && let Some(place) = into.get_mut(..packet.len())
                {
                    place.copy_from_slice(packet);
                    return Ok(Some(packet.len()));
                }
            }
            self.incoming.drain(..self.taken);
            self.taken = 0;
            let filled = self.incoming.len();
            self.incoming.resize(filled + PIECE, 0);
            let read = (&self.socket).read(&mut self.incoming[filled..]);
            self.incoming.truncate(filled + read.as_ref().copied().unwrap_or(0));
            match read {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                Err(error)
                    if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) =>
                {
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Passes one IPv4 packet outside. Returns whether there was room for it.
    pub fn write(&mut self, packet: &[u8]) -> bool {
        if self.outgoing.len() > BACKLOG {
            self.flush();
        }
        if self.outgoing.len() > BACKLOG {
            return false;
        }
        let length = (ETHERNET.len() + packet.len()) as u32;
        self.outgoing.extend_from_slice(&length.to_be_bytes());
        self.outgoing.extend_from_slice(&ETHERNET);
        self.outgoing.extend_from_slice(packet);
        self.flush();
        true
    }

    fn flush(&mut self) {
        while !self.outgoing.is_empty() {
            // An end shows when it is read from.
            let Ok(written @ 1..) = (&self.socket).write(&self.outgoing) else { break };
            self.outgoing.drain(..written);
        }
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        if let Some(program) = &mut self.program {
            let _ = program.kill();
            let _ = program.wait();
        }
    }
}

/// The IPv4 packet in an Ethernet frame, without what fills the frame up.
fn packet_of(frame: &[u8]) -> Option<&[u8]> {
    let (ethernet, packet) = frame.split_at_checked(ETHERNET.len())?;
    let length = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    (ethernet.ends_with(&[8, 0]) && length >= 20).then(|| packet.get(..length)).flatten()
}

#[cfg(test)]
#[path = "../tests/parsers/internet.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn pair() -> (Internet, UnixStream) {
        let (own, other) = UnixStream::pair().expect("sockets");
        own.set_nonblocking(true).expect("a socket");
        (Internet::over(own, None), other)
    }

    fn packet(length: u16) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.resize(length.into(), 7);
        packet
    }

    fn frame(kind: [u8; 2], packet: &[u8], fill: usize) -> Vec<u8> {
        let mut frame = ((14 + packet.len() + fill) as u32).to_be_bytes().to_vec();
        frame.extend([[1; 12].as_slice(), &kind, packet, &vec![0; fill]].concat());
        frame
    }

    #[test]
    fn packets_come_out_of_frames_however_they_are_cut() {
        let (mut own, mut other) = pair();
        // Of IPv4, filled up to the least length; of ARP; too long for the reader; of IPv4.
        let frames = [
            frame([8, 0], &packet(40), 6),
            frame([8, 6], &packet(28), 0),
            frame([8, 0], &packet(3000), 0),
            frame([8, 0], &packet(1500), 0),
        ];
        let (mut into, mut found) = ([0; 1500], Vec::new());
        for piece in frames.concat().chunks(11) {
            other.write_all(piece).expect("room");
            while let Some(length) = own.read(&mut into).expect("it is open") {
                found.push(into[..length].to_vec());
            }
        }
        assert_eq!(found, [packet(40), packet(1500)]);
        drop(other);
        assert_eq!(own.read(&mut into).expect_err("closed").kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn packets_wait_for_a_slow_reader_and_then_are_dropped() {
        let (mut own, mut other) = pair();
        let taken = (0..10_000).take_while(|_| own.write(&packet(1500))).count();
        assert!((170..10_000).contains(&taken), "{taken}");
        let mut bytes = vec![0; taken * 1518];
        let mut filled = 0;
        while filled < bytes.len() {
            own.flush();
            filled += other.read(&mut bytes[filled..]).expect("bytes");
        }
        let expected = [1514_u32.to_be_bytes().as_slice(), &ETHERNET, &packet(1500)].concat();
        assert!(bytes.chunks(1518).all(|frame| frame == expected), "each frame is whole");
        assert!(own.write(&packet(20)), "there is room again");
    }
}

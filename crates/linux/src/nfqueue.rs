//! Held packets: the kernel copies each packet's first bytes to this process, keeps the packet, and waits for a verdict (NFQUEUE;
//! kernel include/uapi/linux/netfilter/nfnetlink_queue.h, net/netfilter/nfnetlink_queue.c).
//!
//! Verdicts may be given in any order, and are sent in batches. If the process dies, packets pass by the rule's `bypass`; if it falls
//! behind, by FAIL_OPEN. If it hangs, held packets stay held, which is the concern of the agent's watchdog.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use airbound_units::ByteCount;

use crate::netlink::message::{Attributes, Builder, Message, Messages};
use crate::netlink::socket::{NETFILTER, Socket};
use crate::{LinuxError, MacAddress, sys};

/// `NFNL_SUBSYS_QUEUE` in the upper half of a message's type.
const SUBSYSTEM: u16 = 3 << 8;
const PACKET: u16 = SUBSYSTEM;
const VERDICT: u16 = SUBSYSTEM | 1;
const CONFIG: u16 = SUBSYSTEM | 2;
/// Bytes of `struct nfgenmsg`.
const FIXED: usize = 4;

mod attribute {
    pub(super) const PACKET_HEADER: u16 = 1;
    pub(super) const VERDICT_HEADER: u16 = 2;
    pub(super) const MARK: u16 = 3;
    pub(super) const IN_DEVICE: u16 = 5;
    pub(super) const OUT_DEVICE: u16 = 6;
    pub(super) const IN_PORT: u16 = 7;
    pub(super) const OUT_PORT: u16 = 8;
    pub(super) const HARDWARE_ADDRESS: u16 = 9;
    pub(super) const PAYLOAD: u16 = 10;
    pub(super) const FULL_LENGTH: u16 = 13;
    pub(super) const SKB_INFO: u16 = 14;
    pub(super) const VLAN: u16 = 19;
    pub(super) const LAYER_2: u16 = 20;
    pub(super) const PRIORITY: u16 = 21;
    pub(super) const VLAN_TCI: u16 = 2;
    pub(super) const CONFIG_COMMAND: u16 = 1;
    pub(super) const CONFIG_PARAMETERS: u16 = 2;
    pub(super) const CONFIG_LENGTH: u16 = 3;
    pub(super) const CONFIG_MASK: u16 = 4;
    pub(super) const CONFIG_FLAGS: u16 = 5;
}

/// `NFQNL_CFG_CMD_BIND`.
const BIND: u8 = 1;
/// `NFQNL_COPY_PACKET`.
const COPY_PACKET: u8 = 2;
/// `NFQA_CFG_F_FAIL_OPEN`, `NFQA_CFG_F_GSO`.
const FAIL_OPEN: u32 = 1;
const GSO: u32 = 4;
/// `NFQA_SKB_GSO`: the packet is a super-packet.
const IS_GSO: u32 = 2;
/// `NF_DROP`, `NF_ACCEPT`.
const DROP: u32 = 0;
const ACCEPT: u32 = 1;

/// Upper bound of the bytes of a message besides the packet's first bytes.
const ATTRIBUTES: usize = 512;
/// Datagrams received by one system call.
const BATCH: usize = 64;
/// Bytes of pending verdicts at which they are sent (40 B each with a mark).
const VERDICTS: usize = 16 << 10;

/// Configuration of a [`Queue`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueConfig {
    /// Number of the queue, as in the rules.
    pub number: u16,
    /// Bytes of each packet that are copied, from the network header on: 96 hold IPv6, TCP or UDP, and the start of RTP.
    pub copied: u16,
    /// The limit of packets that the kernel holds; further ones pass unqueued (`fail_open`) or are lost.
    pub held: u32,
    /// Packets pass unqueued when queue or socket is full, instead of being lost.
    pub fail_open: bool,
    /// TCP super-packets are held whole, with one verdict. Without it the kernel segments them first, which costs bridged TCP nearly all
    /// of its throughput (measured: 1.6 instead of 383 Mb/s).
    pub super_packets: bool,
    /// Bytes of the socket's buffer.
    pub buffer: usize,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self { number: 77, copied: 96, held: 8192, fail_open: true, super_packets: true, buffer: 8 << 20 }
    }
}

/// The kernel's number of a held packet. Numbers of a queue repeat after 2^32 packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketId(pub u32);

/// The layer of the hook at which a packet was held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Routed: the copied bytes begin with the IP header.
    Network,
    /// Bridged: the frame's link header is known, too.
    Link,
}

/// A held packet, as passed to the callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number, for the verdict.
    pub id: PacketId,
    /// The layer of the hook.
    pub layer: Layer,
    /// Its protocol as an EtherType: 0x0800 for IPv4, 0x86dd for IPv6.
    pub ethertype: u16,
    /// Its first bytes from the network header on, at most [`QueueConfig::copied`].
    pub head: &'a [u8],
    /// Its length from the network header on; of a super-packet with all segments.
    pub length: ByteCount,
    /// Whether one verdict releases several segments.
    pub is_super_packet: bool,
    /// The ingress interface, 0 for packets of this machine; of bridged packets the bridge's port.
    pub in_interface: u32,
    /// The egress interface; of bridged packets the bridge's port.
    pub out_interface: u32,
    /// The link header of a bridged frame: destination, source, EtherType.
    pub link_header: &'a [u8],
    /// The tag control information of a VLAN tag that the kernel stores outside of the frame (802.1Q clause 9.6).
    pub vlan: Option<u16>,
    /// The hardware address of the sender, as received.
    pub source: Option<MacAddress>,
    /// Netfilter's mark.
    pub mark: u32,
    /// `skb->priority`; 256 to 263 are user priorities (cfg80211).
    pub priority: u32,
}

impl Packet<'_> {
    /// The receiver of a bridged frame: the station, or a host behind it.
    #[must_use]
    pub fn destination(&self) -> Option<MacAddress> {
        MacAddress::from_slice(self.link_header)
    }
}

/// Counters of packets, verdicts and losses since the queue was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Packets received.
    pub packets: u64,
    /// Verdicts given.
    pub verdicts: u64,
    /// Packets for which the socket had no room: passed unqueued with `fail_open`, else lost.
    pub overruns: u64,
    /// Malformed messages.
    pub malformed: u64,
    /// Verdicts that the kernel refused: the packet was gone, as after the removal of an interface.
    pub refused: u64,
}

/// The kernel's own counters (/proc/net/netfilter/nfnetlink_queue of the calling thread's namespace).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KernelCounters {
    /// Packets that wait for a verdict.
    pub held: u32,
    /// Packets lost because the queue was full.
    pub dropped_full: u32,
    /// Packets lost because the socket was full.
    pub dropped_socket: u32,
}

/// An open queue. When it is closed, the kernel drops the packets it holds.
#[derive(Debug)]
pub struct Queue {
    socket: Socket,
    number: u16,
    batch: sys::Batch,
    verdicts: Builder,
    counters: QueueCounters,
    last: Option<u32>,
}

impl AsFd for Queue {
    /// Readable when packets are pending.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Queue {
    /// Opens a queue. Packets that a rule sends to it are held from here on.
    ///
    /// # Errors
    /// No CAP_NET_ADMIN, no NFQUEUE in the kernel, or another process has the queue (EBUSY).
    pub fn open(config: &QueueConfig) -> Result<Self, LinuxError> {
        // Packets wait in the queue until its socket is closed; afterwards they bypass it.
        let mut socket = Socket::open(NETFILTER)?.closed_first();
        // Refused without CAP_NET_ADMIN, which the bind below reports with more detail.
        let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, config.buffer);
        let _ = rustix::net::sockopt::set_socket_send_buffer_size_force(&socket, VERDICTS * 8);
        // Without this option an overrun would block the socket until all was read.
        let _ = sys::set_netlink_option(socket.as_fd(), sys::NetlinkOption::NoEnobufs, 1);
        let fixed = fixed(config.number);
        socket.request(
            "open the packet queue",
            CONFIG,
            0,
            &fixed,
            |builder| builder.put(attribute::CONFIG_COMMAND, &[BIND, 0, 0, 0]),
            |_| {},
        )?;
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let flags = flag(config.fail_open, FAIL_OPEN) | flag(config.super_packets, GSO);
        socket.request(
            "configure the packet queue",
            CONFIG,
            0,
            &fixed,
            |builder| {
                let mut parameters = u32::from(config.copied).to_be_bytes().to_vec();
                parameters.push(COPY_PACKET);
                builder.put(attribute::CONFIG_PARAMETERS, &parameters);
                builder.put_be32(attribute::CONFIG_LENGTH, config.held);
                builder.put_be32(attribute::CONFIG_FLAGS, flags);
                builder.put_be32(attribute::CONFIG_MASK, FAIL_OPEN | GSO);
            },
            |_| {},
        )?;
        Ok(Self {
            socket,
            number: config.number,
            batch: sys::Batch::new(BATCH, usize::from(config.copied) + ATTRIBUTES),
            verdicts: Builder::with_capacity(VERDICTS + 64),
            counters: QueueCounters::default(),
            last: None,
        })
    }

    /// Opens the queue of `config`, or one with one of the next `more` numbers: that of another process is refused.
    ///
    /// # Errors
    /// As [`Self::open`], of the first number.
    pub fn open_from(config: &QueueConfig, more: u16) -> Result<Self, LinuxError> {
        Self::open(config).or_else(|error| {
            // The kernel answers with EPERM for a queue of another process, as without CAP_NET_ADMIN.
            let is_taken = matches!(error.errno(), Some(libc::EPERM | libc::EBUSY));
            let others = (1..=more).filter(|_| is_taken).filter_map(|step| config.number.checked_add(step));
            let mut others = others.map(|number| Self::open(&QueueConfig { number, ..config.clone() }));
            others.find_map(Result::ok).ok_or(error)
        })
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.number
    }

    /// Passes pending packets to `each`, oldest first, without waiting; at most `most` packets, in steps of 64. Returns their count.
    ///
    /// # Errors
    /// The socket failed permanently.
    pub fn receive(&mut self, most: usize, mut each: impl FnMut(&Packet<'_>)) -> Result<usize, LinuxError> {
        let mut packets = 0;
        while packets < most {
            let received = match self.batch.receive(self.socket.as_fd()) {
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    self.counters.overruns += 1;
                    continue;
                }
                Err(source) => return Err(LinuxError::System { action: "read held packets", source }),
            };
            for datagram in self.batch.datagrams() {
                let Some(datagram) = datagram else {
                    self.counters.malformed += 1;
                    continue;
                };
                for message in Messages(datagram) {
                    match read(&message) {
                        Read::Packet(packet) => {
                            self.counters.overruns += gap(self.last.replace(packet.id.0), packet.id.0);
                            self.counters.packets += 1;
                            packets += 1;
                            each(&packet);
                        }
                        Read::Refused => self.counters.refused += 1,
                        Read::Malformed => self.counters.malformed += 1,
                        Read::Other => {}
                    }
                }
            }
            if received < self.batch.capacity() {
                break;
            }
        }
        Ok(packets)
    }

    /// Releases a packet, with a new mark if one is given, which [`crate::completions`] reports with the packet's completion. Takes effect
    /// with [`Self::flush`], or when enough verdicts are pending.
    ///
    /// # Errors
    /// The socket failed.
    pub fn accept(&mut self, id: PacketId, mark: Option<u32>) -> Result<(), LinuxError> {
        self.verdict(id, ACCEPT, mark)
    }

    /// Drops a packet. Takes effect as [`Self::accept`].
    ///
    /// # Errors
    /// The socket failed.
    pub fn drop(&mut self, id: PacketId) -> Result<(), LinuxError> {
        self.verdict(id, DROP, None)
    }

    fn verdict(&mut self, id: PacketId, verdict: u32, mark: Option<u32>) -> Result<(), LinuxError> {
        self.verdicts.begin(VERDICT, crate::netlink::message::REQUEST, 0, &fixed(self.number));
        let mut header = [0; 8];
        header[..4].copy_from_slice(&verdict.to_be_bytes());
        header[4..].copy_from_slice(&id.0.to_be_bytes());
        self.verdicts.put(attribute::VERDICT_HEADER, &header);
        if let Some(mark) = mark {
            self.verdicts.put_be32(attribute::MARK, mark);
        }
        self.counters.verdicts += 1;
        if self.verdicts.len() >= VERDICTS { self.flush() } else { Ok(()) }
    }

    /// Sends the verdicts given so far, in one system call.
    ///
    /// # Errors
    /// The socket failed; the verdicts are kept for the next attempt.
    pub fn flush(&mut self) -> Result<(), LinuxError> {
        if self.verdicts.is_empty() {
            return Ok(());
        }
        self.socket.send(self.verdicts.as_bytes()).map_err(LinuxError::system("send verdicts"))?;
        self.verdicts.clear();
        Ok(())
    }

    /// The counters since the queue was opened.
    #[must_use]
    pub const fn counters(&self) -> QueueCounters {
        self.counters
    }

    /// The kernel's counters of this queue; `None` if /proc does not list it.
    #[must_use]
    pub fn kernel_counters(&self) -> Option<KernelCounters> {
        kernel_counters(&fs::read_to_string(LIST).ok()?, self.number)
    }
}

/// The list of all queues that are open.
const LIST: &str = "/proc/thread-self/net/netfilter/nfnetlink_queue";

/// The first number from `from` on that no process of this network namespace has; `from` if the kernel lists none.
#[must_use]
pub fn first_free(from: u16) -> u16 {
    let text = fs::read_to_string(LIST).unwrap_or_default();
    (from..=u16::MAX).find(|number| kernel_counters(&text, *number).is_none()).unwrap_or(from)
}

/// `struct nfgenmsg`: any family, version 0, the queue in network order.
const fn fixed(number: u16) -> [u8; FIXED] {
    let [high, low] = number.to_be_bytes();
    [0, 0, high, low]
}

/// Number of packets missing between two packet numbers; 0 for the first packet.
const fn gap(last: Option<u32>, now: u32) -> u64 {
    match last {
        // A step backwards is not a gap: two processors assigned numbers.
        Some(last) => {
            let step = now.wrapping_sub(last);
            if step == 0 || step > u32::MAX / 2 { 0 } else { step as u64 - 1 }
        }
        None => 0,
    }
}

/// A message of the queue's socket, by its kind.
#[derive(Debug, PartialEq, Eq)]
enum Read<'a> {
    Packet(Packet<'a>),
    Refused,
    Malformed,
    Other,
}

fn read<'a>(message: &Message<'a>) -> Read<'a> {
    if let Some((errno, _)) = message.outcome() {
        return if errno == 0 { Read::Other } else { Read::Refused };
    }
    if message.kind != PACKET {
        return Read::Other;
    }
    packet(message.body.first().copied(), message.attributes(FIXED)).map_or(Read::Malformed, Read::Packet)
}

/// `AF_BRIDGE`.
const BRIDGE: u8 = 7;

fn packet(family: Option<u8>, attributes: Attributes<'_>) -> Option<Packet<'_>> {
    let mut id = None;
    let mut full = None;
    // For bridged packets the kernel gives the bridge as the interface, and the port in addition.
    let (mut in_port, mut out_port) = (None, None);
    let mut packet = Packet {
        id: PacketId(0),
        layer: if family == Some(BRIDGE) { Layer::Link } else { Layer::Network },
        ethertype: 0,
        head: &[],
        length: ByteCount::ZERO,
        is_super_packet: false,
        in_interface: 0,
        out_interface: 0,
        link_header: &[],
        vlan: None,
        source: None,
        mark: 0,
        priority: 0,
    };
    for attribute in attributes {
        match attribute.kind {
            attribute::PACKET_HEADER => {
                id = attribute.be32();
                let protocol = attribute.value.get(4..)?.first_chunk()?;
                packet.ethertype = u16::from_be_bytes(*protocol);
            }
            attribute::MARK => packet.mark = attribute.be32()?,
            attribute::IN_DEVICE => packet.in_interface = attribute.be32()?,
            attribute::OUT_DEVICE => packet.out_interface = attribute.be32()?,
            attribute::IN_PORT => in_port = attribute.be32(),
            attribute::OUT_PORT => out_port = attribute.be32(),
            attribute::HARDWARE_ADDRESS => {
                // Length, two bytes of padding, the address.
                let length = attribute.value.first_chunk().copied().map(u16::from_be_bytes);
                if length == Some(6) {
                    packet.source = attribute.value.get(4..).and_then(MacAddress::from_slice);
                }
            }
            attribute::PAYLOAD => packet.head = attribute.value,
            attribute::FULL_LENGTH => full = attribute.be32(),
            attribute::SKB_INFO => packet.is_super_packet = attribute.be32()? & IS_GSO != 0,
            attribute::VLAN => {
                let tci = attribute.nested().find(attribute::VLAN_TCI);
                packet.vlan = tci.and_then(|tci| tci.value.first_chunk().copied()).map(u16::from_be_bytes);
            }
            attribute::LAYER_2 => packet.link_header = attribute.value,
            attribute::PRIORITY => packet.priority = attribute.be32()?,
            _ => {}
        }
    }
    packet.id = PacketId(id?);
    packet.in_interface = in_port.unwrap_or(packet.in_interface);
    packet.out_interface = out_port.unwrap_or(packet.out_interface);
    // The full length is given for truncated packets only.
    packet.length = ByteCount::new(full.map_or(packet.head.len() as u64, u64::from));
    Some(packet)
}

fn kernel_counters(text: &str, number: u16) -> Option<KernelCounters> {
    text.lines().find_map(|line| {
        let fields: Vec<u32> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
        // Queue, socket, held, copy mode, copy range, lost to a full queue, lost to a full socket, last number.
        let [queue, _, held, _, _, dropped_full, dropped_socket, ..] = fields[..] else { return None };
        (queue == u32::from(number)).then_some(KernelCounters { held, dropped_full, dropped_socket })
    })
}

#[cfg(test)]
#[path = "../tests/parsers/nfqueue.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn message(write: impl FnOnce(&mut Builder)) -> Vec<u8> {
        let mut builder = Builder::default();
        builder.begin(PACKET, 0, 0, &[BRIDGE, 0, 0, 77]);
        write(&mut builder);
        builder.as_bytes().to_vec()
    }

    pub(super) fn first(bytes: &[u8]) -> Read<'_> {
        read(&Messages(bytes).next().expect("a message"))
    }

    #[test]
    fn a_bridged_packet() {
        let bytes = message(|builder| {
            builder.put(attribute::PACKET_HEADER, &[0, 0, 1, 2, 0x08, 0x00, 4]);
            builder.put_be32(attribute::OUT_DEVICE, 9);
            builder.put_be32(attribute::OUT_PORT, 3);
            builder.put_be32(attribute::IN_DEVICE, 9);
            builder.put(attribute::HARDWARE_ADDRESS, &[0, 6, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0]);
            builder.put_be32(attribute::SKB_INFO, IS_GSO | 1);
            let vlan = builder.nest(attribute::VLAN);
            builder.put(attribute::VLAN_TCI, &[0xa0, 5]);
            builder.end(vlan);
            builder.put(attribute::LAYER_2, &[2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 7, 0, 8, 0]);
            builder.put_be32(attribute::FULL_LENGTH, 3000);
            builder.put(attribute::PAYLOAD, &[0x45; 96]);
        });
        let Read::Packet(packet) = first(&bytes) else { panic!("a packet") };
        assert_eq!((packet.id, packet.layer, packet.ethertype), (PacketId(0x102), Layer::Link, 0x0800));
        assert_eq!((packet.in_interface, packet.out_interface), (9, 3));
        assert_eq!((packet.head.len(), packet.length), (96, ByteCount::new(3000)));
        assert_eq!((packet.is_super_packet, packet.vlan), (true, Some(0xa005)));
        assert_eq!(packet.destination(), Some(MacAddress([2, 0, 0, 0, 1, 0])));
        assert_eq!(packet.source, Some(MacAddress([2, 0, 0, 0, 7, 0])));
    }

    #[test]
    fn a_packet_without_a_number_is_malformed() {
        let bytes = message(|builder| builder.put(attribute::PAYLOAD, &[0x45; 20]));
        assert_eq!(first(&bytes), Read::Malformed);
        let cut = message(|builder| builder.put(attribute::PACKET_HEADER, &[0, 0, 1]));
        assert_eq!(first(&cut), Read::Malformed);
    }

    #[test]
    fn gaps_between_numbers_are_overruns() {
        let cases =
            [(None, 9, 0), (Some(8), 9, 0), (Some(8), 12, 3), (Some(u32::MAX), 1, 1), (Some(9), 8, 0)];
        for (last, now, missed) in cases {
            assert_eq!(gap(last, now), missed, "{last:?} {now}");
        }
    }

    #[test]
    fn the_kernels_table() {
        let text = "    7  31337     3 2    96     4     5       99  1\n   77   1234     0 2    96     0     0        0  1\n";
        let counters = KernelCounters { held: 3, dropped_full: 4, dropped_socket: 5 };
        assert_eq!(kernel_counters(text, 7), Some(counters));
        assert_eq!(kernel_counters(text, 77), Some(KernelCounters::default()));
        assert_eq!(kernel_counters("nonsense\n7 1\n", 7), None);
    }
}

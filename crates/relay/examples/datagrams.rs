//! Sources and sinks of datagrams for measurements of the relay (`studies/relay`). Each prints one line of JSON at its end.
//!
//! ```text
//! datagrams source LISTEN MBPS BYTES SECONDS      sends to each address that it heard of in the last second, paced
//! datagrams sink TO SECONDS SKIP                  says hello five times a second; counts what comes after SKIP seconds
//! datagrams flood TO PACKETS_PER_SECOND BYTES SECONDS    sends what no relay knows
//! datagrams discard LISTEN SECONDS                receives and discards
//! ```

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use airbound_linux::udp::{ReceiveBatch, UdpSocket};
use airbound_units::{Instant, Span};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

type Outcome = Result<String, Box<dyn std::error::Error>>;

/// Longest time by which a source comes late without loss of rate.
const LATE: Span = Span::from_millis(2);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let line = match words[..] {
        ["source", listen, mbps, bytes, seconds] => {
            source(listen.parse()?, mbps.parse()?, bytes.parse()?, seconds.parse()?)
        }
        ["sink", to, seconds, skip] => sink(to.parse()?, seconds.parse()?, skip.parse()?),
        ["flood", to, rate, bytes, seconds] => {
            flood(to.parse()?, rate.parse()?, bytes.parse()?, seconds.parse()?)
        }
        ["discard", listen, seconds] => discard(listen.parse()?, seconds.parse()?),
        _ => return Err("see the begin of this file for its arguments".into()),
    }?;
    writeln!(std::io::stdout().lock(), "{line}")?;
    Ok(())
}

fn now() -> Instant {
    airbound_linux::now()
}

fn wait(socket: &UdpSocket, span: Span) {
    let timeout = Timespec { tv_sec: 0, tv_nsec: span.as_nanos().min(999_999_999) as _ };
    let _ = poll(&mut [PollFd::new(&socket.as_fd(), PollFlags::IN)], Some(&timeout));
}

fn cpu() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// A receiver of a source: its last hello, the time of its next packet, and its number.
struct Peer {
    heard: Instant,
    next: Instant,
    sequence: u64,
}

fn source(listen: SocketAddr, mbps: u64, bytes: usize, seconds: u64) -> Outcome {
    airbound_linux::udp::wake_exactly();
    let mut socket = UdpSocket::bind(listen)?;
    let mut batch = ReceiveBatch::default();
    let mut peers: BTreeMap<SocketAddr, Peer> = BTreeMap::new();
    let gap = Span::from_nanos(bytes as u64 * 8000 / mbps.max(1)).max(Span::from_nanos(1));
    let end = now() + Span::from_secs(seconds);
    let (mut sent, mut refused) = (0_u64, 0);
    while now() < end {
        socket.receive(&mut batch)?;
        let at = now();
        for datagram in batch.iter() {
            let peer = peers.entry(datagram.from).or_insert(Peer { heard: at, next: at, sequence: 0 });
            peer.heard = at;
        }
        let mut packets: Vec<(SocketAddr, Vec<u8>)> = Vec::new();
        let mut next = at + Span::from_millis(5);
        for (address, peer) in peers.iter_mut().filter(|(_, peer)| at.since(peer.heard) < Span::from_secs(1))
        {
            if at.since(peer.next) > LATE {
                peer.next = at;
            }
            while peer.next <= at {
                let mut packet = vec![0; bytes.max(16)];
                packet[..8].copy_from_slice(&peer.sequence.to_be_bytes());
                packet[8..16].copy_from_slice(&now().as_nanos().to_be_bytes());
                packets.push((*address, packet));
                (peer.sequence, peer.next) = (peer.sequence + 1, peer.next + gap);
            }
            next = next.min(peer.next);
        }
        sent += packets.len() as u64;
        refused += socket.send(packets.iter().map(|(to, packet)| (Some(*to), &packet[..]))) as u64;
        let left = next.since(now());
        if left > Span::from_micros(20) {
            wait(&socket, left);
        }
    }
    Ok(format!("{{\"sent\": {sent}, \"refused\": {refused}, \"cpu_s\": {:.3}}}", cpu()))
}

fn sink(to: SocketAddr, seconds: u64, skip: u64) -> Outcome {
    let mut socket = UdpSocket::connect(to)?;
    // For the kernel's stamps.
    socket.probe_path()?;
    let mut batch = ReceiveBatch::default();
    let (begin, mut hello) = (now(), Instant::ZERO);
    let (measured, end) = (begin + Span::from_secs(skip), begin + Span::from_secs(seconds));
    let (mut packets, mut bytes, mut first, mut highest) = (0_u64, 0_u64, None, 0_u64);
    let (mut delays, mut gaps, mut last): (Vec<u32>, Vec<u32>, Option<Instant>) = Default::default();
    let micros = |span: Span| u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
    while now() < end {
        if now() >= hello {
            let _ = socket.send([(None, &b"hello"[..])].into_iter());
            hello = now() + Span::from_millis(200);
        }
        wait(&socket, Span::from_millis(50));
        if socket.receive(&mut batch).is_err() {
            continue;
        }
        let at = now();
        for datagram in batch.iter().filter(|datagram| datagram.bytes.len() >= 16) {
            if at < measured {
                continue;
            }
            let number =
                |place: usize| u64::from_be_bytes(std::array::from_fn(|add| datagram.bytes[place + add]));
            let sequence = number(0);
            first.get_or_insert(sequence);
            highest = highest.max(sequence);
            packets += 1;
            bytes += datagram.bytes.len() as u64;
            delays.push(micros(at.since(Instant::from_nanos(number(8)))));
            gaps.extend(last.zip(datagram.stamp).map(|(last, stamp)| micros(stamp.since(last))));
            last = datagram.stamp;
        }
    }
    delays.sort_unstable();
    gaps.sort_unstable();
    let share_of =
        |all: &[u32], share: f64| all.get((all.len() as f64 * share) as usize).copied().unwrap_or(0);
    let (of, gap) = (|share| share_of(&delays, share), |share| share_of(&gaps, share));
    let mean = delays.iter().map(|delay| f64::from(*delay)).sum::<f64>() / delays.len().max(1) as f64;
    let expected = first.map_or(0, |first| highest - first + 1);
    let time = (end - measured).as_secs_f64();
    Ok(format!(
        "{{\"mbps\": {:.3}, \"packets\": {packets}, \"lost\": {}, \"delay_us\": {{\"mean\": {mean:.0}, \"p50\": {}, \"p95\": {}, \"p99\": {}, \"least\": {}}}, \"gap_us\": {{\"p5\": {}, \"p50\": {}, \"p95\": {}, \"p99\": {}}}, \"cpu_s\": {:.3}}}",
        bytes as f64 * 8.0 / time / 1e6,
        expected.saturating_sub(packets),
        of(0.5),
        of(0.95),
        of(0.99),
        of(0.0),
        gap(0.05),
        gap(0.5),
        gap(0.95),
        gap(0.99),
        cpu(),
    ))
}

fn flood(to: SocketAddr, rate: u64, bytes: usize, seconds: u64) -> Outcome {
    let mut socket = UdpSocket::connect(to)?;
    let begin = now();
    let end = begin + Span::from_secs(seconds);
    let mut sent = 0_u64;
    let mut packets = vec![vec![0_u8; bytes.max(28)]; 32];
    while now() < end {
        let due = (now() - begin).as_micros() * rate / 1_000_000;
        if due < sent + 32 {
            wait(&socket, Span::from_micros(100));
            continue;
        }
        for packet in &mut packets {
            // Data of a session that is not there.
            (packet[0], packet[1]) = (3, 0x10);
            packet[4..12].copy_from_slice(&sent.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
            sent += 1;
            // One after the other: as strangers send, without segments.
            socket.send([(None, &packet[..])].into_iter());
        }
    }
    Ok(format!("{{\"sent\": {sent}, \"cpu_s\": {:.3}}}", cpu()))
}

fn discard(listen: SocketAddr, seconds: u64) -> Outcome {
    let socket = UdpSocket::bind(listen)?;
    socket.probe_path()?;
    let mut batch = ReceiveBatch::default();
    let end = now() + Span::from_secs(seconds);
    let mut received = 0_u64;
    while now() < end {
        wait(&socket, Span::from_millis(250));
        socket.receive(&mut batch)?;
        received += batch.iter().count() as u64;
    }
    Ok(format!("{{\"received\": {received}, \"cpu_s\": {:.3}}}", cpu()))
}
